// The controls of a lesson's line as a step names them, and where they stand on the page.

import type { AnyControl, Scene, Settings } from "../line/scene";

/** The control of a key; it exists, as `all.ts` checks for each step. */
export function findControl(scene: Scene, key: string): AnyControl {
  return scene.controls.find((own) => own.key === key)!;
}

/** The value of a control as people read it. */
export function writeValue(control: AnyControl, settings: Settings): string {
  const value = settings[control.key];
  if (control.kind === "switch") return value ? "on" : "off";
  if (control.kind === "slider") return `${value} ${control.unit}`.trim();
  return `“${control.options.find((own) => own.value === value)?.name}”`;
}

/** The controls whose values differ between two settings. */
export function listChanged(scene: Scene, one: Settings, other: Settings): AnyControl[] {
  return scene.controls.filter(({ key }) => one[key] !== other[key]);
}

/** Scrolls the line's control of a name into view, outlines it and gives it the focus. */
export function showControl(name: string): void {
  const labels = [...document.querySelectorAll<HTMLElement>(".line .controls label")];
  const own = labels.find((label) => label.innerText.trim().startsWith(name));
  own?.scrollIntoView({ block: "center" });
  own?.querySelector<HTMLElement>("input, select")?.focus({ preventScroll: true });
  own?.animate([{ outline: "4px solid #0072b2" }, { outline: "4px solid transparent" }], 2500);
}
