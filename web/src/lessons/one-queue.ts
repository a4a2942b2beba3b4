// Why one queue is not enough, whatever its law: what is dropped of it is everybody's.

import text from "./scenarios/one-queue.toml?raw";

import type { Scene } from "../line/scene";
import { NEVER } from "../line/turned";
import { claimsOf } from "./claims";
import { lawsOf, queue } from "./laws";
import { type Lesson, mbit, ms, of, percent } from "./lesson";

const say = claimsOf("one-queue");

const scene: Scene = {
  text,
  queues: ["cable.up"],
  mbps: () => 10,
  roomMs: (settings) => Number(settings.buffer),
  views: ["queue", "wait"],
  people: [
    { flow: "game", name: "fast game", measure: "missed", side: 0 },
    { flow: "call", name: "call", measure: "mos", side: 0 },
    { flow: "upload", name: "an upload", measure: "rate", side: 0 },
  ],
  start: { uploads: 1, law: "drop_tail", buffer: 250 },
  controls: [
    { kind: "slider", key: "uploads", name: "uploads", values: [1, 4, 10, 20], unit: "" },
    {
      kind: "choice",
      key: "law",
      name: "queue",
      isLive: true,
      options: lawsOf("drop_tail", "codel", "pie", "fq_codel"),
    },
    {
      kind: "slider",
      key: "buffer",
      name: "buffer",
      isLive: true,
      values: [10, 20, 30, 50, 100, 250],
      unit: "ms",
    },
  ],
  override: (settings) => [
    ["link.cable.docsis.upstream.queue", queue(settings)],
    ["flow.more.count", `${Math.max(Number(settings.uploads) - 1, 1)}`],
    ["flow.more.start", Number(settings.uploads) > 1 ? "2 s" : NEVER],
  ],
  live: (settings) => ({ up: { service_flow: '"up"', queue: queue(settings) } }),
  fromMs: 10_000,
};

export const oneQueue: Lesson = {
  name: "one-queue",
  title: "One queue for all",
  question: "Why is one queue not enough, whichever AQM it has?",
  minutes: 15,
  audience: "from 16 years; after “The buffer that is too long”",
  aim:
    "Pupils can say what active queue management cannot do in one shared queue, and what a queue " +
    "for each flow changes.",
  before:
    "What a buffer does (“The buffer that is too long”). A flow is all packets of one " +
    "conversation: one upload, one call.",
  sources: [
    {
      name: "RFC 8290",
      about: "FQ-CoDel: flow queuing with CoDel",
      link: "https://www.rfc-editor.org/rfc/rfc8290",
    },
    {
      name: "RFC 8289 and RFC 8033",
      about: "CoDel and PIE, two laws for one queue",
      link: "https://www.rfc-editor.org/rfc/rfc8289",
    },
    {
      name: "RFC 7806",
      about: "how queuing and marking algorithms differ and fit together",
      link: "https://www.rfc-editor.org/rfc/rfc7806",
    },
  ],
  scene,
  steps: [
    {
      title: "One upload and AQM",
      says:
        "A game runs beside one upload, and its packets must be there within 30 ms. The buffer " +
        "is long, so they all come too late. A law that drops a packet early makes the upload " +
        "slow down: active queue management (AQM).",
      asks: "Choose CoDel for the queue.",
      turns: "law",
      isTurned: ({ law, uploads }) => law === "codel" && uploads === 1,
      isSeen: (line) => of(line, "game").word === "good",
      seen: (line) =>
        `The game is good: 95 of 100 packets are there within ${ms(of(line, "game").delayMs)}, ` +
        `and the upload has ${mbit(of(line, "upload").mbps)}.`,
      hint: "In the list “queue”, choose CoDel.",
      forTeacher: {
        answer:
          `With drop-tail ${say("missed_tail")} of the game's packets come too late, with CoDel ` +
          `${say("missed_codel_1")}.`,
        wrong: "“The queue is sorted now.” It is still one queue, first come, first served.",
        next: "What does a sender do when it learns that a packet was dropped?",
        minutes: 3,
      },
    },
    {
      title: "Twenty uploads",
      says:
        "A telephone that saves its photos may open twenty connections at once. All of them go " +
        "through the same queue, under the same law.",
      guess: {
        question: "Will the law still protect the game?",
        options: ["yes: it keeps the queue short", "no: the game will break"],
        answer: 1,
      },
      asks: "Let there be 20 uploads.",
      turns: "uploads",
      start: { law: "codel" },
      isTurned: ({ law, uploads }) => law === "codel" && Number(uploads) >= 20,
      isSeen: (line) =>
        ["poor", "bad"].includes(of(line, "game").word) && of(line, "game").lost >= 0.03,
      seen: (line) =>
        `The game is ${of(line, "game").word}, and ${percent(of(line, "game").lost)} of its ` +
        "packets are lost. Twenty senders slow down only after many drops, and the law does not " +
        "know whose packet it drops.",
      hint: "Turn the slider “uploads” to 20, and wait for ten seconds.",
      forTeacher: {
        answer:
          `No. ${say("missed_codel_20")} of the game's packets are late or lost; ` +
          `${say("lost_codel_20")} are lost. With one upload it was ${say("missed_codel_1")}.`,
        wrong:
          "“The law punishes who sends most.” It drops what stands at the head of the queue; who " +
          "sends most loses most packets, but everybody loses the same share.",
        next: "Choose PIE instead: is it better? (Another law, and the same queue.)",
        minutes: 3,
      },
    },
    {
      title: "A short buffer instead",
      says:
        "Next the queue has no AQM. In it, packets wait at most as long as the " +
        "buffer is.",
      asks: "With 20 uploads and no AQM, shorten the buffer until the game is good.",
      turns: "buffer",
      start: { law: "drop_tail", uploads: 20 },
      isTurned: ({ law, uploads, buffer }) =>
        law === "drop_tail" && Number(uploads) >= 20 && Number(buffer) <= 30,
      isSeen: (line) => of(line, "game").word === "good",
      seen: (line) =>
        `With a buffer of ${line.settings.buffer} ms the game is good: 95 of 100 packets are ` +
        `there within ${ms(of(line, "game").delayMs)}. This upload has ` +
        `${mbit(of(line, "upload").mbps)}, which is one share of twenty.`,
      hint: "Only the shortest one does: 10 ms.",
      forTeacher: {
        answer:
          `10 ms does: ${say("missed_10_20")} of the game's packets are late or lost. With 20 ms ` +
          `it is ${say("missed_20_20")}, as each packet waits behind a buffer that is always full.`,
        wrong:
          "“A short buffer must cost rate.” Not with twenty senders: one of them always sends.",
        next: "Would you give this buffer to everybody? (See the next step.)",
        minutes: 3,
      },
    },
    {
      title: "And with one upload?",
      says:
        "10 ms suit twenty uploads. But nobody uploads twenty things all day.",
      guess: {
        question: "What does one upload alone get with this buffer?",
        options: ["the whole line, as before", "clearly less"],
        answer: 1,
      },
      asks: "Let there be one upload, with the buffer still at 10 ms.",
      turns: "uploads",
      start: { buffer: 10 },
      isTurned: ({ law, uploads, buffer }) =>
        law === "drop_tail" && uploads === 1 && buffer === 10,
      isSeen: (line) => of(line, "upload").mbps < 8.5,
      seen: (line) =>
        `It has ${mbit(of(line, "upload").mbps)} of nearly 10. The buffer that suits twenty is ` +
        "too short for one, and the one that suits one is too long for twenty.",
      hint: "Turn the slider “uploads” to 1.",
      forTeacher: {
        answer:
          `Clearly less: ${say("rate_10_1")}; with 20 ms it would have ${say("rate_20_1")}. ` +
          `With twenty of them and 10 ms the line was used to ${say("used_10_20")}.`,
        wrong: "“Then 20 ms is the right size.” With twenty uploads the game is poor there.",
        next: "Which of the two faults would people at home notice first?",
        minutes: 3,
      },
    },
    {
      title: "A queue for each",
      says:
        "Flow queuing gives each conversation a queue of its own, and sends from them in turn. " +
        "FQ-CoDel also has its law in each of these queues.",
      asks: "With 20 uploads and the long buffer, choose FQ-CoDel.",
      turns: "law",
      start: { law: "codel", buffer: 250, uploads: 20 },
      isTurned: ({ law, uploads }) => law === "fq_codel" && Number(uploads) >= 20,
      isSeen: (line) => of(line, "game").word === "good" && of(line, "game").lost < 0.01,
      seen: (line) =>
        `The game is good: 95 of 100 packets are there within ${ms(of(line, "game").delayMs)}, ` +
        `and ${percent(of(line, "game").lost)} are lost. Its own queue is nearly always empty, ` +
        "so its packet is next. The uploads wait for each other.",
      hint: "In the list “queue”, choose FQ-CoDel.",
      forTeacher: {
        answer:
          `${say("missed_fq_20")} of the game's packets are late or lost, and 95 of 100 are ` +
          `there within ${say("delay_fq_20")}. The line is used to ${say("used_fq_20")}, and ` +
          `with CoDel alone it was ${say("used_codel_20")}: the uploads lose no rate.`,
        wrong: "“The game has priority.” It has its turn, and needs less than its turn.",
        next:
          "What if the game itself sent more than its share? (Then its own queue would grow, and " +
          "nobody else's.)",
        minutes: 3,
      },
    },
  ],
};
