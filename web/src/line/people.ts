// The people on the line: a face, a word and one number each, from the engine's delays and losses.

import shared from "../generated.json";

/** Flow, direction and name of each person, and what the delay is. */
export const PEOPLE = [
  { flow: "call", side: 0, name: "telephone call", about: "until a packet is there" },
  { flow: "ping", side: 0, name: "game", about: "until a packet is there" },
  { flow: "page", side: 0, name: "web page", about: "until a request is there" },
] as const;

const WORDS = ["good", "fair", "poor", "bad"] as const;
const FACES = ["🙂", "😐", "🙁", "😣"] as const;

export interface Grade {
  place: number;
  word: string;
  face: string;
}

/** The worse of the grades of a delay and of a share of lost packets. */
export function grade(delayMs: number, lost: number): Grade {
  const passed = (value: number, bounds: readonly number[]): number =>
    bounds.filter((bound) => value > bound).length;
  const place = Math.max(
    passed(Number.isNaN(delayMs) ? Infinity : delayMs, shared.delay_ms),
    passed(lost, shared.loss),
  );
  return { place, word: WORDS[place]!, face: FACES[place]! };
}
