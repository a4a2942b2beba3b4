// What the page and the worker that runs the engine say to each other.

/** Pairs of a scenario's path and the text that replaces its value. */
export type Overrides = readonly (readonly [path: string, value: string])[];

/** What a scenario is refused for. */
export interface Refusal {
  message: string;
  path: string | null;
  line: number | null;
  column: number | null;
  meant: string | null;
}

/** What is said where the engine runs no more. */
export function sayBroken(why: string): Refusal {
  const reason = why ? `: ${why.replace(/\.$/, "")}` : "";
  const message = `The engine does not run in this browser${reason}. Reload the page to try again.`;
  return { message, path: null, line: null, column: null, meant: null };
}

/** The state of a queue; NaN for what it does not have. */
export interface QueueState {
  tokens: number;
  dropProbability: number;
}

export type Request =
  /** Begins a run; its events are told by `advanced`. */
  | { kind: "begin"; run: number; text: string; overrides: Overrides; seed: number }
  /** Runs until a simulated time, ms. */
  | { kind: "advance"; run: number; untilMs: number; queues: number[] }
  /** From now on the run is that with these overrides, which have further changes after now. */
  | { kind: "change"; run: number; text: string; overrides: Overrides; seed: number };

export type Reply =
  | { kind: "begun"; run: number; queues: string[]; flows: string[]; overheads: number[] }
  | { kind: "refused"; run: number; refusal: Refusal }
  | {
      kind: "advanced";
      run: number;
      nowMs: number;
      events: Float64Array;
      /** The names of the measures in events. */
      measures: string[];
      states: QueueState[];
      isOver: boolean;
    };
