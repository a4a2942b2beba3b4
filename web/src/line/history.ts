// What the line looked like lately: values over the latest half minute, and moments to look back
// at.

import type { Mark, Picture, Waiting } from "./picture";

/** How far back values are kept, ms of simulated time. */
export const SPAN_MS = 30_000;
const EVERY_MS = 50;
/** Moments that are kept: those of some ten seconds of watching. */
const MOMENTS = 600;

/** The values of one moment. */
export interface Sample {
  atMs: number;
  /** How long what waits in the first queue takes at its rate, ms. */
  waitMs: number;
  /** By flow: congestion windows in kB, and rates in Mbit/s. */
  windows: number[];
  rates: number[];
  dropProbability: number;
}

/** What is drawn of one moment. */
export interface Moment {
  nowMs: number;
  waiting: Waiting[][];
  bytes: number[];
  tokens: number[];
  marks: Mark[];
}

/** How long bytes take at a rate, ms. */
export function timeFor(bytes: number, mbps: number): number {
  return (bytes * 8) / (mbps * 1e3);
}

/** The moment that a picture shows. */
export function capture(picture: Picture): Moment {
  return {
    nowMs: picture.nowMs,
    waiting: picture.queues.map((queue) => queue.waiting.slice()),
    bytes: picture.queues.map((queue) => queue.bytes),
    tokens: picture.queues.map((queue) => queue.state.tokens),
    marks: picture.marks,
  };
}

export class History {
  samples: Sample[] = [];
  moments: Moment[] = [];

  note(picture: Picture, mbps: number): void {
    const { nowMs } = picture;
    this.moments.push(capture(picture));
    if (this.moments.length > MOMENTS) this.moments.shift();
    if (nowMs < (this.samples.at(-1)?.atMs ?? -EVERY_MS) + EVERY_MS) return;
    this.samples.push({
      atMs: nowMs,
      waitMs: timeFor(picture.queues[0]?.bytes ?? 0, mbps),
      windows: picture.flows.map((flow) => flow.window / 1e3),
      rates: picture.flows.map((flow) => flow.mbps),
      dropProbability: picture.queues[0]?.state.dropProbability ?? Number.NaN,
    });
    if (this.samples[0]!.atMs < nowMs - SPAN_MS) this.samples.shift();
  }

  waitsSince(fromMs: number): number[] {
    const late = this.samples.filter((sample) => sample.atMs >= fromMs);
    return late.map((sample) => sample.waitMs);
  }
}
