"""The time from one burst of losses to the next, of uploads over a long and fast path."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, make_chart
from headend.study.claims import Finding, Verdict, decide

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Losses so many seconds apart belong to one burst: its repair takes a few round trips.
BURST_S = 5


def find_bursts(discarded: Sequence[float]) -> list[int]:
    """Give the seconds in which bursts of losses begin."""
    starts: list[int] = []
    last = -BURST_S - 1
    for second, lost in enumerate(discarded):
        if lost > 0:
            if second - last > BURST_S:
                starts.append(second)
            last = second
    return starts


def list_periods(points: pl.DataFrame, congestion: str) -> list[int]:
    """Give the seconds between bursts of all runs; the first, which ends slow start, is left out."""
    periods = []
    for series in points.filter(pl.col("congestion") == congestion)["discarded"]:
        starts = find_bursts(series)[1:]
        periods += [later - sooner for sooner, later in itertools.pairwise(starts)]
    return periods


def check_period(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Hold every time between two bursts against the range."""
    periods = list_periods(points, limits["congestion"])
    if not periods:
        return Finding("no two bursts of losses", Verdict.UNTESTABLE)
    text = f"{min(periods)} to {max(periods)} s over {len(periods)} teeth"
    return Finding(text, decide(limits["least"] <= min(periods) and max(periods) <= limits["most"]))


def check_plateau(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Hold the times between bursts against the time to the plateau."""
    finding = check_period(points, limits)
    if finding.verdict is not Verdict.DIFFERS:
        return finding
    why = "the plateau is nearly as high as the last window long before K, and the buffer overflows a few packets below it: 1.6 % below, 8 s are enough"
    return Finding(finding.measured, finding.verdict, why=why)


def draw_rates(points: pl.DataFrame) -> list[Panel]:
    """Draw what arrives each second, of one seed."""
    first = points.filter(pl.col("seed") == points["seed"].min())
    rows = first.select("congestion", rate=pl.col("rate")).explode("rate")
    rows = rows.with_columns(
        time=pl.int_range(pl.len()).over("congestion") + 1, mbps=pl.col("rate") / 1e6
    )
    names = rows["congestion"].unique(maintain_order=True).to_list()
    tone = alt.Color("congestion:N", title=None, scale=alt.Scale(domain=names, range=list(PALETTE)))
    chart = (
        make_chart(rows)
        .mark_line(strokeWidth=1.5)
        .encode(
            x=alt.X("time:Q", title="time, s"),
            y=alt.Y("mbps:Q", title="throughput, Mbit/s"),
            color=tone,
        )
    )
    return [Panel("", chart)]
