// The text of a step: what it says, the guess, the task with the way to its control, and a hint.

import type { RefObject } from "preact";

import { findControl, showControl } from "./controls";
import { addressOf, type Lesson, type Step as Content } from "./lesson";
import { isComplete, type Seen } from "./progress";

interface Props {
  lesson: Lesson;
  place: number;
  heading: RefObject<HTMLHeadingElement | null>;
  guess: number | undefined;
  onGuess: (option: number) => void;
  seen: Seen | undefined;
  onAgain: () => void;
}

export function Step(props: Props) {
  const { lesson, place, guess, seen } = props;
  const step = lesson.steps[place]!;
  const isAsked = !step.guess || guess !== undefined;
  return (
    <section class="step" aria-label="step">
      <p class="soft way">
        <a href="#lessons">Lessons</a> / {lesson.title}
      </p>
      <Places lesson={lesson} place={place} />
      <h1 ref={props.heading} tabIndex={-1}>
        {step.title}
      </h1>
      <p>{step.says}</p>
      {step.guess && !seen && (
        <Question step={step} guess={guess} onGuess={props.onGuess} />
      )}
      <div aria-live="polite">{isAsked && <Task {...props} step={step} />}</div>
      <p class="moves">
        {place > 0 && <a href={addressOf(lesson, place - 1)}>back</a>}
        <button type="button" onClick={props.onAgain}>
          this step again
        </button>
      </p>
      {isAsked && (
        <details class="hint">
          <summary>Hint</summary>
          {step.hint}
        </details>
      )}
    </section>
  );
}

/** The way to each step; a complete one has a tick. */
function Places({ lesson, place }: { lesson: Lesson; place: number }) {
  return (
    <ol class="places" aria-label="steps">
      {lesson.steps.map((step, number) => {
        const tick = isComplete(lesson, number);
        return (
          <li>
            <a
              href={addressOf(lesson, number)}
              aria-current={number === place ? "step" : undefined}
              aria-label={`step ${number + 1}: ${step.title}${tick ? ", complete" : ""}`}
            >
              {number + 1}
              {tick && <span class="tick">✓</span>}
            </a>
          </li>
        );
      })}
    </ol>
  );
}

interface QuestionProps {
  step: Content;
  guess: number | undefined;
  onGuess: (option: number) => void;
}

function Question({ step, guess, onGuess }: QuestionProps) {
  const { question, options } = step.guess!;
  return (
    <div class="guess" role="group" aria-label={question}>
      <p>{question}</p>
      {options.map((option, number) => (
        <button type="button" aria-pressed={guess === number} onClick={() => onGuess(number)}>
          {option}
        </button>
      ))}
    </div>
  );
}

/** What to do, and the way to its control. */
function Task({ lesson, step, seen }: Props & { step: Content }) {
  const { name } = findControl(lesson.scene, step.turns);
  return (
    <p class="asks">
      {step.guess && !seen && "Now see what the line shows. "}
      {step.asks}{" "}
      <button type="button" class="small" onClick={() => showControl(name)}>
        show “{name}”
      </button>
    </p>
  );
}
