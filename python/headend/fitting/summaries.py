"""Estimates from the single numbers of tools that keep no samples.

Their intervals come from what such a number can mean, not from its spread, which nobody kept:

- A rate is a mean over ten to fifteen seconds. Slow start takes 1 to 1.5 s of them, and is part of
  some tools' mean. A token bucket's burst may be part of it too.
- A delay under load is a mean or a median over the whole test: below that of the settled line
  while the queue fills, and above it where the tool's own connections wait.
- A queue that is filled until it drops is on the average half full at least, unless it empties: so
  its depth is between the mean and twice the mean, or the largest delay.
"""

from __future__ import annotations

from headend.fitting.estimates import Bound, Estimate
from headend.fitting.samples import HEADERS, LOAD_OF
from headend.measurement.record import (
    Direction,
    Load,
    Measurement,
    Quantity,
    Statistic,
    Summary,
)

#: What a rate may be times its mean: less by a tenth for a burst, more by 15 % for slow start.
RATE_LOW, RATE_HIGH = 0.9, 1.15

#: What a settled delay may be times a mean over the whole test.
DELAY_LOW, DELAY_HIGH = 0.8, 1.4

#: The least delay is this much below a median of the idle line, or twice its jitter.
IDLE_SPREAD = 0.2

#: What stands for the middle of many values, the best first.
MIDDLES = (Statistic.MEDIAN, Statistic.IQM, Statistic.MEAN)


def find_summary(
    measurement: Measurement,
    quantity: Quantity,
    load: Load | None,
    *statistics: Statistic,
    direction: Direction | None = None,
) -> Summary | None:
    """Find a number: of the first of some statistics that there is, the least.

    Parameters
    ----------
    measurement
        What was measured.
    quantity
        What it is about.
    load
        What filled the line; None for any.
    statistics
        What it is of many.
    direction
        Of the data; None for any.
    """
    for statistic in statistics:
        found = [
            summary
            for summary in measurement.summaries
            if (summary.quantity, summary.statistic) == (quantity, statistic)
            and load in {None, summary.load}
            and direction in {None, summary.direction}
        ]
        if found:
            return min(found, key=lambda summary: summary.value)
    return None


def estimate_rate_by_summaries(measurement: Measurement, direction: Direction) -> Estimate | None:
    """Estimate the sustained rate of a direction, bit/s."""
    for load in (LOAD_OF[direction], Load.BOTH):
        found = find_summary(measurement, Quantity.RATE, load, *MIDDLES, direction=direction)
        if found is not None and found.value > 0:
            value = found.value * HEADERS
            return Estimate(
                value, RATE_LOW * value, RATE_HIGH * value, f"the tool's {found.statistic} rate", 1
            )
    return None


def estimate_base_by_summaries(measurement: Measurement) -> Estimate | None:
    """Estimate the base delay, ms: the least of the idle line, or what is below a middle of it."""
    least = find_summary(measurement, Quantity.DELAY, Load.IDLE, Statistic.LEAST)
    if least is not None:
        low = (1 - IDLE_SPREAD) * least.value
        return Estimate(least.value, low, least.value, "the tool's least delay of the idle line", 1)
    middle = find_summary(measurement, Quantity.DELAY, Load.IDLE, *MIDDLES)
    if middle is None:
        return None
    jitter = find_summary(measurement, Quantity.DELAY, Load.IDLE, Statistic.JITTER)
    spread = max(IDLE_SPREAD * middle.value, 2 * jitter.value if jitter is not None else 0.0)
    basis = f"the tool's {middle.statistic} delay of the idle line"
    low = max(0.0, middle.value - spread)
    return Estimate(middle.value, low, middle.value, basis, 1, Bound.AT_MOST)


def estimate_loaded_by_summaries(
    measurement: Measurement, direction: Direction, base: Estimate | None
) -> Estimate | None:
    """Estimate the median delay that load of a direction adds, ms."""
    found = _find_middle_under_load(measurement, direction)
    if found is None or base is None:
        return None
    value = max(0.0, found.value - base.value)
    high = DELAY_HIGH * value + base.value - base.low
    basis = f"the tool's {found.statistic} delay under load"
    if found.load is Load.BOTH:
        return Estimate(value, 0.0, high, f"{basis} of both directions", 1, Bound.AT_MOST)
    return Estimate(value, DELAY_LOW * value, high, basis, 1)


def estimate_buffer_by_summaries(
    measurement: Measurement, direction: Direction, base: Estimate | None
) -> Estimate | None:
    """Estimate the least depth that a buffer must have for the delay under load, ms."""
    found = _find_middle_under_load(measurement, direction)
    if found is None or base is None or found.load is Load.BOTH or found.value <= base.value:
        return None
    value = found.value - base.value
    most = find_summary(measurement, Quantity.DELAY, found.load, Statistic.MOST)
    largest = most.value - base.low if most is not None else 0.0
    basis = f"the tool's {found.statistic} delay under load"
    return Estimate(value, DELAY_LOW * value, max(largest, 2 * value), basis, 1, Bound.AT_LEAST)


def estimate_loss_by_summaries(measurement: Measurement, direction: Direction) -> Estimate | None:
    """Estimate the share of lost packets; each direction has at most what both have."""
    for summary in measurement.summaries:
        if summary.quantity is not Quantity.LOSS or summary.load is Load.IDLE:
            continue
        if summary.direction not in {None, direction}:
            continue
        if summary.load not in {LOAD_OF[direction], Load.BOTH}:
            continue
        value, basis = min(1.0, summary.value), "the tool's share of lost packets"
        if summary.direction is None:
            return Estimate(value, 0.0, value, basis, 1, Bound.AT_MOST)
        return Estimate(value, 0.5 * value, min(1.0, 2 * value), basis, 1)
    return None


def _find_middle_under_load(measurement: Measurement, direction: Direction) -> Summary | None:
    for load in (LOAD_OF[direction], Load.BOTH):
        found = find_summary(measurement, Quantity.DELAY, load, *MIDDLES)
        if found is not None:
            return found
    return None
