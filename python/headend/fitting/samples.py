"""Which samples of a measurement belong to which load, and which probe speaks for the line."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace

from headend.measurement.phases import find_busy, find_phases
from headend.measurement.record import (
    DelaySeries,
    Direction,
    Load,
    Measurement,
    Phase,
    Probe,
    Trip,
)

#: How long slow start, and what it left in a queue, may take, s. Slow start over 150 ms to
#: 500 Mbit/s takes ten round trips; a queue of 1 s then takes as long to empty.
SETTLING = 2.0

#: Before the end of an idle phase, s: clocks of a tool's parts may differ, and connections open.
EDGE = 0.25

#: Bits of a full packet, which has 1500 IP bytes.
PACKET_BITS = 1500 * 8

#: IP bytes over TCP payload in full packets of 1500 bytes, over IPv4 with time stamps, as most
#: systems send.
HEADERS = 1500 / 1448

#: IP bytes of acknowledgements for each IP byte of data: 52 for two packets (RFC 5681 §4.2). Those
#: that receivers or routers merge are fewer, so the bounds of a rate have none.
ACKNOWLEDGING = 52 / 3000

#: A queue adds at least this delay, ms, and that of so many packets of 1500 bytes.
LEAST_QUEUE_MS, LEAST_QUEUE_PACKETS = 2.0, 4

#: IP bytes of a probe: that of a ping program by default.
PROBE_SIZE = 84

#: The load of one direction alone.
LOAD_OF = {Direction.UP: Load.UP, Direction.DOWN: Load.DOWN}

#: The one-way trip of a direction.
TRIP_OF = {Direction.UP: Trip.UP, Direction.DOWN: Trip.DOWN}

#: Which probe speaks for the line, the best first. ICMP and UDP are sent at constant intervals; a
#: request waits for the one before it, so that long delays have few samples.
PREFERRED = (Probe.ICMP, Probe.UDP, Probe.UNKNOWN, Probe.REQUEST, Probe.IN_FLOW)


@dataclass(frozen=True)
class Delays:
    """Samples of one load, in order of time.

    Parameters
    ----------
    times
        When each answered probe was sent, s; empty where the tool keeps no times.
    delays
        Of each, ms.
    lost
        When probes without an answer were sent, s.
    lost_count
        How many had none.
    """

    times: tuple[float, ...] = ()
    delays: tuple[float, ...] = ()
    lost: tuple[float, ...] = ()
    lost_count: int = 0

    @property
    def sent(self) -> int:
        """How many probes were sent."""
        return len(self.delays) + self.lost_count

    def above(self, base: float) -> Delays:
        """Give the same samples less a constant, ms."""
        return Delays(
            self.times, tuple(delay - base for delay in self.delays), self.lost, self.lost_count
        )


def list_phases(measurement: Measurement) -> tuple[Phase, ...]:
    """Give the phases of load, from the rates where the measurement names none."""
    if measurement.phases:
        return tuple(sorted(measurement.phases, key=lambda phase: phase.start))
    times = [at for series in measurement.rates for at in (*series.starts, *series.ends)]
    return find_phases(find_busy(measurement.rates), min(times), max(times)) if times else ()


def find_sending_time(rate: float | None) -> float:
    """Give how long a packet of 1500 bytes takes to be sent, ms; 0 where the rate is not known."""
    return PACKET_BITS * 1e3 / rate if rate else 0.0


def find_least_queue(rate: float | None) -> float:
    """Give the delay from which packets wait in a queue, ms.

    Examples
    --------
    >>> find_least_queue(1e6), find_least_queue(1e9), find_least_queue(None)
    (48.0, 2.0, 2.0)
    """
    return max(LEAST_QUEUE_MS, LEAST_QUEUE_PACKETS * find_sending_time(rate))


def select_phases(phases: Sequence[Phase], load: Load) -> list[Phase]:
    """Give the phases of one load."""
    return [phase for phase in phases if phase.load is load and phase.end > phase.start]


def list_loading_phases(phases: Sequence[Phase], direction: Direction) -> list[Phase]:
    """Give the phases that tell most of a direction: its own, or those of both directions."""
    return select_phases(phases, LOAD_OF[direction]) or select_phases(phases, Load.BOTH)


def settle(phases: Sequence[Phase]) -> list[Phase]:
    """Leave out how each phase begins: two seconds, but no more than a third of it."""
    return [
        Phase(phase.load, phase.start + min(SETTLING, (phase.end - phase.start) / 3), phase.end)
        for phase in phases
    ]


def list_idle_phases(phases: Sequence[Phase]) -> list[Phase]:
    """Give when the line was idle, without the time that a queue takes to empty after a load."""
    idle = select_phases(phases, Load.IDLE)
    first = min((phase.start for phase in phases), default=0.0)
    kept = []
    for phase in idle:
        after_load = phase.start > first
        start = settle([phase])[0].start if after_load else phase.start
        kept.append(Phase(phase.load, start, max(start, phase.end - EDGE)))
    return kept


def rank_series(measurement: Measurement, trip: Trip) -> list[DelaySeries]:
    """Give the series of a trip, first that which speaks best for the line.

    Packets of their own come first, then those without a mark, then by kind, number and host.
    """
    series = [each for each in measurement.delays if each.trip is trip and len(each.delays) > 0]
    most = Counter[Probe]()
    for each in series:
        most[each.probe] = max(most[each.probe], len(each.delays))
    return sorted(series, key=lambda each: _rank(each, most[each.probe]))


def gather(series: DelaySeries, phases: Iterable[Phase], load: Load) -> Delays:
    """Give the samples of a series within some phases, or of a load where it has no times.

    Parameters
    ----------
    series
        Samples in any order of time.
    phases
        Of the load.
    load
        Which load a series without times must be of.
    """
    if not series.times:
        if series.load is not load:
            return Delays()
        return Delays((), tuple(series.delays), (), series.lost_count)
    if not isinstance(series, _Sorted):
        series = _sort(series)
    times, delays, lost = series.times, series.delays, series.lost
    kept_times: list[float] = []
    kept: list[float] = []
    kept_lost: list[float] = []
    for phase in phases:
        own = slice(bisect_left(times, phase.start), bisect_left(times, phase.end))
        kept_times += times[own]
        kept += delays[own]
        kept_lost += lost[bisect_left(lost, phase.start) : bisect_left(lost, phase.end)]
    return Delays(tuple(kept_times), tuple(kept), tuple(kept_lost), len(kept_lost))


class _Sorted(DelaySeries):
    """A series in order of time."""


def sort_samples(measurement: Measurement) -> Measurement:
    """Give the measurement with its delays in order of time, so that they are found at once."""
    return replace(measurement, delays=tuple(_sort(series) for series in measurement.delays))


def _sort(series: DelaySeries) -> _Sorted:
    times, delays = tuple(series.times), tuple(series.delays)
    if times:
        order = sorted(range(len(times)), key=times.__getitem__)
        times = tuple(times[k] for k in order)
        delays = tuple(delays[k] for k in order)
    values = {each.name: getattr(series, each.name) for each in fields(series)}
    values |= {"times": times, "delays": delays, "lost": tuple(sorted(series.lost))}
    return _Sorted(**values)


def _rank(series: DelaySeries, most: int) -> tuple[bool, bool, int, bool, float, int]:
    in_transfer = series.probe in {Probe.IN_FLOW, Probe.REQUEST}
    kind = PREFERRED.index(series.probe)
    # Of about as many probes, those to the nearest host say most of the line.
    few = 2 * len(series.delays) < most
    return in_transfer, bool(series.marking), kind, few, min(series.delays), -len(series.delays)
