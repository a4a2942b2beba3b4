"""Facts of low latency: who uses its queues, whom queue protection redirected, who is left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from headend.analysis import facts
from headend.analysis.facts import Action, Fact, Remedy
from headend.analysis.low_latency import (
    MOST_AGGREGATES,
    Aggregate,
    AggregateFlow,
    choose_aggregates,
    gather_aggregates,
)
from headend.analysis.queues import locate_key
from headend.engine.columns import MIXED
from headend.scenario.parameters import find_value

if TYPE_CHECKING:
    from headend.analysis.quality import FlowQuality
    from headend.results.record import Record

#: Share of a flow's packets from which on queue protection redirects more than bursts.
MANY_SANCTIONED = 0.1

#: How long after the warm-up a first sanction says that there were sanctions before, ns.
AT_ONCE = 1e7

#: Flows of an aggregate of whose sanctions is told.
MOST_SANCTIONED = 2

#: Rate up to which a flow is taken for one that builds no queue, in bit/s: a game sends less.
LITTLE = 1e6

#: The DSCP of traffic that builds no queue (RFC 9956).
NON_QUEUE_BUILDING = 45


def find_low_latency(result: Record, queue: str) -> Iterator[Fact]:
    """Find who uses the low-latency queues, what waits there, and who was redirected and why.

    Parameters
    ----------
    queue
        The queue that the run is judged by. Its aggregate comes first.
    """
    chosen = choose_aggregates(result, queue)
    for aggregate in chosen[:MOST_AGGREGATES]:
        if not aggregate.users:
            yield facts.LowLatencyUnused(aggregate.low)
            continue
        yield facts.LowLatencyUse(aggregate)
        for flow in aggregate.sanctioned[:MOST_SANCTIONED]:
            yield _describe_sanctions(result, aggregate, flow)
        if (more := len(aggregate.sanctioned) - MOST_SANCTIONED) > 0:
            yield facts.MoreSanctions(flows=more)
    if (more := len(chosen) - MOST_AGGREGATES) > 0:
        yield facts.MoreSanctions(aggregates=more)


def _describe_sanctions(
    result: Record, aggregate: Aggregate, flow: AggregateFlow
) -> facts.Sanctions:
    warmup, first = result.manifest.get("warmup_ns", 0), flow.first_sanction_ns
    classic = sum(other.classic_packets for other in aggregate.flows)
    has_most = flow.classic_packets != classic and flow.classic_packets > classic / 2
    return facts.Sanctions(
        aggregate,
        flow,
        since_warmup=bool(warmup) and first is not None and first < warmup + AT_ONCE,
        is_burst=flow.sanctioned_ratio < MANY_SANCTIONED,
        crowding=flow.classic_packets / classic if has_most else None,
        remedies=(_choose_remedy(result, aggregate, flow),),
    )


def _choose_remedy(result: Record, aggregate: Aggregate, flow: AggregateFlow) -> Remedy:
    """Choose what to change where queue protection redirects a flow.

    TCP's senders slow down for marks if they can carry them.
    """
    kinds = {row["transport"] for row in result.rows("flows") if row["flow"] in flow.members}
    if kinds.isdisjoint(("tcp", MIXED)):
        return Remedy(Action.USE_CLASSIC, flow.label)
    key = locate_key(result, aggregate.low)
    path = f"{key}.queue_protection.score_threshold" if key else ""
    return Remedy(Action.RAISE_THRESHOLD, flow.label, path)


def find_sanctioned(result: Record, worst: FlowQuality) -> facts.SanctionedFlow | None:
    """Find what queue protection did to a suffering flow, where it redirected many packets."""
    for aggregate in gather_aggregates(result):
        flow = next(
            (candidate for candidate in aggregate.sanctioned if worst.flow in candidate.members),
            None,
        )
        if flow and flow.sanctioned_ratio >= MANY_SANCTIONED:
            remedies = (_choose_remedy(result, aggregate, flow),)
            return facts.SanctionedFlow(
                worst.flow, aggregate, flow.sanctioned_ratio, remedies=remedies
            )
    return None


def find_kept_out(result: Record, queue: str) -> facts.KeptOut | None:
    """Find the flows that queue protection keeps out of the low-latency queue."""
    redirected = [
        flow
        for aggregate in choose_aggregates(result, queue)
        for flow in aggregate.sanctioned
        if flow.sanctioned_ratio >= MANY_SANCTIONED
    ]
    return (
        facts.KeptOut(redirected[0].label, redirected[0].sanctioned_ratio, len(redirected) - 1)
        if redirected
        else None
    )


def find_marking(result: Record, queue: str, worst: FlowQuality) -> Remedy | None:
    """Propose marks for a flow without bulk data that waits in a classic queue of an aggregate."""
    aggregate = next(
        (candidate for candidate in gather_aggregates(result) if candidate.classic == queue), None
    )
    rows = [
        row
        for row in result.rows("flows")
        if row["flow"] == worst.flow and row["carries"] == "data"
    ]
    is_light = all(row["transport"] == "udp" and row["throughput_bps"] <= LITTLE for row in rows)
    if aggregate is None or not rows or not is_light:
        return None
    if any(worst.flow in flow.members for flow in aggregate.users):
        return None
    scenario = result.manifest["scenario"]
    flows = scenario.get("flow", {})
    name = worst.flow if worst.flow in flows else worst.flow.rpartition(".")[0]
    if name not in flows or find_value(scenario, f"flow.{name}.dscp"):
        return None
    path = f"flow.{name}.dscp"
    return Remedy(Action.MARK_PACKETS, worst.flow, path, str(NON_QUEUE_BUILDING))
