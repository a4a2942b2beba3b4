"""From a measurement to what it tells of the line."""

from __future__ import annotations

from headend.fitting.delay import (
    added_delays,
    estimate_base_delay,
    estimate_jitter,
    estimate_loaded_delay,
)
from headend.fitting.estimates import DirectionEstimates, LineEstimates
from headend.fitting.rate import estimate_rates
from headend.measurement.record import Direction, Measurement


def estimate_line(measurement: Measurement) -> LineEstimates:
    """Estimate what a measurement tells of its line.

    Parameters
    ----------
    measurement
        As a reader gives it.

    Returns
    -------
    Values with intervals for what can be told, and a flag with its reason for what cannot.
    """
    rates = {direction: estimate_rates(measurement, direction) for direction in Direction}
    known = {direction: found.rate.value for direction, found in rates.items() if found is not None}
    base = estimate_base_delay(measurement, known)
    directions = {}
    for direction in Direction:
        found = rates[direction]
        added = added_delays(measurement, direction, base.value if base is not None else None)
        directions[direction] = DirectionEstimates(
            rate=found.rate if found is not None else None,
            peak=found.peak if found is not None else None,
            burst=found.burst if found is not None else None,
            loaded_delay=estimate_loaded_delay(added, base),
            jitter=estimate_jitter(measurement, direction),
        )
    return LineEstimates(base, directions)
