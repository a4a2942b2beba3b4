"""From a measurement to what it tells of the line."""

from __future__ import annotations

from dataclasses import replace

from headend.fitting.buffer import estimate_buffer, find_ceiling
from headend.fitting.delay import (
    estimate_base_delay,
    estimate_jitter,
    estimate_loaded_delay,
    find_added_delays,
)
from headend.fitting.estimates import Bound, DirectionEstimates, Estimate, LineEstimates
from headend.fitting.flags import Evidence, find_sender_limit, raise_flags
from headend.fitting.loss import estimate_loss, estimate_random_loss
from headend.fitting.rate import estimate_rates, find_dips
from headend.fitting.samples import sort_samples
from headend.fitting.summaries import (
    estimate_buffer_by_summaries,
    estimate_loaded_by_summaries,
    estimate_rate_by_summaries,
)
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
    measurement = sort_samples(measurement)
    rates = {direction: estimate_rates(measurement, direction) for direction in Direction}
    known = {direction: found.rate.value for direction, found in rates.items() if found is not None}
    base = estimate_base_delay(measurement, known)
    evidence = {}
    for direction in Direction:
        dips = find_dips(measurement, direction)
        added = find_added_delays(measurement, direction, base.value if base is not None else None)
        congestion = measurement.senders.congestion
        ceiling = None
        if added is not None:
            ceiling = find_ceiling(added, known.get(direction), congestion, dips)
        evidence[direction] = Evidence(rates[direction], added, ceiling)
    directions = {
        direction: _estimate_direction(measurement, direction, seen, base)
        for direction, seen in evidence.items()
    }
    return LineEstimates(base, directions, raise_flags(measurement, base, evidence))


def _estimate_direction(
    measurement: Measurement, direction: Direction, seen: Evidence, base: Estimate | None
) -> DirectionEstimates:
    rate = (
        seen.rates.rate
        if seen.rates is not None
        else estimate_rate_by_summaries(measurement, direction)
    )
    if rate is not None and find_sender_limit(measurement, base, direction, seen) is not None:
        rate = replace(rate, bound=Bound.AT_LEAST)
    jitter = estimate_jitter(measurement, direction)
    spread = jitter.value if jitter is not None else 0.0
    return DirectionEstimates(
        rate=rate,
        peak=seen.rates.peak if seen.rates is not None else None,
        burst=seen.rates.burst if seen.rates is not None else None,
        loaded_delay=estimate_loaded_delay(seen.added, base)
        or estimate_loaded_by_summaries(measurement, direction, base),
        buffer=estimate_buffer(seen.added, seen.ceiling, base, rate, spread)
        or (
            estimate_buffer_by_summaries(measurement, direction, base)
            if seen.added is None
            else None
        ),
        loss=estimate_loss(measurement, direction, seen.added),
        random_loss=estimate_random_loss(measurement, direction),
        jitter=jitter,
    )
