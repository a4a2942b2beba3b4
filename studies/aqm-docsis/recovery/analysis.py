"""The time from one burst of losses to the next, of uploads over a long and fast path."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, make_chart
from headend.study import ClaimResult, ClaimVerdict, decide_over_seeds

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


def list_periods(points: pl.DataFrame, congestion: str) -> list[list[int]]:
    """Give the seconds between bursts of each seed, without the first, of slow start."""
    rows = points.filter(pl.col("congestion") == congestion).sort("seed")
    return [
        [later - sooner for sooner, later in itertools.pairwise(find_bursts(series)[1:])]
        for series in rows["discarded"]
    ]


def describe_periods(periods: Sequence[Sequence[int]]) -> str:
    """Write from where to where they go, and how many there are."""
    every = list(itertools.chain(*periods))
    return f"{min(every)} to {max(every)} s over {len(every)} teeth"


def check_period(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the mean time between two bursts of each seed against the range."""
    periods = list_periods(points, limits["congestion"])
    if not periods or not all(periods):
        return ClaimResult("no two bursts of losses", ClaimVerdict.UNTESTABLE)
    means = [sum(own) / len(own) for own in periods]
    return decide_over_seeds(means, limits["least"], limits["most"]).tell(describe_periods(periods))


def check_quicker(points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Hold CUBIC's times between two bursts against NewReno's, seed by seed."""
    reno, cubic = (list_periods(points, congestion) for congestion in ("reno", "cubic"))
    if not cubic or len(reno) != len(cubic) or not all(reno + cubic):
        return ClaimResult("no two bursts of losses", ClaimVerdict.UNTESTABLE)
    gains = [
        sum(slow) / len(slow) - sum(quick) / len(quick)
        for slow, quick in zip(reno, cubic, strict=True)
    ]
    text = f"CUBIC {describe_periods(cubic)}, NewReno {describe_periods(reno)}"
    return decide_over_seeds(gains, low=0.0).tell(text)


def draw_rates(points: pl.DataFrame) -> list[Panel]:
    """Draw what arrives each second, of one seed."""
    first = points.filter(pl.col("seed") == points["seed"].min())
    rows = first.select("congestion", rate=pl.col("rate")).explode("rate")
    rows = rows.with_columns(
        time=pl.int_range(pl.len()).over("congestion") + 1, mbps=pl.col("rate") / 1e6
    )
    names = rows["congestion"].unique(maintain_order=True).to_list()
    tone = vl.Color("congestion:N", title=None, scale=vl.Scale(domain=names, range=list(PALETTE)))
    chart = (
        make_chart(rows)
        .mark_line(strokeWidth=1.5)
        .encode(
            x=vl.X("time:Q", title="time, s"),
            y=vl.Y("mbps:Q", title="throughput, Mbit/s"),
            color=tone,
        )
    )
    return [Panel("", chart)]
