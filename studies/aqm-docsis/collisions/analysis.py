"""The 90th percentile latency of calls behind SFQ algorithms, hash by hash."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from headend.analysis.estimate import estimate_mean
from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, log_axis, make_chart
from headend.study import ClaimResult, ClaimVerdict, decide_over_seeds, join_decisions

from ..disciplines import DISCIPLINES
from ..pooling import find_percentile, pool

#: The paper's 90th percentile, and what a packet hardly ever waits without sharing its queue, ms.
PUBLISHED, SHARED = 13.0, 25.0


#: Cells that are put together, and what figures and findings call them: the paper's, and both
#: readings without congestion.
CELLS = {
    "scheduled at the MAP": ("none", "heavy"),
    "at the MAP, no congestion": ("none",),
    "at the request, no congestion": ("none, request",),
}
PAPER, *APART = CELLS


def list_latencies(points: pl.DataFrame, queue: str, cells: str = PAPER) -> list[float]:
    """Give the 90th percentile latency, ms, of some cells together: a value for each seed."""
    rows = points.filter(pl.col("rf").is_in(CELLS[cells]), queue=queue).sort("seed")
    found = []
    for own in rows.partition_by("seed", maintain_order=True):
        parts = [np.asarray(delays, dtype=float)[1:] / 1e6 for delays in own["delays"].to_list()]
        found.append(find_percentile(*pool(parts, own["sent"].to_list()), 90))
    return found


def list_queues(points: pl.DataFrame) -> list[str]:
    """Give the queues that were run."""
    return [str(queue) for queue in points["queue"].unique(maintain_order=True).to_list()]


def check_latency(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the mean over the hashes against the range; one queue that differs is enough."""
    finding = judge(points, limits, PAPER)
    for cells in APART:
        other = judge(points, limits, cells)
        text = f"{finding.measured}; {cells} ({other.verdict}): {other.measured}"
        finding = replace(finding, measured=text)
    return finding


def judge(points: pl.DataFrame, limits: dict[str, Any], cells: str) -> ClaimResult:
    """Hold the mean over the hashes against the range, for some cells."""
    decisions, found, why = [], [], []
    for queue in list_queues(points):
        values = list_latencies(points, queue, cells)
        if not values:
            continue
        decision = decide_over_seeds(values, limits["least"], limits["most"])
        decisions.append(decision)
        half = estimate_mean(values).half
        told = "" if np.isnan(half) else f" ± {half:.1f}"
        found.append(
            f"{DISCIPLINES[queue]} {decision.mean:.1f}{told} ms, median {np.median(values):.1f}"
        )
        shared = [value for value in values if value > SHARED]
        alone = [value for value in values if value <= SHARED]
        told = f"{min(alone):.1f} to {max(alone):.1f} ms" if alone else "none"
        why.append(
            f"{DISCIPLINES[queue]}: {len(shared)} of {len(values)} hashes above {SHARED:g} ms, the"
            f" others {told}"
        )
    if not decisions:
        return ClaimResult("not run", ClaimVerdict.UNTESTABLE)
    return join_decisions(decisions, "; ".join(found), "; ".join(why))


def draw_hashes(points: pl.DataFrame) -> list[Panel]:
    """Draw each seed's 90th percentile."""
    rows = pl.DataFrame(
        [
            {"name": f"{DISCIPLINES[queue]}, {cells}", "value": value}
            for queue in list_queues(points)
            for cells in CELLS
            for value in list_latencies(points, queue, cells)
        ]
    )
    marks = (
        make_chart(rows)
        .mark_point(filled=True, size=70, opacity=0.7, color=PALETTE[0])
        .encode(
            x=vl.X(
                "value:Q",
                title="90th percentile latency (ms)",
                scale=vl.Scale(type="log", domain=[3, 300], nice=False, clamp=True),
                axis=log_axis((3, 300)),
            ),
            y=vl.Y("name:N", title=None, sort=None, axis=vl.Axis(labelLimit=260)),
            tooltip=["name:N", vl.Tooltip("value:Q", format=".1f")],
        )
    )
    paper = (
        make_chart(pl.DataFrame({"value": [PUBLISHED]}))
        .mark_rule(strokeDash=[4, 3])
        .encode(x="value:Q")
    )
    return [Panel("", vl.layer(marks, paper).properties(height=200))]
