"""Aggregates with low latency: who uses them, how their queues fare, and whom protection hit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headend.analysis.grading import read_number, write_quantity
from headend.analysis.queues import SHORT_WAIT, is_low_latency, locate_key, name_classic
from headend.engine.columns import MIXED
from headend.results.record import Record, once
from headend.scenario.groups import find_groups, label_member
from headend.scenario.parameters import find_value
from headend.text.wording import join_names, list_names

if TYPE_CHECKING:
    import polars as pl

    from headend.analysis.grading import Finding

#: Share of a flow's packets from which on queue protection redirects more than bursts.
MANY_SANCTIONED = 0.1

#: Delay of the low-latency queue at the 99th percentile from which on packets wait in it, ns.
NOTICED = 1e6

#: How long after the warm-up a first sanction says that there were sanctions before, ns.
AT_ONCE = 1e7

#: Aggregates told of, and flows named of each.
MOST_AGGREGATES = 2
MOST_NAMED = 4
MOST_SANCTIONED = 2

#: Rate up to which advice takes a flow for one that builds no queue, in bit/s: a game sends less.
LITTLE = 1e6

#: The DSCP of traffic that builds no queue (RFC 9956).
NON_QUEUE_BUILDING = 45

#: Objects of the table `mib` that bound queuing scores, as they end.
_SCORE_THRESHOLD = "AggregateServiceFlowQpQueuingScoreThreshold"
_DRAIN_EXPONENT = "AggregateServiceFlowQpDrainRateExponent"

#: Units: an exponent of 30 stands for 10⁹ B/s (RFC 9957).
_UNIT_EXPONENT = 30


@dataclass(frozen=True)
class AggregateFlow:
    """A flow, or all members of a group of flows, in the queues of an aggregate.

    Parameters
    ----------
    label
        What to call it: ``game``, or ``web ×100``.
    members
        The flows that it stands for.
    packets, ce_packets
        Packets that the low-latency queue sent, and those of them that carried a CE mark.
    classic_packets
        Packets that the classic queue sent, sanctioned ones among them.
    judged, sanctioned
        Packets that queue protection judged, and those of them that it sent to the classic queue.
    reordered
        Packets that left after one which had come later.
    score_max_ns
        The highest queuing score.
    congestion_bytes
        Bytes judged, each times the probability of a mark.
    first_sanction_ns, last_sanction_ns
        When the first and the last packet was sanctioned; None where none was.
    """

    label: str
    members: tuple[str, ...]
    packets: int = 0
    ce_packets: int = 0
    classic_packets: int = 0
    judged: int = 0
    sanctioned: int = 0
    reordered: int = 0
    score_max_ns: float = 0.0
    congestion_bytes: float = 0.0
    first_sanction_ns: float | None = None
    last_sanction_ns: float | None = None

    @property
    def marked_ratio(self) -> float | None:
        """Share of the packets of the low-latency queue that left it with a CE mark."""
        return self.ce_packets / self.packets if self.packets else None

    @property
    def sanctioned_ratio(self) -> float:
        """Share of the packets judged that were sanctioned."""
        return self.sanctioned / self.judged if self.judged else 0.0


@dataclass(frozen=True)
class Aggregate:
    """The two queues of an aggregate with low latency. Times in ns.

    Parameters
    ----------
    classic, low
        The names of the queues.
    flows
        Those with packets in either queue, most low-latency packets first.
    is_protected
        Whether queue protection is on.
    score_threshold_ns
        Queuing score above which packets are sanctioned; None where it is not known.
    drain_bps
        Rate at which queuing scores drain, in bit/s; None where it is not known.
    """

    classic: str
    low: str
    link: str
    direction: str
    flows: tuple[AggregateFlow, ...]
    is_protected: bool
    low_p50_ns: float | None
    low_p99_ns: float | None
    classic_p50_ns: float | None
    classic_p99_ns: float | None
    score_threshold_ns: float | None = None
    drain_bps: float | None = None

    @property
    def users(self) -> tuple[AggregateFlow, ...]:
        """The flows with packets in the low-latency queue."""
        return tuple(flow for flow in self.flows if flow.packets or flow.judged)

    @property
    def is_noticed(self) -> bool:
        """Whether packets wait in one of the queues."""
        return (self.low_p99_ns or 0.0) > NOTICED or (self.classic_p99_ns or 0.0) > SHORT_WAIT

    @property
    def sanctioned(self) -> tuple[AggregateFlow, ...]:
        """The flows of which packets were sanctioned, the most packets first."""
        own = [flow for flow in self.flows if flow.sanctioned]
        return tuple(sorted(own, key=lambda flow: -flow.sanctioned))

    @property
    def marked_ratio(self) -> float | None:
        """Share of the packets of the low-latency queue that left it with a CE mark."""
        packets = sum(flow.packets for flow in self.flows)
        return sum(flow.ce_packets for flow in self.flows) / packets if packets else None


@once
def gather_aggregates(result: Record) -> list[Aggregate]:
    """Give the aggregates with low latency, in the order of the table of queues."""
    queues = {row["queue"]: row for row in result.queues.iter_rows(named=True)}
    low_queues = [name for name in queues if is_low_latency(name)]
    if not low_queues or "low_latency" not in result.tables:
        return []
    sent = _split_by_queue(result.low_latency)
    judged = _split_by_queue(result.queue_protection)
    limits = _read_limits(result)
    groups = find_groups(result.flows["flow"].unique(maintain_order=True).to_list())
    found = []
    for low in low_queues:
        row, classic = queues[low], queues.get(name_classic(low), {})
        threshold, exponent = limits.get(name_classic(low), (None, None))
        flows = _gather_flows(sent, judged, low, lambda name: label_member(name, groups))
        found.append(
            Aggregate(
                classic=name_classic(low),
                low=low,
                link=row["link"],
                direction=row["direction"],
                flows=flows,
                is_protected="queue_protection" in result.tables and exponent is not None,
                low_p50_ns=read_number(row["delay_p50_ns"]),
                low_p99_ns=read_number(row["delay_p99_ns"]),
                classic_p50_ns=read_number(classic.get("delay_p50_ns")),
                classic_p99_ns=read_number(classic.get("delay_p99_ns")),
                score_threshold_ns=None if threshold is None else threshold * 1e3,
                drain_bps=None if exponent is None else 8e9 * 2.0 ** (exponent - _UNIT_EXPONENT),
            )
        )
    return found


def _split_by_queue(table: pl.DataFrame) -> dict[str, list[dict[str, Any]]]:
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in table.iter_rows(named=True):
        rows.setdefault(row["queue"], []).append(row)
    return rows


def _read_limits(result: Record) -> dict[str, tuple[int | None, int | None]]:
    """Give the score threshold (µs) and drain exponent of each aggregate, by classic queue."""
    import polars as pl

    from headend.analysis.mib import name_service_queues

    rows = name_service_queues(
        result.mib.filter(pl.col("object").str.contains("AggregateServiceFlowQp"))
    )
    values: dict[str, dict[str, int]] = {}
    for queue, name, value in rows.select("queue", "object", "value").iter_rows():
        values.setdefault(queue, {})[name.removeprefix("docsQos")] = value
    return {
        queue: (own.get(_SCORE_THRESHOLD), own.get(_DRAIN_EXPONENT))
        for queue, own in values.items()
        if own.get("AggregateServiceFlowQpEnable")
    }


def _gather_flows(
    sent: Mapping[str, list[dict[str, Any]]],
    judged: Mapping[str, list[dict[str, Any]]],
    low: str,
    label: Any,
) -> tuple[AggregateFlow, ...]:
    pooled: dict[str, dict[str, Any]] = {}

    def take(name: str) -> dict[str, Any]:
        own = pooled.setdefault(label(name), {"members": {}})
        own["members"][name] = None
        return own

    def add(own: dict[str, Any], **counts: float) -> None:
        for key, count in counts.items():
            own[key] = own.get(key, 0) + count

    for row in sent.get(low, []):
        add(take(row["flow"]), packets=row["packets"], ce_packets=row["ce_packets"])
    for row in sent.get(name_classic(low), []):
        add(take(row["flow"]), classic_packets=row["packets"])
    for row in judged.get(low, []):
        own = take(row["flow"])
        add(
            own,
            judged=row["packets"],
            sanctioned=row["sanctioned"],
            reordered=row["reordered"],
            congestion_bytes=row["congestion_bytes"],
        )
        own["score_max_ns"] = max(own.get("score_max_ns", 0.0), float(row["score_max_ns"]))
        for key, choose in (("first_sanction_ns", min), ("last_sanction_ns", max)):
            times = [read_number(row[key]), own.get(key)]
            own[key] = choose((time for time in times if time is not None), default=None)
    flows = [AggregateFlow(name, tuple(own.pop("members")), **own) for name, own in pooled.items()]
    return tuple(sorted(flows, key=lambda flow: (-flow.packets, -flow.judged, flow.label)))


def choose_aggregates(result: Record, queue: str | None) -> list[Aggregate]:
    """Choose the aggregates to tell of: a queue's own, then those with waits or with sanctions.

    Parameters
    ----------
    queue
        The queue that the run is judged by.
    """
    aggregates = gather_aggregates(result)
    own = [one for one in aggregates if queue in (one.classic, one.low)]
    is_few = len(aggregates) <= MOST_AGGREGATES
    others = [
        one
        for one in aggregates
        if one not in own and (one.sanctioned or (is_few and one.is_noticed))
    ]
    return [*own, *others]


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
    number = [write_quantity(count, "number") for count in (flow.packets, flow.classic_packets)]
    marked = flow.marked_ratio
    ce = "–" if marked is None else write_quantity(marked, "ratio")
    if not (is_protected and flow.judged):
        return (flow.label, number[0], "–", ce, number[1], "–", "–", "–")
    sanctioned = write_quantity(flow.sanctioned, "number")
    if flow.sanctioned:
        sanctioned += f" ({write_quantity(flow.sanctioned_ratio, 'ratio')})"
    first = flow.first_sanction_ns
    return (
        flow.label,
        number[0],
        sanctioned,
        ce,
        number[1],
        "–" if first is None else write_quantity(first),
        write_quantity(flow.score_max_ns),
        write_quantity(flow.reordered, "number"),
    )


def explain_columns(one: Aggregate) -> str:
    """Explain the columns of the table of an aggregate's flows."""
    told = (
        f"Packets: those that the low-latency queue {one.low} sent. CE: the share of them that"
        f" carried a mark. Classic: the flow's packets that the classic queue {one.classic} sent."
    )
    if not one.is_protected:
        return f"{told} Queue protection is off."
    allowed = ""
    if one.score_threshold_ns is not None:
        allowed = (
            f": at the latency threshold a score of {write_quantity(one.score_threshold_ns)} is"
            " allowed, and less the longer the queue is"
        )
    return f"{told} Sanctioned: those that queue protection sent to the classic queue{allowed}."


def tell_low_latency(result: Record, queue: str) -> list[str]:
    """Say who uses the low-latency queues, what waits there, and who was redirected and why.

    Parameters
    ----------
    queue
        The queue that the run is judged by. Its aggregate is told of first.
    """
    chosen = choose_aggregates(result, queue)
    told, rest = chosen[:MOST_AGGREGATES], chosen[MOST_AGGREGATES:]
    sentences = [sentence for one in told for sentence in _tell_aggregate(result, one)]
    if rest:
        more = f"{len(rest)} more {'aggregate' if len(rest) == 1 else 'aggregates'}"
        sentences.append(f"Queue protection sent packets to the classic queue in {more}.")
    return sentences


def _tell_aggregate(result: Record, one: Aggregate) -> Iterable[str]:
    users = one.users
    if not users:
        return [
            f"No packet was sent to the low-latency queue {one.low}: it takes what its classifiers"
            " match, by default ECT(1) and CE (L4S senders) and DSCP 45 and 46."
        ]
    return [_tell_users(one), *_tell_sanctions(result, one)]


def _tell_users(one: Aggregate) -> str:
    names = [flow.label for flow in one.users]
    who = join_names(names) if len(names) <= MOST_NAMED else list_names(names, MOST_NAMED)
    is_one = len(names) == 1 and len(one.users[0].members) == 1
    told = f"{who} {'uses' if is_one else 'use'} the low-latency queue {one.low}"
    if one.low_p50_ns is not None:
        told += (
            f", which held packets {write_quantity(one.low_p50_ns)} at the median and"
            f" {write_quantity(one.low_p99_ns)} at the 99th percentile"
        )
    if one.low_p50_ns is not None and one.classic_p50_ns is not None:
        told += (
            f" ({one.classic}, the classic queue beside it, {write_quantity(one.classic_p50_ns)}"
            f" and {write_quantity(one.classic_p99_ns)})"
        )
    marked = one.marked_ratio
    if marked:
        told += f"; {write_quantity(marked, 'ratio')} of its packets left it with a CE mark"
    elif one.users[0].packets:
        told += "; none of its packets carried a CE mark"
    if one.is_protected and not one.sanctioned:
        told += "; queue protection redirected none"
    return f"{told}."


def _tell_sanctions(result: Record, one: Aggregate) -> Iterable[str]:
    """Say of whom queue protection redirected packets, since when, why, and what to do."""
    for flow in one.sanctioned[:MOST_SANCTIONED]:
        what = (
            f"{write_quantity(flow.sanctioned, 'number')} of {flow.label}'s"
            f" {write_quantity(flow.judged, 'number')} packets"
        )
        since = _tell_since(result, flow.first_sanction_ns)
        told = (
            f"Queue protection sent {what} ({write_quantity(flow.sanctioned_ratio, 'ratio')}) to"
            f" the classic queue {one.classic}{since}: {_tell_score(one, flow)}"
        )
        if flow.sanctioned_ratio < MANY_SANCTIONED:
            yield f"{told}. Only bursts of it were redirected."
            continue
        yield f"{told}."
        yield _explain_sanction(result, one, flow)
        yield from _tell_crowding(one, flow)
        if flow.reordered:
            yield (
                f"{write_quantity(flow.reordered, 'number')} packets of {flow.label} left after"
                " packets that had come later: the two queues do not keep their order."
            )
    more = len(one.sanctioned) - MOST_SANCTIONED
    if more > 0:
        yield f"It redirected packets of {more} more {'flow' if more == 1 else 'flows'}."


def _tell_crowding(one: Aggregate, flow: AggregateFlow) -> Iterable[str]:
    """Say so where a sanctioned flow has most of the classic queue, and who shares that queue."""
    others = [own for own in one.flows if own.classic_packets and own is not flow]
    packets = flow.classic_packets + sum(own.classic_packets for own in others)
    if not others or flow.classic_packets <= packets / 2:
        return
    share = write_quantity(flow.classic_packets / packets, "ratio")
    names = [own.label for own in others]
    who = join_names(names) if len(names) <= MOST_NAMED else list_names(names, MOST_NAMED)
    yield f"In that queue, {share} of the packets sent are {flow.label}'s: {who} got the rest."


def _tell_since(result: Record, first_ns: float | None) -> str:
    """Say since when packets were sanctioned."""
    if first_ns is None:
        return ""
    warmup = result.manifest.get("warmup_ns", 0)
    if warmup and first_ns < warmup + AT_ONCE:
        return " from the end of the warm-up on"
    return f", the first at {write_quantity(first_ns)}"


def _tell_score(one: Aggregate, flow: AggregateFlow) -> str:
    score = write_quantity(flow.score_max_ns)
    if one.score_threshold_ns is None:
        return f"its queuing score reached {score}"
    return (
        f"its queuing score reached {score}, where {write_quantity(one.score_threshold_ns)} are"
        " allowed"
    )


def _explain_sanction(result: Record, one: Aggregate, flow: AggregateFlow) -> str:
    """Say in a sentence why a flow was sanctioned, and what to do about it."""
    drain = f", which drains at {write_quantity(one.drain_bps, 'rate')}" if one.drain_bps else ""
    raises = (
        f"What a flow sends while the queue is long enough to be marked raises its score{drain}"
    )
    remedy = _advise_sanctioned(result, one, flow)
    return f"{raises}, and {flow.label} sent on faster than that: {remedy[0].lower()}{remedy[1:]}"


def _advise_sanctioned(result: Record, one: Aggregate, flow: AggregateFlow) -> str:
    """Say in a sentence what to change where queue protection redirects a flow."""
    if _answers_marks(result, flow):
        key = locate_key(result, one.low)
        tries = f" (`--set {key}.queue_protection.score_threshold=…`)" if key else ""
        return (
            f"Smaller bursts, or a higher score threshold{tries}, keep it in the low-latency queue."
        )
    return (
        "Traffic that does not slow down for marks belongs in the classic queue, without ECT(1) and"
        f" without DSCP {NON_QUEUE_BUILDING}."
    )


def _answers_marks(result: Record, flow: AggregateFlow) -> bool:
    """Say whether a flow is of TCP, whose senders slow down for marks if they can carry them."""
    import polars as pl

    rows = result.flows.filter(pl.col("flow").is_in(list(flow.members)))
    return bool(rows["transport"].is_in(["tcp", MIXED]).any())


@dataclass(frozen=True)
class Blame:
    """Why a flow suffers in the classic queue of an aggregate.

    Parameters
    ----------
    told
        A clause with a subject of its own.
    advice
        What to change, as a sentence.
    """

    told: str
    advice: str


def blame_sanctions(result: Record, worst: Finding) -> Blame | None:
    """Give what queue protection did to a suffering flow, where it redirected many packets."""
    for one in gather_aggregates(result):
        flow = next((own for own in one.sanctioned if worst.flow in own.members), None)
        if flow is None or flow.sanctioned_ratio < MANY_SANCTIONED:
            continue
        share = write_quantity(round(flow.sanctioned_ratio, 2), "ratio")
        wait = write_quantity(one.classic_p50_ns) if one.classic_p50_ns is not None else ""
        told = (
            f"queue protection sends {share} of {worst.flow}'s packets to the classic queue"
            f" {one.classic}"
        )
        return Blame(
            f"{told}, where packets wait {wait}" if wait else told,
            _advise_sanctioned(result, one, flow),
        )
    return None


def tell_sanctions(result: Record, queue: str) -> str:
    """Say in a clause whom queue protection keeps out of the low-latency queue; or empty."""
    kept = [
        flow
        for one in choose_aggregates(result, queue)
        for flow in one.sanctioned
        if flow.sanctioned_ratio >= MANY_SANCTIONED
    ]
    if not kept:
        return ""
    share = write_quantity(round(kept[0].sanctioned_ratio, 2), "ratio")
    more = f" and of {len(kept) - 1} more" if len(kept) > 1 else ""
    return f"queue protection sends {share} of {kept[0].label}'s packets{more} to the classic queue"


def advise_marking(result: Record, queue: str, worst: Finding) -> str:
    """Give advice where a flow without bulk data waits in a classic queue of an aggregate."""
    import polars as pl

    aggregate = next((one for one in gather_aggregates(result) if one.classic == queue), None)
    rows = result.flows.filter(pl.col("flow") == worst.flow, pl.col("carries") == "data")
    if aggregate is None or rows.is_empty() or not (rows["transport"] == "udp").all():
        return ""
    if (rows["throughput_bps"] > LITTLE).any():
        return ""
    if any(worst.flow in flow.members for flow in aggregate.users):
        return ""
    scenario = result.manifest["scenario"]
    name = (
        worst.flow.rpartition(".")[0] if worst.flow not in scenario.get("flow", {}) else worst.flow
    )
    if name not in scenario.get("flow", {}) or find_value(scenario, f"flow.{name}.dscp"):
        return ""
    return (
        f"Marked as traffic that builds no queue, {worst.flow}'s packets use the low-latency queue:"
        f" try `--set flow.{name}.dscp={NON_QUEUE_BUILDING}`."
    )


def find_queue_of(result: Record, flow: str, direction: str) -> str | None:
    """Give the aggregates' queue that sent most of a flow's packets; None where there is none."""
    import polars as pl

    rows = result.low_latency.filter(pl.col("flow") == flow, pl.col("direction") == direction)
    return None if rows.is_empty() else str(rows.sort("packets")["queue"][-1])
