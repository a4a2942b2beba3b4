// Where in a scenario the cursor is: the path of the table, and whether a key or a value is next.

export interface Place {
  kind: "header" | "key" | "value";
  /** The names from the top to the table, or to the key whose value is next. */
  path: string[];
  /** What of the word is there already, which begins at `from`. */
  word: string;
  from: number;
}

const WORD = /[\w.-]*$/;

/** Finds the place at a position of a text. */
export function findPlace(text: string, position: number): Place {
  const before = text.slice(0, position);
  const start = before.lastIndexOf("\n") + 1;
  const line = before.slice(start);
  const word = WORD.exec(line)![0];
  const header = /^\s*\[+\s*([^\]]*)$/.exec(line);
  if (header) return split("header", [], header[1]!, position);
  const table = findTable(before.slice(0, start));
  const place = walk(line, table);
  if (place.isValue) return { kind: "value", path: place.path, word, from: position - word.length };
  return split("key", place.path, word, position);
}

/** Takes a dotted word apart: what is before its last dot belongs to the path. */
function split(kind: Place["kind"], path: string[], dotted: string, position: number): Place {
  const names = dotted.split(".").map((name) => name.trim());
  const word = names.pop() ?? "";
  return { kind, path: [...path, ...names], word, from: position - word.length };
}

/** The table that the last header before the line opens. */
function findTable(before: string): string[] {
  const headers = [...before.matchAll(/^\s*\[+([^\]\n]*)\]/gm)];
  const last = headers[headers.length - 1]?.[1];
  return last ? splitKey(last) : [];
}

function splitKey(key: string): string[] {
  return key.split(".").map((name) => name.trim().replace(/^"(.*)"$/, "$1"));
}

/** Goes along a line into its inline tables. */
function walk(line: string, table: string[]): { path: string[]; isValue: boolean } {
  const outer: string[][] = [];
  let path = table;
  let key = "";
  let isValue = false;
  for (const [token] of line.matchAll(/"(?:[^"\\]|\\.)*"?|'[^']*'?|#.*|[{},=]|[^\s"'#{},=]+/g)) {
    if (token.startsWith("#")) break;
    if (token === "=") isValue = true;
    else if (token === "{") {
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
