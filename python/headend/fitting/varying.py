"""A rate that varies by itself, as steps over the longest load in which it was seen.

Only seconds in which packets waited show the rate of the line. Means over some of them make steps,
as single seconds are disturbed by what waited behind a loss. Where no packet waited, the rate is
that of the step before: nobody saw another. An outage without an answer to any probe is not seen.
"""

from __future__ import annotations

import statistics

from headend.fitting.flags import SMOOTHED, find_variation
from headend.fitting.rate import estimate_rates
from headend.fitting.samples import list_loading_phases, list_phases
from headend.measurement.record import Direction, Measurement

#: The most steps: of a long measurement each becomes longer.
MOST_STEPS = 200

#: A step is no slower than this share of the median rate: with none, nothing would ever end.
LEAST_SHARE = 0.01

Steps = tuple[tuple[float, float], ...]


def find_steps(measurement: Measurement, direction: Direction) -> tuple[Steps, float]:
    """Find the steps of a rate that varies.

    Parameters
    ----------
    measurement
        With a series of rates.
    direction
        Which rate.

    Returns
    -------
    tuple
        When each step begins, s since the load did, with its rate in bit/s of IP packets; and after
        what time they repeat. Nothing and 0 where the rate does not vary.
    """
    found = estimate_rates(measurement, direction, has_burst=False)
    if found is None or find_variation(found) is None:
        return (), 0.0
    phases = list_loading_phases(list_phases(measurement), direction)
    phase = max(phases, key=lambda own: own.end - own.start)
    length = phase.end - phase.start
    step = SMOOTHED * max(1, -(-int(length) // (MOST_STEPS * SMOOTHED)))
    count = int(length / step)
    bins: list[list[float]] = [[] for _ in range(count)]
    for start, rate in found.timed:
        place = int((start - phase.start) / step)
        if phase.start <= start and place < count:
            bins[place].append(rate)
    known = [sum(own) / len(own) if 2 * len(own) > step else None for own in bins]
    first = next((own for own in known if own is not None), None)
    if first is None or sum(own is not None for own in known) < 2:
        return (), 0.0
    # The estimate is of all that the line carries: what that is besides, each step has too.
    besides = found.rate.value - statistics.median(found.queued)
    least = LEAST_SHARE * found.rate.value
    steps, last = [], first
    for place, own in enumerate(known):
        last = last if own is None else own
        steps.append((float(place * step), max(last + besides, least)))
    return tuple(steps), float(count * step)
