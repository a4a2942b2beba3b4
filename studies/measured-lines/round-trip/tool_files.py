"""Tests of lines as the files of measuring tools: what each tool would have written.

Each writer takes a measurement of a run (`lines.run_test`), and what else its tool stamps, and
gives files by their names. Their readers in headend were written apart from them, from the tools'
documentation and files. All are of a line that is loaded down and then up.
"""

from __future__ import annotations

import json
import math
import statistics
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from headend.extras import MEASUREMENTS
from headend.measurement.flent_file import write_flent
from headend.measurement.record import (
    DelaySeries,
    Direction,
    Measurement,
    Phase,
    Probe,
    RateSeries,
)

from .one_way import Probes

if TYPE_CHECKING:
    import polars as pl

#: From and to, s, by direction.
Spans = Mapping[Direction, tuple[float, float]]

#: Web tests leave the beginning of the load out of their rate: this share of it, a choice of ours.
RAMP = 0.25

#: crusader's file: magic, version, and its settings.
_MAGIC, _VERSION = 0x5372AB82AE7C59CB, 2

#: Payload of a segment, bytes: 1500 less the headers of IPv4 and TCP, as simulated senders have it.
_SEGMENT = 1460

_WORDS = {Direction.DOWN: "download", Direction.UP: "upload"}


def cut(measurement: Measurement, start: float, end: float) -> Measurement:
    """Cut a part out of a measurement, whose times begin anew.

    Examples
    --------
    >>> rates = RateSeries(Direction.UP, [0.0, 1.0, 2.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    >>> part = cut(Measurement(("tool",), started=100.0, rates=(rates,)), 1.0, 3.0)
    >>> part.started, part.rates[0].starts, part.rates[0].rates
    (101.0, [0.0, 1.0], [2.0, 3.0])
    """
    return replace(
        measurement,
        started=(measurement.started or 0.0) + start,
        phases=tuple(
            Phase(one.load, max(one.start, start) - start, min(one.end, end) - start)
            for one in measurement.phases
            if one.end > start and one.start < end
        ),
        rates=tuple(_cut_rates(one, start, end) for one in measurement.rates),
        delays=tuple(_cut_delays(one, start, end) for one in measurement.delays),
    )


def _cut_rates(series: RateSeries, start: float, end: float) -> RateSeries:
    bins = [
        (begin - start, finish - start, rate)
        for begin, finish, rate in zip(series.starts, series.ends, series.rates, strict=True)
        if begin > start - 1e-6 and finish < end + 1e-6
    ]
    return replace(
        series,
        starts=[begin for begin, _, _ in bins],
        ends=[finish for _, finish, _ in bins],
        rates=[rate for _, _, rate in bins],
    )


def _cut_delays(series: DelaySeries, start: float, end: float) -> DelaySeries:
    kept = [
        (time - start, delay)
        for time, delay in zip(series.times, series.delays, strict=True)
        if start <= time < end
    ]
    lost = [time - start for time in series.lost if start <= time < end]
    return replace(
        series,
        times=[time for time, _ in kept],
        delays=[delay for _, delay in kept],
        lost=lost,
        lost_count=len(lost),
    )


def write_flent_files(
    measurement: Measurement, parts: Mapping[Direction, tuple[float, float]]
) -> dict[str, bytes]:
    """Write flent's data files: of a download, and of an upload."""
    files = {}
    for direction, (start, end) in parts.items():
        part = cut(measurement, start, end)
        own = tuple(one for one in part.rates if one.direction is direction)
        flows = {one.flow for one in own if one.flow}
        delays = tuple(one for one in part.delays if not one.flow or one.flow in flows)
        name = f"{_WORDS[direction]}.flent.gz"
        files[name] = write_flent(replace(part, rates=own, delays=delays), name=name)
    return files


def write_crusader(measurement: Measurement, probes: Probes, spans: Spans) -> dict[str, bytes]:
    """Write crusader's file of version 2: 200 pings a second, with the delay up and there and back.

    The times of its streams and pings are since its client's start.
    """
    MEASUREMENTS.require("a file of Crusader")
    import cramjam
    import msgpack

    groups = [
        {
            "download": direction is Direction.DOWN,
            "both": False,
            "streams": [
                {"data": list(_accumulate(one, *spans[direction]))}
                for one in measurement.rates
                if one.direction is direction and one.flow
            ],
        }
        for direction in spans
    ]
    end = max(measurement.rates[0].ends)
    content = {
        "version": "2",
        "generated_by": "headend",
        "config": {
            "stagger": _last(0.0),
            "load_duration": _last(max(end - start for start, end in spans.values())),
            "grace_duration": _last(min(start for start, _ in spans.values())),
            "ping_interval": _last(float(np.median(np.diff(probes.sent)))),
            "bandwidth_interval": _last(measurement.rates[0].ends[0]),
        },
        "ipv6": False,
        "load_termination_timeout": False,
        "server_overload": False,
        "server_latency": _last(float(np.nanmin(probes.total)) / 1e3),
        "start": _last(0.0),
        "duration": _last(end),
        "stream_groups": groups,
        "pings": [
            {
                "index": number,
                "sent": _last(float(sent)),
                "latency": None
                if math.isnan(up)
                else {
                    "total": None if math.isnan(both) else _last(both / 1e3),
                    "up": _last(up / 1e3),
                },
            }
            for number, (sent, up, both) in enumerate(
                zip(probes.sent.tolist(), probes.up.tolist(), probes.total.tolist(), strict=True)
            )
        ],
        "peer_pings": None,
        "test_data": [],
    }
    packed = bytes(cramjam.snappy.compress(msgpack.packb(content)))
    return {"line.crr": struct.pack("<QQ", _MAGIC, _VERSION) + packed}


def _last(seconds: float) -> dict[str, int]:
    """Give a duration."""
    whole = round(seconds * 1e9)
    return {"secs": whole // 10**9, "nanos": whole % 10**9}


def _accumulate(series: RateSeries, start: float, end: float) -> Iterator[dict[str, Any]]:
    """Give what a stream had brought at the end of each bin since its beginning."""
    total = 0.0
    for begin, finish, rate in zip(series.starts, series.ends, series.rates, strict=True):
        total += rate * (finish - begin) / 8
        if start - 1e-6 <= begin < end:
            yield {"time": _last(finish), "bytes": round(total)}


def write_irtt(
    probes: Probes, started: float, octet: int = 0, name: str = "line"
) -> dict[str, bytes]:
    """Write irtt's file of a run of probes.

    Parameters
    ----------
    probes
        Each of them.
    started
        When the run began, s since 1970.
    octet
        Their type of service.
    name
        Of the file.
    """
    begin = round(started * 1e6) * 1000
    trips = []
    rows = zip(probes.sent.tolist(), probes.up.tolist(), probes.down.tolist(), strict=True)
    before: float | None = None
    for number, (sent, up, down) in enumerate(rows):
        at = round(sent * 1e9)
        client = {"send": _stamp(begin, at)}
        trip: dict[str, Any] = {"seqno": number, "lost": "false", "timestamps": {"client": client}}
        if math.isnan(up + down):
            trip |= {"lost": "true_up" if math.isnan(up) else "true_down", "delay": {}, "ipdv": {}}
            before = None
        else:
            there, back = round(up * 1e6), round(down * 1e6)
            server = _stamp(begin, at + there)
            client["receive"] = _stamp(begin, at + there + back)
            trip["timestamps"]["server"] = {"receive": server, "send": server}
            trip["delay"] = {"receive": back, "rtt": there + back, "send": there}
            trip["ipdv"] = {} if before is None else {"rtt": there + back - round(before * 1e6)}
            before = up + down
        trips.append(trip)
    answered = int(np.isfinite(probes.total).sum())
    content = {
        "version": {"irtt": "0.9.0", "protocol": 1, "json_format": 1},
        "system_info": {"os": "linux", "cpus": 2},
        "config": {
            "local_address": "192.0.2.1:2112",
            "remote_address": "192.0.2.2:2112",
            "params": {
                "proto_version": 1,
                "duration": round((probes.sent[-1] - probes.sent[0]) * 1e9),
                "interval": round(float(np.median(np.diff(probes.sent))) * 1e9),
                "length": 60,
                "received_stats": "both",
                "stamp_at": "both",
                "clock": "both",
                "dscp": octet,
            },
        },
        "stats": {
            "packets_sent": len(trips),
            "packets_received": answered,
            "packet_loss_percent": 100 * (1 - answered / len(trips)),
        },
        "round_trips": trips,
    }
    return {f"{name}.irtt.json": json.dumps(content).encode()}


def _stamp(begin: int, at: int) -> dict[str, int]:
    return {"wall": begin + at, "monotonic": at}


def write_ping(measurement: Measurement) -> dict[str, bytes]:
    """Write the log of ``ping -D``, which prints each answer as it comes."""
    pings = next(one for one in measurement.delays if one.probe is Probe.ICMP)
    sent = sorted(
        [(time, -1.0) for time in pings.lost] + list(zip(pings.times, pings.delays, strict=True))
    )
    lines = ["PING server (192.0.2.2) 56(84) bytes of data."]
    answers = []
    for number, (time, delay) in enumerate(sent, start=1):
        if delay >= 0:
            came = (measurement.started or 0.0) + time + delay / 1e3
            text = f"64 bytes from 192.0.2.2: icmp_seq={number} ttl=64 time={_write_ms(delay)} ms"
            answers.append((came, f"[{came:.6f}] {text}"))
    lines += [text for _, text in sorted(answers)]
    lost = len(pings.lost) / len(sent)
    least, mean, most = min(pings.delays), statistics.fmean(pings.delays), max(pings.delays)
    lines += [
        "",
        "--- server ping statistics ---",
        f"{len(sent)} packets transmitted, {len(pings.times)} received, {100 * lost:.6g}% packet"
        f" loss, time {1e3 * (sent[-1][0] - sent[0][0]):.0f}ms",
        f"rtt min/avg/max/mdev = {least:.3f}/{mean:.3f}/{most:.3f}/"
        f"{statistics.pstdev(pings.delays):.3f} ms",
    ]
    return {"line.ping.txt": "\n".join(lines).encode()}


def _write_ms(delay: float) -> str:
    """Write a time as ping does: with three digits at least, and three decimals at most."""
    decimals = 0 if delay >= 100 else 1 if delay >= 10 else 2 if delay >= 1 else 3
    return f"{delay:.{decimals}f}"


def write_iperf3(measurement: Measurement, spans: Spans, step: float = 1.0) -> dict[str, bytes]:
    """Write iperf3's JSON (``-J``) of a download (``-R``) and of an upload.

    Both have what arrived. iperf3 itself has of an upload what its client handed to the socket,
    which a run does not keep.
    """
    return {
        f"{_WORDS[direction]}.iperf3.json": json.dumps(
            _make_iperf3(measurement, direction, span, step)
        ).encode()
        for direction, span in spans.items()
    }


def _make_iperf3(
    measurement: Measurement, direction: Direction, span: tuple[float, float], step: float
) -> dict[str, Any]:
    start, end = span
    flows = [one for one in measurement.rates if one.direction is direction and one.flow]
    is_reverse = direction is Direction.DOWN
    count = round((end - start) / step)
    bits = [_bin(one, start, step, count) for one in flows]
    sockets = [5 + 2 * number for number in range(len(flows))]
    intervals = []
    for number in range(count):
        times = {"start": number * step, "end": (number + 1) * step, "seconds": step}
        streams = [
            {
                "socket": socket,
                **times,
                "bytes": round(own[number] / 8),
                "bits_per_second": own[number] / step,
                "omitted": False,
                "sender": not is_reverse,
            }
            for socket, own in zip(sockets, bits, strict=True)
        ]
        total = sum(own[number] for own in bits)
        summed = {
            **times,
            "bytes": round(total / 8),
            "bits_per_second": total / step,
            "omitted": False,
            "sender": not is_reverse,
        }
        intervals.append({"streams": streams, "sum": summed})
    total = sum(map(sum, bits))
    whole = {
        "start": 0,
        "end": count * step,
        "seconds": count * step,
        "bytes": round(total / 8),
        "bits_per_second": total / (count * step),
    }
    control = measurement.senders.congestion
    return {
        "start": {
            "connected": [
                {"socket": socket, "local_host": "192.0.2.1", "remote_host": "192.0.2.2"}
                for socket in sockets
            ],
            "version": "iperf 3.12",
            "system_info": "Linux",
            "timestamp": {"time": "", "timesecs": math.floor((measurement.started or 0.0) + start)},
            "tcp_mss_default": _SEGMENT,
            "test_start": {
                "protocol": "TCP",
                "num_streams": len(flows),
                "blksize": 131072,
                "omit": 0,
                "duration": round(end - start),
                "reverse": int(is_reverse),
                "tos": 0,
            },
        },
        "intervals": intervals,
        "end": {
            "streams": [
                {"sender": _count_again(measurement, one.flow, direction, sum(own) / 8)}
                for one, own in zip(flows, bits, strict=True)
            ],
            "sum_sent": {**whole, "sender": not is_reverse},
            "sum_received": {**whole, "sender": not is_reverse},
            "sender_tcp_congestion": control,
            "receiver_tcp_congestion": control,
        },
    }


def _count_again(
    measurement: Measurement, flow: str, direction: Direction, size: float
) -> dict[str, int]:
    """Give the bytes of a connection, and how many of its segments were sent again."""
    again = next(
        one.share
        for one in measurement.retransmissions
        if one.flow == flow and one.direction is direction
    )
    return {"bytes": round(size), "retransmits": round(again * size / _SEGMENT)}


def _bin(series: RateSeries, start: float, step: float, count: int) -> list[float]:
    """Give the bits of a series in bins that begin at ``start``."""
    bits = [0.0] * count
    for begin, finish, rate in zip(series.starts, series.ends, series.rates, strict=True):
        place = math.floor(((begin + finish) / 2 - start) / step)
        if 0 <= place < count:
            bits[place] += rate * (finish - begin)
    return bits


def write_csv(measurement: Measurement, step: float = 0.2) -> dict[str, bytes]:
    """Write a table with a row each fifth of a second: time, rate each way, and the delay."""
    pings = next(one for one in measurement.delays if one.probe is Probe.ICMP)
    sums = {one.direction: one for one in measurement.rates if not one.flow}
    count = math.floor(max(sums[Direction.DOWN].ends) / step + 1e-9)
    rates = {way: _bin(one, 0.0, step, count) for way, one in sums.items()}
    delays = {
        math.floor(time / step + 1e-6): delay
        for time, delay in zip(pings.times, pings.delays, strict=True)
    }
    lines = ["time_s,down_mbps,up_mbps,delay_ms"]
    for place in range(count):
        down, up = (rates[way][place] / step / 1e6 for way in (Direction.DOWN, Direction.UP))
        delay = f"{delays[place]:.3f}" if place in delays else ""
        lines.append(f"{place * step:.1f},{down:.4f},{up:.4f},{delay}")
    return {"line.csv": "\n".join(lines).encode()}


def write_ookla(measurement: Measurement, spans: Spans) -> dict[str, bytes]:
    """Write the JSON of Ookla's ``speedtest``: means, and four numbers of each load's delays."""
    content: dict[str, Any] = {
        "type": "result",
        "timestamp": "2023-11-14T22:13:20Z",
        "ping": _describe_pings(
            _take_delays(measurement, 0.0, spans[Direction.DOWN][0]), "latency"
        ),
        "packetLoss": 0,
        "isp": "An ISP",
        "interface": {"name": "eth0"},
    }
    for direction, (start, end) in spans.items():
        rate = _find_mean(measurement, direction, start, end)
        content[_WORDS[direction]] = {
            "bandwidth": round(rate / 8),
            "bytes": round(rate / 8 * (end - start)),
            "elapsed": round(1e3 * (end - start)),
            "latency": _describe_pings(_take_delays(measurement, start, end), "iqm"),
        }
    return {"line.ookla.json": json.dumps(content).encode()}


def _describe_pings(delays: Sequence[float], middle: str) -> dict[str, float]:
    ordered = sorted(delays)
    quarter = len(ordered) // 4
    inner = ordered[quarter : len(ordered) - quarter]
    return {
        middle: round(statistics.fmean(inner), 3),
        "low": round(ordered[0], 3),
        "high": round(ordered[-1], 3),
        "jitter": round(statistics.fmean(abs(b - a) for a, b in pairwise(delays)), 3),
    }


def _take_delays(measurement: Measurement, start: float, end: float) -> list[float]:
    """Give the delays of pings in a time, in the order in which they were sent."""
    pings = next(one for one in measurement.delays if one.probe is Probe.ICMP)
    pairs = zip(pings.times, pings.delays, strict=True)
    return [delay for time, delay in pairs if start <= time < end]


def _find_mean(measurement: Measurement, direction: Direction, start: float, end: float) -> float:
    """Give the mean rate as a web test shows it, bit/s."""
    series = next(one for one in measurement.rates if one.direction is direction and not one.flow)
    start += RAMP * (end - start)
    bits = _bin(series, start, end - start, 1)
    return bits[0] / (end - start)


def write_network_quality(measurement: Measurement, spans: Spans) -> dict[str, bytes]:
    """Write the JSON of ``networkQuality -s -c``, which loads one direction after the other.

    Its probes of connections of their own are those of pings here.
    """
    idle = _take_delays(measurement, 0.0, spans[Direction.DOWN][0])
    content: dict[str, Any] = {
        "base_rtt": round(min(idle), 3),
        "il_tcp_handshake_443": [round(delay, 3) for delay in idle],
        "os_version": "Version 15.0 (Build 24A335)",
        "start_date": "2023-11-14 22:13:20.000",
        "end_date": "2023-11-14 22:14:14.000",
        "interface_name": "en0",
    }
    for direction, (start, end) in spans.items():
        key = "dl" if direction is Direction.DOWN else "ul"
        flows = [one for one in measurement.rates if one.direction is direction and one.flow]
        delays = _take_delays(measurement, start, end)
        content |= {
            f"{key}_throughput": round(_find_mean(measurement, direction, start, end)),
            f"{key}_flows": len(flows),
            f"{key}_responsiveness": round(60_000 / statistics.fmean(delays), 3),
            f"lud_foreign_{key}_tcp_handshake_443": [round(delay, 3) for delay in delays],
        }
    return {"line.networkquality.json": json.dumps(content).encode()}


def write_ndt7(states: pl.DataFrame, measurement: Measurement, spans: Spans) -> dict[str, bytes]:
    """Write the messages of ndt7's client, as its command prints them: ten seconds each way.

    Parameters
    ----------
    states
        Of `headend.export_tcp_info`: what the sender of the only connection knew, interval by
        interval.
    measurement
        What arrived.
    """
    lines = []
    for direction, (start, _) in spans.items():
        own = states.filter(direction=direction.value)
        series = next(one for one in measurement.rates if one.direction is direction and one.flow)
        lines += list(_list_messages(own, series, direction, start))
    return {"line.ndt7.jsonl": "\n".join(map(json.dumps, lines)).encode()}


def _list_messages(
    states: pl.DataFrame, series: RateSeries, direction: Direction, start: float
) -> Iterator[dict[str, Any]]:
    """Give a message of each end each 100 ms: bytes of the receiver, and TCP's of the sender."""
    test = _WORDS[direction]
    ends = {"receiver": "client", "sender": "server"}
    if direction is Direction.UP:
        ends = {"receiver": "server", "sender": "client"}
    rows = {round(row["time_ns"] / 1e8): row for row in states.iter_rows(named=True)}
    total = 0.0
    for begin, finish, rate in zip(series.starts, series.ends, series.rates, strict=True):
        since = finish - start
        if since <= 0 or since > 10:
            continue
        total += rate * (finish - begin) / 8
        place = round(finish * 10, 6)
        if place != int(place):
            continue
        elapsed = round(since * 1e6)
        yield {
            "Origin": ends["receiver"],
            "Test": test,
            "AppInfo": {"ElapsedTime": elapsed, "NumBytes": round(total)},
        }
        if row := rows.get(int(place)):
            yield {
                "Origin": ends["sender"],
                "Test": test,
                "TCPInfo": {
                    "ElapsedTime": elapsed,
                    "RTT": round(row["rtt"]),
                    "RTTVar": round(row["rttvar"]),
                    "MinRTT": round(row["min_rtt"]),
                    "BytesAcked": round(row["bytes_acked"]),
                    "BytesSent": round(row["bytes_sent"]),
                    "BytesRetrans": round(row["bytes_retrans"]),
                },
            }
