// Run and stop, with the simulated time so far.

import { writeNumber } from "../quantity";
import { LABELS } from "./Results";
import type { Progress } from "./useBench";

interface Props {
  isReady: boolean;
  progress: Progress | null;
  seed: number | null;
  onSeed: (seed: number | null) => void;
  onRun: () => void;
  onStop: () => void;
}

function describe({ place, of, nowMs, durationMs }: Progress): string {
  const label = of > 1 ? `${LABELS[place]}: ` : "";
  return `${label}${writeNumber(nowMs / 1e3)} s of ${writeNumber(durationMs / 1e3)} s`;
}

export function RunBar({ isReady, progress, seed, onSeed, onRun, onStop }: Props) {
  return (
    <div class="run-bar">
      {progress ? (
        <button type="button" onClick={onStop}>
          Stop
        </button>
      ) : (
        <button type="button" class="main" disabled={!isReady} onClick={onRun}>
          Run
        </button>
      )}
      <label class="seed">
        <span>Seed</span>
        <input
          type="number"
          min={0}
          step={1}
          placeholder="the scenario's"
          value={seed ?? ""}
          onInput={(event) => {
            const { value } = event.currentTarget;
            const number = Number(value);
            onSeed(value && Number.isSafeInteger(number) && number >= 0 ? number : null);
          }}
        />
      </label>
      {progress && (
        <div class="progress">
          <progress
            max={progress.durationMs || 1}
            value={progress.nowMs}
            aria-label="Simulated time"
          />
          <span>
            {progress.durationMs ? describe(progress) : "The scenario is checked"}
          </span>
        </div>
      )}
    </div>
  );
}
