// When a step is done: what it asks for is turned, and the line has shown it for two seconds.

import type { Reading } from "../line/scene";
import type { Step } from "./lesson";

/** Readings are of the latest two seconds: before that they still hold what was before the turn. */
const SETTLED_MS = 2000;
/** How long it must be seen, in simulated time. */
const HELD_MS = 2000;

export interface Progress {
  /** Since when it has been seen without a break. */
  sinceMs?: number;
  /** What was said when the step was done. */
  seen?: string;
}

/** Goes on from one reading to the next. What is done stays done. */
export function judge(step: Step, before: Progress, reading: Reading): Progress {
  if (before.seen !== undefined) return before;
  const isSettled = reading.nowMs - reading.turnedMs >= SETTLED_MS;
  if (!isSettled || !step.isTurned(reading.settings) || !step.isSeen(reading)) return {};
  const sinceMs = before.sinceMs ?? reading.nowMs;
  if (reading.nowMs - sinceMs < HELD_MS) return { sinceMs };
  return { sinceMs, seen: step.seen(reading) };
}
