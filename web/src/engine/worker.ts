// Runs the engine: one run at a time, by so much simulated time a message.

import init, { Run } from "@engine/headend_wasm.js";
import engine from "virtual:engine";

import { answerBench, isOfBench } from "./bench";
import type { BenchRequest } from "./bench_messages";
import { WIDTH } from "./events";
import type { Reply, Request } from "./messages";

/** Decodes the engine without a request: a page from a disk may make none. */
function decode(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}

const ready = init({ module_or_path: decode(engine) });
let run: Run | undefined;

function reply(message: Reply, moved: Transferable[] = []): void {
  self.postMessage(message, { transfer: moved });
}

function answer(request: Request): void {
  if (request.kind === "begin") {
    run?.free();
    run = undefined;
    try {
      run = new Run(request.text, JSON.stringify(request.overrides), BigInt(request.seed));
    } catch (refusal) {
      reply({ kind: "refused", run: request.run, refusal: JSON.parse(String(refusal)) });
      return;
    }
    if (Run.eventWidth() !== WIDTH) throw new Error("another engine than this page was made for");
    run.listen();
    reply({ kind: "begun", run: request.run, queues: run.queues(), flows: run.flows() });
  } else if (run) {
    const isOver = run.runUntil(request.untilMs);
    const events = run.takeEvents();
    const nowMs = run.now();
    reply({ kind: "advanced", run: request.run, nowMs, events, isOver }, [events.buffer]);
  }
}

self.onmessage = async (message: MessageEvent<Request | BenchRequest>) => {
  await ready;
  if (isOfBench(message.data)) {
    const send = (own: unknown, moved: Transferable[] = []) =>
      self.postMessage(own, { transfer: moved });
    await answerBench(message.data, send);
  } else {
    answer(message.data);
  }
};
