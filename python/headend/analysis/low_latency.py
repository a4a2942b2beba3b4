"""Aggregates with low latency: who uses them, how their queues fare, and whom protection hit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headend.analysis.key_figure import read_number
from headend.analysis.queues import SHORT_WAIT, is_low_latency, name_classic
from headend.results.record import Record, cached_on_record
from headend.scenario.groups import find_groups, label_member

#: Delay of the low-latency queue at the 99th percentile from which on packets wait in it, ns.
NOTICED = 1e6

#: Aggregates told of.
MOST_AGGREGATES = 2

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
        flows = [flow for flow in self.flows if flow.sanctioned]
        return tuple(sorted(flows, key=lambda flow: -flow.sanctioned))

    @property
    def marked_ratio(self) -> float | None:
        """Share of the packets of the low-latency queue that left it with a CE mark."""
        packets = sum(flow.packets for flow in self.flows)
        return sum(flow.ce_packets for flow in self.flows) / packets if packets else None


@cached_on_record
def gather_aggregates(result: Record) -> list[Aggregate]:
    """Give the aggregates with low latency, in the order of the table of queues."""
    queues = {row["queue"]: row for row in result.rows("queues")}
    low_queues = [name for name in queues if is_low_latency(name)]
    if not low_queues or "low_latency" not in result.tables:
        return []
    sent = _split_by_queue(result.rows("low_latency"))
    judged = _split_by_queue(result.rows("queue_protection"))
    limits = _read_limits(result)
    groups = find_groups(list(dict.fromkeys(row["flow"] for row in result.rows("flows"))))
    aggregates = []
    for low in low_queues:
        row, classic = queues[low], queues.get(name_classic(low), {})
        threshold, exponent = limits.get(name_classic(low), (None, None))
        flows = _gather_flows(sent, judged, low, lambda name: label_member(name, groups))
        aggregates.append(
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
    return aggregates


def _split_by_queue(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    parts: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        parts.setdefault(row["queue"], []).append(row)
    return parts


def _read_limits(result: Record) -> dict[str, tuple[int | None, int | None]]:
    """Give the score threshold (µs) and drain exponent of each aggregate, by classic queue."""
    values: dict[str, dict[str, int]] = {}
    for row in result.rows("mib"):
        if row["service_flow"] and "AggregateServiceFlowQp" in row["object"]:
            parts = (row["link"], row["modem"], row["service_flow"])
            queue = ".".join(filter(None, parts))
            values.setdefault(queue, {})[row["object"].removeprefix("docsQos")] = row["value"]
    return {
        queue: (objects.get(_SCORE_THRESHOLD), objects.get(_DRAIN_EXPONENT))
        for queue, objects in values.items()
        if objects.get("AggregateServiceFlowQpEnable")
    }


def _gather_flows(
    sent: Mapping[str, list[dict[str, Any]]],
    judged: Mapping[str, list[dict[str, Any]]],
    low: str,
    label: Any,
) -> tuple[AggregateFlow, ...]:
    pooled: dict[str, dict[str, Any]] = {}

    def take(name: str) -> dict[str, Any]:
        entry = pooled.setdefault(label(name), {"members": {}})
        entry["members"][name] = None
        return entry

    def add(entry: dict[str, Any], **counts: float) -> None:
        for key, count in counts.items():
            entry[key] = entry.get(key, 0) + count

    for row in sent.get(low, []):
        add(take(row["flow"]), packets=row["packets"], ce_packets=row["ce_packets"])
    for row in sent.get(name_classic(low), []):
        add(take(row["flow"]), classic_packets=row["packets"])
    for row in judged.get(low, []):
        entry = take(row["flow"])
        add(
            entry,
            judged=row["packets"],
            sanctioned=row["sanctioned"],
            reordered=row["reordered"],
            congestion_bytes=row["congestion_bytes"],
        )
        entry["score_max_ns"] = max(entry.get("score_max_ns", 0.0), float(row["score_max_ns"]))
        for key, choose in (("first_sanction_ns", min), ("last_sanction_ns", max)):
            times = [read_number(row[key]), entry.get(key)]
            entry[key] = choose((time for time in times if time is not None), default=None)
    flows = [
        AggregateFlow(name, tuple(entry.pop("members")), **entry) for name, entry in pooled.items()
    ]
    return tuple(sorted(flows, key=lambda flow: (-flow.packets, -flow.judged, flow.label)))


def choose_aggregates(result: Record, queue: str | None) -> list[Aggregate]:
    """Choose the aggregates to tell of: a queue's own, then those with waits or with sanctions.

    Parameters
    ----------
    queue
        The queue that the run is judged by.
    """
    aggregates = gather_aggregates(result)
    judged = [aggregate for aggregate in aggregates if queue in (aggregate.classic, aggregate.low)]
    is_few = len(aggregates) <= MOST_AGGREGATES
    further = [
        aggregate
        for aggregate in aggregates
        if aggregate not in judged and (aggregate.sanctioned or (is_few and aggregate.is_noticed))
    ]
    return [*judged, *further]


def find_queue_of(result: Record, flow: str, direction: str) -> str | None:
    """Give the aggregates' queue that sent most of a flow's packets; None where there is none."""
    rows = [
        row
        for row in result.rows("low_latency")
        if row["flow"] == flow and row["direction"] == direction
    ]
    return str(max(rows, key=lambda row: row["packets"])["queue"]) if rows else None
