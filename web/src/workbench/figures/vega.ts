// Draws specifications of Vega-Lite as SVG. Expressions are interpreted: no text becomes code.

import { expressionInterpreter } from "vega-interpreter";
import { parse, type Spec, View, Warn } from "vega";
import { compile, type TopLevelSpec } from "vega-lite";

import { type Json, THEMES } from "./definition";
import { showTips } from "./tip";

/** As reports have them: a narrow chart is less high, and its legend has a row for each kind. */
const NARROW = 480;
const HEIGHT = { wide: 260, narrow: 220 };

/** What one letter takes, a legend's symbol with its gaps, and the axis with its title. */
const LETTER = 6.5;
const SYMBOL = 46;
const AXIS = 64;

/** The smallest letters on a large screen, px, and by how much all that holds letters is wider. */
const LEAST_SIZE = 14;
const WIDER = 1.2;

type Part = { [name: string]: Json };

export interface Look {
  width: number;
  isDark: boolean;
  /** Whether the screen is so large that it may be a projector's. */
  isLarge: boolean;
}

/** Starts a view of a specification; in an element, or for a file without one. */
export function show(specification: Part, look: Look, element?: HTMLElement): View {
  const fitted = {
    ...structuredClone(specification),
    width: look.width,
    height: look.width < NARROW ? HEIGHT.narrow : HEIGHT.wide,
    autosize: { type: "fit-x", contains: "padding" },
  };
  fit(fitted, look.width - AXIS * (look.isLarge ? WIDER : 1), look.isLarge ? WIDER : 1);
  const theme = THEMES[look.isDark ? "dark" : "light"] as Part;
  const config = look.isLarge ? (enlarge(theme) as object) : theme;
  const compiled = compile(fitted as unknown as TopLevelSpec, { config });
  const runtime = parse(compiled.spec as Spec, undefined, { ast: true });
  const view = new View(runtime, {
    expr: expressionInterpreter,
    renderer: element ? "svg" : "none",
    logLevel: Warn,
  });
  if (element) {
    // A view takes over what shows tips when it is put into an element.
    showTips(view);
    view.initialize(element).hover();
  }
  return view;
}

/** Gives a chart as the text of an SVG file, on white. */
export async function drawFile(specification: Part, width: number): Promise<string> {
  const view = show(specification, { width, isDark: false, isLarge: false });
  view.background("white");
  const picture = await view.toSVG();
  view.finalize();
  return picture;
}

/** Copies a configuration with no letters smaller than on a large screen. */
function enlarge(part: Json): Json {
  if (Array.isArray(part) || part === null || typeof part !== "object") return part;
  return Object.fromEntries(
    Object.entries(part).map(([name, own]) => [
      name,
      /fontSize$/i.test(name) && typeof own === "number"
        ? Math.max(own, LEAST_SIZE)
        : enlarge(own),
    ]),
  );
}

/** Gives legends as many columns as their longest name leaves room for. */
function fit(part: Part, width: number, wider: number): void {
  for (const own of (part.layer as Part[] | undefined) ?? []) fit(own, width, wider);
  const encoding = (part.encoding ?? {}) as Record<string, Part>;
  for (const channel of ["color", "strokeDash"]) {
    const legend = encoding[channel]?.legend as Part | undefined;
    if (!legend) continue;
    const names = (legend.values as string[] | undefined) ?? [];
    const widest = SYMBOL + LETTER * wider * Math.max(0, ...names.map((name) => name.length));
    const columns = Math.max(1, Math.min(Math.floor(width / widest), names.length));
    encoding[channel]!.legend = { ...legend, columns, labelLimit: Math.max(width - SYMBOL, 60) };
  }
}
