// Where in a scenario the cursor is: the path of the table, and whether a key or a value is next.
//
// A text may come from anybody, and this runs at each completion: its time is linear in the text's
// length, and a line that no scenario has is given up on.

export interface Place {
  kind: "header" | "key" | "value";
  /** The names from the top to the table, or to the key whose value is next. */
  path: string[];
  /** What of the word is there already, which begins at `from`. */
  word: string;
  from: number;
}

/** Longer lines and deeper inline tables have no completion, and open no table. */
export const LONGEST_LINE = 2000;
const DEEPEST = 16;

/** Finds the place at a position of a text; null where the line is too long or nests too deep. */
export function findPlace(text: string, position: number): Place | null {
  const start = findLineStart(text, position);
  if (position - start > LONGEST_LINE) return null;
  const line = text.slice(start, position);
  const header = /^[ \t]*\[{1,2}([^[\]]*)$/.exec(line);
  if (header) return split("header", [], header[1]!.trimStart(), position);
  const place = walk(line, findTable(text, start));
  if (!place) return null;
  const word = readWord(line);
  if (place.isValue) return { kind: "value", path: place.path, word, from: position - word.length };
  return split("key", place.path, word, position);
}

/** Where the line begins that ends at a position. */
function findLineStart(text: string, end: number): number {
  // From -1 on, lastIndexOf would look at the first letter.
  return end > 0 ? text.lastIndexOf("\n", end - 1) + 1 : 0;
}

/** The word at the end of a line, with its dots. */
function readWord(line: string): string {
  let from = line.length;
  while (from > 0 && /[\w.-]/.test(line[from - 1]!)) from -= 1;
  return line.slice(from);
}

/** Takes a dotted word apart: what is before its last dot belongs to the path. */
function split(kind: Place["kind"], path: string[], dotted: string, position: number): Place {
  const names = dotted.split(".").map((name) => name.trim());
  const word = names.pop() ?? "";
  return { kind, path: [...path, ...names], word, from: position - word.length };
}

/** The table that the last header before the line opens: goes back line by line. */
function findTable(text: string, lineStart: number): string[] {
  for (let end = lineStart - 1; end >= 0; ) {
    const start = findLineStart(text, end);
    const name = end - start > LONGEST_LINE ? null : readHeader(text.slice(start, end));
    if (name !== null) return name ? splitKey(name) : [];
    end = start - 1;
  }
  return [];
}

/** The name of the table that a line opens; null where it opens none. */
export function readHeader(line: string): string | null {
  return /^[ \t]*\[{1,2}([^[\]]*)\]/.exec(line)?.[1] ?? null;
}

function splitKey(key: string): string[] {
  return key.split(".").map((name) => name.trim().replace(/^"(.*)"$/, "$1"));
}

/** Goes along a line into its inline tables; null where they nest too deep. */
function walk(line: string, table: string[]): { path: string[]; isValue: boolean } | null {
  const outer: string[][] = [];
  let path = table;
  let key = "";
  let isValue = false;
  for (const [token] of line.matchAll(/"(?:[^"\\]|\\.)*"?|'[^']*'?|#.*|[{},=]|[^\s"'#{},=]+/g)) {
    if (token.startsWith("#")) break;
    if (token === "=") isValue = true;
    else if (token === "{") {
      if (outer.length >= DEEPEST) return null;
      outer.push(path);
      if (isValue) path = [...path, ...splitKey(key)];
      isValue = false;
    } else if (token === "}") {
      path = outer.pop() ?? table;
    } else if (token === ",") {
      isValue = false;
    } else if (!isValue) key = token;
  }
  return { path: isValue ? [...path, ...splitKey(key)] : path, isValue };
}
