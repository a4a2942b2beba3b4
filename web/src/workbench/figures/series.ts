// Which flows and queues a figure shows, in which order and colour (headend.figures.selection).

import shared from "../../generated.json";
import { compareNaturally, findGroups, nameGroup } from "../groups";
import { listRows, type Outcome, texts } from "../tables";
import { SERIES } from "./definition";

/** A line of a figure, with its place in the palette, or from `queues_from` on of queues' tones. */
export interface Series {
  name: string;
  slot: number;
}

/** Directions of flows that carry data, by what they are called in figures. */
export interface FlowKeys {
  /** The name of `flow direction`. */
  names: Map<string, string>;
  /** The places in the palette, by name and by flow. */
  slots: Map<string, number>;
  /** What is drawn where there is no room for all: the least first. */
  ranks: Map<string, number>;
  /** The names that stand for many. */
  many: Set<string>;
  groups: Map<string, string>;
}

interface Way {
  flow: string;
  direction: string;
  application: string;
  label: string;
  bytes: number;
  name: string;
}

const ARROWS = new Map([
  ["up", " ↑"],
  ["down", " ↓"],
]);

const RANKS = new Map(Object.entries(SERIES.ranks));

/** Names the directions that carry data, calls first, then what else answers to a person. */
export function nameFlows(outcome: Outcome): FlowKeys {
  const groups = findGroups(texts(outcome.tables.flows, "flow"));
  const ways = listWays(outcome, groups);
  const names = [...new Set(ways.map((way) => way.name))];
  const ranks = rankNames(ways, names);
  const best = [...names]
    .sort((one, other) => ranks.get(one)! - ranks.get(other)!)
    .slice(0, shared.palette.length);
  const ordered = [
    ...names.filter((name) => best.includes(name)),
    ...names.filter((name) => !best.includes(name)),
  ];
  const slots = new Map(ordered.map((name, place) => [name, place]));
  return {
    names: new Map(ways.map((way) => [`${way.flow} ${way.direction}`, way.name])),
    slots: spread(slots, ways, ranks),
    ranks: spread(ranks, ways, ranks),
    many: new Set(ways.filter((way) => groups.has(way.flow)).map((way) => way.name)),
    groups,
  };
}

function listWays(outcome: Outcome, groups: Map<string, string>): Way[] {
  const rows = listRows(outcome.tables.flows).filter(
    (row) => row.text("carries") === "data" && (row.number("packets_sent") ?? 0) > 0,
  );
  const directions = new Map<string, number>();
  const sent = new Map<string, number>();
  for (const row of rows) {
    const flow = row.text("flow");
    const label = groups.get(flow) ?? flow;
    directions.set(flow, (directions.get(flow) ?? 0) + 1);
    sent.set(label, (sent.get(label) ?? 0) + (row.number("bytes_sent") ?? 0));
  }
  const felt = rankByWhatIsFelt(outcome);
  const ways = rows.map((row): Way => {
    const [flow, direction] = [row.text("flow"), row.text("direction")];
    const label = groups.get(flow) ?? flow;
    const arrow = (directions.get(flow) ?? 0) > 1 ? (ARROWS.get(direction) ?? "") : "";
    const bytes = row.number("bytes_sent") ?? 0;
    const application = row.text("application");
    return { flow, direction, application, label, bytes, name: label + arrow };
  });
  return ways.sort(
    (one, other) =>
      (felt.get(one.flow) ?? 3) - (felt.get(other.flow) ?? 3) ||
      sent.get(other.label)! - sent.get(one.label)! ||
      compareNaturally(one.label, other.label) ||
      Number(one.direction === "down") - Number(other.direction === "down"),
  );
}

/** Datagrams answer to somebody more than transfers do; measures say it more exactly. */
function rankByWhatIsFelt(outcome: Outcome): Map<string, number> {
  const ranks = new Map<string, number>();
  const put = (flow: string, rank: number) =>
    ranks.set(flow, Math.min(ranks.get(flow) ?? 3, rank));
  for (const row of listRows(outcome.tables.flows))
    if (row.text("transport") === "udp") put(row.text("flow"), 2);
  for (const row of listRows(outcome.tables.measures))
    put(row.text("flow"), RANKS.get(row.text("measure")) ?? 3);
  return ranks;
}

/** Those that load the line and those that answer to a person take turns; probes come last. */
function rankNames(ways: Way[], names: string[]): Map<string, number> {
  const sent = new Map<string, number>();
  const probes = new Set<string>();
  const most = new Map<string, number>();
  for (const way of ways) {
    sent.set(way.name, (sent.get(way.name) ?? 0) + way.bytes);
    if (SERIES.probes.includes(way.application)) probes.add(way.name);
  }
  for (const way of ways)
    most.set(way.label, Math.max(most.get(way.label) ?? 0, sent.get(way.name)!));
  const asking = new Set(
    ways
      .filter((way) => sent.get(way.name)! < SERIES.requests * most.get(way.label)!)
      .map((way) => way.name),
  );
  const first = names.filter((name) => !probes.has(name) && !asking.has(name));
  const heaviest = [...first].sort((one, other) => sent.get(other)! - sent.get(one)!);
  const inTurns = first.flatMap((name, place) => [heaviest[place]!, name]);
  const others = names
    .filter((name) => !first.includes(name))
    .sort((one, other) => Number(probes.has(one)) - Number(probes.has(other)));
  return new Map([...new Set([...inTurns, ...others])].map((name, rank) => [name, rank]));
}

/** Gives the number of a flow's first direction by rank to the flow too. */
function spread(
  numbers: Map<string, number>,
  ways: Way[],
  ranks: Map<string, number>,
): Map<string, number> {
  const all = new Map(numbers);
  const ordered = [...ways].sort((one, other) => ranks.get(one.name)! - ranks.get(other.name)!);
  for (const way of ordered)
    for (const name of [way.label, nameGroup(way.flow) || way.flow])
      if (!all.has(name)) all.set(name, numbers.get(way.name)!);
  return all;
}

/** Chooses what is drawn where not all can be, and gives colours to it. */
export function choose(
  names: string[],
  slots: Map<string, number>,
  ranks: Map<string, number>,
): { series: Series[]; left: string[] } {
  const best = [...names]
    .sort((one, other) => (ranks.get(one) ?? ranks.size) - (ranks.get(other) ?? ranks.size))
    .slice(0, SERIES.most);
  const kept = names.filter((name) => best.includes(name));
  if (kept.every((name) => slots.has(name)))
    kept.sort((one, other) => slots.get(one)! - slots.get(other)!);
  const left = names.filter((name) => !best.includes(name));
  return { series: giveSlots(kept, slots), left };
}

/** Keeps the known places that have a colour of their own; others get free ones. */
function giveSlots(kept: string[], slots: Map<string, number>): Series[] {
  const size = shared.palette.length;
  const taken = new Set<number>();
  const known = new Map<string, number>();
  for (const name of kept) {
    const slot = slots.get(name);
    if (slot === undefined || slot >= size || taken.has(slot)) continue;
    taken.add(slot);
    known.set(name, slot);
  }
  const others = new Set(slots.values());
  const free = [...Array(size).keys()]
    .sort((one, other) => Number(others.has(one)) - Number(others.has(other)))
    .filter((slot) => !taken.has(slot));
  let next = size;
  return kept.map((name) => ({ name, slot: known.get(name) ?? free.shift() ?? next++ }));
}

/** Gives queues colours that no flow has. */
export function numberQueues(names: string[]): Series[] {
  return names.map((name, place) => ({ name, slot: SERIES.queues_from + place }));
}

export function findColour(slot: number): string {
  const tones = slot >= SERIES.queues_from ? SERIES.queue_tones : shared.palette;
  return tones[(slot % SERIES.queues_from) % tones.length]!;
}

export function findDashes(slot: number): number[] {
  const tones = slot >= SERIES.queues_from ? SERIES.queue_tones : shared.palette;
  return SERIES.dashes[(slot % SERIES.queues_from) % tones.length]!;
}
