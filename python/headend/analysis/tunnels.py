"""Flows of one tunnel, which a queue for each flow takes for one."""

from __future__ import annotations

from headend.analysis import facts
from headend.analysis.facts import Action, Remedy
from headend.analysis.queue_state import QueueState
from headend.engine.description import find_queue
from headend.results.record import Record
from headend.scenario.groups import name_group


def find_tunnel(record: Record, queue: QueueState, flow: str) -> facts.SharedTunnel | None:
    """Find that a flow shares a tunnel with others in a flow queue."""
    if not find_queue(queue.discipline).lets_pass:
        return None
    flows = record.manifest["scenario"].get("flow", {})
    name = flow if flow in flows else name_group(flow) or ""
    tunnel = flows.get(name, {}).get("tunnel")
    if not tunnel:
        return None
    others = tuple(
        other for other, own in flows.items() if other != name and own.get("tunnel") == tunnel
    )
    remedy = Remedy(Action.LEAVE_TUNNEL, flow)
    if not others:
        return None
    return facts.SharedTunnel(flow, tunnel, others, queue.discipline, remedies=(remedy,))
