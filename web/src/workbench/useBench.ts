// The workbench's state: what is written, what the engine says of it, and runs.

import { useEffect, useMemo, useState } from "preact/hooks";

import type { Checked } from "../engine/bench_messages";
import type { Overrides, Refusal } from "../engine/messages";
import { Client, Refused } from "./client";
import { Schema } from "./schema";
import type { Outcome } from "./tables";
import { judgeSize } from "./size";

/** So long after the last key press a scenario is checked, ms. */
const PATIENCE_MS = 300;

/** What the engine says of a setting. */
export interface Verdict {
  checked: Checked | null;
  refusal: Refusal | null;
  /** What was checked: an older answer says nothing of a newer text. */
  text: string;
}

export interface Progress {
  /** The number of the setting that runs, from 0, and of how many. */
  place: number;
  of: number;
  nowMs: number;
  durationMs: number;
}

const EMPTY: Verdict = { checked: null, refusal: null, text: "" };

export function explainFault(fault: unknown): Refusal {
  if (fault instanceof Refused) return fault.refusal;
  const message = fault instanceof Error ? fault.message : String(fault);
  return { message, path: null, line: null, column: null, meant: null };
}

/** One engine for as long as the workbench is shown, and its schema. */
export function useClient(): { client: Client; schema: Schema | undefined } {
  const client = useMemo(() => new Client(), []);
  const [schema, setSchema] = useState<Schema>();
  useEffect(() => {
    // Without a schema nothing is completed; the first check says what is wrong with the engine.
    client.readSchema().then(
      (root) => setSchema(new Schema(root as object)),
      () => undefined,
    );
    return () => client.close();
  }, []);
  return { client, schema };
}

/** Checks a setting some time after its last change; null overrides: there is no such setting. */
export function useCheck(client: Client, text: string, overrides: Overrides | null): Verdict {
  const [verdict, setVerdict] = useState(EMPTY);
  const key = JSON.stringify(overrides);
  useEffect(() => {
    if (!text.trim() || !overrides) {
      setVerdict(EMPTY);
      return undefined;
    }
    let isOld = false;
    const settle = (own: Omit<Verdict, "text">) => {
      if (!isOld) setVerdict({ ...own, text });
    };
    const timer = setTimeout(() => {
      client.check(text, overrides).then(
        (checked) => settle({ checked, refusal: judgeSize(checked) }),
        (fault: unknown) => settle({ checked: null, refusal: explainFault(fault) }),
      );
    }, PATIENCE_MS);
    return () => {
      isOld = true;
      clearTimeout(timer);
    };
  }, [text, key]);
  return verdict;
}

/** Runs settings one after the other; a stop keeps what was simulated until then. */
export class Runner {
  private stopLatest: (() => void) | undefined;
  private isStopped = false;
  private isBusy = false;

  constructor(private readonly client: Client) {}

  /** Runs settings, or gives null where others still run. */
  async run(
    text: string,
    settings: Overrides[],
    seed: number | null,
    onProgress: (progress: Progress) => void,
  ): Promise<Outcome[] | null> {
    if (this.isBusy) return null;
    this.isBusy = true;
    this.isStopped = false;
    this.stopLatest = undefined;
    try {
      return await this.runAll(text, settings, seed, onProgress);
    } finally {
      this.isBusy = false;
    }
  }

  stop(): void {
    this.isStopped = true;
    this.stopLatest?.();
  }

  private async runAll(
    text: string,
    settings: Overrides[],
    seed: number | null,
    onProgress: (progress: Progress) => void,
  ): Promise<Outcome[]> {
    const checking = { place: 0, of: settings.length, nowMs: 0, durationMs: 0 };
    onProgress(checking);
    const checks = await Promise.all(settings.map((own) => this.client.check(text, own)));
    const tooLarge = checks.map(judgeSize).find((refusal) => refusal !== null);
    if (tooLarge) throw new Refused(tooLarge);
    const outcomes: Outcome[] = [];
    for (const [place, own] of settings.entries()) {
      if (this.isStopped) break;
      const checked = checks[place]!;
      const durationMs = checked.duration_ns / 1e6;
      const say = (nowMs: number) => onProgress({ place, of: settings.length, nowMs, durationMs });
      say(0);
      const { finished, stop } = this.client.simulate(text, own, seed, say);
      this.stopLatest = stop;
      outcomes.push({ checked, ...(await finished) });
    }
    return outcomes;
  }
}
