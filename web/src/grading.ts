// Grades by headend's own marks (headend.analysis.grading, by web/export.py): words and bounds.

import shared from "./generated.json";
import type { Kind } from "./quantity";

/** By what a value is graded, and the words around it. */
export interface Mark {
  metric: string;
  about: string;
  kind: string;
  /** From each bound on the grade is a worse one. */
  bounds: number[];
  shown: string;
  before: string;
  after: string;
  higher_is_better: boolean;
}

const GRADING = shared.grading;

/** The words of grades, from the best, which is grade 0, to the worst. */
export const WORDS: readonly string[] = GRADING.words;

/** The worst grade. */
export const BAD = WORDS.length - 1;

/** The word of what is bad beyond use. */
export const UNUSABLE = GRADING.unusable;

const BY_APPLICATION = new Map<string, Mark[]>(Object.entries(GRADING.marks));
const BY_MEASURE = new Map<string, Mark>(Object.entries(GRADING.measures));

/** How much of its best picture a film has. */
export const PICTURE: Mark = GRADING.picture;

/** How long somebody waits for a page, ns. */
export const WAIT: Mark = GRADING.wait;

/** The marks of an application, that of its grade first; none of what has no grade. */
export function marksOf(application: string): readonly Mark[] {
  return BY_APPLICATION.get(application) ?? [];
}

/** The mark of a measure in either direction, of "delay" or of "loss". */
export function markOf(measure: string): Mark | undefined {
  return BY_MEASURE.get(measure.replace(/_down$/, ""));
}

export function kindOf(mark: Mark): Kind {
  return mark.kind as Kind;
}

/** The number of bounds that a value is beyond. */
export function grade(mark: Mark, value: number): number {
  const sign = mark.higher_is_better ? -1 : 1;
  return mark.bounds.filter((bound) => sign * value > sign * bound).length;
}

/** Whether a value is bad beyond use. */
export function isUnusable(mark: Mark, value: number): boolean {
  if (mark.metric === "mos.p5") return value < GRADING.unusable_score;
  return mark.kind === "ratio" && value > GRADING.unusable_share && grade(mark, value) === BAD;
}
