// What is on the line at one moment: who waits in each queue, the latest requests and grants, and
// how the packets of each flow fared lately.

import { type Event, Kind } from "../engine/events";
import type { QueueState } from "../engine/messages";
import { Life } from "./life";

export interface Waiting {
  flow: number;
  side: number;
  seq: number;
  bytes: number;
  /** When it came, ms. */
  since: number;
}

export interface Mark {
  kind: Kind.Requested | Kind.Granted;
  /** When the modem sent it, or learned of it by a MAP, ms. */
  at: number;
  /** When the request is sent, or the burst starts. */
  when: number;
  bytes: number;
}

/** What became of a packet: its one-way delay in ms, or NaN if it was discarded. */
export interface Fate {
  at: number;
  seq: number;
  delayMs: number;
}

/** How far back marks, fates and bytes are kept, in ms of simulated time. */
const MARKS_MS = 400;
const FATES_MS = 2000;
/** The time in which bytes are counted together. */
const BUCKET_MS = 100;

/** A queue and what waits in it. */
export class QueuePicture {
  waiting: Waiting[] = [];
  /** As the line counts them: with so many for each packet beyond its IP bytes. */
  bytes = 0;
  state: QueueState = { tokens: Number.NaN, dropProbability: Number.NaN };

  constructor(readonly overhead: number) {}

  enter(event: Event): void {
    const { flow, side, seq, at } = event;
    const bytes = event.bytes + this.overhead;
    this.waiting.push({ flow, side, seq, bytes, since: at });
    this.bytes += bytes;
  }

  /** A packet leaves; one that never joined it is none of those that wait. */
  leave(event: Event): void {
    const place = this.waiting.findIndex(
      (own) =>
        own.flow === event.flow &&
        own.side === event.side &&
        own.seq === event.seq &&
        own.bytes === event.bytes + this.overhead,
    );
    if (place < 0) return;
    this.bytes -= this.waiting[place]!.bytes;
    this.waiting.splice(place, 1);
  }
}

/** What a flow's packets and its application did lately. */
export class FlowPicture {
  /** By side that sent. */
  fates: [Fate[], Fate[]] = [[], []];
  /** Bytes delivered from both sides, by time. */
  private buckets: { from: number; bytes: number }[] = [];
  /** The latest value of each measure by name: `_down` where the other side's packets count. */
  measures = new Map<string, { at: number; value: number }>();
  /** Of the first connection, bytes; NaN if there is none. */
  window = Number.NaN;

  deliver(event: Event): void {
    const latest = this.buckets.at(-1);
    if (latest && event.at < latest.from + BUCKET_MS) latest.bytes += event.bytes;
    else {
      const from = Math.floor(event.at / BUCKET_MS) * BUCKET_MS;
      this.buckets.push({ from, bytes: event.bytes });
    }
  }

  forget(nowMs: number): void {
    this.fates = [since(this.fates[0], nowMs - FATES_MS), since(this.fates[1], nowMs - FATES_MS)];
    const first = this.buckets.findIndex((bucket) => bucket.from >= nowMs - FATES_MS);
    if (first > 0) this.buckets.splice(0, first);
    else if (first < 0) this.buckets = [];
  }

  /** Mbit/s over the latest time. */
  get mbps(): number {
    const bytes = this.buckets.reduce((sum, bucket) => sum + bucket.bytes, 0);
    return (bytes * 8) / (FATES_MS * 1e3);
  }
}

/** Those of a list in order of time that are not older than a time. */
function since<T extends { at: number }>(list: T[], from: number): T[] {
  const first = list.findIndex((own) => own.at >= from);
  return first < 0 ? [] : first > 0 ? list.slice(first) : list;
}

/** The line. Its queues are those that are drawn, its flows are all. */
export class Picture {
  readonly queues: QueuePicture[];
  readonly flows: FlowPicture[];
  marks: Mark[] = [];
  nowMs = 0;
  /** The life of the packet that somebody has pointed at. */
  life: Life | undefined;
  /** When a queue was replaced: what waited then joins the new one, and is not there twice. */
  readonly replacedMs = new Set<number>();

  /** `numbers` are those of the drawn queues in events, `overheads` are by these numbers. */
  constructor(
    readonly numbers: readonly number[],
    overheads: readonly number[],
    flows: number,
    private readonly onFate: (flow: number, side: number, fate: Fate) => void,
  ) {
    this.queues = numbers.map((number) => new QueuePicture(overheads[number]!));
    this.flows = Array.from({ length: flows }, () => new FlowPicture());
  }

  /** Follows a packet of one of the drawn queues from now on. */
  follow(packet: Waiting, queue: number): void {
    this.life = new Life(packet, this.queues[queue]!.overhead);
  }

  /** Takes in what has happened until a time. */
  take(events: Iterable<Event>, measures: readonly string[], nowMs: number): void {
    for (const event of events) {
      this.note(event, measures);
      this.life?.note(event);
    }
    this.nowMs = nowMs;
    this.marks = since(this.marks, nowMs - MARKS_MS);
    for (const flow of this.flows) flow.forget(nowMs);
  }

  private note(event: Event, measures: readonly string[]): void {
    const queue = this.queues[this.numbers.indexOf(event.queue)];
    const flow = this.flows[event.flow];
    switch (event.kind) {
      case Kind.Enqueued:
        if (this.replacedMs.has(event.at)) queue?.leave(event);
        queue?.enter(event);
        break;
      case Kind.Dequeued:
        queue?.leave(event);
        break;
      case Kind.Discarded:
        queue?.leave(event);
        this.fare(event, Number.NaN);
        break;
      case Kind.Delivered:
        flow?.deliver(event);
        this.fare(event, event.own);
        break;
      case Kind.Requested:
      case Kind.Granted:
        if (queue) {
          const { kind, at, own, bytes } = event;
          this.marks.push({ kind, at, when: own, bytes });
        }
        break;
      case Kind.Window:
        if (flow && (event.seq === 0 || Number.isNaN(flow.window))) flow.window = event.bytes;
        break;
      case Kind.Measured:
        flow?.measures.set(`${measures[event.seq]}${event.side === 1 ? "_down" : ""}`, {
          at: event.at,
          value: event.own,
        });
        break;
      default:
    }
  }

  private fare(event: Event, delayMs: number): void {
    const side = event.side === 1 ? 1 : 0;
    const fate = { at: event.at, seq: event.seq, delayMs };
    this.flows[event.flow]?.fates[side].push(fate);
    this.onFate(event.flow, side, fate);
  }
}
