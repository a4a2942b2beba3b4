"""Figure 1 of Nguyen and Armitage from traces: a cell's channel, frame by frame."""

from __future__ import annotations

import functools
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, make_chart
from headend.running.experiment import run
from headend.study import ClaimResult, ClaimVerdict, decide
from headend.study.airtime import Airtime

#: The cell's frames in the calculator's terms: control frames at 1 Mbit/s, and times in whole
#: microseconds.
CELL = Airtime(answer_mbps=1.0, whole_us=True)

#: When packets are followed: the first that is sent from then on.
FOLLOWED = ("41 ms", "83 ms", "127 ms", "166 ms", "209 ms", "251 ms", "263 ms", "277 ms")

SENDER = "wifi.sender.up"

FRAMES = ["rts", "cts", "data", "ack"]

DIFS_US = CELL.difs_us


class Frame(NamedTuple):
    """A frame on the channel, in ns."""

    queue: str
    kind: str
    start: int
    end: int
    size: int


class Trace(NamedTuple):
    """What went over the channel while a packet waited: exchanges in order, its own last."""

    exchanges: list[list[Frame]]
    ready: int


@functools.cache
def follow(when: str) -> Trace:
    """Run the cell and follow the first packet from a time on."""
    result = run(Path(__file__).parent / "cell.toml", explain=f"sent@{when}")
    return read_trace(result.tables["steps"])


def read_trace(steps: pl.DataFrame) -> Trace:
    """Sort the frames of a table of steps into exchanges: those of one begin with it."""
    aired = steps.filter(step="aired").sort("at_ns", "when_ns", maintain_order=True)
    exchanges: dict[int, list[Frame]] = {}
    for row in aired.iter_rows(named=True):
        frame = Frame(
            row["queue"], row["detail"], row["when_ns"], row["until_ns"], int(row["bytes"])
        )
        exchanges.setdefault(row["at_ns"], []).append(frame)
    ready = steps.filter(step="dequeued")["at_ns"]
    return Trace(list(exchanges.values()), int(ready[0]) if len(ready) else 0)


def list_traces() -> list[Trace]:
    """Follow all packets."""
    return [follow(when) for when in FOLLOWED]


def list_clean() -> list[list[Frame]]:
    """Give the exchanges that did not collide."""
    found = [exchange for trace in list_traces() for exchange in trace.exchanges]
    return [one for one in found if not any(frame.kind.endswith("_lost") for frame in one)]


def check_order(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look at the order of frames and the time between them."""
    exchanges = list_clean()
    right = sum(
        [frame.kind for frame in one] == FRAMES
        and all(b.start - a.end == limits["sifs_ns"] for a, b in pairwise(one))
        for one in exchanges
    )
    return ClaimResult(
        f"{right} of {len(exchanges)} exchanges", decide(right == len(exchanges) > 0)
    )


def check_time(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the length of exchanges against the calculator."""
    found: dict[int, set[float]] = {}
    for one in list_clean():
        packet = one[2].size - CELL.overhead_bytes
        found.setdefault(packet, set()).add((one[-1].end - one[0].start) / 1e3)
    expected = {packet: CELL.exchange_us(packet) - DIFS_US for packet in found}
    text = ", ".join(
        f"{', '.join(f'{t:.0f}' for t in sorted(times))} for {expected[packet]:.0f} µs ({packet} B)"
        for packet, times in sorted(found.items())
    )
    agrees = all(times == {expected[packet]} for packet, times in found.items())
    return ClaimResult(text, decide(agrees and bool(found)))


def check_silence(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look at the time between an exchange and the next."""
    gaps = [
        after[0].start - max(frame.end for frame in before)
        for trace in list_traces()
        for before, after in pairwise(trace.exchanges)
    ]
    if not gaps:
        return ClaimResult("nobody waited for anybody", ClaimVerdict.UNTESTABLE)
    text = f"{len(gaps)} times, {min(gaps) / 1e3:.0f} to {max(gaps) / 1e3:.0f} µs"
    return ClaimResult(text, decide(min(gaps) >= limits["difs_ns"]))


def check_backoff(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look at what of each wait is beyond DIFS, after exchanges that did not collide."""
    rests = [
        after[0].start - before[-1].end - limits["difs_ns"]
        for trace in list_traces()
        for before, after in pairwise(trace.exchanges)
        if before[-1].kind == "ack" and before[-1].end > trace.ready
    ]
    if not rests:
        return ClaimResult("nobody waited for anybody", ClaimVerdict.UNTESTABLE)
    text = ", ".join(f"{rest / limits['slot_ns']:g}" for rest in rests)
    whole = all(rest >= 0 and rest % limits["slot_ns"] == 0 for rest in rests)
    return ClaimResult(f"{text} slots", decide(whole))


def draw_exchange(points: pl.DataFrame) -> list[Panel]:
    """Draw the neighbour's exchange and the sender's after it."""
    chosen = next((trace for trace in list_traces() if _is_telling(trace)), None)
    if chosen is None:
        return []
    before, own = chosen.exchanges[-2:]
    origin = before[0].start
    bars = [
        bar
        for exchange in (before, own)
        for frame in exchange
        for bar in _draw_frame(frame, exchange, origin)
    ]
    idle = (before[-1].end - origin) / 1e3
    start = (own[0].start - origin) / 1e3
    bars += [
        {"lane": "sender", "from": idle, "to": idle + DIFS_US, "what": "DIFS", "label": ""},
        {"lane": "sender", "from": idle + DIFS_US, "to": start, "what": "backoff", "label": ""},
    ]
    rows = pl.DataFrame(bars).with_columns(middle=(pl.col("from") + pl.col("to")) / 2)
    lanes = ["neighbour", "sender", "access point", "NAV from RTS", "NAV from CTS"]
    kinds = ["RTS, CTS", "data", "acknowledgement", "NAV of all others", "DIFS", "backoff"]
    tones = [PALETTE[4], PALETTE[0], PALETTE[2], "#8C8C8C", PALETTE[3], PALETTE[1]]
    x = vl.X("from:Q", title="time, µs", scale=vl.Scale(nice=False))
    y = vl.Y("lane:N", sort=lanes, title=None)
    drawn = (
        make_chart(rows)
        .mark_bar(height=22)
        .encode(
            x=x,
            x2="to:Q",
            y=y,
            color=vl.Color(
                "what:N",
                scale=vl.Scale(domain=kinds, range=tones),
                legend=vl.Legend(title=None, columns=3),
            ),
            tooltip=[
                "what:N",
                vl.Tooltip("from:Q", format=".0f"),
                vl.Tooltip("to:Q", format=".0f"),
            ],
        )
    )
    words = (
        make_chart(rows.filter(pl.col("to") - pl.col("from") > 230))
        .mark_text(fontSize=10, color="white")
        .encode(x="middle:Q", y=y, text="label:N")
    )
    return [Panel("", vl.layer(drawn, words).properties(height=190))]


def _is_telling(trace: Trace) -> bool:
    """Whether a packet waited for its neighbour's exchange, and neither collided."""
    last = trace.exchanges[-2:]
    return (
        len(last) == 2
        and all([frame.kind for frame in one] == FRAMES for one in last)
        and last[0][0].queue != SENDER
        and last[0][-1].end > trace.ready
        and last[1][0].start - last[0][-1].end > 1e3 * DIFS_US
    )


def _draw_frame(frame: Frame, exchange: list[Frame], origin: int) -> list[dict[str, Any]]:
    """Give a frame's bar, and that of the NAV it sets."""
    who = "sender" if frame.queue == SENDER else "neighbour"
    lane = who if frame.kind in ("rts", "data") else "access point"
    words = {"rts": "RTS, CTS", "cts": "RTS, CTS", "data": "data", "ack": "acknowledgement"}
    labels = {"rts": "RTS", "cts": "CTS", "data": f"data, {frame.size} B", "ack": "ACK"}
    start, end, last = ((at - origin) / 1e3 for at in (frame.start, frame.end, exchange[-1].end))
    bars = [
        {
            "lane": lane,
            "from": start,
            "to": end,
            "what": words[frame.kind],
            "label": labels[frame.kind],
        }
    ]
    if frame.kind in ("rts", "cts"):
        nav = f"NAV from {frame.kind.upper()}"
        bars.append(
            {"lane": nav, "from": end, "to": last, "what": "NAV of all others", "label": "NAV"}
        )
    return bars
