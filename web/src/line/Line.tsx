// A living line: a scene that runs while somebody watches and turns things, alone or beside a second
// line with the same traffic.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { Lane } from "./Lane";
import type { Reading, Scene, Settings } from "./scene";
import { TurnedLine } from "./turned";

/** Simulated milliseconds in one of the watcher's, and what the axis of grants shows then. */
const SPEEDS = [
  { name: "real time", factor: 1, spanMs: 60 },
  { name: "10 times faster", factor: 10, spanMs: 60 },
  { name: "10 times slower", factor: 0.1, spanMs: 60 },
  { name: "200 times slower", factor: 0.005, spanMs: 24 },
] as const;

/** The time between two readings of the people's numbers, ms of the watcher's. */
const READ_EVERY_MS = 250;

interface Props {
  scene: Scene;
  onReading?: (reading: Reading) => void;
  /** Whether a second line may be put beside it. */
  isComparable?: boolean;
  /** The call that is heard: its flow. */
  heard?: string;
}

export function Line({ scene, onReading, isComparable = false, heard }: Props) {
  const [speed, setSpeed] = useState(0);
  const [isPaused, setPaused] = useState(false);
  const [back, setBack] = useState(0);
  const [isHeard, setHeard] = useState(false);
  const [unheard, setUnheard] = useState("");
  const [, redraw] = useState(0);
  const clock = useRef({ atMs: scene.fromMs, factor: 1, isPaused: false, isHeard: false });
  clock.current.factor = SPEEDS[speed]!.factor;
  clock.current.isPaused = isPaused || back > 0;
  clock.current.isHeard = isHeard;
  const lines = useMemo(() => [new TurnedLine(scene, scene.start, 1, heard)], [scene]);
  const told = useRef(onReading);
  told.current = onReading;

  useEffect(() => {
    const own = clock.current;
    own.atMs = scene.fromMs;
    for (const line of lines) line.begin(scene.fromMs);
    let [last, readAt, frame] = [performance.now(), 0, 0];
    const step = (now: number): void => {
      const elapsed = Math.min(now - last, 100);
      last = now;
      go(lines, own, elapsed);
      if (now >= readAt + READ_EVERY_MS) {
        readAt = now;
        for (const line of lines) line.read();
        const first = lines[0]!.reading;
        if (first) told.current?.(first);
        redraw((count) => count + 1);
      }
      frame = requestAnimationFrame(step);
    };
    frame = requestAnimationFrame(step);
    return () => {
      cancelAnimationFrame(frame);
      for (const line of lines.splice(0)) line.end();
    };
  }, [lines]);

  const hear = (is: boolean): void => {
    lines[0]!.sound.turn(is);
    setHeard(is);
  };
  const turn = (line: TurnedLine, part: Settings): void => {
    if (heard && !isHeard && line === lines[0] && !wasSilenced.current) hear(true);
    setBack(0);
    line.turn(part);
    clock.current.atMs = Math.max(line.session.nowMs, scene.fromMs);
    redraw((count) => count + 1);
  };
  const wasSilenced = useRef(false);
  const again = (seed: number): void => {
    setBack(0);
    clock.current.atMs = scene.fromMs;
    for (const line of lines) line.begin(scene.fromMs, seed);
  };
  const compare = (): void => {
    if (lines.length > 1) lines.pop()!.end();
    else {
      const second = new TurnedLine(scene, lines[0]!.settings, lines[0]!.seed, undefined);
      lines.push(second);
      // Both begin anew, so that they have the same past and the same traffic.
      again(second.seed);
    }
    redraw((count) => count + 1);
  };
  const [first] = lines;
  const moments = first?.session.shown?.history.moments;
  const backMs = back && moments ? first.session.nowMs - (moments.at(-1 - back)?.nowMs ?? 0) : 0;
  return (
    <div class="line" data-now={first?.session.nowMs}>
      <div class="transport">
        <button type="button" onClick={() => setPaused(!isPaused)} aria-pressed={isPaused}>
          {isPaused ? "go on" : "pause"}
        </button>
        {heard && (
          <button
            type="button"
            aria-pressed={isHeard}
            onClick={() => {
              wasSilenced.current = isHeard;
              hear(!isHeard);
            }}
          >
            {isHeard ? "silence the call" : "hear the call"}
          </button>
        )}
        {isHeard && (
          <label class="own-voice">
            <span>a voice of your own</span>
            <input
              type="file"
              accept="audio/*"
              onChange={(event) => {
                const file = event.currentTarget.files?.[0];
                if (file) lines[0]!.sound.load(file).catch(() => setUnheard(file.name));
              }}
            />
          </label>
        )}
        {unheard && <span class="refusal">{unheard} is no sound that this browser can read</span>}
        <label>
          <span class="hidden">time</span>
          <select
            value={speed}
            onChange={(event) => setSpeed(Number(event.currentTarget.value))}
            aria-label="time"
          >
            {SPEEDS.map((own, place) => (
              <option value={place}>{own.name}</option>
            ))}
          </select>
        </label>
        <label class="back">
          <span>look back{back ? `: ${(backMs / 1000).toFixed(2)} s ago` : ""}</span>
          <input
            type="range"
            min={0}
            max={Math.max(1, (moments?.length ?? 1) - 1)}
            value={Math.max(1, (moments?.length ?? 1) - 1) - back}
            aria-valuetext={`${(backMs / 1000).toFixed(2)} s ago`}
            onInput={(event) => {
              const most = Math.max(1, (moments?.length ?? 1) - 1);
              setBack(most - Number(event.currentTarget.value));
            }}
          />
        </label>
        <button type="button" onClick={() => again(first?.seed ?? 1)}>
          same again
        </button>
        <button type="button" onClick={() => again((first?.seed ?? 1) + 1)}>
          other seed
        </button>
        {isComparable && (
          <button type="button" aria-pressed={lines.length > 1} onClick={compare}>
            {lines.length > 1 ? "one line" : "two lines side by side"}
          </button>
        )}
        <span class="soft">
          {((first?.session.nowMs ?? 0) / 1000).toFixed(1)} s simulated, seed {first?.seed}
        </span>
      </div>
      <div class={lines.length > 1 ? "lanes two" : "lanes"}>
        {lines.map((line) => (
          <Lane
            scene={scene}
            session={line.session}
            settings={line.settings}
            reading={line.reading}
            refusal={line.refusal}
            back={back}
            spanMs={SPEEDS[speed]!.spanMs}
            isPaused={isPaused || back > 0}
            onChange={(part) => turn(line, part)}
          />
        ))}
      </div>
    </div>
  );
}

/** Lets all lines go on by so much of the watcher's time, and the call sound. */
function go(
  lines: readonly TurnedLine[],
  clock: { atMs: number; factor: number; isPaused: boolean; isHeard: boolean },
  elapsed: number,
): void {
  if (clock.isPaused || !lines.length || lines.some((line) => !line.session.shown)) return;
  // Time does not run ahead of the slowest line.
  const slowest = Math.min(...lines.map((line) => line.session.nowMs));
  clock.atMs = Math.min(clock.atMs + elapsed * clock.factor, slowest + 200 * Math.max(1, clock.factor));
  for (const line of lines) line.advance(clock.atMs);
  if (lines.every((line) => line.session.isOver)) {
    for (const line of lines) line.begin(line.scene.fromMs, line.seed + 1);
    clock.atMs = lines[0]!.scene.fromMs;
  }
  if (clock.isHeard && clock.factor === 1) lines[0]!.sound.play(lines[0]!.session.nowMs);
}
