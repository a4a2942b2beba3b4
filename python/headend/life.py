"""The life of one packet, put together from what the engine saw: where it was, what was asked and granted, and when.

The engine's table ``steps`` has a row for whatever happened to the packet, and to the requests of its queue while it
waited there (docs/reference/results.md). Here those become moments on lanes, the way the packet took between them, and
the way the requests for it took.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from headend.errors import InputError, suggest
from headend.quantity import format_quantity, parse_quantity

if TYPE_CHECKING:
    from headend.expect import Vocabulary
    from headend.result import Result

#: Of a long wait, so many of the steps at its beginning and its end are drawn.
FIRST_STEPS, LAST_STEPS = 6, 10

#: What a queue's steps are called that are about requests, not about the packet.
REQUESTING = ("answered", "deferred", "granted", "prepared", "requested")

#: And about the channel of a cell, which a packet contends for after it left its queue.
CONTENDING = ("aired", "backed_off")

#: Frames of a cell, as the engine names them, in words.
FRAMES = {
    "ack": "acknowledgement",
    "cts": "CTS",
    "data": "frame",
    "data_lost": "frame that does not arrive",
    "rts": "RTS",
    "rts_lost": "RTS that does not arrive",
}

#: Reasons for a discard, as the engine names them, in words.
REASONS = {
    "ack_thinned": "a newer acknowledgement made it superfluous",
    "congested": "dropped by the AQM",
    "corrupted": "damaged on the way",
    "filtered": "forbidden by a classifier",
    "flow_limit": "the flow's share is full",
    "not_registered": "the modem is not registered yet",
    "overlimit": "the buffer is full",
    "retry_limit": "retries used up",
    "unresponsive": "the flow does not respond",
}


class Lane(IntEnum):
    """Where something happens, from the sender to the receiver."""

    SENDER = 0
    MODEM = 1
    CHANNEL = 2
    CMTS = 3
    RECEIVER = 4


@dataclass(frozen=True)
class Moment:
    """Something that happened: when, in ns, on which lane, in words."""

    at_ns: int
    lane: Lane
    text: str
    kind: str


@dataclass(frozen=True)
class Leg:
    """A way from one place and time to another: of the packet, of a request, of a MAP, of others' frames, or of what collided."""

    kind: str
    from_ns: int
    to_ns: int
    start: Lane
    end: Lane


@dataclass(frozen=True)
class Gap:
    """A part of a long wait whose steps are not among the moments: from the first to the last of them, in ns, and how many."""

    from_ns: int
    to_ns: int
    count: int


@dataclass(frozen=True)
class Life:
    """One packet's moments in order of time, and the legs between them.

    Parameters
    ----------
    left_out
        Steps of a long wait that are not among the moments.
    asks
        Whether it waited for grants; where it did not, its queue stands for the modem.
    contends
        Whether it contended for the channel of a cell.
    gaps
        Where those steps are that are left out.
    """

    flow: str
    queue: str
    born_ns: int
    moments: list[Moment]
    legs: list[Leg]
    left_out: int
    asks: bool
    contends: bool = False
    gaps: tuple[Gap, ...] = ()


def parse_follow(text: str, vocabulary: Vocabulary, duration_ns: int) -> tuple[str, int]:
    """Read ``FLOW@TIME``: whose next packet is followed, from when on.

    Raises
    ------
    InputError
        When there is no such flow, or the time is none or after the end.
    """
    flow, at, when = text.rpartition("@")
    if not at or not flow.strip() or not when.strip():
        raise InputError(f'--explain {text}: expected FLOW@TIME, such as "call@12 s"')
    flow = flow.strip()
    if flow not in vocabulary.flows:
        known = list(vocabulary.flows)
        raise InputError(f'--explain {text}: no flow is called "{flow}"{suggest(flow, known)}')
    try:
        nanoseconds = parse_quantity(when, "time").value
    except ValueError as error:
        raise InputError(f"--explain {text}: {error}") from error
    if nanoseconds < 0:
        raise InputError(f"--explain {text}: expected a time from 0 s on, the start of the run")
    if nanoseconds >= duration_ns:
        raise InputError(
            f"--explain {text}: expected a time before the end, which is at {format_quantity(duration_ns, 'time')}"
        )
    return vocabulary.members.get(flow, (flow,))[0], int(nanoseconds)


def trace_life(result: Result) -> Life | None:
    """Put together the life that a run was asked to follow; None where it followed none, or the packet never came."""
    steps = result.tables.get("steps")
    if steps is None or steps.is_empty():
        return None
    rows = steps.to_dicts()
    shown, left_out = _choose(rows)
    entered = next(row for row in rows if row["step"] == "enqueued")
    places = _place_queues(rows)
    moments = [moment for row in shown for moment in _tell(row, places)]
    moments += [moment for row in shown for moment in _tell_air(row, rows, places)]
    moments += _tell_burst(rows, shown)
    moments.sort(key=lambda moment: moment.at_ns)
    return Life(
        flow=str(result.manifest.get("explain", [""])[0]),
        queue=entered["queue"],
        born_ns=rows[0]["at_ns"],
        moments=moments,
        legs=[*_lead_packet(rows, places), *_lead_requests(shown), *_lead_air(shown, rows)],
        asks=any(row["step"] in REQUESTING for row in rows),
        contends=any(row["step"] in CONTENDING for row in rows),
        left_out=left_out,
        gaps=tuple(_find_gaps(rows)),
    )


def _choose(rows: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    """Leave out the middle of a long wait: its loop of request and grant, or of the frames of others, repeats itself."""
    left_out = {number for middle in _find_middles(rows) for number in middle}
    return [row for number, row in enumerate(rows) if number not in left_out], len(left_out)


def _find_middles(rows: Sequence[Mapping[str, Any]]) -> Iterator[list[int]]:
    """Find which steps make the middle of each long wait."""
    for steps in (REQUESTING, CONTENDING):
        waiting = [number for number, row in enumerate(rows) if row["step"] in steps]
        if middle := waiting[FIRST_STEPS : max(len(waiting) - LAST_STEPS, FIRST_STEPS)]:
            yield middle


def _find_gaps(rows: Sequence[Mapping[str, Any]]) -> Iterator[Gap]:
    """Say when the middle of each long wait was."""
    for middle in _find_middles(rows):
        yield Gap(rows[middle[0]]["at_ns"], rows[middle[-1]]["at_ns"], len(middle))


def _place_queues(rows: Sequence[Mapping[str, Any]]) -> dict[str, Lane]:
    """Put the queue that asks for grants into the modem, those before it to the sender, those after it to the CMTS."""
    asking = {row["queue"] for row in rows if row["step"] in REQUESTING}
    entered = [row["queue"] for row in rows if row["queue"] and row["step"] != "aired"]
    queues = list(dict.fromkeys(entered))
    places, lane = {}, Lane.SENDER if asking else Lane.MODEM
    for queue in queues:
        places[queue] = Lane.MODEM if queue in asking else lane
        lane = Lane.CMTS if queue in asking else lane
    return places


def _tell(row: Mapping[str, Any], places: Mapping[str, Lane]) -> Iterator[Moment]:
    """Say in words what a step is; a request and a burst are told at the time they are on the channel."""
    at, when, step = row["at_ns"], row["when_ns"], row["step"]
    near, size = places.get(row["queue"], Lane.CMTS), _size(row["bytes"])
    if step == "sent":
        yield Moment(at, Lane.SENDER, f"sent: {size}", "packet")
    elif step == "enqueued":
        yield Moment(at, near, f"enters the queue {row['queue']}", "packet")
    elif step == "deferred":
        text = f"backs off: draws one of {int(row['window'])} opportunities to ask"
        yield Moment(at, Lane.MODEM, text, "request")
    elif step == "requested":
        way = "in a contention slot" if row["detail"] == "contention" else "inside a burst"
        yield Moment(when, Lane.CHANNEL, f"request for {size} {way}", "request")
    elif step == "answered" and row["detail"] == "collided":
        yield Moment(when, Lane.CHANNEL, "the request collides: nobody hears it", "collision")
        yield Moment(at, Lane.MODEM, "MAP without an answer: ask again", "collision")
    elif step == "answered":
        yield Moment(at, Lane.MODEM, "MAP: the request was heard", "map")
    elif step == "granted":
        yield Moment(at, Lane.MODEM, f"MAP: grant of {size}", "map")
    elif step == "prepared":
        yield Moment(when, Lane.CHANNEL, "the burst begins", "packet")
    elif step == "dequeued":
        yield Moment(at, near, f"leaves the queue {row['queue']}", "packet")
    elif step == "marked":
        yield Moment(at, near, "marked CE", "packet")
    elif step == "discarded":
        yield Moment(
            at, near, f"discarded: {REASONS.get(row['detail'], row['detail'])}", "collision"
        )
    elif step == "delivered":
        yield Moment(at, Lane.RECEIVER, "received", "packet")


def _tell_air(
    row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], places: Mapping[str, Lane]
) -> Iterator[Moment]:
    """Say in words what goes over the channel of a cell: the packet's own frames, and of others' exchanges their first frame."""
    if row["step"] not in CONTENDING:
        return
    near = _place_air(rows, places.get(row["queue"], Lane.SENDER))
    when = row["when_ns"]
    if row["step"] == "backed_off":
        drawn, window = int(row["opportunity"]), int(row["window"])
        text = f"backs off: {drawn} idle slots, drawn from {window}"
        yield Moment(row["at_ns"], places[row["queue"]], text, "backoff")
    elif _is_own(row, rows):
        lost = row["detail"].endswith("_lost")
        text = f"{FRAMES[row['detail']]}, {_size(row['bytes'])}"
        yield Moment(when, near, text, "collision" if lost else "packet")
    elif when == row["at_ns"]:
        yield Moment(when, near, f"the channel is taken: {row['queue']} sends", "others")


def _is_own(row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a frame is of the packet's own exchange: of its queue, and after the packet left that queue."""
    left = [one for one in rows if one["step"] == "dequeued" and one["queue"] == row["queue"]]
    return bool(left) and row["at_ns"] >= left[0]["at_ns"]


def _place_air(rows: Sequence[Mapping[str, Any]], near: Lane) -> Lane:
    """Give the lane of a cell's channel: that of the station where the channel that is drawn is a cable's."""
    asks = any(row["step"] in REQUESTING for row in rows)
    return near if asks else Lane.CHANNEL


def _lead_air(
    shown: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]]
) -> Iterator[Leg]:
    """Give the time that frames take on the channel of a cell, where that is the only channel."""
    if _place_air(rows, Lane.MODEM) != Lane.CHANNEL:
        return
    for row in shown:
        if row["step"] == "aired":
            own = _is_own(row, rows)
            lost = row["detail"].endswith("_lost")
            kind = "collision" if own and lost else "packet" if own else "others"
            yield Leg(kind, row["when_ns"], row["until_ns"], Lane.CHANNEL, Lane.CHANNEL)


def _size(value: float) -> str:
    return "" if math.isnan(value) else f"{int(value):,} B"


def _lead_packet(rows: Sequence[Mapping[str, Any]], places: Mapping[str, Lane]) -> Iterator[Leg]:
    """Give the way of the packet: from its host into the queue, through the wait, over the channel, to its receiver."""
    lane, since = Lane.SENDER, rows[0]["at_ns"]
    for row in rows:
        at, step = row["at_ns"], row["step"]
        if step == "enqueued":
            near = places[row["queue"]]
            yield from _move(lane, near, since, at)
            lane, since = near, at
        elif step == "dequeued":
            yield Leg("packet", since, at, lane, lane)
            burst = _find_burst(rows, at)
            if burst is not None and lane == Lane.MODEM:
                yield Leg("packet", at, burst, lane, lane)
                yield Leg("packet", burst, burst, lane, Lane.CMTS)
                lane, since = Lane.CMTS, burst
            else:
                since = at
        elif step == "delivered":
            yield from _move(lane, Lane.RECEIVER, since, at)
        elif step == "discarded":
            yield Leg("packet", since, at, lane, lane)


def _move(lane: Lane, to: Lane, since: int, at: int) -> Iterator[Leg]:
    yield Leg("packet", since, at, lane, lane)
    if lane != to:
        yield Leg("packet", at, at, lane, to)


def _find_burst(rows: Sequence[Mapping[str, Any]], dequeued: int) -> int | None:
    """Find when the burst began that carried the packet: the last prepared or granted by the time it left its queue."""
    for step in ("prepared", "granted"):
        starts = [
            row["when_ns"] for row in rows
            if row["step"] == step and row["at_ns"] <= dequeued <= row["when_ns"]
        ]  # fmt: skip
        if starts:
            return int(min(starts))
    return None


def _tell_burst(
    rows: Sequence[Mapping[str, Any]], shown: Sequence[Mapping[str, Any]]
) -> Iterator[Moment]:
    """Tell the burst of a packet that was drawn when the MAP arrived, before the burst is prepared."""
    told = {row["when_ns"] for row in shown if row["step"] == "prepared"}
    for row in rows:
        if row["step"] == "dequeued":
            burst = _find_burst(rows, row["at_ns"])
            if burst is not None and burst not in told:
                yield Moment(burst, Lane.CHANNEL, "the burst begins", "packet")


def _lead_requests(rows: Sequence[Mapping[str, Any]]) -> Iterator[Leg]:
    """Give the ways of requests and MAPs between modem and CMTS; a request that collides ends on the channel."""
    collided = {
        row["when_ns"] for row in rows if row["step"] == "answered" and row["detail"] == "collided"
    }
    heard: int | None = None
    for row in rows:
        at, when = row["at_ns"], row["when_ns"]
        if row["step"] == "requested":
            if when in collided:
                yield Leg("collision", when, when, Lane.MODEM, Lane.CHANNEL)
            else:
                yield Leg("request", when, when, Lane.MODEM, Lane.CMTS)
                heard = when
        elif row["step"] in ("answered", "granted"):
            if heard is not None and heard < at:
                yield Leg("map", heard, at, Lane.CMTS, Lane.CMTS)
                heard = None
            yield Leg("map", at, at, Lane.CMTS, Lane.MODEM)
