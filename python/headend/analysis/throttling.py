"""Senders that had more to send and were slowed down by a queue, while its line stood idle."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from headend.analysis.channels import gather_cells
from headend.analysis.key_figure import read_number
from headend.analysis.queues import FULL, weigh_queues
from headend.engine.description import list_applications, list_discards
from headend.results.record import Record, cached_on_record
from headend.scenario.parameters import read_parameters

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
        Share of the line that was idle while they had something under way; of a cell, share of the
        time in which no station had a frame to send.
    is_cell
        Whether the line is the air of a cell.
    """

    flows: tuple[str, ...]
    by_limit: bool
    rtt_ns: float
    asks_for_grants: bool
    idle_ratio: float
    is_cell: bool = False


def find_throttled(result: Record, queue: str) -> Throttled | None:
    """Find the senders that a queue slowed down while most were under way and the line not full.

    A flow that sends files is left out: their ends, pauses and beginnings leave a line idle too.
    None where any other queue of the direction slowed senders down as well: which queue left the
    line idle is then not known.
    """
    judged = next(row for row in weigh_queues(result) if row["queue"] == queue)
    # What a queue does to slow senders down: for want of room, and because its law says so.
    by_limit, by_law = list_discards("room", "share"), [*list_discards("law"), "marked"]
    direction = judged["direction"]

    def count(row: Mapping[str, Any]) -> int:
        return sum(row[name] for name in (*by_limit, *by_law))

    signals = count(judged)
    flows = [
        row
        for row in result.rows("flows")
        if row["direction"] == direction
        and row["carries"] == "data"
        and row["application"] in list_applications("greedy")
        # What the path beyond loses slows a sender down without the queue's doing.
        and count(row) > row["discarded_corrupted"] + row["discarded_retry_limit"]
    ]
    signals_elsewhere = sum(
        count(row)
        for row in result.rows("queues")
        if row["direction"] == direction and row["queue"] != queue
    )
    if not signals or not flows or signals_elsewhere:
        return None
    names = [row["flow"] for row in flows if not _sends_files(result, row["flow"])]
    share = measure_time_under_way(result, names)
    # The bits of a cell's queue do not say how much of the air its frames took.
    cells = (state.full_ratio for state in gather_cells(result) if state.link == judged["link"])
    busy = next(cells, None)
    used = judged["utilisation"] if busy is None else busy
    if share < MOST_OF_THE_TIME or used / share > FULL:
        return None
    trips = dict.fromkeys(names, 0.0)
    for row in result.rows("flows"):
        if row["flow"] in trips:
            trips[row["flow"]] += read_number(row["delay_min_ns"]) or 0.0
    scenario = result.manifest["scenario"].get("link", {})
    return Throttled(
        flows=tuple(names),
        by_limit=sum(judged[name] for name in by_limit) > signals / 2,
        rtt_ns=max(trips.values(), default=0.0),
        asks_for_grants=direction == "up"
        and "docsis" in scenario.get(judged["link"].split(".")[0], {}),
        idle_ratio=1 - used / share,
        is_cell=busy is not None,
    )


def _sends_files(result: Record, flow: str) -> bool:
    """Say whether a flow sends files, and is not one transfer that never ends."""
    return "size" in read_parameters(result.manifest["scenario"], flow, "bulk")


def measure_time_under_way(result: Record, flows: Collection[str]) -> float:
    """Give the share of the measured time in which some of these flows had data under way."""
    times, by_flow = _gather_times_under_way(result)
    under_way = set[int]().union(*(by_flow.get(flow, ()) for flow in flows))
    return len(under_way) / times if times else 0.0


@cached_on_record
def _gather_times_under_way(result: Record) -> tuple[int, dict[str, set[int]]]:
    """Count the times of measured samples, and give those at which each flow had data under way."""
    warmup = result.manifest.get("warmup_ns", 0)
    rows = result.lists("connection_series")
    columns = (rows[name] for name in ("time_ns", "flow", "in_flight_bytes"))
    by_flow: dict[str, set[int]] = {}
    for time, flow, in_flight in zip(*columns, strict=True):
        if time > warmup and in_flight > 0:
            by_flow.setdefault(flow, set()).add(time)
    times = {time for time in result.lists("queue_series")["time_ns"] if time > warmup}
    return len(times), by_flow
