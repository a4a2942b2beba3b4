// The workbench: any scenario, written and run in the page, alone or beside a second setting.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import type { Overrides, Refusal } from "../engine/messages";
import type { Client } from "./client";
import { Editor } from "./Editor";
import { Results } from "./Results";
import { RunBar } from "./RunBar";
import { SecondSetting } from "./SecondSetting";
import { Share } from "./Share";
import { findShipped } from "./shipped";
import { Source } from "./Source";
import type { Outcome } from "./tables";
import { explainFault, type Progress, Runner, useCheck, useClient, type Verdict } from "./useBench";
import { useSetup } from "./useSetup";
import "./workbench.css";

const NO_OVERRIDES: Overrides = [];

/** The latest run: how far it is, what came of it, and what is wrong. */
function useRun(client: Client) {
  const [results, setResults] = useState<{ outcomes: Outcome[]; of: string } | null>(null);
  const [progress, setProgress] = useState<Progress | null>(null);
  const [fault, setFault] = useState<Refusal | null>(null);
  const runner = useMemo(() => new Runner(client), [client]);
  const isAlive = useRef(true);
  useEffect(() => () => void (isAlive.current = false), []);
  const run = async (text: string, settings: Overrides[], seed: number | null, of: string) => {
    setFault(null);
    try {
      const outcomes = await runner.run(text, settings, seed, setProgress);
      // A second click comes while the first one's run is under way.
      if (!outcomes) return;
      // A run that is stopped before it began has no results.
      if (isAlive.current && outcomes.length) setResults({ outcomes, of });
    } catch (error) {
      setFault(explainFault(error));
    }
    setProgress(null);
  };
  return { results, progress, fault, run, stop: () => runner.stop() };
}

/** What is written, what the engine says of it, and what begins a run of it. */
function useWorkbench(data: string) {
  const { client, schema } = useClient();
  const setup = useSetup(data);
  const { written, second } = setup;
  const { text, seed, isCompared } = written;
  const latest = useRun(client);
  const verdict = useCheck(client, text, NO_OVERRIDES);
  const other = useCheck(client, text, second.overrides);
  const isAlone = second.overrides !== null && !isCompared;
  const needed = isAlone ? [other] : second.overrides ? [verdict, other] : [verdict];
  const isReady =
    !second.fault && needed.every((own) => own.text === text && own.checked && !own.refusal);
  const now = JSON.stringify([text, second.overrides, seed, isCompared]);
  const begin = () => {
    if (latest.progress || !isReady) return;
    const settings = isAlone ? [] : [NO_OVERRIDES];
    if (second.overrides) settings.push(second.overrides);
    void latest.run(text, settings, seed, now);
  };
  return { ...setup, ...latest, schema, verdict, other, isReady, now, begin };
}

export function Workbench({ data }: { data: string }) {
  const bench = useWorkbench(data);
  const { written, change, load, second, verdict, progress, results, begin } = bench;
  const { text, seed, isCompared } = written;
  return (
    <div class="bench">
      <h1>Workbench</h1>
      <p class="lead">
        Choose or write a scenario, and run it here. Nothing is sent anywhere: the simulator is in
        this page.
      </p>
      <Fault message={bench.linkFault} />
      <Source text={text} onText={(own) => load(own)} />
      <Editor
        text={text}
        loads={written.loads}
        refusal={verdict.text === text ? verdict.refusal : null}
        schema={bench.schema}
        onChange={(own) => change({ text: own })}
        onRun={begin}
      />
      <State verdict={verdict} isEmpty={!text.trim()} />
      <SecondSetting
        lines={written.lines}
        onLines={(lines) => change({ lines })}
        isCompared={isCompared}
        onCompared={(own) => change({ isCompared: own })}
        fault={second.fault}
        verdict={bench.other}
        overrides={second.overrides}
      />
      <RunBar
        isReady={bench.isReady}
        progress={progress}
        seed={seed}
        onSeed={(own) => change({ seed: own })}
        onRun={begin}
        onStop={bench.stop}
      />
      <Fault message={bench.fault?.message ?? ""} />
      <Share
        setup={{ text, overrides: second.overrides ?? [], seed, compare: isCompared }}
        shipped={findShipped(text)}
      />
      {results && <Results outcomes={results.outcomes} isOld={results.of !== bench.now} />}
    </div>
  );
}

function Fault({ message }: { message: string }) {
  if (!message) return null;
  return (
    <p class="refusal" role="alert">
      {message}
    </p>
  );
}

/** One message below the editor: what is wrong, or what the scenario has; and warnings. */
function State({ verdict, isEmpty }: { verdict: Verdict; isEmpty: boolean }) {
  const { checked, refusal } = verdict;
  return (
    <div class="state" role="status">
      {isEmpty ? (
        <p class="soft">There is no scenario yet.</p>
      ) : refusal ? (
        <p class="refusal">{refusal.message}</p>
      ) : checked ? (
        <p class="soft">
          The scenario can be run: {checked.duration_ns / 1e9} s,{" "}
          {checked.flows.length === 1 ? "one flow" : `${checked.flows.length} flows`}.
        </p>
      ) : (
        <p class="soft">…</p>
      )}
      {checked?.warnings.map((warning) => (
        <p class="warning">Warning: {warning}</p>
      ))}
    </div>
  );
}
