"""What limits each transfer: a window, losses of the path, its own pace, or its share of a line.

A transfer that nothing else limits has its share of a line. Congestion windows under loss are those
of Mathis, Semke, Mahdavi and Ott (CCR 27(3), 1997) and, for CUBIC, of RFC 9438, section 5.1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean
from typing import Any

from headend.analysis.channels import gather_channels
from headend.analysis.key_figure import read_number
from headend.analysis.queues import FULL, OWN_RATE
from headend.analysis.routes import OPPOSITE, list_queues
from headend.analysis.throttling import measure_time_under_way
from headend.engine.description import list_applications
from headend.results.record import Record, cached_on_record
from headend.scenario.groups import name_group
from headend.scenario.parameters import find_value, name_choice
from headend.text.quantity import parse_quantity

#: Share of the time in which something must hold a sender back to be what limits it.
MOST_OF_THE_TIME = 0.5

#: Least share of a round trip that acknowledgements wait in a queue for that to be told.
ACKS_WAIT = 0.5

#: Headers of IP and TCP, with timestamps, of a packet: what a segment has less than the MTU, B.
_HEADERS = 52

#: CUBIC's constants (RFC 9438, section 5.1).
_CUBIC_C, _CUBIC_BETA = 0.4, 0.7


class Limit(StrEnum):
    """What limits a transfer."""

    RECEIVE_WINDOW = "receive_window"
    SEND_BUFFER = "send_buffer"
    PATH_LOSS = "path_loss"
    APPLICATION = "application"
    #: The other direction, in which its acknowledgements are, is full.
    ACKNOWLEDGEMENTS = "acknowledgements"
    #: Nothing of its own: a full line gives it its share.
    LINE = "line"


@dataclass(frozen=True)
class FullLine:
    """What is full on a flow's way: a queue's line, or a channel that queues share.

    Parameters
    ----------
    name
        The queue's name, or the channel's in a sentence.
    rate_bps
        The line's rate, bit/s; 0 of a channel, of which a flow has what others leave it.
    discipline
        The queue's; empty of a channel.
    """

    name: str
    rate_bps: float = 0.0
    discipline: str = ""


@dataclass(frozen=True)
class TransferLimit:
    """What limits a transfer, or each of a group of transfers.

    Parameters
    ----------
    flow
        The flow, or the name of the group.
    count
        How many there are.
    goodput_bps
        What it gets, bit/s; of a group what each gets on average.
    ratio
        Share of the time for which that holds; of an application, in which it sends nothing.
    rtt_ns
        The mean round trip, ns; None where it was not measured.
    window
        The window or buffer, as the scenario has it; empty where it has none, or one that adapts.
    allowed_bps
        The rate that window, or losses, and round trip allow, bit/s.
    lost_ratio
        Share of its packets that the path loses.
    control
        The sender's congestion control.
    ack_queue, ack_wait_ns
        The queue in which its acknowledgements wait for most of the round trip, and how long, ns.
    line
        What is full on its way; None where nothing is.
    links
        How many links its packets cross.
    """

    flow: str
    count: int
    direction: str
    kind: Limit
    goodput_bps: float
    ratio: float
    rtt_ns: float | None = None
    window: str = ""
    allowed_bps: float | None = None
    lost_ratio: float = 0.0
    control: str = ""
    ack_queue: str = ""
    ack_wait_ns: float = 0.0
    line: FullLine | None = None
    links: int = 1


@cached_on_record
def find_transfer_limits(record: Record) -> list[TransferLimit]:
    """Find what limits each transfer over TCP that got something; groups count as one."""
    members: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in record.rows("flows"):
        if (
            row["carries"] == "data"
            and row["transport"] == "tcp"
            and row["application"] in list_applications("transfer")
            and row["goodput_bps"] > 0
        ):
            key = (name_group(row["flow"]) or row["flow"], row["direction"])
            members.setdefault(key, []).append(row)
    return [
        limit
        for (name, way), rows in members.items()
        if (limit := _find_limit(record, name, way, rows))
    ]


def _find_limit(
    record: Record, name: str, way: str, rows: Sequence[Mapping[str, Any]]
) -> TransferLimit | None:
    flow = record.manifest["scenario"].get("flow", {}).get(name, {})
    first = rows[0]["flow"]
    full = _find_full(record, first, way)
    back = _find_full(record, first, OPPOSITE[way])
    kind, ratio = _choose_kind(record, rows, full, is_back_full=back is not None)
    if kind is None:
        return None
    rtt, tcp = _measure_rtt(record, {row["flow"] for row in rows}), flow.get("tcp", {})
    lost, control = _lose_on_path(rows), name_control(flow)
    allowed, window = None, ""
    if kind is Limit.RECEIVE_WINDOW:
        window = _read_size(tcp, "receive_window") or _read_size(tcp, "receive_buffer")
    elif kind is Limit.SEND_BUFFER:
        window = _read_size(tcp, "send_buffer")
    if rtt and window:
        allowed = parse_quantity(window, "size").value * 8e9 / rtt
    elif rtt and kind is Limit.PATH_LOSS:
        allowed = estimate_rate(control, lost, rtt, int(tcp.get("mtu", 1500)) - _HEADERS)
    ack_queue, ack_wait = _find_ack_wait(record, first, way, rtt) if window else ("", 0.0)
    return TransferLimit(
        flow=name,
        count=len(rows),
        direction=way,
        kind=kind,
        goodput_bps=fmean(row["goodput_bps"] for row in rows),
        ratio=ratio,
        rtt_ns=rtt,
        window=window,
        allowed_bps=allowed,
        lost_ratio=lost,
        control=control,
        ack_queue=ack_queue,
        ack_wait_ns=ack_wait,
        line=full,
        links=len({row["link"] for row in list_queues(record, first, way)}),
    )


def _choose_kind(
    record: Record,
    rows: Sequence[Mapping[str, Any]],
    full: FullLine | None,
    *,
    is_back_full: bool,
) -> tuple[Limit | None, float]:
    """Choose what limits most of the members, and for which share of the time; or nothing.

    Parameters
    ----------
    full
        What is full on their way, or None.
    is_back_full
        Whether something is full on the way of their acknowledgements.
    """
    columns = {
        "rwnd_limited_ratio": Limit.RECEIVE_WINDOW,
        "sndbuf_limited_ratio": Limit.SEND_BUFFER,
        "app_limited_ratio": Limit.APPLICATION,
    }
    for column, kind in columns.items():
        shares = [read_number(row[column]) or 0.0 for row in rows]
        if fmean(shares) > MOST_OF_THE_TIME:
            return kind, fmean(shares)
    resting = fmean(1 - measure_time_under_way(record, [row["flow"]]) for row in rows)
    if resting > MOST_OF_THE_TIME:
        return Limit.APPLICATION, resting
    by_queues = sum(
        row[column]
        for row in rows
        for column in row
        if column.startswith("discarded_") and column != "discarded_corrupted"
    )
    on_path = sum(row["discarded_corrupted"] for row in rows)
    by_window = [
        sum(read_number(row[f"{name}_limited_ratio"]) or 0.0 for name in ("cwnd", "recovery"))
        for row in rows
    ]
    if on_path > by_queues and fmean(by_window) > MOST_OF_THE_TIME:
        return Limit.PATH_LOSS, fmean(by_window)
    if full is not None:
        return Limit.LINE, 1.0
    return (Limit.ACKNOWLEDGEMENTS, 1.0) if is_back_full else (None, 0.0)


def _find_full(record: Record, flow: str, way: str) -> FullLine | None:
    """Find what is full on a flow's way in one direction: a line, or a channel that queues share.

    Of several lines it is that of the lowest rate. A channel limits the flow rather than a line
    that does not get all of its rate, if the flow's packets wait longer for the channel.
    """
    queues = list_queues(record, flow, way)
    lines = [row for row in queues if row["utilisation"] > FULL]
    line = min(lines, key=lambda row: row["rate_bps"], default=None)
    waits = {
        state.title: max(row["median"] for row in sharing)
        for state in gather_channels(record)
        if state.is_full
        and (
            sharing := [
                row
                for row in queues
                if state.serves(row["link"], row["direction"]) and row["utilisation"] <= OWN_RATE
            ]
        )
    }
    channel = max(waits, key=lambda title: waits[title], default=None)
    if channel and (
        line is None or (line["utilisation"] <= OWN_RATE and waits[channel] > line["median"])
    ):
        return FullLine(channel)
    return FullLine(line["queue"], line["rate_bps"], line["discipline"]) if line else None


def _measure_rtt(record: Record, flows: set[str]) -> float | None:
    """Give the mean round trip that flows' connections measured, ns."""
    series, warmup = record.lists("connection_series"), record.manifest.get("warmup_ns", 0)
    columns = ("flow", "time_ns", "srtt_ns")
    trips = [
        srtt
        for flow, time, srtt in zip(*(series[name] for name in columns), strict=True)
        if flow in flows and time > warmup and not math.isnan(srtt)
    ]
    return fmean(trips) if trips else None


def _lose_on_path(rows: Sequence[Mapping[str, Any]]) -> float:
    sent = sum(row["packets_sent"] for row in rows)
    return sum(row["discarded_corrupted"] for row in rows) / sent if sent else 0.0


def name_control(flow: Mapping[str, Any]) -> str:
    """Name the congestion control of a flow of a resolved scenario; empty where it has none."""
    return name_choice(find_value(flow, "tcp.congestion"))


def _read_size(tcp: Mapping[str, Any], key: str) -> str:
    """Give a size that a scenario sets; empty where it sets none, or one that adapts."""
    text = str(tcp.get(key, ""))
    return text if text[:1].isdigit() else ""


def _find_ack_wait(record: Record, flow: str, way: str, rtt: float | None) -> tuple[str, float]:
    """Find the queue in which acknowledgements wait for most of a round trip; the longest wait."""
    back = list_queues(record, flow, OPPOSITE[way])
    worst = max(back, key=lambda row: row["median"], default=None)
    if worst is None or not rtt or worst["median"] < ACKS_WAIT * rtt:
        return "", 0.0
    return worst["queue"], worst["median"]


def estimate_rate(control: str, lost_ratio: float, rtt_ns: float, segment: float) -> float | None:
    """Estimate what a sender gets that loses packets at random and slows down for each loss, bit/s.

    Parameters
    ----------
    control
        ``cubic``, or one that grows by a segment each round trip and halves.
    lost_ratio
        Share of its packets that are lost.
    rtt_ns
        The round trip, ns.
    segment
        Payload of a segment, B.

    Examples
    --------
    >>> round(estimate_rate("reno", 1 / 200, 100e6, 1448) / 1e6, 2)
    2.01
    """
    if control not in ("reno", "cubic") or not lost_ratio:
        return None
    window = math.sqrt(1.5 / lost_ratio)
    if control == "cubic":
        growth = _CUBIC_C * (3 + _CUBIC_BETA) / (4 * (1 - _CUBIC_BETA))
        window = max(window, (growth * (rtt_ns / 1e9 / lost_ratio) ** 3) ** 0.25)
    return window * segment * 8e9 / rtt_ns


@dataclass(frozen=True)
class ControlShare:
    """What transfers with one congestion control get each, bit/s, and who they are."""

    flow: str
    control: str
    goodput_bps: float


#: From this ratio on, transfers of two congestion controls have unequal shares.
UNEQUAL = 2.0


def find_control_shares(record: Record) -> tuple[ControlShare, ControlShare, FullLine] | None:
    """Give the transfers with most and with least, where their controls differ, and their line.

    Only transfers of one direction over the same hosts' path are compared.
    """
    flows = record.manifest["scenario"].get("flow", {})
    shares: dict[tuple[str, str, FullLine], list[ControlShare]] = {}
    for limit in find_transfer_limits(record):
        if limit.kind is Limit.LINE and limit.line:
            flow = flows.get(limit.flow, {})
            key = (limit.direction, str(flow.get("host", "")), limit.line)
            share = ControlShare(limit.flow, limit.control, limit.goodput_bps)
            shares.setdefault(key, []).append(share)
    for (_, _, line), found in shares.items():
        ordered = sorted(found, key=lambda share: share.goodput_bps)
        if len({share.control for share in found}) > 1:
            return ordered[-1], ordered[0], line
    return None


def list_told(limits: Sequence[TransferLimit]) -> Iterator[TransferLimit]:
    """List the limits that are no share of a line."""
    return (limit for limit in limits if limit.kind is not Limit.LINE)
