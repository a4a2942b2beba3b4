// The first screen: turn a slider, and see and hear what it does to the people on the line.

import { useState } from "preact/hooks";

import { Line } from "./Line";
import { LIVING_LINE, writeLivingCommand } from "./living";
import type { Settings } from "./scene";

export function LivingLine() {
  const [settings, setSettings] = useState<Settings>(LIVING_LINE.start);
  return (
    <>
      <h1>What does a full buffer do to the people on a line?</h1>
      <p class="lead">
        Photos are uploaded over a cable modem. <b>Make its buffer longer</b>, and hear the call
        break.
      </p>
      <Line
        scene={LIVING_LINE}
        isComparable
        heard="call"
        isHeardAtOnce
        onReading={(reading) => setSettings(reading.settings)}
      />
      <p class="soft">
        A line with these settings in the installed headend: <code>{writeLivingCommand(settings)}</code>
      </p>
    </>
  );
}
