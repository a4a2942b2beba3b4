"""A sweep's figures: each measure against the axis that is most of a scale, the others told apart by colour and panel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from headend.engine.description import describe
from headend.figures import vegalite as vl
from headend.figures.figure import MOST_NAMED, Figure, Panel
from headend.figures.theme import (
    PALETTE,
    colour,
    fade,
    highlight,
    log_axis,
    make_chart,
    shape,
)
from headend.text.quantity import Kind
from headend.text.wording import list_names

if TYPE_CHECKING:
    from headend.sweeps.definition import Axis, Sweep
    from headend.sweeps.outcome import Shown

#: In what values of each kind are drawn: the title's word, and how many base units it is.
_DRAWN: dict[Kind, tuple[str, float]] = {
    "time": ("ms", 1e6),
    "rate": ("Mbit/s", 1e6),
    "size": ("KiB", 2**10),
    "ratio": ("%", 0.01),
    "number": ("", 1.0),
}

#: More panels than this are no figure.
MOST_PANELS = 12


def draw_sweep(sweep: Sweep, summary: pl.DataFrame, shown: Sequence[Shown]) -> list[Figure]:
    """Draw each measure that is shown; the band or bar is the 95 % interval over seeds."""
    if summary.is_empty():
        return []
    along, apart, panels = _arrange(sweep)
    several = len(sweep.seeds) > 1
    figures = []
    for number, item in enumerate(shown):
        rows = summary.filter(pl.col("measure") == item.measure).drop_nulls("mean")
        if rows.is_empty():
            continue
        words = [f"Along the bottom, {along.name}"]
        if apart:
            words.append(f"by colour, {apart.name}")
        if panels:
            words.append(f"by panel, {' and '.join(axis.name for axis in panels)}")
        interval = " The bars are 95 % intervals over seeds." if several else ""
        drawn, note = _draw_panels(rows, item, along, apart, panels)
        name, text = f"measure-{number + 1}", f"{'; '.join(words)}.{interval}{note}"
        figures.append(Figure(name, item.measure, text, drawn, note))
    return figures


def _arrange(sweep: Sweep) -> tuple[Axis, Axis | None, list[Axis]]:
    """Choose what goes along the bottom (numbers, as many as there are), what is coloured, and what gets panels."""
    leading = [dimension[0] for dimension in sweep.dimensions]
    along = max(leading, key=lambda axis: (axis.scale is not None, len(axis.labels)))
    rest = sorted(
        (axis for axis in leading if axis is not along and len(axis.labels) > 1),
        key=lambda axis: len(axis.labels) > len(PALETTE),
    )
    return along, rest[0] if rest else None, rest[1:]


def _draw_panels(
    rows: pl.DataFrame, item: Shown, along: Axis, apart: Axis | None, panels: Sequence[Axis]
) -> tuple[list[Panel], str]:
    """Draw the panels, all on one scale, and name what was left out."""
    if not panels:
        return [Panel("", _draw(rows, item, along, apart), item.measure)], ""
    names = [axis.name for axis in panels]
    drawn: list[Panel] = []
    left: list[str] = []
    scale = _span(rows, item)
    for key, own in rows.group_by(names, maintain_order=True):
        title = ", ".join(f"{name} {value}" for name, value in zip(names, key, strict=True))
        if len(drawn) < MOST_PANELS:
            chart = _draw(own, item, along, apart, scale)
            drawn.append(Panel(title, chart, f"{item.measure} {title}"))
        else:
            left.append(title)
    named = list_names(left, MOST_NAMED, "; ")
    more = f" Not drawn, as there is room for {MOST_PANELS} panels: {named}."
    return drawn, more if left else ""


def _span(rows: pl.DataFrame, item: Shown) -> vl.Scale:
    """Give one scale for all values of a measure, with their intervals, so that panels can be compared."""
    columns, base = ["mean", "low", "high"], _DRAWN[item.kind][1]
    least = rows.select(pl.min_horizontal(columns).min() / base).item()
    most = rows.select(pl.max_horizontal(columns).max() / base).item()
    return vl.Scale(domain=[min(least, 0), max(most, 0) or 1], nice=True)


def _draw(
    rows: pl.DataFrame, item: Shown, along: Axis, apart: Axis | None, span: vl.Scale | None = None
) -> vl.Chart:
    unit, base = _DRAWN[item.kind]
    scale = along.scale
    labels = list(along.labels)
    places: list[Any] = scale[0] if scale else [str(label) for label in labels]
    series = [str(label) for label in apart.labels] if apart else [item.measure]
    points = pl.DataFrame(
        {
            "x": [places[labels.index(value)] for value in rows[along.name]],
            "series": rows[apart.name].cast(pl.String).to_list() if apart else series * rows.height,
            "mean": rows["mean"] / base,
            "low": rows["low"] / base,
            "high": rows["high"] / base,
        }
    )
    points = points.with_columns(
        slot=pl.col("series").replace_strict(
            {name: number for number, name in enumerate(series)}, return_dtype=pl.Int64
        )
    )
    chosen = highlight()
    x_title = f"{along.name} ({scale[1]})" if scale and scale[1] else along.name
    place = "x:Q" if scale else "x:N"
    title = _name_measure(rows, item, unit)
    base_chart = make_chart(points).encode(
        x=vl.X(place, title=x_title, sort=None, **_choose_scale(scale)),
        color=colour(points, "circle"),
        opacity=fade(chosen),
        tooltip=[
            vl.Tooltip("series:N", title=" "),
            vl.Tooltip(place, title=along.name),
            vl.Tooltip("mean:Q", title=title, format=".4~g"),
        ],
    )
    up: dict[str, Any] = {"title": title, "scale": span} if span else {"title": title}
    y = vl.Y("mean:Q", **up)
    marks = base_chart.mark_point(filled=True, size=40).encode(y=y, shape=shape(points))
    bars = base_chart.mark_rule().encode(y=vl.Y("low:Q", **up), y2="high:Q")
    layers = [bars, marks.add_params(chosen)]
    if scale:
        layers.insert(0, base_chart.mark_line().encode(y=y))
    return vl.layer(*layers)


def _name_measure(rows: pl.DataFrame, item: Shown, unit: str) -> str:
    """Give what the measure is called, what it is where that says something else, and its unit."""
    subject, direction, metric = rows.select("subject", "direction", "metric").row(0)
    whole = ".".join(part for part in (subject, metric) if part)
    exact = ".".join(part for part in (subject, direction, metric) if part)
    if item.measure == exact:
        name = exact
    elif whole == item.measure or whole.startswith(f"{item.measure}."):
        name = whole
    else:
        name = f"{item.measure}: {whole}"
    # Shares of fairness and counts have no unit.
    scales = {own: kind.scale for kind in describe().measures.values() for own in kind.names}
    unit = unit or scales.get(str(metric).split(".")[0], "")
    return f"{name} ({unit})" if unit else name


def _choose_scale(scale: tuple[list[float], str] | None) -> dict[str, Any]:
    """Draw along a logarithm what spans a factor of ten or more, and label its ends."""
    if scale is None:
        return {}
    low, high = min(scale[0]), max(scale[0])
    if low > 0 and high / low >= 10:
        log = vl.Scale(type="log", domain=[low, high], nice=False)
        return {"scale": log, "axis": log_axis((low, high), ends=True)}
    return {"scale": vl.Scale(zero=False, nice=True)}
