// Where the text comes from: a shipped scenario, a file that is opened or dropped, or a paste.

import { useState } from "preact/hooks";

import { save } from "./download";
import { findShipped, readTitle, SHIPPED } from "./shipped";

interface Props {
  text: string;
  onText: (text: string) => void;
}

/** A scenario is text; a longer file is none. */
const MOST_BYTES = 1 << 20;

export function Source({ text, onText }: Props) {
  const [fault, setFault] = useState("");
  const [isOver, setOver] = useState(false);
  const take = async (file: File | undefined) => {
    if (!file) return;
    if (file.size > MOST_BYTES) {
      setFault(`${file.name} is no scenario: it is longer than 1 MiB.`);
      return;
    }
    setFault("");
    onText(await file.text());
  };
  return (
    <div
      class={isOver ? "source over" : "source"}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        void take(event.dataTransfer?.files[0]);
      }}
    >
      <label class="shipped">
        <span>Scenario</span>
        <select
          value={findShipped(text) ?? ""}
          onChange={(event) => {
            const chosen = SHIPPED.get(event.currentTarget.value);
            onText(chosen ?? "");
          }}
        >
          <option value="">{text.trim() ? "your own" : "an empty one"}</option>
          {[...SHIPPED].map(([name, own]) => (
            <option value={name}>
              {name}: {readTitle(own)}
            </option>
          ))}
        </select>
      </label>
      <label class="opened">
        <span>Open a file, or drop it here</span>
        <input
          type="file"
          accept=".toml,text/plain"
          onChange={(event) => void take(event.currentTarget.files?.[0])}
        />
      </label>
      <button type="button" onClick={() => save("scenario.toml", text, "application/toml")}>
        Save as TOML
      </button>
      {fault && (
        <p class="refusal" role="alert">
          {fault}
        </p>
      )}
    </div>
  );
}
