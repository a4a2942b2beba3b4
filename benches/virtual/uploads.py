"""Uploads and a ping through a queue of the virtual kernel, by `programs/uploads.sh`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from virtual.cells import Cell, CellRun, Interval, find_goodput, read_cell, read_received


@dataclass(frozen=True)
class Order(Cell):
    """A cell of uploads of one host.

    Parameters
    ----------
    uploads, congestion
        How many, and their congestion control.
    ping_s, fine_s
        Time between two pings, and how long samples come every 50 ms.
    queue
        The words of ``lib.sh`` that set the queue discipline.
    """

    uploads: int
    congestion: str
    ping_s: float
    fine_s: int
    queue: str

    #: The program that reads it, of `programs`.
    PROGRAM = "uploads.sh"

    def write(self) -> str:
        """Give the line of the file ``cells``."""
        words = (self.folder, self.rtt_ms, self.seconds, self.uploads, self.congestion)
        return " ".join(map(str, (*words, self.ping_s, self.fine_s, self.queue)))


@dataclass(frozen=True)
class Run(CellRun):
    """A run of uploads.

    Parameters
    ----------
    received
        What the receiver of all of them got.
    hystart
        How often HyStart ended a slow start, and the windows at that, in segments, added up.
    """

    received: Sequence[Interval]
    hystart: tuple[int, int]

    def find_goodput(self, begin: float, end: float) -> float:
        """Give what arrived in the whole intervals between two times, bit/s."""
        return find_goodput(self.received, begin, end)

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
    cell = read_cell(folder, ping_s)
    received = read_received(folder, "server.json", "client.json", congestion)
    hystart = _read_hystart((folder / "netstat").read_text())
    return Run(cell.samples, cell.pings, received, hystart)


def _read_hystart(text: str) -> tuple[int, int]:
    """Add up what the sender's kernel counted last of HyStart's two ways to end a slow start."""
    rows = [line.split() for line in text.splitlines() if line.startswith("TcpExt:")]
    counters = dict(zip(rows[-2], rows[-1], strict=True))
    ways = ("Train", "Delay")
    return (
        sum(int(counters[f"TCPHystart{way}Detect"]) for way in ways),
        sum(int(counters[f"TCPHystart{way}Cwnd"]) for way in ways),
    )
