// A value over the latest half minute: the wait, windows, rates, or the probability of a drop.

import { Canvas } from "./Canvas";
import { type Course, drawStrip } from "./draw/strip";
import { Legend, tone } from "./legend";
import type { View } from "./scene";
import type { TurnedLine } from "./turned";

export type StripName = Exclude<View, "queue" | "grants">;

/** What a strip is called, and the least that its axis reaches to. */
const STRIPS: Readonly<Record<StripName, { title: string; least: number }>> = {
  wait: { title: "How long the queue takes to empty, ms", least: 10 },
  windows: { title: "Congestion windows, kB", least: 10 },
  rates: { title: "Rates, Mbit/s", least: 1 },
  drops: { title: "Probability with which the queue drops or marks a packet, %", least: 1 },
};

const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3]] as const;

interface Props {
  line: TurnedLine;
  view: StripName;
}

/** The flows that are drawn. */
function listDrawn({ scene, session }: TurnedLine): string[] {
  const flows = session.shown?.flows ?? [];
  return flows.filter((name) => scene.drawn?.includes(name) ?? true);
}

/** The lines of a strip; `text` is the tone of one that is of no flow. */
function listCourses({ line, view }: Props, text: string): Course[] {
  if (view === "wait") return [{ tone: text, dash: [], value: (own) => own.waitMs }];
  if (view === "drops") {
    return [{ tone: text, dash: [], value: (own) => own.dropProbability * 100 }];
  }
  const flows = line.session.shown?.flows ?? [];
  return listDrawn(line).map((name, place) => {
    const flow = flows.indexOf(name);
    return {
      tone: tone(line.scene, flows, name),
      dash: DASHES[place % DASHES.length]!,
      value: (own) => own[view][flow]!,
    };
  });
}

export function StripView({ line, view }: Props) {
  const { title, least } = STRIPS[view];
  const flows = line.session.shown?.flows ?? [];
  const isOfFlows = view === "windows" || view === "rates";
  return (
    <figure>
      <figcaption>{title}</figcaption>
      <Canvas
        kind={view}
        label={title}
        // Half a minute moves by less than a pixel in this time.
        everyMs={50}
        draw={(surface) => {
          const samples = line.session.shown?.history.samples ?? [];
          drawStrip(surface, samples, listCourses({ line, view }, surface.tones.text), least);
        }}
      />
      {isOfFlows && <Legend scene={line.scene} flows={flows} shown={listDrawn(line)} />}
    </figure>
  );
}
