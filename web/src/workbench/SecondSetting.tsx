// The second setting: values that replace the scenario's, run beside it with the same seed.

import { useState } from "preact/hooks";

import type { Verdict } from "./useBench";

interface Props {
  lines: string;
  onLines: (lines: string) => void;
  fault: string;
  verdict: Verdict;
}

const EXAMPLE = "link.cable.docsis.upstream.queue = { codel = {} }";

export function SecondSetting({ lines, onLines, fault, verdict }: Props) {
  const wrong = fault || verdict.refusal?.message || "";
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
