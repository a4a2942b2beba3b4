// What web/definitions.py says of each figure: a report's specification with placeholders.

import shared from "../../generated.json";

/** A part of a specification of Vega-Lite, or any other value of JSON. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** Where the rows of a chart come from. */
export interface Source {
  table: string;
  value?: string;
  /** The column of the worst of each interval. */
  top?: string;
  /** To the unit of the axis. */
  factor?: number;
  /** Of histograms, whose they are. */
  kind?: string;
}

export interface PanelDefinition {
  title: string;
  source: Source;
  specification: { [name: string]: Json };
  /** What the rows of each data set are. */
  roles: Record<string, string>;
  /** The rows that are the same for all runs. */
  constant: Record<string, Json>;
}

export interface FigureDefinition {
  name: string;
  title: string;
  explanation: string;
  panels: PanelDefinition[];
}

// TypeScript reads the file's strings and numbers as wider types than Json and Source have.
export const FIGURES = shared.figures as unknown as FigureDefinition[];

export const RULES = shared.rules;

export const SERIES = shared.series;

export const THEMES: Record<"light" | "dark", object> = shared.themes;
