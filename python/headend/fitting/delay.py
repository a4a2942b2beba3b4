"""The delay of the line: idle, what load of a direction adds, and what the access method spreads.

The base delay is the least delay of all: a queue only adds to it, so the least delay under load may
replace that of the idle line, never exceed the truth by less. With few samples or a spread access
method the least sample is above the least possible delay; the interval reaches down for that.
Besides, a probe takes time to be sent: the interval reaches down by what its bytes take at the
line's rates.

Delays of one way have the unknown offset of two clocks, and perhaps a drift. Only differences count
of them, after a drift that the idle times before and after a load agree on is taken out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from headend.fitting.estimates import Bound, Estimate
from headend.fitting.intervals import (
    bound_minimum,
    count_block,
    draw_again,
    median,
    quantile,
)
from headend.fitting.samples import (
    LOAD_OF,
    TRIP_OF,
    Delays,
    choose_series,
    gather,
    idle_phases,
    phases_of,
    select_phases,
    settle,
)
from headend.measurement.record import (
    DelaySeries,
    Direction,
    Load,
    Measurement,
    Phase,
    Probe,
    Quantity,
    Statistic,
    Summary,
    Trip,
)

#: IP bytes of a probe: that of a ping program by default.
PROBE_SIZE = 84

#: An echo that a device answers or forwards first has less than this share of the delay that load
#: adds to UDP, and differs by so many ms at least.
PRIORITISED_SHARE, PRIORITISED_MS = 0.5, 5.0

#: A clock's drift is taken out when it moves delays by more than this over the measurement, ms.
LEAST_DRIFT = 1.0

#: Of a spread: the 5th and the 95th percentile.
LOW_SHARE, HIGH_SHARE = 0.05, 0.95

#: Fewer samples tell nothing of a spread.
ENOUGH_FOR_SPREAD = 20


@dataclass(frozen=True)
class Added:
    """The delays that load of a direction adds.

    Parameters
    ----------
    whole
        Above the base, over the whole load, ms.
    settled
        Without how each load begins.
    mixed
        Whether load of the other direction is in them too.
    series
        Where they are from.
    """

    whole: Delays
    settled: Delays
    mixed: bool
    series: DelaySeries


def speaking_series(measurement: Measurement, trip: Trip) -> DelaySeries | None:
    """Choose the series of a trip that speaks for the line.

    An echo request that has much less delay under load than UDP was let pass, so UDP speaks.
    """
    chosen = choose_series(measurement, trip)
    if chosen is None or chosen.probe is not Probe.ICMP:
        return chosen
    return chosen if find_priority(measurement) is None else _best_of(measurement, trip, Probe.UDP)


def find_priority(measurement: Measurement) -> tuple[float, float] | None:
    """Give what load adds to ICMP and to UDP, where the first is much less: medians, ms."""
    phases = phases_of(measurement)
    loaded = settle([phase for phase in phases if phase.load is not Load.IDLE])
    medians = []
    for probe in (Probe.ICMP, Probe.UDP):
        series = _best_of(measurement, Trip.ROUND, probe)
        if series is None or not series.times:
            return None
        found = gather(series, loaded, Load.BOTH).delays
        if len(found) < ENOUGH_FOR_SPREAD:
            return None
        medians.append(median(found) - min(series.delays))
    icmp, udp = medians
    is_less = icmp < PRIORITISED_SHARE * udp and udp - icmp > PRIORITISED_MS
    return (icmp, udp) if is_less else None


def idle_delays(measurement: Measurement, trip: Trip = Trip.ROUND) -> Delays:
    """Give the delays of the idle line that the best series has."""
    series = speaking_series(measurement, trip)
    if series is None:
        return Delays()
    return gather(series, idle_phases(phases_of(measurement)), Load.IDLE)


def estimate_base_delay(
    measurement: Measurement, rates: Mapping[Direction, float] | None = None
) -> Estimate | None:
    """Estimate the delay there and back on the idle line, ms.

    Parameters
    ----------
    measurement
        What was measured.
    rates
        The line's rates as far as they are known, bit/s: how long a probe takes to be sent.
    """
    serialisation = sum(PROBE_SIZE * 8e3 / rate for rate in (rates or {}).values() if rate > 0)
    series = speaking_series(measurement, Trip.ROUND)
    if series is None:
        return _base_of_one_way(measurement, serialisation) or _base_of_summaries(measurement)
    idle = sorted(idle_delays(measurement).delays)
    if not idle:
        ordered = sorted(series.delays)
        low, high = bound_minimum(ordered)
        basis = f"the least of {len(ordered)} samples, none of which is known to be of an idle line"
        return Estimate(
            ordered[0], max(0.0, low - serialisation), high, basis, len(ordered), Bound.AT_MOST
        )
    least = min(series.delays)
    low, high = bound_minimum(idle)
    basis = f"the least of {len(idle)} samples of the idle line"
    if least < idle[0]:
        basis = f"the least of {len(series.delays)} samples, {len(idle)} of them of the idle line"
        low, high = min(low, least), least
    return Estimate(high, max(0.0, low - serialisation), high, basis, len(idle))


def added_delays(
    measurement: Measurement, direction: Direction, base: float | None
) -> Added | None:
    """Give the delays that load of a direction adds, from the best samples there are.

    Those are, in this order, round trips while only this direction was loaded; trips of this
    direction while both were; and round trips while both were, which are mixed.

    Parameters
    ----------
    measurement
        What was measured.
    direction
        Whose load.
    base
        The base delay there and back, ms.
    """
    phases = phases_of(measurement)
    own = LOAD_OF[direction]
    round_trip = speaking_series(measurement, Trip.ROUND)
    one_way = speaking_series(measurement, TRIP_OF[direction])
    if round_trip is not None and base is not None:
        found = _add(round_trip, phases, own, base)
        if found is not None:
            return found
    if one_way is not None:
        one_way = correct_drift(measurement, one_way)
        idle = gather(one_way, idle_phases(phases), Load.IDLE).delays
        least = min(idle or one_way.delays)
        for load in (own, Load.BOTH):
            found = _add(one_way, phases, load, least)
            if found is not None:
                return found
    if round_trip is not None and base is not None:
        # A series of another probe may have samples where the best one has none.
        candidates = [round_trip, *(each for each in measurement.delays if each.trip is Trip.ROUND)]
        for load in (own, Load.BOTH):
            for series in candidates:
                found = _add(series, phases, load, base)
                if found is not None:
                    return replace(found, mixed=load is Load.BOTH)
    return None


def estimate_loaded_delay(added: Added | None, base: Estimate | None) -> Estimate | None:
    """Estimate the median delay that load of a direction adds, ms."""
    if added is None or not added.settled.delays:
        return None
    delays = added.settled.delays
    low, high = draw_again(
        delays, count_block(added.settled.times), lambda drawn: quantile(drawn, 0.5)
    )
    unsure = base.value - base.low if base is not None else 0.0
    basis = f"{len(delays)} samples under load"
    if added.mixed:
        basis += " of both directions"
        return Estimate(
            max(0.0, median(delays)),
            0.0,
            max(0.0, high + unsure),
            basis,
            len(delays),
            Bound.AT_MOST,
        )
    return Estimate(
        max(0.0, median(delays)), max(0.0, low), max(0.0, high + unsure), basis, len(delays)
    )


def estimate_jitter(measurement: Measurement, direction: Direction) -> Estimate | None:
    """Estimate the spread of the idle line's delays, ms: from the 5th to the 95th percentile.

    Round trips have the spreads of both directions, so each of them has at most theirs.
    """
    phases = phases_of(measurement)
    bound = None
    series = speaking_series(measurement, TRIP_OF[direction])
    if series is not None:
        series = correct_drift(measurement, series)
    else:
        series = speaking_series(measurement, Trip.ROUND)
        bound = Bound.AT_MOST
    if series is None:
        return None
    idle = gather(series, idle_phases(phases), Load.IDLE)
    if len(idle.delays) < ENOUGH_FOR_SPREAD:
        return None
    value = _spread(sorted(idle.delays))
    low, high = draw_again(idle.delays, 1, _spread)
    basis = f"{len(idle.delays)} samples of the idle line"
    if bound is not None:
        basis, low = f"{basis}, there and back", 0.0
    return Estimate(value, max(0.0, low), high, basis, len(idle.delays), bound)


def find_drift(measurement: Measurement) -> float | None:
    """Find how fast the clocks of two ends drift apart, ms a second: positive where trips up grow.

    The idle times before and after the load tell it: trips of one direction seem to grow by what
    those of the other shrink. A change of the path does not look like that.
    """
    phases = idle_phases(phases_of(measurement))
    if len(phases) < 2:
        return None
    slopes = []
    for direction in (Direction.UP, Direction.DOWN):
        series = choose_series(measurement, TRIP_OF[direction])
        if series is None or not series.times:
            return None
        ends = []
        for phase in (phases[0], phases[-1]):
            found = gather(series, [phase], Load.IDLE)
            if not found.delays:
                return None
            delay, time = min(zip(found.delays, found.times, strict=True))
            ends.append((time, delay))
        (start, before), (end, after) = ends
        slopes.append((after - before) / (end - start))
    up, down = slopes
    drift = (up - down) / 2
    length = phases[-1].end - phases[0].start
    opposite = up * down < 0 and abs(up + down) < abs(drift)
    return drift if opposite and abs(drift) * length > LEAST_DRIFT else None


def correct_drift(measurement: Measurement, series: DelaySeries) -> DelaySeries:
    """Take the drift of the clocks out of delays of one way."""
    drift = find_drift(measurement)
    if drift is None or series.trip is Trip.ROUND or not series.times:
        return series
    sign = 1 if series.trip is Trip.UP else -1
    delays = [
        delay - sign * drift * time for time, delay in zip(series.times, series.delays, strict=True)
    ]
    return replace(series, delays=delays)


def find_summary(
    measurement: Measurement, quantity: Quantity, load: Load, *statistics: Statistic
) -> Summary | None:
    """Find a number of a tool that keeps no samples: the first of some statistics that there is."""
    for statistic in statistics:
        for summary in measurement.summaries:
            if (summary.quantity, summary.load, summary.statistic) == (quantity, load, statistic):
                return summary
    return None


def _add(series: DelaySeries, phases: tuple[Phase, ...], load: Load, base: float) -> Added | None:
    selected = select_phases(phases, load)
    whole = gather(series, selected, load)
    if not whole.delays:
        return None
    settled = gather(series, settle(selected), load)
    return Added(whole.above(base), settled.above(base), False, series)


def _base_of_one_way(measurement: Measurement, serialisation: float) -> Estimate | None:
    """Add the least trips of both directions: the offset of the clocks is then gone."""
    series = [speaking_series(measurement, trip) for trip in (Trip.UP, Trip.DOWN)]
    if any(each is None for each in series):
        return None
    corrected = [correct_drift(measurement, each) for each in series if each is not None]
    phases = idle_phases(phases_of(measurement))
    idle = [sorted(gather(each, phases, Load.IDLE).delays) for each in corrected]
    is_idle = all(idle)
    ordered = idle if is_idle else [sorted(each.delays) for each in corrected]
    bounds = [bound_minimum(each) for each in ordered]
    count = min(len(each) for each in ordered)
    where = "samples of the idle line" if is_idle else "samples under load"
    value = sum(each[0] for each in ordered)
    if value < 0 or not math.isfinite(value):
        return None
    return Estimate(
        value,
        max(0.0, sum(low for low, _ in bounds) - serialisation),
        value,
        f"the least of {count} {where} of each direction",
        count,
        None if is_idle else Bound.AT_MOST,
    )


def _base_of_summaries(measurement: Measurement) -> Estimate | None:
    """Take the least delay of an idle line, or a mean of it, of which the least is a part."""
    least = find_summary(measurement, Quantity.DELAY, Load.IDLE, Statistic.LEAST)
    if least is not None:
        return Estimate(
            least.value,
            0.8 * least.value,
            least.value,
            "the tool's least delay of the idle line",
            1,
        )
    middle = find_summary(
        measurement,
        Quantity.DELAY,
        Load.IDLE,
        Statistic.MEDIAN,
        Statistic.IQM,
        Statistic.MEAN,
    )
    if middle is None:
        return None
    jitter = find_summary(measurement, Quantity.DELAY, Load.IDLE, Statistic.JITTER)
    spread = max(0.2 * middle.value, 2 * jitter.value if jitter is not None else 0.0)
    return Estimate(
        middle.value,
        max(0.0, middle.value - spread),
        middle.value,
        f"the tool's {middle.statistic} delay of the idle line",
        1,
        Bound.AT_MOST,
    )


def _best_of(measurement: Measurement, trip: Trip, probe: Probe) -> DelaySeries | None:
    series = [
        each
        for each in measurement.delays
        if each.trip is trip and each.probe is probe and not each.marking and each.delays
    ]
    return max(series, key=lambda each: len(each.delays), default=None)


def _spread(ordered: list[float]) -> float:
    return quantile(ordered, HIGH_SHARE) - quantile(ordered, LOW_SHARE)
