// The workbench: any scenario, written and run in the page, alone or beside a second setting.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import type { Overrides, Refusal } from "../engine/messages";
import { Editor } from "./Editor";
import { decode, readGiven, type Setup } from "./link";
import { readOverrides, writeOverrides } from "./overrides";
import { Results } from "./Results";
import { RunBar } from "./RunBar";
import { SecondSetting } from "./SecondSetting";
import { Share } from "./Share";
import { FIRST, findShipped, SHIPPED } from "./shipped";
import { Source } from "./Source";
import type { Outcome } from "./tables";
import { explainFault, type Progress, Runner, useCheck, useClient, type Verdict } from "./useBench";
import "./workbench.css";

const NO_OVERRIDES: Overrides = [];

/** What the lines of the second setting say; null where they are wrong or there are none. */
function readLines(lines: string): { overrides: Overrides | null; fault: string } {
  try {
    const overrides = readOverrides(lines);
    return { overrides: overrides.length ? overrides : null, fault: "" };
  } catch (fault) {
    return { overrides: null, fault: fault instanceof Error ? fault.message : String(fault) };
  }
}

/** Opens what a link or another program gives, else a shipped scenario. */
async function open(data: string): Promise<Setup> {
  const given = data ? await decode(data) : readGiven();
  return given ?? { text: SHIPPED.get(FIRST) ?? "", overrides: [], seed: null, compare: true };
}

export function Workbench({ data }: { data: string }) {
  const { client, schema } = useClient();
  const [{ text, loads }, setWritten] = useState({ text: "", loads: 0 });
  const [lines, setLines] = useState("");
  const [seed, setSeed] = useState<number | null>(null);
  const [isCompared, setCompared] = useState(true);
  const [linkFault, setLinkFault] = useState("");
  const [results, setResults] = useState<{ outcomes: Outcome[]; of: string } | null>(null);
  const [progress, setProgress] = useState<Progress | null>(null);
  const [runFault, setRunFault] = useState<Refusal | null>(null);
  const runner = useMemo(() => new Runner(client), [client]);
  const load = (own: string) =>
    setWritten((before) => ({ text: own, loads: before.loads + 1 }));
  const isAlive = useRef(true);
  useEffect(() => () => void (isAlive.current = false), []);

  useEffect(() => {
    open(data).then(
      (setup) => {
        load(setup.text);
        setLines(writeOverrides(setup.overrides));
        setSeed(setup.seed);
        setCompared(setup.compare);
      },
      (fault: unknown) => setLinkFault(explainFault(fault).message),
    );
  }, [data]);

  const second = useMemo(() => readLines(lines), [lines]);
  const verdict = useCheck(client, text, NO_OVERRIDES);
  const other = useCheck(client, text, second.overrides);
  const isAlone = second.overrides !== null && !isCompared;
  const needed = isAlone ? [other] : second.overrides ? [verdict, other] : [verdict];
  const isReady =
    !second.fault && needed.every((own) => own.text === text && own.checked && !own.refusal);

  const setup = JSON.stringify([text, second.overrides, seed, isCompared]);
  const run = async () => {
    if (progress || !isReady) return;
    setRunFault(null);
    const settings = isAlone ? [] : [NO_OVERRIDES];
    if (second.overrides) settings.push(second.overrides);
    try {
      const found = await runner.run(text, settings, seed, setProgress);
      if (isAlive.current) setResults({ outcomes: found, of: setup });
    } catch (fault) {
      setRunFault(explainFault(fault));
    }
    setProgress(null);
  };

  return (
    <div class="bench">
      <h1>Workbench</h1>
      <p class="lead">
        Choose or write a scenario, and run it here. Nothing is sent anywhere: the simulator is in
        this page.
      </p>
      {linkFault && (
        <p class="refusal" role="alert">
          {linkFault}
        </p>
      )}
      <Source text={text} onText={load} />
      <Editor
        text={text}
        loads={loads}
        refusal={verdict.text === text ? verdict.refusal : null}
        schema={schema}
        onChange={(own) => setWritten((before) => ({ ...before, text: own }))}
        onRun={() => void run()}
      />
      <State verdict={verdict} isEmpty={!text.trim()} />
      <SecondSetting
        lines={lines}
        onLines={setLines}
        isCompared={isCompared}
        onCompared={setCompared}
        fault={second.fault}
        verdict={other}
      />
      <RunBar
        isReady={isReady}
        progress={progress}
        seed={seed}
        onSeed={setSeed}
        onRun={() => void run()}
        onStop={() => runner.stop()}
      />
      {runFault && (
        <p class="refusal" role="alert">
          {runFault.message}
        </p>
      )}
      <Share
        setup={{ text, overrides: second.overrides ?? [], seed, compare: isCompared }}
        shipped={findShipped(text)}
      />
      {results && <Results outcomes={results.outcomes} isOld={results.of !== setup} />}
    </div>
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
