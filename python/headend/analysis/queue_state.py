"""The state of a queue in a run: its delays, losses and room, and whose packets it lost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headend.analysis.bottleneck import find_shared_bottleneck
from headend.analysis.key_figure import read_number
from headend.analysis.queues import (
    LONG_WAIT,
    LOSSY_SHARE,
    STANDING_TIME,
    STOOD_AT_TIMES,
    locate_key,
    weigh_queues,
)
from headend.engine.columns import MIXED
from headend.engine.description import Reason, describe, find_queue, list_discards
from headend.scenario.groups import find_groups
from headend.scenario.parameters import find_value

if TYPE_CHECKING:
    from headend.results.record import Record

#: Share of its buffer up to which DOCSIS-PIE sleeps (RFC 8034).
SLEEPS_TO = 1 / 3


@dataclass(frozen=True)
class QueueState:
    """The state of a queue in a run. Delays in ns.

    Parameters
    ----------
    standing_ratio
        The share of the time in which the queue stood: a packet in it had waited for more than
        50 ms.
    by_law
        How many packets were discarded by the queue's law, or by its limit for each flow.
    overflowed
        How many packets were discarded because the queue had no room.
    reason
        The reason for which most packets were discarded; empty where none was.
    alike
        How many queues of its group have its rate, itself included.
    standing
        How many of these stood for most of the time.
    room_ns
        The time in which the line sends as many bytes as the queue's limit; None without a limit in
        bytes.
    filled_ratio
        The longest backlog as a share of that limit; None without such a limit.
    is_tcps
        Whether most packets of its direction that queues discarded or marked, for the reasons
        found in this queue, were TCP's.
    """

    queue: str
    link: str
    direction: str
    discipline: str
    rate_bps: float
    delay_p50_ns: float | None
    delay_p99_ns: float | None
    standing_ratio: float
    utilisation: float | None
    discarded: int
    lost_ratio: float
    marked: int
    by_law: int = 0
    overflowed: int = 0
    reason: str = ""
    alike: int = 1
    standing: int = 0
    room_ns: float | None = None
    filled_ratio: float | None = None
    is_tcps: bool = False


def describe_queue(result: Record, name: str) -> QueueState | None:
    """Give the state of a queue; None where it had no packets."""
    queues = {member["queue"]: member for member in weigh_queues(result)}
    if name not in queues:
        return None
    row = queues[name]
    limit, rate = _read_limit(row), read_number(row["rate_bps"])
    longest = read_number(row["backlog_max_bytes"])
    group = find_groups(list(queues)).get(name)
    members = [queues[member] for member in group.members if member in queues] if group else [row]
    # Of its tier: others of its group have another rate.
    alike = [member for member in members if member["rate_bps"] == row["rate_bps"]]
    return QueueState(
        queue=row["queue"],
        link=row["link"],
        direction=row["direction"],
        discipline=row["discipline"],
        rate_bps=row["rate_bps"],
        delay_p50_ns=read_number(row["delay_p50_ns"]),
        delay_p99_ns=read_number(row["delay_p99_ns"]),
        standing_ratio=row["standing_ratio"],
        utilisation=read_number(row["utilisation"]),
        discarded=row["lost"],
        lost_ratio=row["lost_ratio"],
        marked=row["marked"],
        by_law=sum(row[name] for name in list_discards("share", "law")),
        overflowed=row["discarded_overlimit"],
        reason=_find_reason(row),
        alike=len(alike),
        standing=sum(member["standing_ratio"] > STANDING_TIME for member in alike),
        room_ns=limit * 8e9 / rate if limit is not None and rate else None,
        filled_ratio=longest / limit if limit and longest is not None else None,
        is_tcps=_is_tcps(result, row),
    )


def _read_limit(row: Mapping[str, Any]) -> float | None:
    """Give a queue's limit in bytes; None where it has none."""
    limit = read_number(row["limit_bytes"])
    return None if limit is None or math.isinf(limit) else limit


def _is_tcps(result: Record, row: Mapping[str, Any]) -> bool:
    """Say whether TCP loses the packets, or has them marked; which queue did it is not known."""
    reasons = [reason.column for reason in _list_reasons() if row[reason.column]]
    reasons += ["marked"] if row["marked"] else []
    if not reasons:
        return False
    tcp = total = 0.0
    for flow in result.rows("flows"):
        count = sum(flow[reason] for reason in reasons)
        if count and flow["direction"] == row["direction"]:
            total += count
            tcp += count * _find_share_of_tcp(
                result, flow["flow"], flow["transport"], flow["direction"]
            )
    return 2 * tcp > total


def _find_share_of_tcp(result: Record, flow: str, transport: str, direction: str) -> float:
    """Give the share of TCP in what a flow lost, or had marked; a host's connections tell."""
    if transport != MIXED:
        return float(transport == "tcp")
    lost: dict[str, int] = dict.fromkeys(("tcp", "other"), 0)
    for row in result.rows("real_flows"):
        if row["flow"] == flow:
            lost["tcp" if row["protocol"] == "tcp" else "other"] += (
                row[f"discarded_{direction}"] + row[f"marked_{direction}"]
            )
    return lost["tcp"] / max(sum(lost.values()), 1)


def _list_reasons() -> list[Reason]:
    """List the reasons for which queues lose packets."""
    return [reason for reason in describe().reasons.values() if reason.look]


def _find_reason(row: Mapping[str, Any]) -> str:
    """Find the reason for most of a queue's losses; none where it lost nothing."""
    counts = {reason.name: row[reason.column] for reason in _list_reasons()}
    reason = max(counts, key=counts.__getitem__)
    return reason if counts[reason] else ""


def describe_shared_queue(results: Sequence[Record]) -> list[QueueState | None]:
    """Give the state, in each run, of the queue that runs are compared by; None without one."""
    name = find_shared_bottleneck(results)
    return [describe_queue(result, name) if name else None for result in results]


def does_harm(queue: QueueState) -> bool:
    """Say whether a queue is long or lossy enough to be felt."""
    is_long = queue.standing_ratio > STOOD_AT_TIMES or (queue.delay_p99_ns or 0.0) > LONG_WAIT
    return is_long or queue.lost_ratio > LOSSY_SHARE


def find_passing(result: Record, queue: QueueState) -> str:
    """Say which packets pass others in a queue, as the end of a sentence; or nothing."""
    passing = find_queue(queue.discipline).lets_pass
    return "" if not passing or _is_one_band(result, queue) else passing


def _is_one_band(result: Record, queue: QueueState) -> bool:
    """Say whether all packets of a strict-priority queue are in one band: none passes another."""
    key = locate_key(result, queue.queue)
    if queue.discipline != "strict_priority" or key is None:
        return False
    scenario = result.manifest["scenario"]
    path = f"{key}.strict_priority.bands"
    bands = find_value(scenario, path)
    if not bands:
        return False
    dscps = {flow.get("dscp", 0) for flow in scenario.get("flow", {}).values()}
    # The empty band takes what no other names.
    rest = bands.index([])
    used = {
        next((index for index, band in enumerate(bands) if dscp in band), rest) for dscp in dscps
    }
    # What flows of other lines say of themselves is left out: the engine warns of bands to which
    # nothing comes here.
    warned = [
        index
        for index in used - {rest}
        if any(text.startswith((f"{path}: ", f"{path}[{index}]: ")) for text in result.warnings)
    ]
    return len(used.difference(warned)) <= 1


def is_asleep(queue: QueueState) -> bool:
    """Say whether a queue's law did nothing because it begins only at some fill of the buffer."""
    is_low = queue.filled_ratio is not None and queue.filled_ratio < SLEEPS_TO
    return queue.discipline == "docsis_pie" and is_low
