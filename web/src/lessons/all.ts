// All lessons, in the order in which they are listed; each is checked once, when the page opens.

import { aimd } from "./aimd";
import { bufferbloat } from "./bufferbloat";
import { type Lesson, LESSON_NAMES, startOf } from "./lesson";
import { lowLatency } from "./low-latency";
import { oneQueue } from "./one-queue";
import { requestAndGrant } from "./request-and-grant";
import { target } from "./target";
import { wifiAnomaly } from "./wifi-anomaly";

const OWN: readonly Lesson[] = [
  bufferbloat,
  aimd,
  requestAndGrant,
  oneQueue,
  target,
  lowLatency,
  wifiAnomaly,
];

/** The lessons. */
export const LESSONS: readonly Lesson[] = LESSON_NAMES.map(
  (name) => OWN.find((lesson) => lesson.name === name)!,
);

// A step whose control is turned from the start would be completed by waiting.
for (const lesson of LESSONS) {
  lesson.steps.forEach((step, place) => {
    if (step.isTurned(startOf(lesson, place))) {
      throw new Error(`${lesson.name}, step ${place + 1}: turned from the start`);
    }
    if (!lesson.scene.controls.some((control) => control.key === step.turns)) {
      throw new Error(`${lesson.name}, step ${place + 1}: no control ${step.turns}`);
    }
  });
}
