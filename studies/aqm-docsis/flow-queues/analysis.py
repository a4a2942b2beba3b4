"""Latency and loss of a call that shares its queue, or has one of its own."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, make_chart
from headend.study.claims import Finding, decide
from headend.study.disciplines import DISCIPLINES, SLOTS

ISOLATIONS = {
    "hashed": "32 queues, hashed",
    "set_associative": "32 queues, sets of 8",
    "perfect": "a queue for each flow",
}


def take_apart(points: pl.DataFrame) -> pl.DataFrame:
    """Give the algorithm and the isolation columns of their own."""
    parts = pl.col("queue").str.split("/")
    return points.with_columns(algorithm=parts.list.get(0), isolation=parts.list.get(1))


def check_suffers(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Count runs in which the call waits long, with hashed queues and with queues of their own."""
    bound = limits["above_ms"] * 1e6
    shares, found = {}, []
    for isolation, name in ISOLATIONS.items():
        delays = take_apart(points).filter(isolation=isolation)["p90"].cast(pl.Float64).to_list()
        if not delays:
            continue
        slow = sum(delay > bound for delay in delays)
        shares[isolation] = slow / len(delays)
        found.append(
            f"{name}: {slow} of {len(delays)}, {min(delays) / 1e6:.1f} to {max(delays) / 1e6:.1f} ms"
        )
    agrees = shares.get("hashed", 0) > 0.5 and shares.get("perfect", 1) == 0
    return Finding("; ".join(found), decide(agrees))


def check_no_loss(points: pl.DataFrame, _limits: dict[str, Any]) -> Finding:
    """Count the packets that the call lost."""
    lost = {
        isolation: float(take_apart(points).filter(isolation=isolation)["lost"].sum())
        for isolation in ISOLATIONS
    }
    text = ", ".join(f"{ISOLATIONS[isolation]}: {count:.0f}" for isolation, count in lost.items())
    return Finding(f"packets lost: {text}", decide(lost["perfect"] == 0))


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
            x=alt.X("value:Q", title="90th percentile latency (ms)"),
            y=alt.Y("name:N", title=None, sort=list(ISOLATIONS.values()), axis=alt.Axis(grid=True)),
            yOffset=alt.YOffset("kind:N"),
            color=alt.Color("kind:N", title=None, scale=alt.Scale(domain=kinds, range=tones)),
            tooltip=["kind:N", "name:N", alt.Tooltip("value:Q", format=".3~g"), "seed:O"],
        )
    )
    return [Panel("", chart.properties(height=160))]
