"""When two settings tie: the one rule behind best, worst and every difference that is shown.

Two settings tie in a quantity unless their means differ by more than `find_tie` and, where there
are several seeds, the interval of the difference leaves out zero. Marks in tables, differences in a
matrix, sentences and the conclusions of sweeps all ask `is_tie`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from headend.analysis.estimate import BOUNDS, Bounds, Estimate, estimate_difference, estimate_mean
from headend.text.quantity import Kind

#: Values within this share of the larger of the two are as good as each other.
TIE = 0.05

#: Differences up to these (ns, or a share) are always ties, even beside a value of zero: a delay
#: that nobody notices, and a loss that changes no grade.
LEAST: Mapping[Kind, float] = {"time": 1e5, "ratio": 1e-3}

#: A percentage of a score that does not begin at zero, such as a MOS from 1 to 4.5, has no meaning.
#: Such scores tie within this part of their range: 0.1 of a MOS, a quarter of the narrowest step
#: between two grades.
TIE_OF_RANGE = 0.1 / 3.5


def find_tie(one: float, other: float, kind: Kind, scale: Bounds | None = None) -> float:
    """Give the largest difference between two values that is still a tie, in their base unit.

    Parameters
    ----------
    one, other
        The values, in the base unit of their kind.
    kind
        What they measure.
    scale
        The least and the largest value of a score; None for quantities without such bounds.

    Examples
    --------
    >>> find_tie(200e6, 150e6, "time"), find_tie(0.002, 0.0, "ratio")
    (10000000.0, 0.001)
    >>> round(find_tie(4.4, 4.2, "number", (1.0, 4.5)), 3)
    0.1
    """
    if scale and scale[0] > 0:
        return TIE_OF_RANGE * (scale[1] - scale[0])
    return max(TIE * max(abs(one), abs(other)), LEAST.get(kind, 0.0))


def is_tie(
    values: Mapping[int, float],
    others: Mapping[int, float],
    kind: Kind,
    scale: Bounds | None = None,
) -> bool:
    """Say whether two settings are as good as each other in a quantity.

    With common seeds the interval is that of the paired difference; otherwise the intervals of the
    two means must not overlap. Two settings without a value tie.

    Parameters
    ----------
    values, others
        The values of each setting, by seed, in the base unit of their kind.
    kind, scale
        As of `find_tie`.

    Examples
    --------
    >>> is_tie({1: 104e6}, {1: 100e6}, "time"), is_tie({1: 106e6}, {1: 100e6}, "time")
    (True, False)
    >>> is_tie({1: 106e6, 2: 130e6}, {1: 100e6, 2: 128e6}, "time")
    True
    """
    mean, other_mean = average(values), average(others)
    if math.isnan(mean) or math.isnan(other_mean):
        return math.isnan(mean) and math.isnan(other_mean)
    if abs(mean - other_mean) <= find_tie(mean, other_mean, kind, scale):
        return True
    difference = compare_seeds(values, others)
    if difference and difference.count > 1:
        return not math.isnan(difference.half) and not difference.is_clear
    if min(len(values), len(others)) < 2:
        return False
    bounds = scale or BOUNDS.get(kind)
    first, second = (estimate_mean(list(by_seed.values()), bounds) for by_seed in (values, others))
    return first.low <= second.high and second.low <= first.high


def compare_seeds(
    values: Mapping[int, float], base: Mapping[int, float], bounds: Bounds | None = None
) -> Estimate | None:
    """Estimate the difference to a base over the seeds that both have; None without any.

    Parameters
    ----------
    values, base
        By seed; NaN is no value.
    bounds
        As of `estimate_difference`.
    """
    pairs = [
        (value, base[seed])
        for seed, value in values.items()
        if seed in base and not math.isnan(value + base[seed])
    ]
    if not pairs:
        return None
    first, second = zip(*pairs, strict=True)
    return estimate_difference(first, second, bounds)


def average(values: Mapping[int, float]) -> float:
    """Give the mean over the seeds; NaN where there are none."""
    return math.fsum(values.values()) / len(values) if values else math.nan
