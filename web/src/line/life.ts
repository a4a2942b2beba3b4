// The life of one packet: what happens to it from when somebody points at it.

import { type Event, Kind } from "../engine/events";
import type { Waiting } from "./picture";

/** A step of its life, and when it was, ms. */
export interface Step {
  at: number;
  what: string;
}

export class Life {
  readonly steps: Step[];

  constructor(
    readonly packet: Waiting,
    /** What the line counts for it beyond its IP bytes. */
    private readonly overhead: number,
  ) {
    this.steps = [{ at: packet.since, what: "joined the queue" }];
  }

  /** Takes in an event, if it is one of this packet's. */
  note(event: Event): void {
    const { flow, side, seq, bytes } = this.packet;
    const isIts = event.flow === flow && event.side === side && event.seq === seq;
    if (!isIts || event.bytes + this.overhead !== bytes) return;
    const what = describe(event);
    if (what) this.steps.push({ at: event.at, what });
  }
}

function describe({ kind, own }: Event): string | undefined {
  switch (kind) {
    case Kind.Dequeued:
      return `left the queue after ${own.toFixed(1)} ms`;
    case Kind.Loaded:
      return `was put into a burst, and leaves the CMTS at ${(own / 1000).toFixed(4)} s`;
    case Kind.Marked:
      return "was marked: its sender is to slow down";
    case Kind.Discarded:
      return "was discarded";
    case Kind.Delivered:
      return `arrived, ${own.toFixed(1)} ms after it was sent`;
    default:
      return undefined;
  }
}
