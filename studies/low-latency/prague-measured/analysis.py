"""The rates of two flows beside those that public tests of Linux kernels report."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, make_chart
from headend.study import ClaimResult, ClaimVerdict, decide_over_seeds, join_decisions


@dataclass(frozen=True)
class Test:
    """A public test: what a figure calls it, and its flows' rates in Mbit/s, if given."""

    name: str
    one: float
    other: float

    @property
    def ratio(self) -> float:
        """The first flow's rate over the second's."""
        return self.one / self.other


#: heistp/l4s-tests, tables of scenarios 1 and 6, and L4STeam/linux issue 21. Where the same two
#: flows were run in both orders, the means.
TESTS = {
    "prague-cubic-10": Test("Prague 10 ms, CUBIC 10 ms", (34.57 + 34.09) / 2, (12.65 + 13.04) / 2),
    "prague-cubic-20": Test("Prague 20 ms, CUBIC 20 ms", (32.39 + 31.85) / 2, (14.94 + 15.51) / 2),
    "prague-cubic-80": Test("Prague 80 ms, CUBIC 80 ms", (29.58 + 29.92) / 2, (17.85 + 17.48) / 2),
    "prague-20-cubic-10": Test("Prague 20 ms, CUBIC 10 ms", 28.40, 18.84),
    "prague-10-cubic-20": Test("Prague 10 ms, CUBIC 20 ms", 37.86, 9.21),
    "prague-20-cubic-80": Test("Prague 20 ms, CUBIC 80 ms", 40.69, 6.43),
    "prague-80-cubic-20": Test("Prague 80 ms, CUBIC 20 ms", 22.43, 24.89),
    "prague-10-cubic-160": Test("Prague 10 ms, CUBIC 160 ms", 41.67, 4.87),
    "prague-160-cubic-10": Test("Prague 160 ms, CUBIC 10 ms", 10.13, 37.28),
    "prague-10-prague-20": Test("Prague 10 ms, Prague 20 ms", 30.77, 15.84),
    "prague-20-prague-80": Test("Prague 20 ms, Prague 80 ms", 41.48, 5.80),
    "prague-10-prague-160": Test("Prague 10 ms, Prague 160 ms", 45.46, 1.56),
    "pie": Test("PIE, Prague 20 ms, CUBIC 20 ms", 45.57, 2.01),
    "codel": Test("CoDel, Prague 20 ms, CUBIC 20 ms", 45.81, 1.81),
    "fifo": Test("FIFO, Prague 20 ms, CUBIC 20 ms", (5.88 + 12.24) / 2, (41.63 + 35.44) / 2),
    "issue-21": Test("100 Mbit/s, Prague 30 ms, CUBIC 30 ms", 63.4, 28.6),
}

#: One-way delay of the path of issue 21's test, in ms.
HALF = 15.0


def take(points: pl.DataFrame, test: str) -> list[float]:
    """Give the ratio of the rates of a test, a value for each seed."""
    rows = points.filter(test=test).sort("seed")
    return (rows["one"] / rows["other"]).to_list()


def check_ratio(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the ratio of each of some tests against bounds."""
    low, high = limits.get("low", -math.inf), limits.get("high", math.inf)
    found, told = [], []
    for test in limits["tests"]:
        if values := take(points, test):
            found.append(decide_over_seeds(values, low, high))
            told.append(f"{found[-1].mean:.2f} for {TESTS[test].ratio:.2f} ({TESTS[test].name})")
    if not found:
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    return join_decisions(found, "; ".join(told))


def check_order(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold which of the two flows has more against the published."""
    found, told = [], []
    for test in limits["tests"]:
        if values := take(points, test):
            more = TESTS[test].ratio > 1
            found.append(decide_over_seeds(values, 1.0 if more else 0.0, math.inf if more else 1.0))
            told.append(f"{found[-1].mean:.2f} for {TESTS[test].ratio:.2f} ({TESTS[test].name})")
    if not found:
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    return join_decisions(found, "; ".join(told))


def check_delay(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold by how much a flow of issue 21's test is later than its path, in ms."""
    rows = points.filter(test="issue-21").sort("seed")
    if rows.is_empty():
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    late = (rows[f"{limits['flow']}_delay"] / 1e6 - HALF).to_list()
    found = decide_over_seeds(late, limits["low"], limits["high"])
    return found.tell(f"{found.mean:.2f} ms")


def draw_ratios(points: pl.DataFrame) -> list[Panel]:
    """Draw the ratio of each test, published and here."""
    rows = []
    for test, public in TESTS.items():
        if values := take(points, test):
            rows += [
                {"test": public.name, "of": "published", "ratio": public.ratio},
                {"test": public.name, "of": "headend", "ratio": sum(values) / len(values)},
            ]
    kinds = ["published", "headend"]
    x = vl.X("ratio:Q", title="first flow's rate / second's", scale=vl.Scale(type="log"))
    dots = (
        make_chart(pl.DataFrame(rows))
        .mark_point(filled=True, size=80)
        .encode(
            x=x,
            y=vl.Y(
                "test:N",
                title=None,
                sort=[public.name for public in TESTS.values()],
                axis=vl.Axis(labelLimit=320),
            ),
            color=vl.Color(
                "of:N", title=None, scale=vl.Scale(domain=kinds, range=list(PALETTE[:2]))
            ),
            shape=vl.Shape("of:N", title=None, scale=vl.Scale(domain=kinds)),
        )
    )
    rule = make_chart(pl.DataFrame({"ratio": [1.0]})).mark_rule().encode(x=x)
    return [Panel("", vl.layer(rule, dots))]
