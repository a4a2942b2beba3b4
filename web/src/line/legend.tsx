// The names and colours of flows, as all parts of a line show them.

import { colour } from "./draw/canvas";
import type { Scene } from "./scene";

/** The name of a flow as people read it: that of the person whose flow it is, if there is one. */
export function nameFlow(scene: Scene, flow: string): string {
  return scene.people.find((person) => person.flow === flow)?.name ?? flow;
}

/** The colour of a flow of a run. */
export function tone(scene: Scene, flows: readonly string[], flow: string): string {
  return colour(flows.indexOf(flow), scene.grey ? flows.indexOf(scene.grey) : -1);
}

interface Props {
  scene: Scene;
  flows: readonly string[];
  /** Those of the flows that are shown. */
  shown: readonly string[];
}

export function Legend({ scene, flows, shown }: Props) {
  return (
    <ul class="legend">
      {shown.map((flow) => (
        <li>
          <i style={{ background: tone(scene, flows, flow) }} /> {nameFlow(scene, flow)}
        </li>
      ))}
    </ul>
  );
}
