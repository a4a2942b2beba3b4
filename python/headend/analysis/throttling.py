"""Senders that had more to send and were slowed down by a queue, while its line stood idle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headend.analysis.queues import FULL, weigh_queues
from headend.engine.description import list_applications, list_discards
from headend.scenario.parameters import read_parameters

if TYPE_CHECKING:
    from headend.results.record import Record

#: Share of the time in which they must have had something under way, for a line's use over all of
#: the time to tell anything.
MOST_OF_THE_TIME = 0.5


@dataclass(frozen=True)
class Throttled:
    """Who was slowed down, and by what.

    Parameters
    ----------
    flows
        The senders.
    by_limit
        Whether most of what slowed them was for want of room, rather than the law of the queue.
    rtt_ns
        The shortest time a packet and its answer took, ns; of several the longest.
    asks_for_grants
        Whether it is the queue of a cable upstream.
    idle_ratio
        Share of the line that was idle while they had something under way.
    """

    flows: tuple[str, ...]
    by_limit: bool
    rtt_ns: float
    asks_for_grants: bool
    idle_ratio: float


def find_throttled(result: Record, queue: str) -> Throttled | None:
    """Find the senders that a queue slowed down while most were under way and the line not full.

    One that sends files is left out: their ends, pauses and beginnings leave a line idle too. Told
    only where all that slowed anybody in the queue's direction happened in this queue: else it is
    not known whose it was.
    """
    import polars as pl

    row = weigh_queues(result).filter(pl.col("queue") == queue).row(0, named=True)
    # What a queue does to slow senders down: for want of room, and because its law says so.
    by_limit, by_law = list_discards("room", "share"), [*list_discards("law"), "marked"]
    way, signals = row["direction"], sum(row[name] for name in (*by_limit, *by_law))
    counted = pl.sum_horizontal(*by_limit, *by_law)
    flows = result.flows.filter(
        (pl.col("direction") == way)
        & (pl.col("carries") == "data")
        & pl.col("application").is_in(list_applications("greedy"))
        # What the path beyond loses slows a sender down without the queue's doing.
        & (counted > pl.col("discarded_corrupted") + pl.col("discarded_retry_limit"))
    )
    ways = result.queues.filter((pl.col("direction") == way) & (pl.col("queue") != queue))
    if not signals or flows.is_empty() or ways.select(counted.sum()).item():
        return None
    names = [name for name in flows["flow"].to_list() if not _sends_files(result, name)]
    share = _measure_time_under_way(result, names)
    if share < MOST_OF_THE_TIME or row["utilisation"] / share > FULL:
        return None
    trips = (
        result.flows.filter(pl.col("flow").is_in(names))
        .group_by("flow")
        .agg(pl.col("delay_min_ns").fill_nan(0).sum())
    )
    scenario = result.manifest["scenario"].get("link", {})
    return Throttled(
        flows=tuple(names),
        by_limit=sum(row[name] for name in by_limit) > signals / 2,
        rtt_ns=float(trips["delay_min_ns"].max() or 0.0),  # type: ignore[arg-type]
        asks_for_grants=way == "up" and "docsis" in scenario.get(row["link"].split(".")[0], {}),
        idle_ratio=1 - row["utilisation"] / share,
    )


def _sends_files(result: Record, flow: str) -> bool:
    """Say whether a flow sends files, and is not one transfer that never ends."""
    return "size" in read_parameters(result.manifest["scenario"], flow, "bulk")


def _measure_time_under_way(result: Record, flows: list[str]) -> float:
    """Give the share of the measured time in which some of these flows had data under way."""
    import polars as pl

    warmup = result.manifest.get("warmup_ns", 0)
    rows = result.connection_series.filter(
        (pl.col("time_ns") > warmup) & (pl.col("in_flight_bytes") > 0) & pl.col("flow").is_in(flows)
    )
    times = result.queue_series.filter(pl.col("time_ns") > warmup)["time_ns"].n_unique()
    return rows["time_ns"].n_unique() / times if times else 0.0
