// When a step is complete: what it asks for is set, and the line has shown the result long enough.

import type { Reading, Settings } from "../line/scene";
import type { Lesson, Step } from "./lesson";
import { findControl, listChanged, writeValue } from "./controls";
import { startOf } from "./lesson";

/** Readings are of the latest two seconds: before that they still hold what was before the turn. */
const SETTLED_MS = 2000;
/** How long the result must hold where a step does not say it, in simulated time. */
const HELD_MS = 2000;

/** What was seen when a step was complete, and with which settings. */
export interface Seen {
  text: string;
  settings: Settings;
}

export interface Progress {
  /** Whether the result is being timed. */
  isMeasuring: boolean;
  /** Since when the result has held without a break. */
  sinceMs?: number;
  seen?: Seen;
}

export const NOTHING: Progress = { isMeasuring: false };

/** Goes on from one reading to the next. A complete step stays complete. */
export function judge(step: Step, before: Progress, reading: Reading): Progress {
  if (before.seen) return before;
  if (!step.isTurned(reading.settings)) return NOTHING;
  const isSettled = reading.nowMs - reading.turnedMs >= SETTLED_MS;
  if (!isSettled) return { isMeasuring: true };
  if (!step.isSeen(reading)) return NOTHING;
  const sinceMs = before.sinceMs ?? reading.nowMs;
  const isHeld = reading.nowMs - sinceMs >= (step.heldMs ?? HELD_MS);
  if (!isHeld) return { isMeasuring: true, sinceMs };
  const { settings } = reading;
  return { isMeasuring: false, sinceMs, seen: { text: step.seen(reading), settings } };
}

/** What keeps a step from being complete with some settings, if it is one of them. */
export function findAmiss(lesson: Lesson, place: number, settings: Settings): string {
  const step = lesson.steps[place]!;
  const start = startOf(lesson, place);
  if (step.isTurned(settings)) return "";
  const own = step.amiss?.(settings);
  if (own) return own;
  // Only where the asked control is right and another one is not.
  if (!step.isTurned({ ...start, [step.turns]: settings[step.turns]! })) return "";
  const others = listChanged(lesson.scene, start, settings).filter(({ key }) => key !== step.turns);
  // One of several may be all that is wrong.
  const sole = others.find(({ key }) => step.isTurned({ ...settings, [key]: start[key]! }));
  return (sole ? [sole] : others)
    .map((control) => {
      const [now, then] = [writeValue(control, settings), writeValue(control, start)];
      return `“${control.name}” is ${now}, and this step needs ${then}.`;
    })
    .join(" ");
}

/** The settings of a completed step in words: those that differ now. */
export function describe(lesson: Lesson, seen: Seen, now: Settings): string {
  return listChanged(lesson.scene, seen.settings, now)
    .map(({ key }) => {
      const control = findControl(lesson.scene, key);
      return `“${control.name}” at ${writeValue(control, seen.settings)}`;
    })
    .join(" and ");
}

const complete = new Set<string>();
const nameStep = (lesson: Lesson, place: number): string => `${lesson.name}/${place}`;

/** Notes a complete step, for as long as the page is open. */
export function note(lesson: Lesson, place: number): void {
  complete.add(nameStep(lesson, place));
}

export function isComplete(lesson: Lesson, place: number): boolean {
  return complete.has(nameStep(lesson, place));
}
