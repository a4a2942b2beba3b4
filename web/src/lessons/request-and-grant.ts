// Why a packet waits on an idle cable line: request, MAP and grant.

import text from "./scenarios/request-and-grant.toml?raw";

import type { Overrides } from "../engine/messages";
import type { Scene, Settings } from "../line/scene";
import { NEVER } from "../line/turned";
import { claimsOf } from "./claims";
import { type Lesson, ms, of } from "./lesson";

const say = claimsOf("request-and-grant");

/** How long a signal travels along a kilometre of cable, ms. */
const KM_MS = 0.005;

function override(settings: Settings): Overrides {
  const line = "link.cable.docsis";
  const pairs: [string, string][] = [
    [`${line}.plant.map_interval`, `${settings.map} ms`],
    [`${line}.plant.distance_km`, `${settings.distance}`],
    [`${line}.upstream.scheduling`, `"${settings.scheduling}"`],
    ["flow.upload.start", settings.uploading ? "2 s" : NEVER],
  ];
  if (settings.neighbours) {
    const load = `load = "30 %", burstiness = 0, requests_per_second = ${settings.neighbours}`;
    pairs.push([`${line}.neighbours`, `{ ${load} }`]);
  }
  return pairs;
}

const scene: Scene = {
  text,
  queues: ["cable.up"],
  mbps: () => 10,
  roomMs: () => 30,
  views: ["grants", "queue"],
  people: [{ flow: "call", name: "call", measure: "delay", side: 0 }],
  start: { map: 2, distance: 8, neighbours: 0, scheduling: "best_effort", uploading: false },
  controls: [
    { kind: "slider", key: "map", name: "a MAP each", values: [1, 2, 4, 10], unit: "ms" },
    {
      kind: "slider",
      key: "distance",
      name: "distance to the CMTS",
      values: [1, 8, 40, 80, 160],
      unit: "km",
    },
    {
      kind: "slider",
      key: "neighbours",
      name: "requests of neighbours",
      values: [0, 1000, 2000, 4000, 6000],
      unit: "a second",
    },
    { kind: "switch", key: "uploading", name: "photos are uploaded" },
    {
      kind: "choice",
      key: "scheduling",
      name: "grants",
      isLive: true,
      options: [
        { value: "best_effort", name: "on request" },
        { value: "pgs", name: "in advance (proactive)" },
      ],
    },
  ],
  override,
  live: ({ scheduling }) => ({
    up: { service_flow: '"up"', scheduling: `"${scheduling}"` },
  }),
  fromMs: 8000,
};

export const requestAndGrant: Lesson = {
  name: "request-and-grant",
  title: "Request and grant",
  question: "Why does a packet wait on a cable line on which nobody else sends?",
  minutes: 20,
  audience: "from 16 years, and whoever runs cable lines; nothing has to be known",
  aim:
    "Pupils can follow a packet through request, MAP and grant, and say which of the " +
    "milliseconds on an idle cable line come from where, and why a busy modem does not have to " +
    "contend.",
  before:
    "Many homes share one cable. The device at the operator's end (the CMTS) hears all modems; " +
    "if two of them send at once, it understands neither.",
  sources: [
    {
      name: "DOCSIS 3.1 MAC and Upper Layer Protocols Interface (CM-SP-MULPIv3.1)",
      about: "requests, MAPs, grants, contention and backoff; proactive grants",
      link: "https://www.cablelabs.com/specifications/CM-SP-MULPIv3.1",
    },
    {
      name: "RFC 8034, section 3",
      about: "what request and grant mean for the delay of a modem",
      link: "https://www.rfc-editor.org/rfc/rfc8034#section-3",
    },
  ],
  scene,
  steps: [
    {
      title: "Nobody else sends",
      says:
        "One call is on this line, and nothing else. Its number is the delay over the " +
        "cable alone, which 95 of 100 packets of the latest two seconds stay below. A modem " +
        "sends a request, waits for the timetable (the MAP) that holds its grant, and sends then.",
      guess: {
        question:
          "The line is empty. How long does a packet need, from the modem to the other end?",
        options: ["almost no time", "some 5 to 8 ms", "about 100 ms"],
        answer: 1,
      },
      asks:
        "Look at requests and grants, in slow motion if you like. Then let a MAP come each 10 " +
        "ms.",
      turns: "map",
      isTurned: ({ map }) => Number(map) >= 10,
      isSeen: (line) => of(line, "call").delayMs >= 12,
      seen: (line) =>
        `With a MAP each 2 ms it was ${say("idle")}, and now it is ` +
        `${ms(of(line, "call").delayMs)}. There is no queue: the packet waits for a slot for ` +
        "its request, and then for the MAP.",
      hint: "Turn the slider “a MAP each” to its right end, with the time at real time.",
      forTeacher: {
        answer:
          `95 of 100 packets (the 95th percentile) need ${say("idle")} or less, half of them ` +
          `(the median) ${say("idle_half")} or less. With a MAP each 10 ms the 95th percentile ` +
          `is ${say("map_10")}, with one each millisecond ${say("map_1")}. The lab shows that of ` +
          `the latest two seconds: ${say("map_10_least")} to ${say("map_10_most")} with 10 ms.`,
        wrong:
          "“An idle line has no delay.” It has no queue. Request, MAP and grant come before each " +
          "packet of a modem that has been silent.",
        next: "Why not a MAP each tenth of a millisecond? (Each MAP costs rate downstream.)",
        minutes: 5,
      },
    },
    {
      title: "Far from the CMTS",
      says:
        `A signal needs ${(160 * KM_MS).toFixed(1)} ms for 160 km of cable. Next the CMTS ` +
        "(the operator's end of the " +
        "cable) is that far away.",
      guess: {
        question: "How much longer will a packet need?",
        options: ["0.8 ms", "about 2 ms", "about 8 ms"],
        answer: 1,
      },
      asks: "Put the CMTS 160 km away.",
      turns: "distance",
      isTurned: ({ distance, map }) => Number(distance) >= 160 && map === 2,
      isSeen: (line) => of(line, "call").delayMs >= 8,
      seen: (line) =>
        `It is ${ms(of(line, "call").delayMs)}, about 2 ms more. Three things travel one after ` +
        "the other: the request there, the MAP back, and the packet there.",
      hint: "Turn the slider “distance to the CMTS” to its right end.",
      forTeacher: {
        answer:
          `About 2 ms: the median (not the 95th percentile of the lab) goes from ` +
          `${say("idle_half")} to ${say("far_half")}. Three ways of 0.76 ms (152 km more ` +
          "at 5 µs each) are 2.3 ms.",
        wrong: "“Distance counts once.” It counts for each message that has to go before.",
        next: "Why is the second of the three not upstream?",
        minutes: 3,
      },
    },
    {
      title: "Neighbours send requests too",
      says:
        "Requests have slots of their own in the timetable, and any modem may use them. If two " +
        "modems use the same slot, both requests are lost (a collision), and each of them tries " +
        "again after a random time.",
      asks:
        "Let the neighbours send more requests, until the call's number is more than 20 ms.",
      turns: "neighbours",
      isTurned: ({ neighbours, uploading }) => Number(neighbours) > 0 && uploading === false,
      isSeen: (line) => of(line, "call").delayMs >= 20,
      seen: (line) =>
        `With ${line.settings.neighbours} requests a second of others it is ` +
        `${ms(of(line, "call").delayMs)}: the slowest packets are those whose requests collided, ` +
        `some of them several times.`,
      hint: "Turn “requests of neighbours” to 4000 or 6000, and wait some seconds.",
      forTeacher: {
        answer:
          `With 4000 requests a second the 95th percentile is ${say("busy_4000")}, with 6000 ` +
          `${say("busy_6000")}. The lab shows that of the latest two seconds, which varies: from ` +
          `${say("busy_4000_least")} to ${say("busy_4000_most")}, and from ` +
          `${say("busy_6000_least")} to ${say("busy_6000_most")}. The median with 4000 is only ` +
          `${say("busy_4000_half")}: most requests get through at once, but a modem whose ` +
          "request collides waits long, since the " +
          "time that a modem may wait doubles with each collision.",
        wrong:
          "“The channel is full.” Of its data slots only 30 % are used. The slots for requests " +
          "are what is short.",
        next: "How does a modem know that its request was lost? (The MAPs do not mention it.)",
        minutes: 4,
      },
    },
    {
      title: "Start an upload",
      says:
        "There are 6000 requests of neighbours in each second. The slowest packets of the call " +
        "are those whose request collided, some of them several times. Now photos are uploaded " +
        "through the same modem.",
      guess: {
        question: "What does the upload do to the slowest packets of the call?",
        options: ["it makes them later", "it makes them earlier", "nothing"],
        answer: 1,
      },
      asks: "Switch on “photos are uploaded”.",
      turns: "uploading",
      start: { neighbours: 6000 },
      isTurned: ({ neighbours, uploading }) => Number(neighbours) >= 6000 && uploading === true,
      isSeen: (line) => of(line, "call").delayMs < 40,
      seen: (line) =>
        `It is ${ms(of(line, "call").delayMs)}. A modem that sends all the time writes its next ` +
        "request on the data (piggyback), where nobody can collide with it. The call now waits " +
        "in a short queue, and no longer for a request without collision.",
      hint: "Tick “photos are uploaded”, and wait until the upload is under way.",
      forTeacher: {
        answer:
          `Earlier: 95 of 100 packets need ${say("piggyback")} or less, in place of ` +
          `${say("busy_6000")}. The buffer of this modem is short (30 ms). With a long one the ` +
          `upload would break the call in another way.`,
        wrong:
          "“More traffic always means more delay.” Not where the request is what takes the time.",
        next: "What would you do for calls in a street in which all modems are nearly idle?",
        minutes: 4,
      },
    },
    {
      title: "Grants without requests",
      says:
        "The CMTS may also grant without a request, as long as the modem sends: a proactive " +
        "grant. It costs time on the cable that nobody may need.",
      asks: "Let the grants come in advance, with 6000 requests of neighbours as before.",
      turns: "scheduling",
      start: { uploading: false },
      isTurned: ({ neighbours, scheduling }) =>
        Number(neighbours) >= 6000 && scheduling === "pgs",
      isSeen: (line) => of(line, "call").delayMs < 5,
      seen: (line) =>
        `It is ${ms(of(line, "call").delayMs)}, less than on the idle line. No request is sent, ` +
        `so nothing collides: a packet only waits for the next grant.`,
      hint: "In the list “grants”, choose “in advance (proactive)”.",
      forTeacher: {
        answer:
          `95 of 100 packets need ${say("pgs")} or less, whatever the neighbours do; on request ` +
          `it was ${say("idle")} on the idle line. This is what a ping upstream takes: request, ` +
          "MAP and grant, or their absence, and the way.",
        wrong: "“Then all modems should have such grants.” A grant that is not used is wasted.",
        next: "For whom would you switch them on: a call, a game, a backup?",
        minutes: 4,
      },
    },
  ],
};
