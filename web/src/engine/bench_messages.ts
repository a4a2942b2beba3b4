// What the workbench and the worker that runs the engine say to each other.

import type { Overrides, Refusal } from "./messages";

/** A column of a table: numbers, or names. */
export type Column = Float64Array | string[];

/** A result table; `integers` are the columns whose numbers are whole. */
export interface Table {
  columns: Record<string, Column>;
  integers: string[];
}

export type TableSet = Record<string, Table>;

/** What the engine says of a scenario that it accepts. */
export interface Checked {
  title: string;
  description: string;
  duration_ns: number;
  warmup_ns: number;
  /** Names with their applications. */
  flows: [name: string, application: string][];
  warnings: string[];
  /** The most that a run takes. */
  bytes: number;
  /** The scenario with all defaults written out. */
  resolved: Record<string, unknown>;
}

export type BenchRequest =
  | { kind: "check"; id: number; text: string; overrides: Overrides }
  | { kind: "schema"; id: number }
  | { kind: "simulate"; id: number; text: string; overrides: Overrides; seed: number | null }
  | { kind: "stop"; id: number };

/** What the worker says, without a question, when its engine cannot go on. */
export interface Broken {
  kind: "broken";
  message: string;
}

export type BenchReply =
  | { kind: "checked"; id: number; checked: Checked }
  | { kind: "schema"; id: number; schema: string }
  | { kind: "progress"; id: number; nowMs: number }
  | { kind: "done"; id: number; tables: TableSet; nowMs: number; isOver: boolean }
  | { kind: "wrong"; id: number; refusal: Refusal; isBroken: boolean };
