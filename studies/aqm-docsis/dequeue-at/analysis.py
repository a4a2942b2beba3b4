"""Queue disciplines behind a modem that draws packets when the MAP arrives, or when their burst is prepared."""

from __future__ import annotations

from statistics import median
from typing import Any

import altair as alt
import polars as pl

from headend.estimate import Estimate, estimate_difference
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, AnyChart, make_chart
from headend.study.claims import Finding, decide

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


#: Why a law at the tail notices when packets are drawn.
WHY = {
    "docsis_pie": (
        "What is drawn at the MAP is out of the backlog that the law holds at its target, though not yet sent: the packets"
        " behind it wait for it just the same. CoDel, at the head, pays about as much (AQM-3.2.head)"
    ),
    "pie": (
        "Its delay is the backlog over the departure rate it measures, and what it measures depends on when packets leave"
        " the queue: where a burst holds a measurement of 10 kB the line rate is read (AQM-F12.line-rate)"
    ),
}


def pair(points: pl.DataFrame, queue: str) -> list[dict[str, Any]]:
    """Give a row for each line, with lists over the seeds of what was measured at the map and at the burst."""
    keys = [*LINE, "dequeue_at"]
    columns = pl.exclude(*keys, "queue", "seed")
    rows = points.filter(queue=queue).sort("seed").group_by(keys, maintain_order=True).agg(columns)
    at_map, at_burst = (rows.filter(dequeue_at=place) for place in ("map", "burst"))
    return at_map.join(at_burst, on=LINE, suffix="_burst", maintain_order="left").to_dicts()


def check_flow_queuing(points: pl.DataFrame, _limits: dict[str, Any]) -> Finding:
    """Compare the game's delay with SFQ-CoDel, line by line and seed by seed."""
    agrees, found = True, []
    for row in pair(points, "sfq_codel"):
        pairs = zip(row["game"], row["game_burst"], strict=True)
        agrees &= all(early > late for early, late in pairs)
        early, late = (median(row[column]) / 1e6 for column in ("game", "game_burst"))
        found.append(f"{_name(row)} {early:.2f} ms instead of {late:.2f}")
    return Finding("medians over the seeds: " + "; ".join(found), decide(agrees))


def check_benefit(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare SFQ-CoDel with a queue for each flow, drawn at the MAP, with the single queues; count hashed runs that do worse."""
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
            f"With hashing the game meets an upload's packets in their queue in {len(shared)} of {len(alone) + len(shared)}"
            f" runs, and waits {min(shared):.0f} to {max(shared):.0f} ms; in the others {min(alone):.1f} to"
            f" {max(alone):.1f} ms"
        )
    return Finding(text, decide(max(shares) < limits["share"]), why=why)


def check_head(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare time in CoDel's queue, and the game's delay."""
    agrees, found = True, []
    for row in pair(points, "codel"):
        most = limits["intervals"] * row["map_ms"]
        waited, game = _difference(row, "waited"), _difference(row, "game")
        agrees &= waited.low <= 0 and waited.high >= -most
        agrees &= game.high >= 0 and game.low <= most
        found.append(
            f"{_name(row)} queue {waited.mean:+.2f} ± {waited.half:.2f} ms, game {game.mean:+.2f} ± {game.half:.2f}"
        )
    return Finding("; ".join(found), decide(agrees))


def check_tail(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare the game's delay and the uploads' goodput with a law at the tail; the interval is the furthest line's."""
    agrees, found, furthest = True, [], None
    for row in pair(points, limits["queue"]):
        game = _difference(row, "game")
        goodput = _difference(row, "uploads")
        most = limits["intervals"] * row["map_ms"]
        agrees &= -most <= game.low <= 0 <= game.high <= most and not goodput.is_clear
        if furthest is None or abs(game.mean) > abs(furthest.mean):
            furthest = game
        found.append(
            f"{_name(row)} game {_mean(row['game']):.1f} ms at the MAP, {_mean(row['game_burst']):.1f} at the burst"
            f" ({game.mean:+.2f} ± {game.half:.2f}), goodput {goodput.mean:+.2f} ± {goodput.half:.2f} Mb/s"
        )
    assert furthest is not None
    interval = (furthest.low, furthest.high)
    return Finding(
        "; ".join(found), decide(agrees), interval, "" if agrees else WHY[limits["queue"]]
    )


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


def _draw_bars(rows: pl.DataFrame) -> AnyChart:
    names, series = list(NAMES.values()), ["drawn at the map", "drawn at the burst"]
    base = make_chart(rows).encode(
        y=alt.Y("queue:N", title=None, sort=names),
        yOffset=alt.YOffset("series:N", sort=series),
        x=alt.X("delay_ms:Q", title="mean one-way delay upstream (ms)"),
    )
    bars = base.mark_bar().encode(
        color=alt.Color(
            "series:N", sort=series, scale=alt.Scale(domain=series, range=list(PALETTE[:2]))
        )
    )
    words = base.mark_text(align="left", dx=4).encode(text=alt.Text("delay_ms:Q", format=".1f"))
    return alt.layer(bars, words)


def _difference(row: dict[str, Any], column: str) -> Estimate:
    """Estimate how much more it is at the MAP, in ms or Mb/s."""
    early, late = ([value / 1e6 for value in row[key]] for key in (column, f"{column}_burst"))
    return estimate_difference(early, late)


def _mean(values: list[float]) -> float:
    """Give the mean; times in ms, rates in Mb/s."""
    return sum(values) / len(values) / 1e6


def _name(row: dict[str, Any]) -> str:
    return f"{GENERATIONS[row['generation']]}, {row['map_ms']} ms:"
