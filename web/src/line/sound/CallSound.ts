// The call as it is heard: packets that are lost, or too late to be played, are silence.
//
// The listener's de-jitter buffer is as deep as in the engine's score, 40 ms: all packets are
// played so much later than the fastest one of the latest ten seconds.

import type { Fate } from "../picture";
import { synthesise } from "./voice";

/** A packet carries so much of the voice. */
const FRAME_MS = 20;
const DE_JITTER_MS = 40;
/** The time in which the fastest packet is looked for. */
const FASTEST_MS = 10_000;
/** The sound is so far ahead of what is heard, s, at least and at most. */
const AHEAD = { least: 0.03, most: 0.25 };

export class CallSound {
  private context: AudioContext | undefined;
  private sample: AudioBuffer | undefined;
  private isOn = false;
  /** By number: when packets arrived, ms. */
  private arrivals = new Map<number, number>();
  private delays: { at: number; delayMs: number }[] = [];
  /** The time at which packet 0 was sent, ms. */
  private sentMs = Number.NaN;
  private nextNumber = Number.NaN;
  private nextTime = 0;

  /** On or off. To be called while a key or a button is pressed: browsers ask for that. */
  turn(isOn: boolean): void {
    this.isOn = isOn;
    this.nextNumber = Number.NaN;
    if (!isOn) return;
    this.context ??= new AudioContext();
    void this.context.resume();
    this.sample ??= this.speak(this.context);
  }

  private speak(context: AudioContext): AudioBuffer {
    const samples = synthesise(context.sampleRate);
    const buffer = context.createBuffer(1, samples.length, context.sampleRate);
    buffer.copyToChannel(samples, 0);
    return buffer;
  }

  /** Takes a recording of one's own in place of the synthetic voice. */
  async load(file: File): Promise<void> {
    this.context ??= new AudioContext();
    this.sample = await this.context.decodeAudioData(await file.arrayBuffer());
  }

  /** What became of a packet of the call. */
  note(fate: Fate): void {
    if (Number.isNaN(fate.delayMs)) return;
    this.arrivals.set(fate.seq, fate.at);
    this.delays.push({ at: fate.at, delayMs: fate.delayMs });
    this.sentMs = fate.at - fate.delayMs - fate.seq * FRAME_MS;
  }

  /** Another run begins. */
  forget(): void {
    this.arrivals.clear();
    this.delays = [];
    this.nextNumber = Number.NaN;
  }

  /** Plays what is due by a simulated time. */
  play(nowMs: number): void {
    const { context, sample } = this;
    while (this.delays.length && this.delays[0]!.at < nowMs - FASTEST_MS) this.delays.shift();
    if (!this.isOn || !context || !sample || !this.delays.length) return;
    const fastest = Math.min(...this.delays.map((own) => own.delayMs));
    const playedAt = (number: number): number =>
      this.sentMs + number * FRAME_MS + fastest + DE_JITTER_MS;
    const newest = Math.floor((nowMs - this.sentMs - fastest - DE_JITTER_MS) / FRAME_MS);
    if (Number.isNaN(this.nextNumber) || newest - this.nextNumber > 50) this.nextNumber = newest;
    for (; this.nextNumber <= newest; this.nextNumber += 1) {
      const number = this.nextNumber;
      const isHeard = (this.arrivals.get(number) ?? Infinity) <= playedAt(number);
      this.arrivals.delete(number - 100);
      this.schedule(context, sample, number, isHeard);
    }
  }

  private schedule(
    context: AudioContext,
    sample: AudioBuffer,
    number: number,
    isHeard: boolean,
  ): void {
    const now = context.currentTime;
    if (this.nextTime < now + AHEAD.least) this.nextTime = now + 2 * AHEAD.least;
    if (this.nextTime > now + AHEAD.most) return;
    if (isHeard) {
      const source = context.createBufferSource();
      source.buffer = sample;
      source.connect(context.destination);
      const frame = FRAME_MS / 1000;
      const offset = (number * frame) % Math.max(frame, sample.duration - frame);
      source.start(this.nextTime, offset, frame);
    }
    this.nextTime += FRAME_MS / 1000;
  }

  end(): void {
    void this.context?.close();
  }
}
