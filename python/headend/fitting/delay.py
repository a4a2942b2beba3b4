"""The delay of the line: idle, what load of a direction adds, and what the access method spreads.

The base delay is the least delay of the idle line. With few samples, or where the access method
spreads them, the least sample is above the least possible delay, and the interval reaches down for
that: the largest error of most measurements. A probe takes time to be sent, which is large on slow
lines only; the interval reaches down to what a packet without bytes would take. Besides, it holds
the error of the hosts' time stamps and of the digits that the tool writes.

Delays of one way have the unknown offset of two clocks, and perhaps a drift. Only differences count
of them, after a drift that the idle times before and after a load agree on is taken out.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from headend.fitting.estimates import Bound, Estimate
from headend.fitting.intervals import (
    bound_minimum,
    count_block,
    draw_again,
    find_quantile,
)
from headend.fitting.samples import (
    LOAD_OF,
    PROBE_SIZE,
    TRIP_OF,
    Delays,
    gather,
    list_idle_phases,
    list_phases,
    rank_series,
    select_phases,
    settle,
)
from headend.fitting.summaries import estimate_base_by_summaries, find_summary
from headend.measurement.record import (
    DelaySeries,
    Direction,
    Load,
    Measurement,
    Phase,
    Probe,
    Quantity,
    Statistic,
    Trip,
)
from headend.text.wording import write_count

#: An echo that a device answers or forwards first has less than this share of the delay that load
#: adds to UDP, and differs by so many ms at least.
PRIORITISED_SHARE, PRIORITISED_MS = 0.5, 5.0

#: A clock's drift is taken out when it moves delays by more than this over the measurement, ms.
LEAST_DRIFT = 1.0

#: Fewer samples of the idle line may all be late. Then those under load count too, although load
#: may shorten a delay: a cable modem that has a grant asks for the next one in it.
ENOUGH_IDLE = 50

#: A host takes the time of a packet with an error of some hundredths of a ms.
HOST_ERROR = 0.05

#: A probe's size is not recorded: it is half of PROBE_SIZE to half more.
SIZE_ERROR = 0.5

#: How finely tools write delays, ms.
RESOLUTIONS = (1.0, 0.1, 0.01, 0.001)

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


def rank_speaking(measurement: Measurement, trip: Trip) -> list[DelaySeries]:
    """Give the series of a trip, first that which speaks best for the line, without clocks' drift.

    An echo request that has much less delay under load than UDP was let pass, so it comes last.
    """
    ranked = [correct_drift(measurement, series) for series in rank_series(measurement, trip)]
    if find_priority(measurement) is not None:
        ranked.sort(key=lambda series: series.probe is Probe.ICMP)
    return ranked


def find_priority(measurement: Measurement) -> tuple[float, float] | None:
    """Give what load adds to ICMP and to UDP, where the first is much less: medians, ms."""
    loaded = settle([each for each in list_phases(measurement) if each.load is not Load.IDLE])
    medians = []
    for probe in (Probe.ICMP, Probe.UDP):
        series = _choose_longest(measurement, Trip.ROUND, probe)
        if series is None or not series.times:
            return None
        found = gather(series, loaded, Load.BOTH).delays
        if len(found) < ENOUGH_FOR_SPREAD:
            return None
        medians.append(statistics.median(found) - min(series.delays))
    icmp, udp = medians
    is_less = icmp < PRIORITISED_SHARE * udp and udp - icmp > PRIORITISED_MS
    return (icmp, udp) if is_less else None


def find_idle(measurement: Measurement, trip: Trip) -> tuple[DelaySeries, Delays] | None:
    """Find the best series that has delays of the idle line, and these."""
    phases = list_idle_phases(list_phases(measurement))
    for series in rank_speaking(measurement, trip):
        found = gather(series, phases, Load.IDLE)
        if found.delays:
            return series, found
    return None


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
    sending = sum(PROBE_SIZE * 8e3 / rate for rate in (rates or {}).values() if rate > 0)
    found = find_idle(measurement, Trip.ROUND)
    if found is None:
        estimate = (
            _add_base_of_one_way(measurement)
            or estimate_base_by_summaries(measurement)
            or _bound_base_under_load(measurement)
        )
        return None if estimate is None else _widen(estimate, (), sending)
    series, samples = found
    idle = sorted(samples.delays)
    low, high = bound_minimum(idle)
    least = min(series.delays)
    basis = f"the least of {write_count(len(idle), 'sample')} of the idle line"
    if len(idle) < ENOUGH_IDLE and least < high:
        basis = f"the least of all samples, {len(idle)} of them of the idle line"
        value = least
    else:
        value = high
    return _widen(Estimate(value, min(low, least), high, basis, len(idle)), idle, sending)


def _widen(estimate: Estimate, delays: Sequence[float], sending: float) -> Estimate:
    """Widen the interval of a least delay by what is known of how tools take it."""
    error = HOST_ERROR + _find_resolution(delays) / 2
    return replace(
        estimate,
        low=max(0.0, estimate.low - error - sending),
        high=estimate.high + error + SIZE_ERROR * sending,
    )


def _find_resolution(delays: Sequence[float]) -> float:
    """Give how finely a tool writes delays, ms: ping has three digits of each."""
    for step in RESOLUTIONS:
        if all(abs(delay / step - round(delay / step)) < 1e-6 for delay in delays):
            return step if len(delays) > 1 else 0.0
    return 0.0


def find_added_delays(
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
    phases = list_phases(measurement)
    own = LOAD_OF[direction]
    round_trips = rank_speaking(measurement, Trip.ROUND)
    one_way = rank_speaking(measurement, TRIP_OF[direction])
    for candidates, load in (
        (round_trips, own),
        (one_way, own),
        (one_way, Load.BOTH),
        (round_trips, Load.BOTH),
    ):
        for series in candidates:
            found = _add(measurement, series, phases, load, base)
            if found is not None:
                return found
    return None


def estimate_loaded_delay(added: Added | None, base: Estimate | None) -> Estimate | None:
    """Estimate the median delay that load of a direction adds, ms."""
    if added is None or not added.settled.delays:
        return None
    delays = added.settled.delays
    low, high = draw_again(delays, count_block(added.settled.times), statistics.median)
    unsure = base.value - base.low if base is not None else 0.0
    basis = f"{write_count(len(delays), 'sample')} under load"
    if added.mixed:
        basis += " of both directions"
        return Estimate(
            max(0.0, statistics.median(delays)),
            0.0,
            max(0.0, high + unsure),
            basis,
            len(delays),
            Bound.AT_MOST,
        )
    return Estimate(
        max(0.0, statistics.median(delays)),
        max(0.0, low),
        max(0.0, high + unsure),
        basis,
        len(delays),
    )


def estimate_jitter(measurement: Measurement, direction: Direction) -> Estimate | None:
    """Estimate the spread of the idle line's delays, ms: from the 5th to the 95th percentile.

    Round trips have the spreads of both directions, so each of them has at most theirs.
    """
    found = find_idle(measurement, TRIP_OF[direction])
    one_way = found is not None
    found = found or find_idle(measurement, Trip.ROUND)
    if found is None or len(found[1].delays) < ENOUGH_FOR_SPREAD:
        return None
    delays = found[1].delays
    value = _measure_spread(sorted(delays))
    low, high = draw_again(delays, 1, _measure_spread)
    basis = f"{write_count(len(delays), 'sample')} of the idle line"
    if one_way:
        return Estimate(value, max(0.0, low), high, basis, len(delays))
    return Estimate(value, 0.0, high, f"{basis}, there and back", len(delays), Bound.AT_MOST)


def find_drift(measurement: Measurement) -> float | None:
    """Find how fast the clocks of two ends drift apart, ms a second: positive where trips up grow.

    The idle times before and after the load tell it: trips of one direction seem to grow by what
    those of the other shrink. A change of the path does not look like that.
    """
    phases = list_idle_phases(list_phases(measurement))
    if len(phases) < 2:
        return None
    slopes = []
    for direction in (Direction.UP, Direction.DOWN):
        series = next(iter(rank_series(measurement, TRIP_OF[direction])), None)
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


def _add(
    measurement: Measurement,
    series: DelaySeries,
    phases: tuple[Phase, ...],
    load: Load,
    base: float | None,
) -> Added | None:
    selected = select_phases(phases, load)
    whole = gather(series, selected, load)
    least = _find_least(measurement, series)
    if least is None and series.trip is Trip.ROUND:
        least = base
    if not whole.delays or least is None:
        return None
    settled = gather(series, settle(selected), load)
    mixed = load is Load.BOTH and series.trip is Trip.ROUND
    return Added(
        whole.above(least), (settled if settled.delays else whole).above(least), mixed, series
    )


def _find_least(measurement: Measurement, series: DelaySeries) -> float | None:
    """Give the least delay of a probe that was sent on the idle line too; or of one way.

    A series of its own may go to another host. Only if it was not sent on the idle line, others
    like it stand for it.
    """
    phases = list_idle_phases(list_phases(measurement))
    own = gather(series, phases, Load.IDLE).delays
    if own and series.times:
        return min(own)
    alike = [
        correct_drift(measurement, each)
        for each in measurement.delays
        if (each.trip, each.probe, each.marking) == (series.trip, series.probe, series.marking)
        and len(each.delays) > 0
    ]
    idle = [delay for each in alike for delay in gather(each, phases, Load.IDLE).delays]
    if not idle and series.trip is Trip.ROUND:
        return None
    return min(idle, default=min(series.delays))


def _add_base_of_one_way(measurement: Measurement) -> Estimate | None:
    """Add the least trips of both directions: the offset of the clocks is then gone."""
    found = [find_idle(measurement, trip) for trip in (Trip.UP, Trip.DOWN)]
    ordered = [sorted(each[1].delays) for each in found if each is not None]
    if len(ordered) < 2:
        return None
    value = sum(each[0] for each in ordered)
    low = sum(bound_minimum(each)[0] for each in ordered)
    count = min(len(each) for each in ordered)
    basis = f"the least of {write_count(count, 'sample')} of the idle line each way"
    return Estimate(value, max(0.0, low), value, basis, count) if value >= 0 else None


def _bound_base_under_load(measurement: Measurement) -> Estimate | None:
    """Take the least delay of all: that of the idle line is that or less."""
    ranked = rank_speaking(measurement, Trip.ROUND)
    summary = find_summary(measurement, Quantity.DELAY, None, Statistic.LEAST)
    if summary is not None and (not ranked or summary.value < min(ranked[0].delays)):
        basis = "the tool's least delay, under load"
        return Estimate(summary.value, 0.0, summary.value, basis, 1, Bound.AT_MOST)
    if not ranked:
        return None
    ordered = sorted(ranked[0].delays)
    low, high = bound_minimum(ordered)
    basis = f"the least of {write_count(len(ordered), 'sample')}, none known to be of an idle line"
    return Estimate(ordered[0], max(0.0, low), high, basis, len(ordered), Bound.AT_MOST)


def _choose_longest(measurement: Measurement, trip: Trip, probe: Probe) -> DelaySeries | None:
    series = [
        each
        for each in measurement.delays
        if each.trip is trip and each.probe is probe and not each.marking and each.delays
    ]
    return max(series, key=lambda each: len(each.delays), default=None)


def _measure_spread(ordered: list[float]) -> float:
    return find_quantile(ordered, HIGH_SHARE) - find_quantile(ordered, LOW_SHARE)
