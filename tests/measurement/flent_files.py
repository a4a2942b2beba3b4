"""Builds data files of flent for tests: what netperf, ping and irtt tell of a made-up line."""

from __future__ import annotations

from typing import Any

#: When the first probe of the made-up measurement was sent, s since 1970.
BEGIN = 1_500_000_000.0

#: Texts that are in the file and must not be in a record.
PRIVATE = ("home-of-a-person", "a-server.example", "192.0.2.7", "Wohnzimmer", "02:00:5e:10:00:01")


def make_pings(last: int, lost: tuple[int, ...] = (), delay: float = 20.0) -> list[dict[str, Any]]:
    """Give ping's raw values, five a second, each stamped when its reply came."""
    return [
        {"seq": float(number), "t": BEGIN + 0.2 * (number - 1) + delay / 1e3, "val": delay}
        for number in range(1, last + 1)
        if number not in lost
    ]


def make_rates(
    rate: float, start: float = 5.0, end: float = 15.0, step: float = 0.2
) -> list[dict[str, Any]]:
    """Give netperf's raw values: Mbit/s, each stamped when its interval ended."""
    count = round((end - start) / step)
    return [
        {"dur": step, "t": BEGIN + start + step * (number + 1), "val": rate}
        for number in range(count)
    ]


def make_file(
    raw: dict[str, list[dict[str, Any]]] | None = None, **metadata: Any
) -> dict[str, Any]:
    """Give a file of a test of ten seconds with five idle seconds before and after it."""
    if raw is None:
        raw = {
            "Ping (ms) ICMP": make_pings(100),
            "TCP upload BE": make_rates(4.0),
            "TCP upload BE2": make_rates(6.0),
            "TCP download BE": make_rates(50.0),
        }
    return {
        "version": 4,
        "x_values": [],
        "results": {name: [] for name in raw},
        "raw_values": raw,
        "metadata": {
            "NAME": "rrul_be",
            "FLENT_VERSION": "2.1.1",
            "STEP_SIZE": 0.2,
            "T0": "2017-07-14T02:40:00.000000Z",
            "TITLE": PRIVATE[3],
            "NOTE": f"at {PRIVATE[3]}",
            "LOCAL_HOST": PRIVATE[0],
            "HOST": PRIVATE[1],
            "HOSTS": [PRIVATE[1]],
            "IP_ADDRS": {"wlan0": [PRIVATE[2]]},
            "EGRESS_INFO": {"iface": "wlan0", "src": PRIVATE[2], "ether": PRIVATE[4]},
            "SYSCTLS": {"net.ipv4.tcp_congestion_control": "cubic"},
            "SERIES_META": {name: {"COMMAND": f"netperf -H {PRIVATE[1]}"} for name in raw},
            **metadata,
        },
    }
