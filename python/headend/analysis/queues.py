"""What the queues of a run did: when one is standing, full or lossy, its delay, loss and key."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from headend.analysis.key_figure import read_number
from headend.engine.columns import TABLES
from headend.results.record import Record, cached_on_record
from headend.scenario.cells import find_cell
from headend.scenario.groups import name_group

#: Share of the time, in which a packet in a queue had waited for more than 50 ms, from which it is
#: called a standing queue.
STANDING_TIME = 0.5

#: The same share, from which it is the trouble of those who suffer.
STOOD_AT_TIMES = 0.05

#: Median delay from which a queue stood while it was used, however seldom that was, ns: what it
#: takes to be called standing.
LONG_WAIT = 50e6

#: Median delay up to which the queue of a full line is short, ns: 15 ms is the longest that a
#: standard's law aims at (PIE, DualPI2), and the median of one that keeps to it swings about that
#: by a third.
SHORT_WAIT = 20e6

#: Share of its rate from which a line is full. A single sender that halves its window uses 75 %
#: with no buffer at all and 100 % with one of a round trip; by that sawtooth 85 % takes 1/7.
FULL = 0.85

#: Share of a queue's packets from which its losses are the trouble, not a sender's search.
LOSSY_SHARE = 0.05

#: Share of its own rate from which a queue waits for nothing else.
OWN_RATE = 0.95

#: From this share of collided contention requests on, collisions explain a long wait: one request
#: in 25 then collides twice in a row, and each collision doubles the backoff.
MANY_COLLIDE = 0.2

#: Columns of what a queue lost. A thinned acknowledgement is no loss, and what the path lost is
#: none of a queue's, though results of older engines count it there.
_LOSSES = tuple(
    column
    for column in TABLES["queues"]
    if column.startswith("discarded_")
    and column not in ("discarded_ack_thinned", "discarded_corrupted")
)

#: The end of the name of a low-latency queue, after that of the classic queue beside it.
LOW_LATENCY = "_low_latency"


def measure_collided(queue: Mapping[str, Any]) -> float:
    """Give the share of a cable upstream queue's contention requests that collided, or 0."""
    requests = queue["requests_contention"]
    return queue["collisions"] / requests if requests else 0.0


def is_low_latency(queue: str) -> bool:
    """Say whether a queue is the low-latency queue of an aggregate.

    Examples
    --------
    >>> is_low_latency("cable.up_low_latency"), is_low_latency("cable.up")
    (True, False)
    """
    return queue.endswith((f".up{LOW_LATENCY}", f".down{LOW_LATENCY}"))


def name_classic(queue: str) -> str:
    """Name the classic queue of a queue's aggregate; the queue itself if it is not low-latency.

    Examples
    --------
    >>> name_classic("cable.home.down_low_latency"), name_classic("cable.up")
    ('cable.home.down', 'cable.up')
    """
    return queue.removesuffix(LOW_LATENCY) if is_low_latency(queue) else queue


def name_pair(queue: str) -> tuple[str, str]:
    """Name the classic and the low-latency queue of the aggregate that a queue is, or would be, in.

    Examples
    --------
    >>> name_pair("cable.up_low_latency")
    ('cable.up', 'cable.up_low_latency')
    """
    classic = name_classic(queue)
    return classic, f"{classic}{LOW_LATENCY}"


@cached_on_record
def weigh_queues(result: Record) -> list[dict[str, Any]]:
    """Give the queues that had packets, with ``median``, ``waited``, ``lost`` and ``lost_ratio``.

    The two queues of an aggregate share one rate: the ``utilisation`` of each is that of both
    together. Of what was offered, every packet left or was lost, on arrival or later.
    """
    shared = _share_rates(result.rows("queues"))
    weighed = []
    for row in result.rows("queues"):
        lost = sum(row[column] for column in _LOSSES)
        if row["packets_enqueued"] + lost <= 0:
            continue
        offered = max(row["packets_dequeued"] + lost, 1)
        weighed.append(
            {
                **row,
                "utilisation": shared.get(row["queue"], row["utilisation"]),
                "lost": lost,
                "median": read_number(row["delay_p50_ns"]) or 0.0,
                "waited": (read_number(row["delay_mean_ns"]) or 0.0) * row["packets_dequeued"],
                "lost_ratio": min(max(lost / offered, 0.0), 1.0),
            }
        )
    return weighed


def _share_rates(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Give both queues of each aggregate the utilisation of what they could carry together."""
    pairs: dict[str, list[Mapping[str, Any]]] = {}
    for low in (row["queue"] for row in rows if is_low_latency(row["queue"])):
        pairs[low] = [row for row in rows if row["queue"] in name_pair(low)]
    shared: dict[str, float] = {}
    for pair in pairs.values():
        capacities = [
            row["rate_bps"] if math.isnan(row["capacity_bps"]) else row["capacity_bps"]
            for row in pair
        ]
        ratios = [read_number(row["utilisation"]) for row in pair]
        if any(ratio is not None for ratio in ratios):
            sent = sum(
                (ratio or 0.0) * capacity
                for ratio, capacity in zip(ratios, capacities, strict=True)
            )
            shared |= {row["queue"]: min(sent / min(capacities), 1.0) for row in pair}
    return shared


def name_queue_key(result: Record, queue: str) -> str | None:
    """Give what stands for a queue in ``--set``: ``queue`` for the bottleneck's, or its key's path.

    A low-latency queue has none: its law is part of its aggregate.
    """
    if is_low_latency(queue):
        return None
    link, _, direction = queue.rpartition(".")
    links = result.manifest["scenario"].get("link", {})
    if queue == result.bottleneck or (
        result.bottleneck is None and list(links) == [link] and direction == "up"
    ):
        return "queue"
    return locate_key(result, queue)


def locate_key(result: Record, queue: str) -> str | None:
    """Give the path of a queue's key in the scenario, where its name tells it."""
    return find_key(result.manifest["scenario"].get("link", {}), queue)


def find_key(links: Mapping[str, Any], queue: str) -> str | None:
    """Give the path of a queue's key, where its name tells it; or of its aggregate's table."""
    if is_low_latency(queue):
        key = find_key(links, name_classic(queue))
        return key.removesuffix("queue") + "low_latency" if key else None
    link, _, direction = queue.rpartition(".")
    if link not in links:
        return _name_end_key(links, link, direction)
    kind = next(iter(links[link]))
    if find_cell(links[link]):
        return f"link.{link}.{kind}.access_point.queue"
    if direction not in ("up", "down"):
        return f"link.{link}.{kind}.service_flow.{direction}.queue"
    return f"link.{link}.{kind}.{direction}{'stream' if kind == 'docsis' else ''}.queue"


def _name_end_key(links: Mapping[str, Any], place: str, direction: str) -> str | None:
    """Give the key of a modem's or station's own queue; others' names do not tell their keys."""
    link, _, end = place.partition(".")
    stem = name_group(end) or end
    line = links.get(link, {})
    if stem in line.get("docsis", {}).get("modem", {}) and direction in ("up", "down"):
        return f"link.{link}.docsis.modem.{stem}.{direction}stream.queue"
    if (cell := find_cell(line)) and stem in cell.stations:
        return f"link.{link}.{cell.kind}.station.{stem}.queue"
    return None
