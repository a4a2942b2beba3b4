"""Contention on a cable upstream: how many requests collide, and what reduces the wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headend.analysis.facts import Action, Remedy, WaitsForGrants
from headend.scenario.parameters import find_value

if TYPE_CHECKING:
    from headend.results.record import Record

#: Keys of a plant for its request opportunities, with the factor that doubles them.
OPPORTUNITIES = {
    "upstream.sc_qam.opportunities": 2.0,
    "upstream.ofdma.frames_per_opportunity": 0.5,
}

#: From this share of collided requests on, there are too many for the opportunities.
MOST_COLLIDE = 0.5


def find_waits_for_grants(result: Record, link: str) -> WaitsForGrants:
    """Give how many requests a link's modems sent in contention, how many collided, what helps."""
    sent, collided = (
        float(
            sum(
                row[column]
                for row in result.rows("queues")
                if row["link"] == link and row["direction"] == "up"
            )
        )
        for column in ("requests_contention", "collisions")
    )
    remedy = _choose_remedy(result, link, is_crowded=collided >= MOST_COLLIDE * sent)
    return WaitsForGrants(link, sent, collided, remedies=(remedy,))


def _choose_remedy(result: Record, link: str, *, is_crowded: bool) -> Remedy:
    """Choose what shortens the wait until a request succeeds.

    More request opportunities shorten it, up to the most that a plant can have. With few
    collisions, modems wait mostly for their own backoff, so a shorter backoff helps. Once most
    requests collide, it only causes more collisions.
    """
    plant, scenario = f"link.{link}.docsis.plant", result.manifest["scenario"]
    for key, factor in OPPORTUNITIES.items():
        value = find_value(scenario, f"{plant}.{key}")
        if value and (more := int(value * factor)):
            return Remedy(Action.MORE_OPPORTUNITIES, link, f"{plant}.{key}", str(more))
    window = f"{plant}.contention"
    start, end = (find_value(scenario, f"{window}.{key}") for key in ("data_start", "data_end"))
    # The largest backoff, moved half way to the first.
    if not is_crowded and None not in (start, end) and (half := (start + end) // 2) < end:
        return Remedy(Action.SHORTER_BACKOFF, link, f"{window}.data_end", str(half))
    return Remedy(Action.FEWER_MODEMS, link)
