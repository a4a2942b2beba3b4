// A living line: a scene that runs while somebody watches and turns things, alone or beside a
// second line with the same traffic.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { Lane } from "./Lane";
import type { Reading, Scene, Settings } from "./scene";
import { Transport } from "./Transport";
import type { TurnedLine } from "./turned";
import { SPEEDS, Watch } from "./watch";

interface Props {
  scene: Scene;
  onReading?: (reading: Reading) => void;
  /** Whether a second line may be put beside it. */
  isComparable?: boolean;
  /** The call that is heard: its flow. */
  heard?: string;
}

export function Line({ scene, onReading, isComparable = false, heard }: Props) {
  const [, count] = useState(0);
  const redraw = (): void => count((before) => before + 1);
  const told = useRef(onReading);
  told.current = onReading;
  const hasTurned = useRef(false);
  const watch = useMemo(() => {
    const own: Watch = new Watch(scene, heard, () => {
      if (own.first.reading) told.current?.(own.first.reading);
      redraw();
    });
    return own;
  }, [scene, heard]);
  useEffect(() => {
    watch.start();
    return () => watch.end();
  }, [watch]);

  const turn = (line: TurnedLine, part: Settings): void => {
    // Who turns something for the first time hears what it does; who silences the call is left so.
    if (heard && !hasTurned.current) watch.hear(true);
    hasTurned.current = true;
    watch.turn(line, part);
    redraw();
  };
  return (
    <div class="line" data-now={watch.first.session.nowMs}>
      <Transport watch={watch} isComparable={isComparable} onChange={redraw} />
      <div class={watch.lines.length > 1 ? "lanes two" : "lanes"}>
        {watch.lines.map((line) => (
          <Lane
            scene={scene}
            session={line.session}
            settings={line.settings}
            reading={line.reading}
            refusal={line.refusal}
            back={watch.back}
            spanMs={SPEEDS[watch.speed]!.spanMs}
            onChange={(part) => turn(line, part)}
          />
        ))}
      </div>
    </div>
  );
}
