// The Wi-Fi anomaly: everybody has as many turns, however long a turn takes.

import text from "../../../scenarios/wifi-home.toml?raw";

import type { Scene, Settings } from "../line/scene";
import { NEVER } from "../line/turned";
import { claimsOf } from "./claims";
import { lawsOf } from "./laws";
import { type Lesson, mbit, ms, of } from "./lesson";

const say = claimsOf("wifi-anomaly");

const RATES = [
  { value: "1", name: "1 Mbit/s: at the far end of the house" },
  { value: "2", name: "2 Mbit/s" },
  { value: "5.5", name: "5.5 Mbit/s" },
  { value: "11", name: "11 Mbit/s: beside the access point" },
] as const;

/** What a cell carries to stations in the mean of equal turns, Mbit/s: what empties the queue. */
function carry({ printing, printer, laptop }: Settings): number {
  // A packet of 1500 bytes at 11 Mbit/s takes 2.4 ms with all that belongs to a turn, and for each
  // lower rate its bits take as much longer.
  const turn = (rate: number): number => 1.3 + 12 / rate;
  const own = turn(Number(laptop));
  // A printed packet has two turns: to the access point, and from there to the printer.
  const mean = printing ? (2 * own + turn(Number(printer))) / 2 : own;
  return Math.round(120 / mean) / 10;
}

const scene: Scene = {
  text,
  queues: ["wifi.down"],
  mbps: carry,
  roomMs: (settings) => (100 * 12) / carry(settings),
  views: ["rates", "queue"],
  drawn: ["download", "print"],
  people: [
    { flow: "download", name: "download to the laptop", measure: "rate", side: 1 },
    { flow: "print", name: "print job", measure: "rate", side: 0 },
    { flow: "call", name: "call on the phone", measure: "delay", side: 1 },
  ],
  start: { printing: false, printer: "1", laptop: "11", law: "drop_tail" },
  controls: [
    { kind: "switch", key: "printing", name: "the laptop prints" },
    { kind: "choice", key: "printer", name: "printer hears", options: RATES },
    { kind: "choice", key: "laptop", name: "laptop hears", options: RATES },
    {
      kind: "choice",
      key: "law",
      name: "queue of the access point",
      options: lawsOf("drop_tail", "codel", "fq_codel"),
    },
  ],
  override: ({ printing, printer, laptop, law }) => [
    ["flow.print.start", printing ? "2 s" : NEVER],
    ["link.wifi.dot11b.station.printer.rate", `${printer} Mbit/s`],
    ["link.wifi.dot11b.station.laptop.rate", `${laptop} Mbit/s`],
    [
      "link.wifi.dot11b.access_point.queue",
      law === "drop_tail" ? '{ drop_tail = { limit = "100 packets" } }' : `"${law}"`,
    ],
  ],
  fromMs: 10_000,
};

export const wifiAnomaly: Lesson = {
  name: "wifi-anomaly",
  title: "The slow printer",
  question: "Why does one slow station make the whole Wi-Fi slow?",
  minutes: 15,
  audience: "from 14 years; after “The buffer that is too long”",
  aim:
    "Pupils can explain the 802.11 performance anomaly: stations share turns and not time, so " +
    "the slowest one decides for all; and that waiting and rate have different remedies.",
  before:
    "In a Wi-Fi only one station can send at a time. A station that is far from the access point " +
    "has to send more slowly to be understood.",
  sources: [
    {
      name: "Heusse, Rousseau, Berger-Sabbatel and Duda, Performance Anomaly of 802.11b (2003)",
      about: "where the anomaly was first described",
      link: "https://doi.org/10.1109/INFCOM.2003.1208921",
    },
    {
      name: "IEEE 802.11, distributed coordination function",
      about: "why each station has the same chance of a turn",
      link: "https://standards.ieee.org/ieee/802.11/7028/",
    },
    {
      name: "RFC 8290",
      about: "FQ-CoDel, a queue for each flow",
      link: "https://www.rfc-editor.org/rfc/rfc8290",
    },
  ],
  scene,
  steps: [
    {
      title: "Something is printed",
      says:
        "A laptop downloads beside the access point, and has nearly all that this old Wi-Fi can " +
        "carry. A printer stands at the far end of the house and hears no more than 1 Mbit/s. " +
        "Now the laptop prints.",
      guess: {
        question: "What is left of the download?",
        options: ["nearly all: a printer needs little", "about half", "an eighth or so"],
        answer: 2,
      },
      asks: "Let the laptop print.",
      turns: "printing",
      isTurned: ({ printing, printer }) => printing === true && printer === "1",
      isSeen: (line) => of(line, "download").mbps < 1.2,
      seen: (line) =>
        `The download has ${mbit(of(line, "download").mbps)} in place of ` +
        `${say("download_alone")}, and the print job ` +
        `${mbit(of(line, "print").mbps)} itself. Nearly all of the time goes into the printer's ` +
        "slow turns.",
      hint: "Tick “the laptop prints”, and wait for ten seconds.",
      forTeacher: {
        answer:
          `About an eighth: ${say("download_1")} in place of ${say("download_alone")}. The print ` +
          `job itself has ${say("print_1")}.`,
        wrong:
          "“The printer takes only what it needs.” What it takes is time: a packet at 1 Mbit/s " +
          "takes about ten times as long as one at 11.",
        next:
          "How long does a packet of 12,000 bits take at 1 Mbit/s, and at 11? (12 ms and 1.1 " +
          "ms.)",
        minutes: 3,
      },
    },
    {
      title: "Put it nearer",
      says:
        "Beside the access point the printer would hear 11 Mbit/s, as the laptop does. The call " +
        "on the phone suffers, too: its packets need half a second.",
      guess: {
        question: "With the printer beside the access point, what gets good?",
        options: ["download and call", "the download, but not the call", "only the call"],
        answer: 1,
      },
      asks: "Put the printer where it hears 11 Mbit/s.",
      turns: "printer",
      start: { printing: true },
      isTurned: ({ printing, printer, law }) =>
        printing === true && printer === "11" && law === "drop_tail",
      isSeen: (line) =>
        of(line, "download").mbps >= 1 && of(line, "call").delayMs >= 150,
      seen: (line) =>
        `The download has ${mbit(of(line, "download").mbps)} now, but 95 of 100 of the call's ` +
        `packets need up to ${ms(of(line, "call").delayMs)}. A fast printer gives the time ` +
        "back; the call waits behind the download all the same.",
      hint: "In the list “printer hears”, choose 11 Mbit/s.",
      forTeacher: {
        answer:
          `The download goes from ${say("download_1")} to ${say("download_11")}. Half of the ` +
          `call's packets still need ${say("call_11")} or longer (${say("call_1")} with the ` +
          "slow printer), since one queue is full of the download.",
        wrong: "“A faster network makes calls good.” Not while a full queue stands in front of it.",
        next: "What did the first lesson say of full queues?",
        minutes: 3,
      },
    },
    {
      title: "Another queue",
      says:
        "The printer is far away again. This time it stays there, and the access point gets a " +
        "queue for each conversation (FQ-CoDel), from which it sends in turn.",
      asks: "Choose FQ-CoDel for the queue of the access point.",
      turns: "law",
      start: { printer: "1" },
      isTurned: ({ printing, printer, law }) =>
        printing === true && printer === "1" && law === "fq_codel",
      isSeen: (line) => of(line, "call").word === "good" && of(line, "download").mbps < 1.3,
      seen: (line) =>
        `The call is good: 95 of 100 packets need ${ms(of(line, "call").delayMs)} or less. But ` +
        `the download has ${mbit(of(line, "download").mbps)}. A queue decides who waits, and ` +
        "not how long a turn takes.",
      hint: "In the list “queue of the access point”, choose FQ-CoDel.",
      forTeacher: {
        answer:
          `Half of the call's packets need ${say("call_fq")} or less in place of ` +
          `${say("call_1")}. The download has ${say("download_fq_1")}, which is not much more ` +
          `than with one queue (${say("download_1")}).`,
        wrong: "“Another queue makes the Wi-Fi fast.” It shortens the delay of the call only.",
        next: "Which of the two remedies would you choose first, the place or the queue?",
        minutes: 3,
      },
    },
    {
      title: "Equal turns",
      says:
        "With a queue for each, download and print job send in turn. Now the printer becomes " +
        "eleven times as fast.",
      guess: {
        question: "Who will have more, the download or the print job?",
        options: ["the download", "the print job", "both about the same"],
        answer: 2,
      },
      asks: "Put the printer where it hears 11 Mbit/s again.",
      turns: "printer",
      start: { law: "fq_codel" },
      isTurned: ({ printing, printer, law }) =>
        printing === true && printer === "11" && law === "fq_codel",
      isSeen: (line) => of(line, "download").mbps >= 1.2 && of(line, "print").mbps >= 1.2,
      seen: (line) =>
        `The download has ${mbit(of(line, "download").mbps)} and the print job ` +
        `${mbit(of(line, "print").mbps)}. They had the same before, only less: as many turns ` +
        "are as many packets, whatever a turn takes.",
      hint: "In the list “printer hears”, choose 11 Mbit/s.",
      forTeacher: {
        answer:
          `About the same: ${say("download_fq_11")} and ${say("print_fq_11")}. At 1 Mbit/s it ` +
          `was ${say("download_fq_1")} and ${say("print_fq_1")}. This is the anomaly: equal ` +
          "turns are equal rates, and the slowest station sets the rate of all.",
        wrong: "“Whoever is slow gets less.” Everybody gets as little as the slow one.",
        next: "A printed packet crosses the air twice. Who has more of the time, then?",
        minutes: 3,
      },
    },
    {
      title: "Walk away with the laptop",
      says: "The printer is near now. Somebody takes the laptop to the far end of the house.",
      guess: {
        question: "Who suffers?",
        options: ["only the laptop's download", "download and print job alike"],
        answer: 1,
      },
      asks: "Take the laptop where it hears 1 Mbit/s.",
      turns: "laptop",
      start: { printer: "11" },
      isTurned: ({ printing, printer, laptop, law }) =>
        printing === true && printer === "11" && laptop === "1" && law === "fq_codel",
      isSeen: (line) => of(line, "download").mbps < 0.8 && of(line, "print").mbps < 0.8,
      seen: (line) =>
        `The download has ${mbit(of(line, "download").mbps)} and the print job ` +
        `${mbit(of(line, "print").mbps)}. It does not matter who is slow: all wait for the slow ` +
        "turns. Newer access points share time in place of turns.",
      hint: "In the list “laptop hears”, choose 1 Mbit/s.",
      forTeacher: {
        answer:
          `Both alike: ${say("download_far")} and ${say("print_far")}, where both had about ` +
          `${say("download_fq_11")}.`,
        wrong: "“The far one is punished by itself.”",
        next:
          "The print job is sent by the laptop, so two things slow it down: which? And with " +
          "equal time in place of equal turns, who would gain, and who would lose?",
        minutes: 3,
      },
    },
  ],
};
