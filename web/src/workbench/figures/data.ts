// What a chart shows of a run: its lines or curves with their series, and the ends of its axes.

import { compareNaturally } from "../groups";
import { listRows, numbers, type Outcome, texts } from "../tables";
import { type PanelDefinition, RULES, type Source } from "./definition";
import { merge, type Point, round, type Sample, scale, thin } from "./lines";
import { choose, type FlowKeys, nameFlows, numberQueues, type Series } from "./series";
import { mergeTails, readTails, type Share } from "./tails";

export interface Data {
  series: Series[];
  /** By the name of the series. */
  lines: Map<string, Point[]>;
  tails: Map<string, Share[]>;
  /** The names that stand for many. */
  many: Set<string>;
  /** What there is no room for. */
  left: string[];
  warmupS: number;
  endS: number;
  /** The rate of the queue's line in the unit of the axis; null where there is none. */
  nominal: number | null;
  /** The largest throughput of any flow, in the unit of the axis; null of other charts. */
  most: number | null;
}

type Drawn = Partial<Data> & Pick<Data, "series">;

/** Reads what a panel shows of a run; the queue is the one that the figures are about. */
export function readData(definition: PanelDefinition, outcome: Outcome, queue: string): Data {
  return {
    lines: new Map(),
    tails: new Map(),
    many: new Set(),
    left: [],
    warmupS: outcome.checked.warmup_ns / 1e9,
    endS: outcome.nowMs / 1e3,
    nominal: null,
    most: null,
    ...read(definition.source, outcome, queue),
  };
}

function read(source: Source, outcome: Outcome, queue: string): Drawn {
  if (source.table === "queue_series") return readQueue(source, outcome, queue);
  if (source.table === "flow_series") return readRates(source, outcome);
  if (source.table === "connection_series") return readWindows(source, outcome);
  return readDelays(source, outcome);
}

function readQueue(source: Source, outcome: Outcome, queue: string): Drawn {
  const classic = queue.replace(/_low_latency$/, "");
  const wanted = new Set([classic, `${classic}_low_latency`]);
  const table = outcome.tables.queue_series;
  const names = texts(table, "queue");
  const samples = readSamples(source, outcome, (place) =>
    wanted.has(names[place]!) ? names[place]! : null,
  );
  const lines = scaleAll(thin(samples), source);
  const rate = listRows(outcome.tables.queues)
    .find((row) => row.text("queue") === queue)
    ?.number("rate_bps");
  const nominal = rate && Number.isFinite(rate) ? rate * (source.factor ?? 1) : null;
  return { series: numberQueues([...lines.keys()]), lines, nominal };
}

function readSamples(
  source: Source,
  outcome: Outcome,
  name: (place: number) => string | null,
): Sample[] {
  const table = outcome.tables[source.table];
  const times = numbers(table, "time_ns");
  const values = numbers(table, source.value ?? "");
  const tops = numbers(table, source.top ?? source.value ?? "");
  const samples: Sample[] = [];
  times.forEach((at, place) => {
    const key = name(place);
    if (key !== null) samples.push({ key, at, value: values[place]!, top: tops[place]! });
  });
  return samples;
}

function scaleAll(lines: Map<string, Sample[]>, source: Source): Map<string, Point[]> {
  return new Map([...lines].map(([key, own]) => [key, scale(own, source.factor ?? 1)]));
}

/** Puts together what has one name; what stands for many becomes one line with a band. */
function mergeNamed(
  keys: Iterable<[key: string, name: string]>,
  lines: Map<string, Point[]>,
  many: Set<string>,
): Map<string, Point[]> {
  const named = new Map<string, Point[][]>();
  for (const [key, name] of keys) {
    const line = lines.get(key);
    if (line) named.set(name, [...(named.get(name) ?? []), line]);
  }
  return new Map(
    [...named].map(([name, own]) => [name, many.has(name) ? merge(own) : own.flat()]),
  );
}

function readRates(source: Source, outcome: Outcome): Drawn {
  const keys = nameFlows(outcome);
  const table = outcome.tables.flow_series;
  const [flows, directions] = [texts(table, "flow"), texts(table, "direction")];
  const all = thin(readSamples(source, outcome, (at) => `${flows[at]} ${directions[at]}`));
  const lines = mergeNamed(keys.names, scaleAll(all, source), keys.many);
  return { ...pick(lines, keys), most: findMost(outcome, source) };
}

/** The largest throughput of any flow: goodput has the same axis. */
function findMost(outcome: Outcome, source: Source): number {
  const table = outcome.tables.flow_series;
  const [flows, directions] = [texts(table, "flow"), texts(table, "direction")];
  const throughput = { ...source, value: "throughput_bps" };
  const all = thin(readSamples(throughput, outcome, (at) => `${flows[at]} ${directions[at]}`));
  const values = [...all.values()].flat().map((own) => own.value);
  const most = values.reduce((one, other) => (other > one ? other : one), 0);
  return round(most) * (source.factor ?? 1);
}

function pick(lines: Map<string, Point[]>, keys: Pick<FlowKeys, "slots" | "ranks" | "many">) {
  const { series, left } = choose([...lines.keys()], keys.slots, keys.ranks);
  return { series, lines, left, many: keys.many };
}

/** Windows of connections: the longest of a flow has the flow's colour. */
function readWindows(source: Source, outcome: Outcome): Drawn {
  const keys = nameFlows(outcome);
  const table = outcome.tables.connection_series;
  const [flows, numbersOf] = [texts(table, "flow"), numbers(table, "connection")];
  const known = new Set([...keys.names.keys()].map((key) => key.split(" ")[0]!));
  const ends = chooseEnds(outcome);
  const all = readSamples(source, outcome, (at) =>
    known.has(flows[at]!) && ends.has(at) ? `${flows[at]} ${numbersOf[at]}` : null,
  );
  const lengths = new Map<string, number>();
  for (const own of all) lengths.set(own.key, (lengths.get(own.key) ?? 0) + 1);
  const lasting = all.filter((own) => lengths.get(own.key)! >= RULES.fewest_times);
  const lines = scaleAll(thin(lasting), source);
  const named = nameConnections([...lines.keys()], keys, [...known]);
  const merged = mergeNamed(named, lines, new Set(keys.groups.values()));
  return pick(merged, orderConnections(merged, keys));
}

/** The rows of that end of each connection that has more in flight: both ends have a window. */
function chooseEnds(outcome: Outcome): Set<number> {
  const table = outcome.tables.connection_series;
  const flows = texts(table, "flow");
  const connections = numbers(table, "connection");
  const times = numbers(table, "time_ns");
  const inFlight = numbers(table, "in_flight_bytes");
  const seen = new Map<string, number>();
  const ends = new Map<string, { sent: number; places: number[] }[]>();
  flows.forEach((flow, place) => {
    const key = `${flow} ${connections[place]}`;
    const moment = `${key} ${times[place]}`;
    const end = seen.get(moment) ?? 0;
    seen.set(moment, end + 1);
    const own = ends.get(key) ?? [];
    ends.set(key, own);
    const part = (own[end] ??= { sent: 0, places: [] });
    part.sent += inFlight[place]!;
    part.places.push(place);
  });
  const chosen = [...ends.values()].map((own) =>
    own.reduce((one, other) => (other.sent > one.sent ? other : one)),
  );
  return new Set(chosen.flatMap((own) => own.places));
}

/** Names connections by their flow, with a number where a flow has several. */
function nameConnections(
  keys: string[],
  flows: FlowKeys,
  order: string[],
): [key: string, name: string][] {
  const split = keys.map((key) => {
    const at = key.lastIndexOf(" ");
    return { key, flow: key.slice(0, at), number: Number(key.slice(at + 1)) };
  });
  const several = new Set(
    split.filter((own) => own.number > 0 && !flows.groups.has(own.flow)).map((own) => own.flow),
  );
  split.sort(
    (one, other) =>
      order.indexOf(one.flow) - order.indexOf(other.flow) || one.number - other.number,
  );
  return split.map(({ key, flow, number }) => [
    key,
    several.has(flow) ? `${flow} #${number + 1}` : (flows.groups.get(flow) ?? flow),
  ]);
}

/** Lets the longest connection of each flow stand for it, in its colour; then the others. */
function orderConnections(lines: Map<string, Point[]>, flows: FlowKeys) {
  const slots = new Map(flows.slots);
  const ranks = new Map(flows.ranks);
  const drawn = new Map<string, number>();
  const longest = [...lines].sort(
    ([one, own], [other, more]) => more.length - own.length || compareNaturally(one, other),
  );
  for (const [name] of longest) {
    const flow = name.split(" #")[0]!;
    const before = drawn.get(flow) ?? 0;
    drawn.set(flow, before + 1);
    const size = flows.ranks.size;
    ranks.set(name, before * size + (flows.ranks.get(flow) ?? size));
    const slot = flows.slots.get(flow);
    if (!before && slot !== undefined) slots.set(name, slot);
  }
  return { slots, ranks, many: new Set(flows.groups.values()) };
}

function readDelays(source: Source, outcome: Outcome): Drawn {
  const keys = nameFlows(outcome);
  const curves = readTails(outcome, source.kind ?? "");
  const named = new Map<string, Share[][]>();
  for (const [key, name] of keys.names) {
    const own = curves.get(key);
    if (own?.length) named.set(name, [...(named.get(name) ?? []), own]);
  }
  const tails = new Map([...named].map(([name, own]) => [name, mergeTails(own)]));
  const { series, left } = choose([...tails.keys()], keys.slots, keys.ranks);
  return { series, tails, left, many: keys.many };
}

/** The ends of the axes of one or several runs that are drawn side by side. */
export interface Extent {
  highest: number;
  most: number;
  /** The delays of the ends of curves, ms. */
  delays: [lowest: number, highest: number];
  endS: number;
}

export function measure(all: Data[]): Extent {
  let highest = 0;
  let [low, high] = [RULES.tail.include[0]!, RULES.tail.include[1]!];
  for (const data of all)
    for (const { name } of data.series) {
      for (const point of data.lines.get(name) ?? [])
        for (const value of [point.value, point.high, data.series.length === 1 ? point.top : null])
          highest = Math.max(highest, value ?? 0);
      for (const own of data.tails.get(name) ?? []) {
        low = Math.min(low, own.delay);
        high = Math.max(high, own.delay, own.high ?? 0);
      }
    }
  const most = Math.max(...all.map((data) => data.most ?? 0));
  const endS = Math.max(...all.map((data) => data.endS));
  return { highest, most, delays: [low, high], endS };
}
