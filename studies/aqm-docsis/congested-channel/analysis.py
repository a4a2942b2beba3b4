"""Delay of a game behind DOCSIS-PIE that knows of the channel's congestion, or does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from headend.analysis.estimate import estimate_difference
from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import colour, make_chart, share_axis
from headend.study import ClaimResult, decide, decide_over_seeds, join_decisions

#: What is compared, and how it is called.
PERCENTILES = {"median": "median", "p90": "90th percentile", "p99": "99th percentile"}

#: Where the two differ on a free channel.
WHY_FREE = (
    "no cause was found. In trials of twenty seeds the median's interval held zero with CUBIC in"
    " place of NewReno, with grants at the beginning of each MAP, and with packets drawn at the"
    " burst"
)

#: Curves of the figure.
CURVES = (
    ("free", "token_buckets", "free channel, token buckets"),
    ("free", "grants", "free channel, grants"),
    ("30 %", "token_buckets", "30 %, token buckets"),
    ("30 %", "grants", "30 %, grants"),
)


def pair(points: pl.DataFrame, capacity: str, column: str) -> tuple[Any, Any]:
    """Give a column with token buckets and with grants, seed by seed."""
    rows = points.filter(pl.col("capacity") == capacity).sort("seed")
    buckets, grants = (
        rows.filter(pl.col("estimate") == estimate)[column].cast(pl.Float64).to_numpy()
        for estimate in ("token_buckets", "grants")
    )
    return buckets, grants


def check_congested(points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Look whether grants are better, percentile by percentile."""
    decisions, found = [], []
    for column, name in PERCENTILES.items():
        buckets, grants = pair(points, "30 %", column)
        decisions.append(decide_over_seeds((buckets - grants).tolist(), low=0.0))
        found.append(f"{name} {grants.mean() / 1e6:.1f} ms instead of {buckets.mean() / 1e6:.1f}")
    return join_decisions(decisions, "; ".join(found))


def check_free(points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Compare the two where nothing is congested."""
    agrees, found = True, []
    for column, name in PERCENTILES.items():
        buckets, grants = pair(points, "free", column)
        difference = estimate_difference(grants / 1e6, buckets / 1e6)
        agrees &= not difference.is_clear
        found.append(
            f"{name} {grants.mean() / 1e6:.1f} ms beside {buckets.mean() / 1e6:.1f}"
            f" ({difference.low:+.2f} to {difference.high:+.2f} ms)"
        )
    return ClaimResult("; ".join(found), decide(agrees), why="" if agrees else WHY_FREE)


def draw_delay(points: pl.DataFrame) -> list[Panel]:
    """Draw the four distributions of the game's delay."""
    frames = []
    for slot, (capacity, estimate, name) in enumerate(CURVES):
        rows = points.filter(capacity=capacity, estimate=estimate)
        delays = np.mean(rows["delays"].to_list(), axis=0) / 1e6
        frame = pl.DataFrame({"delay_ms": delays, "share": np.arange(101) / 100})
        frames.append(frame.with_columns(series=pl.lit(name), slot=pl.lit(slot)))
    rows = pl.concat(frames)
    chart = (
        make_chart(rows)
        .mark_line(strokeWidth=2.2)
        .encode(
            x=vl.X("delay_ms:Q", title="one-way delay upstream (ms)"),
            y=share_axis("packets"),
            order="share:Q",
            color=colour(rows),
            tooltip=["series:N", vl.Tooltip("delay_ms:Q", format=".3~g"), "share:Q"],
        )
    )
    return [Panel("", chart)]
