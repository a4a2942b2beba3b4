"""A router in front of a modem: its rate decides in which of the two packets wait."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headend.analysis.facts import Action, Remedy
from headend.analysis.queue_state import QueueState
from headend.engine.description import find_queue
from headend.results.record import Record
from headend.scenario.parameters import find_value, name_choice
from headend.text.quantity import format_quantity, parse_quantity

#: Share of the modem's rate that a router is set to, so that packets wait in the router.
ROUTER_SHARE = 0.9


def find_router(record: Record, queue: QueueState) -> Remedy | None:
    """Propose a rate below the queue's for the link before it that has a law, and no lower rate.

    A packet of a flow meets links in the order of its host's ``via``: upstream the first before the
    second.
    """
    scenario, link = record.manifest["scenario"], queue.link.split(".")[0]
    for host in scenario.get("host", {}).values():
        via = [place.split(".")[0] for place in host.get("via", ())]
        if queue.direction != "up" or link not in via or via.index(link) == 0:
            continue
        router = via[via.index(link) - 1]
        path = f"link.{router}.point_to_point.up"
        name = name_choice(find_value(scenario, f"{path}.queue"))
        limits = _list_limits(scenario, path, name)
        if not name or find_queue(name).governor in ("bound", "nothing") or not limits:
            continue
        lowest = min(limits, key=lambda key: limits[key])
        goal = ROUTER_SHARE * queue.rate_bps
        if limits[lowest] > goal:
            value = format_quantity(round(goal, -3), "rate").replace("\N{NO-BREAK SPACE}", " ")
            return Remedy(Action.LOWER_RATE, router, lowest, value, queue)
    return None


def _list_limits(scenario: Mapping[str, Any], path: str, name: str) -> dict[str, float]:
    """List what limits a direction of a plain link, in bit/s, by key: line, shaper, CAKE's rate."""
    keys = (f"{path}.rate", f"{path}.shaper.rate", f"{path}.queue.{name}.rate")
    rates = {key: find_value(scenario, key) for key in keys}
    return {
        key: parse_quantity(rate, "rate").value
        for key, rate in rates.items()
        if isinstance(rate, str) and rate != "unlimited"
    }
