// What a browser cannot run: real programs, and what takes more memory than a page should.

import type { Checked } from "../engine/bench_messages";
import type { Refusal } from "../engine/messages";
import { write } from "../quantity";

/** The most memory that a run may take, bytes. */
const MOST = 1e9;

/** The longest simulated time, ns: a week. */
const LONGEST = 7 * 86_400e9;

/** Says why a browser cannot run a scenario that the engine accepts; null where it can. */
export function judgeSize(checked: Checked): Refusal | null {
  const real = checked.flows.find(([, application]) => application === "real");
  if (real)
    return refuse(
      `The flow ${real[0]} carries the traffic of real programs, which a browser cannot do: run` +
        " the scenario with headend emulate.",
    );
  if (checked.bytes > MOST)
    return refuse(
      `This run may take ${write(checked.bytes, "size")} of memory; the workbench allows` +
        ` ${write(MOST, "size")}. Shorten it, or run it with the installed headend.`,
    );
  if (checked.duration_ns > LONGEST)
    return refuse("This run is longer than a week: shorten it, or use the installed headend.");
  return null;
}

function refuse(message: string): Refusal {
  return { message, path: null, line: null, column: null, meant: null };
}
