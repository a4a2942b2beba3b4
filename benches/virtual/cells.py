"""What the cells of the virtual kernel have in common: how they are named, and what they leave."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

#: Bytes that tc counts of a full packet: IP and the Ethernet header.
COUNTED = 1514

#: The connections have begun when the queue has sent so many bytes, more than pings before them.
BEGUN = 10_000

#: Beginning and end of an interval of iperf3's receiver, s, and the bits that arrived in it.
Interval = tuple[float, float, float]


@dataclass(frozen=True)
class Cell:
    """What the guest is to do.

    Parameters
    ----------
    name
        Of the cell; its folder is called so.
    rtt_ms
        Round-trip time without a queue.
    seconds
        How long the connections last.
    """

    name: str
    rtt_ms: int
    seconds: int

    @property
    def folder(self) -> str:
        """The name of the cell's folder."""
        return self.name.replace(" ", "_").replace("/", "p")


@dataclass(frozen=True)
class Sample:
    """What the queue had counted at a time in s.

    Packets sent and dropped, and bytes sent; packets marked, and acknowledgements that a filter
    discarded, where it shows them.
    """

    time: float
    sent: int
    sent_bytes: int
    dropped: int
    marked: int = 0
    thinned: int = 0


@dataclass(frozen=True)
class CellRun:
    """A cell's run; times are in s from the beginning of the connections.

    Parameters
    ----------
    samples
        Of the queue, in order.
    pings
        Time of each request, and its round-trip time in ms; None where there was no answer.
    """

    samples: Sequence[Sample]
    pings: Sequence[tuple[float, float | None]]

    def list_pings(self, begin: float, end: float) -> list[float | None]:
        """Give the round-trip times of the pings that were sent between two times, ms."""
        return [took for time, took in self.pings if begin <= time < end]

    def take_sample(self, time: float) -> Sample:
        """Give the sample nearest to a time."""
        return min(self.samples, key=lambda sample: abs(sample.time - time))


def find_goodput(received: Iterable[Interval], begin: float, end: float) -> float:
    """Give what arrived in the whole intervals between two times, bit/s."""
    # An interval of a second is longer than that by some microseconds.
    own = [row for row in received if row[0] >= begin - 0.1 and row[1] <= end + 0.1]
    return sum(row[2] for row in own) / sum(row[1] - row[0] for row in own)


def read_cell(folder: Path, ping_s: float) -> CellRun:
    """Read the samples and pings that a program left of a cell, with this time between pings."""
    samples = read_samples((folder / "samples").read_text())
    began = _find_begin(samples)
    # The pings begin when the samples do.
    pings = _read_pings((folder / "ping").read_text(), samples[0].time - began, ping_s)
    return CellRun(_shift(samples, began), pings)


def read_received(folder: Path, receiver: str, client: str, congestion: str) -> list[Interval]:
    """Read what iperf3's receiver got.

    Parameters
    ----------
    folder
        That of the cell.
    receiver, client
        The names of the files of the end that received, and of iperf3's client.
    congestion
        The congestion control that was ordered.

    Raises
    ------
    ValueError
        If a connection failed; the message has what iperf3 said. If another congestion control
        sent.
    """
    document = _read_json(folder / receiver)
    if "error" in document and not document["intervals"]:
        raise ValueError(f"{folder.name}: {document['error']}")
    sender = _read_json(folder / client)["end"].get("sender_tcp_congestion")
    if sender != congestion:
        raise ValueError(f"{folder.name}: expected connections of {congestion}, found {sender}")
    return [
        (own["sum"]["start"], own["sum"]["end"], 8.0 * own["sum"]["bytes"])
        for own in document["intervals"]
    ]


def _read_json(file: Path) -> Mapping[str, Any]:
    document: Mapping[str, Any] = json.loads(file.read_text())
    return document


def read_samples(text: str) -> list[Sample]:
    """Read times and what tc said at them; the last of several disciplines is innermost.

    Marks and filtered acknowledgements are rows of CAKE, a number for each tin; of other
    disciplines a word and a number.
    """
    sent = re.compile(r"Sent (\d+) bytes (\d+) pkts? \(dropped (\d+)")
    found = []
    for part in re.split(r"^at ", text, flags=re.MULTILINE)[1:]:
        if rows := sent.findall(part):
            size, packets, dropped = map(int, rows[-1])
            counted = [_add_row(part, word) for word in ("(?:ecn_mark|marks)", "ack_drop")]
            found.append(Sample(float(part.split("\n", 1)[0]), packets, size, dropped, *counted))
    return found


def _add_row(text: str, word: str) -> int:
    """Add up the numbers behind a word."""
    rows = re.findall(rf"\b{word} +((?:\d+ *)+)", text)
    return sum(int(number) for row in rows for number in row.split())


def _find_begin(samples: Sequence[Sample]) -> float:
    """Give the time at which the connections had begun."""
    return next(sample.time for sample in samples if sample.sent_bytes > BEGUN)


def _shift(samples: Sequence[Sample], began: float) -> list[Sample]:
    """Count the times of samples from the beginning."""
    return [replace(sample, time=sample.time - began) for sample in samples]


def _read_pings(text: str, first: float, ping_s: float) -> list[tuple[float, float | None]]:
    """Read what ping printed: the time of each request, the first one's given, and what it took."""
    answers = re.findall(r"icmp_seq=(\d+) .*time=([\d.]+) ms", text)
    times = {int(number): float(took) for number, took in answers}
    return [
        (first + (number - 1) * ping_s, times.get(number))
        for number in range(1, max(times, default=0) + 1)
    ]
