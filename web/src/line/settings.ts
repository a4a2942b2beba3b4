// What can be turned on the living line, and the scenario's values that it stands for.

import scenario from "../../../scenarios/upload-and-call.toml?raw";

import type { Overrides } from "../engine/messages";

/** The shipped scenario that the line is. */
export const SCENARIO: string = scenario;

/** The queue that is drawn, by its name in results. */
export const QUEUE = "cable.up";

export const LAWS = ["drop_tail", "codel", "pie", "docsis_pie", "fq_codel"] as const;
export type Law = (typeof LAWS)[number];

/** What a law is called for people. */
export const LAW_NAMES: Record<Law, string> = {
  drop_tail: "no AQM",
  codel: "CoDel",
  pie: "PIE",
  docsis_pie: "DOCSIS-PIE",
  fq_codel: "FQ-CoDel",
};

export interface Settings {
  /** Upstream, Mbit/s. */
  rate: number;
  /** The modem's buffer, as a time at that rate. */
  bufferMs: number;
  law: Law;
  isUploading: boolean;
}

export const START: Settings = { rate: 10, bufferMs: 250, law: "drop_tail", isUploading: true };

/** The values that sliders stop at. */
export const BUFFERS = [5, 10, 20, 30, 50, 75, 100, 150, 250, 400, 600, 1000];
export const RATES = [1, 2, 3, 5, 7, 10, 15, 20, 30, 50];

/** How long a run lasts before it begins anew; longer than anybody watches one setting. */
export const DURATION_MS = 3_600_000;

/** The scenario's values of some settings. */
export function override(settings: Settings): Overrides {
  const up = "link.cable.docsis.upstream";
  const limit = `${settings.bufferMs} ms`;
  const pairs: Overrides = [
    ["duration", `${DURATION_MS / 1000} s`],
    ["warmup", "0 s"],
    ["results.interval", "10 s"],
    [`${up}.rate`, `${settings.rate} Mbit/s`],
    [`${up}.queue`, `{ ${settings.law} = { limit = "${limit}" } }`],
  ];
  if (!settings.isUploading) pairs.push(["flow.upload.start", `${DURATION_MS / 1000 - 1} s`]);
  return pairs;
}

/** The command that runs the same with the installed headend. */
export function writeCommand(settings: Settings): string {
  const up = "link.cable.docsis.upstream";
  const queue = `queue={${settings.law}={limit="${settings.bufferMs} ms"}}`;
  // The scenario's own upload begins after two seconds, of 120.
  const idle = settings.isUploading ? "" : ' --set flow.upload.start="119 s"';
  return `headend run upload-and-call --set '${queue}' --set ${up}.rate="${settings.rate} Mbit/s"${idle}`;
}
