// Rows of result tables, read from their columns.

import type { Checked, Table, TableSet } from "../engine/bench_messages";

/** What became of one setting. */
export interface Outcome {
  checked: Checked;
  tables: TableSet;
  nowMs: number;
  /** Whether it was simulated to its end. */
  isOver: boolean;
}

/** A row of a table: its values by column. */
export class Row {
  constructor(
    private readonly table: Table,
    private readonly place: number,
  ) {}

  text(column: string): string {
    return String(this.table.columns[column]?.[this.place] ?? "");
  }

  /** A number, or null for what does not exist. */
  number(column: string): number | null {
    const value = this.table.columns[column]?.[this.place];
    return typeof value !== "number" || Number.isNaN(value) ? null : value;
  }
}

export function count(table: Table | undefined): number {
  return Object.values(table?.columns ?? {})[0]?.length ?? 0;
}

export function listRows(table: Table | undefined): Row[] {
  return table ? Array.from({ length: count(table) }, (_, place) => new Row(table, place)) : [];
}

/** The columns of numbers of a table, each as it is; a column that is not there has no numbers. */
export function numbers(table: Table | undefined, column: string): Float64Array {
  const found = table?.columns[column];
  return found instanceof Float64Array ? found : new Float64Array();
}

export function texts(table: Table | undefined, column: string): string[] {
  const found = table?.columns[column];
  return Array.isArray(found) ? found : [];
}
