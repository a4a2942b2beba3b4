// A scenario in a link: what is behind "#workbench/", and what another program gave the page.
//
// A link may come from anybody. Nothing of it is more than text, it is bounded before it is read,
// and what is not as it must be is refused in one sentence.

import type { Overrides } from "../engine/messages";
import { write } from "../quantity";

/** What the workbench is set up with. */
export interface Setup {
  text: string;
  /** Values in place of the scenario's. */
  overrides: Overrides;
  seed: number | null;
  /** Whether the scenario as written is run beside the one with other values. */
  compare: boolean;
}

export const PREFIX = "#workbench/";

/** The most that a link's data unpack to, which is also the longest file that is opened. */
export const MOST_BYTES = 256 * 1024;

/** The longest link that is looked at. */
const MOST_LETTERS = 512 * 1024;
const MOST_OVERRIDES = 100;

const REFUSAL = "This link holds no scenario that the workbench can read";

/** Writes a link's data: base64url of raw deflate of JSON. An error says what no link can hold. */
export async function encode(setup: Setup): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify(setup));
  if (bytes.length > MOST_BYTES)
    throw new Error(
      `No link is made: the scenario has more than the ${write(MOST_BYTES, "size")} that a link` +
        " can hold. Save it as TOML, and hand out the file.",
    );
  if (setup.overrides.length > MOST_OVERRIDES)
    throw new Error(
      `No link is made: the second setting has more than ${MOST_OVERRIDES} values.`,
    );
  const packed = await readAll(pipe(bytes, new CompressionStream("deflate-raw")), Infinity);
  const letters = Array.from(packed, (byte) => String.fromCharCode(byte)).join("");
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** Reads a link's data, or says in an error what is wrong with it. */
export async function decode(data: string): Promise<Setup> {
  if (data.length > MOST_LETTERS) throw new Error(`${REFUSAL}: it is too long.`);
  if (!/^[A-Za-z0-9_-]+$/.test(data)) throw new Error(`${REFUSAL}: it has other characters.`);
  const packed = unpackLetters(data);
  let bytes: Uint8Array;
  try {
    bytes = await readAll(pipe(packed, new DecompressionStream("deflate-raw")), MOST_BYTES);
  } catch (fault) {
    if (fault instanceof RangeError) throw new Error(`${REFUSAL}: it unpacks to too much.`);
    throw new Error(`${REFUSAL}: it is damaged or cut off.`);
  }
  return readSetup(new TextDecoder().decode(bytes));
}

/** Reads JSON that holds a text, overrides and a seed. */
export function readSetup(json: string): Setup {
  let found: unknown;
  try {
    found = JSON.parse(json);
  } catch {
    throw new Error(`${REFUSAL}: it is damaged or cut off.`);
  }
  const given = (found ?? {}) as Record<string, unknown>;
  const { text, overrides = [], seed = null, compare = false } = given;
  if (typeof text !== "string") throw new Error(`${REFUSAL}: it has no text.`);
  if (!isOverrides(overrides)) throw new Error(`${REFUSAL}: its other values are wrong.`);
  if (!isSeed(seed)) throw new Error(`${REFUSAL}: its seed is no whole number.`);
  return { text, overrides, seed, compare: compare === true };
}

/** Reads what another program put into the page; null where nothing is given. */
export function readGiven(): Setup | null {
  const given = document.getElementById("given")?.textContent?.trim() || "null";
  return given === "null" ? null : readSetup(given);
}

function isOverrides(value: unknown): value is Overrides {
  const isPair = (pair: unknown): boolean =>
    Array.isArray(pair) && pair.length === 2 && pair.every((part) => typeof part === "string");
  return Array.isArray(value) && value.length <= MOST_OVERRIDES && value.every(isPair);
}

function isSeed(value: unknown): value is number | null {
  return value === null || (Number.isSafeInteger(value) && (value as number) >= 0);
}

function unpackLetters(data: string): Uint8Array<ArrayBuffer> {
  try {
    const letters = atob(data.replaceAll("-", "+").replaceAll("_", "/"));
    return Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  } catch {
    throw new Error(`${REFUSAL}: it is damaged or cut off.`);
  }
}

function pipe(
  bytes: Uint8Array<ArrayBuffer>,
  through: CompressionStream | DecompressionStream,
): ReadableStream<Uint8Array> {
  return new Blob([bytes]).stream().pipeThrough(through);
}

/** Reads a stream to its end; a RangeError as soon as it gives more than is allowed. */
async function readAll(stream: ReadableStream<Uint8Array>, most: number): Promise<Uint8Array> {
  const reader = stream.getReader();
  const parts: Uint8Array[] = [];
  let size = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    size += part.value.length;
    if (size > most) {
      await reader.cancel();
      throw new RangeError("too much");
    }
    parts.push(part.value);
  }
  const all = new Uint8Array(size);
  let place = 0;
  for (const part of parts) {
    all.set(part, place);
    place += part.length;
  }
  return all;
}
