// Files for the reader: saved without a request, by a link to a text in memory.

import type { Table } from "../engine/bench_messages";
import { count } from "./tables";

export function save(name: string, content: string, type: string): void {
  const url = URL.createObjectURL(new Blob([content], { type: `${type};charset=utf-8` }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Writes a table as CSV as `headend export` does; what does not exist is empty. */
export function writeCsv(table: Table): string {
  const names = Object.keys(table.columns);
  const integers = new Set(table.integers);
  const columns = names.map((name) => {
    const column = table.columns[name]!;
    if (Array.isArray(column)) return column.map(quote);
    return Array.from(column, integers.has(name) ? String : writeFloat);
  });
  const rows = Array.from({ length: count(table) }, (_, place) =>
    columns.map((column) => column[place]).join(","),
  );
  return `${[names.join(","), ...rows].join("\n")}\n`;
}

function quote(text: string): string {
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function writeFloat(value: number): string {
  if (Number.isNaN(value)) return "";
  return Number.isInteger(value) && Math.abs(value) < 1e16 ? `${value}.0` : String(value);
}
