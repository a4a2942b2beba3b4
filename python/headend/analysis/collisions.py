"""Flows that a hash has put into one queue of a scheduler, and what that costs them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

from headend.analysis.key_figure import read_number
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
    met: dict[tuple[int, str], list[tuple[float, str]]] = {}
    sent = {(row["flow"], row["direction"]): row["packets_sent"] for row in result.rows("flows")}
    for row in result.rows("collisions"):
        key = (row["flow"], row["direction"])
        if row["queue"] == queue and key in sent:
            share = row["packets"] / max(sent[key], 1)
            met.setdefault((row["backlog"], row["direction"]), []).append((-share, row["flow"]))
    meetings = []
    # Those first whose packets met others' most.
    for (_, direction), own in sorted(met.items(), key=lambda item: min(item[1])):
        own.sort()
        most = -own[0][0]
        if most < MET:
            continue
        mainly = [flow for share, flow in own if -share >= MET]
        # Whoever is hardly there himself is still the one that somebody else meets.
        named = mainly if len(mainly) > 1 else [flow for _, flow in own[:2]]
        meetings.append(Meeting(tuple(named), direction, min(most, 1.0)))
    sharing = {flow for meeting in meetings for flow in meeting.flows}
    return [replace(one, costs=tuple(_find_costs(result, one, sharing))) for one in meetings]


def _find_costs(result: Record, meeting: Meeting, met: set[str]) -> Iterator[Cost]:
    """Find what those get that share a queue, transfers first."""
    flows = [
        row
        for row in result.rows("flows")
        if row["direction"] == meeting.direction and row["carries"] == "data"
    ]
    named, greedy = meeting.flows[:MOST_FLOWS], list_applications("greedy")
    for is_rate, column in ((True, "goodput_bps"), (False, "delay_p99_ns")):
        members = [
            row
            for row in flows
            if row["flow"] in named and (row["application"] in greedy) == is_rate
        ]
        values = _read_by_flow(members, column)
        if not values:
            continue
        kinds = {row["application"] for row in members}
        alone = _read_by_flow(
            (row for row in flows if row["application"] in kinds and row["flow"] not in met), column
        )
        yield Cost(is_rate, values, tuple(alone), fmean(alone.values()) if alone else None)


def _read_by_flow(rows: Iterable[Mapping[str, Any]], column: str) -> dict[str, float]:
    """Give a column's numbers by flow, of those for which it was measured."""
    numbers = {row["flow"]: read_number(row[column]) for row in rows}
    return {flow: number for flow, number in numbers.items() if number is not None}
