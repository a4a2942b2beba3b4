"""One small valid file of every kind that readers read, for tests of what all of them must do."""

from __future__ import annotations

import json
from typing import Any

from measurement.crusader_files import (
    make_group,
    make_ping,
    make_result,
    write_packed,
    write_plain,
)


def _make_flent() -> dict[str, Any]:
    begin = 1_700_000_000.0
    steps = [index * 0.2 for index in range(60)]
    rates = [None if time < 5 else 9.0 for time in steps]
    delays = [20.0 if time < 5 else 80.0 for time in steps]
    return {
        "version": 4,
        "x_values": steps,
        "results": {
            "TCP upload": rates,
            "TCP download": rates,
            "TCP upload sum": rates,
            "Ping (ms) ICMP": delays,
            "Ping (ms) UDP EF": delays,
        },
        "raw_values": {
            "TCP upload": [
                {"t": begin + 5 + index * 0.2, "dur": 0.2, "val": 9.0, "tcp_rtt": 70.0}
                for index in range(30)
            ],
            "Ping (ms) ICMP": [
                {"seq": index + 1, "t": begin + index * 0.2, "val": delay}
                for index, delay in enumerate(delays)
                if index != 7
            ],
        },
        "metadata": {
            "NAME": "rrul",
            "LENGTH": 10,
            "TOTAL_LENGTH": 20,
            "STEP_SIZE": 0.2,
            "T0": "2023-11-14T22:13:20.000000Z",
            "TIME": "2023-11-14T22:13:20.000000Z",
            "HOST": "secret.example",
            "FLENT_VERSION": "2.1.1",
            "SERIES_META": {
                "TCP upload": {"UNITS": "Mbits/s", "RUNNER": "NetperfDemoRunner", "IDX": 0},
                "Ping (ms) ICMP": {"UNITS": "ms", "RUNNER": "PingRunner", "IDX": 1},
            },
        },
    }


def _make_irtt() -> dict[str, Any]:
    begin = 1_700_000_000_000_000_000

    def stamp(at: int) -> dict[str, int]:
        return {"wall": begin + at, "monotonic": at}

    def trip(index: int) -> dict[str, Any]:
        at = index * 20_000_000
        if index == 3:
            return {
                "seqno": index,
                "lost": "true_up",
                "timestamps": {"client": {"send": stamp(at)}, "server": {}},
                "delay": {},
                "ipdv": {},
            }
        return {
            "seqno": index,
            "lost": "false",
            "timestamps": {
                "client": {"send": stamp(at), "receive": stamp(at + 30_000_000)},
                "server": {
                    "receive": {"wall": begin + at + 10_000_000},
                    "send": {"wall": begin + at + 10_100_000},
                },
            },
            "delay": {"receive": 19_900_000, "rtt": 29_900_000, "send": 10_000_000},
            "ipdv": {},
        }

    return {
        "version": {"irtt": "0.9.1", "protocol": 1, "json_format": 1},
        "system_info": {"hostname": "secret"},
        "config": {
            "local_address": "192.0.2.7:1",
            "remote_address": "203.0.113.5:2112",
            "params": {"duration": 10**9, "interval": 2 * 10**7, "dscp": 184},
        },
        "stats": {"packets_sent": 20, "packets_received": 19},
        "round_trips": [trip(index) for index in range(20)],
    }


def _make_iperf3() -> dict[str, Any]:
    def stream(socket: int, second: int, sender: bool) -> dict[str, Any]:
        return {
            "socket": socket,
            "start": second,
            "end": second + 1,
            "seconds": 1,
            "bytes": 1_125_000,
            "bits_per_second": 9e6,
            "retransmits": 1,
            "rtt": 52_000,
            "sender": sender,
        }

    return {
        "start": {
            "connected": [{"socket": 5, "local_host": "192.0.2.7"}],
            "version": "iperf 3.16",
            "system_info": "secret",
            "timestamp": {"timesecs": 1_700_000_000},
            "cookie": "secret",
            "tcp_mss_default": 1448,
            "test_start": {"protocol": "TCP", "num_streams": 1, "tos": 0, "reverse": 0},
        },
        "intervals": [
            {"streams": [stream(5, second, True), stream(7, second, False)]} for second in range(5)
        ],
        "end": {
            "streams": [
                {"sender": {"bytes": 5_625_000, "retransmits": 5, "mean_rtt": 52_000}},
                {"sender": {"bytes": 5_625_000, "retransmits": 0, "mean_rtt": 48_000}},
            ],
            "sum_sent": {"bits_per_second": 9e6},
            "sender_tcp_congestion": "cubic",
        },
    }


def _make_ndt7() -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"Key": "starting", "Value": {"Test": "download"}}]
    for step in range(1, 5):
        elapsed = step * 250_000
        messages += [
            {
                "Key": "measurement",
                "Value": {
                    "AppInfo": {"ElapsedTime": elapsed, "NumBytes": 300_000 * step},
                    "Origin": "client",
                    "Test": "download",
                },
            },
            {
                "Key": "measurement",
                "Value": {
                    "ConnectionInfo": {"Client": "192.0.2.7:1", "UUID": "secret"},
                    "BBRInfo": {"BW": 1},
                    "TCPInfo": {
                        "ElapsedTime": elapsed,
                        "RTT": 60_000,
                        "MinRTT": 20_000,
                        "BytesSent": 300_000 * step,
                        "BytesRetrans": 1500,
                        "BytesAcked": 290_000 * step,
                    },
                    "Origin": "server",
                    "Test": "download",
                },
            },
        ]
    messages.append(
        {
            "Key": "measurement",
            "Value": {
                "AppInfo": {"ElapsedTime": 10**6, "NumBytes": 300_000},
                "Origin": "client",
                "Test": "upload",
            },
        }
    )
    return messages


def _make_archive() -> dict[str, Any]:
    return {
        "Version": "v0.9.1",
        "ClientIP": "192.0.2.7",
        "StartTime": "2019-07-16T15:26:05.987748459-04:00",
        "Upload": {
            "StartTime": "2019-07-16T15:26:05.987853779-04:00",
            "UUID": "secret",
            "ClientMeasurements": [{"AppInfo": {"ElapsedTime": 5 * 10**5, "NumBytes": 9}}],
            "ServerMeasurements": [
                {
                    "TCPInfo": {
                        "ElapsedTime": step * 10**6,
                        "BytesReceived": step * 10**6,
                        "MinRTT": 20_000,
                    }
                }
                for step in (1, 2, 3)
            ],
        },
    }


def _make_network_quality() -> dict[str, Any]:
    return {
        "base_rtt": 17.8,
        "dl_flows": 10,
        "dl_throughput": 361_439_456,
        "il_h2_req_resp": [12.9, 14.6],
        "interface_name": "secret0",
        "lud_foreign_tcp_handshake_443": [14, 42],
        "lud_self_h2_req_resp": [29, 66, 21],
        "os_version": "Version 27.2 (Build 26SECRET)",
        "other": {"interface-type": {"wifi": 457}, "proxy_state": {"not_proxied": 457}},
        "responsiveness": 215.5,
        "start_date": "2026-10-07 04:25:59.084",
        "test_endpoint": "secret.example",
        "ul_flows": 14,
        "ul_throughput": 319_803_552,
    }


def _make_ookla() -> dict[str, Any]:
    return {
        "type": "result",
        "timestamp": "2021-02-03T22:25:46Z",
        "ping": {"jitter": 0.5, "latency": 10.8, "low": 10.2, "high": 11.9},
        "download": {"bandwidth": 2_525_417, "latency": {"iqm": 200.0, "low": 21.5}},
        "upload": {"bandwidth": 1_434_104, "latency": {"iqm": 604.6, "high": 1667.7}},
        "packetLoss": 0.5,
        "isp": "secret",
        "interface": {"name": "wlan0", "internalIp": "192.0.2.7", "isVpn": False},
        "server": {"host": "secret.example"},
    }


def _make_speedtest_cli() -> dict[str, Any]:
    return {
        "download": 93e6,
        "upload": 20.5e6,
        "ping": 23.4,
        "timestamp": "2021-02-03T22:25:46.120000Z",
        "bytes_sent": 26_000_000,
        "bytes_received": 117_000_000,
        "client": {"ip": "198.51.100.9"},
    }


_GROUPS = [
    make_group(True, False, [(2, 0), (2.5, 10**6), (3, 2 * 10**6)], [(2, 0), (3, 10**6)]),
    make_group(False, True, [(5, 0), (6, 10**6)]),
    make_group(True, True, [(5, 0), (6, 10**6)]),
]

CRUSADER = make_result(
    _GROUPS,
    [make_ping(1 + index / 10, None if index == 9 else 0.02, 0.01) for index in range(60)],
)

#: Without what is known of lost probes since version 2.
_OLD_CRUSADER = make_result(
    _GROUPS, [make_ping(1 + index / 10, None if index == 9 else 0.02) for index in range(60)]
)


def _make_ripe_atlas() -> list[dict[str, Any]]:
    return [
        {
            "type": "ping",
            "proto": "ICMP",
            "prb_id": 31337,
            "msm_id": 31338,
            "from": "192.0.2.7",
            "dst_name": "secret.example",
            "timestamp": 1_700_000_000 + later,
            "result": [{"rtt": 10.5}, {"x": "*"}, {"rtt": 11.5}],
        }
        for later in (0, 240)
    ]


PING = """\
PING secret.example (192.0.2.1) 56(84) bytes of data.
[1700000000.100000] 64 bytes from 192.0.2.1: icmp_seq=1 ttl=57 time=10.3 ms
[1700000001.100000] 64 bytes from 192.0.2.1: icmp_seq=2 ttl=57 time=11.3 ms
[1700000003.100000] 64 bytes from 192.0.2.1: icmp_seq=4 ttl=57 time=14.0 ms
[1700000004.100000] 64 bytes from 192.0.2.1: icmp_seq=5 ttl=57 time=10.9 ms (DUP!)
[1700000005.100000] no answer yet for icmp_seq=6

--- secret.example ping statistics ---
6 packets transmitted, 4 received, 33% packet loss, time 5005ms
rtt min/avg/max/mdev = 10.3/11.6/14.0/1.4 ms
"""

TABLE = """\
time_s,down_mbps,up_mbps,delay_ms,loss,load
0,0,0,10.1,0,idle
1,0,0,10.2,0,idle
2,50.5,0,40.0,0,down
3,51.0,0,,0.02,down
4,0,9.5,80,0,up
5,0,9.4,81,0,up
"""

#: What is JSON, by name: an object, or a list of those that stand one a line.
OF_JSON: dict[str, Any] = {
    "flent": _make_flent(),
    "irtt": _make_irtt(),
    "iperf3": _make_iperf3(),
    "ndt7": _make_ndt7(),
    "archive of ndt7": _make_archive(),
    "networkQuality": _make_network_quality(),
    "speedtest by Ookla": _make_ookla(),
    "speedtest-cli": _make_speedtest_cli(),
    "RIPE Atlas": _make_ripe_atlas(),
}

#: What is text.
OF_TEXT = {"ping": PING, "table": TABLE}

#: What is bytes.
OF_BYTES = {"Crusader 0": write_plain(_OLD_CRUSADER), "Crusader 2": write_packed(CRUSADER)}


def write_json(value: Any) -> bytes:
    """Write a value as its tool does: an object, or one object a line."""
    values = value if isinstance(value, list) else [value]
    return "\n".join(json.dumps(one) for one in values).encode()


#: Every sample as the bytes of its file.
FILES: dict[str, bytes] = {
    **{name: write_json(value) for name, value in OF_JSON.items()},
    **{name: text.encode() for name, text in OF_TEXT.items()},
    **OF_BYTES,
}
