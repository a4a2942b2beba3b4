// Requests, MAPs and grants of the first queue, and its tokens.

import { Canvas } from "./Canvas";
import { drawGrants } from "./draw/grants";
import { choose, type ViewProps } from "./Views";
import { SPEEDS } from "./watch";

export function GrantsView({ line, watch }: ViewProps) {
  const { session } = line;
  const tokens = session.shown?.picture.queues[0]?.state.tokens ?? Number.NaN;
  return (
    <figure>
      <figcaption>
        Requests and grants.{" "}
        {!Number.isNaN(tokens) &&
          `The modem has tokens for ${(tokens / 1000).toFixed(1)} kB: it may request so much now, ` +
            "and more come at the line's rate."}
      </figcaption>
      <Canvas
        kind="grants"
        label="Requests, MAPs and grants on a time axis"
        draw={(surface) => {
          if (!session.shown) return;
          const moment = choose(session.shown, watch.back);
          drawGrants(surface, moment.marks, moment.nowMs, SPEEDS[watch.speed]!.spanMs);
        }}
      />
    </figure>
  );
}
