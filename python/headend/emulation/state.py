"""What goes on in an emulation now: rates, queues, round trips, lateness."""

from __future__ import annotations

import math
from array import array
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headend.scenario.groups import name_group

if TYPE_CHECKING:
    from headend.emulation.rows import Column
    from headend.emulation.session import Update

#: Over how long rates are averaged and round trips are looked at, in ns.
WINDOW_NS = 1_000_000_000

#: What lateness says of an interval even if no frame was written in it.
STALLS = ("stalls", "longest_stall_ns")

#: Rows that a window holds at most, however short the interval of the series.
_MOST_ROWS = 4096


@dataclass
class Flow:
    """A flow, or all members of a group, in the last second and in all.

    Parameters
    ----------
    application
        What it is; ``real`` of real programs.
    """

    application: str
    discarded: int = 0
    marked: int = 0
    _rates: dict[str, deque[tuple[int, float]]] = field(default_factory=dict)
    _trips: deque[tuple[int, float]] = field(default_factory=lambda: deque(maxlen=_MOST_ROWS))

    def add_rate(self, time_ns: int, direction: str, rate_bps: float) -> None:
        """Take the rate of an interval."""
        self._rates.setdefault(direction, deque(maxlen=_MOST_ROWS)).append((time_ns, rate_bps))

    def add_trip(self, time_ns: int, rtt_ns: float) -> None:
        """Take a round trip."""
        self._trips.append((time_ns, rtt_ns))

    def read_rate(self, direction: str, now_ns: int) -> float:
        """Give the mean rate of the last second, in bit/s; of a group, of all members together."""
        rows = [one for one in self._rates.get(direction, ()) if one[0] > now_ns - WINDOW_NS]
        intervals = len({time_ns for time_ns, _ in rows})
        return sum(rate for _, rate in rows if not math.isnan(rate)) / max(intervals, 1)

    def read_trip(self, now_ns: int) -> float | None:
        """Give the median round trip of the last second, in ns; None where there was none."""
        trips = sorted(
            rtt for time_ns, rtt in self._trips if time_ns > now_ns - WINDOW_NS and rtt == rtt
        )
        return trips[len(trips) // 2] if trips else None


@dataclass
class Queue:
    """A queue now, and what it discarded and marked in all."""

    backlog_bytes: float = 0.0
    delay_ns: float | None = None
    discarded: int = 0
    marked: int = 0


class State:
    """The state of an emulation.

    Parameters
    ----------
    flows
        The names of its flows, with their applications.
    queues
        The queues to follow.
    """

    def __init__(self, flows: Sequence[tuple[str, str]], queues: Sequence[str]) -> None:
        self.now_ns = 0
        self.flows: dict[str, Flow] = {}
        for name, application in flows:
            self.flows.setdefault(name_group(name) or name, Flow(application))
        self.queues = {name: Queue() for name in queues}
        self.lateness: Mapping[str, Any] = {}
        self.stalls = 0
        self.overruns = 0

    def take(self, update: Update) -> None:
        """Take what happened since the last update."""
        self.now_ns = max(self.now_ns, int(update.state.get("at_ns", 0)))
        lateness = update.state.get("lateness")
        if lateness:
            # What is shown stays until further frames are written.
            latest = {} if lateness.get("frames") else self.lateness
            stalls = {key: lateness[key] for key in STALLS if key in lateness}
            self.lateness = {**lateness, **latest, **stalls}
            self.stalls += lateness.get("stalls", 0)
            self.overruns += lateness.get("overruns", 0)
        for row in _list_rows(update.rows.get("flow_series", {})):
            if flow := self._find(row["flow"]):
                flow.add_rate(row["time_ns"], row["direction"], row["throughput_bps"])
                flow.discarded += row["discarded"]
                flow.marked += row["marked"]
        for row in _list_rows(update.rows.get("samples", {})):
            if row["measure"] == "rtt" and (flow := self._find(row["flow"])):
                flow.add_trip(row["time_ns"], row["value"])
        for row in _list_rows(update.rows.get("queue_series", {})):
            if queue := self.queues.get(row["queue"]):
                delay = row["delay_mean_ns"]
                queue.backlog_bytes = row["backlog_bytes"]
                queue.delay_ns = None if math.isnan(delay) else delay
                queue.discarded += row["discarded"]
                queue.marked += row["marked"]

    def _find(self, name: str) -> Flow | None:
        return self.flows.get(name_group(name) or name)


def _list_rows(columns: Mapping[str, Column]) -> Iterator[dict[str, Any]]:
    """Give columns as rows."""
    lists = [
        column if isinstance(column, list) else array(column[0], column[1])
        for column in columns.values()
    ]
    for values in zip(*lists, strict=True):
        yield dict(zip(columns, values, strict=True))
