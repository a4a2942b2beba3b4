// One chart: drawn when it comes near the screen, as wide as there is room, in light or dark.

import { useEffect, useRef, useState } from "preact/hooks";

import { save } from "./download";
import type { Json } from "./figures/definition";
import { drawFile, type Look, show } from "./figures/vega";

interface Props {
  /** For a file's name. */
  name: string;
  /** What it shows, for those who do not see it. */
  title: string;
  /** The setting that it is of; empty where there is one only. */
  label: string;
  specification: { [name: string]: Json };
}

const DARK = matchMedia("(prefers-color-scheme: dark)");

/** The same width as in workbench.css. */
const LARGE = matchMedia("(min-width: 1100px)");

/** The width of a picture in a file. */
const FILE_WIDTH = 720;

/** A chart is drawn again where its width changes by more. */
const LEAST_CHANGE = 24;

export function Chart({ name, title, label, specification }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const look = useLook(place);

  useEffect(() => {
    if (!look.width || !place.current) return undefined;
    const view = show(specification, look, place.current);
    view.description(`${title}${label ? `, ${label}` : ""}`);
    let isGone = false;
    void view.runAsync().then(() => {
      if (!isGone && place.current) place.current.dataset.drawn = "yes";
    });
    return () => {
      isGone = true;
      view.finalize();
      place.current?.replaceChildren();
    };
  }, [specification, look.width, look.isDark, look.isLarge]);

  return (
    <figure class="chart-frame">
      {label && <figcaption>{label}</figcaption>}
      <div class="chart" data-chart={name} ref={place} />
      <div class="chart-files">
        <button
          type="button"
          onClick={async () =>
            save(`headend-${name}.svg`, await drawFile(specification, FILE_WIDTH), "image/svg+xml")
          }
        >
          SVG
        </button>
        <button
          type="button"
          onClick={() =>
            save(`headend-${name}.vl.json`, JSON.stringify(specification), "application/json")
          }
        >
          Vega-Lite
        </button>
        <span class="hidden">
          of {title} {label}
        </span>
      </div>
    </figure>
  );
}

/** Whether a query of the page's media holds, now and later. */
function useMedia(query: MediaQueryList): boolean {
  const [isMet, setMet] = useState(query.matches);
  useEffect(() => {
    const change = () => setMet(query.matches);
    query.addEventListener("change", change);
    return () => query.removeEventListener("change", change);
  }, []);
  return isMet;
}

/** The width of an element once it is near the screen, and how it is to be drawn. */
function useLook(place: { current: HTMLDivElement | null }): Look {
  const [width, setWidth] = useState(0);
  const isDark = useMedia(DARK);
  const isLarge = useMedia(LARGE);
  useEffect(() => {
    const element = place.current!;
    const resized = new ResizeObserver(() =>
      setWidth((before) => {
        const now = element.clientWidth;
        return Math.abs(now - before) > LEAST_CHANGE ? now : before;
      }),
    );
    const near = new IntersectionObserver(
      (entries) => {
        if (!entries.some((entry) => entry.isIntersecting)) return;
        near.disconnect();
        resized.observe(element);
      },
      { rootMargin: "50%" },
    );
    near.observe(element);
    return () => {
      near.disconnect();
      resized.disconnect();
    };
  }, []);
  return { width, isDark, isLarge };
}
