"""When a line was idle and when it was filled: phases from the times at which transfers ran."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence

from headend.measurement.record import Direction, Load, Phase, RateSeries

#: Transfers of one direction that pause for longer than this, s, began anew. Tools report a flow
#: each second or more often, a stalled one later.
_PAUSE_S = 2.0

#: How long after the load the line counts as idle, s: what waits in a modem's or a sender's buffer
#: must leave first.
_SETTLING_S = 2.0

#: A shorter time with another load, s, is no phase: flows of one test begin one after the other.
_LEAST_S = 0.5


def find_busy(series: Iterable[RateSeries]) -> dict[Direction, list[tuple[float, float]]]:
    """Find when data was sent, direction by direction: from and to, s.

    Parameters
    ----------
    series
        Rates; those of single flows and those of sums say the same.
    """
    bins: dict[Direction, list[tuple[float, float]]] = {}
    for one in series:
        for start, end, rate in zip(one.starts, one.ends, one.rates, strict=True):
            if rate > 0 and end > start:
                bins.setdefault(one.direction, []).append((start, end))
    return {direction: _merge(found, _PAUSE_S) for direction, found in bins.items()}


def find_phases(
    busy: Mapping[Direction, Sequence[tuple[float, float]]], start: float, end: float
) -> tuple[Phase, ...]:
    """Divide the time of a measurement by what filled the line.

    Times between phases, in which a load begins or what it left behind drains, belong to none.

    Parameters
    ----------
    busy
        When each direction was filled: from and to, s.
    start, end
        Of the measurement, s.

    Examples
    --------
    >>> for phase in find_phases({Direction.UP: [(5, 15)], Direction.DOWN: [(5.1, 15)]}, 0, 20):
    ...     print(phase.load, phase.start, phase.end)
    idle 0 5
    both 5.1 15
    idle 17.0 20
    """
    spells = {direction: _merge(found, 0.0) for direction, found in busy.items()}
    settled = {at + _SETTLING_S for found in spells.values() for _, at in found}
    edges = {
        start,
        end,
        *settled,
        *(at for found in spells.values() for one in found for at in one),
    }
    ordered = sorted(edge for edge in edges if start <= edge <= end)
    phases: list[Phase] = []
    for left, right in itertools.pairwise(ordered):
        middle = (left + right) / 2
        before = {
            direction: found[at - 1]
            for direction, found in spells.items()
            if (at := bisect.bisect_right(found, (middle, math.inf)))
        }
        up, down = (
            direction in before and middle < before[direction][1]
            for direction in (Direction.UP, Direction.DOWN)
        )
        load = _name(up, down)
        if load is Load.IDLE and any(middle < at + _SETTLING_S for _, at in before.values()):
            continue
        last = phases[-1] if phases else None
        if last and last.load is load and last.end == left:
            phases[-1] = Phase(load, last.start, right)
        else:
            phases.append(Phase(load, left, right))
    return tuple(phase for phase in phases if phase.end - phase.start >= _LEAST_S)


def _name(up: bool, down: bool) -> Load:
    if up and down:
        return Load.BOTH
    return Load.UP if up else Load.DOWN if down else Load.IDLE


def _merge(spells: Iterable[tuple[float, float]], pause: float) -> list[tuple[float, float]]:
    merged: list[tuple[float, float]] = []
    for start, end in sorted(spells):
        if merged and start - merged[-1][1] <= pause:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
