// The people on one line, and what can be turned on it.

import { Controls } from "./Controls";
import { People } from "./People";
import type { Settings } from "./scene";
import type { TurnedLine } from "./turned";

interface Props {
  line: TurnedLine;
  /** What the line is called where there are two; else empty. */
  name: string;
  onTurn: (part: Settings) => void;
}

export function Head({ line, name, onTurn }: Props) {
  const { scene, settings, refusal } = line;
  const note = scene.note?.(settings);
  return (
    <section class="lane">
      {name && <h2>{name}</h2>}
      <People scene={scene} flows={line.session.shown?.flows ?? []} reading={line.reading} />
      <fieldset class="controls">
        <legend>Turn something</legend>
        <Controls controls={scene.controls} settings={settings} onChange={onTurn} />
      </fieldset>
      {note && <p class="soft note">{note}</p>}
      {refusal && (
        <p class="refusal" role="alert">
          {refusal.message}
        </p>
      )}
    </section>
  );
}
