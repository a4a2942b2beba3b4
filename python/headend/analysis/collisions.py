"""Flows that a hash has put into one queue of a scheduler, and what that costs them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headend.engine.description import list_applications

if TYPE_CHECKING:
    from headend.results.record import Record

#: Share of a flow's packets that must have joined a queue with others' for that to be told: below,
#: it is no matter of the run.
MET = 0.1

#: Flows named of each meeting.
MOST_FLOWS = 4


@dataclass(frozen=True)
class Cost:
    """What flows of one kind get that share a hashed queue, and what others of their kind get.

    Parameters
    ----------
    is_rate
        Whether it is the goodput in bit/s of transfers; else the 99th percentile of the one-way
        delay in ns.
    values
        By flow.
    others
        The flows of their kind that share no queue.
    others_mean
        Their mean; None where there are none.
    """

    is_rate: bool
    values: Mapping[str, float]
    others: tuple[str, ...]
    others_mean: float | None


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
    costs: tuple[Cost, ...] = ()


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
    sharing = {flow for meeting in meetings for flow in meeting.flows}
    return [replace(one, costs=tuple(_find_costs(result, one, sharing))) for one in meetings]


def _find_costs(result: Record, meeting: Meeting, met: set[str]) -> Iterator[Cost]:
    """Find what those get that share a queue, transfers first."""
    import polars as pl

    flows = result.flows.filter(
        pl.col("direction") == meeting.direction, pl.col("carries") == "data"
    )
    own = flows.filter(pl.col("flow").is_in(list(meeting.flows[:MOST_FLOWS])))
    is_greedy = pl.col("application").is_in(list_applications("greedy"))
    for is_rate, column in ((True, "goodput_bps"), (False, "delay_p99_ns")):
        members = own.filter(is_greedy == is_rate)
        values = dict(members.select("flow", column).drop_nulls().drop_nans().iter_rows())
        if not values:
            continue
        alone = flows.filter(
            pl.col("application").is_in(members["application"].to_list()),
            ~pl.col("flow").is_in(list(met)),
        )[["flow", column]].drop_nans()
        mean = None if alone.is_empty() else float(alone[column].mean())  # type: ignore[arg-type]
        yield Cost(is_rate, values, tuple(alone["flow"]), mean)
