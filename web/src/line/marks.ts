// How numbers of people are graded and written: by the marks that pages have.

import { grade as gradeBy, kindOf, markOf, WORDS } from "../grading";
import { writeShort } from "../quantity";

/** Whether a measure is graded. */
export function grades(measure: string): boolean {
  return markOf(measure) !== undefined;
}

/** The word for a value in its base unit; "" where its measure has none. */
export function grade(measure: string, value: number): string {
  const mark = markOf(measure);
  return !mark || Number.isNaN(value) ? "" : WORDS[gradeBy(mark, value)]!;
}

/** The worse of two words. */
export function worse(one: string, other: string): string {
  return WORDS.indexOf(one) > WORDS.indexOf(other) ? one : other;
}

/** A value with unit and words: a rate in Mbit/s, all else in its base unit. */
export function write(measure: string, value: number): string {
  if (measure === "rate") return writeShort(value * 1e6, "rate");
  const mark = markOf(measure);
  const number = writeShort(value, mark ? kindOf(mark) : "number");
  return [mark?.before, number, mark?.after].filter(Boolean).join(" ");
}
