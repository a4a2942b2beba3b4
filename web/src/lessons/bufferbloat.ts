// Why an upload breaks a call, and how long a buffer should be.

import text from "../../../scenarios/living-line.toml?raw";

import type { Scene } from "../line/scene";
import { NEVER } from "../line/turned";
import { claimsOf } from "./claims";
import { lawsOf, queue } from "./laws";
import { type Lesson, mbit, ms, of } from "./lesson";

const say = claimsOf("bufferbloat");

const RATE = 10;
const LONG = 250;
/** The share of its window that CUBIC keeps after a loss (RFC 9438, section 4.6). */
const KEPT = "70 %";
/** With this buffer and shorter ones nearly every two seconds of the call are good. */
const CALM = 50;

const scene: Scene = {
  text,
  queues: ["cable.up"],
  mbps: () => RATE,
  roomMs: (settings) => Number(settings.buffer),
  views: ["queue", "wait"],
  people: [
    { flow: "call", name: "call", measure: "mos", side: 0 },
    { flow: "game", name: "game", measure: "missed", side: 0 },
    { flow: "page", name: "page", measure: "page_load_time" },
    { flow: "upload", name: "photos", measure: "rate", side: 0 },
  ],
  start: { buffer: LONG, law: "drop_tail", uploading: false },
  controls: [
    {
      kind: "slider",
      key: "buffer",
      name: "buffer",
      isLive: true,
      values: [5, 10, 20, 30, 50, 75, 100, 150, 250, 500, 1000],
      unit: "ms",
    },
    {
      kind: "choice",
      key: "law",
      name: "queue",
      isLive: true,
      options: lawsOf("drop_tail", "codel", "docsis_pie", "fq_codel"),
    },
    { kind: "switch", key: "uploading", name: "photos are uploaded" },
  ],
  override: (settings) => [
    // Without a pause, so that what is seen does not depend on where in a photo it is.
    ["flow.upload.application", "bulk"],
    ["link.cable.docsis.upstream.queue", queue(settings)],
    ["flow.upload.start", settings.uploading ? "2 s" : NEVER],
  ],
  live: (settings) => ({ up: { service_flow: '"up"', queue: queue(settings) } }),
  fromMs: 8000,
};

export const bufferbloat: Lesson = {
  name: "bufferbloat",
  title: "The buffer that is too long",
  question: "Why does an upload break a telephone call?",
  minutes: 15,
  audience: "from 14 years; a first lesson, nothing has to be known",
  aim:
    "Pupils can say why a full buffer delays everybody on a line, why a buffer must be neither " +
    "long nor tiny, and what active queue management does in place of a size.",
  before:
    "Data travels in packets. A line carries so many bits per second (its rate); what arrives " +
    "faster than that waits in a buffer, which is memory in the modem.",
  sources: [
    {
      name: "Gettys and Nichols, Bufferbloat: Dark Buffers in the Internet (2011)",
      about: "where the word comes from",
      link: "https://doi.org/10.1145/2063166.2071893",
    },
    {
      name: "RFC 7567",
      about: "why the Internet recommends active queue management",
      link: "https://www.rfc-editor.org/rfc/rfc7567",
    },
    {
      name: "RFC 8034",
      about: "DOCSIS-PIE, the queue management of cable modems",
      link: "https://www.rfc-editor.org/rfc/rfc8034",
    },
  ],
  scene,
  steps: [
    {
      title: "Somebody uploads photos",
      says:
        "This line can send 10 megabits each second (10 Mbit/s), and the call needs a hundredth " +
        "of that. Everybody is fine. Now somebody in the house will upload photos.",
      guess: {
        question: "What will happen to the call?",
        options: ["nothing: it needs so little", "it gets a bit worse", "it breaks"],
        answer: 2,
      },
      asks: "Switch on “photos are uploaded”.",
      turns: "uploading",
      isTurned: ({ uploading }) => uploading === true,
      isSeen: (line) => line.waitMs >= 100 && ["poor", "bad"].includes(of(line, "call").word),
      seen: (line) =>
        `The upload has filled the modem's buffer: a packet that comes now waits ` +
        `${ms(line.waitMs)} for its turn. The call's packets wait too, and the call is ` +
        `${of(line, "call").word}.`,
      hint: "Tick “photos are uploaded”, and look at the queue for some seconds.",
      forTeacher: {
        answer:
          `It breaks. The upload sends until the buffer is full. Half of all packets then wait ` +
          `${say("wait_250")} or longer, and half of the call's pieces of two seconds have a ` +
          `quality of ${say("call_250")} or less, on a scale from 1 to 4.5.`,
        wrong:
          "“The call needs so little rate that it always fits.” It does get its rate. What " +
          "breaks it is the time that its packets wait.",
        next:
          "Why is the web page slow, although it comes down and the upload goes up? (The " +
          "requests for its parts go up, and wait in the same buffer.)",
        minutes: 3,
      },
    },
    {
      title: "A shorter buffer",
      says:
        "The buffer has room for 250 milliseconds (ms) of sending, a quarter of a second. The " +
        `upload keeps it well filled: half of all packets wait ${say("wait_250")} or longer.`,
      asks: "Make the buffer shorter until the call is good.",
      turns: "buffer",
      start: { uploading: true },
      isTurned: ({ buffer, law }) => Number(buffer) <= CALM && law === "drop_tail",
      amiss: ({ buffer, law }) =>
        law === "drop_tail" && Number(buffer) < LONG
          ? `With ${buffer} ms the call is good only at times: make the buffer shorter.`
          : undefined,
      isSeen: (line) => of(line, "call").word === "good" && line.waitMs < 80,
      heldMs: 4000,
      seen: (line) =>
        `With room for ${line.settings.buffer} ms, 95 of 100 of the call's packets arrived ` +
        `within ${ms(of(line, "call").delayMs)}, and the call was good. The upload had ` +
        `${mbit(of(line, "upload").mbps)}` +
        (of(line, "upload").mbps >= 8 ? ": it never needed the long buffer." : "."),
      hint: "Turn the slider “buffer” far to the left, to 30 ms for example.",
      forTeacher: {
        answer:
          `At 30 ms the call has a quality of ${say("call_30")}, and half of all packets wait ` +
          `${say("wait_30")} or less. The upload has ${say("rate_30")}; with 250 ms it had ` +
          `${say("rate_250")}.`,
        wrong:
          "“A longer buffer is always better.” A buffer that is always full only adds delay.",
        next: "Who decided how long the buffer of your modem is? (Its maker or the operator.)",
        minutes: 3,
      },
    },
    {
      title: "Shorter still",
      says:
        "Shorter was better. A buffer can be as short as 5 ms, which is room for four large " +
        "packets.",
      guess: {
        question: "With 5 ms, how fast will the upload be?",
        options: ["as fast as before", "a bit slower", "several times slower"],
        answer: 2,
      },
      asks: "Make the buffer as short as it goes.",
      turns: "buffer",
      start: { buffer: 30 },
      isTurned: ({ buffer, law }) => Number(buffer) <= 5 && law === "drop_tail",
      isSeen: (line) => of(line, "upload").mbps < 5,
      seen: (line) =>
        `The upload has only ${mbit(of(line, "upload").mbps)}. Its packets come in bursts, a ` +
        "burst does not fit, and after each loss the sender slows down: the line is idle most " +
        "of the time.",
      hint: "Turn the slider “buffer” to its left end.",
      forTeacher: {
        answer:
          `Several times slower: ${say("rate_5")} with 5 ms in place of ${say("rate_30")} with ` +
          `30 ms. A sender halves or nearly halves what it sends after a loss, and losses are ` +
          `frequent when no burst fits.`,
        wrong:
          "“Without waiting, everything must be faster.” A buffer keeps the line busy while a " +
          "sender recovers from a loss.",
        next: "Is 10 ms enough? Try it: what does the upload get, and what the call?",
        minutes: 3,
      },
    },
    {
      title: "Neither too long nor too short",
      says:
        "A long buffer breaks the call, a very short one slows the upload down. Between the two " +
        "there is a range that suits both.",
      asks: "Find a buffer with which call and game are good and the upload has 8 Mbit/s or more on average.",
      turns: "buffer",
      start: { buffer: 5 },
      isTurned: ({ buffer, law }) => Number(buffer) > 5 && law === "drop_tail",
      // Over two seconds the rate swings by a third: the setting decides, by what is measured below.
      isSeen: (line) =>
        Number(line.settings.buffer) >= 20 &&
        of(line, "call").word === "good" &&
        of(line, "game").word === "good" &&
        of(line, "upload").mbps >= 6,
      heldMs: 4000,
      seen: (line) =>
        `With ${line.settings.buffer} ms call and game were good. On average the upload has ` +
        `${say("rate_20")} with 20 ms and ${say("rate_30")} with 30 ms. A round trip to this ` +
        `server takes 40 ms. The sender (CUBIC) keeps ${KEPT} of its window after a loss, so a ` +
        "buffer of about half a round trip or more keeps the line busy.",
      hint: "Try 20 ms and 30 ms, and give the line ten seconds each time.",
      forTeacher: {
        answer:
          `20 ms to 30 ms. With 20 ms the upload has ${say("rate_20")} and of the game's packets ` +
          `${say("game_20")} come too late; with 30 ms it has ${say("rate_30")}. With 50 ms ` +
          `${say("game_50")} come too late, with 100 ms ${say("game_100")}.`,
        wrong:
          "“Then all buffers should have 30 ms.” The right size depends on the rate of the line " +
          "and on how far the servers are; neither stays the same.",
        next: "The tier becomes ten times as fast. What becomes of a buffer that is set in bytes?",
        minutes: 3,
      },
    },
    {
      title: "Active queue management",
      says:
        "The right size depends on the line and on the servers, and both change. Active queue " +
        "management (AQM) keeps the long buffer, and drops a packet early when packets wait too " +
        "long, so that senders slow down.",
      asks: "Leave the buffer at 250 ms, and choose another queue with which the call is good.",
      turns: "law",
      start: { buffer: LONG },
      isTurned: ({ buffer, law }) => buffer === LONG && law !== "drop_tail",
      isSeen: (line) => of(line, "call").word === "good" && line.waitMs < 80,
      heldMs: 4000,
      seen: (line) =>
        "The buffer still has room for 250 ms, but 95 of 100 of the call's packets arrive " +
        `within ${ms(of(line, "call").delayMs)}. The upload has ` +
        `${mbit(of(line, "upload").mbps)}.`,
      hint: "In the list “queue”, choose CoDel, DOCSIS-PIE or FQ-CoDel.",
      forTeacher: {
        answer:
          `The call is good with each of the three. Half of all packets wait ` +
          `${say("wait_codel")} or less with CoDel, ${say("wait_docsis_pie")} with DOCSIS-PIE; ` +
          `the upload has ${say("rate_codel")} and ${say("rate_docsis_pie")}.`,
        wrong:
          "“Dropping packets is a fault.” A sender learns from the drop " +
          "that it is too fast. What was dropped is sent again.",
        next: "Go on with “One queue for all”: is AQM in one queue always enough?",
        minutes: 3,
      },
    },
  ],
};
