// What all drawings share: tones of the page, colours of flows, and a canvas as sharp as the
// screen.

import shared from "../../generated.json";

export interface Tones {
  text: string;
  soft: string;
  faint: string;
}

export interface Surface {
  context: CanvasRenderingContext2D;
  width: number;
  height: number;
  tones: Tones;
}

/** The colour of a flow that is drawn in grey, on light and on dark pages. */
export const GREY = "#98a2ad";

/** The colour of a flow by its number; `grey` is the number of the one that is drawn in grey. */
export function colour(flow: number, grey = -1): string {
  return flow === grey ? GREY : shared.palette[flow % shared.palette.length]!;
}

const FONT = '15px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';

/** An empty surface on a canvas; its units are CSS pixels. Null while it has no size. */
export function prepare(canvas: HTMLCanvasElement): Surface | null {
  const { width, height } = canvas.getBoundingClientRect();
  const context = canvas.getContext("2d");
  if (!context || width < 1 || height < 1) return null;
  const scale = window.devicePixelRatio || 1;
  const [wide, high] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
  }
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = FONT;
  context.textBaseline = "top";
  const style = getComputedStyle(canvas);
  const tone = (name: string): string => style.getPropertyValue(name).trim();
  const tones = { text: tone("--text"), soft: tone("--soft"), faint: tone("--faint") };
  return { context, width, height, tones };
}

/** Keeps a text within a surface. */
export function label(surface: Surface, text: string, x: number, y: number): void {
  const { context, width } = surface;
  const long = context.measureText(text).width;
  context.fillText(text, Math.max(0, Math.min(x, width - long)), y);
}
