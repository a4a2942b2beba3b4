// A queue: the packets that wait in it, and the life of one of them.

import { Canvas } from "./Canvas";
import { drawQueue, findPacket, type QueueShape } from "./draw/queue";
import { timeFor } from "./history";
import { Legend, nameFlow } from "./legend";
import type { Life } from "./life";
import type { Waiting } from "./picture";
import { choose, type ViewProps } from "./Views";

interface Props extends ViewProps {
  /** Its name in results. */
  queue: string;
  /** Its place among the drawn ones. */
  place: number;
}

/** The name of a queue as people read it. */
function nameQueue(name: string): string {
  if (name.endsWith("_low_latency")) return "The modem's low-latency queue";
  if (name.endsWith(".up")) return "The modem's queue";
  if (name === "wifi.down") return "The access point's queue";
  return `The queue ${name}`;
}

/** What is drawn of it; nothing while the run has no such queue. */
function shapeOf({ line, watch, place }: Props): QueueShape | undefined {
  const { scene, session, settings } = line;
  const { shown } = session;
  if (!shown) return undefined;
  const moment = choose(shown, watch.back);
  const waiting = moment.waiting[place];
  if (!waiting) return undefined;
  // The room is that of the first queue; of another one nothing is known.
  const roomMs = place ? 0 : scene.roomMs(settings);
  return {
    roomBytes: (roomMs * scene.mbps(settings) * 1e3) / 8,
    bytes: moment.bytes[place]!,
    waiting,
    grey: scene.grey ? shown.flows.indexOf(scene.grey) : -1,
  };
}

export function QueueView(props: Props) {
  const { line, queue, place } = props;
  const { scene, session, settings } = line;
  const picture = session.shown?.picture;
  const flows = session.shown?.flows ?? [];
  const follow = (packet: Waiting | undefined): void => {
    if (packet) picture?.follow(packet, place);
  };
  const now = shapeOf(props);
  const count = now?.waiting.length ?? 0;
  const mbps = scene.mbps(settings);
  const name = nameQueue(queue);
  return (
    <figure>
      <figcaption>
        {name}: {count} {count === 1 ? "packet waits" : "packets wait"},{" "}
        <output data-bytes={now?.bytes}>{timeFor(now?.bytes ?? 0, mbps).toFixed(0)} ms</output>{" "}
        at {mbps} Mbit/s. They leave at the right. Point at one, or{" "}
        <button type="button" class="small" onClick={() => follow(now?.waiting.at(-1))}>
          follow the last
        </button>
      </figcaption>
      <Canvas
        kind={place ? "queue-small" : "queue"}
        label={`${name}: its packets, coloured by flow`}
        draw={(surface) => {
          const shape = shapeOf(props);
          if (shape) drawQueue(surface, shape);
        }}
        onPress={(x, y, width, height) => {
          const shape = shapeOf(props);
          follow(shape && findPacket(shape, x, y, width, height));
        }}
      />
      {!place && <Legend scene={scene} flows={flows} shown={flows} />}
      {!place && picture?.life && (
        <LifeView life={picture.life} name={nameFlow(scene, flows[picture.life.packet.flow]!)} />
      )}
    </figure>
  );
}

/** What has happened to the packet that somebody has pointed at. */
function LifeView({ life, name }: { life: Life; name: string }) {
  return (
    <div class="soft" role="status">
      A packet of {name}, {life.packet.bytes} bytes as the line counts them:
      <ol>
        {life.steps.map((step) => (
          <li>
            at {(step.at / 1000).toFixed(4)} s it {step.what}
          </li>
        ))}
      </ol>
    </div>
  );
}
