// The rows of numbers in which the engine says what happens to packets and requests.

import { Kind } from "@engine/headend_wasm.js";

export { Kind };

/** The numbers of a row; `crates/headend-wasm/src/events.rs` says what each is. */
export const WIDTH = 8;

export interface Event {
  kind: Kind;
  /** Milliseconds. */
  at: number;
  queue: number;
  flow: number;
  /** 0 of the customer's host, 1 of the other one. */
  side: number;
  seq: number;
  bytes: number;
  /** The number of the kind's own. */
  own: number;
}

/** Reads the rows of an array. */
export function* read(rows: Float64Array): Generator<Event> {
  for (let place = 0; place + WIDTH <= rows.length; place += WIDTH) {
    const [kind, at, queue, flow, side, seq, bytes, own] = rows.subarray(place, place + WIDTH);
    yield {
      kind: kind as Kind,
      at: at!,
      queue: queue!,
      flow: flow!,
      side: side!,
      seq: seq!,
      bytes: bytes!,
      own: own!,
    };
  }
}
