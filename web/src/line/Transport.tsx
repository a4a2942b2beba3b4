// Pause, speed, looking back, the same again, and a second line.

import { useState } from "preact/hooks";

import { SPEEDS, type Watch } from "./watch";

interface Props {
  watch: Watch;
  isComparable: boolean;
  onChange: () => void;
}

export function Transport({ watch, isComparable, onChange }: Props) {
  const { first } = watch;
  const act = (what: () => void) => (): void => {
    what();
    onChange();
  };
  return (
    <div class="transport">
      {watch.back ? (
        <button type="button" onClick={act(() => (watch.back = 0))}>
          back to now
        </button>
      ) : (
        <button
          type="button"
          onClick={act(() => (watch.isPaused = !watch.isPaused))}
          aria-pressed={watch.isPaused}
        >
          {watch.isPaused ? "go on" : "pause"}
        </button>
      )}
      {watch.heard && <Sound watch={watch} onChange={onChange} />}
      <select
        value={watch.speed}
        aria-label="time"
        onChange={(event) => {
          watch.speed = Number(event.currentTarget.value);
          onChange();
        }}
      >
        {SPEEDS.map((own, place) => (
          <option value={place}>{own.name}</option>
        ))}
      </select>
      <Back watch={watch} onChange={onChange} />
      <button type="button" onClick={act(() => watch.again(first.seed))}>
        same again
      </button>
      <button type="button" onClick={act(() => watch.again(first.seed + 1))}>
        other seed
      </button>
      {isComparable && (
        <button
          type="button"
          aria-pressed={watch.lines.length > 1}
          onClick={act(() => watch.compare())}
        >
          {watch.lines.length > 1 ? "one line" : "two lines side by side"}
        </button>
      )}
    </div>
  );
}

type Part = Omit<Props, "isComparable">;

function Back({ watch, onChange }: Part) {
  const { first } = watch;
  const ago = `${(watch.backMs / 1000).toFixed(2)} s ago`;
  return (
    <label class="back">
      <span>
        {watch.back
          ? `the pictures of ${ago}`
          : `${(first.session.nowMs / 1000).toFixed(1)} s, seed ${first.seed}; look back`}
      </span>
      <input
        type="range"
        min={0}
        max={watch.depth}
        value={watch.depth - watch.back}
        aria-valuetext={ago}
        onInput={(event) => {
          watch.back = watch.depth - Number(event.currentTarget.value);
          onChange();
        }}
      />
    </label>
  );
}

function Sound({ watch, onChange }: Part) {
  return (
    <button
      type="button"
      aria-pressed={watch.isHeard}
      onClick={() => {
        watch.hear(!watch.isHeard);
        onChange();
      }}
    >
      {watch.isHeard ? "silence the call" : "hear the call"}
    </button>
  );
}

/** The call says what a recording says in place of the synthetic voice. */
export function OwnVoice({ watch }: { watch: Watch }) {
  const [refused, setRefused] = useState("");
  const load = (file: File | undefined): void => {
    setRefused("");
    if (file) watch.first.sound.load(file).catch(() => setRefused(file.name));
  };
  return (
    <>
      <label class="own-voice">
        <span>another voice for the call: </span>
        <input
          type="file"
          accept="audio/*"
          onChange={(event) => load(event.currentTarget.files?.[0])}
        />
      </label>
      {refused && <span class="refusal">{refused} is no sound that this browser can read</span>}
    </>
  );
}
