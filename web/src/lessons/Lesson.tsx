// One lesson at one of its steps: the step beside its line, and what was seen when it is complete.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { Line } from "../line/Line";
import type { Reading, Scene, Settings } from "../line/scene";
import { type Lesson as Content, startOf } from "./lesson";
import { findAmiss, judge, note, NOTHING, type Progress } from "./progress";
import { Seen } from "./Seen";
import { Step } from "./Step";

interface Props {
  lesson: Content;
  /** The place of the step. */
  place: number;
}

/** The line of a step: it begins with what the step sets, at the same moment after each turn. */
function sceneOf(lesson: Content, place: number): Scene {
  const { scene } = lesson;
  return { ...scene, latestMs: scene.fromMs, start: startOf(lesson, place) };
}

export function Lesson({ lesson, place }: Props) {
  // Counts how often the step was begun anew.
  const [round, setRound] = useState(0);
  const [guess, setGuess] = useState<number>();
  const [progress, setProgress] = useState<Progress>(NOTHING);
  const [settings, setSettings] = useState<Settings>(startOf(lesson, place));
  const heading = useRef<HTMLHeadingElement>(null);
  const latest = useRef<Progress>(NOTHING);
  const step = lesson.steps[place]!;
  const isAsked = !step.guess || guess !== undefined;
  const scene = useMemo(() => sceneOf(lesson, place), [lesson, place, round]);
  const call = scene.people.find((own) => own.measure === "mos")?.flow;

  useEffect(() => heading.current?.focus({ preventScroll: true }), [round]);

  const take = (next: Progress): void => {
    latest.current = next;
    setProgress(next);
  };
  const again = (): void => {
    take(NOTHING);
    setGuess(undefined);
    setSettings(startOf(lesson, place));
    setRound((count) => count + 1);
  };
  const read = (reading: Reading): void => {
    setSettings(reading.settings);
    if (!isAsked) return;
    take(judge(step, latest.current, reading));
    if (latest.current.seen) note(lesson, place);
  };

  return (
    <div class="lesson">
      <Step
        lesson={lesson}
        place={place}
        heading={heading}
        guess={guess}
        onGuess={setGuess}
        seen={progress.seen}
        onAgain={again}
      />
      <Line scene={scene} onReading={read} {...(call ? { heard: call } : {})} />
      <Seen
        key={round}
        lesson={lesson}
        place={place}
        guess={guess}
        progress={progress}
        amiss={isAsked ? findAmiss(lesson, place, settings) : ""}
        settings={settings}
      />
    </div>
  );
}
