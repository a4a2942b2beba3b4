"""Intervals of 90 %: of a share, of a statistic of a series, of a minimum.

Samples of a queue depend on those before them: a delay of now is much like that of a moment ago. So
a statistic of a series is drawn again in blocks of some seconds, not sample by sample (Künsch 1989;
in a circle after Politis and Romano 1992).
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeAlias

from headend.fitting.estimates import CONFIDENCE

Interval: TypeAlias = tuple[float, float]

#: Of a block, s. The facts' 2 to 5 s: longer than a round trip with a full queue of 1 s, shorter
#: than a third of a load of 10 s.
BLOCK = 3.0

#: How often a series is drawn again. The 5th percentile of so many has a standard error of 1.5
#: percentage points.
DRAWS = 200

#: Series that are longer are thinned before they are drawn again. Neighbours within a block say
#: almost the same, so little is lost.
MOST_DRAWN = 1500

#: The 95th percentile of the normal distribution, for intervals of 90 %.
Z = 1.6449

#: The 95th percentile of Student's t for 1 to 10 degrees of freedom, over that of the normal
#: distribution. From so few blocks a spread is known badly.
T_OVER_Z = (3.84, 1.78, 1.43, 1.30, 1.23, 1.18, 1.15, 1.13, 1.11, 1.10)


def find_quantile(ordered: Sequence[float], share: float) -> float:
    """Give a quantile of values in order, between two of them in proportion.

    Examples
    --------
    >>> find_quantile([1.0, 2.0, 3.0], 0.5), find_quantile([1.0, 2.0], 0.25)
    (2.0, 1.25)
    """
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def bound_share(found: float, trials: float) -> Interval:
    """Give Wilson's interval of a share (Wilson 1927).

    Parameters
    ----------
    found, trials
        How many of how many. They need not be whole: trials that depend on each other count less.

    Examples
    --------
    >>> low, high = bound_share(0, 100)
    >>> low, round(high, 4)
    (0.0, 0.0263)
    """
    share = found / trials
    spread = Z * math.sqrt(share * (1 - share) / trials + Z * Z / (4 * trials * trials))
    middle = share + Z * Z / (2 * trials)
    scale = 1 + Z * Z / trials
    low = (middle - spread) / scale if found > 0 else 0.0
    high = (middle + spread) / scale if found < trials else 1.0
    return max(0.0, min(low, share)), min(1.0, max(high, share))


def bound_minimum(ordered: Sequence[float], growth: int = 2) -> Interval:
    """Give the interval of the least value that a distribution can have, from samples in order.

    No sample is below the least value, so the upper end is the least sample. The lower end is
    further down by a multiple of the gap between the two least samples (de Haan 1981), which can be
    very large by chance. So it is no further down than the median is up: of 20 samples or more of
    one or two random parts the least is nearer to the least possible value than to the median.

    Parameters
    ----------
    ordered
        The samples, from low to high.
    growth
        The number of random parts in a sample, of which each has a density above 0 at its least
        value: 2 for a round trip, which is the sum of two trips.

    Examples
    --------
    >>> low, high = bound_minimum([10.0, 10.01, 10.5, 12.0])
    >>> round(low, 3), high
    (9.815, 10.0)
    """
    if len(ordered) < 2:
        return ordered[0] - abs(ordered[0]), ordered[0]
    gap = ordered[1] - ordered[0]
    far = gap / (CONFIDENCE ** (-1 / growth) - 1)
    return ordered[0] - min(far, max(gap, find_quantile(ordered, 0.5) - ordered[0])), ordered[0]


def draw_again(
    values: Sequence[float],
    block: int,
    statistic: Callable[[list[float]], float],
    seed: int = 1,
) -> Interval:
    """Give the interval of a statistic of a series, by drawing blocks of it again.

    Parameters
    ----------
    values
        In order of time.
    block
        How many values depend on each other.
    statistic
        What is computed of values in order of size.
    seed
        The same seed gives the same interval.
    """
    step = max(1, len(values) // MOST_DRAWN)
    kept = list(values[::step])
    size = len(kept)
    block = max(1, min(block // step, size))
    blocks = math.ceil(size / block)
    circle = kept + kept[:block]
    stream = random.Random(seed)
    found = []
    for _ in range(DRAWS):
        drawn: list[float] = []
        for _ in range(blocks):
            start = stream.randrange(size)
            drawn += circle[start : start + block]
        found.append(statistic(sorted(drawn[:size])))
    found.sort()
    middle = statistic(sorted(kept))
    wide = T_OVER_Z[max(0, min(blocks - 2, 9))] if blocks <= len(T_OVER_Z) + 1 else 1.0
    low, high = (
        find_quantile(found, (1 - CONFIDENCE) / 2),
        find_quantile(found, (1 + CONFIDENCE) / 2),
    )
    return middle - wide * max(0.0, middle - low), middle + wide * max(0.0, high - middle)


def count_block(times: Sequence[float]) -> int:
    """Give how many samples a block holds, by the typical time between two of them.

    Examples
    --------
    >>> count_block([0.0, 0.2, 0.4, 5.0])
    15
    """
    if len(times) < 2:
        return 1
    gap = statistics.median([later - earlier for earlier, later in pairwise(times)])
    return max(1, round(BLOCK / gap)) if gap > 0 else max(1, len(times) // 5)
