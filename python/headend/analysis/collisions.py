"""Flows that a hash has put into one queue of a scheduler, and what that costs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headend.analysis.grading import read_number, write_quantity
from headend.analysis.queues import name_queue_key
from headend.engine.description import list_applications
from headend.text.wording import join_names

if TYPE_CHECKING:
    from headend.results.record import Record

#: Share of a flow's packets that must have joined a queue with others' for that to be told: below,
#: it is no matter of the run.
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


def find_meetings(result: Record, queue: str) -> list[Meeting]:
    """Find the flows that a hash put together in a scheduler's queues for many of their packets."""
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


def tell_meetings(result: Record, queue: str, discipline: str) -> list[str]:
    """Say which flows share a queue inside a scheduler's, and what they and the others get."""
    meetings = find_meetings(result, queue)
    if not meetings:
        return []
    met = {flow for meeting in meetings for flow in meeting.flows}
    told = []
    for meeting in meetings[:MOST_MEETINGS]:
        named = meeting.flows[:MOST_FLOWS]
        who = join_names(named) if len(named) > 1 else f"connections of {named[0]}"
        share = write_quantity(meeting.share, "ratio")
        costs = "; ".join(_tell_costs(result, meeting, met))
        told.append(
            f"A hash put {who} into one queue of {discipline}, for {share} of the packets of"
            f" {named[0]}: they have one share of the line"
            f" together{f', {costs}' if costs else ''}."
        )
    more = len(meetings) - MOST_MEETINGS
    if more > 0:
        told.append(f"So it is in {more} more of its queues.")
    key = name_queue_key(result, queue)
    if key:
        told.append(
            "Another seed puts others together; with --set"
            f" {key}.{discipline}.hash.isolation=perfect nobody meets."
        )
    return told


def _tell_costs(result: Record, meeting: Meeting, met: set[str]) -> list[str]:
    """Say what those that share a queue get, transfers first, and what others of their kind get."""
    import polars as pl

    flows = result.flows.filter(
        pl.col("direction") == meeting.direction, pl.col("carries") == "data"
    )
    own = flows.filter(pl.col("flow").is_in(list(meeting.flows[:MOST_FLOWS])))
    costs = []
    is_greedy = pl.col("application").is_in(list_applications("greedy"))
    for greedy in (True, False):
        members = own.filter(is_greedy == greedy)
        if members.is_empty():
            continue
        column, kind = ("goodput_bps", "rate") if greedy else ("delay_p99_ns", "time")
        told = [
            f"{row['flow']} {write_quantity(value, kind)}"
            for row in members.iter_rows(named=True)
            if (value := read_number(row[column])) is not None
        ]
        if not told:
            continue
        alone = flows.filter(
            pl.col("application").is_in(members["application"].to_list()),
            ~pl.col("flow").is_in(list(met)),
        )[["flow", column]].drop_nans()
        text = join_names(told) + ("" if greedy else " one way at the 99th percentile")
        if not alone.is_empty():
            who = alone["flow"][0] if alone.height == 1 else f"each of {alone.height} others"
            text += f", where {who} alone has {write_quantity(alone[column].mean(), kind)}"
        costs.append(text)
    return costs
