// Numbers with units: as reports write them, with three digits in the unit that suits; and shorter
// where a number changes while it is read.

import shared from "./generated.json";

export type Kind = "time" | "rate" | "size" | "ratio" | "number";

const UNITS: Record<Kind, { name: string; size: number }[]> = shared.units;

/** What is not known. */
export const NOTHING = "–";

/** Writes a value in the base unit of its kind: ns, bit/s, bytes, or 1. */
export function write(value: number | null | undefined, kind: Kind): string {
  if (value === null || value === undefined || Number.isNaN(value)) return NOTHING;
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const steps = UNITS[kind];
  const size = Math.abs(value);
  // 999.96 of a unit would be written as 1000: the next larger one reads better.
  const fitting = steps.find((unit) => size >= unit.size * 0.9995) ?? steps[steps.length - 1]!;
  const unit = size === 0 && kind === "time" ? steps.find((own) => own.name === "ms")! : fitting;
  return `${writeNumber(value / unit.size)} ${unit.name}`.trimEnd();
}

/** Writes a plain number with three significant digits and no zeros behind its decimals. */
export function writeNumber(number: number): string {
  if (number === 0) return "0";
  const place = Number(number.toExponential().split("e")[1]);
  const decimals = Math.min(Math.max(0, 2 - place), 6);
  const text = number.toLocaleString("en", {
    minimumFractionDigits: 0,
    maximumFractionDigits: decimals,
  });
  return text.replace("-", "−");
}

/** Writes a score with one decimal, and all else as `write` does. */
export function writeKey(value: number, kind: Kind): string {
  return kind === "number" && Math.abs(value) < 10 ? value.toFixed(1) : write(value, kind);
}

/** Writes a value of a line that moves: fewer digits, which do not flicker, and the same units. */
export function writeShort(value: number, kind: Kind): string {
  if (kind === "rate") return `${round(value / 1e6, 10)} Mbit/s`;
  if (kind === "ratio") return `${(value * 100).toFixed(0)} %`;
  if (kind !== "time") return value.toFixed(1);
  const ms = value / 1e6;
  return ms < 1000 ? `${round(ms, 10)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/** Writes one decimal of what is smaller than a number, and none of what is larger. */
function round(value: number, from: number): string {
  return value.toFixed(value < from ? 1 : 0);
}

/** Keeps a number and its unit on one line. */
export function keepUnits(text: string): string {
  return text.replaceAll(/(\d) (?=[^\s\d])/g, "$1\u00a0");
}
