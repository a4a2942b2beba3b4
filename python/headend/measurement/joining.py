"""Several files of one line in one measurement."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from headend.measurement.phases import find_phases
from headend.measurement.record import (
    Direction,
    Load,
    Measurement,
    Phase,
    RateSeries,
    Senders,
)
from headend.measurement.summing import sum_flows
from headend.text.wording import join_names

_T = TypeVar("_T")

#: What is not timed together is laid out so far apart, s.
_BETWEEN_S = 10.0

#: Rates of a direction that differ by this factor are hardly of one line.
_UNLIKE = 2.0


def join(measurements: Sequence[Measurement]) -> Measurement:
    """Join what several files tell of one line.

    Files that know when they began, and overlap, are laid on one clock: the samples of each then
    lie in the phases of the others. Others come one after the other.

    Parameters
    ----------
    measurements
        Of one line, one or more.

    Examples
    --------
    >>> from headend.measurement.record import DelaySeries, Probe, Trip
    >>> ping = Measurement(
    ...     ("ping",),
    ...     started=100.0,
    ...     delays=(DelaySeries(Trip.ROUND, Probe.ICMP, [0.0, 8.0], [10.0, 90.0]),),
    ... )
    >>> load = Measurement(("iperf3",), started=105.0, phases=(Phase(Load.UP, 0.0, 10.0),))
    >>> for phase in join([ping, load]).phases:
    ...     print(phase.load, phase.start, phase.end)
    idle 0.0 5.0
    up 5.0 15.0
    """
    if len(measurements) == 1:
        return measurements[0]
    named = [_number_flows(one, number) for number, one in enumerate(measurements, 1)]
    groups = _group(named)
    joined: list[Measurement] = []
    offset = 0.0
    for group in groups:
        one = _lay_together(group)
        joined.append(_shift(one, offset))
        _, end = _find_span(one)
        offset += end + _BETWEEN_S if end else 0.0
    senders, marks, medium, notes = _reconcile(measurements)
    doubts = [*_tell_of_idle_times(groups), *_tell_of_unknown_loads(groups)]
    return Measurement(
        tools=_unite(one.tools for one in measurements),
        paths=_unite(one.paths for one in measurements),
        started=joined[0].started,
        phases=tuple(phase for one in joined for phase in one.phases),
        rates=tuple(rate for one in joined for rate in one.rates),
        delays=tuple(delay for one in joined for delay in one.delays),
        summaries=tuple(summary for one in measurements for summary in one.summaries),
        retransmissions=tuple(share for one in named for share in one.retransmissions),
        senders=senders,
        marks=marks,
        medium=medium,
        notes=_unite([*(one.notes for one in measurements), notes, doubts]),
        dropped=_unite(one.dropped for one in measurements),
    )


def _unite(parts: Iterable[Iterable[_T]]) -> tuple[_T, ...]:
    """Give what several have, each once, in the order in which it came."""
    return tuple(dict.fromkeys(item for part in parts for item in part))


def _number_flows(one: Measurement, number: int) -> Measurement:
    """Give each flow the number of its file, so that names of two files differ."""

    def rename(flow: str) -> str:
        return f"{flow} of file {number}" if flow else ""

    return replace(
        one,
        rates=tuple(replace(rate, flow=rename(rate.flow)) for rate in one.rates),
        delays=tuple(replace(delay, flow=rename(delay.flow)) for delay in one.delays),
        retransmissions=tuple(
            replace(share, flow=rename(share.flow)) for share in one.retransmissions
        ),
    )


def _find_span(one: Measurement) -> tuple[float, float]:
    """Say from when to when there are samples or phases, s."""
    ends = [
        *(at for phase in one.phases for at in (phase.start, phase.end)),
        *(at for rate in one.rates for at in (*rate.starts[:1], *rate.ends[-1:])),
    ]
    for delay in one.delays:
        for times in (delay.times, delay.lost):
            if times:
                ends += [min(times), max(times)]
    return (min(ends), max(ends)) if ends else (0.0, 0.0)


def _group(measurements: Sequence[Measurement]) -> list[list[Measurement]]:
    """Put together what ran at the same time, by the times at which each began."""
    timed = [one for one in measurements if one.started is not None]
    groups: list[list[Measurement]] = []
    latest = -math.inf
    for one in sorted(timed, key=_begin):
        start, end = (_begin(one) + at for at in _find_span(one))
        if groups and start < latest:
            groups[-1].append(one)
        else:
            groups.append([one])
            latest = -math.inf
        latest = max(latest, end)
    return groups + [[one] for one in measurements if one.started is None]


def _begin(one: Measurement) -> float:
    return one.started or 0.0


def _lay_together(group: Sequence[Measurement]) -> Measurement:
    """Lay measurements that ran at the same time on the clock of the first."""
    first = group[0]
    if len(group) == 1:
        return first
    laid = [_shift(one, _begin(one) - _begin(first)) for one in group]
    phases = [phase for one in laid for phase in one.phases]
    busy = {
        direction: [(phase.start, phase.end) for phase in phases if phase.load in loads]
        for direction, loads in (
            (Direction.UP, (Load.UP, Load.BOTH)),
            (Direction.DOWN, (Load.DOWN, Load.BOTH)),
        )
    }
    spans = [_find_span(one) for one in laid]
    start, end = min(start for start, _ in spans), max(end for _, end in spans)
    return replace(
        first,
        phases=find_phases(busy, start, end) if phases else (),
        rates=tuple(_add_sums([rate for one in laid for rate in one.rates])),
        delays=tuple(delay for one in laid for delay in one.delays),
    )


def _add_sums(rates: Sequence[RateSeries]) -> list[RateSeries]:
    """Add the rates of a direction that several files tell of the same time."""
    found = [rate for rate in rates if rate.flow]
    for direction in Direction:
        sums = [
            rate for rate in rates if rate.direction is direction and not rate.flow and rate.starts
        ]
        sums.sort(key=lambda rate: rate.starts[0])
        overlap = (
            any(right.starts[0] < left.ends[-1] for left, right in itertools.pairwise(sums))
            and len({rate.counted for rate in sums}) == 1
        )
        if overlap:
            step = max(
                statistics.median(
                    end - start for start, end in zip(rate.starts, rate.ends, strict=True)
                )
                for rate in sums
            )
            sums = [sum_flows(sums, step)]
        found += sums
    return found


def _shift(one: Measurement, by: float) -> Measurement:
    """Let a measurement begin later, s."""

    def add(times: Sequence[float]) -> Sequence[float]:
        return [at + by for at in times]

    return replace(
        one,
        phases=tuple(Phase(p.load, p.start + by, p.end + by) for p in one.phases),
        rates=tuple(replace(r, starts=add(r.starts), ends=add(r.ends)) for r in one.rates),
        delays=tuple(replace(d, times=add(d.times), lost=add(d.lost)) for d in one.delays),
    )


def _reconcile(
    measurements: Sequence[Measurement],
) -> tuple[Senders, int | None, str, list[str]]:
    """Bring together what each file says of the whole: senders, marks, medium, and doubts."""
    notes: list[str] = []
    counts: dict[Direction, int | None] = {}
    for direction in Direction:
        many = [
            count
            for one in measurements
            if (count := one.senders.up if direction is Direction.UP else one.senders.down)
        ]
        told = [one.senders.up is not None or one.senders.down is not None for one in measurements]
        counts[direction] = max(many, default=0 if any(told) else None)
        if len(set(many)) > 1:
            notes.append(
                f"The files have different numbers of connections {direction.value}:"
                f" {join_names([str(count) for count in many])}; the most is taken."
            )
    congestion = _unite([one.senders.congestion] for one in measurements if one.senders.congestion)
    if len(congestion) > 1:
        notes.append(f"The files name different congestion control: {join_names(congestion)}.")
    media = _unite([one.medium] for one in measurements if one.medium)
    if len(media) > 1:
        notes.append("One file is of a computer on Wi-Fi, another of one on Ethernet.")
    for direction in Direction:
        medians = [
            median for one in measurements if (median := _find_median(one, direction)) is not None
        ]
        if medians and max(medians) > _UNLIKE * min(medians):
            shown = join_names([f"{median / 1e6:.3g}" for median in medians])
            notes.append(
                f"Rates {direction.value} of the files are {shown} Mbit/s: are they of one line?"
            )
    marks = [one.marks for one in measurements if one.marks is not None]
    loads = [one for one in measurements if one.rates]
    paces = [one.senders.pace for one in loads if one.senders.pace is not None]
    return (
        Senders(
            counts[Direction.UP],
            counts[Direction.DOWN],
            ", ".join(congestion),
            # Files of several tests: the fastest of them is what the line was offered.
            max(paces) if paces and len(paces) == len(loads) else None,
        ),
        sum(marks) if marks else None,
        media[0] if len(media) == 1 else "",
        notes,
    )


def _find_median(one: Measurement, direction: Direction) -> float | None:
    rates = [
        rate
        for series in one.rates
        if series.direction is direction and not series.flow
        for rate in series.rates
    ]
    return statistics.median(rates) if rates else None


def _tell_of_idle_times(groups: Sequence[Sequence[Measurement]]) -> list[str]:
    """Say that the line counts as idle at times of which no file tells a load."""
    together = any(len(group) > 1 and any(one.phases for one in group) for group in groups)
    return ["The line counts as idle where no file tells of a load."] if together else []


def _tell_of_unknown_loads(groups: Sequence[Sequence[Measurement]]) -> list[str]:
    """Say so where a log of delays has no clock that the load's file has."""
    loaded = any(one.phases for group in groups for one in group)
    alone = [
        group[0]
        for group in groups
        if not any(one.phases for one in group) and any(one.delays for one in group)
    ]
    if not loaded or not alone:
        return []
    names = join_names([str(path) for one in alone for path in one.paths])
    return [
        f"Which load the delays of {names} met is not known: it does not say when it began, or"
        " began at another time. ping -D tells when."
    ]
