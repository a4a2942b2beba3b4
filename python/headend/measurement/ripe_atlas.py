"""Reads results of RIPE Atlas' ping measurements, of one probe: a few packets every few minutes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headend.errors import InputError
from headend.measurement.fields import LATEST_S, LONGEST_DELAY_MS, JsonObject, check_span
from headend.measurement.private import name_private
from headend.measurement.reader import Content, Reader
from headend.measurement.record import DelaySeries, Measurement, Probe, Trip

_KEYS = {"prb_id", "msm_id", "timestamp", "result", "type"}

#: A probe sends the packets of one result a second apart, unless it was asked for another interval,
#: which results do not tell.
_INTERVAL_S = 1.0

_PROBES = {"ICMP": Probe.ICMP, "UDP": Probe.UDP}

#: Fields that name a probe, a place in the network or a measurement of somebody.
_PRIVATE: Mapping[str, tuple[str, ...]] = dict.fromkeys(
    ("prb_id", "msm_id", "group_id", "from", "src_addr", "dst_addr", "dst_name", "bundle"), ()
)


def _list_results(value: Any) -> list[Mapping[str, Any]]:
    """Give the results in a file; none where something in it is no result."""
    values: list[Any] = value if isinstance(value, list) else [value]
    found: list[Mapping[str, Any]] = [
        one
        for one in values
        if isinstance(one, dict) and one.keys() >= _KEYS and one["type"] == "ping"
    ]
    return found if len(found) == len(values) else []


def recognises(content: Content) -> bool:
    """Whether some content is results of pings of RIPE Atlas."""
    return bool(_list_results(content.json))


def read(content: Content) -> Measurement:
    """Read results of one probe.

    Raises
    ------
    InputError
        That begins with the path: results of several probes, a field that is no such, or no packet
        that was answered.
    """
    results = [
        JsonObject(content.path, one, f"[{number}]" if isinstance(content.json, list) else "")
        for number, one in enumerate(_list_results(content.json))
    ]
    probes = {str(one.values["prb_id"]) for one in results}
    if len(probes) > 1:
        raise InputError(
            f"{content.path}: expected results of one probe, found those of {len(probes)}: each is"
            " on another line"
        )
    results.sort(key=_find_time)
    begin, end = _find_time(results[0]), _find_time(results[-1])
    check_span(f"{content.path}: timestamp", begin, end)
    times: list[float] = []
    delays: list[float] = []
    lost: list[float] = []
    for one in results:
        sent = 0
        for packet in one.objects("result"):
            # Answers that came twice, or after the next result, are no packets of their own.
            if "dup" in packet or "late" in packet:
                continue
            at = _find_time(one) - begin + sent * _INTERVAL_S
            sent += 1
            if "rtt" in packet:
                times.append(at)
                delays.append(packet.number("rtt", "a delay in ms", 0, LONGEST_DELAY_MS))
            elif "x" in packet or "error" in packet:
                lost.append(at)
    if not times:
        raise InputError(f"{content.path}: expected packets that were answered, found none")
    probe = _PROBES.get(str(results[0].values.get("proto")), Probe.UNKNOWN)
    return Measurement(
        tools=("RIPE Atlas",),
        paths=(content.path,),
        started=begin if begin > 0 else None,
        delays=(DelaySeries(Trip.ROUND, probe, times, delays, lost, len(lost)),),
        notes=("RIPE Atlas does not say what filled the line meanwhile.",),
        dropped=tuple(name_private(results[0].values, _PRIVATE)),
    )


def _find_time(one: JsonObject) -> float:
    return one.number("timestamp", "s since 1970", 0, LATEST_S)


#: Results of RIPE Atlas' pings.
RIPE_ATLAS = Reader("RIPE Atlas", "ping results of RIPE Atlas", recognises, read)
