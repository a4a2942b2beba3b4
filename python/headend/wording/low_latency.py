"""Sentences about low latency: who uses its queues, whom protection redirected; and its table."""

from __future__ import annotations

from headend.analysis import facts
from headend.analysis.facts import Action, Remedy
from headend.analysis.low_latency import Aggregate, AggregateFlow
from headend.analysis.sanctions import NON_QUEUE_BUILDING
from headend.text.wording import join_names, list_names
from headend.wording.proposals import end_untried
from headend.wording.quantities import count, number, rate, share, time

#: Flows that a sentence names at most.
MOST_NAMED = 4

#: What a row of a table of an aggregate's flows has; see `write_flow`.
COLUMNS = (
    "flow",
    "packets",
    "sanctioned",
    "CE",
    "classic",
    "first at",
    "top score",
    "reordered",
)


def write_flow(flow: AggregateFlow, *, is_protected: bool) -> tuple[str, ...]:
    """Write a flow's row of a table with the columns ``COLUMNS``.

    Parameters
    ----------
    is_protected
        Whether queue protection is on. The columns of queue protection have a dash where it is off.
    """
    sanctioned, first, score, reordered = "–", "–", "–", "–"
    if is_protected and flow.judged:
        sanctioned = number(flow.sanctioned)
        if flow.sanctioned:
            sanctioned += f" ({share(flow.sanctioned_ratio)})"
        first = "–" if flow.first_sanction_ns is None else time(flow.first_sanction_ns)
        score, reordered = time(flow.score_max_ns), number(flow.reordered)
    marked = "–" if flow.marked_ratio is None else share(flow.marked_ratio)
    counts = number(flow.packets), sanctioned, marked, number(flow.classic_packets)
    return (flow.label, *counts, first, score, reordered)


def explain_columns(aggregate: Aggregate) -> str:
    """Explain the columns of the table of an aggregate's flows."""
    text = (
        f"Packets: those that the low-latency queue {aggregate.low} sent. CE: the share of them"
        " that carried a mark. Classic: the flow's packets that the classic queue"
        f" {aggregate.classic} sent."
    )
    if not aggregate.is_protected:
        return f"{text} Queue protection is off."
    allowed = ""
    if aggregate.score_threshold_ns is not None:
        allowed = (
            f": at the latency threshold a score of {time(aggregate.score_threshold_ns)} is"
            " allowed, and less the longer the queue is"
        )
    return f"{text} Sanctioned: those that queue protection sent to the classic queue{allowed}."


def full_unused(fact: facts.LowLatencyUnused) -> str:
    """Say that nobody uses the queue, and who would."""
    return (
        f"No packet was sent to the low-latency queue {fact.low}: it takes what its classifiers"
        " match, by default ECT(1) and CE (L4S senders) and DSCP 45 and 46."
    )


def _name_flows(names: list[str]) -> str:
    return join_names(names) if len(names) <= MOST_NAMED else list_names(names, MOST_NAMED)


def full_use(fact: facts.LowLatencyUse) -> str:
    """Say who uses the queue, how long packets wait there and beside it, and what is marked."""
    aggregate = fact.aggregate
    is_single = len(aggregate.users) == 1 and len(aggregate.users[0].members) == 1
    users = _name_flows([flow.label for flow in aggregate.users])
    text = f"{users} {'uses' if is_single else 'use'} the low-latency queue {aggregate.low}"
    if aggregate.low_p50_ns is not None:
        text += (
            f", which held packets {time(aggregate.low_p50_ns)} at the median and"
            f" {time(aggregate.low_p99_ns)} at the 99th percentile"
        )
        if aggregate.classic_p50_ns is not None:
            text += (
                f" ({aggregate.classic}, the classic queue beside it,"
                f" {time(aggregate.classic_p50_ns)} and {time(aggregate.classic_p99_ns)})"
            )
    if aggregate.marked_ratio:
        text += f"; {share(aggregate.marked_ratio)} of its packets left it with a CE mark"
    elif aggregate.users[0].packets:
        text += "; none of its packets carried a CE mark"
    if aggregate.is_protected and not aggregate.sanctioned:
        text += "; queue protection redirected none"
    return f"{text}."


def full_sanctions(fact: facts.Sanctions) -> list[str]:
    """Say of whom queue protection redirected packets, since when, why, and what to do."""
    aggregate, flow, since = fact.aggregate, fact.flow, ""
    if fact.since_warmup:
        since = " from the end of the warm-up on"
    elif flow.first_sanction_ns is not None:
        since = f", the first at {time(flow.first_sanction_ns)}"
    score = f"its queuing score reached {time(flow.score_max_ns)}"
    if aggregate.score_threshold_ns is not None:
        score += f", where {time(aggregate.score_threshold_ns)} are allowed"
    text = (
        f"Queue protection sent {number(flow.sanctioned)} of {flow.label}'s {number(flow.judged)}"
        f" packets ({share(flow.sanctioned_ratio)}) to the classic queue"
        f" {aggregate.classic}{since}: {score}."
    )
    if fact.is_burst:
        return [f"{text} Only bursts of it were redirected."]
    drain = f", which drains at {rate(aggregate.drain_bps)}" if aggregate.drain_bps else ""
    remedy = advise(fact.remedies[0])
    sentences = [
        text,
        f"What a flow sends while the queue is long enough to be marked raises its score{drain},"
        f" and {flow.label} sent on faster than that: {remedy[0].lower()}{remedy[1:]}",
    ]
    if fact.crowding is not None:
        others = [
            other.label for other in aggregate.flows if other.classic_packets and other is not flow
        ]
        sentences.append(
            f"In that queue, {share(fact.crowding)} of the packets sent are {flow.label}'s:"
            f" {_name_flows(others)} got the rest."
        )
    if flow.reordered:
        sentences.append(
            f"{number(flow.reordered)} packets of {flow.label} left after packets that had come"
            " later: the two queues do not keep their order."
        )
    return sentences


def full_more(fact: facts.MoreSanctions) -> str:
    """Say of how many more queue protection redirected packets."""
    if fact.flows:
        return f"It redirected packets of {count(fact.flows, 'more flow')}."
    more = count(fact.aggregates, "more aggregate")
    return f"Queue protection sent packets to the classic queue in {more}."


def advise(remedy: Remedy) -> str:
    """Say in a sentence what to change for a flow that low latency serves badly."""
    if remedy.action is Action.RAISE_THRESHOLD:
        untried = end_untried(remedy, any_value=True)
        return (
            f"Smaller bursts, or a higher score threshold{untried}, may keep it in the low-latency"
            " queue."
        )
    if remedy.action is Action.USE_CLASSIC:
        return (
            "Traffic that does not slow down for marks belongs in the classic queue, without ECT(1)"
            f" and without DSCP {NON_QUEUE_BUILDING}."
        )
    return (
        f"Marked as traffic that builds no queue, {remedy.subject}'s packets use the low-latency"
        f" queue{end_untried(remedy)}."
    )


def brief_sanctioned(fact: facts.SanctionedFlow) -> str:
    """Say which share of a flow's packets protection redirects, and how long they wait then."""
    aggregate = fact.aggregate
    text = (
        f"queue protection sends {share(round(fact.sanctioned_ratio, 2))} of {fact.flow}'s packets"
        f" to the classic queue {aggregate.classic}"
    )
    wait = aggregate.classic_p50_ns
    return text if wait is None else f"{text}, where packets wait {time(wait)}"


def brief_kept_out(fact: facts.KeptOut) -> str:
    """Say whom queue protection keeps out of the low-latency queue."""
    more = f" and of {fact.more} more" if fact.more else ""
    return (
        f"queue protection sends {share(round(fact.sanctioned_ratio, 2))} of {fact.flow}'s"
        f" packets{more} to the classic queue"
    )
