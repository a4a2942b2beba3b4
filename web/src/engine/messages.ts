// What the page and the worker that runs the engine say to each other.

/** Pairs of a scenario's path and the text that replaces its value. */
export type Overrides = [path: string, value: string][];

/** What a scenario is refused for. */
export interface Refusal {
  message: string;
  path: string | null;
  line: number | null;
  column: number | null;
  meant: string | null;
}

export type Request =
  | { kind: "begin"; run: number; text: string; overrides: Overrides; seed: number }
  | { kind: "advance"; run: number; untilMs: number };

export type Reply =
  | { kind: "begun"; run: number; queues: string[]; flows: string[] }
  | { kind: "refused"; run: number; refusal: Refusal }
  | { kind: "advanced"; run: number; nowMs: number; events: Float64Array; isOver: boolean };
