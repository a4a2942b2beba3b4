"""Which queue a run is about: the one that did the harm; and the others."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headend.analysis.causes import find_causes
from headend.analysis.quality import FlowQuality, judge_flows
from headend.analysis.queues import (
    LONG_WAIT,
    LOSSY_SHARE,
    SHORT_WAIT,
    STANDING_TIME,
    STOOD_AT_TIMES,
    find_key,
    weigh_queues,
)
from headend.analysis.routes import list_queues
from headend.results.record import Record, cached_on_record
from headend.scenario.groups import find_groups, label_member, name_group, order_naturally
from headend.scenario.parameters import find_value
from headend.text.quantity import format_quantity

#: Queues that did one kind of harm, and the column that says which did most of it.
_Harm = tuple[list[dict[str, Any]], str]

#: Of so many rates in a group, each has rows of its own; of more, the group is one.
MOST_TIERS = 6


@dataclass(frozen=True)
class QueueGroup:
    """A queue, or all queues of a group as one.

    Parameters
    ----------
    label
        What to call it: ``cable.up``, or ``cable.home.*.up ×100``.
    rows
        What the table of queues has on each, the one where packets wait longest first.
    """

    label: str
    rows: tuple[dict[str, Any], ...]

    @property
    def is_group(self) -> bool:
        """Whether it stands for several queues."""
        return len(self.rows) > 1

    @property
    def worst(self) -> dict[str, Any]:
        """The queue where packets wait longest."""
        return self.rows[0]

    @property
    def middle(self) -> dict[str, Any]:
        """The queue in the middle of all by median delay; of two, the one with the longer wait."""
        return self.rows[(len(self.rows) - 1) // 2]

    @property
    def discipline(self) -> str:
        """The discipline, or how many there are."""
        names = {row["discipline"] for row in self.rows}
        return names.pop() if len(names) == 1 else f"{len(names)} kinds"


def gather_queues(result: Record) -> list[QueueGroup]:
    """Give the queues that had packets; those that differ in a number only are put together."""
    rows = weigh_queues(result)
    groups = find_groups([row["queue"] for row in rows])
    pooled: dict[str, list[dict[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: order_naturally(row["queue"])):
        pooled.setdefault(label_member(row["queue"], groups), []).append(row)
    gathered = {
        tier: members
        for label, rows in pooled.items()
        for tier, members in _split_tiers(label, rows)
    }
    return [
        QueueGroup(label, tuple(sorted(members, key=_rank, reverse=True)))
        for label, members in gathered.items()
    ]


def _split_tiers(
    label: str, rows: list[dict[str, Any]]
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Give the rows of each rate apart, where there are a few rates."""
    tiers: dict[float, list[dict[str, Any]]] = {}
    for row in rows:
        tiers.setdefault(row["rate_bps"], []).append(row)
    if not 1 < len(tiers) <= MOST_TIERS:
        yield label, rows
        return
    for rate, members in sorted(tiers.items()):
        name = name_group(members[0]["queue"]) if len(members) > 1 else members[0]["queue"]
        size = f" ×{len(members)}" if len(members) > 1 else ""
        yield f"{name}{size} at {format_quantity(rate, 'rate')}", members


def _rank(row: Mapping[str, Any]) -> tuple[float, float]:
    """Order queues by how long packets wait: for ever, where none came through."""
    is_blocked = row["lost"] and not row["packets_dequeued"]
    return math.inf if is_blocked else row["median"], row["lost_ratio"]


@cached_on_record
def find_bottleneck(result: Record) -> str | None:
    """Find the queue that did the harm, else the scenario's own, or the one with the longest waits.

    The most harmful is a standing queue, then one that loses much, then one that stands at times.
    Where all suffering flows suffer from late packets, the order is: standing, at times, long now
    and then, lossy; where all suffer from loss: lossy, standing, at times. Queues in which most
    suffering flows wait come before all others, then queues that a flow meets in the direction in
    which it suffers, then those of its other direction. Where flows suffer, a queue that none of
    them meets is not why.
    """
    queues = weigh_queues(result)
    kinds: list[_Harm] = [
        ([row for row in queues if row["standing_ratio"] > STANDING_TIME], "median"),
        ([row for row in queues if row["lost_ratio"] > LOSSY_SHARE], "lost"),
        (
            [
                row
                for row in queues
                if row["standing_ratio"] > STOOD_AT_TIMES or row["median"] > LONG_WAIT
            ],
            "standing_ratio",
        ),
    ]
    standing, lossy, at_times = kinds
    slow = ([row for row in queues if row["delay_p99_ns"] > LONG_WAIT], "delay_p99_ns")
    blamed: set[str] = set()
    nearest: set[str] = set()
    met = {row["queue"] for row in queues}
    # Where there is one link, and no queue of it did harm, the flows need not be judged.
    has_several = len({row["link"] for row in queues}) > 1
    if has_several or any(chosen for chosen, _ in (*kinds, slow)):
        suffering = [finding for finding in judge_flows(result) if finding.suffers]
        hurt = [finding for finding in suffering if finding.symptom]
        harms = {finding.symptom for finding in hurt}
        main = find_causes(result).main
        blamed = set(main.queues) if main else set()
        nearest = _list_met(result, hurt)
        met = nearest | _list_met(result, suffering, is_both_ways=True) or met
        if harms == {"late"}:
            kinds = [standing, at_times, slow, lossy]
        elif harms == {"lost"}:
            kinds = [lossy, standing, at_times]
    waited: _Harm = (queues, "waited")
    for wanted, those in (([*kinds, waited], blamed), (kinds, nearest), (kinds, met)):
        for rows, by in wanted:
            if chosen := [row for row in rows if row["queue"] in those]:
                return str(_order(chosen, by)[-1]["queue"])
    queues = [row for row in queues if row["queue"] in met]
    names = [str(row["queue"]) for row in _order(queues, "waited")]
    if result.bottleneck in names:
        return result.bottleneck
    return names[-1] if names else None


def _list_met(
    result: Record, flows: Sequence[FlowQuality], *, is_both_ways: bool = False
) -> set[str]:
    """List the queues that flows meet, in the direction in which each suffers or in both."""
    return {
        row["queue"]
        for flow in flows
        for way in ("up", "down")
        if is_both_ways or flow.direction in ("", way)
        for row in list_queues(result, flow.flow, way)
    }


def _order(rows: Sequence[dict[str, Any]], column: str) -> list[dict[str, Any]]:
    """Sort by a column that is measured in all of the rows."""
    return sorted(rows, key=lambda row: row[column])


def find_shared_bottleneck(results: Sequence[Record]) -> str | None:
    """Find the one queue to compare several runs by: the worst of those that differ or did harm."""
    changed = _find_changed(results)
    named, chosen = results[0].bottleneck, [find_bottleneck(result) for result in results]
    for is_meant in (lambda _, row: row["queue"] in changed and _is_long(row), _is_blamed(chosen)):
        worst: dict[str, tuple[bool, float]] = {}
        for number, result in enumerate(results):
            for row in weigh_queues(result):
                if is_meant(number, row):
                    harm = (
                        row["standing_ratio"] > STANDING_TIME,
                        row["lost_ratio"] + row["median"],
                    )
                    worst[row["queue"]] = max(worst.get(row["queue"], harm), harm)
        if named in worst and not any(stands for stands, _ in worst.values()):
            return named
        if worst:
            return max(worst, key=lambda name: worst[name])
    return None


def _is_blamed(chosen: Sequence[str | None]) -> Callable[[int, Mapping[str, Any]], bool]:
    """Give what says whether a queue is the one that is blamed in a run."""
    return lambda number, row: row["queue"] == chosen[number]


def _is_long(row: Mapping[str, Any]) -> bool:
    """Say whether packets waited in a queue, or many of them were lost."""
    return (row["delay_p99_ns"] or 0.0) > SHORT_WAIT or row["lost_ratio"] > LOSSY_SHARE


def _find_changed(results: Sequence[Record]) -> set[str]:
    """Find the queues that differ between runs, in the tables or by their keys in the scenario."""
    seen: dict[str, set[str]] = {}
    for result in results if len(results) > 1 else ():
        scenario = result.manifest["scenario"]
        columns = ("queue", "discipline", "rate_bps", "limit_bytes")
        for row in result.rows("queues"):
            queue, *own = (row[column] for column in columns)
            key = find_key(scenario.get("link", {}), queue)
            # A classic queue with a low-latency queue beside it is another one than a queue alone.
            keys = [key, f"{key.removesuffix('.queue')}.low_latency"] if key else []
            parameters = [find_value(scenario, key) for key in keys]
            seen.setdefault(queue, set()).add(json.dumps([own, parameters], sort_keys=True))
    return {queue for queue, settings in seen.items() if len(settings) > 1}
