// What is written in the workbench: at first what a link or another program gives, or a shipped
// scenario.

import { useEffect, useMemo, useState } from "preact/hooks";

import type { Overrides } from "../engine/messages";
import { decode, readGiven, type Setup } from "./link";
import { readOverrides, writeOverrides } from "./overrides";
import { FIRST, SHIPPED } from "./shipped";
import { explainFault } from "./useBench";

export interface Written {
  text: string;
  /** Counts the texts that came from elsewhere than the editor. */
  loads: number;
  /** The lines of the second setting. */
  lines: string;
  seed: number | null;
  isCompared: boolean;
}

const EMPTY: Written = { text: "", loads: 0, lines: "", seed: null, isCompared: true };

export interface Lines {
  /** Null where the lines are wrong, or there are none. */
  overrides: Overrides | null;
  fault: string;
}

/** Gives what is written, what changes it, and what is wrong with the link that it came from. */
export function useSetup(data: string) {
  const [written, setWritten] = useState(EMPTY);
  const [linkFault, setLinkFault] = useState("");
  const change = (part: Partial<Written>) => setWritten((before) => ({ ...before, ...part }));
  const load = (text: string, part: Partial<Written> = {}) =>
    setWritten((before) => ({ ...before, ...part, text, loads: before.loads + 1 }));
  useEffect(() => {
    open(data).then(
      ({ text, overrides, seed, compare }) =>
        load(text, { lines: writeOverrides(overrides), seed, isCompared: compare }),
      (fault: unknown) => setLinkFault(explainFault(fault).message),
    );
  }, [data]);
  const second = useMemo(() => readLines(written.lines), [written.lines]);
  return { written, change, load, second, linkFault };
}

function readLines(lines: string): Lines {
  try {
    const overrides = readOverrides(lines);
    return { overrides: overrides.length ? overrides : null, fault: "" };
  } catch (fault) {
    return { overrides: null, fault: explainFault(fault).message };
  }
}

async function open(data: string): Promise<Setup> {
  const given = data ? await decode(data) : readGiven();
  return given ?? { text: SHIPPED.get(FIRST) ?? "", overrides: [], seed: null, compare: true };
}
