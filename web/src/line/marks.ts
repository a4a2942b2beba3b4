// How numbers of people are graded and written: by the marks that pages have.

import shared from "../generated.json";

interface Mark {
  bounds: readonly number[];
  kind: string;
  about: string;
  before: string;
  after: string;
}

const MARKS: Readonly<Record<string, Mark>> = shared.marks;

const WORDS = ["good", "fair", "poor", "bad"] as const;

function markOf(measure: string): Mark | undefined {
  return MARKS[measure.replace(/_down$/, "")];
}

/** Whether a measure is graded. */
export function grades(measure: string): boolean {
  return markOf(measure) !== undefined;
}

/** The word for a value in its base unit; "" where its measure has none. */
export function grade(measure: string, value: number): string {
  const mark = markOf(measure);
  if (!mark || Number.isNaN(value)) return "";
  const [best, , worst] = mark.bounds as [number, number, number];
  const sign = best > worst ? -1 : 1;
  return WORDS[mark.bounds.filter((bound) => sign * value > sign * bound).length]!;
}

/** The worse of two words. */
export function worse(one: string, other: string): string {
  const place = (word: string): number => WORDS.indexOf(word as (typeof WORDS)[number]);
  return place(one) > place(other) ? one : other;
}

function writeTime(ns: number): string {
  const ms = ns / 1e6;
  return ms < 1000 ? `${ms.toFixed(ms < 10 ? 1 : 0)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/** A value in its base unit with unit and words. */
export function write(measure: string, value: number): string {
  if (measure === "rate") return `${value.toFixed(value < 10 ? 1 : 0)} Mbit/s`;
  const mark = markOf(measure);
  const number =
    mark?.kind === "time"
      ? writeTime(value)
      : mark?.kind === "ratio"
        ? `${(value * 100).toFixed(0)} %`
        : value.toFixed(1);
  return [mark?.before, number, mark?.after].filter(Boolean).join(" ");
}
