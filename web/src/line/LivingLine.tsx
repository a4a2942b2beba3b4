// The living line: turn a slider, and see what it does to the people on it.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import type { Refusal } from "../engine/messages";
import { colour, draw } from "./draw";
import { Engine } from "./engine";
import { grade, PEOPLE } from "./people";
import {
  BUFFERS,
  DURATION_MS,
  LAW_NAMES,
  LAWS,
  override,
  QUEUE,
  RATES,
  SCENARIO,
  type Settings,
  START,
  writeCommand,
} from "./settings";

/** Simulated milliseconds in one of the watcher's. */
const SPEEDS = [
  { name: "real time", factor: 1 },
  { name: "10 times slower", factor: 0.1 },
  { name: "200 times slower", factor: 0.005 },
];

const SEED = 1;

export function LivingLine() {
  const [settings, setSettings] = useState<Settings>(START);
  const [speed, setSpeed] = useState(0);
  const [isPaused, setPaused] = useState(false);
  const [refusal, setRefusal] = useState<Refusal>();
  const [, redraw] = useState(0);
  const canvas = useRef<HTMLCanvasElement>(null);
  const engine = useMemo(() => new Engine(QUEUE, setRefusal, () => redraw((count) => count + 1)), []);
  // Of the run, so that the loop below need not be set up anew.
  const clock = useRef({ atMs: 0, factor: 1, isPaused: false });
  clock.current.factor = SPEEDS[speed]!.factor;
  clock.current.isPaused = isPaused;

  useEffect(() => {
    setRefusal(undefined);
    // A new setting goes on from the same moment, but from 8 s at least, when the upload is under
    // way, and 60 s at most: its run is simulated up to there at once.
    engine.begin(SCENARIO, override(settings), SEED);
    clock.current.atMs = Math.min(Math.max(clock.current.atMs, 8000), 60_000);
  }, [settings]);

  useEffect(() => {
    let last = performance.now();
    let frame = 0;
    const step = (now: number) => {
      const own = clock.current;
      if (!own.isPaused && engine.running && !engine.isOver) {
        own.atMs = Math.min(own.atMs + Math.min(now - last, 100) * own.factor, DURATION_MS);
        engine.advance(own.atMs);
      }
      last = now;
      frame = requestAnimationFrame(step);
    };
    frame = requestAnimationFrame(step);
    return () => cancelAnimationFrame(frame);
  }, []);

  const running = engine.running;
  useEffect(() => {
    const own = canvas.current;
    if (!own || !running) return;
    const { width, height } = own.getBoundingClientRect();
    const scale = window.devicePixelRatio || 1;
    own.width = Math.round(width * scale);
    own.height = Math.round(height * scale);
    const context = own.getContext("2d")!;
    context.scale(scale, scale);
    const style = getComputedStyle(own);
    const tone = (name: string) => style.getPropertyValue(name).trim();
    const limit = (settings.rate * 1e6 * settings.bufferMs) / 8e3;
    const tones = { text: tone("--text"), soft: tone("--soft"), faint: tone("--faint") };
    draw(context, width, height, running.picture, limit, tones);
  });

  const wait = running ? running.picture.waitMs(settings.rate) : 0;
  const change = (part: Partial<Settings>) => setSettings((before) => ({ ...before, ...part }));
  return (
    <>
      <h1>What does a full buffer do to a telephone call?</h1>
      <p class="lead">
        Somebody uploads photos over a cable modem. Make its buffer longer or shorter, and look at the
        call. People are graded by delay and loss of their packets in the latest two seconds.
      </p>
      <ul class="people">
        {PEOPLE.map((person) => {
          const flow = running?.flows.indexOf(person.flow) ?? -1;
          const fate = running?.picture.summarise(flow, person.side);
          const known = fate && fate.count > 0;
          const own = known ? grade(fate.delayMs, fate.lost, person.bounds) : undefined;
          return (
            <li class={own ? `grade-${own.word}` : ""} data-flow={person.flow}>
              <span class="face" aria-hidden="true">
                {own?.face ?? "…"}
              </span>
              <span class="name">
                <i style={{ background: colour(Math.max(flow, 0)) }} /> {person.name}
              </span>
              <strong>{own?.word ?? "not yet there"}</strong>
              <span class="number">
                {known && !Number.isNaN(fate.delayMs)
                  ? `${fate.delayMs.toFixed(0)} ms ${person.about}`
                  : "no packet has arrived lately"}
              </span>
            </li>
          );
        })}
      </ul>
      <figure>
        <figcaption>
          The modem's queue: {running?.picture.waiting.length ?? 0} packets wait, which takes{" "}
          <output data-of="wait">{wait.toFixed(0)} ms</output> at {settings.rate} Mbit/s. The line is
          at the right.
        </figcaption>
        <canvas ref={canvas} role="img" aria-label="The packets in the modem's queue, by flow" />
        <ul class="legend">
          {running?.flows.map((name, flow) => (
            <li>
              <i style={{ background: colour(flow) }} /> {name}
            </li>
          ))}
        </ul>
      </figure>
      <fieldset class="controls">
        <legend>Turn something</legend>
        <Slider
          name="buffer"
          values={BUFFERS}
          value={settings.bufferMs}
          unit="ms"
          onChange={(bufferMs) => change({ bufferMs })}
        />
        <Slider
          name="upstream rate"
          values={RATES}
          value={settings.rate}
          unit="Mbit/s"
          onChange={(rate) => change({ rate })}
        />
        <label>
          <span>queue</span>
          <select
            value={settings.law}
            onChange={(event) => change({ law: event.currentTarget.value as Settings["law"] })}
          >
            {LAWS.map((law) => (
              <option value={law}>{LAW_NAMES[law]}</option>
            ))}
          </select>
        </label>
        <label class="check">
          <input
            type="checkbox"
            checked={settings.isUploading}
            onChange={(event) => change({ isUploading: event.currentTarget.checked })}
          />
          <span>somebody uploads</span>
        </label>
        <label>
          <span>time</span>
          <select
            value={speed}
            onChange={(event) => setSpeed(Number(event.currentTarget.value))}
          >
            {SPEEDS.map((own, place) => (
              <option value={place}>{own.name}</option>
            ))}
          </select>
        </label>
        <button type="button" onClick={() => setPaused(!isPaused)} aria-pressed={isPaused}>
          {isPaused ? "go on" : "pause"}
        </button>
      </fieldset>
      {refusal && <p class="refusal">{refusal.message}</p>}
      <p class="soft">
        Simulated: {((running?.picture.nowMs ?? 0) / 1000).toFixed(1)} s. The same with the installed
        headend: <code>{writeCommand(settings)}</code>
      </p>
    </>
  );
}

interface SliderProps {
  name: string;
  values: readonly number[];
  value: number;
  unit: string;
  onChange: (value: number) => void;
}

/** A slider that stops at given values. */
function Slider({ name, values, value, unit, onChange }: SliderProps) {
  return (
    <label>
      <span>
        {name}: {value} {unit}
      </span>
      <input
        type="range"
        min={0}
        max={values.length - 1}
        step={1}
        value={values.indexOf(value)}
        aria-valuetext={`${value} ${unit}`}
        onInput={(event) => onChange(values[Number(event.currentTarget.value)]!)}
      />
    </label>
  );
}
