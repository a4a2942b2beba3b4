"""What both studies of four access points use: values of seeds, a gain, and a chart of dots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.theme import make_chart
from headend.study import ClaimResult, ClaimVerdict, decide_over_seeds

Limits = dict[str, Any]

#: The access points in the order of the paper.
QUEUES = ["FIFO", "FQ-CoDel", "FQ-MAC", "Airtime"]

#: Above a bound, and not at it.
ABOVE = 1e-9

NOT_RUN = ClaimResult("no such run", ClaimVerdict.UNTESTABLE)


def take(points: pl.DataFrame, column: str, **where: str | int) -> list[float]:
    """Give a column of the chosen runs, a value for each seed; nothing if not run."""
    return points.filter(**where).sort("seed")[column].cast(pl.Float64).to_list()


def average(values: Sequence[float]) -> float:
    """Give the mean of the seeds."""
    return sum(values) / len(values)


def compare(
    points: pl.DataFrame, column: str, one: str, other: str, **where: str | int
) -> list[float]:
    """Give a column with one access point over the same with another; nothing if not both ran."""
    upper, lower = (take(points, column, queues=queues, **where) for queues in (one, other))
    return [mine / its for mine, its in zip(upper, lower, strict=True)] if upper and lower else []


def hold_gain(points: pl.DataFrame, limits: Limits, **where: str | int) -> ClaimResult:
    """Hold the total with one access point over that with another against a published ratio.

    Parameters
    ----------
    points
        Runs with a ``total`` in bit/s.
    limits
        ``before`` and ``after``, the access points; ``ratio``, as published, and ``within``, the
        part of it that a ratio may be off.
    where
        The runs that are compared, besides the access point.
    """
    gain = compare(points, "total", limits["after"], limits["before"], **where)
    if not gain:
        return NOT_RUN
    totals = " and ".join(
        f"{average(take(points, 'total', queues=limits[own], **where)) / 1e6:.1f}"
        for own in ("before", "after")
    )
    wanted, within = limits["ratio"], limits["within"]
    decision = decide_over_seeds(gain, wanted * (1 - within), wanted * (1 + within))
    return decision.tell(f"{decision.mean:.2f} times: {totals} Mbit/s")


def draw_dots(
    table: pl.DataFrame, x: vl.X, y: vl.Y, series: str, colours: dict[str, str]
) -> vl.Chart:
    """Draw a dot for each row.

    Parameters
    ----------
    table
        A row for each dot.
    x, y
        The axes.
    series
        The column that names the series of a dot.
    colours
        The colour of each series, in the order of the legend.
    """
    scale = vl.Scale(domain=list(colours), range=list(colours.values()))
    colour = vl.Color(f"{series}:N", title=None, scale=scale)
    return make_chart(table).mark_point(filled=True, size=60).encode(x=x, y=y, color=colour)
