// One line: its people, the pictures of what happens on it, and what can be turned.

import type { Refusal } from "../engine/messages";
import { Canvas } from "./Canvas";
import { Controls } from "./Controls";
import { colour, type Surface } from "./draw/canvas";
import { drawGrants } from "./draw/grants";
import { drawQueue, findPacket, type QueueShape } from "./draw/queue";
import { type Course, drawStrip } from "./draw/strip";
import { capture, type Moment, timeFor } from "./history";
import type { Life } from "./life";
import { People } from "./People";
import type { Waiting } from "./picture";
import type { Reading, Scene, Settings, View } from "./scene";
import type { Session, Shown } from "./session";

interface Props {
  scene: Scene;
  session: Session;
  settings: Settings;
  reading: Reading | undefined;
  refusal: Refusal | undefined;
  /** The place among the moments that are kept, counted from the latest; 0 is now. */
  back: number;
  /** The time that the axis of grants shows, ms. */
  spanMs: number;
  onChange: (part: Settings) => void;
}

const TITLES: Readonly<Record<View, string>> = {
  queue: "The modem's queue",
  grants: "Requests and grants",
  wait: "How long the queue takes to empty, ms",
  windows: "Congestion windows, kB",
  rates: "Rates, Mbit/s",
  drops: "Probability with which the queue drops or marks a packet, %",
};

/** The moment that is shown: now, or one of late. */
function choose(shown: Shown, back: number): Moment {
  const { moments } = shown.history;
  return (back && moments.at(-1 - Math.min(back, moments.length - 1))) || capture(shown.picture);
}

export function Lane(props: Props) {
  const { scene, session, settings, reading, refusal } = props;
  const { shown } = session;
  return (
    <section class="lane">
      <People people={scene.people} flows={shown?.flows ?? []} reading={reading} />
      <fieldset class="controls">
        <legend>Turn something</legend>
        <Controls controls={scene.controls} settings={settings} onChange={props.onChange} />
      </fieldset>
      {refusal && (
        <p class="refusal" role="alert">
          {refusal.message}
        </p>
      )}
      {scene.views.map((view) =>
        view === "queue" ? (
          (shown?.queues ?? scene.queues.slice(0, 1)).map((name, place) => (
            <QueueView {...props} name={name} place={place} />
          ))
        ) : (
          <StripOrGrants {...props} view={view} />
        ),
      )}
    </section>
  );
}

/** The name of a queue as people read it. */
function nameQueue(name: string, place: number): string {
  if (name.endsWith("_low_latency")) return "The modem's low-latency queue";
  if (name.endsWith(".up")) return "The modem's queue";
  return place ? `Queue ${name}` : "The queue";
}

function QueueView(props: Props & { name: string; place: number }) {
  const { scene, session, settings, back, name, place } = props;
  const life = session.shown?.picture.life;
  const shape = (): QueueShape | undefined => {
    const { shown } = session;
    if (!shown) return undefined;
    const moment = choose(shown, back);
    const roomBytes = (scene.roomMs(settings) * scene.mbps(settings) * 1e3) / 8;
    return { roomBytes, bytes: moment.bytes[place]!, waiting: moment.waiting[place]! };
  };
  const follow = (packet: Waiting | undefined): void => {
    if (packet) session.shown?.picture.follow(packet, place);
  };
  const followLast = (): void => follow(session.shown?.picture.queues[place]?.waiting.at(-1));
  const now = shape();
  const waitMs = now ? timeFor(now.bytes, scene.mbps(settings)) : 0;
  const flows = session.shown?.flows ?? [];
  return (
    <figure>
      <figcaption>
        {nameQueue(name, place)}: {now?.waiting.length ?? 0} packets wait, which takes{" "}
        <output data-bytes={now?.bytes}>{waitMs.toFixed(0)} ms</output> at{" "}
        {scene.mbps(settings)} Mbit/s. They leave at the right. Point at one, or{" "}
        <button type="button" class="small" onClick={followLast}>
          follow the last
        </button>
      </figcaption>
      <Canvas
        kind={place ? "queue-small" : "queue"}
        label="The packets in the modem's queue, coloured by flow"
        draw={(surface) => {
          const own = shape();
          if (own) drawQueue(surface, own);
        }}
        onPress={(x, y, width, height) => {
          const own = shape();
          follow(own && findPacket(own, x, y, width, height));
        }}
      />
      {!place && <Legend flows={flows} />}
      {!place && life && <LifeView life={life} flow={flows[life.packet.flow]!} />}
      {!place && !Number.isNaN(session.shown?.picture.queues[0]?.state.tokens ?? Number.NaN) && (
        <p class="soft">
          Tokens: the modem may ask for{" "}
          {((session.shown?.picture.queues[0]?.state.tokens ?? 0) / 1000).toFixed(1)} kB at once;
          more come at the line's rate.
        </p>
      )}
    </figure>
  );
}

/** What has happened to the packet that somebody has pointed at. */
function LifeView({ life, flow }: { life: Life; flow: string }) {
  return (
    <div class="soft" role="status">
      A packet of {flow}, {life.packet.bytes} bytes as the line counts them:
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

function Legend({ flows }: { flows: readonly string[] }) {
  return (
    <ul class="legend">
      {flows.map((name, flow) => (
        <li>
          <i style={{ background: colour(flow) }} /> {name}
        </li>
      ))}
    </ul>
  );
}

const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3]] as const;

function StripOrGrants(props: Props & { view: View }) {
  const { scene, session, back, spanMs, view } = props;
  const { shown } = session;
  const flows = shown?.flows ?? [];
  const drawn = flows.filter((name) => scene.drawn?.includes(name) ?? true);
  const isOfFlows = view === "windows" || view === "rates";
  const draw = (surface: Surface): void => {
    if (!session.shown) return;
    if (view === "grants") {
      const moment = choose(session.shown, back);
      drawGrants(surface, moment.marks, moment.nowMs, spanMs);
      return;
    }
    const { samples } = session.shown.history;
    drawStrip(surface, samples, courses(view, flows, drawn, surface.tones.text), LEAST[view] ?? 1);
  };
  return (
    <figure>
      <figcaption>{TITLES[view]}</figcaption>
      <Canvas kind={view} label={TITLES[view]} draw={draw} />
      {isOfFlows && drawn.length > 0 && (
        <ul class="legend">
          {drawn.map((name) => (
            <li>
              <i style={{ background: colour(flows.indexOf(name)) }} /> {name}
            </li>
          ))}
        </ul>
      )}
    </figure>
  );
}

/** The least that the axis of a strip reaches to. */
const LEAST: Readonly<Record<string, number>> = { wait: 10, windows: 10, rates: 1, drops: 1 };

function courses(
  view: View,
  flows: readonly string[],
  drawn: readonly string[],
  text: string,
): Course[] {
  if (view === "wait") return [{ tone: text, dash: [], value: (own) => own.waitMs }];
  if (view === "drops") {
    return [{ tone: text, dash: [], value: (own) => own.dropProbability * 100 }];
  }
  const field = view === "windows" ? "windows" : "rates";
  return drawn.map((name, place) => {
    const flow = flows.indexOf(name);
    return {
      tone: colour(flow),
      dash: DASHES[place % DASHES.length]!,
      value: (own) => own[field][flow]!,
    };
  });
}
