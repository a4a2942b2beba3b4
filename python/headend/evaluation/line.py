"""The line of every case: one bottleneck downstream, and ten times its rate upstream.

Paths have a jitter of one packet's time at the bottleneck. Without it, flows that lose packets when
a drop-tail queue overflows do so in a phase that never changes: at 10 Mbit/s and 20 ms, a NewReno
flow then loses three times as many packets as the CUBIC flow beside it. Floyd and Jacobson, "On
Traffic Phase Effects in Packet-Switched Gateways" (1992), found that a random time of up to a
packet's time at the bottleneck, which hosts have, removes such effects.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headend.evaluation.case import Bottleneck, Scenario

#: Bytes of a full packet.
PACKET = 1500

#: A buffer has room for so many packets at least.
_LEAST_PACKETS = 4

#: The name of the bottleneck's queue.
QUEUE = "line.down"

#: How many times the bottleneck's rate the way back has, so that acknowledgements never wait.
BACK = 10


def size_buffer(bottleneck: Bottleneck, rtt: float | None = None) -> int:
    """Give the bytes of a bottleneck's buffer, by its own round trip or a longer one in ns."""
    bdp = bottleneck.bdp if rtt is None else bottleneck.bdp * rtt / bottleneck.rtt
    return max(round(bdp * bottleneck.buffer), _LEAST_PACKETS * PACKET)


def find_packet_time(bottleneck: Bottleneck) -> float:
    """Give how long a full packet takes at a bottleneck, in ns."""
    return PACKET * 8 / bottleneck.rate * 1e9


def count_flows(bottleneck: Bottleneck, factor: float) -> int:
    """Count the flows of a congestion level: RFC 7928 §8.2.2 to §8.2.4, ROUND(factor × S).

    S is the bandwidth-delay product and the buffer, in packets.

    Examples
    --------
    >>> [count_flows(Bottleneck(10e6, 100e6, 1), own) for own in (0.036, 0.081, 0.114)]
    [6, 14, 19]
    """
    packets = (bottleneck.bdp + size_buffer(bottleneck)) / PACKET
    return max(round(factor * packets), 1)


def make_line(
    bottleneck: Bottleneck,
    flows: Mapping[str, Any],
    *,
    duration: float = 60,
    warmup: float = 20,
    rtt: float | None = None,
    **more: Any,
) -> Scenario:
    """Make a scenario of some flows over the line.

    Parameters
    ----------
    bottleneck
        The bottleneck.
    flows
        By name; each goes down and has the bottleneck's round trip unless it says otherwise.
    duration, warmup
        In seconds.
    rtt
        The round trip by which the buffer is sized, in ns; by default the bottleneck's own.
    more
        Further tables of the scenario.
    """
    table = {
        "duration": f"{duration:g} s",
        "warmup": f"{warmup:g} s",
        "bottleneck": QUEUE,
        "link": {
            "line": {"point_to_point": make_direction(bottleneck, size_buffer(bottleneck, rtt))}
        },
        "flow": {
            name: {
                "direction": "down",
                "rtt": write_time(bottleneck.rtt),
                **flow,
                "path": {
                    "jitter": write_time(find_packet_time(bottleneck)),
                    **flow.get("path", {}),
                },
            }
            for name, flow in flows.items()
        },
    }
    return {**table, **more}


def make_direction(bottleneck: Bottleneck, limit: int) -> Scenario:
    """Make a plain link of a bottleneck's rate downstream, with drop-tail of a limit in bytes."""
    return {
        "up": {"rate": write_rate(BACK * bottleneck.rate)},
        "down": {
            "rate": write_rate(bottleneck.rate),
            "queue": {"drop_tail": {"limit": f"{limit} B"}},
        },
    }


def vary_rate(scenario: Scenario, steps: list[tuple[float, float]], period: float = 0) -> Scenario:
    """Let the bottleneck's rate vary: ``steps`` of seconds and bit/s, repeated after a period."""
    rate: dict[str, Any] = {"steps": [[f"{at:g} s", write_rate(own)] for at, own in steps]}
    if period:
        rate["period"] = f"{period:g} s"
    scenario["link"]["line"]["point_to_point"]["down"]["rate"] = rate
    return scenario


def write_rate(rate: float) -> str:
    """Write a rate exactly."""
    return f"{rate:.0f} bit/s"


def write_time(nanoseconds: float) -> str:
    """Write a time exactly."""
    return f"{nanoseconds:.0f} ns"
