"""Flows of several hosts and a ping through the virtual kernel, by `programs/flows.sh`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from virtual.cells import Cell, CellRun, Interval, find_goodput, read_cell, read_received


@dataclass(frozen=True)
class Group:
    """Connections of one host, which all begin together; DSCP of what it sends."""

    count: int
    dscp: int = 0


@dataclass(frozen=True)
class FlowsOrder(Cell):
    """A cell of connections of several hosts.

    Parameters
    ----------
    way
        ``"up"`` or ``"down"``, where their data goes.
    groups, congestion
        The connections of each host, and their congestion control.
    has_ecn
        Whether they ask for ECN (RFC 3168).
    ping_dscp, ping_s, fine_s
        DSCP of the pings, the time between two, and how long samples come every 50 ms.
    device
        The router's interface whose queue is noted.
    setup
        The words of ``flows.sh`` or ``lib.sh`` that set the queues.
    """

    way: str
    groups: Sequence[Group]
    congestion: str
    has_ecn: bool
    ping_dscp: int
    ping_s: float
    fine_s: int
    device: str
    setup: str

    #: The program that reads it, of `programs`.
    PROGRAM = "flows.sh"

    def write(self) -> str:
        """Give the line of the file ``cells``; the kernel is told a DSCP as the byte it is in."""
        groups = "+".join(f"{group.count}:{group.dscp << 2}" for group in self.groups)
        words = (self.folder, self.rtt_ms, self.seconds, self.way, groups, self.congestion)
        more = (int(self.has_ecn), self.ping_dscp << 2, self.ping_s, self.fine_s, self.device)
        return " ".join(map(str, (*words, *more, self.setup)))


@dataclass(frozen=True)
class FlowsRun(CellRun):
    """A run of connections of several hosts.

    Parameters
    ----------
    received
        What the receiver of each group got.
    """

    received: Sequence[Sequence[Interval]]

    def find_goodputs(self, begin: float, end: float) -> list[float]:
        """Give for each group what arrived in the whole intervals between two times, bit/s."""
        return [find_goodput(rows, begin, end) for rows in self.received]


def read_flows(folder: Path, order: FlowsOrder) -> FlowsRun:
    """Read what ``flows.sh`` left of a cell.

    Parameters
    ----------
    folder
        That of the cell.
    order
        What was to be done.

    Raises
    ------
    ValueError
        If a connection failed; the message has what iperf3 said. If another congestion control
        sent.
    """
    cell = read_cell(folder, order.ping_s)
    end = "server" if order.way == "up" else "client"
    received = [
        read_received(folder, f"{end}-{number}.json", f"client-{number}.json", order.congestion)
        for number in range(1, len(order.groups) + 1)
    ]
    return FlowsRun(cell.samples, cell.pings, received)
