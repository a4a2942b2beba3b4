// What a living line shows: a scenario, what can be turned on it, and the people whose numbers
// count.

import type { Overrides } from "../engine/messages";

/** What is turned: numbers of sliders, names of choices, and switches. */
export type Settings = Readonly<Record<string, number | string | boolean>>;

interface Control {
  /** Its key in the settings. */
  key: string;
  /** What people read. */
  name: string;
  /** Whether the run takes it over while it goes on, by the scene's `live`. */
  isLive?: boolean;
}

/** A slider that stops at given values. */
export interface Slider extends Control {
  kind: "slider";
  values: readonly number[];
  unit: string;
}

/** One of several. */
export interface Choice extends Control {
  kind: "choice";
  options: readonly { value: string; name: string }[];
}

/** On or off. */
export interface Switch extends Control {
  kind: "switch";
}

export type AnyControl = Slider | Choice | Switch;

/** Somebody on the line: a face, a word and one number. */
export interface Person {
  flow: string;
  name: string;
  /**
   * The number: a measure of its application by its name in result tables, graded as Python grades
   * it; or `rate`, what its flow delivers in Mbit/s, or `delay`, what 95 % of its packets stay
   * below in ms. The latter two stand for the latest two seconds; only the delay is graded.
   */
  measure: string;
  /** The side whose packets count: 0 of the customer's host, 1 of the other one. */
  side?: 0 | 1;
}

/** What is drawn below the people. */
export type View =
  /** The packets that wait, by flow. */
  | "queue"
  /** Requests, grants and MAPs on a time axis. */
  | "grants"
  /** The waiting time over the latest half minute. */
  | "wait"
  /** The congestion windows of flows over the latest half minute. */
  | "windows"
  /** The rates of flows over the latest half minute. */
  | "rates"
  /** The probability with which the queue's law drops or marks. */
  | "drops";

export interface Scene {
  /** The scenario: TOML. */
  text: string;
  /** The queues that are drawn, by their names in results; the first one's wait is told. */
  queues: readonly string[];
  /** The rate that empties those queues, in Mbit/s, for some settings. */
  mbps: (settings: Settings) => number;
  /** The room in the drawn queue in ms at that rate, for some settings; what draws its frame. */
  roomMs: (settings: Settings) => number;
  views: readonly View[];
  /** Flows whose windows or rates are drawn; all if it is not given. */
  drawn?: readonly string[];
  people: readonly Person[];
  start: Settings;
  controls: readonly AnyControl[];
  /** The scenario's values for some settings: those with which a run begins. */
  override: (settings: Settings) => Overrides;
  /**
   * What the cable line's `change` takes over while the run goes on, when a control with `isLive`
   * is turned: by a name, the keys of the change (`service_flow`, `rate`, `queue`, …) as TOML.
   * Turning another control begins the run anew, which then goes on from the same moment.
   */
  live?: (settings: Settings) => Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** From when on people are there, ms: a run begins to be shown at that time. */
  fromMs: number;
  /** A run that begins anew when something is turned is shown from this time at the latest, ms. */
  latestMs?: number;
  /** The flow that is drawn in grey: the many packets between which others are looked for. */
  grey?: string;
  /** What has to be said of some settings. */
  note?: (settings: Settings) => string | undefined;
}

/** What the line says at one moment, for lessons that ask for something to be reached. */
export interface Reading {
  nowMs: number;
  settings: Settings;
  /** When a control was turned last, in simulated ms; what is older says nothing of it. */
  turnedMs: number;
  /** How long what waits in the first queue takes at its rate, ms. */
  waitMs: number;
  /** The most of it over the latest ten seconds since something was turned. */
  mostWaitMs: number;
  /** By flow, over the latest two seconds. */
  flows: ReadonlyMap<string, FlowReading>;
}

export interface FlowReading {
  /** Delivered from both sides together, Mbit/s. */
  mbps: number;
  /** What 95 % of the packets of the person's side stay below, ms. */
  delayMs: number;
  /** The share of packets of that side that was lost. */
  lost: number;
  /** The person's own measure, and its word: "good" … "bad"; "" where nothing is graded. */
  value: number;
  word: string;
  /** The congestion window of its first connection, kB; NaN if it has none. */
  windowKb: number;
}
