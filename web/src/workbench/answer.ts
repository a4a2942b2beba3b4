// The answer of a run in two sentences: who fares worst, and where the waiting is.

import { UNUSABLE } from "../grading";
import { write } from "../quantity";
import type { Fate } from "./judge";
import { listRows, type Outcome } from "./tables";

/** A queue in which the longest twentieth of waits is shorter is not worth blaming, ns. */
const SHORT_NS = 10e6;

export function answer(outcome: Outcome, fates: Fate[]): string[] {
  return [sayWhoFaresWorst(fates), sayWhereWaitingIs(outcome)].filter(Boolean);
}

/** Orders fates with the worst first. */
export function rank(one: Fate, other: Fate): number {
  const place = (fate: Fate) =>
    (fate.grade ?? -1) + (fate.word === UNUSABLE ? 0.5 : 0);
  return place(other) - place(one) || other.severity - one.severity;
}

function sayWhoFaresWorst(fates: Fate[]): string {
  const graded = fates.filter((fate) => fate.grade !== null);
  if (!graded.length) return "No flow of this scenario has a grade.";
  const found = [...graded].sort(rank)[0]!;
  const number = found.about ? `${found.about}: ${found.value}` : found.number;
  const like = graded.filter((fate) => fate.word === found.word).length - 1;
  if (found.grade === 0) {
    if (graded.length === 1) return `${found.flow} fares well (${number}).`;
    return `Everyone with a grade fares well: ${graded.length} flows are good.`;
  }
  const others = like ? `, and ${like} more ${like === 1 ? "is" : "are"}` : "";
  return `${found.flow} fares worst: ${found.word} (${number})${others}.`;
}

function sayWhereWaitingIs(outcome: Outcome): string {
  const queue = findWorstQueue(outcome);
  if (!queue) return "";
  const wait = write(queue.delayNs, "time");
  if (queue.delayNs < SHORT_NS) return `No queue has long waits: at most ${wait} in ${queue.name}.`;
  return `Packets wait longest in ${queue.name}: ${wait} or more for 5 % of them.`;
}

/** The queue with the longest waits: the 95th percentile counts. */
export function findWorstQueue(outcome: Outcome): { name: string; delayNs: number } | undefined {
  const waits = listRows(outcome.tables.queues).flatMap((row) => {
    const delayNs = row.number("delay_p95_ns");
    return delayNs === null ? [] : [{ name: row.text("queue"), delayNs }];
  });
  if (!waits.length) return undefined;
  return waits.reduce((one, other) => (other.delayNs > one.delayNs ? other : one));
}
