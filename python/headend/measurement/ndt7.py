"""Tests of M-Lab's ndt7: the messages of a client, one a line, or an object of M-Lab's archive.

Source: m-lab/ndt-server, spec/ndt7-protocol.md (the messages) and spec/data-format.md (the
archive). A test is one connection in one direction for about ten seconds; its messages count bytes
and hold the kernel's view of the connection. Times are in µs.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from headend.errors import InputError
from headend.measurement.fields import FASTEST_BIT_S, LONGEST_DELAY_MS, JsonObject
from headend.measurement.phases import find_phases
from headend.measurement.private import name_private
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

#: JsonObject that name the customer, the server or the test.
_PRIVATE: dict[str, tuple[str, ...]] = {
    "ClientIP": (),
    "ClientPort": (),
    "ServerIP": (),
    "ServerPort": (),
    "ServerFQDN": (),
    "ConnectionInfo": (),
    "UUID": (),
    "ClientMetadata": (),
    "ServerMetadata": (),
    "Server": (),
    "Download": ("UUID", "ClientMetadata", "ServerMetadata"),
    "Upload": ("UUID", "ClientMetadata", "ServerMetadata"),
}

#: A test lasts ten seconds, and by the specification never more than 15; clocks may be slow.
_MOST_SECONDS = 3600.0

#: More bytes than the fastest line carries in that time.
_MOST_BYTES = FASTEST_BIT_S / 8 * _MOST_SECONDS

#: Each direction with its load, the name of its test, and that of its part of an archive's object.
_TESTS = (
    (Direction.DOWN, Load.DOWN, "download", "Download"),
    (Direction.UP, Load.UP, "upload", "Upload"),
)

#: JsonObject that only a message of a test has.
_PARTS = ("AppInfo", "TCPInfo", "BBRInfo")

_VERSION = re.compile(r"v[0-9][\w.-]{0,40}")

#: Messages closer than this, s, make one bin: the specification allows one each 100 ms, and some
#: ends write a last one at once after the one before.
_LEAST_STEP = 1e-3

#: How long after the download an upload of unknown begin is laid, s: no sample of one may lie in
#: the other, and so short a time is no idle line.
_PAUSE = 1.0

_US_PER_S = 1e6
_US_PER_MS = 1e3


@dataclass
class _Test:
    """The messages of a test in one direction, by which end measured them."""

    client: list[JsonObject] = field(default_factory=list)
    server: list[JsonObject] = field(default_factory=list)
    started: float | None = None

    def __bool__(self) -> bool:
        return bool(self.client or self.server)


def recognises(content: Content) -> bool:
    """Whether some content is of ndt7."""
    return any(
        _is_archived(value) or _is_summary(value) or _unwrap(value) is not None
        for value in content.list_values()
    )


def read(content: Content) -> Measurement:
    """Read the messages of a test in one or both directions; of several, the last of each.

    Raises
    ------
    InputError
        That begins with the path.
    """
    values = [value for value in content.list_values() if isinstance(value, dict)]
    tests = {direction: _Test() for direction, *_ in _TESTS}
    dropped: list[str] = []
    version = ""
    for value in values:
        dropped.extend(name_private(value, _PRIVATE))
        if _is_archived(value):
            outer = JsonObject(content.path, value)
            version = version or outer.find_text("Version")
            dropped.extend(_take_archived(outer, tests))
        elif isinstance(inner := value.get("Value"), dict):
            dropped.extend(name_private(inner, _PRIVATE))
        _take_message(content, value, tests)
    offsets, notes = _place(tests)
    if any(tests.values()):
        measurement = _measure(content, tests, offsets)
    else:
        measurement = Measurement(tools=(), summaries=tuple(_read_summaries(content, values)))
    if not (measurement.rates or measurement.delays or measurement.summaries):
        raise InputError(
            f"{content.path}: expected messages of ndt7 that count bytes (AppInfo or TCPInfo),"
            " found none"
        )
    name = f"ndt7 {version}" if _VERSION.fullmatch(version) else "ndt7"
    return Measurement(
        tools=(name,),
        paths=(content.path,),
        started=min((test.started for test in tests.values() if test.started), default=None),
        phases=measurement.phases,
        rates=measurement.rates,
        delays=measurement.delays,
        summaries=measurement.summaries,
        retransmissions=measurement.retransmissions,
        senders=measurement.senders,
        notes=tuple(notes) if any(tests.values()) else (),
        dropped=tuple(dict.fromkeys(dropped)),
    )


def _is_archived(value: Any) -> bool:
    """Whether a value is an object of M-Lab's archive."""
    return isinstance(value, dict) and any(
        isinstance(inner := value.get(name), dict)
        and ("ServerMeasurements" in inner or "ClientMeasurements" in inner)
        for *_, name in _TESTS
    )


def _is_summary(value: Any) -> bool:
    """Whether a value is what the client prints at the end of its tests."""
    return isinstance(value, dict) and any(
        isinstance(inner := value.get(name), dict)
        and isinstance(inner.get("Throughput"), dict)
        and "Value" in inner["Throughput"]
        for *_, name in _TESTS
    )


def _unwrap(value: Any) -> dict[str, Any] | None:
    """Give the message of a test; None where a value is another."""
    if not isinstance(value, dict):
        return None
    if value.get("Key") == "measurement" and isinstance(value.get("Value"), dict):
        value = value["Value"]
    is_message = "Test" in value and any(part in value for part in _PARTS)
    return value if is_message else None


def _take_archived(outer: JsonObject, tests: dict[Direction, _Test]) -> Iterator[str]:
    """Take the messages of an archived object; give the names of what was private in them."""
    for direction, _, _, name in _TESTS:
        part = outer.find_object(name)
        if not part.values:
            continue
        test = _Test(
            _list_messages(part, "ClientMeasurements"),
            _list_messages(part, "ServerMeasurements"),
            part.find_moment("StartTime") or outer.find_moment("StartTime"),
        )
        for message in (*test.client, *test.server):
            yield from name_private(message.values, _PRIVATE)
        tests[direction] = test


def _take_message(content: Content, value: dict[str, Any], tests: dict[Direction, _Test]) -> None:
    """Take a message of a client; the start of a test forgets an earlier one of its direction."""
    inner = value.get("Value")
    if value.get("Key") == "starting" and isinstance(inner, dict):
        for direction, _, name, _ in _TESTS:
            if inner.get("Test") == name:
                tests[direction] = _Test()
    message = _unwrap(value)
    if message is None:
        return
    fields = JsonObject(content.path, message, "Value" if message is inner else "")
    directions = [direction for direction, _, name, _ in _TESTS if message["Test"] == name]
    if not directions:
        raise fields.refuse("Test", '"download" or "upload"')
    origin = message.get("Origin")
    if origin not in ("client", "server"):
        raise fields.refuse("Origin", '"client" or "server"')
    test = tests[directions[0]]
    (test.client if origin == "client" else test.server).append(fields)


def _place(tests: dict[Direction, _Test]) -> tuple[dict[Direction, float], list[str]]:
    """Say when each test began, s after the first of them; and what of it is supposed."""
    offsets = {direction: 0.0 for direction, *_ in _TESTS}
    down, up = tests[Direction.DOWN], tests[Direction.UP]
    if not (down and up):
        return offsets, []
    if down.started is not None and up.started is not None:
        apart = up.started - down.started
        if abs(apart) <= _MOST_SECONDS:
            offsets[Direction.UP if apart > 0 else Direction.DOWN] = abs(apart)
            return offsets, []
    offsets[Direction.UP] = _PAUSE + max(
        (time for message in (*down.client, *down.server) for time in _read_times(message)),
        default=0.0,
    )
    return offsets, [
        f"ndt7 does not say when the upload began; it is taken to begin {_PAUSE:g} s after the"
        " download"
    ]


def _read_times(message: JsonObject) -> Iterator[float]:
    for part in ("AppInfo", "TCPInfo"):
        elapsed = _find_elapsed(message.find_object(part))
        if elapsed is not None:
            yield elapsed


def _measure(
    content: Content, tests: dict[Direction, _Test], offsets: dict[Direction, float]
) -> Measurement:
    """Give what the tests of both directions measured."""
    busy: dict[Direction, list[tuple[float, float]]] = {}
    rates: list[RateSeries] = []
    delays: list[DelaySeries] = []
    summaries: list[Summary] = []
    retransmissions: list[Retransmissions] = []
    congestion = ""
    for direction, _, name, _ in _TESTS:
        test, offset = tests[direction], offsets[direction]
        if points := _count_bytes(test, direction, content):
            rates.append(_make_rates(content, direction, points, offset))
            busy[direction] = [(offset, offset + points[-1][0])]
        sender = test.server if direction is Direction.DOWN else test.client
        if series := _read_delays(sender, name, offset):
            delays.append(series)
        summaries.extend(_read_least(test))
        retransmissions.extend(_read_retransmissions(sender, direction, name))
        if any(message.find_object("BBRInfo").values for message in sender):
            congestion = "bbr"
    return Measurement(
        tools=(),
        phases=find_phases(busy, 0.0, max((end for ((_, end),) in busy.values()), default=0.0)),
        rates=tuple(rates),
        delays=tuple(delays),
        summaries=tuple(summaries),
        retransmissions=tuple(retransmissions),
        senders=Senders(
            up=1 if tests[Direction.UP] else None,
            down=1 if tests[Direction.DOWN] else None,
            congestion=congestion,
        ),
    )


def _count_bytes(test: _Test, direction: Direction, content: Content) -> list[tuple[float, float]]:
    """Give cumulative bytes by time, from the end that knows best what passed the line.

    What a receiver has read is surest. A sender's own count includes what waits in its socket, so
    the kernel's count of acknowledged bytes goes before it.
    """
    sources: tuple[tuple[list[JsonObject], str, str], ...]
    if direction is Direction.DOWN:
        sources = (
            (test.client, "AppInfo", "NumBytes"),
            (test.server, "TCPInfo", "BytesAcked"),
            (test.server, "AppInfo", "NumBytes"),
        )
    else:
        sources = (
            (test.server, "TCPInfo", "BytesReceived"),
            (test.server, "AppInfo", "NumBytes"),
            (test.client, "TCPInfo", "BytesAcked"),
            (test.client, "AppInfo", "NumBytes"),
        )
    for messages, part, key in sources:
        if points := _read_points(messages, part, key, content):
            return points
    return []


def _read_points(
    messages: Iterable[JsonObject], part: str, key: str, content: Content
) -> list[tuple[float, float]]:
    """Give points of a counter of bytes in order of time; none where there is no such counter."""
    found: dict[float, float] = {}
    for message in messages:
        fields = message.find_object(part)
        elapsed = _find_elapsed(fields)
        count = fields.find_number(key, "a number of bytes", 0, _MOST_BYTES)
        if elapsed and count is not None:
            found[elapsed] = count
    points = [(0.0, 0.0)]
    for time, count in sorted(found.items()):
        if count < points[-1][1]:
            raise InputError(
                f"{content.path}: expected {part}.{key} that does not fall with time, found that"
                " it does: are these messages of several tests?"
            )
        if time - points[-1][0] >= _LEAST_STEP:
            points.append((time, count))
    return points if len(points) > 1 else []


def _make_rates(
    content: Content, direction: Direction, points: list[tuple[float, float]], offset: float
) -> RateSeries:
    starts = [offset + time for time, _ in points[:-1]]
    ends = [offset + time for time, _ in points[1:]]
    rates = [
        8 * (after - before) / (end - start)
        for (start, before), (end, after) in itertools.pairwise(points)
    ]
    if max(rates) > FASTEST_BIT_S:
        raise InputError(
            f"{content.path}: expected rates of at most {FASTEST_BIT_S:g} bit/s, found"
            f" {max(rates):g} bit/s"
        )
    return RateSeries(direction, starts, ends, rates)


def _read_delays(sender: list[JsonObject], name: str, offset: float) -> DelaySeries | None:
    """Give the smoothed round-trip time of the connection as its sender's kernel saw it.

    The receiver's own is left out: it sends little but acknowledgements, and has few samples.
    """
    found: dict[float, float] = {}
    for message in sender:
        fields = message.find_object("TCPInfo")
        elapsed = _find_elapsed(fields)
        delay = _find_delay(fields, "RTT")
        if elapsed is not None and delay:
            found[offset + elapsed] = delay
    if not found:
        return None
    times = sorted(found)
    return DelaySeries(Trip.ROUND, Probe.IN_FLOW, times, [found[time] for time in times], flow=name)


def _read_least(test: _Test) -> Iterator[Summary]:
    """Give the least round-trip time of the connection.

    It includes the connection's handshake, when nothing filled the line yet.
    """
    least = [
        delay
        for message in (*test.client, *test.server)
        if (delay := _find_delay(message.find_object("TCPInfo"), "MinRTT"))
    ]
    if least:
        yield Summary(Quantity.DELAY, Statistic.LEAST, min(least), Load.IDLE, probe=Probe.IN_FLOW)


def _read_retransmissions(
    sender: list[JsonObject], direction: Direction, name: str
) -> Iterator[Retransmissions]:
    """Give the share of bytes sent again, as the last message that counts them has it."""
    for message in reversed(sender):
        fields = message.find_object("TCPInfo")
        sent = fields.find_number("BytesSent", "a number of bytes", 0, _MOST_BYTES)
        if sent and "BytesRetrans" in fields:
            again = fields.number("BytesRetrans", f"at most BytesSent ({sent:.0f})", 0, sent)
            yield Retransmissions(direction, again / sent, name)
            return


def _read_summaries(content: Content, values: list[dict[str, Any]]) -> Iterator[Summary]:
    """Read what the client prints at the end, of a file without the messages themselves."""
    last = next((value for value in reversed(values) if _is_summary(value)), None)
    if last is None:
        return
    for direction, load, _, name in _TESTS:
        fields = JsonObject(content.path, last).find_object(name)
        rate = _read_pair(fields, "Throughput", "Mbit/s", FASTEST_BIT_S / 1e6)
        if rate:
            yield Summary(Quantity.RATE, Statistic.MEAN, rate * 1e6, load, direction)
        least = _read_pair(fields, "Latency", "ms", LONGEST_DELAY_MS)
        if least:
            yield Summary(Quantity.DELAY, Statistic.LEAST, least, Load.IDLE, probe=Probe.IN_FLOW)


def _read_pair(fields: JsonObject, key: str, unit: str, most: float) -> float | None:
    """Give a number that is written with its unit."""
    pair = fields.find_object(key)
    value = pair.find_number("Value", f"a number in {unit}", 0, most)
    if value and pair.values.get("Unit") != unit:
        raise pair.refuse("Unit", f'"{unit}"')
    return value


def _find_elapsed(fields: JsonObject) -> float | None:
    """Give when a message was made, s after its test began."""
    elapsed = fields.find_number("ElapsedTime", "a time in µs", 0, _MOST_SECONDS * _US_PER_S)
    return None if elapsed is None else elapsed / _US_PER_S


def _find_delay(fields: JsonObject, key: str) -> float | None:
    """Give a delay, ms."""
    delay = fields.find_number(key, "a time in µs", 0, LONGEST_DELAY_MS * _US_PER_MS)
    return None if delay is None else delay / _US_PER_MS


def _list_messages(fields: JsonObject, key: str) -> list[JsonObject]:
    return list(fields.objects(key)) if key in fields else []


NDT7 = Reader("ndt7", "messages of an ndt7 test", recognises, read)
