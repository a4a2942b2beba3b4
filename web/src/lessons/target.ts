// What the target of a queue's law does: delay against rate.

import text from "./scenarios/one-queue.toml?raw";

import type { Scene, Settings } from "../line/scene";
import { NEVER } from "../line/turned";
import { claimsOf } from "./claims";
import { lawsOf } from "./laws";
import { type Lesson, mbit, ms, of } from "./lesson";

const say = claimsOf("target");

/** Room for more than any target: the law decides, and not the end of the buffer. */
const ROOM_MS = 500;

const queue = ({ law, target }: Settings): string =>
  `{ ${law} = { target = "${target} ms", limit = "${ROOM_MS} ms" } }`;

const scene: Scene = {
  text,
  queues: ["cable.up"],
  mbps: () => 10,
  roomMs: () => ROOM_MS,
  views: ["wait", "drops", "rates"],
  drawn: ["upload"],
  people: [
    { flow: "game", name: "fast game", measure: "missed", side: 0 },
    { flow: "upload", name: "upload", measure: "rate", side: 0 },
  ],
  start: { law: "docsis_pie", target: 10 },
  controls: [
    {
      kind: "slider",
      key: "target",
      name: "target",
      isLive: true,
      values: [1, 2, 5, 10, 15, 20, 30, 50, 100],
      unit: "ms",
    },
    {
      kind: "choice",
      key: "law",
      name: "law",
      isLive: true,
      options: lawsOf("docsis_pie", "pie", "codel"),
    },
  ],
  override: (settings) => [
    ["link.cable.docsis.upstream.queue", queue(settings)],
    ["flow.more.count", "1"],
    ["flow.more.start", NEVER],
  ],
  live: (settings) => ({ up: { service_flow: '"up"', queue: queue(settings) } }),
  fromMs: 10_000,
};

export const target: Lesson = {
  name: "target",
  title: "The target",
  question: "How short should a queue be kept?",
  minutes: 15,
  audience: "from 16 years, and whoever sets tiers; after “The buffer that is too long”",
  aim:
    "Pupils can say what the target of an AQM is, what a lower and a higher one cost, and that " +
    "the same number means different things in different laws.",
  before:
    "What an AQM (active queue management) is: a law that drops a packet early, so that senders " +
    "slow down before the buffer is full.",
  sources: [
    {
      name: "RFC 8033",
      about: "PIE: its target is 15 ms by default",
      link: "https://www.rfc-editor.org/rfc/rfc8033",
    },
    {
      name: "RFC 8034",
      about: "DOCSIS-PIE: its target is 10 ms by default",
      link: "https://www.rfc-editor.org/rfc/rfc8034",
    },
    {
      name: "RFC 8289, section 4.3",
      about: "CoDel: its target is 5 ms, and why it is a small share of its interval",
      link: "https://www.rfc-editor.org/rfc/rfc8289#section-4.3",
    },
  ],
  scene,
  steps: [
    {
      title: "A higher target",
      says:
        "The law drops more packets when they wait longer than its target, and fewer when they " +
        "wait less. The target of this one is 10 ms. The game wants its packets within 30 ms, " +
        "of which the way itself takes 10.",
      guess: {
        question: "With a target of 50 ms, how fast will the upload be?",
        options: ["much faster", "about as fast as now", "slower"],
        answer: 1,
      },
      asks: "Set the target to 50 ms.",
      turns: "target",
      isTurned: ({ law, target: aim }) => law === "docsis_pie" && Number(aim) >= 50,
      isSeen: (line) => of(line, "game").delayMs >= 55,
      seen: (line) =>
        `A packet waits ${ms(line.waitMs)} now, and the game is ${of(line, "game").word}. The ` +
        `upload has ${mbit(of(line, "upload").mbps)}: the line was nearly full before.`,
      hint: "Turn the slider “target” to 50 ms, and give the queue ten seconds to grow.",
      forTeacher: {
        answer:
          `About as fast: ${say("rate_docsis_pie_50")} in place of ${say("rate_docsis_pie_10")}. ` +
          `Half of all packets wait ${say("wait_docsis_pie_50")} or longer in place of ` +
          `${say("wait_docsis_pie_10")}.`,
        wrong: "“The target is a limit.” It is what the wait is steered to, on average.",
        next: "Why is the wait with a target of 10 ms more than 10 ms?",
        minutes: 3,
      },
    },
    {
      title: "As low as it goes",
      says:
        "Then a low target should be better. The law PIE is the one from which DOCSIS-PIE was " +
        "made; it takes each millisecond above its target as bad.",
      guess: {
        question: "With PIE and a target of 1 ms, how fast will the upload be?",
        options: ["as fast as before", "about half as fast"],
        answer: 1,
      },
      asks: "Set PIE's target to 1 ms.",
      turns: "target",
      start: { law: "pie", target: 15 },
      isTurned: ({ law, target: aim }) => law === "pie" && Number(aim) <= 1,
      isSeen: (line) => of(line, "upload").mbps < 6.5,
      seen: (line) =>
        `The upload has ${mbit(of(line, "upload").mbps)}. On a cable each packet waits some ` +
        `milliseconds for its grant, so this target cannot be reached: the law drops on and on.`,
      hint: "Turn the slider “target” to its left end, and wait until the upload has slowed down.",
      forTeacher: {
        answer:
          `About half: ${say("rate_pie_1")}; with 15 ms, PIE's default, it was ` +
          `${say("rate_pie_15")}. See “Request and grant” for why a cable modem's queue is never ` +
          `shorter than some 3 ms.`,
        wrong: "“Less delay costs nothing.” Below a point it is paid for in rate.",
        next: "What would the same target do on a line without request and grant?",
        minutes: 3,
      },
    },
    {
      title: "The same number, another law",
      says:
        "CoDel has a target too. But it drops only when all packets of a tenth of a second have " +
        "waited longer than that.",
      asks: "Leave the target at 1 ms, and choose CoDel.",
      turns: "law",
      start: { target: 1 },
      isTurned: ({ law, target: aim }) => law === "codel" && aim === 1,
      isSeen: (line) => of(line, "upload").mbps >= 8,
      seen: (line) =>
        `With CoDel and the same target the upload has ${mbit(of(line, "upload").mbps)}. A ` +
        "target is a number of one law: in another law it means something else.",
      hint: "In the list “law”, choose CoDel.",
      forTeacher: {
        answer:
          `CoDel gives the upload ${say("rate_codel_1")} with a target of 1 ms, where PIE gave ` +
          `${say("rate_pie_1")}.`,
        wrong: "“Two laws with the same target do the same.”",
        next: "Both have 5 ms now: what does each of them give? (Try.)",
        minutes: 3,
      },
    },
    {
      title: "Good for the game",
      says:
        "Back to the modem's own law, DOCSIS-PIE, with a target of 20 ms. The game is not good.",
      asks: "Lower the target until 95 of 100 of the game's packets are there within 33 ms.",
      turns: "target",
      start: { law: "docsis_pie", target: 20 },
      isTurned: ({ law, target: aim }) => law === "docsis_pie" && Number(aim) < 20,
      isSeen: (line) => of(line, "game").delayMs < 33,
      seen: (line) =>
        `With a target of ${line.settings.target} ms it is ${ms(of(line, "game").delayMs)}, and ` +
        `the upload has ${mbit(of(line, "upload").mbps)}.`,
      hint: "Try 5 ms and less.",
      forTeacher: {
        answer:
          `5 ms or less. With 5 ms 95 of 100 packets need ${say("game_docsis_pie_5")} or less, ` +
          `with 20 ms ${say("game_docsis_pie_20")}.`,
        wrong: "“A target of 20 ms means that the game's packets wait 20 ms at most.”",
        next: "How many packets come too late all the same? (Look at the game's number.)",
        minutes: 3,
      },
    },
    {
      title: "Both at once",
      says:
        "A target is a choice between delay and rate. PIE has 1 ms again, and the upload has " +
        "half of the line.",
      asks:
        "Find a target for PIE with which the upload has 8.5 Mbit/s or more, and the game's " +
        "packets need less than 42 ms.",
      turns: "target",
      start: { law: "pie", target: 1 },
      isTurned: ({ law, target: aim }) => law === "pie" && Number(aim) > 1,
      isSeen: (line) => of(line, "upload").mbps >= 8.5 && of(line, "game").delayMs < 42,
      seen: (line) =>
        `With ${line.settings.target} ms the upload has ${mbit(of(line, "upload").mbps)}, and ` +
        `95 of 100 of the game's packets need ${ms(of(line, "game").delayMs)} or less. A lower ` +
        "target costs rate, a higher one only time.",
      hint: "Try 10 ms.",
      forTeacher: {
        answer:
          `About 10 ms: ${say("rate_pie_10")} and ${say("game_pie_10")}. With 5 ms the upload ` +
          `has ${say("rate_pie_5")}, with 50 ms the game needs ${say("game_pie_50")}.`,
        wrong:
          "“There is one right target.” It depends on the line and on how far the servers are.",
        next: "The server is 100 ms away in place of 40: which way must the target go?",
        minutes: 3,
      },
    },
  ],
};
