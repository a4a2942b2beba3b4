"""Reads JSON of irtt: round trips of UDP packets, each way by itself where clocks allow it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from headend.measurement.clocks import remove_drift
from headend.measurement.fields import LATEST_S, LONGEST_DELAY_MS, JsonObject, check_span
from headend.measurement.marking import name_octet
from headend.measurement.private import name_private
from headend.measurement.reader import Content, Reader
from headend.measurement.record import DelaySeries, Measurement, Probe, Trip

_KEYS = {"config", "stats", "round_trips"}

#: What irtt writes of a packet's loss; true alone where it does not know in which direction.
_LOST = {False: False, "false": False, True: True, "true": True}
_LOST_ON_THE_WAY = {"true_up": Trip.UP, "true_down": Trip.DOWN}

#: What is dropped: names of the host and addresses.
_PRIVATE: Mapping[str, tuple[str, ...]] = {
    "system_info": (),
    "config": ("local_address", "remote_address", "supplied"),
}

_VERSION = re.compile(r"[\w.+-]{1,40}", re.ASCII)

_NS_PER_S, _NS_PER_MS = 1e9, 1e6


def recognises(content: Content) -> bool:
    """Whether some content is JSON of irtt."""
    return isinstance(content.json, dict) and content.json.keys() >= _KEYS


def read(content: Content) -> Measurement:
    """Read a file of irtt.

    Raises
    ------
    InputError
        That begins with the path: a field that is no such, or no packet that was answered.
    """
    top = JsonObject(content.path, content.json)
    marking = name_octet(
        int(top.object("config").find_object("params").find_number("dscp", "an octet", 0, 255) or 0)
    )
    trips = list(top.objects("round_trips"))
    sent = _list_sent(top, trips)
    # Whole nanoseconds: floats of times since 1970 are less exact.
    begin = min(sent, default=0)
    times, delays = [], []
    two_way: list[tuple[float, float, float]] = []
    lost: list[float] = []
    lost_on_the_way: dict[Trip, list[float]] = {Trip.UP: [], Trip.DOWN: []}
    for trip, at in zip(trips, sent, strict=True):
        since = (at - begin) / _NS_PER_S
        way = _find_loss(trip)
        if way is not None:
            lost.append(since)
            if isinstance(way, Trip):
                lost_on_the_way[way].append(since)
            continue
        delay = trip.object("delay")
        times.append(since)
        delays.append(
            delay.number("rtt", "a delay in ns", 0, LONGEST_DELAY_MS * _NS_PER_MS) / _NS_PER_MS
        )
        up, down = (
            delay.find_number(key, "a delay in ns", -LATEST_S * _NS_PER_S, LATEST_S * _NS_PER_S)
            for key in ("send", "receive")
        )
        if up is not None and down is not None:
            two_way.append((since, up / _NS_PER_MS, down / _NS_PER_MS))
    if not times:
        raise top.refuse("round_trips", "packets that were answered")
    series = [DelaySeries(Trip.ROUND, Probe.UDP, times, delays, lost, len(lost), marking=marking)]
    ways, note = _make_ways(two_way, lost_on_the_way, marking)
    series += ways
    return Measurement(
        tools=(_name_tool(top),),
        paths=(content.path,),
        started=_find_begin(trips[sent.index(begin)]),
        delays=tuple(series),
        notes=(note,),
        dropped=tuple(name_private(top.values, _PRIVATE)),
    )


def _make_ways(
    two_way: Sequence[tuple[float, float, float]], lost: Mapping[Trip, list[float]], marking: str
) -> tuple[list[DelaySeries], str]:
    """Give the delays of each way, and a note on their clocks."""
    if not two_way:
        return [], "The far end stamped no times: there are no delays of one way."
    times, ups, downs = zip(*two_way, strict=True)
    own_up, own_down, note = remove_drift(times, ups, downs)
    return [
        DelaySeries(trip, Probe.UDP, times, values, lost[trip], len(lost[trip]), marking=marking)
        for trip, values in ((Trip.UP, own_up), (Trip.DOWN, own_down))
    ], note


def _list_sent(top: JsonObject, trips: Sequence[JsonObject]) -> list[int]:
    """List when each packet was sent, ns, by one of its sender's clocks."""
    clock = "monotonic" if all(_has(trip, "monotonic") for trip in trips) else "wall"
    sent = [_find_sent(trip, clock) for trip in trips]
    if sent:
        check_span(f"{top.path}: round_trips", 0.0, (max(sent) - min(sent)) / _NS_PER_S)
    return sent


def _has(trip: JsonObject, clock: str) -> bool:
    stamps: Any = trip.values
    for key in ("timestamps", "client", "send"):
        stamps = stamps.get(key) if isinstance(stamps, dict) else None
    return isinstance(stamps, dict) and clock in stamps


def _find_sent(trip: JsonObject, clock: str) -> int:
    """Say when a packet was sent, ns, by one of its sender's clocks."""
    stamp = trip.object("timestamps").object("client").object("send")
    number = stamp.number(clock, "a time in ns", -LATEST_S * _NS_PER_S, LATEST_S * _NS_PER_S)
    value = stamp.values[clock]
    return value if isinstance(value, int) else int(number)


def _find_loss(trip: JsonObject) -> Trip | bool | None:
    """Say where a packet was lost: on which way, or True for either; None where it was answered."""
    value = trip.values.get("lost", False)
    if isinstance(value, bool | str):
        if value in _LOST_ON_THE_WAY:
            return _LOST_ON_THE_WAY[str(value)]
        if value in _LOST:
            return True if _LOST[value] else None
    raise trip.refuse("lost", '"false", "true", "true_up" or "true_down"')


def _find_begin(first: JsonObject) -> float | None:
    """Say when the first packet was sent, s since 1970."""
    if not _has(first, "wall"):
        return None
    at = _find_sent(first, "wall") / _NS_PER_S
    return at if at > 0 else None


def _name_tool(top: JsonObject) -> str:
    version = top.find_object("version").values.get("irtt")
    known = isinstance(version, str) and _VERSION.fullmatch(version)
    return f"irtt {version}" if known else "irtt"


#: JSON of irtt.
IRTT = Reader("irtt", "JSON of irtt client -o", recognises, read)
