// A canvas that draws itself anew with each picture of the screen, or once a second for those who
// have asked their system for less motion.

import { useEffect, useRef } from "preact/hooks";

import { prepare, type Surface } from "./draw/canvas";

interface Props {
  label: string;
  kind: string;
  draw: (surface: Surface) => void;
  /** The least time between two pictures, ms. */
  everyMs?: number;
  onPress?: (x: number, y: number, width: number, height: number) => void;
}

export function Canvas({ label, kind, draw, everyMs = 0, onPress }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const latest = useRef(draw);
  latest.current = draw;
  useEffect(() => {
    const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const pauseMs = isCalm ? 1000 : everyMs;
    let [frame, drawnAt] = [0, -pauseMs];
    const step = (now: number): void => {
      const surface = now >= drawnAt + pauseMs && canvas.current && prepare(canvas.current);
      if (surface) {
        drawnAt = now;
        latest.current(surface);
      }
      frame = requestAnimationFrame(step);
    };
    frame = requestAnimationFrame(step);
    return () => cancelAnimationFrame(frame);
  }, []);
  const press = (event: PointerEvent): void => {
    const { left, top, width, height } = canvas.current!.getBoundingClientRect();
    onPress?.(event.clientX - left, event.clientY - top, width, height);
  };
  return (
    <canvas
      ref={canvas}
      class={`view view-${kind}`}
      role="img"
      aria-label={label}
      onPointerDown={onPress && press}
    />
  );
}
