"""Flows of several hosts and a ping through the virtual kernel, by `programs/flows.sh`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from virtual.uploads import Sample, find_begin, read_pings, read_samples, shift, take_sample


@dataclass(frozen=True)
class Group:
    """Connections of one host, which all begin together; DSCP of what it sends."""

    count: int
    dscp: int = 0


@dataclass(frozen=True)
class FlowsOrder:
    """What the guest is to do.

    Parameters
    ----------
    name
        Of the cell; its folder is called so.
    rtt_ms
        Round-trip time without a queue.
    seconds
        How long the connections last.
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

    name: str
    rtt_ms: int
    seconds: int
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

    @property
    def folder(self) -> str:
        """The name of the cell's folder."""
        return self.name.replace(" ", "_").replace("/", "p")

    def write(self) -> str:
        """Give the line of the file ``cells``; the kernel is told a DSCP as the byte it is in."""
        groups = "+".join(f"{group.count}:{group.dscp << 2}" for group in self.groups)
        words = (self.folder, self.rtt_ms, self.seconds, self.way, groups, self.congestion)
        more = (int(self.has_ecn), self.ping_dscp << 2, self.ping_s, self.fine_s, self.device)
        return " ".join(map(str, (*words, *more, self.setup)))


@dataclass(frozen=True)
class FlowsRun:
    """A cell's run; times are in s from the beginning of the connections.

    Parameters
    ----------
    samples
        Of the queue, in order.
    pings
        Time of each request, and its round-trip time in ms; None where there was no answer.
    received
        For each group the beginning and end of each interval of its receiver, and the bits that
        arrived in it.
    """

    samples: Sequence[Sample]
    pings: Sequence[tuple[float, float | None]]
    received: Sequence[Sequence[tuple[float, float, float]]]

    def find_goodputs(self, begin: float, end: float) -> list[float]:
        """Give for each group what arrived in the whole intervals between two times, bit/s."""
        found = []
        for rows in self.received:
            own = [row for row in rows if row[0] >= begin - 0.1 and row[1] <= end + 0.1]
            found.append(sum(row[2] for row in own) / sum(row[1] - row[0] for row in own))
        return found

    def list_pings(self, begin: float, end: float) -> list[float | None]:
        """Give the round-trip times of the pings that were sent between two times, ms."""
        return [took for time, took in self.pings if begin <= time < end]

    def take_sample(self, time: float) -> Sample:
        """Give the sample nearest to a time."""
        return take_sample(self.samples, time)


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
    samples = read_samples((folder / "samples").read_text())
    began = find_begin(samples)
    # The pings begin when the samples do.
    pings = read_pings((folder / "ping").read_text(), samples[0].time - began, order.ping_s)
    received = []
    for number in range(1, len(order.groups) + 1):
        ends = {
            end: json.loads((folder / f"{end}-{number}.json").read_text())
            for end in ("client", "server")
        }
        receiver = ends["server" if order.way == "up" else "client"]
        if "error" in receiver and not receiver["intervals"]:
            raise ValueError(f"{folder.name}: {receiver['error']}")
        sender = ends["client"]["end"].get("sender_tcp_congestion")
        if sender != order.congestion:
            raise ValueError(f"{folder.name}: expected {order.congestion}, found {sender}")
        received.append(
            [
                (own["sum"]["start"], own["sum"]["end"], 8.0 * own["sum"]["bytes"])
                for own in receiver["intervals"]
            ]
        )
    return FlowsRun(shift(samples, began), pings, received)
