// Draws how the modem may transmit: requests, the MAPs that answer them, and grants, on a time
// axis.

import { Kind } from "../../engine/events";
import type { Mark } from "../picture";
import { label, type Surface } from "./canvas";

/** Where the three rows begin, in pixels, and how high they are. */
const ROWS = { requests: 20, maps: 62, grants: 104 };
const HEIGHT = 18;
/** How long a burst's bar is for its bytes: as on a channel of 100 Mbit/s. */
const MS_PER_BYTE = 8 / 100e3;

/** `spanMs` is the time that the axis shows, a sixth of it ahead: grants are known before. */
export function drawGrants(
  surface: Surface,
  marks: readonly Mark[],
  nowMs: number,
  spanMs: number,
): void {
  const { context, width, tones } = surface;
  const since = nowMs - (spanMs * 5) / 6;
  const place = (at: number): number => ((at - since) / spanMs) * width;
  drawAxis(surface, since, spanMs, place);
  context.fillStyle = tones.soft;
  label(surface, "requests of the modem", 4, ROWS.requests - 19);
  label(surface, "MAPs of the CMTS with a grant", 4, ROWS.maps - 19);
  label(surface, "grants: the modem transmits", 4, ROWS.grants - 19);
  const maps = new Set<number>();
  for (const mark of marks) {
    if (mark.kind === Kind.Requested) {
      context.fillStyle = tones.text;
      context.fillRect(place(mark.when) - 1, ROWS.requests, 3, HEIGHT);
    } else {
      maps.add(mark.at);
      context.fillStyle = tones.soft;
      const long = Math.max(3, ((mark.bytes * MS_PER_BYTE) / spanMs) * width);
      context.fillRect(place(mark.when), ROWS.grants, long, HEIGHT);
    }
  }
  context.fillStyle = tones.text;
  for (const at of maps) context.fillRect(place(at) - 1, ROWS.maps, 2, HEIGHT);
  context.strokeStyle = tones.text;
  context.setLineDash([4, 4]);
  context.beginPath();
  context.moveTo(place(nowMs), 0);
  context.lineTo(place(nowMs), surface.height - 18);
  context.stroke();
  context.setLineDash([]);
  context.fillStyle = tones.text;
  label(surface, "now", place(nowMs) + 4, surface.height - 34);
}

function drawAxis(
  surface: Surface,
  since: number,
  spanMs: number,
  place: (at: number) => number,
): void {
  const { context, height, width, tones } = surface;
  const step = spanMs > 40 ? 10 : 2;
  context.strokeStyle = tones.faint;
  context.fillStyle = tones.soft;
  context.beginPath();
  for (let at = Math.ceil(since / step) * step; at <= since + spanMs; at += step) {
    context.moveTo(place(at), 0);
    context.lineTo(place(at), height - 18);
    const text = `${at % 1000} ms`;
    const long = context.measureText(text).width;
    if (place(at) + long < width) context.fillText(text, place(at), height - 15);
  }
  context.stroke();
}
