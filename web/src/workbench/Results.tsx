// What came of a run, or of two: the answer, the matrix, the figures, and files to keep.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { answer, findWorstQueue } from "./answer";
import { save, writeCsv } from "./download";
import { Figures } from "./Figures";
import { judgeFlows } from "./judge";
import { Matrix } from "./Matrix";
import { keepUnits, writeNumber } from "../quantity";
import { count, type Outcome, texts } from "./tables";

/** What the settings are called. */
export const LABELS = ["As written", "Second setting"];

interface Props {
  outcomes: Outcome[];
  /** Whether what is written has changed since. */
  isOld: boolean;
}

export function Results({ outcomes, isOld }: Props) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    heading.current?.focus({ preventScroll: true });
    heading.current?.scrollIntoView({ block: "start" });
  }, [outcomes]);
  const fates = useMemo(() => outcomes.map(judgeFlows), [outcomes]);
  const isSeveral = outcomes.length > 1;
  return (
    <section class="results" aria-label="Results">
      <h2 ref={heading} tabIndex={-1}>
        {outcomes[0]!.checked.title || "What came of it"}
      </h2>
      {isOld && (
        <p class="partial" role="status">
          These are results of what was written before: run it again.
        </p>
      )}
      {outcomes.map((outcome, place) => (
        <Answer
          outcome={outcome}
          label={isSeveral ? LABELS[place]! : ""}
          sentences={answer(outcome, fates[place]!)}
        />
      ))}
      <div class="side-by-side">
        {outcomes.map((outcome, place) => (
          <Matrix
            fates={fates[place]!}
            label={isSeveral ? LABELS[place]! : describeTime(outcome)}
          />
        ))}
      </div>
      <FiguresOfQueue outcomes={outcomes} />
      <Tables outcomes={outcomes} />
    </section>
  );
}

function Answer(props: { outcome: Outcome; label: string; sentences: string[] }) {
  const { outcome, label, sentences } = props;
  return (
    <>
      {!outcome.isOver && (
        <p class="partial" role="status">
          {label && `${label}: `}stopped at {describeStop(outcome)}. All numbers are of the time
          before.
        </p>
      )}
      <p class="answer">
        {label && <strong>{label}: </strong>}
        {keepUnits(sentences.join(" "))}
      </p>
    </>
  );
}

function describeStop({ nowMs, checked }: Outcome): string {
  return `${writeNumber(nowMs / 1e3)} s of ${writeNumber(checked.duration_ns / 1e9)} s`;
}

function describeTime({ nowMs, checked }: Outcome): string {
  const warmup = checked.warmup_ns ? `, the first ${checked.warmup_ns / 1e9} s left out` : "";
  return `Of ${writeNumber(nowMs / 1e3)} s of simulated time${warmup}`;
}

/** The queue of the figures can be chosen; at first it is the one with the longest waits. */
function FiguresOfQueue({ outcomes }: { outcomes: Outcome[] }) {
  const queues = useMemo(() => texts(outcomes[0]!.tables.queues, "queue"), [outcomes]);
  const worst = findWorstQueue(outcomes[0]!)?.name ?? queues[0] ?? "";
  const [chosen, choose] = useState("");
  const queue = queues.includes(chosen) ? chosen : worst;
  return (
    <>
      <label class="queue-choice">
        Queue in the figures{" "}
        <select value={queue} onChange={(event) => choose(event.currentTarget.value)}>
          {queues.map((name) => (
            <option value={name}>{name === worst ? `${name} (longest waits)` : name}</option>
          ))}
        </select>
      </label>
      <Figures outcomes={outcomes} labels={LABELS} queue={queue} />
    </>
  );
}

function Tables({ outcomes }: { outcomes: Outcome[] }) {
  const names = Object.keys(outcomes[0]!.tables).filter((name) =>
    outcomes.some((own) => count(own.tables[name])),
  );
  const [chosen, choose] = useState("flows");
  const [place, setPlace] = useState(0);
  const table = outcomes[Math.min(place, outcomes.length - 1)]!.tables[chosen];
  return (
    <fieldset class="files">
      <legend>Tables as CSV</legend>
      <label>
        Table{" "}
        <select value={chosen} onChange={(event) => choose(event.currentTarget.value)}>
          {names.map((name) => (
            <option value={name}>
              {name} ({count(outcomes[0]!.tables[name])} rows)
            </option>
          ))}
        </select>
      </label>
      {outcomes.length > 1 && (
        <label>
          Setting{" "}
          <select value={place} onChange={(event) => setPlace(Number(event.currentTarget.value))}>
            {outcomes.map((_, own) => (
              <option value={own}>{LABELS[own]}</option>
            ))}
          </select>
        </label>
      )}
      <button
        type="button"
        disabled={!table}
        onClick={() => table && save(`headend-${chosen}.csv`, writeCsv(table), "text/csv")}
      >
        Save the table
      </button>
    </fieldset>
  );
}
