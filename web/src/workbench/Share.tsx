// A link that opens the same here, and the commands that run the same with the installed headend.

import { useState } from "preact/hooks";

import { writeCommand } from "../command";
import { LABELS } from "./Results";
import { encode, PREFIX, type Setup } from "./link";
import { explainFault } from "./useBench";

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
  const [fault, setFault] = useState("");
  const { overrides, seed, compare } = setup;
  const source = shipped ?? "scenario.toml";
  const makeLink = async () => {
    try {
      const hash = `${PREFIX}${await encode(setup)}`;
      history.replaceState(null, "", hash);
      setFault("");
      setLink(location.href);
      return location.href;
    } catch (error) {
      setLink("");
      setFault(explainFault(error).message);
      return null;
    }
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
      {fault && (
        <p class="refusal" role="alert">
          {fault}
        </p>
      )}
      {location.protocol === "file:" && (
        <p class="soft">
          This page is a file, so the link opens only where the same file is at the same place. For
          others, put the lab on a web server and copy the link there, or hand out the file of{" "}
          <code>headend lab {source} --out FILE</code>.
        </p>
      )}
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
  /** Null where there is nothing to copy. */
  find: () => Promise<string | null>;
}

/** A button that says whether what it was to copy is copied. */
function CopyButton({ label, about, find }: CopyProps) {
  const [said, say] = useState("");
  return (
    <>
      <button
        type="button"
        onClick={async () => {
          const text = await find();
          if (text === null) say("");
          else say((await copy(text)) ? "copied" : "select it, and copy it");
        }}
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
