// The command that runs the same with the installed headend.

import type { Overrides } from "./engine/messages";

/** Quotes a word for a shell where it needs it. */
function quote(word: string): string {
  return /^[\w./:=+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

export function writeCommand(
  source: string,
  overrides: Overrides,
  seed: number | null = null,
): string {
  const sets = overrides.map(([path, value]) => ` --set ${quote(`${path}=${value}`)}`).join("");
  return `headend run ${quote(source)}${sets}${seed === null ? "" : ` --seed ${seed}`}`;
}
