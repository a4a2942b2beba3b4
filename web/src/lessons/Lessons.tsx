// The list of lessons.

import { LESSONS } from "./all";

export function Lessons() {
  return (
    <>
      <h1>Lessons</h1>
      <p class="lead">
        Each has a line that runs while you watch, and five steps. In each step you turn one thing,
        and the line shows what it does.
      </p>
      <ol class="lessons">
        {LESSONS.map((lesson) => (
          <li>
            <h2>
              <a href={`#lesson/${lesson.name}`}>{lesson.title}</a>
            </h2>
            <p>{lesson.question}</p>
            <p class="soft">
              {lesson.minutes} minutes; {lesson.audience}.{" "}
              <a href={`#sheet/${lesson.name}`} aria-label={`sheet for teachers: ${lesson.title}`}>
                Sheet for teachers
              </a>
            </p>
          </li>
        ))}
      </ol>
    </>
  );
}
