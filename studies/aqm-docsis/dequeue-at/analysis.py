"""Queue disciplines behind a modem that draws packets when the MAP arrives, or when their burst is prepared."""

from __future__ import annotations

from statistics import median
from typing import Any

import altair as alt
import polars as pl

from headend.estimate import Estimate, estimate_difference
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, AnyChart, make_chart
from headend.study.claims import Finding, Verdict

NAMES = {
    "codel": "CoDel",
    "pie": "PIE",
    "docsis_pie": "DOCSIS-PIE",
    "sfq_codel": "SFQ-CoDel",
}

#: The service of each generation, and what its channels carry (docs/models/docsis.md), Mb/s.
RATES = {"docsis30": 50, "docsis31": 200}
CHANNELS = {"docsis30": 106, "docsis31": 668}

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
        " the queue: where a burst holds a measurement of 16 KiB the line rate is read (AQM-F12.line-rate)"
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
    return Finding("medians over the seeds: " + "; ".join(found), _decide(agrees))


def check_benefit(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare SFQ-CoDel, drawn at the MAP, with the single queues."""
    shares, alone, shared = [], [], []
    singles = [pair(points, queue) for queue in ("codel", "pie", "docsis_pie")]
    for own, *others in zip(pair(points, "sfq_codel"), *singles, strict=True):
        best = min(median(other["game"]) for other in others)
        shares.append(median(own["game"]) / best)
        # As long as an upload's packets wait in its own queue.
        alone += [delay / 1e6 for delay in own["game"] if delay < best]
        shared += [delay / 1e6 for delay in own["game"] if delay >= best]
    text = f"{min(shares):.0%} to {max(shares):.0%} of the shortest of the single queues"
    why = ""
    if alone and shared:
        why = (
            f"In {len(shared)} of {len(alone) + len(shared)} runs the game is hashed into an upload's queue, and waits"
            f" {min(shared):.0f} to {max(shared):.0f} ms; in the others {min(alone):.1f} to {max(alone):.1f} ms"
        )
    return Finding(text, _decide(max(shares) < limits["share"]), why=why)


def check_head(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare time in CoDel's queue, and the game's delay."""
    agrees, found, slack = True, [], limits["slack_ms"]
    for row in pair(points, "codel"):
        waited = _difference(row, "waited").mean
        game = _difference(row, "game").mean
        agrees &= -limits["queue_ms"] <= waited <= slack and -slack <= game <= limits["game_ms"]
        found.append(f"{_name(row)} queue {waited:+.2f} ms, game {game:+.2f}")
    return Finding("; ".join(found), _decide(agrees))


def check_tail(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare the game's delay and the uploads' goodput with a law at the tail; the interval is the furthest line's."""
    agrees, found, furthest = True, [], None
    for row in pair(points, limits["queue"]):
        game = _difference(row, "game")
        goodput = _mean(row["uploads"]) / _mean(row["uploads_burst"]) - 1
        agrees &= -limits["game_ms"] <= game.low and game.high <= limits["game_ms"]
        agrees &= abs(goodput) <= limits["goodput"]
        if furthest is None or abs(game.mean) > abs(furthest.mean):
            furthest = game
        found.append(
            f"{_name(row)} game {_mean(row['game']):.1f} ms at the MAP, {_mean(row['game_burst']):.1f} at the burst"
            f" ({game.mean:+.2f} ± {game.half:.2f}), goodput {goodput:+.1%}"
        )
    assert furthest is not None
    interval = (furthest.low, furthest.high)
    return Finding(
        "; ".join(found), _decide(agrees), interval, "" if agrees else WHY[limits["queue"]]
    )


def check_scale(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare the rate at which a MAP's packets are drawn with the service's."""
    times, found = [], []
    for row in pair(points, "codel"):
        grant = sum(row["granted"]) / sum(row["maps"])
        rate = grant * 8 / limits["prepare_us"]
        times.append(rate / CHANNELS[row["generation"]])
        found.append(f"{_name(row)} {grant / 1e3:.1f} kB a MAP, {times[-1]:.1f} times")
    why = ""
    if min(times) <= limits["times"]:
        why = (
            "A mean over all MAPs, drawn evenly over the whole time: a lower bound. It grows with the MAP interval, and with"
            " the service's share of the channel"
        )
    return Finding("; ".join(found), _decide(min(times) > limits["times"]), why=why)


def draw_game(points: pl.DataFrame) -> list[Panel]:
    """Draw the game's delay with each discipline, a panel for each line."""
    panels = []
    for generation in GENERATIONS:
        for map_ms in points["map_ms"].unique().sort():
            rows = (
                points.filter(generation=generation, map_ms=map_ms)
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
    """Estimate how much more it is at the MAP, in ms."""
    early, late = ([value / 1e6 for value in row[key]] for key in (column, f"{column}_burst"))
    return estimate_difference(early, late)


def _mean(values: list[float]) -> float:
    """Give the mean; times in ms, rates in Mb/s."""
    return sum(values) / len(values) / 1e6


def _name(row: dict[str, Any]) -> str:
    return f"{GENERATIONS[row['generation']]}, {row['map_ms']} ms:"


def _decide(agrees: bool) -> Verdict:
    return Verdict.REPRODUCED if agrees else Verdict.DIFFERS
