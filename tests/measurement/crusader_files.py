"""Makes results of Crusader of each version, as its own writer does."""

from __future__ import annotations

import struct
from typing import Any

import cramjam
import msgpack

MAGIC = 0x5372AB82AE7C59CB


def make_duration(seconds: float) -> dict[str, int]:
    nanos = round(seconds * 1e9)
    return {"secs": nanos // 10**9, "nanos": nanos % 10**9}


def make_stream(points: list[tuple[float, int]]) -> dict[str, Any]:
    return {"data": [{"time": make_duration(time), "bytes": count} for time, count in points]}


def make_group(download: bool, both: bool, *streams: list[tuple[float, int]]) -> dict[str, Any]:
    return {
        "download": download,
        "both": both,
        "streams": [make_stream(points) for points in streams],
    }


def make_ping(
    sent: float, total: float | None, up: float | None = None, number: int = 0
) -> dict[str, Any]:
    latency = None
    if total is not None or up is not None:
        latency = {
            "total": None if total is None else make_duration(total),
            "up": make_duration(up or 0),
        }
    return {"index": number, "sent": make_duration(sent), "latency": latency}


def make_result(
    groups: list[dict[str, Any]], pings: list[dict[str, Any]], **more: Any
) -> dict[str, Any]:
    """Give a result as the map of versions 1 and 2."""
    return {
        "version": 2,
        "generated_by": "Crusader 0.0.7",
        "config": {
            "stagger": make_duration(0),
            "load_duration": make_duration(5),
            "grace_duration": make_duration(1),
            "ping_interval": make_duration(0.005),
            "bandwidth_interval": make_duration(0.5),
        },
        "ipv6": False,
        "server_latency": make_duration(0.001),
        "start": make_duration(1),
        "duration": make_duration(20),
        "stream_groups": groups,
        "pings": pings,
        **more,
    }


def write_header(version: int, magic: int = MAGIC) -> bytes:
    return struct.pack("<QQ", magic, version)


def write_packed(result: Any, version: int = 2) -> bytes:
    """Write a result of version 1 or 2."""
    return write_header(version) + bytes(cramjam.snappy.compress(msgpack.packb(result)))


def write_plain(result: dict[str, Any]) -> bytes:
    """Write a result of version 0."""
    parts = [write_header(0), struct.pack("<QQQQ", 5, 1, 5, 500)]
    parts += [_write_duration(result["start"]), _write_duration(result["duration"])]
    parts.append(struct.pack("<Q", len(result["stream_groups"])))
    for group in result["stream_groups"]:
        parts.append(struct.pack("<??Q", group["download"], group["both"], len(group["streams"])))
        for stream in group["streams"]:
            parts.append(struct.pack("<Q", len(stream["data"])))
            for point in stream["data"]:
                parts += [_write_duration(point["time"]), struct.pack("<Q", point["bytes"])]
    parts.append(struct.pack("<Q", len(result["pings"])))
    for ping in result["pings"]:
        parts += [struct.pack("<Q", ping["index"]), _write_duration(ping["sent"])]
        latency = ping["latency"]
        parts.append(struct.pack("<?", latency is not None))
        if latency is not None:
            parts.append(_write_duration(latency["total"]))
    return b"".join(parts)


def _write_duration(duration: dict[str, int]) -> bytes:
    return struct.pack("<QI", duration["secs"], duration["nanos"])
