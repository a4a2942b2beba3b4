// Below the line: whether it is being measured or what is amiss, and when the step is complete what
// was seen, whether that was the guess, and the way on.

import { useState } from "preact/hooks";

import type { Settings } from "../line/scene";
import { LESSONS } from "./all";
import { addressOf, type Lesson, type Step } from "./lesson";
import { describe, type Progress } from "./progress";

interface Props {
  lesson: Lesson;
  place: number;
  guess: number | undefined;
  progress: Progress;
  /** What keeps the step from being complete, where that is known. */
  amiss: string;
  /** The settings now: the card says so where they are others than those of what was seen. */
  settings: Settings;
}

export function Seen({ lesson, place, guess, progress, amiss, settings }: Props) {
  const { seen, isMeasuring } = progress;
  const state = isMeasuring ? "measuring …" : amiss;
  const [isFolded, setFolded] = useState(false);
  const step = lesson.steps[place]!;
  const isLast = place === lesson.steps.length - 1;
  const before = seen && describe(lesson, seen, settings);
  return (
    <section class={seen ? "seen complete" : "seen"} aria-label="what was seen">
      <div role="status">
        {!seen && state && <p class="state">{state}</p>}
        {seen && !isFolded && (
          <>
            {step.guess && <Answer step={step} guess={guess} />}
            <p>
              {before && <b>Seen with {before}: </b>}
              {seen.text}
            </p>
            {isLast && <p>This was the last step of the lesson.</p>}
          </>
        )}
      </div>
      {seen && (
        <p class="moves">
          {isLast ? (
            <After lesson={lesson} />
          ) : (
            <a class="next" href={addressOf(lesson, place + 1)}>
              next step
            </a>
          )}
          <button type="button" aria-expanded={!isFolded} onClick={() => setFolded(!isFolded)}>
            {isFolded ? "what was seen" : "close"}
          </button>
        </p>
      )}
    </section>
  );
}

/** The way on after the last step. */
function After({ lesson }: { lesson: Lesson }) {
  const following = LESSONS[LESSONS.indexOf(lesson) + 1];
  return (
    <>
      {following && (
        <a class="next" href={addressOf(following, 0)}>
          next lesson: {following.title}
        </a>
      )}
      <a class={following ? "" : "next"} href="#lessons">
        all lessons
      </a>
    </>
  );
}

/** Whether the guess was what the line shows. */
function Answer({ step, guess }: { step: Step; guess: number | undefined }) {
  const { options, answer } = step.guess!;
  return (
    <p>
      {guess === answer ? (
        <b>Your guess was right: “{options[answer]}”.</b>
      ) : (
        <>
          You guessed “{options[guess ?? answer]}”. <b>The line shows: “{options[answer]}”.</b>
        </>
      )}
    </p>
  );
}
