// Distributions of delays: the delay that each of some shares of a flow's packets exceeds
// (headend.figures.thinning).

import { numbers, type Outcome, texts } from "../tables";
import { RULES } from "./definition";
import { readQuantile, round } from "./lines";

export interface Share {
  share: number;
  delay: number;
  /** Whether there are enough packets for so rare a delay. */
  isReached: boolean;
  low?: number | null;
  high?: number | null;
}

interface Bucket {
  lower: number;
  upper: number;
  count: number;
}

/** The curves of flows and directions, by `flow direction`. */
export function readTails(outcome: Outcome, kind: string): Map<string, Share[]> {
  const table = outcome.tables.histograms;
  const [kinds, names] = [texts(table, "kind"), texts(table, "name")];
  const directions = texts(table, "direction");
  const [lower, upper] = [numbers(table, "lower_ns"), numbers(table, "upper_ns")];
  const counts = numbers(table, "count");
  const buckets = new Map<string, Bucket[]>();
  kinds.forEach((own, place) => {
    if (own !== kind) return;
    const key = `${names[place]} ${directions[place]}`;
    const bucket = { lower: lower[place]!, upper: upper[place]!, count: counts[place]! };
    const others = buckets.get(key);
    if (others) others.push(bucket);
    else buckets.set(key, [bucket]);
  });
  return new Map([...buckets].map(([key, own]) => [key, readTail(own)]));
}

function readTail(buckets: Bucket[]): Share[] {
  buckets.sort((one, other) => one.lower - other.lower);
  const total = buckets.reduce((sum, own) => sum + own.count, 0);
  if (!total) return [];
  let rarest = 1;
  let place = 0;
  let before = 0;
  return RULES.shares.map((share) => {
    const isReached = share === 1 || share * total >= 1;
    if (isReached) rarest = share;
    const at = 1 - rarest;
    while (place < buckets.length - 1 && (before + buckets[place]!.count) / total < at) {
      before += buckets[place]!.count;
      place += 1;
    }
    const delayNs = at === 0 ? buckets[0]!.lower : buckets[place]!.upper;
    return { share, delay: Math.max(delayNs, 1e3) / 1e6, isReached };
  });
}

/** The curves of a name as one: the median delay at each share, and where most of them are. */
export function mergeTails(curves: Share[][]): Share[] {
  return RULES.shares.flatMap((share, place) => {
    const own = curves.flatMap((curve) => curve[place] ?? []);
    const reached = own.filter((one) => one.isReached).length;
    if (!own.length || reached / own.length < 0.5) return [];
    const delays = own.map((one) => one.delay).sort((one, other) => one - other);
    const isMany = curves.length > 1;
    return [
      {
        share: round(share),
        delay: readQuantile(delays, 0.5, true)!,
        isReached: true,
        low: isMany ? readQuantile(delays, 0.1, true) : null,
        high: isMany ? readQuantile(delays, 0.9, true) : null,
      },
    ];
  });
}
