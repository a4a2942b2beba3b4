// The sheet for teachers: what a lesson is for, each step with its answer, and the commands that
// give the numbers; made to be printed.

import { listCommands, readScenario } from "./claims";
import type { Lesson, Step } from "./lesson";

export function Sheet({ lesson }: { lesson: Lesson }) {
  return (
    <article class="sheet">
      <p class="soft way">
        <a href="#lessons">Lessons</a> /{" "}
        <a href={`#lesson/${lesson.name}`}>{lesson.title}</a> / sheet for teachers{" "}
        <button type="button" onClick={() => print()}>
          print
        </button>
      </p>
      <Head lesson={lesson} />
      {lesson.steps.map((step, place) => (
        <StepForTeacher step={step} number={place + 1} />
      ))}
      <Commands lesson={lesson} />
      <h2>Sources</h2>
      <ul>
        {lesson.sources.map((source) => (
          <li>
            <a href={source.link}>{source.name}</a>: {source.about}.
          </li>
        ))}
      </ul>
    </article>
  );
}

function Head({ lesson }: { lesson: Lesson }) {
  const times = lesson.steps.map(
    (step, place) => `${place + 1}. ${step.title}: ${step.forTeacher.minutes} min`,
  );
  return (
    <>
      <h1>{lesson.title}</h1>
      <p class="lead">
        {lesson.question} {lesson.minutes} minutes; {lesson.audience}.
      </p>
      <dl>
        <dt>Aim</dt>
        <dd>{lesson.aim}</dd>
        <dt>What to know before</dt>
        <dd>{lesson.before}</dd>
        <dt>Time</dt>
        <dd>{times.join("; ")}.</dd>
      </dl>
    </>
  );
}

function StepForTeacher({ step, number }: { step: Step; number: number }) {
  return (
    <section>
      <h2>
        {number}. {step.title}
      </h2>
      {step.guess && (
        <p>
          <b>Guess:</b> {step.guess.question} ({step.guess.options.join(" / ")})
        </p>
      )}
      <p>
        <b>Task:</b> {step.asks}
      </p>
      <p>
        <b>Answer:</b> {step.forTeacher.answer}
      </p>
      <p>
        <b>Wrong idea:</b> {step.forTeacher.wrong}
      </p>
      <p>
        <b>Ask next:</b> {step.forTeacher.next}
      </p>
    </section>
  );
}

/** Each command of the lesson once, with the numbers that it gives. */
function Commands({ lesson }: { lesson: Lesson }) {
  const own = readScenario(lesson.name);
  return (
    <div class="commands">
      <h2>Commands that give the numbers</h2>
      <p>
        All numbers are of the simulator headend, seed 1, over the whole run. The lab shows those of
        the latest two seconds, which vary. The installed headend gives them with these commands
        {own && (
          <>
            ; <code>{own}</code> is{" "}
            <a download={own} href={`data:text/plain,${encodeURIComponent(lesson.scene.text)}`}>
              the lesson's scenario file
            </a>
          </>
        )}
        .
      </p>
      <dl>
        {listCommands(lesson.name).map(({ command, claims }) => (
          <div>
            <dt>
              <code>{command}</code>
            </dt>
            {claims.map((claim) => (
              <dd>
                <b>{claim.shown}</b> <code>{claim.measure}</code> {claim.about} (step {claim.step})
              </dd>
            ))}
          </div>
        ))}
      </dl>
    </div>
  );
}
