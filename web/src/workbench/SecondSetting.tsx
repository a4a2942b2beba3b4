// The second setting: values that replace the scenario's, run beside it or alone.

import { useMemo, useState } from "preact/hooks";

import type { Overrides } from "../engine/messages";
import { explainOverrides } from "./overrides";
import type { Verdict } from "./useBench";

interface Props {
  lines: string;
  onLines: (lines: string) => void;
  isCompared: boolean;
  onCompared: (isCompared: boolean) => void;
  fault: string;
  verdict: Verdict;
  /** The values that the lines say; null where there are none. */
  overrides: Overrides | null;
}

const EXAMPLE = "link.cable.docsis.upstream.queue = { codel = {} }";

export function SecondSetting(props: Props) {
  const { lines, onLines, isCompared, onCompared, fault, verdict, overrides } = props;
  const { refusal, text } = verdict;
  const refused = useMemo(
    () => (refusal ? explainOverrides(refusal, text, overrides ?? []) : ""),
    [refusal],
  );
  const wrong = fault || refused;
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <details
        class="second"
        open={isOpen || lines !== ""}
        onToggle={(event) => setOpen(event.currentTarget.open)}
      >
        <summary>Compare with a second setting</summary>
        <label>
          <span>
            What is different in it, a line for each value: <code>path = value</code>, such as{" "}
            <code>{EXAMPLE}</code>
          </span>
          <textarea
            rows={4}
            spellcheck={false}
            placeholder={EXAMPLE}
            value={lines}
            aria-invalid={wrong !== ""}
            aria-describedby="second-state"
            onInput={(event) => onLines(event.currentTarget.value)}
          />
        </label>
        <label class="check">
          <input
            type="checkbox"
            checked={isCompared}
            onChange={(event) => onCompared(event.currentTarget.checked)}
          />
          <span>Run the scenario as written too, and show both side by side</span>
        </label>
      </details>
      <div id="second-state" role="status">
        {wrong && <p class="refusal">Second setting: {wrong}</p>}
        {verdict.checked?.warnings.map((warning) => (
          <p class="warning">Second setting, warning: {warning}</p>
        ))}
      </div>
    </>
  );
}
