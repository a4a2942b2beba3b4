"""A router in front of a modem: its rate decides in which of the two packets wait."""

from __future__ import annotations

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
        rate = find_value(scenario, f"{path}.rate")
        if (
            not name
            or find_queue(name).governor in ("bound", "nothing")
            or not isinstance(rate, str)
        ):
            continue
        goal = ROUTER_SHARE * queue.rate_bps
        if parse_quantity(rate, "rate").value > goal:
            value = format_quantity(round(goal, -3), "rate").replace("\N{NO-BREAK SPACE}", " ")
            return Remedy(Action.LOWER_RATE, router, f"{path}.rate", value, queue)
    return None
