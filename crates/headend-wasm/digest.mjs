// SPDX-License-Identifier: Apache-2.0
// Runs scenarios in the engine for browsers, and prints a digest of each column of each result table.
//
//   node digest.mjs MODULE < SCENARIOS
//
// MODULE is what wasm-bindgen made for Node. SCENARIOS is JSON: texts of TOML by name. The output is
// JSON: by scenario, table and column a SHA-256 of the column's 8-byte numbers in little endian, or of
// its names, each with a line feed behind it.

import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";

const { Run } = createRequire(import.meta.url)(resolve(process.argv[2]));
const scenarios = JSON.parse(readFileSync(0, "utf8"));

/** The bytes of a column, whatever it holds. */
function bytes(tables, table, column) {
  const texts = tables.texts(table, column);
  if (texts !== undefined) return texts.map((text) => `${text}\n`).join("");
  const numbers = tables.integers(table, column) ?? tables.numbers(table, column);
  return new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
}

const digests = {};
for (const [name, text] of Object.entries(scenarios)) {
  const run = new Run(text, "[]");
  // In pieces, as a page would.
  for (let ms = 250; !run.runUntil(ms); ms += 250);
  const tables = run.tables();
  digests[name] = Object.fromEntries(
    tables.names().map((table) => [
      table,
      Object.fromEntries(
        tables
          .columns(table)
          .map((column) => [
            column,
            createHash("sha256").update(bytes(tables, table, column)).digest("hex"),
          ]),
      ),
    ]),
  );
  tables.free();
  run.free();
}
process.stdout.write(JSON.stringify(digests));
