// Runs the engine: for a line one run at a time, by so much simulated time a message; for the
// workbench what bench.ts answers.

import init, { Run } from "@engine/headend_wasm.js";
import engine from "virtual:engine";

import { answerBench, isOfBench } from "./bench";
import type { BenchRequest } from "./bench_messages";
import { WIDTH } from "./events";
import { type QueueState, type Reply, type Request, sayBroken } from "./messages";

/** Unpacks the engine without a request: a page from a disk may make none. */
async function unpack(base64: string): Promise<ArrayBuffer> {
  const packed = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

const ready = unpack(engine).then(async (bytes) => {
  await init({ module_or_path: bytes });
  if (Run.eventWidth() !== WIDTH) throw new Error("another engine than this page was made for");
});
let run: Run | undefined;

function reply(message: Reply, moved: Transferable[] = []): void {
  self.postMessage(message, { transfer: moved });
}

/** Does what the engine may refuse, with a text of JSON; any other error means it is broken. */
function attempt(own: number, what: () => void): void {
  try {
    what();
  } catch (fault) {
    const refusal = typeof fault === "string" ? JSON.parse(fault) : sayBroken(String(fault));
    reply({ kind: "refused", run: own, refusal });
  }
}

function begin(request: Request & { kind: "begin" }): void {
  run?.free();
  run = undefined;
  const { text, overrides, seed } = request;
  attempt(request.run, () => {
    const begun = new Run(text, JSON.stringify(overrides), BigInt(seed));
    begun.listen();
    run = begun;
    const { run: number } = request;
    const overheads = [...begun.overheads()];
    reply({ kind: "begun", run: number, queues: begun.queues(), flows: begun.flows(), overheads });
  });
}

function look(own: Run, queue: number): QueueState {
  return {
    tokens: own.tokens(queue) ?? Number.NaN,
    dropProbability: own.dropProbability(queue) ?? Number.NaN,
  };
}

function advance(own: Run, request: Request & { kind: "advance" }): void {
  const isOver = own.runUntil(request.untilMs);
  const events = own.takeEvents();
  const message: Reply = {
    kind: "advanced",
    run: request.run,
    nowMs: own.now(),
    events,
    measures: own.measures(),
    states: request.queues.map((queue) => look(own, queue)),
    isOver,
  };
  reply(message, [events.buffer]);
}

function answer(request: Request): void {
  if (request.kind === "begin") begin(request);
  else if (!run) return;
  else if (request.kind === "advance") attempt(request.run, () => advance(run!, request));
  else {
    const { text, overrides, seed } = request;
    attempt(request.run, () => run!.change(text, JSON.stringify(overrides), BigInt(seed)));
  }
}

self.onmessage = async (message: MessageEvent<Request | BenchRequest>) => {
  const send = (own: unknown, moved: Transferable[] = []) =>
    self.postMessage(own, { transfer: moved });
  try {
    await ready;
  } catch (fault) {
    if (isOfBench(message.data)) send({ kind: "broken", message: String(fault) });
    else send({ kind: "refused", run: message.data.run, refusal: sayBroken(String(fault)) });
    return;
  }
  if (isOfBench(message.data)) {
    await answerBench(message.data, send);
  } else {
    answer(message.data);
  }
};
