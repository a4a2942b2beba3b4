"""How far drops lie apart at a fixed drop probability: exact laws to hold samples against.

A run is a sequence of packets of which all but the last are let through. Independent coins make its
length geometric; de-randomised ones (RFC 8033 §5.4, RFC 8034 §4.1, the AQM paper §8) bound it from
both sides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
import numpy.typing as npt

#: As the queues' key ``derandomise`` has them.
Spacing = Literal["off", "reached", "exceeded"]

#: What is left out of an endless distribution.
NEGLIGIBLE = 1e-15


@dataclass(frozen=True)
class RunLengths:
    """The exact distribution of a run's length.

    Parameters
    ----------
    pmf
        The probability of each length; the first is that of a run of one packet.
    """

    pmf: npt.NDArray[np.float64]

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """The lengths, packets."""
        return np.arange(1, len(self.pmf) + 1)

    @property
    def mean(self) -> float:
        """Mean length, packets; one over it is the effective drop probability."""
        return float((self.lengths * self.pmf).sum())

    @property
    def variance(self) -> float:
        """Variance of the length, packets²."""
        return float(((self.lengths - self.mean) ** 2 * self.pmf).sum())

    def count_drops(self, packets: int) -> npt.NDArray[np.float64]:
        """Give the probability of 0, 1, 2, … drops among packets that begin anywhere in a run.

        The distance to the first drop has the law of the rest of a run; then runs follow.
        """
        survival = self.pmf[::-1].cumsum()[::-1]
        place = np.zeros(packets + 1)
        rest = survival[:packets] / self.mean
        place[1 : len(rest) + 1] = rest
        step = np.concatenate(([0.0], self.pmf))[: packets + 1]
        at_least = [1.0]
        while at_least[-1] > NEGLIGIBLE:
            at_least.append(float(place.sum()))
            place = np.convolve(place, step)[: packets + 1]
        return -np.diff([*at_least, 0.0])


def find_run_lengths(
    probability: float, spacing: Spacing, *, low: float = 0.85, high: float = 8.5
) -> RunLengths:
    """Give the law of the run length at a fixed drop probability, in exact arithmetic.

    Parameters
    ----------
    probability
        Of one packet, above 0 and at most 1.
    spacing
        ``off``: a coin for each packet. ``reached``: no drop before the probabilities of the run's
        packets add up to ``low``, this packet included, and one for certain at ``high``.
        ``exceeded``: no drop before they are more than ``low``.

    Examples
    --------
    >>> round(1 / find_run_lengths(0.5, "reached").mean, 5)
    0.33334
    """
    p, first, last = Fraction(str(probability)), 1, math.inf
    if spacing != "off":
        in_low = Fraction(str(low)) / p
        first = math.ceil(in_low) if spacing == "reached" else math.floor(in_low) + 1
        last = max(first, math.ceil(Fraction(str(high)) / p))
    coins = 1 if probability == 1 else math.ceil(math.log(NEGLIGIBLE) / math.log1p(-probability))
    tosses = np.arange(min(last - first, coins) + 1)
    pmf = probability * (1 - probability) ** tosses
    pmf[-1] = (1 - probability) ** tosses[-1]
    return RunLengths(np.concatenate((np.zeros(first - 1), pmf)))
