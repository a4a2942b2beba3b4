// Many of one kind, which are shown as one: what `count` makes of a flow.

import shared from "../generated.json";

/** What a name shares with its group's other members; empty without a number. */
export function nameGroup(name: string): string {
  const parts = name.split(".");
  const common = parts.map((part) => (/^\d+$/.test(part) ? "*" : part));
  if (common.every((part, place) => part === parts[place])) return "";
  if (common.every((part) => part === "*")) return "";
  while (common[common.length - 1] === "*") common.pop();
  return common.join(".");
}

/** The label of each name that is one of many. */
export function findGroups(names: Iterable<string>): Map<string, string> {
  const members = new Map<string, string[]>();
  for (const name of new Set(names)) {
    const common = nameGroup(name);
    if (common) members.set(common, [...(members.get(common) ?? []), name]);
  }
  const labels = new Map<string, string>();
  for (const [common, own] of members)
    if (own.length > shared.series.few)
      for (const name of own) labels.set(name, `${common} ×${own.length}`);
  return labels;
}

const NATURALLY = new Intl.Collator("en", { numeric: true });

/** Orders names with their numbers as numbers. */
export function compareNaturally(one: string, other: string): number {
  return NATURALLY.compare(one, other);
}
