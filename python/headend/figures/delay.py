"""How long packets take: distributions of one-way delay and of queue delay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import altair as alt
import polars as pl

from headend.figures.figure import Figure, lay_out
from headend.figures.selection import choose_queues, name_flow_keys, place_flows
from headend.figures.theme import colour, dash, fade, highlight, log_axis, make_chart, mark_along
from headend.figures.thinning import thin_distribution

if TYPE_CHECKING:
    from headend.figures.theme import AnyChart
    from headend.result import Result


def draw_flow_delay(results: Sequence[Result]) -> Figure | None:
    """Draw how many packets of each flow took longer than a given delay, host to host."""
    frames = {result.label: _gather_flows(result) for result in results}
    panels, note = lay_out(
        frames,
        lambda rows: _draw_tail(rows, "one-way delay (ms)", marks=True),
        place_flows(results),
    )
    if not panels:
        return None
    return Figure(
        "delay",
        "One-way delay of each flow",
        "The share of packets that took longer than the delay below, host to host. A curve further left and falling"
        " steeply is better; read the 99th percentile where it crosses 1 %. Conversation is easy below 150 ms and hard"
        f" above 400 ms (ITU-T G.114).{note}",
        panels,
    )


def draw_queue_delay(results: Sequence[Result]) -> Figure | None:
    """Draw how many packets waited longer than a given time in a queue."""
    frames = {result.label: _gather_queues(result) for result in results}
    panels, note = lay_out(frames, lambda rows: _draw_tail(rows, "queue delay (ms)", marks=False))
    if not panels:
        return None
    return Figure(
        "queue-delay",
        "Delay in the queue",
        "The share of packets that waited longer than the delay below, from arrival at the queue until it gave them up;"
        " on a cable upstream this includes request and grant. A good queue falls to the right of a few milliseconds"
        f" only for bursts; a flat top that drops off late is a standing queue.{note}",
        panels,
    )


def _gather_flows(result: Result) -> pl.DataFrame:
    return _gather(result, "flow", name_flow_keys(result))


def _gather_queues(result: Result) -> pl.DataFrame:
    return _gather(result, "queue", {(name, None): name for name in choose_queues(result)})


def _gather(
    result: Result, kind: str, keys: Mapping[tuple[str, str], str] | Mapping[tuple[str, None], str]
) -> pl.DataFrame:
    parts = []
    rows = result.histograms.filter(pl.col("kind") == kind)
    for (name, direction), key in keys.items():
        own = rows.filter(pl.col("name") == name)
        if direction is not None:
            own = own.filter(pl.col("direction") == direction)
        parts.append(thin_distribution(own).with_columns(key=pl.lit(key)))
    return pl.concat(parts) if parts else pl.DataFrame()


def _draw_tail(rows: pl.DataFrame, title: str, *, marks: bool) -> AnyChart:
    chosen = highlight()
    lowest = float(rows["delay_ms"].min())  # type: ignore[arg-type]
    highest = float(rows["delay_ms"].max())  # type: ignore[arg-type]
    domain = (max(lowest * 0.9, 1e-3), max(highest * 1.1, 480 if marks else lowest * 10))
    curves: AnyChart = (
        make_chart(rows)
        .mark_line(strokeWidth=2.2, clip=True)
        .encode(
            x=alt.X(
                "delay_ms:Q",
                title=title,
                axis=log_axis(domain),
                scale=alt.Scale(type="log", domain=list(domain), nice=False),
            ),
            y=alt.Y(
                "share:Q",
                title="share of packets above",
                scale=alt.Scale(type="log", domain=[1e-4, 1]),
                axis=alt.Axis(values=[1, 0.1, 0.01, 1e-3, 1e-4], format="~%"),
            ),
            color=colour(rows),
            strokeDash=dash(rows, smooth=True),
            opacity=fade(chosen),
            tooltip=[
                alt.Tooltip("series:N", title=" "),
                alt.Tooltip("delay_ms:Q", title="ms", format=".4~g"),
                alt.Tooltip("share:Q", title="above", format=".3~%"),
            ],
        )
        .add_params(chosen)
    )
    if not marks:
        return curves
    return alt.layer(
        curves, mark_along(150, "150 ms", "delay_ms"), mark_along(400, "400 ms", "delay_ms")
    )
