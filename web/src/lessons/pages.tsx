// The pages of lessons, by the part of the address after "#".

import type { VNode } from "preact";

import { LESSONS } from "./all";
import { Lesson } from "./Lesson";
import { Lessons } from "./Lessons";
import { Sheet } from "./Sheet";
import "./lessons.css";

/**
 * The page of an address: `#lessons`, `#lesson/NAME`, `#lesson/NAME/STEP` or `#sheet/NAME`; nothing
 * where it is none of these. A name that is no lesson's leads to the list.
 */
export function findPage(hash: string): VNode | undefined {
  const [kind, name, place] = hash.slice(1).split("/");
  if (kind !== "lessons" && kind !== "lesson" && kind !== "sheet") return undefined;
  const lesson = LESSONS.find((own) => own.name === name);
  if (kind === "lessons" || !lesson) return <Lessons />;
  if (kind === "sheet") return <Sheet lesson={lesson} />;
  const step = Math.min(Math.max(Math.trunc(Number(place)) || 1, 1), lesson.steps.length);
  return <Lesson key={hash} lesson={lesson} place={step - 1} />;
}
