// The sheet for teachers: what a lesson is for, and each step with its answer; made to be printed.

import { listClaims, readScenario, writeCommand } from "./claims";
import type { Lesson } from "./lesson";

export function Sheet({ lesson }: { lesson: Lesson }) {
  const own = readScenario(lesson.name);
  return (
    <article class="sheet">
      <p class="soft way">
        <a href="#lessons">Lessons</a> /{" "}
        <a href={`#lesson/${lesson.name}`}>{lesson.title}</a> / sheet for teachers{" "}
        <button type="button" onClick={() => print()}>
          print
        </button>
      </p>
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
        <dd>
          {lesson.steps
            .map((step, place) => `${place + 1}. ${step.title}: ${step.forTeacher.minutes} min`)
            .join("; ")}
          .
        </dd>
      </dl>
      {lesson.steps.map((step, place) => {
        const claims = listClaims(lesson.name, place + 1);
        return (
          <section>
            <h2>
              {place + 1}. {step.title}
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
            <details>
              <summary>Commands that give the numbers</summary>
              <dl class="claims">
                {claims.map((claim) => (
                  <>
                    <dt>
                      {claim.about}: <b>{claim.shown}</b> (<code>{claim.measure}</code>)
                    </dt>
                    <dd>
                      <code>{writeCommand(lesson.name, claim)}</code>
                    </dd>
                  </>
                ))}
              </dl>
            </details>
          </section>
        );
      })}
      <h2>Where it comes from</h2>
      <ul>
        {lesson.sources.map((source) => (
          <li>
            <a href={source.link}>{source.name}</a>: {source.about}.
          </li>
        ))}
      </ul>
      <p class="soft">
        All numbers are of the simulator headend, seed 1. Those of the lesson in the browser differ
        a little, as they are of the latest two seconds. The installed headend gives the numbers with
        the commands above
        {own ? (
          <>
            , in which <code>{own}</code> is{" "}
            <a download={own} href={`data:text/plain,${encodeURIComponent(lesson.scene.text)}`}>
              the lesson's scenario file
            </a>
          </>
        ) : null}
        .
      </p>
    </article>
  );
}
