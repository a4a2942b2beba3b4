"""Contention on a cable upstream: how many requests collide, and what reduces the wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headend.analysis.grading import write_quantity
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


def measure_contention(result: Record, link: str) -> tuple[float, float]:
    """Give how many requests a link's modems sent in contention, and how many of them collided."""
    import polars as pl

    rows = result.queues.filter((pl.col("link") == link) & (pl.col("direction") == "up"))
    return float(rows["requests_contention"].sum()), float(rows["collisions"].sum())


def tell_contention(result: Record, link: str) -> str:
    """Say how many of a link's requests collide: ``46 % of the modems' requests collide``."""
    sent, collided = measure_contention(result, link)
    share = write_quantity(round(collided / sent, 2) if sent else 0.0, "ratio")
    return f"{share} of the modems' requests collide"


def count_contention(result: Record, link: str) -> str:
    """Give both counts in a sentence that also says what a modem does after a collision."""
    sent, collided = measure_contention(result, link)
    return (
        f"Of {write_quantity(round(sent), 'number')} requests that the modems of {link} sent in"
        f" contention, {write_quantity(round(collided), 'number')} collided: after each collision a"
        " modem waits longer before it sends another request."
    )


def advise_on_contention(result: Record, link: str) -> str:
    """Say in one short sentence how to shorten the wait until a request succeeds.

    More request opportunities shorten it, up to the most that a plant can have. With few
    collisions, modems wait mostly for their own backoff, so a shorter backoff helps. Once most
    requests collide, it only causes more collisions.
    """
    more = _name_opportunities(result, link)
    if more:
        return f"More request opportunities shorten that wait: try `--set {more}`."
    shorter = _name_backoff(result, link)
    sent, collided = measure_contention(result, link)
    if shorter and collided < MOST_COLLIDE * sent:
        return f"A backoff that grows less shortens that wait: try `--set {shorter}`."
    return (
        "Fewer modems on the channel, or grants without requests (UGS), leave room for the others'"
        " requests."
    )


def _name_opportunities(result: Record, link: str) -> str:
    """Name the setting with twice the request opportunities; empty where there cannot be more."""
    plant, scenario = f"link.{link}.docsis.plant", result.manifest["scenario"]
    for key, factor in OPPORTUNITIES.items():
        value = find_value(scenario, f"{plant}.{key}")
        if value and int(value * factor):
            return f"{plant}.{key}={int(value * factor)}"
    return ""


def _name_backoff(result: Record, link: str) -> str:
    """Name the setting that moves the largest backoff half way to the first; empty if equal."""
    own, scenario = f"link.{link}.docsis.plant.contention", result.manifest["scenario"]
    start, end = (find_value(scenario, f"{own}.{key}") for key in ("data_start", "data_end"))
    if start is None or end is None or (start + end) // 2 >= end:
        return ""
    return f"{own}.data_end={(start + end) // 2}"
