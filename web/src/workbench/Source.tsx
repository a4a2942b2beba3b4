// Where the text comes from: a shipped scenario, a file that is opened or dropped, or a paste.

import { useState } from "preact/hooks";

import { write } from "../quantity";
import { save } from "./download";
import { MOST_BYTES } from "./link";
import { findShipped, readTitle, SHIPPED } from "./shipped";

interface Props {
  text: string;
  onText: (text: string) => void;
}

export function Source({ text, onText }: Props) {
  const { fault, take } = useFile(onText);
  const [isOver, setOver] = useState(false);
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
        take(event.dataTransfer?.files[0]);
      }}
    >
      <Shipped text={text} onText={onText} />
      <label class="opened">
        <span>Open a file, or drop it here</span>
        <input
          type="file"
          accept=".toml,text/plain"
          onChange={(event) => take(event.currentTarget.files?.[0])}
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

/** Gives what takes a file's text, and what is wrong with the latest file. */
function useFile(onText: (text: string) => void) {
  const [fault, setFault] = useState("");
  const take = (file: File | undefined) => {
    if (!file) return;
    if (file.size > MOST_BYTES) {
      setFault(`${file.name} is not opened: it is longer than ${write(MOST_BYTES, "size")}.`);
      return;
    }
    setFault("");
    file.text().then(onText, () =>
      setFault(`${file.name} cannot be read: choose a file, not a folder, that is still there.`),
    );
  };
  return { fault, take };
}

function Shipped({ text, onText }: Props) {
  return (
    <label class="shipped">
      <span>Scenario</span>
      <select
        value={findShipped(text) ?? ""}
        onChange={(event) => onText(SHIPPED.get(event.currentTarget.value) ?? "")}
      >
        <option value="">{text.trim() ? "your own" : "an empty one"}</option>
        {[...SHIPPED].map(([name, own]) => (
          <option value={name}>
            {name}: {readTitle(own)}
          </option>
        ))}
      </select>
    </label>
  );
}
