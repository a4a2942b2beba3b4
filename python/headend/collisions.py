"""Flows that a hash has put into one queue of a scheduler, and what that costs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headend.bottleneck import name_queue_key
from headend.grading import read_number, write_quantity
from headend.throttling import GREEDY
from headend.wording import join_names

if TYPE_CHECKING:
    import polars as pl

    from headend.result import Result

#: Share of a flow's packets that must have joined a queue with others' for that to be told: below, it is no matter of the run.
MET = 0.1

#: Meetings told of, and flows named of each.
MOST_MEETINGS = 2
MOST_FLOWS = 4


@dataclass(frozen=True)
class Meeting:
    """Flows of one direction that shared a hashed queue.

    Parameters
    ----------
    flows
        Their names, those first whose packets did so most.
    share
        Share of the first one's packets that joined the queue while it held several flows.
    """

    flows: tuple[str, ...]
    direction: str
    share: float


def find_meetings(result: Result, queue: str) -> list[Meeting]:
    """Find the flows that a hash put together in the queues of a scheduler, for a good part of their packets."""
    import polars as pl

    rows = (
        result.collisions.filter(pl.col("queue") == queue)
        .join(result.flows.select("flow", "direction", "packets_sent"), on=["flow", "direction"])
        .with_columns(share=pl.col("packets") / pl.col("packets_sent").clip(1))
        .sort("share", "flow", descending=[True, False])
    )
    meetings = []
    for (_, direction), met in rows.group_by("backlog", "direction", maintain_order=True):
        share = float(met["share"][0])
        if share < MET:
            continue
        mainly = met.filter(pl.col("share") >= MET)
        # Whoever is hardly there himself is still the one that somebody else meets.
        named = mainly if mainly.height > 1 else met.head(2)
        meetings.append(Meeting(tuple(named["flow"].to_list()), str(direction), min(share, 1.0)))
    return meetings


def tell_meetings(result: Result, queue: str, discipline: str) -> list[str]:
    """Say which flows share a queue inside a scheduler's, what they have there, and what others have that are alone."""
    meetings = find_meetings(result, queue)
    if not meetings:
        return []
    met = {flow for meeting in meetings for flow in meeting.flows}
    told = []
    for meeting in meetings[:MOST_MEETINGS]:
        share = write_quantity(meeting.share, "ratio")
        if len(meeting.flows) == 1:
            who = f"connections of {meeting.flows[0]}"
        else:
            who = join_names(meeting.flows[:MOST_FLOWS])
        costs = "; ".join(
            cost for flow in meeting.flows[:MOST_FLOWS] if (cost := _tell_cost(result, flow, meeting, met))
        )
        told.append(
            f"A hash put {who} into one queue of {discipline}'s, where {share} of the packets of"
            f" {meeting.flows[0]} joined those of others: they share one turn{': ' if costs else ''}{costs}."
        )
    more = len(meetings) - MOST_MEETINGS
    if more > 0:
        told.append(f"So it is in {more} more of its queues.")
    key = name_queue_key(result, queue)
    if key:
        told.append(
            f"Another seed puts others together; --set {key}.{discipline}.hash.isolation=perfect nobody."
        )
    return told


def _tell_cost(result: Result, flow: str, meeting: Meeting, met: set[str]) -> str:
    """Say what a flow gets that shares a queue, and what those of its kind get that do not."""
    import polars as pl

    kind = result.flows.filter(pl.col("direction") == meeting.direction, pl.col("carries") == "data")
    own = kind.filter(pl.col("flow") == flow)
    if own.is_empty():
        return ""
    row = own.row(0, named=True)
    alone = kind.filter(
        pl.col("application") == row["application"], ~pl.col("flow").is_in(list(met))
    )
    if row["application"] in GREEDY:
        return _compare(flow, alone, "goodput_bps", row["goodput_bps"], "rate", "has")
    return _compare(flow, alone, "delay_p99_ns", row["delay_p99_ns"], "time", "takes")


def _compare(
    flow: str, alone: pl.DataFrame, column: str, own: float, kind: str, verb: str
) -> str:
    """Write a flow's figure beside the mean of those who are alone."""
    value = read_number(own)
    if value is None:
        return ""
    what = "" if kind == "rate" else " one way at the 99th percentile"
    text = f"{flow} {verb} {write_quantity(value, kind)}{what}"
    mean = read_number(alone[column].drop_nans().mean()) if not alone.is_empty() else None
    if mean is None:
        return text
    who = alone["flow"][0] if alone.height == 1 else f"each of {alone.height} alike"
    return f"{text}, {who} alone {write_quantity(mean, kind)}"
