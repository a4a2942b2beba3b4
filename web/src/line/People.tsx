// The people on a line: a face, a word and one number each.

import { NOTHING } from "../quantity";
import { colour } from "./draw/canvas";
import { Face } from "./Face";
import { grades, write } from "./marks";
import type { Person, Reading } from "./scene";

interface Props {
  people: readonly Person[];
  flows: readonly string[];
  reading: Reading | undefined;
}

export function People({ people, flows, reading }: Props) {
  return (
    <ul class="people">
      {people.map((person) => {
        const own = reading?.flows.get(person.flow);
        const isKnown = own !== undefined && !Number.isNaN(own.value);
        const word = own?.word ?? "";
        return (
          <li class={word && `grade-${word}`} data-flow={person.flow} data-value={own?.value}>
            {grades(person.measure) && <Face word={word} />}
            <span class="name">
              <i style={{ background: colour(Math.max(flows.indexOf(person.flow), 0)) }} />{" "}
              {person.name}
            </span>
            <strong>{word || (isKnown ? "" : "not yet")}</strong>
            <span class="number">{isKnown ? write(person.measure, own.value) : NOTHING}</span>
          </li>
        );
      })}
    </ul>
  );
}
