"""Reads JSON of iperf3 (``-J``, ``--json-stream``), of one run or of several in one file."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from headend.errors import InputError
from headend.measurement.fields import FASTEST_BIT_S, LATEST_S, LONGEST_S, JsonObject
from headend.measurement.joining import join
from headend.measurement.marking import name_octet
from headend.measurement.phases import find_busy, find_phases
from headend.measurement.reader import Content, Reader
from headend.measurement.record import (
    DelaySeries,
    Direction,
    Load,
    Measurement,
    Probe,
    Quantity,
    RateSeries,
    Retransmissions,
    Senders,
    Statistic,
    Summary,
    Trip,
)
from headend.measurement.summing import sum_flows
from headend.text.reveal import reveal_line
from headend.text.wording import shorten

#: Fields of a run: what was asked for and its samples.
_KEYS = {"start", "intervals"}

#: Fields that name machines or a run.
_PRIVATE = ("connected", "connecting_to", "accepted_connection", "system_info", "cookie", "title")

_VERSION = re.compile(r"iperf ([\w.+-]{1,40})", re.ASCII)
_CONGESTION = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,31}")

#: iperf3's clock of a run's begin counts whole seconds, unless it is of version 3.18 or later.
_HALF_A_SECOND = 0.5

#: Connections that one run of iperf3 has at most.
_MOST_STREAMS = 128

#: More characters of iperf3's own error are not quoted.
_MOST_QUOTED = 120


@dataclass
class _Flow:
    """What is known of one connection.

    Parameters
    ----------
    direction
        Of its data.
    sends
        Whether the file is of its sender.
    arrived
        Whether rates are of what arrived.
    starts, ends, rates
        Of its intervals, s and bit/s.
    times, delays
        TCP's own round-trip time, s and ms.
    """

    direction: Direction
    sends: bool
    arrived: bool
    starts: list[float] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    delays: list[float] = field(default_factory=list)


def recognises(content: Content) -> bool:
    """Whether some content is one run of iperf3 or several."""
    return bool(_find_runs(content.json))


def _find_runs(value: Any) -> list[Mapping[str, Any]]:
    """Give the runs in a file; none where something in it is no run."""
    values = value if isinstance(value, list) else [value]
    if not values or not all(isinstance(one, dict) for one in values):
        return []
    if all(one.keys() >= {"event", "data"} for one in values):
        return _assemble(values)
    return values if all(_is_run(one) for one in values) else []


def _is_run(value: Mapping[str, Any]) -> bool:
    start = value.get("start")
    return value.keys() >= _KEYS and isinstance(start, dict) and "version" in start


def _assemble(events: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Put the events of ``--json-stream`` together as ``-J`` does."""
    runs: list[dict[str, Any]] = []
    for event in events:
        name, data = event["event"], event["data"]
        if name == "start":
            runs.append({"start": data, "intervals": []})
        elif runs and name == "interval":
            runs[-1]["intervals"].append(data)
        elif runs and name in ("end", "error"):
            runs[-1][name] = data
    return [run for run in runs if _is_run(run)]


def read(content: Content) -> Measurement:
    """Read a file of iperf3.

    Raises
    ------
    InputError
        That begins with the path: an error of iperf3, or a field that is no such.
    """
    runs = _find_runs(content.json)
    done: list[Measurement] = []
    earliest = 0.0
    for number, values in enumerate(runs):
        place = f"run {number + 1}" if len(runs) > 1 else ""
        run = _read_run(JsonObject(content.path, values, place))
        # Runs in one file follow one another, whatever a clock of whole seconds says.
        if run.started is not None:
            run = replace(run, started=max(run.started, earliest))
            earliest = (run.started or 0.0) + max((p.end for p in run.phases), default=0.0)
        done.append(run)
    return join(done)


def _read_run(run: JsonObject) -> Measurement:
    start = run.object("start")
    flows = list(_read_flows(run, start).values())
    _take_far_rates(run, flows)
    end = run.find_object("end")
    failure = run.values.get("error")
    if not any(flow.rates for flow in flows):
        if isinstance(failure, str):
            said = reveal_line(shorten(failure, _MOST_QUOTED))
            raise InputError(f"{run.path}: expected a run of iperf3, found its error: {said}")
        raise run.refuse("intervals", "one interval or more in which something was transferred")
    test = start.find_object("test_start")
    is_udp = test.values.get("protocol") == "UDP"
    marking = name_octet(int(test.find_number("tos", "an octet", 0, 255) or 0))
    names = _name_flows(flows, marking)
    every = [_give_rates(flow, name) for flow, name in zip(flows, names, strict=True)]
    phases = find_phases(find_busy(every), 0.0, max(at for flow in flows for at in flow.ends))
    summaries, lossy = _read_udp(end, flows) if is_udp else ([], set())
    # Of lost datagrams only the receiver tells: a sender's rate is then more than the line's.
    shown = [
        rates
        for rates, flow in zip(every, flows, strict=True)
        if flow.arrived or flow.direction not in lossy
    ]
    rates: list[RateSeries] = []
    for direction in Direction:
        own = [one for one in shown if one.direction is direction]
        if own:
            # Every flow is told of at the same times, but for the shorter intervals at the end.
            lengths = [b - a for one in own for a, b in zip(one.starts, one.ends, strict=True)]
            rates.append(sum_flows(own, statistics.median(lengths)))
        if len(own) > 1:
            rates.extend(own)
    return Measurement(
        tools=(_name_tool(start),),
        paths=(run.path,),
        started=_find_start(start),
        phases=phases,
        rates=tuple(rates),
        delays=tuple(
            DelaySeries(Trip.ROUND, Probe.IN_FLOW, flow.times, flow.delays, flow=name)
            for flow, name in zip(flows, names, strict=True)
            if flow.delays
        ),
        summaries=(*summaries, *_read_far_delays(end, flows)),
        retransmissions=tuple(_read_retransmissions(start, end, flows, names)),
        senders=Senders(
            sum(flow.direction is Direction.UP for flow in flows),
            sum(flow.direction is Direction.DOWN for flow in flows),
            "" if is_udp else _find_congestion(end),
            _find_pace(start),
        ),
        notes=tuple(_write_notes(start, flows, is_udp, lossy, failure)),
        dropped=tuple(f"start.{key}" for key in _PRIVATE if key in start),
    )


def _find_pace(start: JsonObject) -> float | None:
    """Give the rate of option ``-b``, which is of each connection; None where there is none."""
    test = start.find_object("test_start")
    rate = test.find_number("target_bitrate", "a rate in bit/s", 0, FASTEST_BIT_S) or 0.0
    return rate * (test.find_number("num_streams", "a count", 0, _MOST_STREAMS) or 1.0) or None


def _read_flows(run: JsonObject, start: JsonObject) -> dict[float, _Flow]:
    """Give the connections of a run by the number of their socket."""
    reverse = start.find_object("test_start").find_number("reverse", "0 or 1") or 0.0
    is_server = "accepted_connection" in start
    flows: dict[float, _Flow] = {}
    offset, before = 0.0, 0.0
    for interval in run.objects("intervals"):
        streams = list(interval.objects("streams"))
        for number, stream in enumerate(streams):
            first = stream.number("start", "a time in s", 0, LONGEST_S)
            last = stream.number("end", "a time in s", 0, LONGEST_S)
            if number == 0:
                # After what -O omits, times begin at 0 again.
                if first + offset < before - 1e-3:
                    offset = before
                before = last + offset
                if before > LONGEST_S:
                    raise stream.refuse("end", "a time of one run in s")
            rate = stream.number("bits_per_second", "a rate in bit/s", 0, FASTEST_BIT_S)
            sends = stream.values.get("sender", is_server == bool(reverse))
            if not isinstance(sends, bool):
                raise stream.refuse("sender", "true or false")
            direction = Direction.UP if sends is not is_server else Direction.DOWN
            key = stream.number("socket", "a number")
            flow = flows.setdefault(key, _Flow(direction, sends, not sends))
            if last <= first or (flow.ends and first + offset < flow.ends[-1] - 1e-3):
                continue
            flow.starts.append(first + offset)
            flow.ends.append(last + offset)
            flow.rates.append(rate)
            # Systems that do not tell TCP's round-trip time write 0.
            delay = stream.find_number("rtt", "a time in µs", 0, 3.6e9) if sends else None
            if delay:
                flow.times.append(last + offset)
                flow.delays.append(delay / 1e3)
    return {key: flow for key, flow in flows.items() if flow.rates}


def _take_far_rates(run: JsonObject, flows: Sequence[_Flow]) -> None:
    """Give flows that the client sent the rates at which the server received them.

    The server's own file is in that of the client where it was asked for (``--get-server-output``).
    Both begin with the first data.
    """
    if "server_output_json" not in run:
        return
    far_run = run.object("server_output_json")
    if not _is_run(far_run.values):
        return
    far = [
        flow
        for flow in _read_flows(far_run, far_run.object("start")).values()
        if flow.arrived and flow.direction is Direction.UP
    ]
    near = [flow for flow in flows if flow.sends and flow.direction is Direction.UP]
    if len(far) != len(near):
        return
    for flow, other in zip(near, far, strict=True):
        flow.starts, flow.ends, flow.rates = other.starts, other.ends, other.rates
        flow.arrived = True


def _name_flows(flows: Sequence[_Flow], marking: str) -> list[str]:
    names: list[str] = []
    counts = dict.fromkeys(Direction, 0)
    for flow in flows:
        counts[flow.direction] += 1
        names.append(f"{flow.direction.value} {counts[flow.direction]} {marking}".rstrip())
    return names


def _give_rates(flow: _Flow, name: str) -> RateSeries:
    return RateSeries(
        flow.direction, flow.starts, flow.ends, flow.rates, flow=name, sent=not flow.arrived
    )


def _read_udp(end: JsonObject, flows: Sequence[_Flow]) -> tuple[list[Summary], set[Direction]]:
    """Give what the receiver of datagrams tells of the whole run, and which directions had loss."""
    directions = {flow.direction for flow in flows}
    load = Load.BOTH if len(directions) > 1 else Load(next(iter(directions)).value)
    summaries: list[Summary] = []
    lossy: set[Direction] = set()
    for key in ("sum_received", "sum_received_bidir_reverse", "sum", "sum_bidir_reverse"):
        if key not in end:
            continue
        told = end.object(key)
        percent = told.find_number("lost_percent", "a share in percent", 0, 100)
        if percent is None:
            continue
        reverse = key.endswith("bidir_reverse")
        main = flows[0].direction
        direction = _turn(main) if reverse else main
        if any(one.direction is direction and one.quantity is Quantity.LOSS for one in summaries):
            continue
        summaries.append(
            Summary(Quantity.LOSS, Statistic.MEAN, percent / 100, load, direction, Probe.UDP)
        )
        rate = told.find_number("bits_per_second", "a rate in bit/s", 0, FASTEST_BIT_S)
        if percent > 0:
            lossy.add(direction)
            if rate and key.startswith("sum_received"):
                summaries.append(Summary(Quantity.RATE, Statistic.MEAN, rate, load, direction))
        jitter = told.find_number("jitter_ms", "a time in ms", 0, 3.6e6)
        if jitter:
            summaries.append(
                Summary(Quantity.DELAY, Statistic.JITTER, jitter, load, probe=Probe.UDP)
            )
    return summaries, lossy


def _read_far_delays(end: JsonObject, flows: Sequence[_Flow]) -> Iterator[Summary]:
    """Give the round-trip times that a far sender's TCP measured: these come only as sums."""
    if "streams" not in end:
        return
    told = [stream.find_object("sender") for stream in end.objects("streams")]
    directions = {flow.direction for flow in flows}
    load = Load.BOTH if len(directions) > 1 else Load(next(iter(directions)).value)
    far = [
        sender
        for sender, flow in zip(told, flows, strict=False)
        if not flow.sends and sender.values
    ]
    for key, statistic, pick in (
        ("mean_rtt", Statistic.MEAN, statistics.fmean),
        ("min_rtt", Statistic.LEAST, min),
        ("max_rtt", Statistic.MOST, max),
    ):
        # Systems that do not tell it write 0.
        values = [
            value for sender in far if (value := sender.find_number(key, "a time in µs", 0, 3.6e9))
        ]
        if values:
            yield Summary(Quantity.DELAY, statistic, pick(values) / 1e3, load, probe=Probe.IN_FLOW)


def _turn(direction: Direction) -> Direction:
    return Direction.DOWN if direction is Direction.UP else Direction.UP


def _read_retransmissions(
    start: JsonObject, end: JsonObject, flows: Sequence[_Flow], names: Sequence[str]
) -> Iterator[Retransmissions]:
    """Give the share of segments that were sent again, where the sender counted them."""
    size = start.find_number("tcp_mss", "bytes", 0, 1e6) or start.find_number(
        "tcp_mss_default", "bytes", 0, 1e6
    )
    if not size or "streams" not in end:
        return
    told = [stream.find_object("sender") for stream in end.objects("streams")]
    if len(told) != len(flows):
        return
    for sender, flow, name in zip(told, flows, names, strict=True):
        again = sender.find_number("retransmits", "a count", -1, 1e15)
        sent = sender.find_number("bytes", "bytes", 0, 1e18)
        if again is not None and again >= 0 and sent:
            yield Retransmissions(flow.direction, min(1.0, again * size / sent), name)


def _find_congestion(end: JsonObject) -> str:
    name = end.values.get("sender_tcp_congestion")
    return name if isinstance(name, str) and _CONGESTION.fullmatch(name) else ""


def _find_start(start: JsonObject) -> float | None:
    stamp = start.find_object("timestamp")
    exact = stamp.find_number("timemillisecs", "ms since 1970", 0, LATEST_S * 1e3)
    if exact:
        return exact / 1e3
    whole = stamp.find_number("timesecs", "s since 1970", 0, LATEST_S)
    return whole + _HALF_A_SECOND if whole else None


def _name_tool(start: JsonObject) -> str:
    match = _VERSION.fullmatch(str(start.values.get("version")))
    return f"iperf3 {match[1]}" if match else "iperf3"


def _write_notes(
    start: JsonObject,
    flows: Sequence[_Flow],
    is_udp: bool,
    lossy: set[Direction],
    failure: Any,
) -> Iterator[str]:
    if failure is not None:
        yield "iperf3 ended with an error: what it measured until then is read."
    if "accepted_connection" in start:
        yield "The file is of iperf3's server: down is what it sent."
    if "timemillisecs" not in start.find_object("timestamp"):
        yield "iperf3 tells to the second when it began: its load may be half a second off."
    if any(not flow.arrived and flow.direction is Direction.UP for flow in flows) and not is_udp:
        yield (
            "Rates of uploads are of what the computer's sockets took, which at their begin is more"
            " than what the line carried."
        )
    if any(not flow.arrived and flow.direction in lossy for flow in flows):
        yield "Datagrams were lost: of their sender only the mean rate of what arrived is read."


#: JSON of iperf3.
IPERF3 = Reader("iperf3", "JSON of iperf3 -J", recognises, read)
