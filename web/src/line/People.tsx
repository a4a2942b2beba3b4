// The people on a line: a face, a word and one number each.

import { Face } from "./Face";
import { tone } from "./legend";
import { grades, write } from "./marks";
import type { Reading, Scene } from "./scene";

interface Props {
  scene: Scene;
  flows: readonly string[];
  reading: Reading | undefined;
}

export function People({ scene, flows, reading }: Props) {
  return (
    <ul class="people">
      {scene.people.map((person) => {
        const own = reading?.flows.get(person.flow);
        const isKnown = own !== undefined && !Number.isNaN(own.value);
        const word = own?.word ?? "";
        const isGraded = grades(person.measure);
        return (
          <li
            class={isGraded ? word && `grade-${word}` : "plain"}
            data-flow={person.flow}
            data-value={own?.value}
          >
            {isGraded && <Face word={word} />}
            <span class="name">
              <i style={{ background: tone(scene, flows, person.flow) }} /> {person.name}
            </span>
            <strong>
              {isGraded ? word || "…" : isKnown && write(person.measure, own.value)}
            </strong>
            <span class="number">
              {!isKnown ? "nothing yet" : isGraded && write(person.measure, own.value)}
            </span>
          </li>
        );
      })}
    </ul>
  );
}
