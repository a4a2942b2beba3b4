// The scene of the living line: five people at home behind one modem.

import scenario from "../../../scenarios/living-line.toml?raw";
import { writeCommand } from "../command";
import type { Overrides } from "../engine/messages";
import type { Scene, Settings } from "./scene";
import { NEVER } from "./turned";

const UP = "link.cable.docsis.upstream";

export const LAWS = [
  { value: "drop_tail", name: "no AQM: drop when full" },
  { value: "codel", name: "CoDel" },
  { value: "pie", name: "PIE" },
  { value: "docsis_pie", name: "DOCSIS-PIE" },
  { value: "fq_codel", name: "FQ-CoDel: a queue for each flow" },
] as const;

/** The queue of some settings, as TOML. */
export function queue(settings: Settings): string {
  return `{ ${settings.law} = { limit = "${settings.buffer} ms" } }`;
}

/** `never` is when an upload starts that is not to be there. */
function override(settings: Settings, never = NEVER): Overrides {
  const pairs: [string, string][] = [
    [`${UP}.rate`, `${settings.rate} Mbit/s`],
    [`${UP}.queue`, queue(settings)],
    ["link.cable.docsis.plant.distance_km", `${settings.distance}`],
  ];
  if (settings.lowLatency) pairs.push([`${UP}.low_latency`, "on"]);
  if (settings.neighbours) {
    const load = `{ load = "${settings.neighbours} %" }`;
    pairs.push(["link.cable.docsis.neighbours", load]);
  }
  if (!settings.upload) pairs.push(["flow.upload.start", never]);
  return pairs;
}

export const LIVING_LINE: Scene = {
  text: scenario,
  queues: ["cable.up", "cable.up_low_latency"],
  mbps: (settings) => Number(settings.rate),
  roomMs: (settings) => Number(settings.buffer),
  views: ["queue", "wait", "grants"],
  people: [
    { flow: "call", name: "call", measure: "mos" },
    { flow: "game", name: "game", measure: "missed" },
    { flow: "page", name: "page", measure: "page_load_time" },
    { flow: "film", name: "film", measure: "stalled" },
    { flow: "upload", name: "photos", measure: "rate" },
  ],
  start: {
    buffer: 30,
    rate: 10,
    law: "drop_tail",
    lowLatency: false,
    upload: true,
    neighbours: 0,
    distance: 10,
  },
  controls: [
    {
      kind: "slider",
      key: "buffer",
      name: "buffer",
      values: [5, 10, 20, 30, 50, 75, 100, 150, 250, 400, 600, 1000],
      unit: "ms",
      isLive: true,
    },
    {
      kind: "slider",
      key: "rate",
      name: "upstream rate",
      values: [1, 2, 3, 5, 7, 10, 15, 20, 30, 50],
      unit: "Mbit/s",
      isLive: true,
    },
    { kind: "choice", key: "law", name: "queue", options: LAWS, isLive: true },
    { kind: "switch", key: "lowLatency", name: "low latency" },
    { kind: "switch", key: "upload", name: "photos are uploaded" },
    {
      kind: "slider",
      key: "neighbours",
      name: "neighbours' load",
      values: [0, 20, 40, 60, 80, 90],
      unit: "%",
    },
    {
      kind: "slider",
      key: "distance",
      name: "distance",
      values: [1, 10, 40, 80, 160],
      unit: "km",
    },
  ],
  override: (settings) => override(settings),
  live: (settings) => ({
    up: {
      service_flow: '"up"',
      rate: `"${settings.rate} Mbit/s"`,
      queue: queue(settings),
    },
  }),
  fromMs: 12_000,
  grey: "upload",
  note: ({ law, upload }) =>
    upload && (law === "pie" || law === "docsis_pie")
      ? "Each photo begins with slow start, which fills the queue before PIE drops enough. " +
        "One long upload in their place would leave the call good."
      : undefined,
};

/** The command that runs the same with the installed headend, whose run of it lasts 120 s. */
export function writeLivingCommand(settings: Settings): string {
  return writeCommand("living-line", override(settings, "119 s"));
}
