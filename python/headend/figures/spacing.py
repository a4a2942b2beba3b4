"""How the values of a factor stand along an axis: by their ratios where they double, else evenly.

A factor has few values that somebody chose, such as 1, 2, 4 and 8 Mbit/s. Along a linear axis the
first ones would stand on each other; along a logarithmic one each step is as long as the others.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from headend.figures import vegalite as vl
from headend.figures.theme import log_axis

#: So many values each have a tick of their own.
MOST_TICKS = 10

#: Fewer values show no pattern.
FEWEST = 3

#: Ratios of neighbours are nearly equal if no step along the logarithm is longer than this many
#: times another one: those of 1, 2, 5, 10 and of 8, 16, 64 are, and those of 10, 11, 99 are not.
NEARLY = 2.0

#: The least ratio of neighbours, on average: below the square root of two, both axes look alike.
LEAST_RATIO = math.sqrt(2)

#: Values that span this factor need no equal ratios.
WIDE = 10.0

#: What rounding of decimal values leaves, as a share.
ROUNDING = 1e-9


def is_geometric(numbers: Sequence[float]) -> bool:
    """Say whether values stand more evenly by their ratios than by their differences.

    Parameters
    ----------
    numbers
        In any order and unit; at least three different ones, all above zero, else the answer is no.

    Examples
    --------
    >>> is_geometric([1, 2, 4, 8]), is_geometric([50, 100, 200, 400]), is_geometric([1, 2, 5, 10])
    (True, True, True)
    >>> is_geometric([10, 20, 30]), is_geometric([0, 1, 2, 4]), is_geometric([1, 2])
    (False, False, False)
    """
    values = sorted(set(numbers))
    if len(values) < FEWEST or values[0] <= 0:
        return False
    span = values[-1] / values[0]
    if span ** (1 / (len(values) - 1)) < LEAST_RATIO * (1 - ROUNDING):
        return False
    by_ratio = _compare_steps([math.log(value) for value in values])
    by_difference = _compare_steps(values)
    is_nearly_equal = by_ratio <= NEARLY * (1 + ROUNDING)
    return by_ratio < by_difference and (is_nearly_equal or span >= WIDE)


def _compare_steps(places: Sequence[float]) -> float:
    """Give how many times as long the longest step between neighbours is as the shortest."""
    steps = [after - before for before, after in itertools.pairwise(places)]
    return max(steps) / min(steps)


def space_values(numbers: Sequence[float]) -> dict[str, Any]:
    """Choose scale and ticks of an axis along which a factor's values stand.

    Parameters
    ----------
    numbers
        The values in the unit of the axis.

    Returns
    -------
    dict
        ``scale`` and mostly ``axis``, as options of a channel; the ticks are the values themselves
        where these are few.
    """
    values = sorted(set(numbers))
    ticks = vl.Axis(values=values, labelExpr="format(datum.value, ',~r')", labelOverlap="greedy")
    are_few = len(values) <= MOST_TICKS
    if is_geometric(values):
        ends = (values[0], values[-1])
        scale = vl.Scale(type="log", domain=list(ends), nice=False)
        return {"scale": scale, "axis": ticks if are_few else log_axis(ends, ends=True)}
    return {"scale": vl.Scale(zero=False, nice=True), **({"axis": ticks} if are_few else {})}
