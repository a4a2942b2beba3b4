// The disciplines of a lesson's queue, in the words of the living line.

import { LAWS } from "../line/living";

export { queue } from "../line/living";

/** The options of a control for some of the disciplines, in the order given. */
export function lawsOf(...values: (typeof LAWS)[number]["value"][]) {
  return values.map((value) => LAWS.find((law) => law.value === value)!);
}
