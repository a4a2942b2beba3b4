// The people on the line: a face, a word and one number each, from the engine's delays and losses.

import shared from "../generated.json";

/** Flow, side, name and bounds of the delay in ms of each person, and whose delay it is. */
export const PEOPLE = [
  {
    flow: "call",
    side: 0,
    name: "telephone call",
    about: "for 95 % of its packets",
    bounds: shared.delay_ms,
  },
  {
    flow: "ping",
    side: 0,
    name: "game",
    about: "for 95 % of its packets",
    bounds: shared.game_delay_ms,
  },
  {
    flow: "page",
    side: 0,
    name: "web page",
    about: "for 95 % of its packets upstream",
    bounds: shared.delay_ms,
  },
] as const;

const WORDS = ["good", "fair", "poor", "bad"] as const;
const FACES = ["🙂", "😐", "🙁", "😣"] as const;

export interface Grade {
  word: string;
  face: string;
}

/** The worse of the grades of a delay and of a share of lost packets. */
export function grade(delayMs: number, lost: number, bounds: readonly number[]): Grade {
  const passed = (value: number, of: readonly number[]): number =>
    of.filter((bound) => value > bound).length;
  const place = Math.max(
    passed(Number.isNaN(delayMs) ? Infinity : delayMs, bounds),
    passed(lost, shared.loss),
  );
  return { word: WORDS[place]!, face: FACES[place]! };
}
