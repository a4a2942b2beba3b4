// A line that runs, with all that is turned on it and what it says.

import type { Refusal } from "../engine/messages";
import { read } from "./reading";
import type { Reading, Scene, Settings } from "./scene";
import { type Setup, Session, TURNED } from "./session";
import { CallSound } from "./sound/CallSound";

/** A run lasts so long; then another seed's begins, so that a line can be left alone for days. */
const DURATION_S = 3600;
/** When a flow starts that is not to start: in the last second. */
export const NEVER = `${DURATION_S - 1} s`;
/** A run that begins anew goes on from the same moment, but not from later than this, ms. */
const LATEST_MS = 30_000;

export class TurnedLine {
  readonly session: Session;
  readonly sound: CallSound;
  settings: Settings;
  turnedMs = 0;
  reading: Reading | undefined;
  refusal: Refusal | undefined;
  /** The settings with which the run began; later ones are changes. */
  private begun: Settings;
  private changes = "";
  private turns = 0;
  private askedMs = 0;

  constructor(
    readonly scene: Scene,
    settings: Settings,
    public seed: number,
    heard: string | undefined,
  ) {
    this.settings = settings;
    this.begun = settings;
    this.sound = new CallSound();
    this.session = new Session({
      onRefused: (refusal) => (this.refusal = refusal),
      onFate: (flow, side, fate) => {
        if (flow === heard && side === 0) this.sound.note(fate);
      },
    });
  }

  private get setup(): Setup {
    const { text, queues, override } = this.scene;
    const overrides = [
      ["duration", `${DURATION_S} s`],
      ["warmup", "0 s"],
      ["results.interval", "1000 s"],
      ...override(this.begun),
    ] as const;
    return { text: text + this.changes, overrides, seed: this.seed, queues };
  }

  /** Begins its run anew, to be shown from a time on. */
  begin(atMs: number, seed = this.seed): void {
    this.seed = seed;
    this.refusal = undefined;
    this.begun = this.settings;
    this.changes = "";
    this.askedMs = 0;
    this.session.mbps = this.scene.mbps(this.settings);
    this.sound.forget();
    this.session.begin(this.setup, atMs);
    this.turnedMs = atMs;
  }

  /** Takes over what was turned: while the run goes on where the line can, else by a new run. */
  turn(part: Settings): void {
    performance.mark(TURNED);
    const before = this.settings;
    this.settings = { ...before, ...part };
    const keys = Object.keys(part);
    const isLive = keys.every((key) => this.scene.controls.find((own) => own.key === key)?.isLive);
    const live = this.scene.live?.(this.settings);
    if (isLive && live && !this.session.isCatchingUp && !this.refusal) this.change(live);
    else this.begin(this.moment);
  }

  /** The moment from which a new run is shown: that of the old one, within limits. */
  private get moment(): number {
    const { fromMs, latestMs = LATEST_MS } = this.scene;
    return Math.min(Math.max(this.session.nowMs, fromMs), latestMs);
  }

  private change(tables: NonNullable<ReturnType<NonNullable<Scene["live"]>>>): void {
    const at = Math.floor(Math.max(this.askedMs, this.session.nowMs)) + 1;
    this.turns += 1;
    for (const [name, keys] of Object.entries(tables)) {
      const lines = Object.entries(keys).map(([key, value]) => `${key} = ${value}`);
      // Changes of one moment are made in the order of their names.
      const turn = `${this.turns}`.padStart(6, "0");
      const head = `[link.cable.docsis.change.turn_${turn}_${name}]`;
      this.changes += `\n${[head, `at = "${at} ms"`, ...lines].join("\n")}\n`;
    }
    this.session.mbps = this.scene.mbps(this.settings);
    this.session.change(this.setup, at);
    this.turnedMs = at;
  }

  advance(toMs: number): void {
    this.askedMs = Math.max(this.askedMs, toMs);
    this.session.advance(toMs);
  }

  read(): void {
    const { shown } = this.session;
    if (shown) this.reading = read(this.scene, this.settings, shown, this.turnedMs);
  }

  end(): void {
    this.session.end();
    this.sound.end();
  }
}
