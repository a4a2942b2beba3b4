// Answers the workbench in the worker: checks scenarios, and runs them to their end.

import { check, Run, schema, type Tables } from "@engine/headend_wasm.js";

import type { BenchReply, BenchRequest, Column, Table, TableSet } from "./bench_messages";
import type { Refusal } from "./messages";

type Send = (reply: BenchReply, moved?: Transferable[]) => void;

/**
 * A run is simulated in slices of about this much real time, ms. After each slice the page learns
 * the progress, and a stop takes effect.
 */
const SLICE_MS = 80;

const KINDS: ReadonlySet<string> = new Set(["check", "schema", "simulate", "stop"]);

/** The runs that are to be stopped. */
const stopped = new Set<number>();

export function isOfBench(request: { kind: string }): request is BenchRequest {
  return KINDS.has(request.kind);
}

/** Answers a request; an error of the engine's is an answer too. */
export async function answerBench(request: BenchRequest, send: Send): Promise<void> {
  const { id } = request;
  try {
    if (request.kind === "check") {
      const checked = JSON.parse(check(request.text, JSON.stringify(request.overrides)));
      send({ kind: "checked", id, checked });
    } else if (request.kind === "schema") {
      send({ kind: "schema", id, schema: schema() });
    } else if (request.kind === "stop") {
      stopped.add(id);
    } else {
      await simulate(request, send);
    }
  } catch (fault) {
    send({ kind: "wrong", id, ...explain(fault) });
  }
}

/** Says what is wrong: the engine refuses with JSON; all else means that it can run no more. */
function explain(fault: unknown): { refusal: Refusal; isBroken: boolean } {
  if (typeof fault === "string") return { refusal: JSON.parse(fault), isBroken: false };
  const message = `The engine stopped: ${fault instanceof Error ? fault.message : String(fault)}`;
  return {
    refusal: { message, path: null, line: null, column: null, meant: null },
    isBroken: true,
  };
}

async function simulate(
  request: BenchRequest & { kind: "simulate" },
  send: Send,
): Promise<void> {
  const { id, seed } = request;
  const overrides = JSON.stringify(request.overrides);
  const run = new Run(request.text, overrides, seed === null ? null : BigInt(seed));
  let isOver = false;
  for (let step = 50; !isOver && !stopped.has(id); ) {
    const begun = performance.now();
    isOver = run.runUntil(run.now() + step);
    const took = performance.now() - begun;
    if (took < SLICE_MS / 2) step *= 2;
    else if (took > SLICE_MS * 2) step = Math.max(step / 2, 1);
    send({ kind: "progress", id, nowMs: run.now() });
    await hearOthers();
  }
  stopped.delete(id);
  const nowMs = run.now();
  const tables = run.tables();
  const read = readTables(tables);
  tables.free();
  run.free();
  send({ kind: "done", id, tables: read, nowMs, isOver }, listBuffers(read));
}

/** Lets messages in that have come meanwhile. */
function hearOthers(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

function readTables(tables: Tables): TableSet {
  return Object.fromEntries(tables.names().map((name) => [name, readTable(tables, name)]));
}

function readTable(tables: Tables, name: string): Table {
  const columns: Record<string, Column> = {};
  const integers: string[] = [];
  for (const column of tables.columns(name)) {
    columns[column] = tables.numbers(name, column) ?? tables.texts(name, column) ?? [];
    if (tables.integers(name, column)) integers.push(column);
  }
  return { columns, integers };
}

function listBuffers(tables: TableSet): Transferable[] {
  return Object.values(tables)
    .flatMap((table) => Object.values(table.columns))
    .flatMap((column) => (column instanceof Float64Array ? [column.buffer] : []));
}
