"""Results of Crusader: files ``.crr`` of the versions 0, 1 and 2.

Structure after Zoxc/crusader (MIT or Apache-2.0), src/crusader-lib/src/file_format.rs and
protocol.rs. A header of 16 bytes is followed by bincode in version 0, and in later versions by
MessagePack packed with Snappy's framing format. Times are durations since the client's start.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headend.errors import InputError, naming
from headend.extras import MEASUREMENTS
from headend.measurement.fields import (
    FASTEST_BIT_S,
    LONGEST_DELAY_MS,
    LONGEST_S,
    JsonObject,
)
from headend.measurement.phases import find_phases
from headend.measurement.reader import Content, Reader
from headend.measurement.record import (
    DelaySeries,
    Direction,
    Measurement,
    Probe,
    RateSeries,
    Senders,
    Trip,
)
from headend.measurement.summing import sum_flows
from headend.text.reveal import reveal_line
from headend.text.wording import shorten

#: protocol.rs: MAGIC, the first eight bytes.
_MAGIC = 0x5372AB82AE7C59CB
_HEADER = struct.Struct("<QQ")
_VERSIONS = (0, 1, 2)

#: A result of 24 s with 16 connections each way unpacks to 1.1 MB.
_MOST_UNPACKED = 32 * 2**20

#: Counts of bytes, probes and lists of them that are read; that result has 25 000.
_MOST_RECORDS = 1_000_000

#: google/snappy, framing_format.txt: a chunk begins with its type and its length in three bytes;
#: the stream with an identifier; a chunk unpacks to 65536 bytes at most; types from 0x80 on may be
#: passed over.
_IDENTIFIER = b"\xff\x06\x00\x00sNaPpY"
_MOST_OF_CHUNK = 65536
_PACKED, _PLAIN, _FIRST_SKIPPABLE, _OF_IDENTIFIER = 0x00, 0x01, 0x80, 0xFF

#: Names and texts of a result are shorter, in bytes.
_LONGEST_TEXT = 1024

#: Counts of bytes closer than this, s, are one: an interval between them is 20 ms by default, and 1
#: ms is the shortest that the program is given.
_LEAST_STEP = 0.5e-3

#: More bytes than the fastest line carries in the longest time.
_MOST_BYTES = FASTEST_BIT_S / 8 * LONGEST_S

_NS_PER_S = 1e9
_MS_PER_S = 1e3
_LONGEST_DELAY_S = LONGEST_DELAY_MS / _MS_PER_S

#: Most characters of the name of the program that is kept.
_MOST_QUOTED = 40


def recognises(content: Content) -> bool:
    """Whether some content begins as Crusader's files do."""
    return content.data.startswith(_MAGIC.to_bytes(8, "little"))


def read(content: Content) -> Measurement:
    """Read a result.

    Raises
    ------
    InputError
        That begins with the path; also where libraries are not installed that later versions need.
    """
    if len(content.data) < _HEADER.size:
        raise InputError(
            f"{content.path}: expected the header of Crusader's results ({_HEADER.size} B),"
            f" found {len(content.data)} B"
        )
    _, version = _HEADER.unpack_from(content.data)
    if version not in _VERSIONS:
        raise InputError(
            f"{content.path}: expected a result of Crusader of version 0, 1 or 2,"
            f" found version {version}"
        )
    packed = memoryview(content.data)[_HEADER.size :]
    if version == 0:
        values = _Bincode(content.path, packed).read_result()
    else:
        values = _read_message(content.path, _unpack(content.path, packed))
    return _read_result(JsonObject(content.path, values), version)


@dataclass(frozen=True)
class _Stream:
    """A connection: when it had transferred how many bytes, from its begin to its last byte."""

    name: str
    direction: Direction
    points: list[tuple[float, float]]

    def make_rates(self, origin: float) -> RateSeries:
        times = [time - origin for time, _ in self.points]
        counts = [count for _, count in self.points]
        rates = [
            8 * (after - before) / (end - start)
            for (start, before), (end, after) in itertools.pairwise(zip(times, counts, strict=True))
        ]
        return RateSeries(self.direction, times[:-1], times[1:], rates, flow=self.name)


def _read_result(result: JsonObject, version: int) -> Measurement:
    """Give the record of a result, whichever form it was written in."""
    groups = [(group, *_read_group(group)) for group in result.objects("stream_groups")]
    streams = [stream for _, _, found in groups for stream in found]
    pings = sorted(_read_pings(result), key=lambda ping: ping.sent)
    times = [
        *(ping.sent for ping in pings[:1] + pings[-1:]),
        *(stream.points[index][0] for stream in streams for index in (0, -1)),
    ]
    if not times:
        raise InputError(
            f"{result.path}: expected transfers or probes in Crusader's result, found none"
        )
    origin = min(times)
    busy: dict[Direction, list[tuple[float, float]]] = {}
    for _, direction, found in groups:
        if found:
            # A connection's count stands still while its reader's buffer fills.
            start = min(stream.points[0][0] for stream in found) - origin
            end = max(stream.points[-1][0] for stream in found) - origin
            busy.setdefault(direction, []).append((start, end))
    return Measurement(
        tools=(_name_tool(result),),
        paths=(result.path,),
        phases=find_phases(busy, 0.0, max(times) - origin),
        rates=tuple(_make_rates(result, streams, origin)),
        delays=tuple(_make_delays(pings, origin, version)),
        senders=Senders(up=_count(groups, Direction.UP), down=_count(groups, Direction.DOWN)),
        notes=tuple(_write_notes(result)),
    )


def _name_tool(result: JsonObject) -> str:
    name = result.text("generated_by") if "generated_by" in result else ""
    return shorten(reveal_line(name), _MOST_QUOTED) or "Crusader"


def _count(
    groups: list[tuple[JsonObject, Direction, list[_Stream]]], wanted: Direction
) -> int | None:
    """Count the connections of a direction, in the test that has most."""
    counts = [len(streams) for _, direction, streams in groups if direction is wanted]
    return max(counts) if counts else None


def _read_group(group: JsonObject) -> tuple[Direction, list[_Stream]]:
    """Give the direction of a group of connections and those of them that transferred anything."""
    for key in ("download", "both"):
        if not isinstance(group.values.get(key), bool):
            raise group.refuse(key, "true or false")
    direction = Direction.DOWN if group.values["download"] else Direction.UP
    name = "download" if direction is Direction.DOWN else "upload"
    test = " of both" if group.values["both"] else ""
    streams = [
        _Stream(f"{name}{test} {number}", direction, _read_points(stream))
        for number, stream in enumerate(group.objects("streams"), 1)
    ]
    return direction, [stream for stream in streams if len(stream.points) > 1]


def _read_points(stream: JsonObject) -> list[tuple[float, float]]:
    """Give cumulative bytes by time, without what is before the first and after the last byte."""
    points: list[tuple[float, float]] = []
    for point in stream.objects("data"):
        time = point.number("time", "a duration", 0, LONGEST_S)
        count = point.number("bytes", "a number of bytes", 0, _MOST_BYTES)
        if points and time < points[-1][0]:
            raise point.refuse("time", f"no earlier time than {points[-1][0]:g} s before it")
        if points and count < points[-1][1]:
            raise point.refuse("bytes", f"no fewer than {points[-1][1]:.0f} before it")
        if points and time - points[-1][0] < _LEAST_STEP:
            points[-1] = (points[-1][0], count)
        else:
            points.append((time, count))
    first = next((index for index, (_, count) in enumerate(points) if count), len(points))
    last = next((index for index, (_, count) in enumerate(points) if count == points[-1][1]), 0)
    kept = points[max(0, first - 1) : last + 1]
    for (start, before), (end, after) in itertools.pairwise(kept):
        if 8 * (after - before) > FASTEST_BIT_S * (end - start):
            raise InputError(
                f"{stream.path}: {stream.place}.data: expected rates of at most"
                f" {FASTEST_BIT_S:g} bit/s, found {8 * (after - before) / (end - start):g} bit/s"
            )
    return kept


def _make_rates(result: JsonObject, streams: list[_Stream], origin: float) -> Iterator[RateSeries]:
    """Give the rates of each connection, and those of all of a direction together."""
    config = result.object("config")
    step = config.number("bandwidth_interval", "a duration", 0, LONGEST_S)
    for direction in (Direction.DOWN, Direction.UP):
        flows = [one.make_rates(origin) for one in streams if one.direction is direction]
        if flows:
            yield sum_flows(flows, max(step, _LEAST_STEP))
            yield from flows


@dataclass(frozen=True)
class _Ping:
    """A probe: when it was sent, how long it took in all and to the server, in s."""

    sent: float
    total: float | None
    up: float | None


def _read_pings(result: JsonObject) -> Iterator[_Ping]:
    for ping in result.objects("pings"):
        latency = ping.find_object("latency")
        yield _Ping(
            ping.number("sent", "a duration", 0, LONGEST_S),
            latency.find_number("total", "a duration", 0, _LONGEST_DELAY_S),
            latency.find_number("up", "a duration", 0, _LONGEST_DELAY_S),
        )


def _make_delays(pings: list[_Ping], origin: float, version: int) -> Iterator[DelaySeries]:
    """Give the delays there and back, and those of each direction.

    Since version 2 it is known of a lost probe whether it reached the server. What takes the time
    to the server includes how far the clocks are apart, as the program found.
    """
    if not pings:
        return
    totals = [(ping.sent - origin, ping.total) for ping in pings]
    yield _make_series(Trip.ROUND, totals, [time for time, delay in totals if delay is None])
    ups = [(ping.sent - origin, ping.up) for ping in pings]
    downs = [
        (ping.sent - origin, max(0.0, ping.total - ping.up))
        for ping in pings
        if ping.total is not None and ping.up is not None
    ]
    if not downs:
        return
    lost_up = [time for time, delay in ups if delay is None]
    lost_down = [ping.sent - origin for ping in pings if ping.total is None and ping.up is not None]
    is_known = version >= 2
    yield _make_series(Trip.UP, ups, lost_up if is_known else [])
    yield _make_series(Trip.DOWN, downs, lost_down if is_known else [])


def _make_series(
    trip: Trip,
    samples: list[tuple[float, float | None]] | list[tuple[float, float]],
    lost: list[float],
) -> DelaySeries:
    answered = [(time, delay * _MS_PER_S) for time, delay in samples if delay is not None]
    return DelaySeries(
        trip,
        Probe.UDP,
        [time for time, _ in answered],
        [delay for _, delay in answered],
        lost,
        len(lost),
    )


def _write_notes(result: JsonObject) -> Iterator[str]:
    if result.values.get("server_overload") is True:
        yield "Crusader's server could not keep up"
    if result.values.get("load_termination_timeout") is True:
        yield "a transfer of Crusader did not end in time"
    if result.values.get("peer_pings"):
        yield "the probes of a second computer are left out"


def _unpack(path: Path, packed: memoryview) -> bytes:
    """Unpack Snappy's framing format chunk by chunk, up to the limit."""
    with naming(str(path)):
        MEASUREMENTS.require("reading results of Crusader")
    import cramjam

    pieces: list[bytes] = []
    size = at = 0
    if bytes(packed[: len(_IDENTIFIER)]) != _IDENTIFIER:
        raise InputError(f"{path}: expected a stream of Snappy after the header, found none")
    while at < len(packed):
        kind, length = packed[at], int.from_bytes(packed[at + 1 : at + 4], "little")
        chunk = bytes(packed[at : at + 4 + length])
        if at + 4 + length > len(packed):
            raise InputError(f"{path}: the stream of Snappy ends too early, after {size} B")
        at += 4 + length
        if kind >= _FIRST_SKIPPABLE:
            if kind == _OF_IDENTIFIER and chunk != _IDENTIFIER:
                raise InputError(f"{path}: the stream of Snappy is damaged after {size} B")
            continue
        if _read_size(chunk) > _MOST_OF_CHUNK:
            raise InputError(f"{path}: the stream of Snappy is damaged after {size} B")
        try:
            # It checks the sum of each chunk.
            piece = bytes(cramjam.snappy.decompress(_IDENTIFIER + chunk))
        except cramjam.DecompressionError as error:
            raise InputError(f"{path}: the stream of Snappy is damaged after {size} B") from error
        size += len(piece)
        if size > _MOST_UNPACKED:
            raise InputError(
                f"{path}: unpacks to more than {_MOST_UNPACKED // 2**20} MiB, which is too large"
                " for a result of Crusader"
            )
        pieces.append(piece)
    return b"".join(pieces)


def _read_size(chunk: bytes) -> int:
    """Give how much a chunk claims to unpack to, in bytes.

    A packed one has it after its head and checksum, in groups of seven bits, the least first.
    """
    kind, body = chunk[0], chunk[8:]
    if kind == _PLAIN:
        return len(body)
    if kind != _PACKED:
        return _MOST_OF_CHUNK + 1  # of a type that no reader may pass over
    size = 0
    for index, byte in enumerate(body[:5]):
        size |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return size
    return _MOST_OF_CHUNK + 1


def _read_message(path: Path, message: bytes) -> dict[str, Any]:
    """Read MessagePack as a map of a few kinds of values, durations as s."""
    import msgpack

    records = 0

    def count(value: Any) -> Any:
        nonlocal records
        records += 1
        if records > _MOST_RECORDS:
            raise InputError(_describe_excess(path))
        return value

    def build(value: dict[str, Any]) -> Any:
        if value.keys() == {"secs", "nanos"}:
            return _join_duration(path, value["secs"], value["nanos"])
        return count(value)

    try:
        values = msgpack.unpackb(
            message,
            object_hook=build,
            list_hook=count,
            strict_map_key=True,
            max_str_len=_LONGEST_TEXT,
            max_bin_len=0,
            max_ext_len=0,
            max_array_len=_MOST_RECORDS,
            max_map_len=_LONGEST_TEXT,
        )
    except InputError:
        raise
    # A RecursionError where the library's part in Python reads.
    except (ValueError, RecursionError, msgpack.exceptions.UnpackException) as error:
        raise InputError(
            f"{path}: expected MessagePack of Crusader, found something else"
        ) from error
    if not isinstance(values, dict):
        raise InputError(f"{path}: expected a map of MessagePack, found none")
    return values


def _describe_excess(path: Path) -> str:
    return f"{path}: expected a result of at most {_MOST_RECORDS} counts and probes, found more"


def _join_duration(path: Path, secs: object, nanos: object) -> float:
    """Give a duration in s; only whole numbers make one."""
    if type(secs) is not int or type(nanos) is not int:
        raise InputError(f"{path}: expected a duration in whole s and ns, found something else")
    return secs + nanos / _NS_PER_S


class _Bincode:
    """Reads version 0: fields one after the other, in the order in which they are declared."""

    def __init__(self, path: Path, data: memoryview) -> None:
        self._path = path
        self._data = data
        self._at = 0
        self._records = 0

    def read_result(self) -> dict[str, Any]:
        """Give the result as the later versions' map has it."""
        # RawConfigV0: two durations in whole s, two in ms.
        _, _, _, interval = (self._read("<Q") for _ in range(4))
        self._read_duration()
        self._read_duration()
        groups = [self._read_group() for _ in range(self._read_length(10))]
        pings = [self._read_ping() for _ in range(self._read_length(21))]
        if self._at != len(self._data):
            raise InputError(
                f"{self._path}: expected the end of Crusader's result after its probes, found"
                f" {len(self._data) - self._at} B more"
            )
        config = {"bandwidth_interval": interval / _MS_PER_S}
        return {"config": config, "stream_groups": groups, "pings": pings}

    def _read_group(self) -> dict[str, Any]:
        download, both = self._read_flag(), self._read_flag()
        streams = [{"data": self._read_points()} for _ in range(self._read_length(8))]
        return {"download": download, "both": both, "streams": streams}

    def _read_points(self) -> list[dict[str, Any]]:
        return [
            {"time": self._read_duration(), "bytes": self._read("<Q")}
            for _ in range(self._read_length(20))
        ]

    def _read_ping(self) -> dict[str, Any]:
        self._read("<Q")  # its number
        sent = self._read_duration()
        total = {"total": self._read_duration()} if self._read_flag() else None
        return {"sent": sent, "latency": total}

    def _read_duration(self) -> float:
        secs, nanos = self._read("<Q"), self._read("<I")
        return secs + nanos / _NS_PER_S

    def _read_flag(self) -> bool:
        value = self._read("<B")
        if value > 1:
            raise InputError(f"{self._path}: byte {self._at + 15}: expected 0 or 1, found {value}")
        return value == 1

    def _read_length(self, least: int) -> int:
        """Give the length of a list whose items have some bytes at least."""
        length = self._read("<Q")
        left = len(self._data) - self._at
        if length * least > left:
            raise InputError(
                f"{self._path}: byte {self._at + 8}: expected a list of {length}, found only"
                f" {left} B for it"
            )
        self._records += length
        if self._records > _MOST_RECORDS:
            raise InputError(_describe_excess(self._path))
        return length

    def _read(self, form: str) -> int:
        size = struct.calcsize(form)
        if self._at + size > len(self._data):
            raise InputError(
                f"{self._path}: Crusader's result ends too early, after {len(self._data) + 16} B"
            )
        (value,) = struct.unpack_from(form, self._data, self._at)
        self._at += size
        return int(value)


CRUSADER = Reader("Crusader", "a result of Crusader (.crr)", recognises, read)
