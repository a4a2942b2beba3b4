"""Writes a measurement as a data file of flent, which flent opens and plots.

Written from the documentation of the format and from data files, as version 4: gzip of one JSON
object with ``x_values``, ``results``, ``raw_values`` and ``metadata``. The test of flent that a
file names decides which plots flent offers; it follows from the directions of the transfers.
"""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from headend.measurement.record import (
    DelaySeries,
    Direction,
    Load,
    Measurement,
    Probe,
    RateSeries,
    Trip,
)

#: The version of the format.
VERSION = 4

#: The least distance of two values, s: that of flent itself, where nobody asks for another one.
LEAST_STEP = 0.2

#: A missing reply leaves a gap in the plotted line where its neighbours are more than this many
#: times as far apart as pings mostly are.
GAP = 1.5

#: The tests of flent by the directions that are loaded, and the names of a transfer's series in
#: them; of both directions the series say the marking too.
TESTS = {
    (): "ping",
    (Direction.UP,): "tcp_nup",
    (Direction.DOWN,): "tcp_ndown",
    (Direction.UP, Direction.DOWN): "rrul_be_nflows",
}
_WORDS = {Direction.UP: "upload", Direction.DOWN: "download"}

#: flent's units.
RATE, DELAY = "Mbits/s", "ms"

_MEGA = 1e6

#: Where the time of a run begins.
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Value = float | None
Item = dict[str, float]


@dataclass(frozen=True)
class _Series:
    """One series of a file: its values at each step, what was recorded, and what is said of it."""

    values: Sequence[Value]
    unit: str
    raw: Sequence[Item] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)


def write_flent(
    measurement: Measurement, *, title: str = "", note: str = "", name: str = ""
) -> bytes:
    """Write a measurement as a data file of flent.

    Parameters
    ----------
    measurement
        Rates of single transfers are needed, and delays there and back with their times; all else
        has no place in the format.
    title, note
        What flent shows of it.
    name
        The file's own, which flent shows too.

    Returns
    -------
    bytes
        The same for the same measurement.

    Examples
    --------
    >>> rates = RateSeries(Direction.UP, [0.0, 0.2], [0.2, 0.4], [8e6, 9e6], flow="upload")
    >>> file = json.loads(gzip.decompress(write_flent(Measurement(("tool",), rates=(rates,)))))
    >>> file["metadata"]["NAME"], file["results"]["TCP upload sum"]
    ('tcp_nup', [None, 8.0, 9.0])
    """
    transfers = {
        own: [one for one in measurement.rates if one.direction is own and one.flow]
        for own in Direction
    }
    loaded = tuple(own for own in Direction if transfers[own])
    times = _list_steps(measurement)
    series = dict(_list_series(measurement, transfers, loaded, times))
    metadata = {
        **_describe(measurement, transfers, loaded, times),
        "TITLE": title,
        "NOTE": note,
        "DATA_FILENAME": name,
        "SERIES_META": {
            key: {"UNITS": own.unit, "IDX": index, **_sum_up(own.values), **own.meta}
            for index, (key, own) in enumerate(series.items())
        },
    }
    content = {
        "version": VERSION,
        "x_values": times,
        "results": {key: list(own.values) for key, own in series.items()},
        "raw_values": {key: list(own.raw) for key, own in series.items()},
        "metadata": metadata,
    }
    text = json.dumps(content, allow_nan=False, sort_keys=True)
    return gzip.compress(text.encode(), mtime=0)


def _list_steps(measurement: Measurement) -> list[float]:
    """List the times of the values: as far apart as the bins of the rates, or a multiple of it."""
    bins = [end - start for one in measurement.rates for start, end in _take_bins(one)][:1]
    step = bins[0] * math.ceil(LEAST_STEP / bins[0] - 1e-9) if bins else LEAST_STEP
    ends = [
        *(one.ends[-1] for one in measurement.rates if len(one.ends)),
        *(one.times[-1] for one in measurement.delays if len(one.times)),
    ]
    count = math.floor(max(ends, default=0.0) / step + 1e-9)
    return [round(number * step, 9) for number in range(count + 1)]


def _take_bins(series: RateSeries) -> list[tuple[float, float]]:
    return list(zip(series.starts, series.ends, strict=True))


def _describe(
    measurement: Measurement,
    transfers: Mapping[Direction, Sequence[RateSeries]],
    loaded: tuple[Direction, ...],
    times: Sequence[float],
) -> dict[str, Any]:
    """Give what a file says of the test."""
    busy = [phase for phase in measurement.phases if phase.load is not Load.IDLE]
    start = _EPOCH + timedelta(seconds=measurement.started or 0.0)
    total = times[-1] if times else 0.0
    stamp = f"{start:%Y-%m-%dT%H:%M:%S.%f}Z"
    return {
        "NAME": TESTS[loaded],
        "TIME": stamp,
        "T0": stamp,
        "STEP_SIZE": times[1] - times[0] if len(times) > 1 else LEAST_STEP,
        "LENGTH": busy[-1].end - busy[0].start if busy else total,
        "TOTAL_LENGTH": total,
        "HOST": "simulated",
        "HOSTS": ["simulated"],
        "LOCAL_HOST": "simulated",
        "IP_VERSION": 4,
        "FAILED_RUNNERS": 0,
        "FLENT_VERSION": " ".join(measurement.tools),
        "TEST_PARAMETERS": {
            f"{_WORDS[own]}_streams": str(len(transfers[own])) for own in Direction if own in loaded
        },
        **(
            {"SYSCTLS": {"net.ipv4.tcp_congestion_control": measurement.senders.congestion}}
            if measurement.senders.congestion
            else {}
        ),
    }


def _list_series(
    measurement: Measurement,
    transfers: Mapping[Direction, Sequence[RateSeries]],
    loaded: tuple[Direction, ...],
    times: Sequence[float],
) -> Iterator[tuple[str, _Series]]:
    """Give all series by their names, as the file's test of flent calls them."""
    origin = measurement.started or 0.0
    for name, pings in _name_pings(measurement.delays, with_transfers=bool(loaded)):
        raw = list(_list_replies(pings, origin))
        yield name, _Series(_interpolate(pings, times), DELAY, raw, _count_packets(pings))
    marking = " BE" if len(loaded) > 1 else ""
    states = {one.flow: one for one in measurement.delays if one.probe is Probe.IN_FLOW}
    sums: list[Sequence[Value]] = []
    for direction in loaded:
        word = f"TCP {_WORDS[direction]}"
        own = []
        for number, transfer in enumerate(transfers[direction], start=1):
            name = f"{word}{marking}::{number}"
            values = _average(transfer, times)
            raw = [*_list_rates(transfer, origin)]
            if state := states.get(transfer.flow):
                raw = sorted(raw + _list_states(state, origin), key=lambda item: item["t"])
                yield f"{name}::tcp_rtt", _Series(_interpolate(state, times), DELAY)
            meta = {"FLOW": transfer.flow, **_name_congestion(measurement)}
            yield name, _Series(values, RATE, raw, meta)
            own.append(values)
        sums.append(_add_up(own))
        yield f"{word} sum", _Series(sums[-1], RATE)
        yield f"{word} avg", _Series([value and value / len(own) for value in sums[-1]], RATE)
    if len(loaded) > 1:
        yield "TCP totals", _Series(_add_up(sums), RATE)


def _name_pings(
    delays: Sequence[DelaySeries], *, with_transfers: bool
) -> Iterator[tuple[str, DelaySeries]]:
    """Give the probes that have a place in a file, with the names of their series."""
    taken: dict[str, int] = {}
    for pings in delays:
        if pings.trip is not Trip.ROUND or not len(pings.times) or pings.probe is Probe.IN_FLOW:
            continue
        if pings.probe is Probe.ICMP:
            name = "Ping (ms) ICMP"
        else:
            suffix = f" {pings.marking or 'BE'}" if pings.marking or with_transfers else ""
            name = f"Ping (ms) UDP{suffix}"
        taken[name] = taken.get(name, 0) + 1
        yield name if taken[name] == 1 else f"{name}::{taken[name]}", pings


def _list_replies(pings: DelaySeries, origin: float) -> Iterator[Item]:
    """Give each reply with its number, which misses those that were lost."""
    sent = sorted(
        [*((time, True) for time in pings.lost), *((time, False) for time in pings.times)]
    )
    numbers = [number for number, (_, is_lost) in enumerate(sent) if not is_lost]
    for number, time, delay in zip(numbers, pings.times, pings.delays, strict=True):
        # As flent has it, the time is that of the reply.
        yield {"seq": number, "t": round(origin + time + delay / 1e3, 9), "val": round(delay, 6)}


def _count_packets(pings: DelaySeries) -> dict[str, Any]:
    received = len(pings.times)
    sent = received + pings.lost_count
    return {
        "PACKETS_SENT": sent,
        "PACKETS_RECEIVED": received,
        "PACKET_LOSS_RATE": pings.lost_count / sent,
    }


def _list_rates(transfer: RateSeries, origin: float) -> Iterator[Item]:
    """Give what arrived in each bin, from the first to the last one with data."""
    first, last = _find_ends(transfer)
    for start, end, rate in list(zip(transfer.starts, transfer.ends, transfer.rates, strict=True))[
        first : last + 1
    ]:
        yield {
            "t": round(origin + end, 9),
            "dur": round(end - start, 9),
            "val": round(rate / _MEGA, 6),
        }


def _list_states(state: DelaySeries, origin: float) -> list[Item]:
    """Give the round-trip times of a transfer's TCP."""
    return [
        {"t": round(origin + time, 9), "tcp_rtt": round(delay, 6)}
        for time, delay in zip(state.times, state.delays, strict=True)
    ]


def _find_ends(transfer: RateSeries) -> tuple[int, int]:
    """Give the numbers of the first and the last bin with data; of none, an empty range."""
    busy = [number for number, rate in enumerate(transfer.rates) if rate > 0]
    return (busy[0], busy[-1]) if busy else (0, -1)


def _average(transfer: RateSeries, times: Sequence[float]) -> list[Value]:
    """Give the mean rate over the step that ends at each time, in Mbit/s; None without transfer."""
    first, last = _find_ends(transfer)
    values: list[Value] = [None] * len(times)
    if last < first or len(times) < 2:
        return values
    begin, finish, step = transfer.starts[first], transfer.ends[last], times[1] - times[0]
    bits = [0.0] * len(times)
    for start, end, rate in zip(transfer.starts, transfer.ends, transfer.rates, strict=True):
        # The steps are whole bins.
        place = math.ceil((start + end) / 2 / step - 1e-9)
        if place < len(bits):
            bits[place] += rate * (end - start)
    for place, time in enumerate(times):
        if begin < time - 1e-9 and time - step < finish - 1e-9:
            values[place] = round(bits[place] / step / _MEGA, 6)
    return values


def _interpolate(delays: DelaySeries, times: Sequence[float]) -> list[Value]:
    """Give the delay at each time, in ms: on the line between neighbours; None across gaps."""
    own = list(zip(delays.times, delays.delays, strict=True))
    gaps = sorted(after[0] - before[0] for before, after in pairwise(own))
    widest = GAP * gaps[len(gaps) // 2] if gaps else 0.0
    values: list[Value] = []
    place = 0
    for time in times:
        while place + 1 < len(own) and own[place + 1][0] <= time:
            place += 1
        values.append(_take_between(own, place, time, widest))
    return values


def _take_between(
    own: Sequence[tuple[float, float]], place: int, time: float, widest: float
) -> Value:
    """Give the value at a time that lies behind the item at ``place``."""
    start, before = own[place]
    if time == start:
        return round(before, 6)
    if time < start or place + 1 == len(own) or own[place + 1][0] - start > widest:
        return None
    end, after = own[place + 1]
    return round(before + (after - before) * (time - start) / (end - start), 6)


def _add_up(columns: Sequence[Sequence[Value]]) -> list[Value]:
    """Add values up; None where none of them is there."""
    sums: list[Value] = []
    for values in zip(*columns, strict=True):
        present = [value for value in values if value is not None]
        sums.append(round(sum(present), 6) if present else None)
    return sums


def _sum_up(values: Sequence[Value]) -> dict[str, float]:
    """Give the mean and the range of values, as far as there are any."""
    present = [value for value in values if value is not None]
    if not present:
        return {}
    mean = sum(present) / len(present)
    return {
        "MEAN_VALUE": round(mean, 6),
        "MIN_VALUE": min(present),
        "MAX_VALUE": max(present),
    }


def _name_congestion(measurement: Measurement) -> dict[str, str]:
    control = measurement.senders.congestion
    return {"CONG_CONTROL": control} if control else {}
