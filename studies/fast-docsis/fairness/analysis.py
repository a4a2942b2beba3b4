"""Flows of FAST that begin one after the other: their shares, and those derived."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from headend.analysis.estimate import give_interval
from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import colour, make_chart
from headend.study import ClaimResult, decide, decide_over_seeds

#: Of the scenario: s between two starts, s of their end that count, s between two values, packets a
#: second of the line.
STEP, COUNTED, INTERVAL, LINE_RATE = 20, 10, 0.5, 250.0

#: Columns of the flows in the order in which they begin.
FLOWS = ("first", "second", "third", "fourth")


def derive_queue(alpha: float, bases: Sequence[float]) -> float:
    """Give the queue (s) of flows with such errors in baseRTT (s): Σ α / (q - error) = rate."""
    low = max(bases)
    high = low + len(bases) * alpha / LINE_RATE + 1e-9
    for _ in range(50):
        middle = (low + high) / 2
        rate = sum(alpha / (middle - base) for base in bases)
        low, high = (middle, high) if rate > LINE_RATE else (low, middle)
    return (low + high) / 2


def derive_shares(flows: int, alpha: float) -> list[float]:
    """Give the shares of flows begun one after the other, each taking queues for its path."""
    bases: list[float] = []
    queue = 0.0
    for _ in range(flows):
        bases.append(queue)
        queue = derive_queue(alpha, bases)
    return [alpha / (queue - base) / LINE_RATE for base in bases]


def measure_shares(row: dict[str, Any], flows: int) -> list[float]:
    """Give the shares of a run's flows at the end of the period in which there are so many."""
    end = int(flows * STEP / INTERVAL)
    part = slice(end - int(COUNTED / INTERVAL), end)
    rates = [float(np.mean(row[name][part])) for name in FLOWS[:flows]]
    return [rate / sum(rates) for rate in rates]


def jain(shares: Sequence[float]) -> float:
    """Give Jain's index."""
    return sum(shares) ** 2 / (len(shares) * sum(share**2 for share in shares))


def check_unfair(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look at the four flows' index, the mean over α, seed by seed."""
    by_seed: dict[int, list[float]] = {}
    for row in _choose(points, base="seen", line=limits["line"]):
        by_seed.setdefault(row["seed"], []).append(jain(measure_shares(row, 4)))
    indices = [index for own in by_seed.values() for index in own]
    means = [sum(own) / len(own) for own in by_seed.values()]
    return decide_over_seeds(means, high=limits["most"]).tell(_span(indices))


def check_cause(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look at the four flows' index where they know the path."""
    indices = [jain(measure_shares(row, 4)) for row in _choose(points, base="told")]
    return ClaimResult(
        _span(indices), decide(min(indices) > limits["least"]), give_interval(indices)
    )


def check_late(points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Look at the order of the shares."""
    orders = [
        (row, flows, measure_shares(row, flows))
        for row in _choose(points, base="seen")
        for flows in (2, 3, 4)
    ]
    wrong = [
        f"{row['line']}, α {row['alpha']}, {flows} flows: {_list(shares)}"
        for row, flows, shares in orders
        if shares != sorted(shares)
    ]
    text = f"{len(orders) - len(wrong)} of {len(orders)} periods"
    return ClaimResult(
        text, decide(not wrong), why="not so: " + "; ".join(wrong[:4]) if wrong else ""
    )


def draw_fairness(points: pl.DataFrame) -> list[Panel]:
    """Draw throughput over time, the first seed: the base seen, and for the cable line told."""
    panels = []
    for line, base, title in (
        ("docsis", "seen", "DOCSIS"),
        ("simple", "seen", "simple link"),
        ("docsis", "told", "DOCSIS, flows know the path's round-trip time"),
    ):
        row = next(_choose(points, line=line, base=base, alpha=10), None)
        if row is not None:
            panels.append(Panel(title, _draw(row, with_marks=base == "seen")))
    return panels


def _draw(row: dict[str, Any], *, with_marks: bool) -> vl.Chart:
    rows = pl.concat(
        pl.DataFrame(
            {
                "series": f"flow {number}",
                "slot": number - 1,
                "time_s": [(at + 1) * INTERVAL for at in range(len(row[name]))],
                "mbps": [value / 1e6 for value in row[name]],
            }
        ).filter(pl.col("time_s") > (number - 1) * STEP)
        for number, name in enumerate(FLOWS, 1)
    )
    x = vl.X(
        "time_s:Q",
        title="time (s)",
        scale=vl.Scale(domain=[0, 80], nice=False),
        axis=vl.Axis(values=list(range(0, 81, 20)), grid=True),
    )
    y = vl.Y("mbps:Q", title="throughput (Mb/s)", scale=vl.Scale(domain=[0, 3.2], nice=False))
    lines = (
        make_chart(rows).mark_line(strokeWidth=1.8, clip=True).encode(x=x, y=y, color=colour(rows))
    )
    if not with_marks:
        return lines
    marks = pl.DataFrame(
        [
            {
                "series": f"flow {number}",
                "slot": number - 1,
                "from_s": flows * STEP - COUNTED,
                "to_s": flows * STEP,
                "mbps": 3 * share,
            }
            for flows in (2, 3, 4)
            for number, share in enumerate(derive_shares(flows, row["alpha"]), 1)
        ]
    )
    derived = (
        make_chart(marks)
        .mark_rule(strokeDash=[4, 3], strokeWidth=1.5)
        .encode(x=vl.X("from_s:Q"), x2="to_s:Q", y="mbps:Q", color=colour(rows))
    )
    return vl.layer(lines, derived)


def _choose(points: pl.DataFrame, **place: Any) -> Iterator[dict[str, Any]]:
    chosen = points.filter(*(pl.col(name) == value for name, value in place.items()))
    return chosen.sort("seed", maintain_order=True).iter_rows(named=True)


def _span(values: Sequence[float]) -> str:
    return f"{min(values):.3f} to {max(values):.3f} over {len(values)} runs"


def _list(shares: Sequence[float]) -> str:
    return ", ".join(f"{share:.3f}" for share in shares)
