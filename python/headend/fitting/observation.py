"""What a measurement saw of one phase of load: the samples that a simulation is compared with."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from headend.fitting.estimates import LineEstimates
from headend.fitting.features import (
    LEAST_SAMPLES,
    Samples,
    find_features,
    name_quantile,
)
from headend.fitting.intervals import find_quantile
from headend.fitting.samples import list_phases, select_phases
from headend.fitting.summaries import MIDDLES
from headend.measurement.record import (
    DelaySeries,
    Direction,
    Load,
    Measurement,
    Phase,
    Probe,
    Quantity,
    RateSeries,
    Trip,
)

#: The length of a phase of load where the tool keeps no times, s: that of web tests.
SUPPOSED_SECONDS = 15.0

#: The interval of probes where the tool keeps no times of them, s.
SUPPOSED_INTERVAL = 0.1

#: Shorter phases of load are slow start only, s.
LEAST_SECONDS = 5.0

#: Which probes are best: those apart from the load, of which nothing else than the line is seen.
_PREFERRED = (Probe.UDP, Probe.ICMP, Probe.REQUEST, Probe.UNKNOWN)

#: Probes whose medians are no farther apart wait in the same queue: a share, and ms.
ALIKE, ALIKE_MS = 0.1, 1.0

#: How long a queue takes to empty after a load at most, s.
_EMPTYING = 2.0

#: The steps of the idle line's distribution.
_IDLE_STEPS = 20

#: Rates are compared in bins of a second.
_BIN = 1.0


@dataclass(frozen=True)
class Observation:
    """A phase of load as one probe saw it.

    Parameters
    ----------
    load
        What filled the line.
    seconds
        How long.
    trip, kind, interval
        Of the probe; the interval in s.
    probe
        Delays of an unmarked probe apart from the load.
    marked
        Those of a marked probe; None without.
    in_flow
        Round trips of the connections of each direction, as far as they are known.
    rates
        Of each loaded direction, in bins of a second, bit/s of TCP's payload.
    is_timed
        Whether the times of the delays are known.
    """

    load: Load
    seconds: float
    trip: Trip
    kind: Probe
    interval: float
    probe: Samples
    marked: Samples | None = None
    in_flow: dict[Direction, Samples] | None = None
    rates: dict[Direction, list[float]] | None = None
    is_timed: bool = True
    #: What the idle line itself adds to its least delay: quantiles in even steps, ms.
    idle: tuple[float, ...] = ()
    #: The median of the added delay where the tool keeps no samples, ms.
    median: float | None = None

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The directions that it tells about."""
        if self.trip is not Trip.ROUND:
            return (Direction(self.trip.value),)
        return tuple(list_directions(self.load))

    def find_features(self, direction: Direction) -> dict[str, float]:
        """Find what it shows of a direction."""
        if self.median is not None:
            return {name_quantile(0.5): self.median}
        rates = (self.rates or {}).get(direction, [])
        in_flow = (self.in_flow or {}).get(direction)
        return find_features(self.probe, self.marked, in_flow, rates)

    def cut(self, seconds: float) -> Observation:
        """Give its first seconds only."""
        if seconds >= self.seconds or not self.is_timed:
            return self
        return replace(
            self,
            seconds=seconds,
            probe=_cut(self.probe, seconds),
            marked=self.marked and _cut(self.marked, seconds),
            in_flow={way: _cut(own, seconds) for way, own in (self.in_flow or {}).items()},
            rates={way: own[: int(seconds / _BIN)] for way, own in (self.rates or {}).items()},
        )


def list_directions(load: Load) -> Iterator[Direction]:
    """List the directions that a load fills."""
    for way in Direction:
        if load.value in (way.value, Load.BOTH.value):
            yield way


def observe(measurement: Measurement, estimates: LineEstimates) -> list[Observation]:
    """List what a measurement saw of its loads, the best of each direction first.

    A direction loaded alone comes before both at once, and delays of one way before those of both.
    """
    found = []
    for load in (Load.DOWN, Load.UP, Load.BOTH):
        ways = list(list_directions(load))
        trips = [Trip(way.value) for way in ways] if load is Load.BOTH else []
        one_way = [own for trip in trips if (own := _observe(measurement, estimates, load, trip))]
        alone = Trip(load.value) if load is not Load.BOTH else None
        best = (alone and _observe(measurement, estimates, load, alone)) or None
        best = best or _observe(measurement, estimates, load, Trip.ROUND)
        if len(one_way) == len(ways) and load is Load.BOTH:
            found += one_way
        elif best is not None:
            found.append(best)
        elif (single := _observe_summary(measurement, estimates, load)) is not None:
            found.append(single)
    return found


def choose_observation(
    observations: Iterable[Observation], direction: Direction
) -> Observation | None:
    """Choose the one that tells most of a direction."""
    return next((own for own in observations if direction in own.directions), None)


def find_phase(measurement: Measurement, load: Load) -> Phase | None:
    """Give the longest phase of a load that is long enough."""
    phases = select_phases(list_phases(measurement), load)
    longest = max(phases, key=lambda own: own.end - own.start, default=None)
    return longest if longest and longest.end - longest.start >= LEAST_SECONDS else None


def find_least(series: DelaySeries, estimates: LineEstimates) -> float:
    """Give the least delay of a probe, to which load adds, ms."""
    least = min(series.delays)
    if series.trip is Trip.ROUND and estimates.base_delay is not None:
        return min(least, estimates.base_delay.value)
    return least


def take_window(series: DelaySeries, phase: Phase, least: float) -> Samples:
    """Take the samples of a phase, with times since its beginning."""
    kept = [
        (at - phase.start, max(own - least, 0.0))
        for at, own in zip(series.times, series.delays, strict=False)
        if phase.start <= at < phase.end
    ]
    kept.sort()
    lost = sorted(at - phase.start for at in series.lost if phase.start <= at < phase.end)
    return Samples([at for at, _ in kept], [own for _, own in kept], lost)


def _observe(
    measurement: Measurement, estimates: LineEstimates, load: Load, trip: Trip
) -> Observation | None:
    phase = find_phase(measurement, load)
    apart = [
        own
        for own in measurement.delays
        if own.trip is trip and own.delays and own.probe is not Probe.IN_FLOW
    ]
    timed = [own for own in apart if own.times] if phase else []
    if phase is None or not timed:
        return _observe_untimed(apart, measurement, estimates, load, trip)
    taken = [(own, take_window(own, phase, find_least(own, estimates))) for own in timed]
    taken = [(own, samples) for own, samples in taken if len(samples.added) >= LEAST_SAMPLES]
    plain = [(own, samples) for own, samples in taken if not own.marking]
    if not plain:
        return None
    series, probe = min(
        plain, key=lambda pair: (_PREFERRED.index(pair[0].probe), -len(pair[1].added))
    )
    probe = _join_alike(series, probe, plain)
    marked = next((samples for own, samples in taken if own.marking), None)
    return Observation(
        load,
        phase.end - phase.start,
        trip,
        series.probe,
        _find_interval(probe),
        probe,
        marked,
        _join_in_flow(measurement, estimates, phase, load),
        {way: bin_rates(measurement.rates, way, phase) for way in list_directions(load)},
        idle=find_idle_quantiles(series, measurement, find_least(series, estimates)),
    )


def find_idle_quantiles(
    series: DelaySeries, measurement: Measurement, least: float
) -> tuple[float, ...]:
    """Find what the idle line adds to its least delay: quantiles in even steps; empty if unknown.

    The first moment after a load is left out, in which its queue empties.
    """
    idle_phases = select_phases(list_phases(measurement), Load.IDLE)
    idle = sorted(
        max(delay - least, 0.0)
        for at, delay in zip(series.times, series.delays, strict=False)
        if any(
            own.start + (_EMPTYING if own.start > 0 else 0.0) <= at < own.end for own in idle_phases
        )
    )
    if len(idle) < LEAST_SAMPLES:
        return ()
    return tuple(find_quantile(idle, own / _IDLE_STEPS) for own in range(_IDLE_STEPS + 1))


def _join_alike(
    best: DelaySeries, probe: Samples, others: Sequence[tuple[DelaySeries, Samples]]
) -> Samples:
    """Join the probes that wait as the best one does: more probes tell more."""
    median = statistics.median(probe.added)
    alike = [
        samples
        for own, samples in others
        if own is best
        or (
            own.probe in (Probe.ICMP, Probe.UDP, Probe.UNKNOWN)
            and abs(statistics.median(samples.added) - median) <= ALIKE * median + ALIKE_MS
        )
    ]
    pairs = sorted(pair for own in alike for pair in zip(own.times, own.added, strict=True))
    lost = sorted(at for own in alike for at in own.lost)
    return Samples([at for at, _ in pairs], [own for _, own in pairs], lost)


def _observe_untimed(
    apart: Sequence[DelaySeries],
    measurement: Measurement,
    estimates: LineEstimates,
    load: Load,
    trip: Trip,
) -> Observation | None:
    """Take delays that say what filled the line, and not when they were."""
    chosen = [own for own in apart if own.load is load and not own.marking]
    chosen = [own for own in chosen if len(own.delays) >= LEAST_SAMPLES]
    if not chosen:
        return None
    series = min(chosen, key=lambda own: (_PREFERRED.index(own.probe), -len(own.delays)))
    idle = [
        own
        for other in apart
        if other.load is Load.IDLE and other.probe is series.probe
        for own in other.delays
    ]
    least = min([*series.delays, *idle])
    if estimates.base_delay is not None and not idle:
        least = min(least, estimates.base_delay.value)
    flows = [
        own - least
        for other in measurement.delays
        if other.probe is Probe.IN_FLOW and other.load is load and not other.times
        for own in other.delays
    ]
    probe = Samples((), [own - least for own in series.delays])
    in_flow = {way: Samples((), flows) for way in list_directions(load)} if flows else None
    return Observation(
        load,
        SUPPOSED_SECONDS,
        trip,
        series.probe,
        SUPPOSED_INTERVAL,
        probe,
        in_flow=in_flow,
        is_timed=False,
    )


def _observe_summary(
    measurement: Measurement, estimates: LineEstimates, load: Load
) -> Observation | None:
    """Take the one number of a tool that keeps no samples."""
    found = [
        own.value
        for own in measurement.summaries
        if own.quantity is Quantity.DELAY and own.load is load and own.statistic in MIDDLES
    ]
    if not found or estimates.base_delay is None:
        return None
    added = max(found[0] - estimates.base_delay.value, 0.0)
    return Observation(
        load,
        SUPPOSED_SECONDS,
        Trip.ROUND,
        Probe.UNKNOWN,
        SUPPOSED_INTERVAL,
        Samples((), ()),
        is_timed=False,
        median=added,
    )


def _find_interval(samples: Samples) -> float:
    """Give the usual time between two probes, s."""
    times = sorted([*samples.times, *samples.lost])
    steps = [after - before for before, after in itertools.pairwise(times)]
    usual = statistics.median(steps) if steps else SUPPOSED_INTERVAL
    return min(max(usual, 0.005), 1.0)


def _join_in_flow(
    measurement: Measurement, estimates: LineEstimates, phase: Phase, load: Load
) -> dict[Direction, Samples]:
    """Join the round trips of the connections of each direction, which their rates tell."""
    ways = {own.flow: own.direction for own in measurement.rates if own.flow}
    alone = list(list_directions(load))
    pairs: dict[Direction, list[tuple[float, float]]] = {}
    for own in measurement.delays:
        if own.probe is Probe.IN_FLOW and own.trip is Trip.ROUND and own.times and own.delays:
            way = ways.get(own.flow, alone[0] if len(alone) == 1 else None)
            if way in alone:
                taken = take_window(own, phase, find_least(own, estimates))
                pairs.setdefault(way, []).extend(zip(taken.times, taken.added, strict=True))
    return {
        way: Samples([at for at, _ in sorted(found)], [delay for _, delay in sorted(found)])
        for way, found in pairs.items()
        if len(found) >= LEAST_SAMPLES
    }


def bin_rates(series: Iterable[RateSeries], way: Direction, phase: Phase) -> list[float]:
    """Give the rate of a direction in bins of a second of a phase, bit/s.

    The sum over all connections is taken where there is one, else the connections are added up.
    """
    own = [one for one in series if one.direction is way and one.rates]
    sums = [one for one in own if not one.flow]
    chosen = [max(sums, key=lambda one: len(one.rates))] if sums else own
    count = int((phase.end - phase.start) / _BIN)
    bits = [0.0] * count
    for one in chosen:
        for start, end, rate in zip(one.starts, one.ends, one.rates, strict=False):
            first, last = start - phase.start, end - phase.start
            for place in range(max(int(first / _BIN), 0), min(int(last / _BIN) + 1, count)):
                overlap = min(last, (place + 1) * _BIN) - max(first, place * _BIN)
                if overlap > 0:
                    bits[place] += rate * overlap
    return [own / _BIN for own in bits] if any(bits) else []


def _cut(samples: Samples, seconds: float) -> Samples:
    if not samples.times:
        return samples
    pairs = zip(samples.times, samples.added, strict=True)
    kept = [(at, own) for at, own in pairs if at < seconds]
    return Samples(
        [at for at, _ in kept],
        [own for _, own in kept],
        [at for at in samples.lost if at < seconds],
    )
