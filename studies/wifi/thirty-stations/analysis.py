"""What a slow station of thirty costs the others, behind four access points."""

from __future__ import annotations

from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, make_chart
from headend.study import (
    ClaimResult,
    ClaimVerdict,
    Decision,
    decide_over_seeds,
    join_decisions,
)

Limits = dict[str, Any]

#: The access points in the order of the paper.
QUEUES = ["FIFO", "FQ-CoDel", "FQ-MAC", "Airtime"]

#: An even share of the air of those that download, percent.
EVEN = 100 / 29

#: Above a bound, and not at it.
ABOVE = 1e-9

NOT_RUN = ClaimResult("no such run", ClaimVerdict.UNTESTABLE)


def take(points: pl.DataFrame, column: str, queues: str, mpdus: int) -> list[float]:
    """Give a column of an access point's runs, a value for each seed; nothing if not run."""
    rows = points.filter(pl.col("queues") == queues, pl.col("mpdus") == mpdus).sort("seed")
    return rows[column].cast(pl.Float64).to_list()


def average(values: list[float]) -> float:
    """Give the mean of the seeds."""
    return sum(values) / len(values)


def find_gain(points: pl.DataFrame, limits: Limits, mpdus: int) -> list[float]:
    """Give the total with one access point over that with another, seed by seed."""
    after, before = (take(points, "total", limits[own], mpdus) for own in ("after", "before"))
    return [one / other for one, other in zip(after, before, strict=True)]


def find_shares(points: pl.DataFrame, queues: str, mpdus: int) -> list[float]:
    """Give the slow station's share of the stations' time on the air, in percent."""
    rows = points.with_columns(share=pl.col("slow_air") * 100 / pl.col("air"))
    return take(rows, "share", queues, mpdus)


def check_ratio(points: pl.DataFrame, limits: Limits) -> ClaimResult:
    """Hold the ratio of two totals against the published one."""
    gain = find_gain(points, limits, limits["mpdus"])
    if not gain:
        return NOT_RUN
    totals = " and ".join(
        f"{average(take(points, 'total', limits[own], limits['mpdus'])) / 1e6:.1f}"
        for own in ("before", "after")
    )
    wanted, within = limits["ratio"], limits["within"]
    decision = decide_over_seeds(gain, wanted * (1 - within), wanted * (1 + within))
    return decision.tell(f"{decision.mean:.2f} times: {totals} Mbit/s")


def check_slow(points: pl.DataFrame, limits: Limits) -> ClaimResult:
    """Hold the slow station's share of the air."""
    found = {queues: find_shares(points, queues, limits["mpdus"]) for queues in QUEUES}
    if not all(found.values()):
        return NOT_RUN
    wanted, within = limits["share"], limits["within"]
    decisions: list[Decision] = []
    for queues, own in found.items():
        if queues == "Airtime":
            decisions.append(decide_over_seeds(own, wanted - within, wanted + within))
        else:
            decisions.append(decide_over_seeds(own, limits["factor"] * wanted))
    told = ", ".join(f"{average(own):.1f} % ({queues})" for queues, own in found.items())
    return join_decisions(decisions, told)


def check_frames(points: pl.DataFrame, limits: Limits) -> ClaimResult:
    """Hold that the gain grows from each size of frames to the next."""
    gains = {mpdus: find_gain(points, limits, mpdus) for mpdus in limits["mpdus"]}
    if not all(gains.values()):
        return NOT_RUN
    steps = zip(limits["mpdus"], limits["mpdus"][1:], strict=False)
    rises = [
        [more - less for less, more in zip(gains[one], gains[other], strict=True)]
        for one, other in steps
    ]
    told = ", ".join(f"{average(own):.2f} times (at most {mpdus})" for mpdus, own in gains.items())
    return join_decisions([decide_over_seeds(own, low=ABOVE) for own in rises], told)


def check_quiet(points: pl.DataFrame, limits: Limits) -> ClaimResult:
    """Hold that a ping takes least with Airtime."""
    found = {queues: take(points, "ping", queues, limits["mpdus"]) for queues in QUEUES}
    if not all(found.values()):
        return NOT_RUN
    airtime = found["Airtime"]
    longer = [
        [other - own for other, own in zip(found[queues], airtime, strict=True)]
        for queues in QUEUES
        if queues != "Airtime"
    ]
    told = ", ".join(f"{average(own) / 1e6:.0f} ms ({queues})" for queues, own in found.items())
    return join_decisions([decide_over_seeds(own, low=ABOVE) for own in longer], told)


def draw_totals(points: pl.DataFrame) -> list[Panel]:
    """Draw the totals and the slow station's share by access point and size of frames."""
    means = (
        points.with_columns(
            pl.col("queues").cast(pl.String),
            share=pl.col("slow_air") * 100 / pl.col("air"),
            frames=pl.format("at most {}", pl.col("mpdus").cast(pl.String)),
        )
        .group_by("queues", "frames", maintain_order=True)
        .agg(pl.col("total").mean() / 1e6, pl.col("share").mean())
    )
    frames = means["frames"].unique(maintain_order=True).to_list()
    colours = vl.Color(
        "frames:N", title=None, scale=vl.Scale(domain=frames, range=PALETTE[: len(frames)])
    )
    dots = make_chart(means).mark_point(filled=True, size=60)
    rows = vl.Y("queues:N", title=None, sort=QUEUES)
    even = make_chart(pl.DataFrame({"share": [EVEN]})).mark_rule(strokeDash=[4, 3])
    return [
        Panel(
            "goodput",
            dots.encode(x=vl.X("total:Q", title="total (Mbit/s)"), y=rows, color=colours),
        ),
        Panel(
            "the slow station",
            vl.layer(
                even.encode(x="share:Q"),
                dots.encode(x=vl.X("share:Q", title="share of the air (%)"), y=rows, color=colours),
            ),
        ),
    ]
