"""Latency and loss of a call that shares its queue, or has one of its own."""

from __future__ import annotations

from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, make_chart
from headend.study import ClaimResult, decide, decide_over_seeds, join_decisions

from ..disciplines import DISCIPLINES, SLOTS

ISOLATIONS = {
    "hashed": "32 queues, hashed",
    "set_associative": "32 queues, sets of 8",
    "perfect": "a queue for each flow",
}

#: What a call that shares its queue with nobody lost.
WHY_ALONE = (
    "SFQ-PIE's law dropped it, with room in the buffer (seed 5). §4.6 spares a packet that comes to"
    " an empty queue, and the call waits for 14 ms there, so that a packet may find another before"
    " it"
)


def take_apart(points: pl.DataFrame) -> pl.DataFrame:
    """Give the algorithm and the isolation columns of their own."""
    parts = pl.col("queue").str.split("/")
    return points.with_columns(algorithm=parts.list.get(0), isolation=parts.list.get(1))


def check_suffers(points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Hold the call's latency with hashed queues against that with its own, seed by seed."""
    rows = take_apart(points).sort("seed")
    decisions, found = [], []
    for algorithm in rows["algorithm"].unique(maintain_order=True).to_list():
        delays = {
            isolation: [
                float(delay) / 1e6
                for delay in rows.filter(algorithm=algorithm, isolation=isolation)["p90"]
            ]
            for isolation in ISOLATIONS
        }
        pairs = zip(delays["hashed"], delays["perfect"], strict=True)
        decisions.append(decide_over_seeds([shared - own for shared, own in pairs], low=0.0))
        told = ", ".join(
            f"{ISOLATIONS[isolation]} {min(own):.1f} to {max(own):.1f} ms"
            for isolation, own in delays.items()
            if own
        )
        found.append(f"{DISCIPLINES[algorithm]}: {told}")
    return join_decisions(decisions, "; ".join(found))


def check_no_loss(points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Count the packets that the call lost."""
    lost = {
        isolation: float(take_apart(points).filter(isolation=isolation)["lost"].sum())
        for isolation in ISOLATIONS
    }
    text = ", ".join(f"{ISOLATIONS[isolation]}: {count:.0f}" for isolation, count in lost.items())
    agrees = lost["perfect"] == 0
    return ClaimResult(f"packets lost: {text}", decide(agrees), why="" if agrees else WHY_ALONE)


def draw_latency(points: pl.DataFrame) -> list[Panel]:
    """Draw each run's 90th percentile latency."""
    rows = take_apart(points).with_columns(
        name=pl.col("isolation").replace_strict(ISOLATIONS),
        kind=pl.col("algorithm").replace_strict(DISCIPLINES),
        value=pl.col("p90") / 1e6,
    )
    run = set(rows["algorithm"].to_list())
    kinds = [name for queue, name in DISCIPLINES.items() if queue in run]
    tones = [PALETTE[SLOTS[queue]] for queue in DISCIPLINES if DISCIPLINES[queue] in kinds]
    chart = (
        make_chart(rows)
        .mark_point(filled=True, size=70, opacity=0.8)
        .encode(
            x=vl.X("value:Q", title="90th percentile latency (ms)"),
            y=vl.Y("name:N", title=None, sort=list(ISOLATIONS.values()), axis=vl.Axis(grid=True)),
            yOffset=vl.YOffset("kind:N"),
            color=vl.Color("kind:N", title=None, scale=vl.Scale(domain=kinds, range=tones)),
            tooltip=["kind:N", "name:N", vl.Tooltip("value:Q", format=".3~g"), "seed:O"],
        )
    )
    return [Panel("", chart.properties(height=160))]
