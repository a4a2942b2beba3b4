"""A direction that is full of acknowledgements: whose they are, and what helps there (RFC 3449)."""

from __future__ import annotations

from headend.analysis import facts
from headend.analysis.facts import Action, Remedy
from headend.analysis.queue_state import QueueState
from headend.analysis.queues import FULL, STANDING_TIME, locate_key
from headend.results.record import Record

#: Share of the bytes of a direction from which it is full of acknowledgements.
MOSTLY_ACKS = 0.8


def find_acks(record: Record, queue: QueueState) -> facts.AcksFill | None:
    """Find that a queue stands or its line is full, and that it is acknowledgements nearly all."""
    if queue.standing_ratio <= STANDING_TIME and (queue.utilisation or 0.0) <= FULL:
        return None
    rows = [row for row in record.rows("flows") if row["direction"] == queue.direction]
    total = sum(row["throughput_bps"] for row in rows)
    acks = {
        row["flow"]: row["throughput_bps"]
        for row in rows
        if row["carries"] == "control" and row["transport"] == "tcp"
    }
    if not total or sum(acks.values()) < MOSTLY_ACKS * total:
        return None
    flows = sorted(acks, key=lambda flow: -acks[flow])
    return facts.AcksFill(
        queue,
        sum(acks.values()) / total,
        tuple(flow for flow in flows if acks[flow]),
        remedies=(_choose_remedy(record, queue),),
    )


def _choose_remedy(record: Record, queue: QueueState) -> Remedy:
    """Choose what leaves acknowledgements out: the modem, where it can, else a flow queue."""
    links = record.manifest["scenario"].get("link", {})
    key = locate_key(record, queue.queue) or ""
    if queue.direction == "up" and "docsis" in links.get(queue.link.split(".")[0], {}):
        path = f"{key.removesuffix('queue')}ack_acceleration" if key else ""
        return Remedy(Action.THIN_ACKS, queue.queue, path, "thinned", queue)
    return Remedy(Action.THIN_ACKS, queue.queue, key, "fq_codel" if key else "", queue)
