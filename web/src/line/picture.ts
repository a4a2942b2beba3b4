// What is on the line at one moment: who waits in the queue, the latest requests and grants, and the
// delay and loss of each flow's packets.

import { type Event, Kind } from "../engine/events";

export interface Waiting {
  flow: number;
  seq: number;
  bytes: number;
}

export interface Mark {
  kind: Kind.Requested | Kind.Granted;
  at: number;
  /** When the request is sent, or the burst starts. */
  when: number;
  bytes: number;
}

/** How a flow's packets fared in the latest time: one-way delays of what arrived, and what did not. */
export interface Fate {
  at: number;
  delayMs: number;
  isLost: boolean;
}

/** How far back marks and fates are kept, in ms of simulated time. */
const MARKS_MS = 400;
export const FATES_MS = 2000;

export class Picture {
  waiting: Waiting[] = [];
  marks: Mark[] = [];
  fates = new Map<string, Fate[]>();
  bytesWaiting = 0;
  nowMs = 0;

  constructor(private readonly queue: number) {}

  /** Takes in what has happened until a time. */
  take(events: Iterable<Event>, nowMs: number): void {
    for (const event of events) this.note(event);
    this.nowMs = nowMs;
    this.forget();
  }

  private note(event: Event): void {
    switch (event.kind) {
      case Kind.Enqueued:
        if (event.queue === this.queue) {
          this.waiting.push({ flow: event.flow, seq: event.seq, bytes: event.bytes });
          this.bytesWaiting += event.bytes;
        }
        break;
      case Kind.Dequeued:
        if (event.queue === this.queue) this.leave(event);
        break;
      case Kind.Discarded:
        if (event.queue === this.queue) this.leave(event);
        this.fare(event, true);
        break;
      case Kind.Delivered:
        this.fare(event, false);
        break;
      case Kind.Requested:
      case Kind.Granted:
        if (event.queue === this.queue)
          this.marks.push({ kind: event.kind, at: event.at, when: event.own, bytes: event.bytes });
        break;
      default:
    }
  }

  /** A packet leaves the queue; one that never joined it is none of those that wait. */
  private leave(event: Event): void {
    const place = this.waiting.findIndex(
      (own) => own.flow === event.flow && own.seq === event.seq && own.bytes === event.bytes,
    );
    if (place < 0) return;
    this.bytesWaiting -= this.waiting[place]!.bytes;
    this.waiting.splice(place, 1);
  }

  private fare(event: Event, isLost: boolean): void {
    const key = `${event.flow}/${event.side}`;
    const own = this.fates.get(key) ?? [];
    own.push({ at: event.at, delayMs: isLost ? Number.NaN : event.own, isLost });
    this.fates.set(key, own);
  }

  private forget(): void {
    const old = <T extends { at: number }>(list: T[], since: number): T[] => {
      const first = list.findIndex((own) => own.at >= since);
      return first < 0 ? [] : first > 0 ? list.slice(first) : list;
    };
    this.marks = old(this.marks, this.nowMs - MARKS_MS);
    for (const [key, own] of this.fates) this.fates.set(key, old(own, this.nowMs - FATES_MS));
  }

  /** How long the packet that came last will have waited when all before it have left, at a rate. */
  waitMs(mbps: number): number {
    return (this.bytesWaiting * 8) / (mbps * 1e3);
  }

  /** The 95th percentile of the one-way delay of a flow's packets in the latest time, and their loss. */
  summarise(flow: number, side: number): { delayMs: number; lost: number; count: number } {
    const own = this.fates.get(`${flow}/${side}`) ?? [];
    const delays = own.filter((fate) => !fate.isLost).map((fate) => fate.delayMs);
    delays.sort((one, other) => one - other);
    const place = Math.max(0, Math.ceil(delays.length * 0.95) - 1);
    return {
      delayMs: delays[place] ?? Number.NaN,
      lost: own.length ? (own.length - delays.length) / own.length : Number.NaN,
      count: own.length,
    };
  }
}
