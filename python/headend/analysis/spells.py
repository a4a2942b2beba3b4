"""Spells of a run, between which its line was changed or its rate stepped, and what flows got then.

A run with a ``change``, or with a rate in steps, is about several lines, one after the other. A
mean over all of it is nobody's number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median
from typing import Any

from headend.engine.description import list_applications
from headend.results.record import Record, cached_on_record
from headend.scenario.parameters import find_value
from headend.text.quantity import parse_quantity

#: Shorter spells tell nothing, ns; of more spells than these, no one can follow.
SHORTEST, MOST = 2e9, 4


@dataclass(frozen=True)
class Spell:
    """A part of a run in which its line stayed what it was.

    Parameters
    ----------
    begin_ns, end_ns
        When it was.
    rates
        What each transfer got on average, bit/s.
    trips
        The median round trip of each flow of pings, ns.
    """

    begin_ns: float
    end_ns: float
    rates: Mapping[str, float]
    trips: Mapping[str, float]


@cached_on_record
def find_spells(record: Record) -> list[Spell]:
    """Give the spells of a run, or nothing where it has one or too many."""
    end, warmup = record.manifest["simulated_ns"], record.manifest.get("warmup_ns", 0)
    times = sorted({time for time in _list_changes(record) if warmup < time < end})
    bounds = [warmup, *times, end]
    if not 2 <= len(bounds) - 1 <= MOST or min(b - a for a, b in pairwise(bounds)) < SHORTEST:
        return []
    return [_measure(record, begin, until) for begin, until in pairwise(bounds)]


def _list_changes(record: Record) -> Iterator[float]:
    """List when something of a link changes, ns: by ``change``, by steps of a rate."""
    for link in record.manifest["scenario"].get("link", {}).values():
        for kind in link.values():
            if not isinstance(kind, Mapping):
                continue
            for change in kind.get("change", {}).values():
                yield parse_quantity(str(change["at"]), "time").value
            for way in ("up", "down", "upstream", "downstream"):
                steps = find_value(kind, f"{way}.rate.steps") or ()
                if not find_value(kind, f"{way}.rate.period"):
                    yield from (parse_quantity(str(time), "time").value for time, _ in steps)


def _measure(record: Record, begin: float, end: float) -> Spell:
    bulk = {
        row["flow"]
        for row in record.rows("flows")
        if row["carries"] == "data" and row["application"] in list_applications("greedy")
    }
    rates: dict[str, list[float]] = {}
    for flow, time, rate in _read(record, "flow_series", "goodput_bps"):
        if flow in bulk and begin < time <= end:
            rates.setdefault(flow, []).append(rate)
    trips: dict[str, list[float]] = {}
    samples = record.lists("samples")
    for flow, measure, time, value in zip(
        *(samples[name] for name in ("flow", "measure", "time_ns", "value")), strict=True
    ):
        if measure == "rtt" and begin < time <= end and value == value:
            trips.setdefault(flow, []).append(value)
    return Spell(
        begin,
        end,
        {flow: fmean(own) for flow, own in rates.items() if any(own)},
        {flow: median(own) for flow, own in trips.items()},
    )


def _read(record: Record, table: str, column: str) -> Iterator[tuple[str, int, Any]]:
    """Give flow, time and value of each row of a series of which the flow's data is the subject."""
    carries = {
        (row["flow"], row["direction"]) for row in record.rows("flows") if row["carries"] == "data"
    }
    series = record.lists(table)
    columns = (series[name] for name in ("flow", "direction", "time_ns", column))
    for flow, way, time, value in zip(*columns, strict=True):
        if (flow, way) in carries:
            yield flow, time, value
