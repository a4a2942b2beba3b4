// Draws the line's picture: the modem's queue above, requests and grants on a time axis below.

import { Kind } from "../engine/events";
import shared from "../generated.json";
import type { Picture } from "./picture";

/** The time that the axis of requests and grants shows, in ms of simulated time. */
export const AXIS_MS = 60;

const ROWS = 6;
const GAP = 1;

export interface Tones {
  text: string;
  soft: string;
  faint: string;
}

/** The colour of a flow. */
export function colour(flow: number): string {
  return shared.palette[flow % shared.palette.length]!;
}

/** Draws a picture into a canvas of a size in CSS pixels. */
export function draw(
  canvas: CanvasRenderingContext2D,
  width: number,
  height: number,
  picture: Picture,
  limitBytes: number,
  tones: Tones,
): void {
  canvas.clearRect(0, 0, width, height);
  const axis = 74;
  drawQueue(canvas, width, height - axis - 10, picture, limitBytes, tones);
  canvas.save();
  canvas.translate(0, height - axis);
  drawAxis(canvas, width, axis, picture, tones);
  canvas.restore();
}

/** The packets that wait, first come at the right, where the line is; as wide as their bytes. */
function drawQueue(
  canvas: CanvasRenderingContext2D,
  width: number,
  height: number,
  picture: Picture,
  limitBytes: number,
  tones: Tones,
): void {
  const row = height / ROWS;
  const perRow = Math.max(limitBytes, picture.bytesWaiting, 1) / ROWS;
  let before = 0;
  for (const packet of picture.waiting) {
    // A packet that reaches over the end of a row stands in both.
    let left = packet.bytes;
    while (left > 0) {
      const line = Math.min(ROWS - 1, Math.floor(before / perRow));
      const used = before - line * perRow;
      const here = line === ROWS - 1 ? left : Math.min(left, perRow - used);
      const from = width - (used / perRow) * width;
      const long = Math.max(1.5, (here / perRow) * width - GAP);
      canvas.fillStyle = colour(packet.flow);
      canvas.fillRect(from - long, line * row + GAP, long, row - 2 * GAP);
      before += here;
      left -= here;
      if (here <= 0) break;
    }
  }
  canvas.strokeStyle = tones.soft;
  canvas.lineWidth = 1;
  canvas.strokeRect(0.5, 0.5, width - 1, height - 1);
}

/** Requests and grants of the latest time: a request is a stroke, a grant a bar of its bytes. */
function drawAxis(
  canvas: CanvasRenderingContext2D,
  width: number,
  height: number,
  picture: Picture,
  tones: Tones,
): void {
  const since = picture.nowMs - AXIS_MS;
  const place = (at: number): number => ((at - since) / AXIS_MS) * width;
  canvas.font = "12px system-ui, sans-serif";
  canvas.fillStyle = tones.soft;
  canvas.textBaseline = "top";
  canvas.fillText("requests", 4, 0);
  canvas.fillText("grants", 4, 26);
  canvas.strokeStyle = tones.faint;
  canvas.beginPath();
  for (let at = Math.ceil(since / 10) * 10; at <= picture.nowMs; at += 10) {
    canvas.moveTo(place(at), 0);
    canvas.lineTo(place(at), height - 16);
    canvas.fillText(`${((at % 1000) + 1000) % 1000} ms`, place(at) - 14, height - 13);
  }
  canvas.stroke();
  for (const mark of picture.marks) {
    const at = place(mark.when);
    if (at < 0 || at > width) continue;
    if (mark.kind === Kind.Requested) {
      canvas.fillStyle = tones.text;
      canvas.fillRect(at - 1, 14, 2, 10);
    } else {
      canvas.fillStyle = tones.soft;
      canvas.fillRect(at, 40, Math.max(2, mark.bytes / 400), 14);
    }
  }
}
