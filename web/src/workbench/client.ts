// The engine in a worker, as the workbench asks it: promises for answers.

import EngineWorker from "../engine/worker?worker&inline";

import type { BenchReply, BenchRequest, Broken, Checked, TableSet } from "../engine/bench_messages";
import { type Overrides, type Refusal, sayBroken } from "../engine/messages";

/** A scenario that the engine refuses. */
export class Refused extends Error {
  constructor(readonly refusal: Refusal) {
    super(refusal.message);
  }
}

export interface Finished {
  tables: TableSet;
  nowMs: number;
  isOver: boolean;
}

type Ask = BenchRequest extends infer One
  ? One extends { id: number }
    ? Omit<One, "id">
    : never
  : never;

interface Waiting {
  resolve: (reply: BenchReply) => void;
  reject: (error: Error) => void;
  onProgress: ((nowMs: number) => void) | undefined;
}

/** One engine: what is asked of it first is answered first, but checks also during a run. */
export class Client {
  /** None before the first question, and after an engine that could not go on. */
  private worker: Worker | undefined;
  private readonly waiting = new Map<number, Waiting>();
  private last = 0;

  /** Checks a scenario, or rejects with {@link Refused}. */
  async check(text: string, overrides: Overrides): Promise<Checked> {
    const reply = await this.ask({ kind: "check", text, overrides });
    if (reply.kind !== "checked") throw new Error("no answer to a check");
    return reply.checked;
  }

  /** Gives the JSON Schema of scenarios. */
  async readSchema(): Promise<unknown> {
    const reply = await this.ask({ kind: "schema" });
    if (reply.kind !== "schema") throw new Error("no schema");
    return JSON.parse(reply.schema);
  }

  /** Begins a run; `stop` ends it, and what was simulated until then is its result. */
  simulate(
    text: string,
    overrides: Overrides,
    seed: number | null,
    onProgress: (nowMs: number) => void,
  ): { finished: Promise<Finished>; stop: () => void } {
    const finished = this.ask({ kind: "simulate", text, overrides, seed }, onProgress);
    const id = this.last;
    return {
      finished: finished.then((reply) => {
        if (reply.kind !== "done") throw new Error("a run without an end");
        return reply;
      }),
      stop: () => this.worker?.postMessage({ kind: "stop", id } satisfies BenchRequest),
    };
  }

  /** Ends the worker. */
  close(): void {
    this.worker?.terminate();
  }

  private start(): Worker {
    const worker = new EngineWorker();
    worker.onmessage = (message: MessageEvent<BenchReply | Broken>) => this.take(message.data);
    worker.onerror = (event) => {
      event.preventDefault();
      this.giveUp(sayBroken(event.message));
    };
    worker.onmessageerror = () => this.giveUp(sayBroken("its answer cannot be read"));
    return worker;
  }

  private ask(asked: Ask, onProgress?: (nowMs: number) => void): Promise<BenchReply> {
    this.last += 1;
    const id = this.last;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject, onProgress });
      this.worker ??= this.start();
      this.worker.postMessage({ ...asked, id });
    });
  }

  private take(reply: BenchReply | Broken): void {
    if (reply.kind === "broken") {
      this.giveUp(sayBroken(reply.message));
      return;
    }
    const waiting = this.waiting.get(reply.id);
    if (!waiting) return;
    if (reply.kind === "progress") {
      waiting.onProgress?.(reply.nowMs);
      return;
    }
    if (reply.kind === "wrong" && reply.isBroken) {
      this.giveUp(reply.refusal);
      return;
    }
    this.waiting.delete(reply.id);
    if (reply.kind === "wrong") waiting.reject(new Refused(reply.refusal));
    else waiting.resolve(reply);
  }

  /** An engine that stopped answers nobody any more; the next question starts another one. */
  private giveUp(refusal: Refusal): void {
    this.worker?.terminate();
    this.worker = undefined;
    const all = [...this.waiting.values()];
    this.waiting.clear();
    for (const own of all) own.reject(new Refused(refusal));
  }
}
