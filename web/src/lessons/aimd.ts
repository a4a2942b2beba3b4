// The sawtooth of a congestion window, and the buffer that it needs.

import text from "./scenarios/saw.toml?raw";

import type { Scene } from "../line/scene";
import { claimsOf } from "./claims";
import { type Lesson, mbit, ms, of } from "./lesson";

const say = claimsOf("aimd");

const scene: Scene = {
  text,
  queues: ["line.up"],
  mbps: () => 10,
  roomMs: (settings) => Number(settings.buffer),
  views: ["windows", "wait", "rates"],
  people: [{ flow: "sender", name: "upload", measure: "rate", side: 0 }],
  start: { buffer: 42, rtt: 40, sender: "reno" },
  controls: [
    {
      kind: "slider",
      key: "buffer",
      name: "buffer",
      values: [4, 8, 16, 24, 32, 42, 64, 100],
      unit: "ms",
    },
    {
      kind: "slider",
      key: "rtt",
      name: "way to the server and back",
      values: [20, 40, 80, 160],
      unit: "ms",
    },
    {
      kind: "choice",
      key: "sender",
      name: "sender",
      options: [
        { value: "reno", name: "Reno: halves its window" },
        { value: "cubic", name: "CUBIC: keeps 70 % of it" },
      ],
    },
  ],
  override: ({ buffer, rtt, sender }) => [
    ["link.line.point_to_point.up.queue", `{ drop_tail = { limit = "${buffer} ms" } }`],
    ["flow.sender.rtt", `${rtt} ms`],
    ["flow.sender.tcp.congestion", `${sender}`],
  ],
  fromMs: 12_000,
};

const FULL = 9.7;
/** The shortest of the slider's buffers that keeps the line busy, ms. */
const JUST = 42;

export const aimd: Lesson = {
  name: "aimd",
  title: "The saw",
  question: "How does a sender find out how fast it may send?",
  minutes: 15,
  audience: "from 16 years; after “The buffer that is too long”",
  aim:
    "Pupils can explain the sawtooth of a congestion window (additive increase, multiplicative " +
    "decrease), why a buffer of one bandwidth-delay product keeps a line full, and what distance " +
    "and the sender's algorithm change.",
  before:
    "TCP is how most data is sent: each packet is acknowledged, and what is lost is sent again. " +
    "The congestion window is how many bytes may be on their way without an acknowledgement. The " +
    "round-trip time (RTT) is how long a packet and its acknowledgement take together.",
  sources: [
    {
      name: "RFC 5681",
      about: "TCP congestion control: one segment more each round trip, half after a loss",
      link: "https://www.rfc-editor.org/rfc/rfc5681",
    },
    {
      name: "RFC 9438",
      about: "CUBIC, the sender of most computers today",
      link: "https://www.rfc-editor.org/rfc/rfc9438",
    },
    {
      name: "Appenzeller, Keslassy and McKeown, Sizing Router Buffers (2004)",
      about: "the old rule of one bandwidth-delay product, and when it does not hold",
      link: "https://doi.org/10.1145/1015467.1015499",
    },
  ],
  scene,
  steps: [
    {
      title: "A longer buffer",
      says:
        "The upload's window is how much it lets be on the way. It grows by one packet each " +
        "round trip, and it is halved when a packet is lost: that draws a saw. The buffer has " +
        "room for 42 ms, as long as a round trip.",
      guess: {
        question: "With a buffer of 100 ms, how fast will the upload be?",
        options: ["twice as fast", "as fast as now", "slower"],
        answer: 1,
      },
      asks: "Make the buffer 100 ms long.",
      turns: "buffer",
      isTurned: ({ buffer }) => Number(buffer) >= 100,
      isSeen: (line) => line.mostWaitMs >= 70 && of(line, "sender").mbps >= FULL,
      seen: (line) =>
        `The teeth are larger, and a packet waits up to ${ms(line.mostWaitMs)} now. The rate is ` +
        `${mbit(of(line, "sender").mbps)}, as before: the line was full already.`,
      hint: "Turn the slider “buffer” to its right end, and wait for the top of a tooth.",
      forTeacher: {
        answer:
          `As fast as now. The upload has ${say("rate_42")} with 42 ms and ${say("rate_100")} ` +
          `with 100 ms. Half of the packets wait ${say("wait_100")} or longer in place of ` +
          `${say("wait_42")}.`,
        wrong:
          "“A larger window is a higher rate.” Only until the line is full. What is more than " +
          "that waits in the buffer.",
        next: "Why do the teeth become wider as well as taller?",
        minutes: 3,
      },
    },
    {
      title: "A buffer that is too small",
      says:
        "At the top of each tooth the buffer is full, and a packet is lost. At the bottom the " +
        "window is half of that.",
      guess: {
        question: "With a buffer of 8 ms, will half of the window still fill the line?",
        options: ["yes", "no"],
        answer: 1,
      },
      asks: "Make the buffer 8 ms long or shorter.",
      turns: "buffer",
      start: { buffer: 42 },
      isTurned: ({ buffer }) => Number(buffer) <= 8,
      isSeen: (line) => of(line, "sender").mbps < 9,
      seen: (line) =>
        `The upload has ${mbit(of(line, "sender").mbps)}. After each loss the window is smaller ` +
        "than what fills the line, the queue is empty, and the line is idle for a part of the " +
        "time.",
      hint: "Turn the slider “buffer” to 8 ms, and look at the curve of the wait.",
      forTeacher: {
        answer:
          `No. With 8 ms the upload has ${say("rate_8")} in place of ${say("rate_42")}: the ` +
          `line is used to ${say("used_8")}. The teeth reach below what fills it.`,
        wrong:
          "“A loss halves the rate.” It halves the window. While something is left in the buffer " +
          "the rate stays what it is.",
        next: "Where in the picture can one see that the line is idle? (Where the wait is zero.)",
        minutes: 3,
      },
    },
    {
      title: "Just enough",
      says:
        "Too small a buffer wastes the line, and too large a one only adds waiting. There must " +
        "be a size at which the queue just runs empty at the bottom of each tooth.",
      asks:
        "Find the shortest buffer with which the line is always busy: the queue must not stay " +
        "empty.",
      turns: "buffer",
      start: { buffer: 8 },
      isTurned: ({ buffer, rtt, sender }) => buffer === JUST && rtt === 40 && sender === "reno",
      amiss: ({ buffer, rtt, sender }) => {
        if (rtt !== 40 || sender !== "reno" || buffer === 8) return undefined;
        return Number(buffer) > JUST
          ? `${buffer} ms keeps the line busy, but a shorter buffer does so too.`
          : `With ${buffer} ms the queue is empty for a part of each tooth: it is too short.`;
      },
      isSeen: (line) => of(line, "sender").mbps >= FULL,
      heldMs: 4000,
      seen: (line) =>
        `With ${line.settings.buffer} ms the upload has ${mbit(of(line, "sender").mbps)}. The ` +
        "size that just suffices is one round trip of sending, 42 ms here: rate times " +
        "round-trip time, the bandwidth-delay product.",
      hint: "It is near the time that a packet and its acknowledgement need: 42 ms.",
      forTeacher: {
        answer:
          `42 ms: the line is used to ${say("used_42")}, with 32 ms to ${say("used_32")}, with ` +
          `24 ms to ${say("used_24")}. It is ` +
          "the bandwidth-delay product: half of a window of two such products is one of them, " +
          "which is just what fills the line.",
        wrong:
          "“The buffer must hold everything that is sent.” It must hold only what bridges the " +
          "gap after a loss.",
        next: "How many bytes are 42 ms at 10 Mbit/s? (52,500, which is 35 packets of 1500 bytes.)",
        minutes: 3,
      },
    },
    {
      title: "A server that is far away",
      says:
        "The window grows by one packet each round trip. Now the server moves to another " +
        "continent, and a round trip takes four times as long.",
      guess: {
        question: "Is a buffer of 42 ms still enough?",
        options: ["yes", "no: the line will be idle now and then"],
        answer: 1,
      },
      asks: "Make the way to the server and back 160 ms long.",
      turns: "rtt",
      start: { buffer: 42 },
      isTurned: ({ rtt, buffer, sender }) =>
        Number(rtt) >= 160 && buffer === 42 && sender === "reno",
      isSeen: (line) => of(line, "sender").mbps < 9,
      seen: (line) =>
        `The upload has ${mbit(of(line, "sender").mbps)} now. The saw is slow: after a loss it ` +
        "takes seconds until the window fills the line again.",
      hint:
        "Turn “way to the server and back” to its right end. A tooth takes a quarter of a minute " +
        "now, and its first half is what you wait for.",
      forTeacher: {
        answer:
          `No. On average the upload has ${say("rate_160")} in place of ${say("rate_42")}. Four ` +
          "times the way is four times the bandwidth-delay product, and the buffer holds a " +
          "quarter of it.",
        wrong:
          "“Far away only means later, not slower.” The window grows by the round trip, so " +
          "whoever is far away recovers later.",
        next: "Which buffer would be enough now? Is it one that a call could live with?",
        minutes: 3,
      },
    },
    {
      title: "Another sender",
      says:
        "Halving and adding one is called Reno, after the system in which it came. Most " +
        "computers today use CUBIC: it keeps 70 % of its window after a loss, and comes back by " +
        "the clock and not by the round trip.",
      asks: "Let CUBIC send, with the same buffer and the same way.",
      turns: "sender",
      start: { buffer: 42, rtt: 160 },
      isTurned: ({ sender, rtt }) => sender === "cubic" && rtt === 160,
      isSeen: (line) => of(line, "sender").mbps >= 9.5,
      seen: (line) =>
        `CUBIC has ${mbit(of(line, "sender").mbps)}. Its teeth are shallow, and it stays near ` +
        "the top for most of the time.",
      hint: "In the list “sender”, choose CUBIC, and watch half a minute of its window.",
      forTeacher: {
        answer:
          `On average CUBIC has ${say("rate_cubic")} where Reno had ${say("rate_160")}. Its ` +
          `queue is fuller: half of its packets wait ${say("wait_cubic")} or longer, Reno's ` +
          `${say("wait_160")}.`,
        wrong: "“Then CUBIC is better.” For the line yes; for whoever waits behind it, no.",
        next: "With 40 ms and a buffer of 16 ms: how much do the two differ there?",
        minutes: 3,
      },
    },
  ],
};
