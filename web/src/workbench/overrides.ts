// The second setting as people write it: a line `path = value` for each value that is another one.

import type { Overrides, Refusal } from "../engine/messages";
import { LONGEST_LINE, readHeader } from "./editor_place";

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

/** Says what is wrong with a second setting; of a line copied out of its table, its full path. */
export function explainOverrides(refusal: Refusal, text: string, overrides: Overrides): string {
  const copied = overrides.find(([path]) => splitPath(path)[0] === refusal.path);
  const meant = copied && findFullPath(text, copied[0]);
  if (!meant) return refusal.message;
  return `${copied[0]} is no path from the top of the scenario; did you mean ${meant}?`;
}

/** The full path of a key that exactly one table of a text has; null where none or several do. */
function findFullPath(text: string, path: string): string | null {
  const [first] = splitPath(path);
  const same = new Set<string>();
  const alike = new Set<string>();
  let table = "";
  for (const line of text.split("\n")) {
    if (line.length > LONGEST_LINE) continue;
    table = readHeader(line)?.trim() ?? table;
    const key = /^[ \t]*([\w."-]+)[ \t]*=/.exec(line)?.[1];
    if (!key || !table || splitPath(key)[0] !== first) continue;
    alike.add(table);
    if (key === path) same.add(table);
  }
  const found = same.size ? same : alike;
  return found.size === 1 ? `${[...found][0]}.${path}` : null;
}

function splitPath(path: string): string[] {
  return path.split(".").map((name) => name.trim());
}
