"""The figure of a grid of settings, each flow by tier and choice, and figures of one tier."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from headend.comparison.choosing import find_main
from headend.comparison.grid import Grid, Tier
from headend.comparison.outcomes import FlowOutcome, TierOutcome
from headend.figures import vegalite as vl
from headend.figures.figure import Figure, Panel, make_figure
from headend.figures.theme import (
    colour,
    fade,
    highlight,
    list_numbers,
    log_axis,
    log_scale,
    make_chart,
)
from headend.text.quantity import Kind

#: The name of the figure over all tiers.
NAME = "grid"

#: The unit of an axis for each kind: its size in base units, and its text in the axis' title.
_UNITS: dict[Kind, tuple[float, str]] = {
    "time": (1e6, " (ms)"),
    "rate": (1e6, " (Mbit/s)"),
    "size": (2**10, " (KiB)"),
    "ratio": (0.01, " (%)"),
    "number": (1.0, ""),
}

#: From this ratio of the largest to the smallest value, times are drawn on a logarithmic axis.
WIDE = 20.0


def draw_grid(grid: Grid, tiers: Sequence[TierOutcome]) -> Figure | None:
    """Draw each flow's or group's number by tier, a point for each choice; most changed first."""
    main = find_main(tiers)
    names = list(dict.fromkeys(name for tier in tiers for name in tier.people))
    names.sort(key=lambda name: name != main)
    panels = [panel for name in names for panel in _draw_person(grid, tiers, name)]
    panels += _draw_queue(grid, tiers)
    has_intervals = any(
        len(fate.values) > 1
        for tier in tiers
        for fates in tier.people.values()
        for fate in fates
        if fate
    )
    lines = (
        " The line through a point is the 95 % interval of the mean over the seeds; where none is"
        " seen, it is shorter than the point."
    )
    return make_figure(
        NAME,
        f"Each {grid.choice.name} in each tier",
        "A point is what one setting gives; compare the points of one tier with each other, not"
        f" across tiers: another tier is another line.{lines if has_intervals else ''}",
        panels,
    )


def _draw_person(grid: Grid, tiers: Sequence[TierOutcome], name: str) -> Iterator[Panel]:
    """Draw the number of one flow or group; of several kinds of number, the first."""
    fates = [fate for tier in tiers for fate in tier.people.get(name, ()) if fate]
    first = fates[0]
    rows = []
    for tier in tiers:
        of_tier = tier.people.get(name, ())
        for slot, (choice, fate) in enumerate(zip(grid.choice.values, of_tier, strict=False)):
            if fate and (values := _read(fate, first)):
                rows.append(_shape_row(tier.tier.label, choice, slot, values, first.kind))
    if rows:
        about = (
            f"of {len(first.party.findings)} suffer" if first.is_count else first.key_figure.about
        )
        ends = first.bounds if first.kind == "number" and not first.is_count else None
        chart = _draw(pl.DataFrame(rows), grid, about + _UNITS[first.kind][1], first.kind, ends)
        yield Panel(name, chart, f"{name} by tier", {"flow": name})


def _read(fate: FlowOutcome, first: FlowOutcome) -> Sequence[float]:
    """Give mean, low and high of the number that grades ``first``; empty if not measured."""
    if fate.is_count or fate.key_figure.about == first.key_figure.about:
        estimate = fate.estimate
        return (estimate.mean, estimate.low, estimate.high) if estimate else ()
    for key_figure in fate.party.worst.key_figures:
        if key_figure.about == first.key_figure.about:
            return () if key_figure.value is None else (key_figure.value, math.nan, math.nan)
    return ()


def _draw_queue(grid: Grid, tiers: Sequence[TierOutcome]) -> Iterator[Panel]:
    rows = []
    for tier in tiers:
        for slot, (choice, queue) in enumerate(zip(grid.choice.values, tier.queues, strict=True)):
            if queue and (delay := queue.delay):
                values = (delay.mean, delay.low, delay.high)
                rows.append(_shape_row(tier.tier.label, choice, slot, values, "time"))
    if rows:
        chart = _draw(pl.DataFrame(rows), grid, "median queue delay (ms)", "time")
        yield Panel("the queue", chart, "queue delay by tier", {"flow": "the queue"})


def _shape_row(
    tier: str, choice: str, slot: int, values: Sequence[float], kind: Kind
) -> dict[str, Any]:
    size = _UNITS[kind][0]
    mean, low, high = (None if math.isnan(value) else value / size for value in values)
    return {
        "tier": tier,
        "series": choice,
        "slot": slot,
        "value": mean,
        "low": mean if low is None else low,
        "high": mean if high is None else high,
    }


def _draw(
    rows: pl.DataFrame, grid: Grid, title: str, kind: Kind, ends: tuple[float, float] | None = None
) -> vl.Chart:
    """Draw the points of each tier; a bounded measure, such as MOS, on an axis of its bounds."""
    chosen = highlight()
    # What all tiers are called alike stands under the axis once.
    axis = grid.given[0].name if len(grid.given) == 1 else ""
    shown = rows.with_columns(pl.col("tier").str.strip_prefix(f"{axis} "))
    tiers = shown["tier"].unique(maintain_order=True).to_list()
    names = shown["series"].unique(maintain_order=True).to_list()
    known = shown.filter(pl.col("value") > 0)["value"]
    smallest, largest = (
        (float(known.min()), float(known.max())) if len(known) else (1.0, 1.0)  # type: ignore[arg-type]
    )
    scale, ticks = vl.Scale(zero=kind != "number" or smallest >= largest / 2), vl.Axis()
    if ends:
        scale = vl.Scale(domain=list(ends), nice=False)
    if kind == "time" and largest > WIDE * smallest and len(known) == shown.height:
        domain = (smallest / 1.5, largest * 1.5)
        scale, ticks = log_scale(domain), log_axis(domain)
    base = make_chart(shown).encode(
        x=vl.X(
            "tier:N",
            title=axis or None,
            sort=tiers,
            scale=vl.Scale(domain=tiers, paddingInner=0.3),
            axis=vl.Axis(labelAngle=0, labelLimit=120, grid=False),
        ),
        xOffset=vl.XOffset("series:N", sort=names),
        color=colour(shown, None),
        opacity=fade(chosen),
        tooltip=[
            vl.Tooltip("series:N", title=" "),
            vl.Tooltip("tier:N", title="tier"),
            *list_numbers(value=title, low="from", high="to"),
        ],
    )
    spans = base.mark_rule(strokeWidth=1.5, clip=True).encode(
        y=vl.Y("low:Q", title=title, scale=scale, axis=ticks), y2="high:Q"
    )
    points = (
        base.mark_point(filled=True, size=36)
        .encode(y=vl.Y("value:Q", title=title, scale=scale, axis=ticks))
        .add_params(chosen)
    )
    return vl.layer(spans, points)


def name_by_tier(name: str, tier: str) -> str:
    """Give the name that a figure has in a tier.

    Examples
    --------
    >>> name_by_tier("queue", "upstream rate 5 Mbit/s")
    'queue-upstream-rate-5-Mbit-s'
    """
    return f"{name}-{re.sub(r'[^A-Za-z0-9.]+', '-', tier).strip('-')}"


def draw_in_tier(draw: Callable[[], Figure | None], tier: Tier) -> Figure | None:
    """Draw a figure of a tier, with the tier's name in the figure's and its panels' names."""
    figure, label = draw(), tier.label
    if figure is None:
        return None
    panels = [
        replace(
            panel,
            name=f"{panel.name}, {label}" if panel.name else "",
            place={**panel.place, **tier.place},
        )
        for panel in figure.panels
    ]
    return replace(
        figure,
        name=name_by_tier(figure.name, label),
        title=f"{figure.title}, {label}",
        panels=panels,
        group=label,
        base_name=figure.name,
        base_title=figure.title,
    )
