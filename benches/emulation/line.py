"""Scenarios with two real hosts: a laptop behind one line, and a server beyond it."""

from __future__ import annotations

#: Bytes of a full TCP segment with timestamps: its payload, as an IP packet, and as a MAC PDU on a
#: cable line.
PAYLOAD, PACKET, MAC_PDU = 1448, 1500, 1518

HOSTS = """
[host.laptop]
via = ["line"]
real = true

[host.server]
address = "198.51.100.10"
rtt = "{rtt}"
real = true
"""


def write_plain(
    up: str,
    down: str = "1 Gbit/s",
    *,
    rtt: str = "20 ms",
    queue: str = 'drop_tail.limit = "250 ms"',
    more: str = "",
) -> str:
    """Give a plain link.

    Parameters
    ----------
    up, down
        Its rates, such as ``"10 Mbit/s"``.
    rtt
        Round-trip time of the wide area.
    queue
        The queue of either direction, as keys of it: ``'fq_codel = {}'``.
    more
        Further tables of the scenario, such as neighbours.
    """
    return f"""format = 1
title = "A plain line"
bottleneck = "line.up"

[link.line.point_to_point.up]
rate = "{up}"
queue.{queue}

[link.line.point_to_point.down]
rate = "{down}"
queue.{queue}
{HOSTS.format(rtt=rtt)}{more}"""


def write_cable(
    up: str, down: str, *, rtt: str = "20 ms", queue: str = "docsis_pie = {}", more: str = ""
) -> str:
    """Give a DOCSIS 3.1 line; ``queue`` is upstream, downstream is 250 ms of drop-tail."""
    return f"""format = 1
title = "A cable line"
bottleneck = "line.up"

[link.line.docsis]
preset = "docsis31"
upstream.rate = "{up}"
upstream.queue.{queue}
downstream.rate = "{down}"
downstream.queue.drop_tail.limit = "250 ms"
{HOSTS.format(rtt=rtt)}{more}"""
