// The figures of one run or two: a report's, filled with their tables.

import { useMemo } from "preact/hooks";

import { Chart } from "./Chart";
import { type Data, measure, readData } from "./figures/data";
import { type FigureDefinition, FIGURES, type PanelDefinition, RULES } from "./figures/definition";
import { fill } from "./figures/fill";
import type { Outcome } from "./tables";

interface Props {
  outcomes: Outcome[];
  labels: string[];
  queue: string;
}

export function Figures({ outcomes, labels, queue }: Props) {
  return (
    <>
      {FIGURES.map((figure) => (
        <Figure key={figure.name} figure={figure} {...{ outcomes, labels, queue }} />
      ))}
    </>
  );
}

function Figure({ figure, outcomes, labels, queue }: Props & { figure: FigureDefinition }) {
  const panels = useMemo(
    () => figure.panels.map((panel) => outcomes.map((own) => readData(panel, own, queue))),
    [figure, outcomes, queue],
  );
  const all = panels.flat();
  if (!all.some((data) => data.series.length)) return null;
  return (
    <section class="figure" data-figure={figure.name}>
      <h3>{figure.title}</h3>
      <p class="soft">{explain(figure, all)}</p>
      {figure.panels.map((panel, place) => (
        <Panel
          key={panel.title}
          name={figure.panels.length > 1 ? `${figure.name}-${place + 1}` : figure.name}
          title={panel.title || figure.title}
          isAlone={!panel.title}
          panel={panel}
          all={panels[place]!}
          labels={labels}
        />
      ))}
    </section>
  );
}

/** The figure's own words, and what is not drawn or stands for many. */
function explain(figure: FigureDefinition, all: Data[]): string {
  const hasBand = all.some((data) => data.series.some((own) => data.many.has(own.name)));
  const left = [...new Set(all.flatMap((data) => data.left))];
  return [
    figure.explanation,
    hasBand ? RULES.note : "",
    left.length ? `Not drawn, as there is no room for all: ${left.join(", ")}.` : "",
  ]
    .filter(Boolean)
    .join(" ");
}

interface PanelProps {
  name: string;
  title: string;
  isAlone: boolean;
  panel: PanelDefinition;
  all: Data[];
  labels: string[];
}

function Panel({ name, title, isAlone, panel, all, labels }: PanelProps) {
  const specifications = useMemo(() => {
    const extent = measure(all);
    return all.map((data) =>
      data.series.length ? fill(panel, data, extent, all.length > 1) : null,
    );
  }, [panel, all]);
  return (
    <>
      {!isAlone && <h4>{title}</h4>}
      <div class="side-by-side">
        {specifications.map((specification, place) =>
          specification ? (
            <Chart
              key={place}
              name={all.length > 1 ? `${name}-${"ab"[place]}` : name}
              title={title}
              label={all.length > 1 ? labels[place]! : ""}
              specification={specification}
            />
          ) : (
            <p class="soft">{labels[place]}: nothing to draw.</p>
          ),
        )}
      </div>
    </>
  );
}
