"""What a measuring tool recorded of a line, in one form: phases of load, rates, delays, losses.

Times are in seconds since the measurement began, rates in bit/s, delays in ms, shares from 0 to 1.
Addresses and identifiers have no place here: readers drop them, and name what they dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path


class Direction(StrEnum):
    """A direction of the line, seen from the customer."""

    UP = "up"
    DOWN = "down"


class Load(StrEnum):
    """What filled the line: nothing, transfers of one direction, or of both."""

    IDLE = "idle"
    UP = "up"
    DOWN = "down"
    BOTH = "both"


class Trip(StrEnum):
    """What a delay is of: there and back, or one way."""

    ROUND = "rtt"
    UP = "up"
    DOWN = "down"


class Probe(StrEnum):
    """What was sent to measure a delay."""

    ICMP = "icmp"
    UDP = "udp"
    #: A request over a connection of its own, such as TCP's or TLS's handshake or an HTTP request.
    REQUEST = "request"
    #: A request or TCP's own round-trip time in a connection that fills the line.
    IN_FLOW = "in flow"
    #: The tool does not say.
    UNKNOWN = "unknown"


class Counted(StrEnum):
    """Which bytes a rate counts."""

    PAYLOAD = "payload of TCP or UDP"
    IP = "IP packets"


@dataclass(frozen=True)
class Phase:
    """A time during which the load was the same."""

    load: Load
    start: float
    end: float


@dataclass(frozen=True)
class RateSeries:
    """How fast something was, bin by bin.

    Parameters
    ----------
    direction
        Of the data.
    starts, ends
        Of each bin, s.
    rates
        The mean over each bin, bit/s.
    counted
        Which bytes these are.
    flow
        The name of a connection; empty for the sum over all connections of the direction.
    sent
        Whether a bin is of what the sender's socket took, in lumps, and not of what arrived.
    """

    direction: Direction
    starts: Sequence[float]
    ends: Sequence[float]
    rates: Sequence[float]
    counted: Counted = Counted.PAYLOAD
    flow: str = ""
    sent: bool = False


@dataclass(frozen=True)
class DelaySeries:
    """Delays that probes found.

    Parameters
    ----------
    trip
        What the delays are of. Those of one way may have a constant offset: clocks differ.
    probe
        What was sent.
    times
        When each answered probe was sent, s; empty where the tool keeps no times.
    delays
        Of each answered probe, ms.
    lost
        When each probe without an answer was sent, s.
    lost_count
        How many had none, where the tool keeps no times of them; else the length of ``lost``.
    load
        What filled the line at each of these delays, where there are no times to tell it.
    marking
        The DSCP or ECN marking of the probes, such as ``"EF"``, ``"NQB"`` or ``"ECT(1)"``; empty
        for best effort.
    flow
        Of a probe in a connection: the name of that connection.
    """

    trip: Trip
    probe: Probe
    times: Sequence[float]
    delays: Sequence[float]
    lost: Sequence[float] = ()
    lost_count: int = 0
    load: Load | None = None
    marking: str = ""
    flow: str = ""


class Quantity(StrEnum):
    """What a single number is about."""

    #: bit/s, of TCP's payload.
    RATE = "rate"
    #: ms, there and back.
    DELAY = "delay"
    #: A share, from 0 to 1.
    LOSS = "loss"


class Statistic(StrEnum):
    """What a single number is of many."""

    MEAN = "mean"
    MEDIAN = "median"
    #: The mean of the middle half.
    IQM = "iqm"
    LEAST = "least"
    MOST = "most"
    #: The mean difference of successive values.
    JITTER = "jitter"


@dataclass(frozen=True)
class Summary:
    """One number of a tool that keeps no samples.

    Parameters
    ----------
    quantity, statistic
        What it is about, and what it is of many.
    value
        In the quantity's unit.
    load
        What filled the line.
    direction
        Of a rate or a loss; None for a delay, which is there and back, and where it is not known.
    probe
        What was sent, for a delay.
    """

    quantity: Quantity
    statistic: Statistic
    value: float
    load: Load
    direction: Direction | None = None
    probe: Probe = Probe.UNKNOWN


@dataclass(frozen=True)
class Senders:
    """Who filled the line.

    Parameters
    ----------
    up, down
        Connections of each direction; None where the tool does not say.
    congestion
        The name of their congestion control as the tool writes it; empty where it does not say.
    pace
        The rate of payload at which those of a direction were told to send together, bit/s; None
        where they send as fast as they can.
    """

    up: int | None = None
    down: int | None = None
    congestion: str = ""
    pace: float | None = None


@dataclass(frozen=True)
class Retransmissions:
    """What connections of a direction sent again, as a share of what they sent."""

    direction: Direction
    share: float
    flow: str = ""


@dataclass(frozen=True)
class Measurement:
    """What tools recorded of one line.

    Parameters
    ----------
    tools
        Each tool with its version, such as ``"flent 2.1.1"`` or ``"by hand"``.
    paths
        The files that were read, if any.
    started
        When it began, s since 1970 in UTC; None where the tool does not say.
    phases
        In order of time; empty where the tool keeps no times.
    rates, delays, summaries, retransmissions
        What was measured.
    senders
        Who filled the line.
    marks
        Packets that came with CE set; None where nobody counted.
    medium
        How the computer was connected, ``"wifi"`` or ``"ethernet"``, where the tool says; or empty.
    notes
        What a person should know of how the files were read.
    dropped
        Names of the fields that were dropped as private.
    """

    tools: tuple[str, ...]
    paths: tuple[Path, ...] = ()
    started: float | None = None
    phases: tuple[Phase, ...] = ()
    rates: tuple[RateSeries, ...] = ()
    delays: tuple[DelaySeries, ...] = ()
    summaries: tuple[Summary, ...] = ()
    retransmissions: tuple[Retransmissions, ...] = ()
    senders: Senders = field(default_factory=Senders)
    marks: int | None = None
    medium: str = ""
    notes: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
