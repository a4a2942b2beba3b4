// Watching a scene: a clock, and one line or two with the same traffic.

import type { Scene, Settings } from "./scene";
import { TurnedLine } from "./turned";

/** Simulated milliseconds in one of the watcher's, and what the axis of grants shows then. */
export const SPEEDS = [
  { name: "real time", factor: 1, spanMs: 60 },
  { name: "10 times faster", factor: 10, spanMs: 60 },
  { name: "10 times slower", factor: 0.1, spanMs: 60 },
  { name: "200 times slower", factor: 0.005, spanMs: 24 },
] as const;

/** The time between two readings of the people's numbers, ms of the watcher's. */
const READ_EVERY_MS = 250;
/** A picture that took longer than this is no more time to simulate, ms of the watcher's. */
const LONGEST_MS = 100;

export class Watch {
  readonly lines: TurnedLine[];
  isPaused = false;
  /** The number of the speed. */
  speed = 0;
  /** How many pictures back the watcher looks; 0 is now. */
  back = 0;
  isHeard = false;
  private atMs: number;
  private frame = 0;

  constructor(
    readonly scene: Scene,
    /** The flow of the call that is heard. */
    readonly heard: string | undefined,
    private readonly onRead: () => void,
  ) {
    this.lines = [new TurnedLine(scene, scene.start, 1, heard)];
    this.atMs = scene.fromMs;
  }

  get first(): TurnedLine {
    return this.lines[0]!;
  }

  get isStill(): boolean {
    return this.isPaused || this.back > 0;
  }

  /** How many pictures one can look back. */
  get depth(): number {
    return Math.max(1, (this.first.session.shown?.history.moments.length ?? 1) - 1);
  }

  /** How long ago what is shown was, ms of simulated time. */
  get backMs(): number {
    const moment = this.first.session.shown?.history.moments.at(-1 - this.back);
    return this.back && moment ? this.first.session.nowMs - moment.nowMs : 0;
  }

  start(): void {
    this.again(this.first.seed);
    let [last, readAt] = [performance.now(), 0];
    const step = (now: number): void => {
      this.go(Math.min(now - last, LONGEST_MS));
      last = now;
      const isNew = this.lines.some((line) => !line.reading && line.session.shown);
      if (isNew || now >= readAt + READ_EVERY_MS) {
        readAt = now;
        for (const line of this.lines) line.read();
        this.onRead();
      }
      this.frame = requestAnimationFrame(step);
    };
    this.frame = requestAnimationFrame(step);
  }

  end(): void {
    cancelAnimationFrame(this.frame);
    for (const line of this.lines) line.end();
  }

  /** All lines begin anew with a seed. */
  again(seed: number): void {
    this.back = 0;
    this.atMs = this.scene.fromMs;
    for (const line of this.lines) line.begin(this.scene.fromMs, seed);
  }

  turn(line: TurnedLine, part: Settings): void {
    this.back = 0;
    line.turn(part);
    this.atMs = Math.max(line.session.nowMs, this.scene.fromMs);
  }

  /** The call on or off. To be called while a key or a button is pressed. */
  hear(isHeard: boolean): void {
    this.isHeard = isHeard;
    this.first.sound.turn(isHeard);
  }

  /** A second line beside the first, or the first alone. */
  compare(): void {
    if (this.lines.length > 1) this.lines.pop()!.end();
    else {
      const { settings, seed } = this.first;
      this.lines.push(new TurnedLine(this.scene, settings, seed, undefined));
      // Both begin anew, so that they have the same past and the same traffic.
      this.again(seed);
    }
  }

  /** All lines go on by so much of the watcher's time. */
  private go(elapsed: number): void {
    const { lines } = this;
    if (this.isStill || lines.some((line) => !line.session.shown)) return;
    const { factor } = SPEEDS[this.speed]!;
    // Time does not run ahead of the slowest line.
    const slowest = Math.min(...lines.map((line) => line.session.nowMs));
    const ahead = 2 * LONGEST_MS * Math.max(1, factor);
    this.atMs = Math.min(this.atMs + elapsed * factor, slowest + ahead);
    for (const line of lines) line.advance(this.atMs);
    if (lines.every((line) => line.session.isOver)) this.again(this.first.seed + 1);
    if (this.isHeard && factor === 1) this.first.sound.play(this.first.session.nowMs);
  }
}
