// Draws the packets that wait in a queue: the first to leave at the right, as wide as their bytes.

import type { Waiting } from "../picture";
import { colour, type Surface } from "./canvas";

const ROWS = 6;
const GAP = 1;
/** A place so little before the end of a row, in rows, is in the next one. */
const ROUNDING = 1e-9;

/** The queue's room in bytes, and what waits in it. */
export interface QueueShape {
  roomBytes: number;
  bytes: number;
  waiting: readonly Waiting[];
  /** The number of the flow in grey; packets of others are drawn over it, wide enough to see. */
  grey: number;
}

/** The narrowest packet of a flow that is not in grey, px. */
const NARROWEST = 5;

/** The bytes of one row of the picture. */
function rowBytes({ roomBytes, bytes }: QueueShape): number {
  return Math.max(roomBytes, bytes, 1500 * ROWS) / ROWS;
}

export function drawQueue(surface: Surface, shape: QueueShape): void {
  const { context, width, height, tones } = surface;
  const row = height / ROWS;
  const perRow = rowBytes(shape);
  for (const isGrey of [true, false]) drawPackets(surface, shape, row, perRow, isGrey);
  context.strokeStyle = tones.soft;
  context.lineWidth = 1;
  for (let line = 1; line < ROWS; line += 1) {
    context.globalAlpha = 0.25;
    context.strokeRect(0.5, line * row, width - 1, 0);
  }
  context.globalAlpha = 1;
  context.strokeRect(0.5, 0.5, width - 1, height - 1);
}

/** Draws the packets of the flow in grey, or those of all others. */
function drawPackets(
  { context, width }: Surface,
  shape: QueueShape,
  row: number,
  perRow: number,
  isGrey: boolean,
): void {
  let before = 0;
  for (const packet of shape.waiting) {
    if ((packet.flow === shape.grey) !== isGrey) {
      before += packet.bytes;
      continue;
    }
    context.fillStyle = colour(packet.flow, shape.grey);
    const end = before + packet.bytes;
    // A packet that reaches over the end of a row stands in both.
    while (before < end) {
      const line = Math.min(ROWS - 1, Math.floor(before / perRow + ROUNDING));
      const until = line === ROWS - 1 ? end : Math.min(end, (line + 1) * perRow);
      const from = width - (before / perRow - line) * width;
      const long = ((until - before) / perRow) * width - GAP;
      const drawn = Math.max(isGrey ? 1.5 : NARROWEST, long);
      context.fillRect(from - drawn, line * row + GAP, drawn, row - 2 * GAP);
      before = until;
    }
  }
}

/** The packet at a place of the picture. */
export function findPacket(
  shape: QueueShape,
  x: number,
  y: number,
  width: number,
  height: number,
): Waiting | undefined {
  const perRow = rowBytes(shape);
  const line = Math.min(ROWS - 1, Math.max(0, Math.floor((y / height) * ROWS)));
  const at = line * perRow + (1 - x / width) * perRow;
  let before = 0;
  for (const packet of shape.waiting) {
    before += packet.bytes;
    if (at < before) return packet;
  }
  return undefined;
}
