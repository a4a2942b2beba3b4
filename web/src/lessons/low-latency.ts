// Low Latency DOCSIS: which packets the short queue is for, who waits longer, and queue protection.

import text from "../../../scenarios/low-latency-home.toml?raw";

import type { Overrides } from "../engine/messages";
import type { Scene, Settings } from "../line/scene";
import { claimsOf } from "./claims";
import { type Lesson, mbit, ms, of, percent } from "./lesson";

const say = claimsOf("low-latency");

/** What the backup is, beside its direction, its distance and its start. */
const BACKUPS: Readonly<Record<string, string>> = {
  prague: 'application = "bulk", tcp.congestion = "prague"',
  cubic: 'application = "bulk", tcp.congestion = "cubic"',
  flood: 'application.cbr.rate = "30 Mbit/s", ecn = "ect1"',
};

function override(settings: Settings): Overrides {
  const { separate, marked, backup, protection } = settings;
  const own = `{ queue_protection = ${protection} }`;
  return [
    ["link.cable.docsis.upstream.low_latency", separate ? own : '"off"'],
    ["link.cable.docsis.downstream.low_latency", separate ? '"on"' : '"off"'],
    ["flow.game.dscp", marked ? "45" : "0"],
    [
      "flow.backup",
      `{ ${BACKUPS[String(backup)]}, direction = "up", rtt = "30 ms", start = "4 s" }`,
    ],
  ];
}

const scene: Scene = {
  text,
  queues: ["cable.up", "cable.up_low_latency"],
  mbps: () => 20,
  roomMs: ({ separate }) => (separate ? 100 : 250),
  views: ["queue", "wait", "rates"],
  drawn: ["photos", "backup"],
  people: [
    { flow: "game", name: "fast game", measure: "missed", side: 0 },
    { flow: "page", name: "page", measure: "page_load_time" },
    { flow: "photos", name: "photos", measure: "rate", side: 0 },
    { flow: "backup", name: "backup", measure: "rate", side: 0 },
  ],
  start: { separate: false, marked: true, backup: "prague", protection: true },
  controls: [
    { kind: "switch", key: "separate", name: "low latency: a second, short queue" },
    { kind: "switch", key: "marked", name: "the game's packets are marked" },
    {
      kind: "choice",
      key: "backup",
      name: "backup",
      options: [
        { value: "prague", name: "Prague: slows down for marks" },
        { value: "cubic", name: "CUBIC: slows down for losses" },
        { value: "flood", name: "marked like Prague, never slows down" },
      ],
    },
    { kind: "switch", key: "protection", name: "queue protection" },
  ],
  override,
  fromMs: 12_000,
};

export const lowLatency: Lesson = {
  name: "low-latency",
  title: "The short queue",
  question: "How can a game and a backup share a line without waiting for each other?",
  minutes: 20,
  audience: "from 16 years, and whoever sets tiers; after “One queue for all”",
  aim:
    "Pupils can say which packets the short queue of low latency is for, by which fields of " +
    "the header they are classified, why a sender in it has to slow down at a mark, and " +
    "what happens if one does not.",
  before:
    "What a queue and an AQM (active queue management) are. A packet's header has two small " +
    "fields that matter here: one says what kind of traffic it is (DSCP), one lets a queue mark " +
    "it in place of dropping it (ECN).",
  sources: [
    {
      name: "RFC 9330",
      about: "L4S: low latency, low loss, and scalable throughput",
      link: "https://www.rfc-editor.org/rfc/rfc9330",
    },
    {
      name: "RFC 9331",
      about: "how a sender says that it answers to each mark: ECT(1)",
      link: "https://www.rfc-editor.org/rfc/rfc9331",
    },
    {
      name: "RFC 9956",
      about: "traffic that builds no queue, marked with DSCP 45",
      link: "https://www.rfc-editor.org/rfc/rfc9956",
    },
    {
      name: "RFC 9957",
      about: "the queue protection of low-latency DOCSIS",
      link: "https://www.rfc-editor.org/rfc/rfc9957",
    },
  ],
  scene,
  steps: [
    {
      title: "A second queue",
      says:
        "Photos and a backup fill this line. A game, whose packets must be there within 30 ms, " +
        `is in the same queue, which the modem's AQM keeps short: half of its packets wait ` +
        `${say("wait_off")} or less. Low latency adds a second, short queue, for the game and ` +
        "for the backup, whose sender slows down when packets are marked.",
      guess: {
        question: "Who will have less rate or wait longer?",
        options: ["nobody", "those in the other queue: photos and pages", "the backup"],
        answer: 1,
      },
      asks: "Switch low latency on.",
      turns: "separate",
      isTurned: ({ separate, marked, backup }) =>
        separate === true && marked === true && backup === "prague",
      isSeen: (line) => of(line, "game").word === "good" && of(line, "photos").mbps < 7,
      seen: (line) =>
        `Of the game's packets ${percent(of(line, "game").value)} come too late. The photos, in ` +
        `the other queue, have ${mbit(of(line, "photos").mbps)} and their packets need up to ` +
        `${ms(of(line, "photos").delayMs)}; the backup has ${mbit(of(line, "backup").mbps)}.`,
      hint: "Tick “low latency”, and wait until the photos have slowed down.",
      forTeacher: {
        answer:
          `Those in the classic queue. The game goes from ${say("missed_off")} too late to ` +
          `${say("missed_on")}; the photos from ${say("photos_off")} to ${say("photos_on")}, ` +
          `and half of the packets in the classic queue wait ${say("wait_on")} or longer in ` +
          `place of ${say("wait_off")}. The backup has ${say("backup_on")}.`,
        wrong: "“Two queues are twice the rate.” They share the same 20 Mbit/s.",
        next: "Is it fair that the backup has more than the photos?",
        minutes: 4,
      },
    },
    {
      title: "The mark",
      says:
        "A modem cannot know that a packet is a game's: the packet has to say so. This one " +
        "carries the number 45 in its header (DSCP 45), which means that it builds no queue. " +
        "Now somebody on the way has erased it.",
      asks: "Let the game's packets be marked again.",
      turns: "marked",
      start: { separate: true, marked: false },
      isTurned: ({ separate, marked }) => separate === true && marked === true,
      isSeen: (line) => of(line, "game").word === "good",
      seen: (line) =>
        "Without the mark the game waited with the photos. With it, 95 of 100 of its packets " +
        `need ${ms(of(line, "game").delayMs)} or less.`,
      hint: "Tick “the game's packets are marked”.",
      forTeacher: {
        answer:
          `Unmarked, ${say("missed_unmarked")} of the game's packets come too late, and 95 of ` +
          `100 need ${say("delay_unmarked")} or less; marked, ${say("delay_on")}. An unmarked ` +
          `game is worse off than without low latency (${say("missed_off")}).`,
        wrong: "“The modem recognises games.” It reads two fields of the header, no more.",
        next:
          "Could everybody mark everything with 45? (That is what the last two steps are about.)",
        minutes: 4,
      },
    },
    {
      title: "Another sender",
      says:
        "The backup is in the short queue since its sender, Prague, slows down a little at each " +
        "mark. Most senders are CUBIC: they slow down only when a packet is lost, so they have " +
        "to stay in the other queue.",
      guess: {
        question: "The backup becomes CUBIC. What happens to the photos?",
        options: ["they get less", "they get more", "nothing"],
        answer: 1,
      },
      asks: "Let the backup be CUBIC.",
      turns: "backup",
      start: { marked: true },
      isTurned: ({ separate, backup }) => separate === true && backup === "cubic",
      isSeen: (line) => of(line, "photos").mbps >= 6 && of(line, "game").word === "good",
      seen: (line) =>
        `The photos have ${mbit(of(line, "photos").mbps)} and the backup ` +
        `${mbit(of(line, "backup").mbps)}: they are in one queue again, and their packets need ` +
        `up to ${ms(of(line, "photos").delayMs)}. The game is alone in the short one.`,
      hint: "In the list “backup”, choose CUBIC, and wait ten seconds.",
      forTeacher: {
        answer:
          `More: ${say("photos_cubic")} in place of ${say("photos_on")}. The classic queue is ` +
          `short again, too: half of its packets wait ${say("wait_cubic")} or less. The game ` +
          `does not notice: ${say("missed_cubic")} come too late.`,
        wrong: "“The short queue is for premium traffic.” It is for senders that keep it short.",
        next: "What would an operator say to a customer with Prague, and to one with CUBIC?",
        minutes: 4,
      },
    },
    {
      title: "A sender that ignores marks",
      says:
        "Anybody can write into a header. Now the backup says that it slows down at marks, and " +
        "sends 30 Mbit/s whatever happens, on a line of 20. Nobody checks.",
      asks: "Let the backup slow down for nothing.",
      turns: "backup",
      start: { backup: "prague", protection: false },
      isTurned: ({ separate, backup, protection }) =>
        separate === true && backup === "flood" && protection === false,
      isSeen: (line) => of(line, "game").word === "bad",
      seen: (line) =>
        `The short queue is full of the backup's packets, and the game is bad: ` +
        `${percent(of(line, "game").value)} of its packets come too late or are lost.`,
      hint: "In the list “backup”, choose the last one, with queue protection off.",
      forTeacher: {
        answer: `${say("missed_flood")} of the game's packets are late or lost.`,
        wrong:
          "“The law of the short queue drops the backup's packets.” It marks, and drops at its " +
          "end.",
        next: "How could a modem find out who fills the queue, without trusting the header?",
        minutes: 4,
      },
    },
    {
      title: "Queue protection",
      says:
        "Queue protection counts for each flow how much of the waiting it causes. Whoever " +
        "causes too much is sent to the other queue, packet by packet.",
      asks: "Switch queue protection on, with the backup still ignoring marks.",
      turns: "protection",
      start: { backup: "flood" },
      isTurned: ({ separate, backup, protection }) =>
        separate === true && backup === "flood" && protection === true,
      isSeen: (line) => of(line, "game").word === "good",
      seen: (line) =>
        `The game is good, with ${percent(of(line, "game").value)} too late. The backup's ` +
        "packets wait in the other queue now, with all others, and need up to " +
        `${ms(of(line, "backup").delayMs)}: no AQM helps against a sender that does not slow ` +
        "down.",
      hint: "Tick “queue protection”.",
      forTeacher: {
        answer:
          `The game is good again: ${say("missed_protected")} come too late. The price is paid ` +
          `in the classic queue, where half of the packets wait ${say("wait_protected")} or ` +
          "longer.",
        wrong: "“Protection blocks the sender.” It moves its packets to the classic queue.",
        next: "Who else in this house waits longer now, and what could be done for them?",
        minutes: 4,
      },
    },
  ],
};
