// The matrix of a run: who fares how, with word, symbol and colour, and the numbers beside it.

import { WORDS } from "../grading";
import { keepUnits, write } from "../quantity";
import { rank } from "./answer";
import { findGroups } from "./groups";
import type { Fate } from "./judge";

/** A symbol for each grade, for those who see no colour. */
const SYMBOLS = ["✓", "≈", "▲", "✕"];

interface Row {
  label: string;
  fate: Fate;
}

export function Matrix({ fates, label }: { fates: Fate[]; label: string }) {
  const rows = listRows(fates);
  return (
    <div class="wide">
      <table class="matrix">
        <caption>{label}</caption>
        <thead>
          <tr>
            <th scope="col">Flow</th>
            <th scope="col">Fares</th>
            <th scope="col">{keepUnits("Delay, 95 %")}</th>
            <th scope="col">Lost</th>
            <th scope="col">Rate</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <MatrixRow {...row} />
          ))}
        </tbody>
      </table>
      <p class="soft">{explain(rows)}</p>
    </div>
  );
}

function MatrixRow({ label, fate }: Row) {
  const { grade } = fate;
  return (
    <tr class={grade === null ? "" : `grade-${WORDS[grade]}`}>
      <th scope="row">
        {label} <small>{fate.application.replaceAll("_", " ")}</small>
      </th>
      <td class="fares">
        {grade !== null && (
          <strong>
            <span aria-hidden="true">{SYMBOLS[grade]}</span> {fate.word}
          </strong>
        )}{" "}
        {grade === null && fate.about ? "no grade" : keepUnits(fate.number)}
      </td>
      <td>{write(fate.delayNs, "time")}</td>
      <td>{write(fate.loss, "ratio")}</td>
      <td>{write(fate.rateBps, "rate")}</td>
    </tr>
  );
}

/** Says what the numbers beside the words are. */
function explain(rows: Row[]): string {
  const flows = new Map<string, string[]>();
  for (const { label, fate } of rows)
    if (fate.grade !== null && fate.about)
      flows.set(fate.about, [...(flows.get(fate.about) ?? []), label.split(",")[0]!]);
  const parts = [...flows].map(([about, names]) => `${names.join(", ")}: ${about}.`);
  return ["Delay is one way, and 95 % of the packets had less.", ...parts].join(" ");
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
