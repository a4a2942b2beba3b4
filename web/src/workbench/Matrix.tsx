// The matrix of a run: who fares how, with word, symbol and colour, and the numbers beside it.

import { findGroups } from "./groups";
import { rank } from "./answer";
import type { Fate } from "./judge";
import { write } from "./quantity";

/** A symbol for each grade, for those who see no colour. */
const SYMBOLS = ["✓", "≈", "▲", "✕"];

interface Row {
  label: string;
  fate: Fate;
}

export function Matrix({ fates, label }: { fates: Fate[]; label: string }) {
  return (
    <div class="wide">
      <table class="matrix">
        <caption>{label}</caption>
        <thead>
          <tr>
            <th scope="col">Flow</th>
            <th scope="col">Fares</th>
            <th scope="col">Delay, 95 %</th>
            <th scope="col">Lost</th>
            <th scope="col">Rate</th>
          </tr>
        </thead>
        <tbody>
          {listRows(fates).map((row) => (
            <MatrixRow {...row} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function MatrixRow({ label, fate }: Row) {
  const { grade } = fate;
  return (
    <tr class={grade === null ? "" : `grade-${["good", "fair", "poor", "bad"][grade]}`}>
      <th scope="row">
        {label} <small>{fate.application.replaceAll("_", " ")}</small>
      </th>
      <td class="fares">
        {grade !== null && (
          <strong>
            <span aria-hidden="true">{SYMBOLS[grade]}</span> {fate.word}
          </strong>
        )}{" "}
        {grade === null && fate.about ? "no grade" : fate.number}
        {grade !== null && fate.about && <small>{fate.about}</small>}
      </td>
      <td>{write(fate.delayNs, "time")}</td>
      <td>{write(fate.loss, "ratio")}</td>
      <td>{write(fate.rateBps, "rate")}</td>
    </tr>
  );
}

/** Shows of many flows of one kind the one that fares worst. */
function listRows(fates: Fate[]): Row[] {
  const groups = findGroups(fates.map((fate) => fate.flow));
  const members = new Map<string, Fate[]>();
  for (const fate of fates) {
    const label = groups.get(fate.flow) ?? fate.flow;
    members.set(label, [...(members.get(label) ?? []), fate]);
  }
  return [...members].map(([label, own]) => {
    const fate = [...own].sort(rank)[0]!;
    return { label: own.length > 1 ? `${label}, the worst: ${fate.flow}` : label, fate };
  });
}
