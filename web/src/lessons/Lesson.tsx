// One lesson: a step beside its line, what was seen when it is done, and the way on.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { Line } from "../line/Line";
import type { Reading, Scene } from "../line/scene";
import { LESSONS } from "./all";
import { type Lesson as Content, type Step, startOf } from "./lesson";
import { judge, type Progress } from "./progress";

/** When a hint is given to whoever has not found it, ms of the watcher's time. */
const HINT_AFTER_MS = 25_000;

interface Props {
  lesson: Content;
  /** The place of the step to begin with. */
  first: number;
}

export function Lesson({ lesson, first }: Props) {
  const [place, setPlace] = useState(first);
  // Counts how often a step was begun anew.
  const [round, setRound] = useState(0);
  const [guess, setGuess] = useState<number>();
  const [seen, setSeen] = useState<string>();
  const [isHinted, setHinted] = useState(false);
  const heading = useRef<HTMLHeadingElement>(null);
  const progress = useRef<Progress>({});
  const step: Step = lesson.steps[place]!;
  const isLast = place === lesson.steps.length - 1;
  const following = LESSONS[LESSONS.indexOf(lesson) + 1];
  const isAsked = !step.guess || guess !== undefined;

  // The line begins with what the step sets.
  const scene = useMemo(
    (): Scene => ({ ...lesson.scene, start: startOf(lesson, place) }),
    [lesson, place, round],
  );

  const go = (to: number): void => {
    progress.current = {};
    setPlace(to);
    setRound((count) => count + 1);
    setGuess(undefined);
    setSeen(undefined);
    setHinted(false);
    history.replaceState(null, "", `#lesson/${lesson.name}${to ? `/${to + 1}` : ""}`);
    heading.current?.focus();
  };

  useEffect(() => {
    if (!isAsked || seen !== undefined) return undefined;
    const timer = setTimeout(() => setHinted(true), HINT_AFTER_MS);
    return () => clearTimeout(timer);
  }, [place, round, isAsked, seen]);

  const read = (reading: Reading): void => {
    if (!isAsked) return;
    progress.current = judge(step, progress.current, reading);
    setSeen(progress.current.seen);
  };

  return (
    <div class="lesson">
      <section class="step" aria-label="step">
        <p class="soft way">
          <a href="#lessons">Lessons</a> / {lesson.title}
        </p>
        <ol class="places" aria-label="steps">
          {lesson.steps.map((own, number) => (
            <li aria-current={number === place ? "step" : undefined}>
              <button
                type="button"
                aria-label={`step ${number + 1}: ${own.title}`}
                onClick={() => go(number)}
              >
                {number + 1}
              </button>
            </li>
          ))}
        </ol>
        <h1 ref={heading} tabIndex={-1}>
          {step.title}
        </h1>
        <div aria-live="polite">
          <p>{step.says}</p>
          {step.guess && seen === undefined && (
            <div class="guess" role="group" aria-label={step.guess.question}>
              <p>{step.guess.question}</p>
              {step.guess.options.map((option, number) => (
                <button
                  type="button"
                  aria-pressed={guess === number}
                  onClick={() => setGuess(number)}
                >
                  {option}
                </button>
              ))}
            </div>
          )}
          {isAsked && (
            <p class="asks">
              {step.guess && seen === undefined && "The line will answer. "}
              {step.asks}
            </p>
          )}
          {isAsked && isHinted && seen === undefined && (
            <p class="hint">
              <b>Hint:</b> {step.hint}
            </p>
          )}
        </div>
        <p class="moves">
          <button type="button" disabled={place === 0} onClick={() => go(place - 1)}>
            back
          </button>
          <button type="button" onClick={() => go(place)}>
            this step again
          </button>
          <button type="button" disabled={place === 0} onClick={() => go(0)}>
            restart
          </button>
        </p>
      </section>
      <Line scene={scene} onReading={read} />
      <section class={seen === undefined ? "seen" : "seen done"} aria-label="what was seen">
        <div role="status">
          {seen !== undefined && (
            <>
              {step.guess && <Answer step={step} guess={guess} />}
              <p>{seen}</p>
              {isLast && <p>That was the lesson. Turn what you like, or go on.</p>}
            </>
          )}
        </div>
        {seen !== undefined && !isLast && (
          <button type="button" class="next" onClick={() => go(place + 1)}>
            next step
          </button>
        )}
        {seen !== undefined && isLast && (
          <p class="moves">
            {following && (
              <a class="next" href={`#lesson/${following.name}`}>
                next lesson: {following.title}
              </a>
            )}
            <a class={following ? "" : "next"} href="#lessons">
              all lessons
            </a>
          </p>
        )}
      </section>
    </div>
  );
}

/** Whether the guess was what the line shows. */
function Answer({ step, guess }: { step: Step; guess: number | undefined }) {
  const { options, answer } = step.guess!;
  return (
    <p>
      {guess === answer ? (
        <b>You guessed it: {options[answer]}.</b>
      ) : (
        <>
          You guessed “{options[guess ?? answer]}”. <b>It is: {options[answer]}.</b>
        </>
      )}
    </p>
  );
}
