"""What can be wrong with a run, its flows, queues and channels: each as a typed fact.

A fact has a subject and numbers with their units, and where something helps, remedies. Finders in
``analysis/diagnosis.py`` decide which facts hold; ``wording/facts.py`` has the sentences of each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

from headend.analysis.causes import CauseGroup
from headend.analysis.channels import ChannelState
from headend.analysis.collisions import Meeting
from headend.analysis.hidden import HiddenPairs
from headend.analysis.low_latency import Aggregate, AggregateFlow
from headend.analysis.queue_state import QueueState
from headend.analysis.queues import FULL
from headend.analysis.signal import LostSignal
from headend.analysis.spells import Spell
from headend.analysis.throttling import Throttled
from headend.analysis.transfer_limits import ControlShare, TransferLimit


class Action(StrEnum):
    """What may help. The first seven are for a long queue, and say why it is long."""

    #: It has no law: a smaller buffer, or an AQM.
    ADD_AQM = "add_aqm"
    #: It holds queues whose law can be chosen.
    CHOOSE_LAW = "choose_law"
    #: Its law begins to act at some fill of the buffer, which was not reached.
    WAKE_AQM = "wake_aqm"
    #: Its law did nothing.
    CHECK_AQM = "check_aqm"
    #: Its law acted, and senders did not slow down.
    SLOW_SENDERS = "slow_senders"
    #: Its law acted, and the longest delays are those of a full buffer.
    LOWER_LIMIT = "lower_limit"
    #: Its law acted, and the queue is long nevertheless.
    TUNE_AQM = "tune_aqm"

    #: A queue for each flow protects the flows that send little.
    FLOW_QUEUES = "flow_queues"
    #: More is sent than the line carries.
    LESS_LOAD = "less_load"
    #: The channel is full.
    MORE_CAPACITY = "more_capacity"
    #: The queue's limit makes senders slow down while the line is idle.
    RAISE_LIMIT = "raise_limit"
    #: The queue's law makes senders slow down while the line is idle.
    RAISE_TARGET = "raise_target"
    #: Modems wait for their requests, and the plant can have more opportunities to request.
    MORE_OPPORTUNITIES = "more_opportunities"
    #: Modems wait for their requests, and mostly for their own backoff.
    SHORTER_BACKOFF = "shorter_backoff"
    #: Modems wait for their requests, and neither of the two before helps.
    FEWER_MODEMS = "fewer_modems"
    #: The queue is full of acknowledgements: fewer of them, or none of their waits.
    THIN_ACKS = "thin_acks"
    #: A router before a modem has a rate above the modem's.
    LOWER_RATE = "lower_rate"
    #: A policer's burst is too short for TCP.
    RAISE_BURST = "raise_burst"
    #: A cell is full: less of what takes its air.
    MORE_AIR = "more_air"
    #: A cell is full of small packets.
    LARGER_PACKETS = "larger_packets"
    #: Stations share the queue of their access point, and each can have its own.
    STATION_QUEUES = "station_queues"
    #: Stations do not hear each other, and their frames collide unless they are announced.
    ANNOUNCE_FRAMES = "announce_frames"
    #: A slow station takes much of a cell's air, and could have a better rate.
    FASTER_STATION = "faster_station"
    #: A slow station takes much of a cell's air, and has its best rate.
    CABLE_STATION = "cable_station"
    #: A station's signal is too weak: nearer to an access point.
    NEARER_STATION = "nearer_station"
    #: A station keeps a mode that its signal does not carry: rate control chooses another.
    FREE_RATE = "free_rate"
    #: A hash puts flows together that each could have a queue.
    SEPARATE_FLOWS = "separate_flows"
    #: A flow waits for its turn, and a scheduler that serves new flows first may spare it that.
    NEW_FLOWS_FIRST = "new_flows_first"
    #: A flow suffers among the others of its tunnel.
    LEAVE_TUNNEL = "leave_tunnel"
    #: A flow with little traffic waits in the classic queue of an aggregate.
    MARK_PACKETS = "mark_packets"
    #: Queue protection redirects a flow that slows down for marks.
    RAISE_THRESHOLD = "raise_threshold"
    #: Queue protection redirects a flow that does not slow down for marks.
    USE_CLASSIC = "use_classic"
    #: No queue explains why a flow suffers.
    LOOK_ELSEWHERE = "look_elsewhere"


#: What shortens a queue, or says why its law does not: the first of them.
SHORTENING = tuple(Action)[:7]


def write_setting(path: str, value: str) -> str:
    """Write a setting as it stands after ``--set`` in a shell.

    Examples
    --------
    >>> write_setting("queue", "codel"), write_setting("link.line.up.rate", "4 Mbit/s")
    ('queue=codel', "link.line.up.rate='4 Mbit/s'")
    """
    return f"{path}='{value}'" if " " in value else f"{path}={value}"


@dataclass(frozen=True)
class Remedy:
    """An action on a subject, and where one is known, the setting that carries it out.

    Parameters
    ----------
    subject
        The name of the flow, queue, channel or link to change.
    path, value
        The path and the value for ``--set``. Both are empty where no setting is known, the value
        also where the reader has to choose it.
    queue
        The state of the queue to change; None where the action is not for a queue.
    buffer_tlv, aqm_tlv
        The TLVs of the modem's file that set the buffer and turn the AQM on, as text within a
        sentence, such as `` (TLV 24.35.2)``; empty where the modem has no file.
    tlv_settings
        Settings that do what these TLVs do, as path and value, the best first; empty where the
        modem has no file. No other can be written into one.
    """

    action: Action
    subject: str = ""
    path: str = ""
    value: str = ""
    queue: QueueState | None = None
    buffer_tlv: str = ""
    aqm_tlv: str = ""
    tlv_settings: tuple[tuple[str, str], ...] = ()

    @property
    def setting(self) -> str:
        """Path and value as after ``--set``; empty where one of them is not known."""
        return write_setting(self.path, self.value) if self.path and self.value else ""


@dataclass(frozen=True, kw_only=True)
class Fact:
    """Something that is wrong with a run, or worth knowing, and its remedies, the best first."""

    remedies: tuple[Remedy, ...] = ()
    shown_by: ClassVar[tuple[str, ...]] = ()

    @property
    def figures(self) -> tuple[str, ...]:
        """The names of the figures that show the fact, the best first."""
        return self.shown_by


@dataclass(frozen=True)
class Untrustworthy(Fact):
    """A run with real programs fell behind real time."""

    lateness: Mapping[str, Any]


@dataclass(frozen=True)
class OpenLoop(Fact):
    """A recording was replayed with other settings than its senders had reacted to: the paths."""

    changed: tuple[str, ...]


@dataclass(frozen=True)
class UnequalReplay(Fact):
    """The frames of a replay did not end as those of the recorded run did."""


@dataclass(frozen=True)
class Partial(Fact):
    """A run was stopped before its end."""

    simulated_ns: float
    duration_ns: float


@dataclass(frozen=True)
class NothingSent(Fact):
    """No packet was sent in the measured part. The hosts are those that run real programs."""

    hosts: tuple[str, ...]


@dataclass(frozen=True)
class NothingDelivered(Fact):
    """Packets were sent, and none arrived in the measured part."""

    sent: int
    lost: int


@dataclass(frozen=True)
class PathLoss(Fact):
    """The path beyond the line lost packets.

    Parameters
    ----------
    shares
        The share of packets lost, by the label of a flow or group; of a group, the largest share
        of a member.
    groups
        The labels that are groups.
    """

    shares: Mapping[str, float]
    groups: frozenset[str]


@dataclass(frozen=True)
class LossyPath(Fact):
    """The path beyond the line explains why a flow suffers."""

    flow: str
    lost_ratio: float
    shown_by = ("loss",)


@dataclass(frozen=True)
class Barred(Fact):
    """Most packets of a flow did not arrive, and no queue lost them; the reason is the engine's.

    The link is that whose medium gave them up; empty for none.
    """

    flow: str
    reason: str
    link: str = ""
    shown_by = ("loss",)


@dataclass(frozen=True)
class HiddenStations(Fact):
    """Stations of a cell do not hear each other, and their frames collide."""

    hidden: HiddenPairs
    shown_by = ("loss",)


@dataclass(frozen=True)
class WeakSignal(Fact):
    """A station's signal is too weak, and the radio gives up many of a flow's packets."""

    signal: LostSignal
    shown_by = ("loss",)


@dataclass(frozen=True)
class LongPath(Fact):
    """The path itself takes longer each way than a conversation bears."""

    flow: str
    delay_ns: float
    is_full: bool
    shown_by = ("delay",)


@dataclass(frozen=True)
class Unexplained(Fact):
    """Somebody suffers, and no queue explains it."""

    is_full: bool
    shown_by = ("delay",)


@dataclass(frozen=True)
class FullChannel(Fact):
    """A channel that queues share is full."""

    channel: ChannelState


@dataclass(frozen=True)
class OtherBottleneck(Fact):
    """The queue that the scenario calls its bottleneck is not the one that did the harm.

    Parameters
    ----------
    delay_p50_ns
        The median delay of the scenario's bottleneck; None where it held no packet.
    """

    queue: str
    delay_p50_ns: float | None


@dataclass(frozen=True)
class Collisions(Fact):
    """A hash has put flows together in queues of a scheduler."""

    meetings: tuple[Meeting, ...]
    discipline: str


@dataclass(frozen=True)
class WaitsForGrants(Fact):
    """Packets of a link's modems wait until a request for a grant gets through.

    Parameters
    ----------
    requests, collided
        How many requests the modems sent in contention, and how many of these collided.
    """

    link: str
    requests: float
    collided: float
    shown_by = ("street", "queue")


@dataclass(frozen=True)
class SeveralCauses(Fact):
    """Flows suffer for different reasons; its remedies are those of the queues of the others.

    Parameters
    ----------
    main
        The fact of the most frequent reason.
    groups
        The flows of each reason, the most frequent first.
    contention
        The links on which modems wait for grants, by name.
    unexplained
        How many flows suffer for no known reason.
    """

    main: Fact
    groups: tuple[CauseGroup, ...]
    contention: Mapping[str, WaitsForGrants]
    unexplained: int


@dataclass(frozen=True)
class QueueUse(Fact):
    """The state of the queue that the run is judged by."""

    queue: QueueState
    shown_by: ClassVar[tuple[str, ...]] = ("queue",)


@dataclass(frozen=True)
class WaitsForChannel(QueueUse):
    """Packets of a queue wait for a full channel.

    Parameters
    ----------
    stands
        Whether the queue is a standing queue, which a control law could shorten.
    """

    channel: ChannelState
    stands: bool

    @property
    def figures(self) -> tuple[str, ...]:
        """What takes the air of a cell comes first where that is why it is full."""
        state = self.channel
        if state.slow_station or state.has_small_packets or state.has_collisions:
            return ("air-time", "queue", "rates")
        return ("street", "queue", "rates")


@dataclass(frozen=True)
class Waits(QueueUse):
    """Packets wait in a queue.

    Parameters
    ----------
    passing
        How other packets pass those that wait, as the end of a sentence; empty where none pass.
    suffers
        Whether a flow suffers from the wait.
    remedies
        The first is the best for the flow that suffers most, the last for the queue.
    """

    passing: str
    suffers: bool


@dataclass(frozen=True)
class StandingQueue(Waits):
    """Packets wait in a queue for most of the time.

    Parameters
    ----------
    late_flow, late_ratio
        The flow that suffers most, and the share of its packets that arrive too late; an empty
        name where few of them do.
    is_only
        Whether no other flow or group suffers.
    """

    late_flow: str
    late_ratio: float
    is_only: bool

    @property
    def figures(self) -> tuple[str, ...]:
        """Where no flow suffers, the delays show first which flows pass the queue."""
        return ("delay", "queue") if self.passing and not self.suffers else self.shown_by


@dataclass(frozen=True)
class QueueAtTimes(Waits):
    """Packets wait in a queue at times, or whenever it is used.

    Parameters
    ----------
    is_short_otherwise
        Whether the median delay of the queue is short.
    """

    is_short_otherwise: bool


@dataclass(frozen=True)
class FullLine(Waits):
    """Packets wait for a full line.

    Parameters
    ----------
    is_long
        Whether the median delay of the queue is long.
    is_sawtooth
        Whether senders fill the buffer, lose a packet and slow down, over and over.
    """

    is_long: bool
    is_sawtooth: bool


@dataclass(frozen=True)
class RareWaits(Waits):
    """1 packet in 100 waits long in a queue.

    Parameters
    ----------
    is_full
        Whether the line is full.
    """

    is_full: bool


@dataclass(frozen=True)
class TurnWait(QueueUse):
    """A flow waits for its turn behind a scheduler of many flows. Times in ns.

    Parameters
    ----------
    flow
        The flow that suffers.
    flows
        Among how many flows it has its turn.
    turn_ns
        How long it waits for it: the turns of all of them, or what path and others leave.
    total_ns
        The delay that the flow suffers by.
    path_ns
        What its path takes, where that is a part of it to be told; else 0.
    others
        Other queues on its way that take such a part: the median delay by the queue's name.
    """

    flow: str
    flows: int
    turn_ns: float
    total_ns: float
    path_ns: float
    others: Mapping[str, float]
    shown_by = ("delay", "queue")


@dataclass(frozen=True)
class LossyQueue(QueueUse):
    """A queue loses more packets than senders need to lose to find their rate.

    Parameters
    ----------
    suffers
        Whether a flow suffers.
    is_felt
        Whether a flow suffers from loss, not from delay.
    """

    suffers: bool
    is_felt: bool

    @property
    def figures(self) -> tuple[str, ...]:
        """Where a flow suffers, the figure of losses comes first."""
        return ("loss", "queue") if self.suffers else self.shown_by


@dataclass(frozen=True)
class ThrottledSenders(QueueUse):
    """A queue slowed senders down that had more to send, and its line was idle meanwhile."""

    senders: Throttled
    #: Whether the queue's limit holds less than the line sends in a round trip.
    is_too_small: bool
    shown_by = ("line-rate", "queue")


@dataclass(frozen=True)
class Policed(Fact):
    """A policer drops what exceeds its rate and burst.

    Parameters
    ----------
    queue
        The queue that it stands before.
    rate, burst
        Its rate and burst, as the scenario has them.
    lost_ratio
        Share of the packets that came to it which it dropped.
    utilisation
        Share of its rate that passed.
    is_tcps
        Whether those that lost packets to it send by TCP, which slows down for each loss.
    """

    queue: str
    rate: str
    burst: str
    lost_ratio: float
    utilisation: float
    is_tcps: bool
    shown_by = ("rates", "loss")


@dataclass(frozen=True)
class SpareLine(QueueUse):
    """The line has room to spare; the air time of a cell that is in use, where it is one."""

    busy_ratio: float | None = None
    shown_by = ()


@dataclass(frozen=True)
class AcksFill(QueueUse):
    """What a queue sends is acknowledgements, nearly all; they, and others, wait in it.

    Parameters
    ----------
    share
        Of the bytes that went its way, those of acknowledgements.
    flows
        The transfers that they acknowledge.
    """

    share: float
    flows: tuple[str, ...]


@dataclass(frozen=True)
class LimitedTransfers(Fact):
    """Transfers are limited by something else than their share of a line."""

    limits: tuple[TransferLimit, ...]
    shown_by = ("cwnd", "rates")


@dataclass(frozen=True)
class UnequalControls(Fact):
    """Transfers with different congestion controls share a full line; yields: one is to give way.

    Parameters
    ----------
    flow_queue
        The discipline that gives each flow its turn; empty where they share one queue.
    unreached
        Of one that is to give way above a delay which the queue does not reach: that queue, its
        99th percentile, and the target, ns. None otherwise.
    """

    most: ControlShare
    least: ControlShare
    flow_queue: str
    unreached: tuple[str, float, float] | None = None
    shown_by = ("rates", "cwnd")


@dataclass(frozen=True)
class LowPicture(Fact):
    """A film plays, with a picture far below its best: the line has no more for it. Bit/s."""

    flow: str
    picture_bps: float
    best_bps: float
    line_bps: float
    shown_by = ("streamed-video-rate",)


@dataclass(frozen=True)
class SharedTunnel(Fact):
    """A flow suffers in a tunnel with others, which a flow queue takes for one flow."""

    flow: str
    tunnel: str
    others: tuple[str, ...]
    discipline: str
    shown_by = ("delay", "queue")


@dataclass(frozen=True)
class OtherQueue(Fact):
    """A second queue on the same way stands too; its remedies are for that queue."""

    queue: QueueState
    shown_by = ("queue",)


@dataclass(frozen=True)
class Spells(Fact):
    """The line was another one before and after: what each flow got in each spell."""

    spells: tuple[Spell, ...]
    shown_by = ("rates", "line-rate")


@dataclass(frozen=True)
class LowLatencyUnused(Fact):
    """No packet was sent to a low-latency queue."""

    low: str


@dataclass(frozen=True)
class LowLatencyUse(Fact):
    """Flows use a low-latency queue."""

    aggregate: Aggregate


@dataclass(frozen=True)
class Sanctions(Fact):
    """Queue protection redirected packets of a flow.

    Parameters
    ----------
    since_warmup
        Whether the first of them was redirected before the measured part.
    is_burst
        Whether only bursts were redirected.
    crowding
        The flow's share of the packets of the classic queue; None where it has not most of them,
        or all.
    """

    aggregate: Aggregate
    flow: AggregateFlow
    since_warmup: bool
    is_burst: bool
    crowding: float | None


@dataclass(frozen=True)
class MoreSanctions(Fact):
    """Further flows, or aggregates, of which queue protection redirected packets."""

    flows: int = 0
    aggregates: int = 0


@dataclass(frozen=True)
class SanctionedFlow(Fact):
    """A flow suffers in the classic queue, to which queue protection sends it."""

    flow: str
    aggregate: Aggregate
    sanctioned_ratio: float
    shown_by = ("queue", "delay")


@dataclass(frozen=True)
class KeptOut(Fact):
    """Queue protection keeps a flow, and more flows, out of the low-latency queue."""

    flow: str
    sanctioned_ratio: float
    more: int


class HopKind(StrEnum):
    """What a link on a home's way out is to those who live there."""

    WIFI = "wifi"
    CABLE = "cable"
    LINE = "line"


@dataclass(frozen=True)
class Hop:
    """One of the links that a flow's packets cross.

    Parameters
    ----------
    flow
        The flow.
    queues
        The queues on it that the flow's packets meet, those upstream first.
    channel
        Of a cell: its channel; None of another link.
    guilty
        The directions in which it is to blame; empty where it is not.
    """

    link: str
    kind: HopKind
    flow: str
    queues: tuple[QueueState, ...]
    channel: ChannelState | None = None
    guilty: frozenset[str] = frozenset()

    @property
    def used_ratio(self) -> float | None:
        """The share of its rate that is used, in the direction with more; None where unknown."""
        used = [own.utilisation for own in self.queues if own.utilisation is not None]
        return max(used, default=None)

    @property
    def is_full(self) -> bool:
        """Whether all of it is used, or nearly: it is the next to hold somebody up."""
        return self.channel.is_full if self.channel else (self.used_ratio or 0.0) > FULL


@dataclass(frozen=True)
class Hops(Fact):
    """The links on a way over Wi-Fi and others, and which of them is to blame.

    Parameters
    ----------
    flow
        Whose way it is: that of the flow which suffers most, of those that cross several and a
        link that is to blame.
    hops
        The links, from the flow's host on; then those to blame that only other flows cross.
    suffers
        Whether somebody suffers.
    cells
        How many cells the scenario has.
    """

    flow: str
    hops: tuple[Hop, ...]
    suffers: bool
    cells: int = 1
    shown_by = ("air-time", "queue")

    @property
    def guilty(self) -> tuple[Hop, ...]:
        """Those to blame."""
        return tuple(hop for hop in self.hops if hop.guilty)


@dataclass(frozen=True)
class Diagnosis:
    """What is wrong with a run.

    Parameters
    ----------
    facts
        All facts, in the order of their sentences: reservations against the numbers, then paths
        and channels, the queue that did the harm, and low latency.
    causes
        Why flows suffer, the main cause last. Where no flow suffers, the state of the line. Empty
        where no cause is known.
    beside
        What limits a transfer meanwhile, where somebody suffers; None where the causes say it, or
        nothing is to be said.
    hops
        Which link the causes are about, where some are crossed over Wi-Fi; None elsewhere, and
        where no cause is known.
    """

    facts: tuple[Fact, ...]
    causes: tuple[Fact, ...]
    beside: LimitedTransfers | UnequalControls | None = None
    hops: Hops | None = None

    @property
    def cause(self) -> Fact | None:
        """The main cause; None where no cause is known."""
        causes = [cause for cause in self.causes if not isinstance(cause, OtherQueue)]
        last = causes[-1] if causes else None
        return last.main if isinstance(last, SeveralCauses) else last

    @property
    def remedy(self) -> Remedy | None:
        """The remedy that an answer proposes for the main cause; None where it proposes none.

        A shorter queue is not proposed where other packets pass those that wait in it, or where the
        queue of a full line harms no flow.
        """
        cause = self.cause
        if cause is None or not cause.remedies:
            return None
        is_harmless = isinstance(cause, FullLine) and not cause.suffers
        is_passed = isinstance(cause, Waits) and bool(cause.passing)
        shortens = cause.remedies[0].action in (*SHORTENING, Action.STATION_QUEUES)
        is_left_out = shortens and (is_harmless or is_passed)
        return None if is_left_out else cause.remedies[0]
