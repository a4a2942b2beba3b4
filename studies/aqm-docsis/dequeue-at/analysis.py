"""Queue disciplines behind a modem that draws packets at the MAP, or at their burst."""

from __future__ import annotations

from statistics import median
from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, make_chart
from headend.study import ClaimResult, decide, decide_over_seeds, join_decisions

NAMES = {
    "codel": "CoDel",
    "pie": "PIE",
    "docsis_pie": "DOCSIS-PIE",
    "sfq_codel": "SFQ-CoDel",
}

#: The service of each generation, Mb/s.
RATES = {"docsis30": 50, "docsis31": 200}

#: What tells one line from another.
LINE = ["generation", "map_ms"]

#: What the generations are called.
GENERATIONS = {"docsis30": "DOCSIS 3.0", "docsis31": "DOCSIS 3.1"}


def pair(points: pl.DataFrame, queue: str) -> list[dict[str, Any]]:
    """Give a row for each line, with lists over the seeds, measured at map and burst."""
    keys = [*LINE, "dequeue_at"]
    columns = pl.exclude(*keys, "queue", "seed")
    rows = points.filter(queue=queue).sort("seed").group_by(keys, maintain_order=True).agg(columns)
    at_map, at_burst = (rows.filter(dequeue_at=place) for place in ("map", "burst"))
    return at_map.join(at_burst, on=LINE, suffix="_burst", maintain_order="left").to_dicts()


def check_flow_queuing(points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Compare the game's delay with SFQ-CoDel and with own queues, by line and seed."""
    decisions, found = [], []
    for row in pair(points, "sfq_codel perfect"):
        longer = [
            (early - late) / 1e6 for early, late in zip(row["game"], row["game_burst"], strict=True)
        ]
        decisions.append(decide_over_seeds(longer, low=0.0))
        early, late = (median(row[column]) / 1e6 for column in ("game", "game_burst"))
        found.append(f"{_name(row)} {early:.2f} ms instead of {late:.2f}")
    return join_decisions(decisions, "medians over the seeds: " + "; ".join(found))


def check_benefit(points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Compare SFQ-CoDel and own queues, drawn at the MAP, with single queues; count the worse."""
    shares: list[float] = []
    alone: list[float] = []
    shared: list[float] = []
    names = ("sfq_codel perfect", "sfq_codel", "codel", "pie", "docsis_pie")
    for own, hashed, *singles in zip(*(pair(points, name) for name in names), strict=True):
        for delay, other, *alike in zip(
            own["game"], hashed["game"], *(single["game"] for single in singles), strict=True
        ):
            best = min(alike)
            shares.append(delay / best)
            (alone if other < best else shared).append(other / 1e6)
    text = f"{min(shares):.0%} to {max(shares):.0%} of the shortest of the single queues"
    why = (
        f"With hashing in no run longer than with a single queue, at most {max(alone):.1f} ms"
        if alone
        else ""
    )
    if alone and shared:
        why = (
            f"With hashing the game meets an upload's packets in their queue in {len(shared)} of"
            f" {len(alone) + len(shared)} runs, and waits {min(shared):.0f} to {max(shared):.0f}"
            f" ms; in the others {min(alone):.1f} to {max(alone):.1f} ms"
        )
    return ClaimResult(text, decide(max(shares) < 1), why=why)


def draw_game(points: pl.DataFrame) -> list[Panel]:
    """Draw the game's delay with each discipline, a panel for each line."""
    panels = []
    for generation in GENERATIONS:
        for map_ms in points["map_ms"].unique().sort():
            rows = (
                points.filter(pl.col("queue").is_in(list(NAMES)))
                .filter(generation=generation, map_ms=map_ms)
                .group_by("queue", "dequeue_at", maintain_order=True)
                .agg(delay_ms=pl.col("game").median() / 1e6)
                .with_columns(
                    pl.col("queue").replace(NAMES),
                    series=pl.lit("drawn at the ") + pl.col("dequeue_at"),
                )
            )
            title = f"{GENERATIONS[generation]}, {RATES[generation]} Mb/s, MAPs every {map_ms} ms"
            panels.append(Panel(title, _draw_bars(rows), f"game-delay-{generation}-{map_ms}ms"))
    return panels


def _draw_bars(rows: pl.DataFrame) -> vl.Chart:
    names, series = list(NAMES.values()), ["drawn at the map", "drawn at the burst"]
    base = make_chart(rows).encode(
        y=vl.Y("queue:N", title=None, sort=names),
        yOffset=vl.YOffset("series:N", sort=series),
        x=vl.X("delay_ms:Q", title="mean one-way delay upstream (ms)"),
    )
    bars = base.mark_bar().encode(
        color=vl.Color(
            "series:N", sort=series, scale=vl.Scale(domain=series, range=list(PALETTE[:2]))
        )
    )
    words = base.mark_text(align="left", dx=4).encode(text=vl.Text("delay_ms:Q", format=".1f"))
    return vl.layer(bars, words)


def _name(row: dict[str, Any]) -> str:
    return f"{GENERATIONS[row['generation']]}, {row['map_ms']} ms:"
