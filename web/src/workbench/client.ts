// The engine in a worker, as the workbench asks it: promises for answers.

import EngineWorker from "../engine/worker?worker&inline";

import type { BenchReply, BenchRequest, Checked, TableSet } from "../engine/bench_messages";
import type { Overrides, Refusal } from "../engine/messages";

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
  private worker = this.start();
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
      stop: () => this.worker.postMessage({ kind: "stop", id } satisfies BenchRequest),
    };
  }

  /** Ends the worker. */
  close(): void {
    this.worker.terminate();
  }

  private start(): Worker {
    const worker = new EngineWorker();
    worker.onmessage = (message: MessageEvent<BenchReply>) => this.take(message.data);
    return worker;
  }

  private ask(asked: Ask, onProgress?: (nowMs: number) => void): Promise<BenchReply> {
    this.last += 1;
    const id = this.last;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject, onProgress });
      this.worker.postMessage({ ...asked, id });
    });
  }

  private take(reply: BenchReply): void {
    const waiting = this.waiting.get(reply.id);
    if (!waiting) return;
    if (reply.kind === "progress") {
      waiting.onProgress?.(reply.nowMs);
      return;
    }
    this.waiting.delete(reply.id);
    if (reply.kind !== "wrong") waiting.resolve(reply);
    else if (reply.isBroken) this.startAnew(waiting, reply.refusal);
    else waiting.reject(new Refused(reply.refusal));
  }

  /** An engine that stopped answers nobody any more: another one takes its place. */
  private startAnew(waiting: Waiting, refusal: Refusal): void {
    this.worker.terminate();
    this.worker = this.start();
    const others = [...this.waiting.values()];
    this.waiting.clear();
    for (const own of [waiting, ...others]) own.reject(new Refused(refusal));
  }
}
