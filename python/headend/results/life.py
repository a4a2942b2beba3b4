"""The life of one packet, put together from what the engine saw: places, requests, times.

The engine's table ``steps`` has a row for whatever happened to the packet, and to the requests of
its queue while it waited there (docs/reference/results.md). Here those become moments on lanes, the
way the packet took between them, and the way the requests for it took.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from headend.engine.description import describe
from headend.errors import InputError, refuse_argument, suggest
from headend.text.quantity import format_quantity, parse_quantity

if TYPE_CHECKING:
    from headend.results.record import Record
    from headend.scenario.subjects import Vocabulary

#: Of a long wait, so many of the steps at its beginning and its end are drawn.
FIRST_STEPS, LAST_STEPS = 6, 10

#: What a queue's steps are called that are about requests, not about the packet.
REQUESTING = ("answered", "deferred", "granted", "prepared", "requested")

#: And about the channel of a cell, which a packet contends for after it left its queue.
CONTENDING = ("aired", "backed_off")

#: What follows for a packet that left the queue of its modem, once it is over the channel.
_NEXT = ("delivered", "discarded", "enqueued")

#: Frames of a cell, as the engine names them, in words.
FRAMES = {
    "ack": "acknowledgement",
    "block_ack": "block acknowledgement",
    "cts": "CTS",
    "data": "frame",
    "data_lost": "frame that does not arrive",
    "rts": "RTS",
    "rts_lost": "RTS that does not arrive",
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
    """A way from one place and time to another: of a packet, request, MAP, or collision."""

    kind: str
    from_ns: int
    to_ns: int
    start: Lane
    end: Lane


@dataclass(frozen=True)
class Gap:
    """A part of a long wait whose steps are not among the moments: first and last ns, and count."""

    from_ns: int
    to_ns: int
    count: int


@dataclass(frozen=True)
class Life:
    """One packet's moments in order of time, and the legs between them."""

    flow: str
    queue: str
    born_ns: int
    moments: list[Moment]
    legs: list[Leg]
    #: Whether it waited for grants; where it did not, its queue stands for the modem.
    asks: bool
    #: Whether it contended for the channel of a cell.
    contends: bool = False
    #: Where those steps are that are left out.
    gaps: tuple[Gap, ...] = ()

    @property
    def left_out(self) -> int:
        """How many steps of long waits are not among the moments."""
        return sum(gap.count for gap in self.gaps)


def parse_follow(text: str, vocabulary: Vocabulary, duration_ns: int) -> tuple[str, int]:
    """Read ``FLOW@TIME``: whose next packet is followed, from when on, in ns."""
    expected = 'FLOW@TIME, such as "call@12 s"'
    if not isinstance(text, str):
        raise refuse_argument("explain", expected, text)
    flow, at, when = text.rpartition("@")
    if not at or not flow.strip() or not when.strip():
        raise InputError(f"--explain {text}: expected {expected}")
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
            f"--explain {text}: expected a time before the end, which is at"
            f" {format_quantity(duration_ns, 'time')}"
        )
    return vocabulary.members.get(flow, (flow,))[0], int(nanoseconds)


def trace_life(result: Record) -> Life | None:
    """Put together the life that a run was asked to follow; None if none, or never there."""
    steps = result.tables.get("steps")
    if steps is None or steps.is_empty():
        return None
    rows = steps.to_dicts()
    # The middle of each long wait, where requests or others repeat.
    repeated = (
        [number for number, row in enumerate(rows) if row["step"] in steps]
        for steps in (REQUESTING, CONTENDING)
    )
    middles = [
        middle
        for waiting in repeated
        if (middle := waiting[FIRST_STEPS : max(len(waiting) - LAST_STEPS, FIRST_STEPS)])
    ]
    hidden = {number for middle in middles for number in middle}
    shown = [row for number, row in enumerate(rows) if number not in hidden]
    entered = next(row for row in rows if row["step"] == "enqueued")
    places = _place_queues(rows)
    passages = _find_passages(result, rows)
    bursts = {
        start: f"its burst {number} of {len(passage.starts)} begins"
        if len(passage.starts) > 1
        else "the burst begins"
        for passage in passages.values()
        for number, start in enumerate(passage.starts, start=1)
    }
    # Those of the packet, prepared or not by the time that its steps end.
    moments = [Moment(at, Lane.CHANNEL, text, "packet") for at, text in bursts.items()]
    moments += [moment for row in shown for moment in _describe_step(row, places, bursts)]
    moments += [moment for row in shown for moment in _describe_air(row, rows, places)]
    moments.sort(key=lambda moment: moment.at_ns)
    return Life(
        flow=str(result.manifest.get("explain", [""])[0]),
        queue=entered["queue"],
        born_ns=rows[0]["at_ns"],
        moments=moments,
        legs=[
            *_lead_packet(rows, places, passages),
            *_lead_requests(shown),
            *_lead_air(shown, rows),
        ],
        asks=any(row["step"] in REQUESTING for row in rows),
        contends=any(row["step"] in CONTENDING for row in rows),
        gaps=tuple(
            Gap(rows[middle[0]]["at_ns"], rows[middle[-1]]["at_ns"], len(middle))
            for middle in middles
        ),
    )


def _place_queues(rows: Sequence[Mapping[str, Any]]) -> dict[str, Lane]:
    """Put the queue that asks for grants into the modem, earlier to the sender, later the CMTS."""
    asking = {row["queue"] for row in rows if row["step"] in REQUESTING}
    entered = [row["queue"] for row in rows if row["queue"] and row["step"] != "aired"]
    queues = list(dict.fromkeys(entered))
    places, lane = {}, Lane.SENDER if asking else Lane.MODEM
    for queue in queues:
        places[queue] = Lane.MODEM if queue in asking else lane
        lane = Lane.CMTS if queue in asking else lane
    return places


def _describe_step(
    row: Mapping[str, Any], places: Mapping[str, Lane], bursts: Mapping[int, str]
) -> Iterator[Moment]:
    """Describe a step of the queue; a request or burst at the time when it is on the channel.

    Parameters
    ----------
    bursts
        The texts of the bursts that carried the packet, by the time when they begin, in ns. Other
        bursts carried packets before it.
    """
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
    elif step == "loaded":
        yield Moment(when, Lane.CMTS, "the CMTS passes it on", "packet")
    elif step == "prepared" and when not in bursts:
        yield Moment(when, Lane.CHANNEL, "an earlier burst begins", "others")
    elif step == "dequeued":
        yield Moment(at, near, f"leaves the queue {row['queue']}", "packet")
    elif step == "marked":
        yield Moment(at, near, "marked CE", "packet")
    elif step == "discarded":
        yield Moment(at, near, f"discarded: {describe().reasons[row['detail']].what}", "collision")
    elif step == "delivered":
        yield Moment(at, Lane.RECEIVER, "received", "packet")


def _describe_air(
    row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], places: Mapping[str, Lane]
) -> Iterator[Moment]:
    """Say in words what goes over a cell's channel: own frames, and others' first frames."""
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
    """Whether a frame is of the packet's own exchange: of its queue, after it left that."""
    return any(
        earlier["step"] == "dequeued"
        and earlier["queue"] == row["queue"]
        and earlier["at_ns"] <= row["at_ns"]
        for earlier in rows
    )


def _place_air(rows: Sequence[Mapping[str, Any]], near: Lane) -> Lane:
    """Give the lane of a cell's channel: that of the station beside a cable's channel."""
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
            is_lost = row["detail"].endswith("_lost")
            kind = "others"
            if _is_own(row, rows):
                kind = "collision" if is_lost else "packet"
            yield Leg(kind, row["when_ns"], row["until_ns"], Lane.CHANNEL, Lane.CHANNEL)


def _size(value: float) -> str:
    return "" if math.isnan(value) else f"{int(value):,} B"


def _lead_packet(
    rows: Sequence[Mapping[str, Any]], places: Mapping[str, Lane], passages: Mapping[int, _Passage]
) -> Iterator[Leg]:
    """Give the packet's way: from its host to the queue, the wait, the channel, its receiver."""
    lane, since = Lane.SENDER, rows[0]["at_ns"]
    for number, row in enumerate(rows):
        at, step = row["at_ns"], row["step"]
        if step == "enqueued":
            near = places[row["queue"]]
            yield from _move(lane, near, since, at)
            lane, since = near, at
        elif step == "dequeued":
            yield Leg("packet", since, at, lane, lane)
            passage = passages.get(number)
            if passage is not None and lane == Lane.MODEM:
                yield from passage.lead(at)
                lane = Lane.CMTS
                since = passage.starts[0] if passage.ends is None else passage.ends
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


@dataclass(frozen=True)
class _Passage:
    """The way of a packet over the channel: when its bursts begin and when it goes on, in ns."""

    starts: tuple[int, ...]
    ends: int | None

    def lead(self, at: int) -> Iterator[Leg]:
        """Give the way from when the packet left the queue of its modem."""
        first, ends = self.starts[0], self.ends
        yield Leg("packet", at, first, Lane.MODEM, Lane.MODEM)
        if ends is None:
            yield Leg("packet", first, first, Lane.MODEM, Lane.CMTS)
        else:
            yield Leg("packet", first, first, Lane.MODEM, Lane.CHANNEL)
            yield Leg("packet", first, ends, Lane.CHANNEL, Lane.CHANNEL)
            yield Leg("packet", ends, ends, Lane.CHANNEL, Lane.CMTS)


def _find_passages(result: Record, rows: Sequence[Mapping[str, Any]]) -> dict[int, _Passage]:
    """Find the way of the packet over each channel, by the step with which it left its queue.

    Where the steps do not tell, there is none.
    """
    passages: dict[int, _Passage] = {}
    for number, row in enumerate(rows):
        if row["step"] != "dequeued":
            continue
        loaded = _find_loaded(rows, number)
        at = rows[loaded]["at_ns"] if loaded is not None else None
        if at == row["at_ns"] or _is_stream(result, row["queue"]):
            first = _find_filled(rows, number)
        else:
            first = _find_asked(rows, number)
        if first is None:
            continue
        if loaded is None:
            passages[number] = _Passage((first,), None)
            continue
        # Of what was granted until all of it was in bursts, what lies behind the first burst
        # carried more of it.
        ends = rows[loaded]["when_ns"]
        starts = {
            row["when_ns"] for row in rows[:loaded]
            if row["step"] == "granted" and first <= row["when_ns"] < ends
        }  # fmt: skip
        passages[number] = _Passage(tuple(sorted(starts | {first})), ends)
    return passages


def _find_loaded(rows: Sequence[Mapping[str, Any]], left: int) -> int | None:
    """Find the step with which the last of a packet that left its queue was put into a burst."""
    for number in range(left + 1, len(rows)):
        if rows[number]["step"] in _NEXT:
            return None
        if rows[number]["step"] == "loaded":
            return number
    return None


def _is_stream(result: Record, queue: str) -> bool:
    """Whether a modem cuts its queue into the grants that are there (DOCSIS 3.0 and later)."""
    table = result.manifest.get("scenario", {})
    for key in ("link", queue.partition(".")[0], "docsis", "plant", "mac"):
        table = table.get(key) or {}
    return bool(table.get("continuous", True))


def _find_filled(rows: Sequence[Mapping[str, Any]], left: int) -> int | None:
    """Find the grant that the packet went into: the one when it left, or the next."""
    at, before = rows[left]["at_ns"], rows[:left]
    for step in ("granted", "prepared"):
        now = [row["when_ns"] for row in before if row["step"] == step and row["at_ns"] == at]
        if now:
            return int(now[-1])
    prepared = {row["when_ns"] for row in before if row["step"] == "prepared"}
    return min(
        (
            int(row["when_ns"])
            for row in before
            if row["step"] == "granted" and row["when_ns"] >= at and row["when_ns"] not in prepared
        ),
        default=None,
    )


def _find_asked(rows: Sequence[Mapping[str, Any]], left: int) -> int | None:
    """Find the grant of a burst put together before it is asked for: the last, or a fragment's."""
    start, has_requested = None, True
    for row in rows[left + 1 :]:
        if row["step"] in _NEXT or row["step"] == "loaded":
            break
        if row["step"] == "requested":
            has_requested = True
        elif row["step"] == "granted" and has_requested:
            start, has_requested = int(row["when_ns"]), False
    return start


def _lead_requests(rows: Sequence[Mapping[str, Any]]) -> Iterator[Leg]:
    """Give the ways of requests and MAPs between modem and CMTS; collisions end midway."""
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
