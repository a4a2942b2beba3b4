"""Latency of a call and share of an upload, by what a tunnel carries."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, make_chart
from headend.study import ClaimResult, ClaimVerdict, decide_over_seeds, join_decisions

from ..disciplines import DISCIPLINES

QUEUES = {**DISCIPLINES, "fq-codel": "FQ-CoDel"}

#: What the tunnel carries, and how it is called.
TUNNELS = {
    "none": "no tunnel",
    "uploads": "uploads in the tunnel",
    "all": "uploads and call in the tunnel",
}


def list_delays(points: pl.DataFrame, queue: str, tunnel: str) -> list[float]:
    """Give the call's 90th percentile latency of each seed, ms."""
    rows = points.filter(queue=queue, tunnel=tunnel).sort("seed")
    return [float(delay) / 1e6 for delay in rows["p90"]]


def list_shares(points: pl.DataFrame, queue: str, tunnel: str) -> list[float]:
    """Give the share of the goodput that the upload outside gets, seed by seed."""
    rows = points.filter(queue=queue, tunnel=tunnel).sort("seed")
    together = rows["near"] + rows["far"] + rows["other"]
    return [float(share) for share in rows["other"] / together]


def find_extra(longer: list[float], shorter: list[float]) -> list[float]:
    """Give by how much one is longer than the other, seed by seed."""
    return [one - other for one, other in zip(longer, shorter, strict=True)]


def check_issues(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the flow queues against the single queues, with everything in the tunnel."""
    decisions, found = [], []
    for queue in limits["flow_queues"]:
        inside = list_delays(points, queue, "all")
        if not inside:
            continue
        apart = np.median(list_delays(points, queue, "none"))
        found.append(
            f"{QUEUES[queue]} {np.median(inside):.1f} ms in the tunnel, {apart:.1f} without"
        )
        for single in limits["single"]:
            if beside := list_delays(points, single, "all"):
                decisions.append(decide_over_seeds(find_extra(inside, beside), low=0.0))
    found += [
        f"{QUEUES[single]} {np.median(beside):.1f} ms in the tunnel"
        for single in limits["single"]
        if (beside := list_delays(points, single, "all"))
    ]
    if not decisions:
        return ClaimResult("not run", ClaimVerdict.UNTESTABLE)
    return join_decisions(decisions, f"medians over the seeds: {'; '.join(found)}")


def check_call(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the call inside and outside the tunnel of the uploads against no tunnel."""
    decisions, found = [], []
    for queue in limits["flow_queues"]:
        none, outside, inside = (list_delays(points, queue, tunnel) for tunnel in TUNNELS)
        if not none:
            continue
        decisions.append(decide_over_seeds(find_extra(inside, none), low=0.0))
        decisions.append(decide_over_seeds(find_extra(outside, none), high=limits["within_ms"]))
        told = ", ".join(
            f"{name} {np.median(delays):.1f} ms (up to {max(delays):.1f})"
            for name, delays in zip(TUNNELS.values(), (none, outside, inside), strict=True)
        )
        found.append(f"{QUEUES[queue]}: {told}")
    if not decisions:
        return ClaimResult("not run", ClaimVerdict.UNTESTABLE)
    return join_decisions(decisions, f"medians over the seeds: {'; '.join(found)}")


def check_share(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the share of the upload outside against what is expected."""
    decisions, found = [], []
    for queue in [*limits["flow_queues"], *limits["single"]]:
        apart, inside = (list_shares(points, queue, tunnel) for tunnel in ("none", "uploads"))
        if not apart:
            continue
        if queue in limits["flow_queues"]:
            decisions.append(decide_over_seeds(inside, low=limits["least"]))
        found.append(f"{QUEUES[queue]} {np.mean(inside):.0%} (no tunnel {np.mean(apart):.0%})")
    if not decisions:
        return ClaimResult("not run", ClaimVerdict.UNTESTABLE)
    return join_decisions(decisions, "; ".join(found))


def draw_latency(points: pl.DataFrame) -> list[Panel]:
    """Draw each run's latency of the call."""
    rows = _name(points).with_columns(value=pl.col("p90") / 1e6)
    return [Panel("", _draw_points(rows, vl.X("value:Q", title="90th percentile latency (ms)")))]


def draw_share(points: pl.DataFrame) -> list[Panel]:
    """Draw each run's share of the upload outside."""
    together = pl.col("near") + pl.col("far") + pl.col("other")
    rows = _name(points).with_columns(value=pl.col("other") / together)
    x = vl.X("value:Q", title="share of the goodput", axis=vl.Axis(format="~%"))
    even = (
        make_chart(pl.DataFrame({"value": [1 / 7]}))
        .mark_rule(strokeDash=[4, 3])
        .encode(x="value:Q")
    )
    return [Panel("", vl.layer(even, _draw_points(rows, x)))]


def _name(points: pl.DataFrame) -> pl.DataFrame:
    return points.with_columns(
        name=pl.col("queue").replace_strict(QUEUES), kind=pl.col("tunnel").replace_strict(TUNNELS)
    )


def _draw_points(rows: pl.DataFrame, x: vl.X) -> vl.Chart:
    kinds = list(TUNNELS.values())
    tones = vl.Scale(domain=kinds, range=list(PALETTE[: len(kinds)]))
    chart = (
        make_chart(rows)
        .mark_point(filled=True, size=50, opacity=0.8)
        .encode(
            x=x,
            y=vl.Y("name:N", title=None, sort=list(QUEUES.values()), axis=vl.Axis(grid=True)),
            yOffset=vl.YOffset("kind:N", sort=kinds),
            color=vl.Color("kind:N", title=None, sort=kinds, scale=tones),
            tooltip=["name:N", "kind:N", vl.Tooltip("value:Q", format=".3~g"), "seed:O"],
        )
    )
    return chart.properties(height=320)
