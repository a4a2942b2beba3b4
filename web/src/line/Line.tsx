// A living line: a scene that runs while somebody watches and turns things, alone or beside a
// second line with the same traffic.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { Head } from "./Head";
import type { Reading, Scene, Settings } from "./scene";
import { OwnVoice, Transport } from "./Transport";
import type { TurnedLine } from "./turned";
import { Views } from "./Views";
import { Watch } from "./watch";

interface Props {
  scene: Scene;
  onReading?: (reading: Reading) => void;
  /** Whether a second line may be put beside it. */
  isComparable?: boolean;
  /** The call that can be heard: its flow. */
  heard?: string;
  /** Whether the call is heard from the first turn on; else from its button on. */
  isHeardAtOnce?: boolean;
}

export function Line(props: Props) {
  const { scene, onReading, isComparable = false, heard, isHeardAtOnce = false } = props;
  const [, count] = useState(0);
  const redraw = (): void => count((before) => before + 1);
  const latest = useRef(onReading);
  latest.current = onReading;
  const hasTurned = useRef(false);
  const watch = useMemo(() => {
    const own: Watch = new Watch(scene, heard, () => {
      if (own.first.reading) latest.current?.(own.first.reading);
      redraw();
    });
    return own;
  }, [scene, heard]);
  useEffect(() => {
    watch.start();
    return () => watch.end();
  }, [watch]);

  const turn = (line: TurnedLine, part: Settings): void => {
    // Who silences the call is left so.
    if (heard && isHeardAtOnce && !hasTurned.current) watch.hear(true);
    hasTurned.current = true;
    watch.turn(line, part);
    redraw();
  };
  const lanes = watch.lines.length > 1 ? "lanes two" : "lanes";
  const name = (place: number): string =>
    watch.lines.length > 1 ? `Line ${"AB"[place]}${!place && watch.isHeard ? " (heard)" : ""}` : "";
  return (
    <div class="line" data-now={watch.first.session.nowMs}>
      <div class={lanes}>
        {watch.lines.map((line, place) => (
          <Head line={line} name={name(place)} onTurn={(part) => turn(line, part)} />
        ))}
      </div>
      <Transport watch={watch} isComparable={isComparable} onChange={redraw} />
      <div class={lanes}>
        {watch.lines.map((line, place) => (
          <Views line={line} watch={watch} name={name(place)} />
        ))}
      </div>
      {watch.isHeard && <OwnVoice watch={watch} />}
    </div>
  );
}
