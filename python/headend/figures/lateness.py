"""The figure of how late an emulated run wrote its frames: p50, p99 and latest by interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from headend.analysis.lateness import find_emulation
from headend.figures import vegalite as vl
from headend.figures.figure import Figure, lay_out
from headend.figures.spread import merge_runs, note_bands
from headend.figures.theme import (
    colour,
    dash,
    fade,
    highlight,
    log_axis,
    make_chart,
    mark_across,
    time_axis,
)
from headend.figures.thinning import thin_series
from headend.text.quantity import format_quantity

if TYPE_CHECKING:
    from headend.results.record import Record

#: The name of the figure.
NAME = "lateness"

#: Lines by the column that each is of.
LINES = {"p50_ns": "p50", "p99_ns": "p99", "max_ns": "latest"}

#: What was written on time is drawn at this, as a logarithmic axis has no zero, ms.
LEAST_MS = 1e-3

TITLE = "late by (ms)"


def draw_lateness(results: Sequence[Record]) -> Figure | None:
    """Draw how late frames were over time; None where nothing ran in real time."""
    late = [result for result in results if not result.lateness.is_empty()]
    frames = {result.label: merge_runs(result, _shape) for result in late}
    bounds = sorted(
        {
            float(bound)
            for result in late
            if (bound := ((find_emulation(result) or {}).get("lateness") or {}).get("bound_p99_ns"))
        }
    )
    panels, _ = lay_out(frames, lambda rows: _draw(rows, bounds))
    if not panels:
        return None
    if len(late) == 1 < len(results):
        panels = [replace(panel, title=late[0].label) for panel in panels]
    bound = f" The bound of p99, {_write(bounds[0])}, is that of the whole run." if bounds else ""
    return Figure(
        NAME,
        "How late frames were",
        "From the time at which the line had a frame ready until the frame was written: of each"
        " interval the median, the 99th percentile and the latest. A peak is a moment in which the"
        " emulator was kept from its work; delays that programs saw then are not the line's"
        f" alone.{bound}{note_bands(results, frames.values())}",
        panels,
    )


def _shape(run: Record) -> pl.DataFrame:
    rows = run.lateness.with_columns(
        # Nothing is known of an interval without a frame.
        pl.when(pl.col("frames") > 0).then(pl.col(name).cast(pl.Float64))
        for name in LINES
    )
    long = rows.select("time_ns", *LINES).unpivot(
        on=list(LINES), index="time_ns", variable_name="line", value_name="late_ns"
    )
    # Of several intervals drawn as one, the worst counts.
    thin = thin_series(long, ["line"], maxima=["late_ns"])
    return thin.filter(pl.col("late_ns").is_not_null()).select(
        "time_s",
        key=pl.col("line").replace_strict(LINES, return_dtype=pl.String),
        value=(pl.col("late_ns") / 1e6).clip(LEAST_MS).round_sig_figs(4),
    )


def _draw(rows: pl.DataFrame, bounds: Sequence[float]) -> vl.Chart:
    chosen = highlight()
    marks = [bound / 1e6 for bound in bounds[:1]]
    known = [float(value) for value in rows["value"]] + marks
    domain = (min(known) * 0.8, max(known) * 1.6)
    lines = (
        make_chart(rows.select("time_s", "value", "series", "slot"))
        .mark_line(strokeWidth=1.6, clip=True)
        .encode(
            x=time_axis(),
            y=vl.Y(
                "value:Q",
                title=TITLE,
                axis=log_axis(domain),
                scale=vl.Scale(type="log", domain=list(domain), nice=False),
            ),
            color=colour(rows),
            strokeDash=dash(rows),
            opacity=fade(chosen),
            tooltip=[
                vl.Tooltip("series:N", title=" "),
                vl.Tooltip("time_s:Q", title="s", format=".4~g"),
                vl.Tooltip("value:Q", title=TITLE, format=".4~g"),
            ],
        )
        .add_params(chosen)
    )
    return vl.layer(
        lines, *(mark_across(mark, f"bound of p99: {_write(mark * 1e6)}") for mark in marks)
    )


def _write(time_ns: float) -> str:
    return format_quantity(time_ns, "time")
