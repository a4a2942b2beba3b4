"""What a slow station of thirty costs the others, behind four access points."""

from __future__ import annotations

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, mark_along
from headend.study import ClaimResult, Decision, decide_over_seeds, join_decisions

from ..access_points import (
    ABOVE,
    NOT_RUN,
    QUEUES,
    Limits,
    average,
    compare,
    draw_dots,
    hold_gain,
    take,
)

#: An even share of the air of those that download, percent.
EVEN = 100 / 29


def share(points: pl.DataFrame) -> pl.DataFrame:
    """Add the slow station's share of the stations' time on the air, in percent."""
    return points.with_columns(share=pl.col("slow_air") * 100 / pl.col("air"))


def check_ratio(points: pl.DataFrame, limits: Limits) -> ClaimResult:
    """Hold the ratio of two totals against the published one."""
    return hold_gain(points, limits, mpdus=limits["mpdus"])


def check_slow(points: pl.DataFrame, limits: Limits) -> ClaimResult:
    """Hold the slow station's share of the air."""
    rows = share(points)
    found = {queues: take(rows, "share", queues=queues, mpdus=limits["mpdus"]) for queues in QUEUES}
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
    gains = {
        mpdus: compare(points, "total", limits["after"], limits["before"], mpdus=mpdus)
        for mpdus in limits["mpdus"]
    }
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
    found = {
        queues: take(points, "ping", queues=queues, mpdus=limits["mpdus"]) for queues in QUEUES
    }
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
        share(points)
        .with_columns(
            pl.col("queues").cast(pl.String),
            frames=pl.format("MPDUs ≤ {}", pl.col("mpdus").cast(pl.String)),
        )
        .group_by("queues", "frames", maintain_order=True)
        .agg(pl.col("total").mean() / 1e6, pl.col("share").mean())
    )
    frames = means["frames"].unique(maintain_order=True).to_list()
    colours = dict(zip(frames, PALETTE, strict=False))
    rows = vl.Y("queues:N", title=None, sort=QUEUES)
    total = vl.X("total:Q", title="total (Mbit/s)")
    percent = vl.X("share:Q", title="share of the air (%)")
    even = mark_along(EVEN, "even: a 29th", "share")
    return [
        Panel("goodput", draw_dots(means, total, rows, "frames", colours)),
        Panel(
            "the slow station",
            vl.layer(even, draw_dots(means, percent, rows, "frames", colours)),
        ),
    ]
