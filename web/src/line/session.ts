// One line that runs: the page's side of the worker in which its engine runs.

import EngineWorker from "../engine/worker?worker&inline";
import { read } from "../engine/events";
import type { Overrides, Refusal, Reply, Request } from "../engine/messages";
import { sayBroken } from "../engine/messages";
import { History } from "./history";
import { type Fate, Picture } from "./picture";

/** A run that has begun: its names by their numbers in events. */
export interface Shown {
  picture: Picture;
  history: History;
  flows: readonly string[];
  /** Of the drawn queues, those that the run has. */
  queues: readonly string[];
}

/** What a run is made of. */
export interface Setup {
  text: string;
  overrides: Overrides;
  seed: number;
  /** The drawn queues by name. */
  queues: readonly string[];
}

export interface Listener {
  onRefused: (refusal: Refusal) => void;
  onFate: (flow: string, side: number, fate: Fate) => void;
}

/** The names under which the browser keeps how long it took from a turn to the picture of it. */
export const TURNED = "turned";
const SHOWN = "turned to shown";

/** How much a run that catches up goes on with one message, ms of simulated time. */
const STRIDE_MS = 250;

export class Session {
  shown: Shown | undefined;
  isOver = false;
  /** How far what is shown has come, ms. */
  nowMs = 0;
  mbps = 1;
  private readonly worker = new EngineWorker();
  private run = 0;
  private shownRun = -1;
  private isBusy = false;
  private setup: Setup | undefined;
  /** Until the new run has come as far as this, what was shown last stays. */
  private next: Shown | undefined;
  private shownFromMs = 0;

  constructor(private readonly listener: Listener) {
    this.worker.onmessage = (message: MessageEvent<Reply>) => this.take(message.data);
    this.worker.onerror = (fault) => this.listener.onRefused(sayBroken(fault.message));
  }

  /** Whether what is shown is of an earlier run than the one that was begun last. */
  get isCatchingUp(): boolean {
    return this.shownRun !== this.run;
  }

  /** Begins a run, which is shown from a time on. */
  begin(setup: Setup, fromMs: number): void {
    this.run += 1;
    this.setup = setup;
    this.isBusy = true;
    this.isOver = false;
    this.next = undefined;
    this.shownFromMs = fromMs;
    const { text, overrides, seed } = setup;
    this.send({ kind: "begin", run: this.run, text, overrides, seed });
  }

  /** The run goes on as that of a setup which has further changes, from a time after now on. */
  change(setup: Setup, fromMs: number): void {
    if (!this.setup) return;
    this.setup = setup;
    this.shownFromMs = fromMs;
    this.shown?.picture.replacedMs.add(fromMs);
    const { text, overrides, seed } = setup;
    this.send({ kind: "change", run: this.run, text, overrides, seed });
  }

  /** Goes on to a simulated time, unless the engine is still at work. */
  advance(untilMs: number): void {
    if (this.isBusy || this.isOver || !this.setup) return;
    const own = this.next ?? this.shown;
    if (!own) return;
    this.isBusy = true;
    const target = this.next ? this.shownFromMs : untilMs;
    const stride = Math.min(target, own.picture.nowMs + STRIDE_MS);
    const queues = [...own.picture.numbers];
    this.send({ kind: "advance", run: this.run, untilMs: stride, queues });
  }

  /** Ends the worker. */
  end(): void {
    this.worker.terminate();
  }

  private send(request: Request): void {
    this.worker.postMessage(request);
  }

  private take(reply: Reply): void {
    if (reply.run !== this.run) return;
    this.isBusy = false;
    if (reply.kind === "refused") this.listener.onRefused(reply.refusal);
    else if (reply.kind === "begun") this.start(reply);
    else this.goOn(reply);
  }

  private start({ queues: all, flows, overheads }: Reply & { kind: "begun" }): void {
    const queues = this.setup!.queues.filter((name) => all.includes(name));
    const numbers = queues.map((name) => all.indexOf(name));
    const picture = new Picture(numbers, overheads, flows.length, (flow, side, fate) => {
      if (this.next?.picture !== picture) this.listener.onFate(flows[flow]!, side, fate);
    });
    this.next = { picture, history: new History(), flows, queues };
    this.advance(this.shownFromMs);
  }

  private goOn(reply: Reply & { kind: "advanced" }): void {
    const own = this.next ?? this.shown!;
    own.picture.queues.forEach((queue, place) => {
      queue.state = reply.states[place] ?? queue.state;
    });
    own.picture.take(read(reply.events), reply.measures, reply.nowMs);
    own.history.note(own.picture, this.mbps);
    this.isOver = reply.isOver;
    if (this.next && (reply.nowMs >= this.shownFromMs || reply.isOver)) {
      this.shown = this.next;
      this.shownRun = this.run;
      this.next = undefined;
    }
    if (this.next) this.advance(this.shownFromMs);
    else {
      this.nowMs = reply.nowMs;
      this.measure();
    }
  }

  /** A picture is shown that has what was turned last. */
  private measure(): void {
    if (this.nowMs < this.shownFromMs || !performance.getEntriesByName(TURNED).length) return;
    performance.measure(SHOWN, TURNED);
    performance.clearMarks(TURNED);
  }
}
