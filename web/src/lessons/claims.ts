// The numbers that lessons tell, from the file that a test compares with the engine.

import { writeCommand } from "../command";
import content from "./claims.json";
import type { LessonName } from "./lesson";

/** A number, and how the installed headend gives it. */
export interface Claim {
  /** The step, from 1 on. */
  step: number;
  /** What the number is. */
  about: string;
  /** What is set beside the lesson's own values. */
  set: Readonly<Record<string, string>>;
  measure: string;
  /** The number as texts have it: rounded to its digits, or after "at least" or "at most". */
  shown: string;
}

interface Content {
  scenario: string;
  set: Readonly<Record<string, string>>;
  claims: Readonly<Record<string, Claim>>;
}

type Names<Name extends LessonName> = keyof (typeof content)[Name]["claims"];

/** Gives the function by which a lesson's texts have their numbers. */
export function claimsOf<Name extends LessonName>(name: Name): (claim: Names<Name>) => string {
  const { claims } = content[name] as Content;
  return (claim) => claims[claim as string]!.shown;
}

/** The name of a lesson's own scenario file; nothing where the scenario is a shipped one. */
export function readScenario(name: LessonName): string | undefined {
  const { scenario } = content[name];
  return scenario.endsWith(".toml") ? scenario.replace(/^.*\//, "") : undefined;
}

/** The command that gives a number with the installed headend. */
function commandOf(name: LessonName, claim: Claim): string {
  const { scenario, set } = content[name] as Content;
  return writeCommand(readScenario(name) ?? scenario, Object.entries({ ...set, ...claim.set }));
}

/** The commands of a lesson, each once, with the numbers that it gives. */
export function listCommands(name: LessonName): { command: string; claims: Claim[] }[] {
  const found = new Map<string, Claim[]>();
  for (const claim of Object.values((content[name] as Content).claims)) {
    const command = commandOf(name, claim);
    found.set(command, [...(found.get(command) ?? []), claim]);
  }
  return [...found].map(([command, claims]) => ({ command, claims }));
}
