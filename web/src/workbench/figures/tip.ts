// What stands under the pointer in a chart, as lines of text: nothing in it is HTML.

import type { View } from "vega";

/** How far from the pointer it stands, in pixels. */
const APART = 14;

/** Shows the numbers of a mark beside the pointer while it is over the mark. */
export function showTips(view: View): void {
  const tip = document.createElement("div");
  tip.className = "chart-tip";
  tip.setAttribute("aria-hidden", "true");
  view.tooltip((_handler, event, _item, value) => {
    if (value === null || value === undefined || value === "") {
      tip.remove();
      return;
    }
    tip.textContent = listLines(value).join("\n");
    document.body.append(tip);
    place(tip, event as MouseEvent);
  });
  // The marks below it go with the view.
  const finalize = view.finalize.bind(view);
  view.finalize = () => {
    tip.remove();
    return finalize();
  };
}

/** The name of the series comes first, without a title. */
function listLines(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [String(value)];
  return Object.entries(value).map(([title, own]) =>
    title.trim() ? `${title}: ${String(own)}` : String(own),
  );
}

function place(tip: HTMLElement, { clientX, clientY }: MouseEvent): void {
  const { width, height } = tip.getBoundingClientRect();
  const left = Math.min(clientX + APART, innerWidth - width - 4);
  const top = clientY + APART + height > innerHeight ? clientY - APART - height : clientY + APART;
  tip.style.left = `${Math.max(left, 4)}px`;
  tip.style.top = `${Math.max(top, 4)}px`;
}
