// The second setting as people write it: a line `path = value` for each value that is another one.

import type { Overrides } from "../engine/messages";

/** Reads lines; empty ones and those that begin with # say nothing. An error names a wrong line. */
export function readOverrides(text: string): Overrides {
  return text
    .split("\n")
    .map((line, place): [string, number] => [line.trim(), place + 1])
    .filter(([line]) => line && !line.startsWith("#"))
    .map(([line, number]) => {
      const at = line.indexOf("=");
      const [path, value] = [line.slice(0, at).trim(), line.slice(at + 1).trim()];
      if (at < 1 || !path || !value)
        throw new Error(`Line ${number}: expected path = value, found "${line.slice(0, 60)}".`);
      return [path, value];
    });
}

export function writeOverrides(overrides: Overrides): string {
  return overrides.map(([path, value]) => `${path} = ${value}`).join("\n");
}
