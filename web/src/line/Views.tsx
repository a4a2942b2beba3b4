// The pictures of one line: its queues, and what its scene has besides.

import { capture, type Moment } from "./history";
import { GrantsView } from "./GrantsView";
import { QueueView } from "./QueueView";
import type { Shown } from "./session";
import { StripView } from "./StripView";
import type { TurnedLine } from "./turned";
import type { Watch } from "./watch";

export interface ViewProps {
  line: TurnedLine;
  watch: Watch;
}

/** The moment that is shown: now, or one of late. */
export function choose(shown: Shown, back: number): Moment {
  const { moments } = shown.history;
  return (back && moments.at(-1 - Math.min(back, moments.length - 1))) || capture(shown.picture);
}

export function Views({ line, watch, name }: ViewProps & { name: string }) {
  const { scene, session } = line;
  const queues = session.shown?.queues ?? scene.queues.slice(0, 1);
  return (
    <section class="lane" aria-label={name || undefined}>
      {name && <h2>{name}</h2>}
      {scene.views.map((view) => {
        if (view === "grants") return <GrantsView line={line} watch={watch} />;
        if (view !== "queue") return <StripView line={line} view={view} />;
        return queues.map((queue, place) => (
          <QueueView line={line} watch={watch} queue={queue} place={place} />
        ));
      })}
    </section>
  );
}
