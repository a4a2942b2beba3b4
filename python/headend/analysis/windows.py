"""Windows and round trips of transfers, and the rates that they allow.

Congestion windows under loss are those of Mathis, Semke, Mahdavi and Ott (CCR 27(3), 1997) and, for
CUBIC, of RFC 9438, section 5.1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import harmonic_mean
from typing import Any

from headend.results.record import Record
from headend.text.quantity import parse_quantity

#: Share of a receive buffer that can be offered as window, where it is autotuned, and share of a
#: send buffer that is data: the other bytes are memory that segments take beyond theirs.
_OFFERED, _BUFFERED = 158 / 256, 1448 / 1525

#: Headers of IP and TCP, with timestamps, of a packet: what a segment has less than the MTU, B.
HEADERS = 52

#: CUBIC's constants (RFC 9438, section 5.1).
_CUBIC_C, _CUBIC_BETA = 0.4, 0.7


@dataclass(frozen=True)
class Window:
    """Data that may be outstanding, B, and the buffer that it is a part of, as it is written."""

    size: float
    buffer: str


def read_receive_window(tcp: Mapping[str, Any]) -> Window:
    """Read the largest window that a receiver offers; infinite where nothing bounds it."""
    if window := _read_size(tcp, "receive_window"):
        return Window(parse_quantity(window, "size").value, "")
    return _read_buffer(tcp, "receive_buffer", _OFFERED)


def measure_ack_delay(tcp: Mapping[str, Any]) -> float:
    """Give how much data may be sent while an acknowledgement waits for a second segment, B.

    The round trip is measured from the first of the two (RFC 7323 §4.1), the second may have left
    two segments later, and so data is outstanding for up to a segment's time less in the mean.
    """
    is_delayed = parse_quantity(str(tcp.get("delayed_ack", "0 s")), "time").value > 0
    return float(tcp.get("mtu", 1500)) - HEADERS if is_delayed else 0.0


def read_send_buffer(tcp: Mapping[str, Any]) -> Window:
    """Read how much data a send buffer holds; infinite where nothing bounds it."""
    return _read_buffer(tcp, "send_buffer", _BUFFERED)


def _read_buffer(tcp: Mapping[str, Any], key: str, part: float) -> Window:
    if not (buffer := _read_size(tcp, key)):
        return Window(math.inf, "")
    return Window(part * parse_quantity(buffer, "size").value, buffer)


def _read_size(tcp: Mapping[str, Any], key: str) -> str:
    """Give a size that a scenario sets; empty where it sets none, or one that adapts."""
    text = str(tcp.get(key, ""))
    return text if text[:1].isdigit() else ""


def measure_rtt(record: Record, flows: set[str]) -> float | None:
    """Give the round trip that flows' connections measured, ns.

    It is the harmonic mean over time: a window is sent once in each, in short ones more often.
    """
    trips = [trip for trip in _read_series(record, flows, "srtt_ns") if not math.isnan(trip)]
    return harmonic_mean(trips) if trips else None


def measure_time_at(record: Record, flows: set[str], window: float, mtu: int) -> float:
    """Give the share of the time in which a congestion window holds as much as another window.

    A window of whole segments that leaves less than one of room in the other holds as much.
    """
    sizes = _read_series(record, flows, "cwnd_bytes")
    return sum(window - mtu < size <= window for size in sizes) / max(len(sizes), 1)


def _read_series(record: Record, flows: set[str], column: str) -> list[float]:
    """Read a column of flows' connections after the warm-up."""
    series, warmup = record.lists("connection_series"), record.manifest.get("warmup_ns", 0)
    columns = ("flow", "time_ns", column)
    return [
        value
        for flow, time, value in zip(*(series[name] for name in columns), strict=True)
        if flow in flows and time > warmup
    ]


def estimate_rate(control: str, lost_ratio: float, rtt_ns: float, segment: float) -> float | None:
    """Estimate what a sender gets that loses packets at random and slows down for each loss, bit/s.

    Parameters
    ----------
    control
        ``cubic``, or one that grows by a segment each round trip and halves.
    lost_ratio
        Share of its packets that are lost.
    rtt_ns
        The round trip, ns.
    segment
        Payload of a segment, B.

    Examples
    --------
    >>> round(estimate_rate("reno", 1 / 200, 100e6, 1448) / 1e6, 2)
    2.01
    """
    if control not in ("reno", "cubic") or not lost_ratio:
        return None
    window = math.sqrt(1.5 / lost_ratio)
    if control == "cubic":
        growth = _CUBIC_C * (3 + _CUBIC_BETA) / (4 * (1 - _CUBIC_BETA))
        window = max(window, (growth * (rtt_ns / 1e9 / lost_ratio) ** 3) ** 0.25)
    return window * segment * 8e9 / rtt_ns
