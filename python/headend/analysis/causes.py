"""Where each suffering flow waits or loses packets: full channel, contention, or queue."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from headend.analysis.channels import ChannelState, gather_channels
from headend.analysis.low_latency import find_queue_of
from headend.analysis.quality import FlowQuality, judge_flows
from headend.analysis.queues import (
    FULL,
    LONG_WAIT,
    LOSSY_SHARE,
    OWN_RATE,
    SHORT_WAIT,
    STANDING_TIME,
    weigh_queues,
)
from headend.analysis.routes import list_hops
from headend.analysis.street import gather_homes
from headend.results.record import Record, cached_on_record

#: From this share of collided contention requests on, collisions explain a long wait: one request
#: in 25 then collides twice in a row, and each collision doubles the backoff.
MANY_COLLIDE = 0.2


class Place(StrEnum):
    """What packets wait for."""

    CHANNEL = "channel"
    CONTENTION = "contention"
    QUEUE = "queue"


@dataclass(frozen=True)
class DelayCause:
    """Where packets of one suffering flow wait or are lost.

    Parameters
    ----------
    flow
        The flow's name.
    place
        What its packets wait for.
    queue
        The queue on the flow's way in which its packets wait.
    is_lost
        Whether the flow suffers from losses, not from delay.
    """

    flow: str
    place: Place
    queue: str
    link: str
    direction: str
    is_lost: bool


@dataclass(frozen=True)
class CauseGroup:
    """The suffering flows with one cause: the same place, link and direction."""

    place: Place
    link: str
    direction: str
    causes: tuple[DelayCause, ...]

    @property
    def count(self) -> int:
        """How many flows they are."""
        return len(self.causes)

    @property
    def queues(self) -> list[str]:
        """The queues in which their packets wait, without repetition."""
        return list(dict.fromkeys(cause.queue for cause in self.causes))


@dataclass(frozen=True)
class Causes:
    """The causes of all suffering flows.

    Parameters
    ----------
    groups
        The flows grouped by cause, the largest group first.
    unexplained
        How many suffering flows have no known cause.
    """

    groups: tuple[CauseGroup, ...]
    unexplained: int

    @property
    def main(self) -> CauseGroup | None:
        """The largest group; None where more flows have no known cause."""
        if not self.groups or self.unexplained > self.groups[0].count:
            return None
        return self.groups[0]


@cached_on_record
def find_causes(result: Record) -> Causes:
    """Find the cause for every suffering flow; on a street, for the worst flow of each home."""
    homes = gather_homes(result)
    findings = [home.worst for home in homes] if homes else judge_flows(result)
    found = _find_each(result, findings)
    groups: dict[tuple[Place, str, str], list[DelayCause]] = {}
    for _, cause in found:
        if cause:
            key = (cause.place, cause.link, cause.direction)
            groups.setdefault(key, []).append(cause)
    ordered = sorted(groups.items(), key=lambda item: -len(item[1]))
    explained = sum(map(len, groups.values()))
    return Causes(
        tuple(CauseGroup(*key, tuple(causes)) for key, causes in ordered),
        len(found) - explained,
    )


def list_flow_causes(result: Record) -> list[tuple[FlowQuality, DelayCause | None]]:
    """List every suffering flow, also of one home, with its cause; None where none is known."""
    return _find_each(result, judge_flows(result))


def _find_each(
    result: Record, findings: list[FlowQuality]
) -> list[tuple[FlowQuality, DelayCause | None]]:
    suffering = [finding for finding in findings if finding.suffers]
    if not suffering:
        return []
    flows = {(row["flow"], row["direction"]): row for row in result.rows("flows")}
    routes = _Routes(result)
    channels = [state for state in gather_channels(result) if state.is_full]
    return [(own, _find_cause(own, flows, routes, channels)) for own in suffering]


def _find_cause(
    finding: FlowQuality,
    flows: Mapping[tuple[str, str], Mapping[str, Any]],
    routes: _Routes,
    channels: list[ChannelState],
) -> DelayCause | None:
    is_lost = finding.symptom == "lost"
    direction = finding.direction or _find_way(finding.flow, flows, is_lost=is_lost)
    row = flows.get((finding.flow, direction))
    if row is None:
        return None
    queue = routes.find_queue(finding.flow, row, is_lost=is_lost)
    if queue is None:
        return None
    place = classify(queue, _measure_wait(row, queue), channels, is_lost=is_lost)
    if place is None:
        return None
    return DelayCause(
        finding.flow, place, queue["queue"], queue["link"], queue["direction"], is_lost
    )


def _find_way(
    flow: str, flows: Mapping[tuple[str, str], Mapping[str, Any]], *, is_lost: bool
) -> str:
    """Find the direction in which a flow waits longest (95th percentile), or loses most."""
    column = "loss_ratio" if is_lost else "delay_p95_ns"
    values = {
        direction: _read(flows[flow, direction], column)
        for direction in ("up", "down")
        if (flow, direction) in flows
    }
    return max(values, key=lambda direction: values[direction]) if values else ""


def _read(row: Mapping[str, Any], column: str) -> float:
    value = row[column]
    return 0.0 if value is None or math.isnan(value) else float(value)


class _Routes:
    """Finds the queue that a flow's packets wait in, by the host that it belongs to."""

    def __init__(self, result: Record) -> None:
        self._result = result
        self._queues: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for row in weigh_queues(result):
            hop = row["queue"].rpartition(".")[0]
            self._queues.setdefault((hop, row["direction"]), []).append(row)

    def find_queue(
        self, flow: str, row: Mapping[str, Any], *, is_lost: bool
    ) -> dict[str, Any] | None:
        """Find the queue that harms a flow's packets most, of those on their way in one direction.

        A modem with several service flows is represented by the queue whose delay is nearest to the
        flow's; of the queues of an aggregate it is known which sent the flow's packets.
        """
        candidates = []
        sent_by = find_queue_of(self._result, flow, row["direction"])
        for hop in list_hops(self._result, flow):
            queues = self._queues.get((hop, row["direction"]), [])
            queues = [queue for queue in queues if queue["queue"] == sent_by] or queues
            delay_ns = _read(row, "delay_p95_ns")
            candidates += sorted(
                queues, key=lambda queue: abs(_read(queue, "delay_p95_ns") - delay_ns)
            )[:1]
        column = "lost_ratio" if is_lost else "delay_p95_ns"
        return max(candidates, key=lambda queue: _read(queue, column)) if candidates else None


def _measure_wait(flow: Mapping[str, Any], queue: Mapping[str, Any]) -> float:
    """Give how long 1 packet in 20 of a flow waits in a queue, ns.

    A flow can wait longer than the queue's own 95th percentile, where many packets of other flows
    wait less. Then the wait is the variation of the flow's delay, at most the queue's 99th
    percentile.
    """
    variation_ns = _read(flow, "delay_p95_ns") - _read(flow, "delay_min_ns")
    return max(_read(queue, "delay_p95_ns"), min(variation_ns, _read(queue, "delay_p99_ns")))


def classify(
    queue: Mapping[str, Any], wait: float, channels: list[ChannelState], *, is_lost: bool
) -> Place | None:
    """Say what the packets in a queue wait for; None where they hardly wait and few are lost.

    Parameters
    ----------
    queue
        The queue's row, as ``weigh_queues`` gives it.
    wait
        How long the packets wait, ns.
    channels
        The full channels.
    """
    utilisation = _read(queue, "utilisation")
    if not is_lost and wait <= SHORT_WAIT:
        return None
    if is_lost and not queue["lost"]:
        return None
    is_behind = any(state.serves(queue["link"], queue["direction"]) for state in channels)
    if is_behind and utilisation <= OWN_RATE:
        return Place.CHANNEL
    if (
        utilisation <= FULL
        and queue["standing_ratio"] <= STANDING_TIME
        and measure_collided(queue) >= MANY_COLLIDE
    ):
        return Place.CONTENTION
    is_long = wait > LONG_WAIT or queue["standing_ratio"] > STANDING_TIME
    if is_long or _read(queue, "lost_ratio") > LOSSY_SHARE or (is_lost and queue["lost"]):
        return Place.QUEUE
    return None


def measure_collided(queue: Mapping[str, Any]) -> float:
    """Give the share of a cable upstream queue's contention requests that collided, or 0."""
    requests = queue["requests_contention"]
    return queue["collisions"] / requests if requests else 0.0
