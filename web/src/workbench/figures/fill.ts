// Fills a report's specification: rows by their roles, and values for placeholders.

import { type Json, type PanelDefinition, RULES } from "./definition";
import type { Data, Extent } from "./data";
import { findColour, findDashes } from "./series";

type Rows = { [name: string]: Json }[];

/** Gives the specification of a chart; `isShared`: others beside it have the same axes. */
export function fill(
  definition: PanelDefinition,
  data: Data,
  extent: Extent,
  isShared: boolean,
): { [name: string]: Json } {
  const datasets: { [name: string]: Json } = {};
  for (const [name, role] of Object.entries(definition.roles)) {
    const rows = definition.constant[name] ?? ROWS[role]?.(data);
    if (Array.isArray(rows) && rows.length) datasets[name] = rows;
  }
  const values = listValues(data, extent);
  const written = put(definition.specification, values) as { [name: string]: Json };
  const kept = drop(written, datasets) as { [name: string]: Json };
  if (isShared) shareAxes(kept, extent);
  return { ...kept, datasets };
}

const ROWS: Record<string, (data: Data) => Rows> = {
  warmup: listWarmup,
  nominal: ({ nominal }) =>
    nominal === null ? [] : [{ mark: nominal, meaning: "- -  nominal rate" }],
  top: (data) => (data.series.length === 1 ? listTops(data) : []),
  lines: listLines,
  band: listBands,
  tail: listTails,
  tail_band: listTailBands,
};

function listWarmup(data: Data): Rows {
  if (!data.warmupS) return [];
  return [{ begin: 0, time_s: data.warmupS, meaning: findShade(data).meaning }];
}

/** The name of the warm-up stands in its shade where there is room, or beside it. */
function findShade(data: Data): { meaning: string; align: string; dx: number } {
  return RULES.warmup[data.warmupS > data.endS * RULES.wide ? "wide" : "narrow"];
}

function listTops(data: Data): Rows {
  const line = data.lines.get(data.series[0]!.name) ?? [];
  return line.map((point) => ({ time_s: point.time, top: point.top ?? null }));
}

function listLines(data: Data): Rows {
  return data.series.flatMap(({ name, slot }) =>
    (data.lines.get(name) ?? []).map((point) => ({
      time_s: point.time,
      value: point.value,
      series: name,
      slot,
    })),
  );
}

/** The bands: a line that stands for several flows or queues has one, all other lines have none. */
function listBands(data: Data): Rows {
  return data.series.flatMap(({ name, slot }) =>
    (data.lines.get(name) ?? []).flatMap(({ time, low, high }) =>
      isKnown(low) ? [{ time_s: time, low, high: high ?? null, series: name, slot }] : [],
    ),
  );
}

function listTails(data: Data): Rows {
  return data.series.flatMap(({ name, slot }) =>
    (data.tails.get(name) ?? []).map(({ share, delay }) => ({
      share,
      delay_ms: delay,
      series: name,
      slot,
    })),
  );
}

function listTailBands(data: Data): Rows {
  return data.series.flatMap(({ name, slot }) =>
    (data.tails.get(name) ?? []).flatMap(({ share, low, high }) =>
      isKnown(low) ? [{ low_ms: low, high_ms: high ?? null, share, series: name, slot }] : [],
    ),
  );
}

function isKnown(value: number | null | undefined): value is number {
  return value !== null && value !== undefined;
}

/** The values of placeholders. */
function listValues(data: Data, extent: Extent): Map<string, Json> {
  const shade = findShade(data);
  const domain = listDomain(extent);
  return new Map<string, Json>([
    ["series", data.series.map((own) => own.name)],
    ["colours", data.series.map((own) => findColour(own.slot))],
    ["dashes", data.series.map((own) => findDashes(own.slot))],
    ["colour", findColour(data.series[0]?.slot ?? 0)],
    ["align", shade.align],
    ["dx", shade.dx],
    ["most", [0, extent.most || 1]],
    ["room", Math.max(data.nominal ?? 0, extent.highest) * RULES.headroom],
    ["domain", domain],
    ["ticks", listTicks(domain)],
  ]);
}

function listDomain(extent: Extent): [number, number] {
  const [below, beside] = RULES.tail.room as [number, number];
  return [Math.max(extent.delays[0] * below, RULES.tail.least), extent.delays[1] * beside];
}

function listTicks([from, to]: [number, number]): number[] {
  const [low, high] = [Math.floor(Math.log10(from)), Math.ceil(Math.log10(to))];
  const steps = high - low <= RULES.ticks.most_decades ? RULES.ticks.steps : [1];
  const powers = Array.from({ length: high - low + 1 }, (_, place) => low + place);
  return powers.flatMap((power) => steps.map((step) => Number(`${step}e${power}`)));
}

/** Copies a part of a specification with values in place of its placeholders. */
function put(part: Json, values: Map<string, Json>): Json {
  if (Array.isArray(part)) return part.map((own) => put(own, values));
  if (part === null || typeof part !== "object") return part;
  const placeholder = part.$;
  if (typeof placeholder === "string") {
    const value = values.get(placeholder);
    if (value === undefined) throw new Error(`no value for ${placeholder}`);
    return value;
  }
  return Object.fromEntries(Object.entries(part).map(([name, own]) => [name, put(own, values)]));
}

/** Leaves out what has no rows; null where nothing is left. */
function drop(part: { [name: string]: Json }, datasets: { [name: string]: Json }): Json {
  if (Array.isArray(part.layer)) {
    const layer = part.layer
      .map((own) => drop(own as { [name: string]: Json }, datasets))
      .filter((own) => own !== null);
    return layer.length ? { ...part, layer } : null;
  }
  const name = (part.data as { name?: string } | undefined)?.name;
  return name !== undefined && !(name in datasets) ? null : part;
}

/** Gives charts side by side the same ends of their axes. */
function shareAxes(part: { [name: string]: Json }, extent: Extent): void {
  for (const own of (part.layer as { [name: string]: Json }[] | undefined) ?? [])
    shareAxes(own, extent);
  const encoding = (part.encoding ?? {}) as Record<string, Record<string, Json>>;
  if (encoding.y?.field !== "value") return;
  const { y, x } = encoding;
  const scale = (y.scale ?? {}) as Record<string, Json>;
  if (!("domain" in scale) && !("domainMax" in scale))
    y.scale = { ...scale, domainMax: extent.highest || 1 };
  if (x) x.scale = { ...(x.scale as Record<string, Json>), domainMin: 0, domainMax: extent.endS };
}
