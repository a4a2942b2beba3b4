// Lines over time: fewer points for the same curve, and many lines as one with a band, as reports
// draw them (headend.figures.thinning).

import { RULES } from "./definition";

export interface Point {
  time: number;
  value: number | null;
  top?: number | null;
  low?: number | null;
  high?: number | null;
}

/** A row of a table: time in ns, value, and the worst of its interval. */
export interface Sample {
  key: string;
  at: number;
  value: number;
  top: number;
}

/** Rounds to so many significant digits. */
export function round(value: number, digits = 4): number {
  return value === 0 ? 0 : Number(value.toPrecision(digits));
}

/** Merges neighbouring intervals until each line has few enough points. */
export function thin(samples: Sample[]): Map<string, Sample[]> {
  const lines = gather(fillGaps(samples));
  const times = [...new Set([...lines.values()].flat().map((own) => own.at))];
  times.sort((one, other) => one - other);
  const step = Math.ceil(times.length / RULES.points);
  if (step <= 1) return lines;
  const ranks = new Map(times.map((at, rank) => [at, Math.floor(rank / step)]));
  return new Map([...lines].map(([key, own]) => [key, mergeBins(own, ranks)]));
}

function gather(samples: Sample[]): Map<string, Sample[]> {
  const lines = new Map<string, Sample[]>();
  for (const sample of samples) {
    const own = lines.get(sample.key);
    if (own) own.push(sample);
    else lines.set(sample.key, [sample]);
  }
  return lines;
}

/** Gives each line a row for every interval: one without a row is as the one before it. */
function fillGaps(samples: Sample[]): Sample[] {
  const times = [...new Set(samples.map((own) => own.at))].sort((one, other) => one - other);
  const steps = times.slice(1).map((at, place) => at - times[place]!);
  if (!steps.length) return samples;
  steps.sort((one, other) => one - other);
  const interval = steps[Math.round((steps.length - 1) / 2)]!;
  return [...gather(samples).values()].flatMap((line) =>
    line.flatMap((own, place) => {
      const following = line[place + 1];
      const filled = [own];
      if (!following || 2 * (following.at - own.at) <= 3 * interval) return filled;
      const end = following.at - Math.floor(interval / 2);
      for (let at = own.at + interval; at < end; at += interval) filled.push({ ...own, at });
      return filled;
    }),
  );
}

function mergeBins(line: Sample[], ranks: Map<number, number>): Sample[] {
  const bins = new Map<number, Sample[]>();
  for (const own of line) {
    const bin = ranks.get(own.at)!;
    const others = bins.get(bin);
    if (others) others.push(own);
    else bins.set(bin, [own]);
  }
  return [...bins.values()].map((bin) => {
    const values = bin.map((own) => own.value).filter((value) => !Number.isNaN(value));
    const tops = bin.map((own) => own.top).filter((top) => !Number.isNaN(top));
    return {
      key: bin[0]!.key,
      at: Math.max(...bin.map((own) => own.at)),
      value: values.length ? values.reduce((sum, one) => sum + one, 0) / values.length : NaN,
      top: tops.length ? Math.max(...tops) : NaN,
    };
  });
}

/** Writes a line's samples in seconds and in the unit of the axis. */
export function scale(line: Sample[], factor: number): Point[] {
  const write = (value: number) =>
    Number.isNaN(value) ? null : round(round(value) * factor);
  return line.map((own) => ({
    time: round(own.at / 1e9, 6),
    value: write(own.value),
    top: write(own.top),
  }));
}

/** Makes one line of many: the median over them at each time, and where most of them are. */
export function merge(lines: Point[][]): Point[] {
  const times = new Map<number, number[]>();
  for (const point of lines.flat()) {
    const own = times.get(point.time) ?? [];
    if (point.value !== null) own.push(point.value);
    times.set(point.time, own);
  }
  return [...times]
    .sort(([one], [other]) => one - other)
    .map(([time, values]) => {
      values.sort((one, other) => one - other);
      return {
        time,
        value: readQuantile(values, 0.5, true),
        low: readQuantile(values, 0.1, false),
        high: readQuantile(values, 0.9, false),
      };
    });
}

/** The quantile of values in order: between two of them, or the nearest one. */
export function readQuantile(values: number[], at: number, isBetween: boolean): number | null {
  if (!values.length) return null;
  const place = (values.length - 1) * at;
  if (!isBetween) return round(values[Math.round(place)]!);
  const below = values[Math.floor(place)]!;
  const above = values[Math.ceil(place)]!;
  return round(below + (above - below) * (place - Math.floor(place)));
}
