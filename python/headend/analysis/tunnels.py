"""Flows of one tunnel, which a queue for each flow takes for one."""

from __future__ import annotations

from headend.analysis import facts
from headend.analysis.facts import Action, Remedy
from headend.analysis.quality import FlowQuality
from headend.analysis.queue_state import QueueState
from headend.engine.description import find_queue
from headend.results.record import Record
from headend.scenario.groups import name_group


def find_tunnel(record: Record, queue: QueueState, worst: FlowQuality) -> facts.SharedTunnel | None:
    """Find that the flow that suffers most shares a tunnel with others in a flow queue."""
    if not find_queue(queue.discipline).lets_pass:
        return None
    flows = record.manifest["scenario"].get("flow", {})
    name = worst.flow if worst.flow in flows else name_group(worst.flow) or ""
    tunnel = flows.get(name, {}).get("tunnel")
    if not tunnel:
        return None
    others = tuple(
        other for other, flow in flows.items() if other != name and flow.get("tunnel") == tunnel
    )
    remedy = Remedy(Action.LEAVE_TUNNEL, worst.flow)
    if not others:
        return None
    return facts.SharedTunnel(worst.flow, tunnel, others, queue.discipline, remedies=(remedy,))
