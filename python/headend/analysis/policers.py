"""A policer that drops what exceeds its rate and burst, and what a flow gets through it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headend.analysis.facts import Action, Policed, Remedy
from headend.engine.description import list_discards
from headend.results.record import Record
from headend.scenario.parameters import find_value
from headend.text.quantity import format_quantity, parse_quantity

#: Utilisation of a policer from which it lets its rate through.
NEARLY_ITS_RATE = 0.9

#: Time at the policer's rate that a burst is proposed for, s: some of most paths' round trips.
PROPOSED_S = 0.1


def find_policed(record: Record, flow: str = "") -> Policed | None:
    """Find the policer that dropped most of what a flow, or any flow, lost.

    Parameters
    ----------
    flow
        The name of the flow; empty for any.
    """
    (policed,) = list_discards("policer")
    hit = [
        row
        for row in record.rows("flows")
        if flow in ("", row["flow"])
        and row["carries"] == "data"
        and row[policed] > sum(row[name] for name in list_discards()) / 2
    ]
    directions = {row["direction"] for row in hit}
    queues = [
        row for row in record.rows("queues") if row[policed] and row["direction"] in directions
    ]
    if not queues:
        return None
    worst = max(queues, key=lambda row: row[policed])
    path = f"link.{worst['link']}.point_to_point.{worst['direction']}.policer"
    limit = find_value(record.manifest["scenario"], path)
    hit = [row for row in hit if row["direction"] == worst["direction"]]
    is_tcps = all(row["transport"] == "tcp" for row in hit)
    is_short = is_tcps and worst["utilisation"] < NEARLY_ITS_RATE
    return Policed(
        queue=worst["queue"],
        rate=limit["rate"],
        burst=limit["burst"],
        lost_ratio=worst[policed] / (worst[policed] + worst["packets_enqueued"]),
        utilisation=worst["utilisation"],
        is_tcps=is_tcps,
        remedies=(_raise_burst(worst["queue"], path, limit),) if is_short else (),
    )


def _raise_burst(queue: str, path: str, limit: Mapping[str, Any]) -> Remedy:
    """Propose a burst of some round trips, where that is more than what there is."""
    rate, burst = parse_quantity(limit["rate"], "rate"), parse_quantity(limit["burst"], "size")
    goal = round(rate.value * PROPOSED_S / 8, -3)
    value = format_quantity(goal, "size").replace("\N{NO-BREAK SPACE}", " ")
    more = goal > burst.value
    return Remedy(Action.RAISE_BURST, queue, f"{path}.burst" if more else "", value if more else "")
