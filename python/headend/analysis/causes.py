"""Where each suffering flow waits or loses packets: full channel, contention, or queue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from headend.analysis.channels import ChannelState, gather_channels
from headend.analysis.key_figure import read_column
from headend.analysis.quality import FlowQuality, judge_flows
from headend.analysis.queues import (
    FULL,
    LONG_WAIT,
    LOSSY_SHARE,
    MANY_COLLIDE,
    OWN_RATE,
    SHORT_WAIT,
    STANDING_TIME,
    measure_collided,
)
from headend.analysis.routes import list_queues
from headend.analysis.street import gather_homes
from headend.results.record import Record, cached_on_record


class DelaySource(StrEnum):
    """What delays packets, or loses them: a full channel, contention for it, or a queue."""

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
    source
        What its packets wait for.
    queue
        The queue on the flow's way in which its packets wait.
    is_lost
        Whether the flow suffers from losses, not from delay.
    """

    flow: str
    source: DelaySource
    queue: str
    link: str
    direction: str
    is_lost: bool


@dataclass(frozen=True)
class CauseGroup:
    """The suffering flows with one cause: the same source, link and direction.

    Those that wait for the channel of a cell have no direction.
    """

    source: DelaySource
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
    groups: dict[tuple[DelaySource, str, str], list[DelayCause]] = {}
    cells = {state.link for state in gather_channels(result) if state.is_cell}
    for _, cause in found:
        if cause:
            # Both directions of a cell share its channel.
            is_shared = cause.source is DelaySource.CHANNEL and cause.link in cells
            key = (cause.source, cause.link, "" if is_shared else cause.direction)
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
    channels = [state for state in gather_channels(result) if state.is_full]
    return [(own, _find_cause(result, own, flows, channels)) for own in suffering]


def _find_cause(
    result: Record,
    finding: FlowQuality,
    flows: Mapping[tuple[str, str], Mapping[str, Any]],
    channels: list[ChannelState],
) -> DelayCause | None:
    is_lost = finding.symptom == "lost"
    direction = finding.direction or _find_way(finding.flow, flows, is_lost=is_lost)
    row = flows.get((finding.flow, direction))
    if row is None:
        return None
    queue = _choose_queue(list_queues(result, finding.flow, direction), is_lost=is_lost)
    if queue is None:
        return None
    source = classify(queue, _measure_wait(row, queue), channels, is_lost=is_lost)
    if source is None:
        return None
    return DelayCause(
        finding.flow, source, queue["queue"], queue["link"], queue["direction"], is_lost
    )


def _find_way(
    flow: str, flows: Mapping[tuple[str, str], Mapping[str, Any]], *, is_lost: bool
) -> str:
    """Find the direction in which a flow waits longest (95th percentile), or loses most."""
    column = "loss_ratio" if is_lost else "delay_p95_ns"
    values = {
        direction: read_column(flows[flow, direction], column)
        for direction in ("up", "down")
        if (flow, direction) in flows
    }
    return max(values, key=lambda direction: values[direction]) if values else ""


def _choose_queue(queues: list[dict[str, Any]], *, is_lost: bool) -> dict[str, Any] | None:
    """Choose the queue that harms a flow's packets most, of those on their way."""
    column = "lost_ratio" if is_lost else "delay_p95_ns"
    return max(queues, key=lambda queue: read_column(queue, column), default=None)


def _measure_wait(flow: Mapping[str, Any], queue: Mapping[str, Any]) -> float:
    """Give how long 1 packet in 20 of a flow waits in a queue, ns.

    A flow can wait longer than the queue's own 95th percentile, where many packets of other flows
    wait less. Then the wait is the variation of the flow's delay, at most the queue's 99th
    percentile.
    """
    variation_ns = read_column(flow, "delay_p95_ns") - read_column(flow, "delay_min_ns")
    return max(
        read_column(queue, "delay_p95_ns"), min(variation_ns, read_column(queue, "delay_p99_ns"))
    )


def classify(
    queue: Mapping[str, Any], wait: float, channels: list[ChannelState], *, is_lost: bool
) -> DelaySource | None:
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
    utilisation = read_column(queue, "utilisation")
    if not is_lost and wait <= SHORT_WAIT:
        return None
    if is_lost and not queue["lost"]:
        return None
    is_behind = any(state.serves(queue["link"], queue["direction"]) for state in channels)
    if is_behind and utilisation <= OWN_RATE:
        return DelaySource.CHANNEL
    if (
        utilisation <= FULL
        and queue["standing_ratio"] <= STANDING_TIME
        and measure_collided(queue) >= MANY_COLLIDE
    ):
        return DelaySource.CONTENTION
    is_long = wait > LONG_WAIT or queue["standing_ratio"] > STANDING_TIME
    if is_long or read_column(queue, "lost_ratio") > LOSSY_SHARE or (is_lost and queue["lost"]):
        return DelaySource.QUEUE
    return None
