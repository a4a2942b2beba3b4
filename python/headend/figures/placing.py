"""Places the labels of horizontal marks in a chart, where fewest curves cross them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.theme import mark_across

#: Sizes of a text as shares of a narrow chart: the width of a letter, the largest width of a text,
#: and the height of a line.
LETTER, WIDEST, LINE = 1 / 50, 0.7, 0.09

#: The distance between the examined points of a curve, as a share of the chart.
STEP = 0.02

#: Places of a text, the best first: whether at its line's left end, and whether below it.
PLACES = ((False, False), (True, False), (False, True), (True, True))


def find_share(value: float, scale: Mapping[str, Any]) -> float:
    """Give the position of a value on a scale, from 0 to 1.

    Examples
    --------
    >>> find_share(2.75, {"domain": [1, 4.5]}), find_share(10, {"domain": [1, 100], "type": "log"})
    (0.5, 0.5)
    """
    low, high = scale["domain"]
    if scale.get("type") == "log":
        value, low, high = (math.log(max(own, 1e-300)) for own in (value, low, high))
    return (value - low) / (high - low) if high > low else 0.5


def choose_place(
    curves: Iterable[Sequence[tuple[float, float]]], height: float, text: str
) -> tuple[bool, bool]:
    """Choose the place of a text about a horizontal line.

    Parameters
    ----------
    curves
        The points of each curve in order, as shares of the chart's width and height.
    height
        The line's height, as a share of the chart's height.
    text
        The text.

    Returns
    -------
    tuple of bool
        Whether it stands at the left end, and whether below its line.

    Examples
    --------
    >>> choose_place([[(0, 0.9), (1, 0.9)]], 0.85, "4: users satisfied")
    (False, True)
    >>> choose_place([[(0, 0.1), (0.5, 0.1), (1, 0.9)]], 0.85, "half")
    (True, False)
    """
    points = [point for curve in curves for point in _walk(curve)]
    width = min(WIDEST, LETTER * len(text))

    def count(place: tuple[bool, bool]) -> int:
        to_left, below = place
        low, high = (height - LINE, height) if below else (height, height + LINE)
        if low < 0 or high > 1:
            return len(points) + 1
        return sum(
            low <= y <= high and (x <= width if to_left else x >= 1 - width) for x, y in points
        )

    return min(PLACES, key=count)


def mark_among(
    rows: pl.DataFrame,
    marks: Sequence[tuple[float, str]],
    scale: Mapping[str, Any],
    *,
    x: str,
    y: str = "value",
) -> list[vl.Chart]:
    """Draw marks across a chart of curves, each with its label where fewest curves cross.

    Parameters
    ----------
    rows
        The rows of the chart, with a column ``series``.
    marks
        Values with their meanings.
    scale
        The scale of the values, with its domain.
    x, y
        Columns of the places along the bottom, which are numbers, and of the values.
    """
    known = rows.filter(pl.col(y).is_not_null() & pl.col(y).is_not_nan())
    ends = {"domain": [known[x].min() or 0, known[x].max() or 0]}
    curves = [
        [(find_share(at, ends), find_share(value, scale)) for at, value in own.select(x, y).rows()]
        for own in known.sort(x, maintain_order=True).partition_by("series")
    ]
    drawn = []
    for value, text in marks:
        near_left, below = choose_place(curves, find_share(value, scale), text)
        drawn.append(mark_across(value, text, near_left=near_left, below=below))
    return drawn


def _walk(curve: Sequence[tuple[float, float]]) -> Iterable[tuple[float, float]]:
    """Give points in small steps along a curve."""
    yield from curve[:1]
    for (x, y), (next_x, next_y) in itertools.pairwise(curve):
        steps = max(1, math.ceil(max(abs(next_x - x), abs(next_y - y)) / STEP))
        for step in range(1, min(steps, 100) + 1):
            share = step / min(steps, 100)
            yield x + share * (next_x - x), y + share * (next_y - y)
