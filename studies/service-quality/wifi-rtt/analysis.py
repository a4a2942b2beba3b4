"""Round-trip times beside a download in an 802.11b cell, by packet size and rate."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, make_chart
from headend.study import ClaimResult, ClaimVerdict, decide_over_seeds, join_decisions

#: What the text reads off Figure 4: packet size, idle and loaded round trip in ms.
PUBLISHED = {512: (2.6, 120), 1000: (2.6, 70), 1200: (2.6, 67), 1500: (2.6, 55)}

#: The knees of Figure 5 in Mb/s by packet size.
KNEES = {512: 2.0, 1000: 3.0, 1200: 3.0, 1500: 4.0}


def average(points: pl.DataFrame) -> pl.DataFrame:
    """Give a row for each packet size and limit: means over seeds, in ms and Mb/s."""
    groups = points.group_by("mtu", "limit", maintain_order=True)
    rows = groups.agg(pl.col("rtt").mean() / 1e6)
    return rows.with_columns(mbps=pl.col("limit").cast(pl.Float64, strict=False))


def list_rtts(points: pl.DataFrame, mtu: int, limit: str) -> list[float]:
    """Give the round trips of one cell of the grid in ms, a seed after the other."""
    return (points.filter(mtu=mtu, limit=limit).sort("seed")["rtt"] / 1e6).to_list()


def list_carried(points: pl.DataFrame, mtu: int) -> list[float]:
    """Give what the cell carries of an unlimited download, Mb/s of IP, by seed."""
    fastest = points.filter(pl.col("mtu") == mtu, pl.col("limit") != "idle")
    limit = max(fastest["limit"].unique(), key=float)
    return (fastest.filter(limit=limit).sort("seed")["carried"] / 1e6).to_list()


def check_rtt(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold round trips at one limit against what was read off."""
    decisions, texts = [], []
    for mtu, (low, high) in limits["expected_ms"].items():
        times = list_rtts(points, int(mtu), limits["limit"])
        if times:
            decisions.append(decide_over_seeds(times, low, high))
            texts.append(f"{decisions[-1].mean:.1f} ms ({mtu} B)")
    if not decisions:
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    return join_decisions(decisions, ", ".join(texts), limits.get("why", ""))


def check_order(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """See whether larger packets make shorter round trips."""
    rows = points.filter(limit=limits["limit"])
    sizes = rows["mtu"].unique().sort().to_list()
    times = [list_rtts(points, mtu, limits["limit"]) for mtu in sizes]
    falls = [
        decide_over_seeds([a - b for a, b in zip(smaller, larger, strict=True)], low=0.0)
        for smaller, larger in pairwise(times)
    ]
    means = [f"{sum(seeds) / len(seeds):.1f}" for seeds in times]
    if not falls:
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    return join_decisions(falls, " > ".join(means) + " ms")


def find_knee(times: Sequence[tuple[float, float]], level: float) -> float | None:
    """Give the rate at which a curve of rates and round trips passes a level, interpolated."""
    for (rate, time), (next_rate, next_time) in pairwise(times):
        if time < level <= next_time:
            return rate + (level - time) / (next_time - time) * (next_rate - rate)
    return None


def list_knees(points: pl.DataFrame, mtu: int, times_idle: float | None) -> list[float]:
    """Give each seed's knee: where so many idle round trips are passed, or half of the rise."""
    rows = points.with_columns(mbps=pl.col("limit").cast(pl.Float64, strict=False))
    knees = []
    for part in rows.filter(mtu=mtu).sort("seed").partition_by("seed", maintain_order=True):
        curve = part.filter(pl.col("mbps").is_not_null()).sort("mbps")
        times: list[float] = (curve["rtt"] / 1e6).to_list()
        idle = list_rtts(part, mtu, "idle")
        if len(times) < 3 or not idle:
            continue
        level = (min(times) + max(times)) / 2 if times_idle is None else times_idle * idle[0]
        knee = find_knee(list(zip(curve["mbps"].to_list(), times, strict=True)), level)
        knees += [] if knee is None else [knee]
    return knees


def check_knee(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the knees against what was read off."""
    decisions, texts = [], []
    for mtu, (low, high) in limits["expected_mbps"].items():
        knees = list_knees(points, int(mtu), limits["times_idle"])
        middles = list_knees(points, int(mtu), None)
        if knees and middles:
            decisions.append(decide_over_seeds(knees, low, high))
            half = sum(middles) / len(middles)
            most = list_carried(points, int(mtu))
            texts.append(
                f"{decisions[-1].mean:.1f} Mb/s ({mtu} B; half of the way at {half:.1f}; the cell"
                f" carries {sum(most) / len(most):.1f})"
            )
    if not decisions:
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    return join_decisions(decisions, ", ".join(texts), limits.get("why", ""))


def draw_loaded(points: pl.DataFrame) -> list[Panel]:
    """Draw idle and loaded round trips by packet size, with what the text reads off."""
    rows = average(points).filter(pl.col("limit").is_in(["idle", "100"]))
    rows = rows.with_columns(
        state=pl.when(pl.col("limit") == "idle").then(pl.lit("idle")).otherwise(pl.lit("loaded")),
        size=pl.format("{} B", "mtu"),
    )
    published = pl.DataFrame(
        [
            {"size": f"{mtu} B", "state": state, "rtt": value}
            for mtu, values in PUBLISHED.items()
            for state, value in zip(("idle", "loaded"), values, strict=True)
        ]
    )
    sizes = [f"{mtu} B" for mtu in PUBLISHED]
    x = vl.X("size:N", title="packet size (MTU)", sort=sizes, axis=vl.Axis(labelAngle=0))
    y = vl.Y("rtt:Q", title="round-trip time, ms")
    offset = vl.XOffset("state:N", sort=["idle", "loaded"])
    tone = vl.Color(
        "state:N",
        title=None,
        scale=vl.Scale(domain=["idle", "loaded"], range=list(PALETTE[:2])),
    )
    bars = make_chart(rows).mark_bar().encode(x=x, y=y, xOffset=offset, color=tone)
    dots = (
        make_chart(published)
        .mark_point(filled=True, size=60, color="#24292f", shape="diamond")
        .encode(x=x, y=y, xOffset=offset)
    )
    return [Panel("", vl.layer(bars, dots))]


def draw_limits(points: pl.DataFrame) -> list[Panel]:
    """Draw round trips against the server's rate limit, with the published knees."""
    rows = average(points).filter(pl.col("mbps").is_not_null())
    rows = rows.with_columns(size=pl.format("{} B", "mtu"))
    sizes = [f"{mtu} B" for mtu in PUBLISHED]
    knees = pl.DataFrame({"size": sizes, "mbps": [KNEES[mtu] for mtu in PUBLISHED]})
    tone = vl.Color("size:N", title=None, scale=vl.Scale(domain=sizes, range=list(PALETTE[:4])))
    scale = vl.Scale(type="log", domain=[0.5, 100], nice=False)
    x = vl.X("mbps:Q", title="the server's rate limit, Mbit/s", scale=scale)
    chart = (
        make_chart(rows)
        .mark_line(point=True)
        .encode(x=x, y=vl.Y("rtt:Q", title="round-trip time, ms"), color=tone)
    )
    marks = make_chart(knees).mark_rule(strokeDash=[4, 3]).encode(x=x, color=tone)
    return [Panel("", vl.layer(marks, chart))]
