"""Uploads and a ping through a queue of the virtual kernel, by `programs/uploads.sh`."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

#: Bytes that tc counts of a full packet: IP and the Ethernet header.
COUNTED = 1514

#: The uploads have begun when the queue has sent so many bytes, more than the pings before them.
BEGUN = 10_000


@dataclass(frozen=True)
class Order:
    """What the guest is to do.

    Parameters
    ----------
    name
        Of the cell; its folder is called so.
    rtt_ms
        Round-trip time without a queue.
    seconds
        How long the uploads last.
    uploads, congestion
        How many, and their congestion control.
    ping_s, fine_s
        Time between two pings, and how long samples come every 50 ms.
    queue
        The words of ``lib.sh`` that set the queue discipline.
    """

    name: str
    rtt_ms: int
    seconds: int
    uploads: int
    congestion: str
    ping_s: float
    fine_s: int
    queue: str

    #: The program that reads it, of `programs`.
    PROGRAM = "uploads.sh"

    @property
    def folder(self) -> str:
        """The name of the cell's folder."""
        return self.name.replace(" ", "_").replace("/", "p")

    def write(self) -> str:
        """Give the line of the file ``cells``."""
        words = (self.folder, self.rtt_ms, self.seconds, self.uploads, self.congestion)
        return " ".join(map(str, (*words, self.ping_s, self.fine_s, self.queue)))


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
class Run:
    """A cell's run; times are in s from the beginning of the uploads.

    Parameters
    ----------
    samples
        Of the queue, in order.
    pings
        Time of each request, and its round-trip time in ms; None where there was no answer.
    received
        Beginning and end of each interval of iperf3's receiver, and the bits that arrived in it.
    hystart
        How often HyStart ended a slow start, and the windows at that, in segments, added up.
    """

    samples: Sequence[Sample]
    pings: Sequence[tuple[float, float | None]]
    received: Sequence[tuple[float, float, float]]
    hystart: tuple[int, int]

    def find_goodput(self, begin: float, end: float) -> float:
        """Give what arrived in the whole intervals between two times, bit/s."""
        # An interval of a second is longer than that by some microseconds.
        own = [row for row in self.received if row[0] >= begin - 0.1 and row[1] <= end + 0.1]
        return sum(row[2] for row in own) / sum(row[1] - row[0] for row in own)

    def list_pings(self, begin: float, end: float) -> list[float | None]:
        """Give the round-trip times of the pings that were sent between two times, ms."""
        return [took for time, took in self.pings if begin <= time < end]

    def take_sample(self, time: float) -> Sample:
        """Give the sample nearest to a time."""
        return take_sample(self.samples, time)

    def find_first_loss(self) -> float | None:
        """Give the time of the first sample with a drop, if there is one."""
        return next((sample.time for sample in self.samples if sample.dropped), None)


def read_run(folder: Path, ping_s: float, congestion: str) -> Run:
    """Read what ``uploads.sh`` left of a cell.

    Parameters
    ----------
    folder
        That of the cell.
    ping_s
        Time between two pings.
    congestion
        The congestion control that was ordered.

    Raises
    ------
    ValueError
        If an upload failed; the message has what iperf3 said. If another congestion control sent.
    """
    samples = read_samples((folder / "samples").read_text())
    began = find_begin(samples)
    # The pings begin when the samples do.
    pings = read_pings((folder / "ping").read_text(), samples[0].time - began, ping_s)
    document = json.loads((folder / "server.json").read_text())
    if "error" in document and not document["intervals"]:
        raise ValueError(f"{folder.name}: {document['error']}")
    sender = json.loads((folder / "client.json").read_text())["end"]["sender_tcp_congestion"]
    if sender != congestion:
        raise ValueError(f"{folder.name}: expected uploads of {congestion}, found {sender}")
    received = [
        (own["sum"]["start"], own["sum"]["end"], 8.0 * own["sum"]["bytes"])
        for own in document["intervals"]
    ]
    return Run(
        shift(samples, began), pings, received, _read_hystart((folder / "netstat").read_text())
    )


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


def find_begin(samples: Sequence[Sample]) -> float:
    """Give the time at which the connections had begun."""
    return next(sample.time for sample in samples if sample.sent_bytes > BEGUN)


def shift(samples: Sequence[Sample], began: float) -> list[Sample]:
    """Count the times of samples from the beginning."""
    return [replace(sample, time=sample.time - began) for sample in samples]


def take_sample(samples: Sequence[Sample], time: float) -> Sample:
    """Give the sample nearest to a time."""
    return min(samples, key=lambda sample: abs(sample.time - time))


def read_pings(text: str, first: float, ping_s: float) -> list[tuple[float, float | None]]:
    """Read what ping printed: the time of each request, the first one's given, and what it took."""
    answers = re.findall(r"icmp_seq=(\d+) .*time=([\d.]+) ms", text)
    times = {int(number): float(took) for number, took in answers}
    return [
        (first + (number - 1) * ping_s, times.get(number))
        for number in range(1, max(times, default=0) + 1)
    ]


def _read_hystart(text: str) -> tuple[int, int]:
    """Add up what the sender's kernel counted last of HyStart's two ways to end a slow start."""
    rows = [line.split() for line in text.splitlines() if line.startswith("TcpExt:")]
    counters = dict(zip(rows[-2], rows[-1], strict=True))
    ways = ("Train", "Delay")
    return (
        sum(int(counters[f"TCPHystart{way}Detect"]) for way in ways),
        sum(int(counters[f"TCPHystart{way}Cwnd"]) for way in ways),
    )
