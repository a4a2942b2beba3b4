"""How well the simulated line agrees with the measurement: numbers, and a grade by bounds.

The bounds were written down before any line was compared. *A* is the accuracy to which the line is
estimated, 3 % of the rate and 10 % of a buffer, and half as much again for chance: 5 % and 15 %.
*B* is twice that and *C* four times; there a wrong kind of queue begins, since the delays of PIE
and CoDel differ by a factor of two to three. Everything else is *D*. The worst of all comparisons
is the grade.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from headend.fitting.features import LEAST_SAMPLES, SETTLING, Samples, correlate, take_steady
from headend.fitting.intervals import find_quantile
from headend.measurement.record import Load, Trip

GRADES = ("A", "B", "C", "D")

#: The largest difference of rates, as a share of the measured one, for A, B and C.
RATE_BOUNDS = (0.05, 0.1, 0.2)

#: The largest distance of the distributions of the added delay (1-Wasserstein), as a share of its
#: measured mean and `FLOOR_MS`, for A, B and C.
DELAY_BOUNDS = (0.15, 0.3, 0.6)

#: The largest difference of the roots of the shares of lost probes, for A, B and C: 0.05 is 0.25 %
#: beside none, and 2.25 % beside 1 %.
LOSS_BOUNDS = (0.05, 0.1, 0.2)

#: Added delays below this are no queue, ms: the access method and the probe itself make them.
FLOOR_MS = 3.0


@dataclass(frozen=True)
class Side:
    """What was measured, or simulated, of one phase of load; None for what is not known.

    Parameters
    ----------
    rate
        The mean over the phase without its beginning, bit/s of TCP's payload.
    p50, p90, p99
        Of the delay that the load adds, ms.
    loss
        The share of lost probes.
    echo
        The correlation of delays with those one second later.
    """

    rate: float | None
    p50: float | None
    p90: float | None
    p99: float | None
    loss: float | None
    echo: float | None


@dataclass(frozen=True)
class Agreement:
    """One phase of load, measured and simulated.

    Parameters
    ----------
    load, trip
        What filled the line, and what the delays are of.
    direction
        Of the rate.
    measured, simulated
        The numbers.
    wasserstein
        The distance of the distributions of the added delay, ms (1-Wasserstein); None without
        delays.
    kolmogorov
        Their largest vertical distance, from 0 to 1.
    grade
        By the bounds above; empty where nothing can be compared.
    """

    load: Load
    trip: Trip
    direction: str
    measured: Side
    simulated: Side
    wasserstein: float | None
    kolmogorov: float | None
    grade: str

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Agreement:
        """Read what `to_dict` gave."""
        return cls(
            Load(content["load"]),
            Trip(content["trip"]),
            str(content["direction"]),
            Side(**content["measured"]),
            Side(**content["simulated"]),
            content["wasserstein"],
            content["kolmogorov"],
            str(content["grade"]),
        )


def compare(
    load: Load,
    trip: Trip,
    direction: str,
    measured: tuple[Samples, Sequence[float]],
    simulated: tuple[Samples, Sequence[float]],
    *,
    has_delays: bool = True,
) -> Agreement:
    """Compare a phase.

    Parameters
    ----------
    measured, simulated
        The added delays of the probe, and rates in bins of a second.
    has_delays
        Whether a grade needs delays; if not, it is of the rate alone.
    """
    sides = [_describe(samples, rates) for samples, rates in (measured, simulated)]
    pairs = [sorted(take_steady(samples).added) for samples, _ in (measured, simulated)]
    distance = largest = None
    if all(len(own) >= LEAST_SAMPLES for own in pairs):
        distance, largest = measure_distance(*pairs), measure_largest(*pairs)
    mean = math.fsum(pairs[0]) / len(pairs[0]) if pairs[0] else 0.0
    grade = (
        _grade(sides[0], sides[1], distance, mean) if distance is not None or not has_delays else ""
    )
    return Agreement(load, trip, direction, sides[0], sides[1], distance, largest, grade)


def find_grade(agreements: Sequence[Agreement]) -> str:
    """Give the worst grade; empty where nothing was compared."""
    return max((own.grade for own in agreements if own.grade), default="")


def measure_distance(first: Sequence[float], second: Sequence[float]) -> float:
    """Give the 1-Wasserstein distance of two samples in ascending order.

    Examples
    --------
    >>> measure_distance([0.0, 1.0], [2.0, 3.0])
    2.0
    """
    total = last = 0.0
    one = other = 0
    previous = min(first[0], second[0])
    while one < len(first) or other < len(second):
        is_first = other == len(second) or (one < len(first) and first[one] <= second[other])
        value = first[one] if is_first else second[other]
        total += last * (value - previous)
        previous = value
        one, other = (one + 1, other) if is_first else (one, other + 1)
        last = abs(one / len(first) - other / len(second))
    return total


def measure_largest(first: Sequence[float], second: Sequence[float]) -> float:
    """Give the Kolmogorov-Smirnov distance of two samples in ascending order.

    Examples
    --------
    >>> measure_largest([0.0, 1.0], [0.0, 3.0])
    0.5
    """
    largest = 0.0
    one = other = 0
    for value in sorted({*first, *second}):
        while one < len(first) and first[one] <= value:
            one += 1
        while other < len(second) and second[other] <= value:
            other += 1
        largest = max(largest, abs(one / len(first) - other / len(second)))
    return largest


def _describe(samples: Samples, rates: Sequence[float]) -> Side:
    steady = take_steady(samples)
    ordered = sorted(steady.added)
    enough = len(ordered) >= LEAST_SAMPLES
    p50, p90, p99 = (
        (find_quantile(ordered, share) for share in (0.5, 0.9, 0.99))
        if enough
        else (None, None, None)
    )
    loss = None
    if samples.times and enough:
        loss = len(steady.lost) / (len(steady.lost) + len(ordered))
    kept = list(rates)[int(SETTLING) :]
    rate = math.fsum(kept) / len(kept) if kept else None
    return Side(rate, p50, p90, p99, loss, correlate(samples, 1.0) if samples.times else None)


def _grade(measured: Side, simulated: Side, distance: float | None, mean: float) -> str:
    worst = []
    if measured.rate and simulated.rate is not None:
        worst.append(_place(abs(simulated.rate / measured.rate - 1), RATE_BOUNDS))
    if distance is not None:
        worst.append(_place(distance / (mean + FLOOR_MS), DELAY_BOUNDS))
        if measured.loss is not None and simulated.loss is not None:
            roots = abs(math.sqrt(measured.loss) - math.sqrt(simulated.loss))
            worst.append(_place(roots, LOSS_BOUNDS))
    return GRADES[max(worst)] if worst else ""


def _place(value: float, bounds: Sequence[float]) -> int:
    return next((place for place, bound in enumerate(bounds) if value <= bound), len(bounds))
