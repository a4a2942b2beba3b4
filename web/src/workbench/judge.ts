// How each flow fared: a grade by the marks that reports grade by, and the numbers beside it.
//
// The marks and their bounds are headend's own (headend.analysis.grading, by web/export.py).

import shared from "../generated.json";
import {
  BAD,
  grade,
  isUnusable,
  kindOf,
  type Mark,
  marksOf,
  PICTURE,
  UNUSABLE,
  WAIT,
  WORDS,
} from "../grading";
import { write, writeKey } from "../quantity";
import { nameGroup } from "./groups";
import { listRows, type Outcome, type Row, texts } from "./tables";

export interface Fate {
  flow: string;
  application: string;
  /** From 0, good, to 3, bad; null where a flow has no grade, such as a transfer. */
  grade: number | null;
  /** The word of the grade; empty without one. */
  word: string;
  /** The measured value that decided the grade, with its unit and words, such as "MOS 4.1". */
  number: string;
  /** What this value measures; may be empty. */
  about: string;
  /** The same value with its unit only. */
  value: string;
  /** The delay that 95 % of the packets were below, the worst of the flow's connections, ns. */
  delayNs: number | null;
  /** The share of packets that were lost, or of pings without an answer. */
  loss: number | null;
  /** The goodput of all connections, bit/s. */
  rateBps: number | null;
  /** Orders flows of the same grade: the larger, the worse. */
  severity: number;
}

interface Judgement {
  grade: number | null;
  isUnusable: boolean;
  number: string;
  about: string;
  value?: string;
  severity: number;
}

/** Judges every flow of a run, in the order of the tables. */
export function judgeFlows(outcome: Outcome): Fate[] {
  return gather(outcome).map((evidence) => {
    const judged = judge(evidence);
    const word = judged.grade === null ? "" : WORDS[judged.grade]!;
    const isDead = evidence.data.some((row) => sent(row) && !row.number("packets_delivered"));
    return {
      flow: evidence.flow,
      application: evidence.application,
      grade: judged.grade,
      word: judged.isUnusable ? UNUSABLE : word,
      number: judged.number,
      about: judged.about,
      value: judged.value ?? judged.number,
      delayNs: isDead ? null : worst(evidence.data, "delay_p95_ns"),
      loss: evidence.loss,
      rateBps: evidence.rate,
      severity: judged.severity,
    };
  });
}

/** All that was measured of one flow. */
interface Evidence {
  flow: string;
  application: string;
  rows: Row[];
  /** The rows that carry data; all of them where none does. */
  data: Row[];
  measures: Map<string, Row>;
  loss: number | null;
  rate: number | null;
  /** From the warm-up's end to the end of the run, ns. */
  waitedNs: number;
  bestPicture: number | null;
}

function gather(outcome: Outcome): Evidence[] {
  const { tables, checked } = outcome;
  const flows = split(listRows(tables.flows));
  const measures = split(listRows(tables.measures));
  const pings = countPings(outcome);
  return [...flows].map(([flow, rows]) => {
    const carrying = rows.filter((row) => row.text("carries") === "data");
    const data = carrying.length ? carrying : rows;
    const own = measures.get(flow) ?? [];
    return {
      flow,
      application: rows[0]!.text("application"),
      rows,
      data,
      measures: new Map(own.map((row) => [row.text("measure"), row])),
      loss: pings.get(flow) ?? worst(data, "loss_ratio"),
      rate: data.reduce((sum, row) => sum + (row.number("goodput_bps") ?? 0), 0),
      waitedNs: outcome.nowMs * 1e6 - checked.warmup_ns,
      bestPicture: findBestPicture(outcome, flow),
    };
  });
}

function split(rows: Row[]): Map<string, Row[]> {
  const parts = new Map<string, Row[]>();
  for (const row of rows) {
    const own = parts.get(row.text("flow"));
    if (own) own.push(row);
    else parts.set(row.text("flow"), [row]);
  }
  return parts;
}

/** The share of each flow's pings that had no answer. */
function countPings({ tables }: Outcome): Map<string, number> {
  const flows = texts(tables.samples, "flow");
  const measures = texts(tables.samples, "measure");
  const values = tables.samples?.columns.value ?? [];
  const counts = new Map<string, [all: number, lost: number]>();
  flows.forEach((flow, place) => {
    if (measures[place] !== "rtt") return;
    const [all, lost] = counts.get(flow) ?? [0, 0];
    counts.set(flow, [all + 1, lost + (Number.isNaN(values[place]) ? 1 : 0)]);
  });
  return new Map([...counts].map(([flow, [all, lost]]) => [flow, lost / all]));
}

/** The rate of a film's best picture, bit/s; null of what is no film. */
function findBestPicture(outcome: Outcome, flow: string): number | null {
  const flows = outcome.checked.resolved.flow as Record<string, Scripted> | undefined;
  const own = flows?.[flow] ?? flows?.[nameGroup(flow)];
  const ladder = own?.application?.streaming?.ladder;
  return ladder?.length ? Math.max(...ladder.map(readRate)) : null;
}

/** What a resolved scenario says of a film. */
interface Scripted {
  application?: { streaming?: { ladder?: string[] } };
}

function readRate(text: string): number {
  const [value, unit] = String(text).split(" ");
  return Number(value) * (shared.units.rate.find((own) => own.name === unit)?.size ?? 1);
}

const sent = (row: Row): boolean => (row.number("packets_sent") ?? 0) > 0;

function worst(rows: Row[], column: string): number | null {
  const values = rows.map((row) => row.number(column)).filter((value) => value !== null);
  return values.length ? Math.max(...values) : null;
}

function judge(evidence: Evidence): Judgement {
  if (evidence.waitedNs < 0) return leave("nothing measured yet");
  const marks = marksOf(evidence.application);
  if (!evidence.rows.some(sent)) return leave("nothing sent");
  if (isCutOff(evidence)) return judgeSilence(evidence);
  const first = marks[0];
  if (!first || (first.metric === "delay.p95" && !isDatagrams(evidence))) return describe(evidence);
  const way = findWorseWay(evidence, first);
  const numbers = listMarks(evidence, marks).flatMap((mark) => {
    const value = read(evidence, mark, way);
    return value === null ? [] : [{ mark, value, grade: grade(mark, value) }];
  });
  if (!numbers.some((own) => own.mark.metric === first.metric)) return judgeLack(evidence, first);
  return chooseWorst(numbers);
}

const isDatagrams = (evidence: Evidence): boolean =>
  evidence.rows[0]!.text("transport") === "udp";

/** A film is graded by the rate of its picture too. */
function listMarks(evidence: Evidence, marks: readonly Mark[]): readonly Mark[] {
  return evidence.bestPicture ? [...marks, PICTURE] : marks;
}

function chooseWorst(numbers: { mark: Mark; value: number; grade: number }[]): Judgement {
  const chosen = numbers.reduce((one, other) => (other.grade > one.grade ? other : one));
  const { mark, value } = chosen;
  const isBeyond = numbers.some((own) => isUnusable(own.mark, own.value));
  const written = writeKey(value, kindOf(mark));
  return {
    grade: chosen.grade,
    isUnusable: isBeyond && chosen.grade === BAD,
    number: [mark.before, written, mark.after].filter(Boolean).join(" "),
    about: mark.shown || mark.about,
    value: written,
    severity: mark.higher_is_better ? -value : value,
  };
}

/** Of measures in both directions, that of the worse one: the suffix of its name. */
function findWorseWay(evidence: Evidence, mark: Mark): string {
  const values = ["", "_down"].flatMap((way) => {
    const value = readMeasure(evidence, mark, way);
    return value === null ? [] : [{ way, value: mark.higher_is_better ? -value : value }];
  });
  if (!values.length) return "";
  return values.reduce((one, other) => (other.value > one.value ? other : one)).way;
}

function read(evidence: Evidence, mark: Mark, way: string): number | null {
  if (mark.metric === "loss") return evidence.loss;
  if (mark.metric === "delay.p95") return worst(evidence.data, "delay_p95_ns");
  const value = readMeasure(evidence, mark, way) ?? readMeasure(evidence, mark, "");
  if (mark.metric !== PICTURE.metric) return value;
  return value === null || !evidence.bestPicture ? null : value / evidence.bestPicture;
}

function readMeasure(evidence: Evidence, mark: Mark, way: string): number | null {
  const [measure, statistic] = mark.metric.split(".");
  return evidence.measures.get(`${measure}${way}`)?.number(statistic ?? "") ?? null;
}

/** Whether something was sent, all of one way was lost, and no data came through. */
function isCutOff(evidence: Evidence): boolean {
  const isSilent = evidence.data.every((row) => row.number("goodput_bps") === 0);
  return isSilent && (worst(evidence.rows, "loss_ratio") ?? 0) > 0 && !evidence.measures.has("rtt");
}

function judgeSilence(evidence: Evidence): Judgement {
  const number = isDatagrams(evidence) ? "no packet arrived" : "nothing got through";
  return { grade: BAD, isUnusable: true, number, about: "", severity: Infinity };
}

/** Judges what never came by the time waited for it, and nothing else without its number. */
function judgeLack(evidence: Evidence, mark: Mark): Judgement {
  if (mark.metric === "rtt.p95") {
    return { grade: BAD, isUnusable: true, number: "no answer", about: "", severity: Infinity };
  }
  if (mark.kind !== "time") return leave("not judged: the run is too short");
  const own = grade(WAIT, evidence.waitedNs);
  const number = `nothing came in ${write(evidence.waitedNs, "time")}`;
  return {
    grade: own,
    isUnusable: own === BAD,
    number,
    about: "",
    severity: evidence.waitedNs,
  };
}

function describe(evidence: Evidence): Judgement {
  return { ...leave(write(evidence.rate, "rate")), about: "goodput" };
}

function leave(number: string): Judgement {
  return { grade: null, isUnusable: false, number, about: "", severity: 0 };
}
