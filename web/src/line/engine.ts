// A run in the worker, for the page: begin, advance, and what came of it.

import EngineWorker from "../engine/worker?worker&inline";

import { read } from "../engine/events";
import type { Overrides, Refusal, Reply, Request } from "../engine/messages";
import { Picture } from "./picture";

export interface Running {
  picture: Picture;
  flows: string[];
}

/** The engine behind one line. Of several runs that were begun, the last one counts. */
export class Engine {
  private readonly worker = new EngineWorker();
  private run = 0;
  private isBusy = false;
  private queues: string[] = [];
  running: Running | undefined;
  isOver = false;

  constructor(
    private readonly queue: string,
    private readonly onRefused: (refusal: Refusal) => void,
    private readonly onChanged: () => void,
  ) {
    this.worker.onmessage = (message: MessageEvent<Reply>) => this.take(message.data);
  }

  /** Begins a run anew: the same seed has the same traffic. */
  begin(text: string, overrides: Overrides, seed: number): void {
    this.run += 1;
    this.isBusy = true;
    this.isOver = false;
    this.send({ kind: "begin", run: this.run, text, overrides, seed });
  }

  /** Goes on to a simulated time, unless the engine is still at work. */
  advance(untilMs: number): void {
    if (this.isBusy || this.isOver || !this.running) return;
    this.isBusy = true;
    this.send({ kind: "advance", run: this.run, untilMs });
  }

  private send(request: Request): void {
    this.worker.postMessage(request);
  }

  private take(reply: Reply): void {
    if (reply.run !== this.run) return;
    this.isBusy = false;
    if (reply.kind === "refused") {
      this.onRefused(reply.refusal);
    } else if (reply.kind === "begun") {
      this.queues = reply.queues;
      const picture = new Picture(this.queues.indexOf(this.queue));
      this.running = { picture, flows: reply.flows };
    } else if (this.running) {
      this.running.picture.take(read(reply.events), reply.nowMs);
      this.isOver = reply.isOver;
    }
    this.onChanged();
  }
}
