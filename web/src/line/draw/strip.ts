// Draws values over the latest half minute.

import type { Sample } from "../history";
import { SPAN_MS } from "../history";
import { label, type Surface } from "./canvas";

/** A line of the strip. */
export interface Course {
  tone: string;
  dash: readonly number[];
  value: (sample: Sample) => number;
}

const LEFT = 46;
const BOTTOM = 20;

/** The smallest of 1, 2 or 5 times a power of ten that is no less. */
function roundUp(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].find((times) => times * power >= value)! * power;
}

export function drawStrip(
  surface: Surface,
  samples: readonly Sample[],
  courses: readonly Course[],
  least: number,
): void {
  const { context, width, height, tones } = surface;
  const until = samples.at(-1)?.atMs ?? 0;
  const values = courses.flatMap((own) => samples.map(own.value));
  const top = roundUp(Math.max(least, ...values.filter((value) => !Number.isNaN(value))));
  const x = (atMs: number): number =>
    LEFT + (1 - (until - atMs) / SPAN_MS) * (width - LEFT - 2);
  const y = (value: number): number => 4 + (1 - value / top) * (height - BOTTOM - 8);
  context.strokeStyle = tones.faint;
  context.fillStyle = tones.soft;
  context.lineWidth = 1;
  for (const value of [0, top / 2, top]) {
    context.strokeRect(LEFT, y(value), width - LEFT - 2, 0);
    context.fillText(`${value}`, 0, y(value) - (value ? 4 : 12));
  }
  for (const back of [30, 20, 10]) {
    label(surface, `${back} s ago`, x(until - back * 1000), height - 15);
  }
  label(surface, "now", width, height - 15);
  context.lineWidth = 2;
  for (const course of courses) {
    context.strokeStyle = course.tone;
    context.setLineDash([...course.dash]);
    context.beginPath();
    let isOn = false;
    for (const sample of samples) {
      const value = course.value(sample);
      if (Number.isNaN(value)) isOn = false;
      else if (isOn) context.lineTo(x(sample.atMs), y(value));
      else {
        context.moveTo(x(sample.atMs), y(value));
        isOn = true;
      }
    }
    context.stroke();
  }
  context.setLineDash([]);
}
