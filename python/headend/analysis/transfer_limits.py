"""What limits each transfer: a window, losses of the path, its own pace, or its share of a line.

A transfer that nothing else limits has its share of a line.
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
from headend.analysis.queues import FULL, OWN_RATE, SHORT_WAIT, name_classic, weigh_queues
from headend.analysis.requests import RequestLimit, find_request_limit
from headend.analysis.routes import OPPOSITE, list_queues
from headend.analysis.throttling import measure_time_under_way
from headend.analysis.windows import (
    HEADERS,
    Window,
    estimate_rate,
    measure_ack_delay,
    measure_rtt,
    measure_time_at,
    read_receive_window,
    read_send_buffer,
)
from headend.engine.description import find_queue, list_applications
from headend.results.record import Record, cached_on_record
from headend.scenario.groups import name_group
from headend.scenario.parameters import find_value, name_choice
from headend.text.quantity import format_quantity

#: Share of the time in which something must hold a sender back to be what limits it.
MOST_OF_THE_TIME = 0.5

#: Least share of a round trip that packets or acknowledgements wait in a queue for that to be told.
MOSTLY_WAITS = 0.5


class Limit(StrEnum):
    """What limits a transfer."""

    RECEIVE_WINDOW = "receive_window"
    SEND_BUFFER = "send_buffer"
    PATH_LOSS = "path_loss"
    APPLICATION = "application"
    #: The other direction, in which its acknowledgements are, is full.
    ACKNOWLEDGEMENTS = "acknowledgements"
    #: Its modem asks for one burst at a time.
    REQUESTS = "requests"
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
    link
        The link that it belongs to.
    """

    name: str
    rate_bps: float = 0.0
    discipline: str = ""
    link: str = ""


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
        The round trip, ns, of a window the time that its data is outstanding; None where it was not
        measured.
    window
        The window, or the data that fit into a buffer; empty where the scenario has neither.
    buffer
        The buffer that the window is a part of, as the scenario has it; empty where there is none.
    allowed_bps
        The rate that window, or losses, and round trip allow, bit/s.
    lost_ratio
        Share of its packets that the path loses.
    control
        The sender's congestion control.
    slow_queue, wait_ns
        The queue in which packets, or acknowledgements, wait for most of the round trip, and how
        long, ns.
    are_acks
        Whether those that wait there are its acknowledgements.
    line
        What is full on its way; None where nothing is.
    requests
        What its modem's requests allow; None where they do not limit it.
    cubic_bps
        What CUBIC would get with the losses of the path, bit/s, where that is less than this sender
        gets of a full line; None otherwise.
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
    buffer: str = ""
    allowed_bps: float | None = None
    lost_ratio: float = 0.0
    control: str = ""
    slow_queue: str = ""
    wait_ns: float = 0.0
    are_acks: bool = False
    line: FullLine | None = None
    requests: RequestLimit | None = None
    cubic_bps: float | None = None
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
    queues = {own: list_queues(record, first, own) for own in (way, OPPOSITE[way])}
    full, back = (_find_full(record, own) for own in queues.values())
    tcp, names = flow.get("tcp", {}), {row["flow"] for row in rows}
    receives, sends = read_receive_window(tcp), read_send_buffer(tcp)
    at_window = measure_time_at(record, names, receives.size, int(tcp.get("mtu", 1500)))
    requests = find_request_limit(record, queues[way]) if way == "up" else None
    kind, ratio = _choose_kind(
        record, rows, full, requests, at_window, is_back_full=back is not None
    )
    if kind is None:
        return None
    rtt, lost, control = measure_rtt(record, names), _lose_on_path(rows), name_control(flow)
    none = Window(math.inf, "")
    held = {Limit.RECEIVE_WINDOW: receives, Limit.SEND_BUFFER: sends}.get(kind, none)
    is_held, allowed, cubic = math.isfinite(held.size), None, None
    segment = int(tcp.get("mtu", 1500)) - HEADERS
    if rtt and is_held:
        rtt /= 1 + measure_ack_delay(tcp) / held.size
        allowed = held.size * 8e9 / rtt
    elif rtt and kind is Limit.PATH_LOSS:
        allowed = estimate_rate(control, lost, rtt, segment)
    elif rtt and kind is Limit.LINE:
        cubic = estimate_rate("cubic", lost, rtt, segment)
    goodput = fmean(row["goodput_bps"] for row in rows)
    slow = _find_slow_queue([*queues["up"], *queues["down"]], rtt) if is_held else None
    return TransferLimit(
        flow=name,
        count=len(rows),
        direction=way,
        kind=kind,
        goodput_bps=goodput,
        ratio=ratio,
        rtt_ns=rtt,
        window=format_quantity(held.size, "size") if is_held else "",
        buffer=held.buffer,
        allowed_bps=allowed,
        lost_ratio=lost,
        control=control,
        slow_queue=slow["queue"] if slow else "",
        wait_ns=slow["median"] if slow else 0.0,
        are_acks=bool(slow and slow["direction"] != way),
        line=full,
        requests=requests if kind is Limit.REQUESTS else None,
        cubic_bps=cubic if cubic is not None and cubic < goodput else None,
        links=len({row["link"] for row in queues[way]}),
    )


def _choose_kind(
    record: Record,
    rows: Sequence[Mapping[str, Any]],
    full: FullLine | None,
    requests: RequestLimit | None,
    at_window: float,
    *,
    is_back_full: bool,
) -> tuple[Limit | None, float]:
    """Choose what limits most of the members, and for which share of the time; or nothing.

    Parameters
    ----------
    full
        What is full on their way, or None.
    requests
        What the requests of their modem allow, or None.
    at_window
        Share of the time in which the congestion window had grown to the receive window.
    is_back_full
        Whether something is full on the way of their acknowledgements.
    """
    columns = {
        "rwnd_limited_ratio": Limit.RECEIVE_WINDOW,
        "sndbuf_limited_ratio": Limit.SEND_BUFFER,
        "app_limited_ratio": Limit.APPLICATION,
    }
    for column, kind in columns.items():
        held = fmean(read_number(row[column]) or 0.0 for row in rows)
        # A congestion window that ends at the receive window is no limit of its own.
        held = max(held, at_window) if kind is Limit.RECEIVE_WINDOW else held
        if held > MOST_OF_THE_TIME:
            return kind, held
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
    if requests is not None:
        return Limit.REQUESTS, 1.0
    return (Limit.ACKNOWLEDGEMENTS, 1.0) if is_back_full else (None, 0.0)


def _find_full(record: Record, queues: Sequence[dict[str, Any]]) -> FullLine | None:
    """Find what is full on a flow's way, of its queues: a line, or a channel that they share.

    Of several lines it is that of the lowest rate. A channel limits the flow rather than a line
    that does not get all of its rate, if the flow's packets wait longer for the channel; and rather
    than any line before which they hardly wait, if they wait for the channel.
    """
    lines = [row for row in queues if row["utilisation"] > FULL]
    line = min(lines, key=lambda row: row["rate_bps"], default=None)
    waits = {
        state: max(row["median"] for row in sharing)
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
    channel = max(waits, key=lambda state: waits[state], default=None)
    if channel and (
        line is None
        or (line["utilisation"] <= OWN_RATE and waits[channel] > line["median"])
        or line["median"] <= SHORT_WAIT < waits[channel]
    ):
        return FullLine(channel.title, link=channel.link)
    if line is None:
        return None
    # The two queues of an aggregate share one line, which has the name of the classic queue.
    name = name_classic(line["queue"])
    own = next((row for row in weigh_queues(record) if row["queue"] == name), line)
    return FullLine(own["queue"], own["rate_bps"], own["discipline"], own["link"])


def _lose_on_path(rows: Sequence[Mapping[str, Any]]) -> float:
    sent = sum(row["packets_sent"] for row in rows)
    return sum(row["discarded_corrupted"] for row in rows) / sent if sent else 0.0


def name_control(flow: Mapping[str, Any]) -> str:
    """Name the congestion control of a flow of a resolved scenario; empty where it has none."""
    return name_choice(find_value(flow, "tcp.congestion"))


def _find_slow_queue(passed: Sequence[dict[str, Any]], rtt: float | None) -> dict[str, Any] | None:
    """Find the queue, of those passed, in which packets wait for most of a flow's round trip.

    Behind a scheduler the flow's own wait is not known.
    """
    own = [row for row in passed if not find_queue(row["discipline"]).lets_pass]
    slow = max(own, key=lambda row: row["median"], default=None)
    return slow if slow and rtt and slow["median"] >= MOSTLY_WAITS * rtt else None


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


def list_notable(limits: Sequence[TransferLimit]) -> Iterator[TransferLimit]:
    """List the limits that are no share of a line, and those shares that losses do not reduce."""
    return (limit for limit in limits if limit.kind is not Limit.LINE or limit.cubic_bps)
