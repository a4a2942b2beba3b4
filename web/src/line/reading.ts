// The numbers of a line at one moment: for people's cards, and for lessons.

import { grade, worse } from "./marks";
import type { FlowPicture } from "./picture";
import type { FlowReading, Person, Reading, Scene, Settings } from "./scene";
import type { Shown } from "./session";

/** A measure of an application that is older than this no longer stands for the line, ms. */
const STALE_MS = 20_000;

function summarise(fates: readonly { delayMs: number }[]): { delayMs: number; lost: number } {
  const delays = fates.map((fate) => fate.delayMs).filter((delay) => !Number.isNaN(delay));
  delays.sort((one, other) => one - other);
  return {
    delayMs: delays[Math.max(0, Math.ceil(delays.length * 0.95) - 1)] ?? Number.NaN,
    lost: fates.length ? (fates.length - delays.length) / fates.length : Number.NaN,
  };
}

function readFlow(flow: FlowPicture, person: Person | undefined, nowMs: number): FlowReading {
  const { delayMs, lost } = summarise(flow.fates[person?.side ?? 0]);
  const own = person && flow.measures.get(person.measure);
  const latest = own && own.at >= nowMs - STALE_MS ? own.value : Number.NaN;
  const measure = person?.measure ?? "";
  const value = measure === "rate" ? flow.mbps : measure === "delay" ? delayMs * 1e6 : latest;
  const word = measure === "delay" ? worse(grade("delay", value), grade("loss", lost)) : "";
  return {
    mbps: flow.mbps,
    delayMs,
    lost,
    value,
    word: word || (measure ? grade(measure, value) : ""),
    windowKb: flow.window / 1e3,
  };
}

/** The line's numbers now. */
export function read(
  scene: Scene,
  settings: Settings,
  shown: Shown,
  turnedMs: number,
): Reading {
  const { picture, flows } = shown;
  const waits = shown.history.waitsSince(Math.max(turnedMs, picture.nowMs - 10_000));
  const readings = flows.map((name, number): [string, FlowReading] => {
    const person = scene.people.find((own) => own.flow === name);
    return [name, readFlow(picture.flows[number]!, person, picture.nowMs)];
  });
  return {
    nowMs: picture.nowMs,
    settings,
    turnedMs,
    waitMs: waits.at(-1) ?? Number.NaN,
    mostWaitMs: waits.length ? Math.max(...waits) : Number.NaN,
    flows: new Map(readings),
  };
}
