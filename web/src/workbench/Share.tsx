// A link that opens the same here, and the commands that run the same with the installed headend.

import { useState } from "preact/hooks";

import { writeCommand } from "./command";
import { LABELS } from "./Results";
import { encode, PREFIX, type Setup } from "./link";

interface Props {
  setup: Setup;
  /** The name of the shipped scenario that the text is, unchanged. */
  shipped: string | undefined;
}

/** Puts a text on the clipboard; false where the browser does not allow it. */
async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

export function Share({ setup, shipped }: Props) {
  const [link, setLink] = useState("");
  const { overrides, seed, compare } = setup;
  const source = shipped ?? "scenario.toml";
  const makeLink = async () => {
    const hash = `${PREFIX}${await encode(setup)}`;
    history.replaceState(null, "", hash);
    setLink(location.href);
    return location.href;
  };
  return (
    <details class="share">
      <summary>Share it, or run it elsewhere</summary>
      <div class="share-row">
        <CopyButton label="Copy a link" find={makeLink} />
        {link && (
          <input
            readOnly
            aria-label="The link"
            value={link}
            onFocus={(event) => event.currentTarget.select()}
          />
        )}
      </div>
      {(compare || !overrides.length) && (
        <Command command={writeCommand(source, [], seed)} label={LABELS[0]!} />
      )}
      {overrides.length > 0 && (
        <Command command={writeCommand(source, overrides, seed)} label={LABELS[1]!} />
      )}
      {!shipped && (
        <p class="soft">
          <code>scenario.toml</code> is the file that "Save as TOML" saves.
        </p>
      )}
    </details>
  );
}

function Command({ command, label }: { command: string; label: string }) {
  return (
    <div class="share-row">
      <CopyButton label="Copy the command" about={label} find={() => Promise.resolve(command)} />
      <code data-command={label}>{command}</code>
    </div>
  );
}

interface CopyProps {
  label: string;
  about?: string;
  find: () => Promise<string>;
}

/** A button that says whether what it was to copy is copied. */
function CopyButton({ label, about, find }: CopyProps) {
  const [said, say] = useState("");
  return (
    <>
      <button
        type="button"
        onClick={async () => say((await copy(await find())) ? "copied" : "select it, and copy it")}
      >
        {label}
        {about && <span class="hidden"> {about}</span>}
      </button>
      <span role="status" class="soft">
        {said}
      </span>
    </>
  );
}
