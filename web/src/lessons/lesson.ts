// What a lesson is: five steps, each complete when the line shows what was turned.

import type { FlowReading, Reading, Scene, Settings } from "../line/scene";

/** A question before something is turned, which the line then answers. */
export interface Guess {
  question: string;
  options: readonly string[];
  /** The place of the option that the line shows to be true. */
  answer: number;
}

/** One step. Its texts are for a pupil; `forTeacher` is what only the sheet has. */
export interface Step {
  title: string;
  /** At most three short sentences. */
  says: string;
  guess?: Guess;
  /** The one thing to do. */
  asks: string;
  /** The key of the control to do it with. */
  turns: string;
  /** What is set when the step begins, where that is not what the step before began with. */
  start?: Settings;
  /** Whether what is asked for is turned; not so at the start: no step is completed by waiting. */
  isTurned: (settings: Settings) => boolean;
  /** What is wrong with some settings that come near, if the step has words of its own for it. */
  amiss?: (settings: Settings) => string | undefined;
  /** Whether the line shows it now. */
  isSeen: (reading: Reading) => boolean;
  /** How long it must be shown, ms of simulated time; longer where values vary. */
  heldMs?: number;
  /** What was seen, with the number that the line showed. */
  seen: (reading: Reading) => string;
  hint: string;
  forTeacher: ForTeacher;
}

/** What the sheet says of a step beside the step itself. */
export interface ForTeacher {
  /** The expected answer, with numbers of claims. */
  answer: string;
  /** A wrong idea that pupils typically have here. */
  wrong: string;
  /** What to ask next. */
  next: string;
  minutes: number;
}

export interface Lesson {
  name: LessonName;
  title: string;
  /** What the lesson answers. */
  question: string;
  minutes: number;
  /** Whom it is for. */
  audience: string;
  /** What pupils can do afterwards. */
  aim: string;
  /** What to know before. */
  before: string;
  /** The documents it goes back to. */
  sources: readonly Source[];
  scene: Scene;
  steps: readonly [Step, Step, Step, Step, Step];
}

export interface Source {
  name: string;
  about: string;
  link: string;
}

/** The lessons' names, in the order in which they are listed. */
export const LESSON_NAMES = [
  "bufferbloat",
  "aimd",
  "request-and-grant",
  "one-queue",
  "target",
  "low-latency",
  "wifi-anomaly",
] as const;

export type LessonName = (typeof LESSON_NAMES)[number];

/** The address of a step's page. */
export function addressOf(lesson: Lesson, place: number): string {
  return `#lesson/${lesson.name}/${place + 1}`;
}

/** The settings with which a step of a lesson begins. */
export function startOf(lesson: Lesson, place: number): Settings {
  const starts = lesson.steps.slice(0, place + 1).map((step) => step.start ?? {});
  return Object.assign({}, lesson.scene.start, ...starts) as Settings;
}

const UNKNOWN: FlowReading = {
  mbps: Number.NaN,
  delayMs: Number.NaN,
  lost: Number.NaN,
  value: Number.NaN,
  word: "",
  windowKb: Number.NaN,
};

/** What a reading says of a flow; no comparison holds of a flow that has sent nothing yet. */
export function of(reading: Reading, flow: string): FlowReading {
  return reading.flows.get(flow) ?? UNKNOWN;
}

export const ms = (value: number): string => `${value.toFixed(value < 10 ? 1 : 0)} ms`;
export const mbit = (value: number): string => `${value.toFixed(1)} Mbit/s`;
export const percent = (share: number): string =>
  `${(share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;
