"""Modems that ask for a burst, and again once it is granted: what that leaves of their rate.

Before continuous concatenation (DOCSIS 3.0) a modem has one request outstanding, for one packet or
for the few that its largest burst holds (docs/models/docsis.md). However much waits, it sends that
much in each time from request to grant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from headend.analysis.queues import FULL, MANY_COLLIDE, measure_collided
from headend.results.record import Record
from headend.scenario.parameters import find_value

#: Share of the time from which packets wait in a queue all the time (headend's bound).
_ALWAYS = 0.9


@dataclass(frozen=True)
class RequestLimit:
    """What the requests of a queue allow while packets wait in it.

    Parameters
    ----------
    queue
        The queue's name.
    packets
        Packets that a grant carries, on average.
    interval_ns
        Time from one grant to the next, ns.
    rate_bps
        What it sends so, as its line counts bytes, bit/s.
    """

    queue: str
    packets: float
    interval_ns: float
    rate_bps: float


def find_request_limit(record: Record, queues: Iterable[Mapping[str, Any]]) -> RequestLimit | None:
    """Find an upstream queue on a flow's way that its requests hold back, not its rate.

    Parameters
    ----------
    queues
        The queues on the way, as rows of their table.
    """
    seconds = (record.manifest["simulated_ns"] - record.manifest.get("warmup_ns", 0)) / 1e9
    for row in queues:
        if not row["grants"]:
            continue
        line = find_value(record.manifest["scenario"], f"link.{row['link']}.docsis")
        if find_value(line, "plant.mac.continuous") is not False:
            continue
        # While packets wait all the time, nothing but requests keeps it from its rate.
        collides = measure_collided(row) > MANY_COLLIDE
        if row["standing_ratio"] > _ALWAYS and row["utilisation"] <= FULL and not collides:
            return RequestLimit(
                queue=row["queue"],
                packets=row["packets_dequeued"] / row["grants"],
                interval_ns=seconds * 1e9 / row["grants"],
                rate_bps=row["bytes_dequeued"] * 8 / seconds,
            )
    return None
