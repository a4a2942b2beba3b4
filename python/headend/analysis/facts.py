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
from headend.analysis.low_latency import Aggregate, AggregateFlow
from headend.analysis.queue_state import QueueState
from headend.analysis.spells import Spell
from headend.analysis.throttling import Throttled
from headend.analysis.transfer_limits import ControlShare, TransferLimit


class Action(StrEnum):
    """What may help. Those of a queue say why it is as long as it is."""

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

    FLOW_QUEUES = "flow_queues"
    LESS_LOAD = "less_load"
    MORE_CAPACITY = "more_capacity"
    RAISE_LIMIT = "raise_limit"
    RAISE_TARGET = "raise_target"
    MORE_OPPORTUNITIES = "more_opportunities"
    SHORTER_BACKOFF = "shorter_backoff"
    FEWER_MODEMS = "fewer_modems"
    #: The queue is full of acknowledgements: fewer of them, or none of their waits.
    THIN_ACKS = "thin_acks"
    #: A router before a modem: its rate below the modem's.
    LOWER_RATE = "lower_rate"
    LEAVE_TUNNEL = "leave_tunnel"
    MARK_PACKETS = "mark_packets"
    RAISE_THRESHOLD = "raise_threshold"
    USE_CLASSIC = "use_classic"
    LOOK_ELSEWHERE = "look_elsewhere"


#: What shortens a queue, or says why its law does not: the first of them.
SHORTENING = tuple(Action)[:7]


@dataclass(frozen=True)
class Remedy:
    """A proposal.

    Parameters
    ----------
    subject
        The flow, queue or link that it is for.
    path, value
        What to give to ``--set``; empty where no setting is known, or the value is to be chosen.
    queue
        The queue that it is about; None where it is about none.
    buffer_tlv, aqm_tlv
        The TLVs of the modem's file that do it, as in a sentence: a space and brackets.
    """

    action: Action
    subject: str = ""
    path: str = ""
    value: str = ""
    queue: QueueState | None = None
    buffer_tlv: str = ""
    aqm_tlv: str = ""

    @property
    def setting(self) -> str:
        """Path and value as after ``--set``; empty where one of them is not known."""
        return f"{self.path}={self.value}" if self.path and self.value else ""


@dataclass(frozen=True, kw_only=True)
class Fact:
    """Something that is wrong, or worth knowing, with what may help: the best first."""

    remedies: tuple[Remedy, ...] = ()
    shown_by: ClassVar[tuple[str, ...]] = ()

    @property
    def figures(self) -> tuple[str, ...]:
        """The figures that show it, the best first."""
        return self.shown_by


@dataclass(frozen=True)
class Untrustworthy(Fact):
    """A run with real programs fell behind real time."""

    lateness: Mapping[str, Any]


@dataclass(frozen=True)
class OpenLoop(Fact):
    """Recorded arrivals met other settings than those that their senders reacted to."""

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
    """Nothing was sent in the measured part; hosts are those of real programs."""

    hosts: tuple[str, ...]


@dataclass(frozen=True)
class NothingDelivered(Fact):
    """Packets were sent, and none arrived in the measured part."""

    sent: int
    lost: int


@dataclass(frozen=True)
class PathLoss(Fact):
    """The path beyond the line lost packets of flows and groups, of a group a share at most."""

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
    """Most packets of a flow did not arrive, and no queue lost them; the reason is the engine's."""

    flow: str
    reason: str
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
    """The scenario is about another queue than the one that did the harm; None: it held none."""

    queue: str
    delay_p50_ns: float | None


@dataclass(frozen=True)
class Collisions(Fact):
    """A hash has put flows together in queues of a scheduler; key: of the queue in ``--set``."""

    meetings: tuple[Meeting, ...]
    discipline: str
    key: str


@dataclass(frozen=True)
class WaitsForGrants(Fact):
    """Packets wait until a request for a grant gets through: requests of a link's modems."""

    link: str
    requests: float
    collided: float
    shown_by = ("street", "queue")


@dataclass(frozen=True)
class SeveralCauses(Fact):
    """Flows suffer for different reasons, of which one is the main fact.

    Parameters
    ----------
    contention
        By link, where modems wait for grants.
    """

    main: Fact
    groups: tuple[CauseGroup, ...]
    contention: Mapping[str, WaitsForGrants]
    unexplained: int


@dataclass(frozen=True)
class QueueUse(Fact):
    """How long packets waited in the queue that the run is judged by, and how full its line was."""

    queue: QueueState
    shown_by: ClassVar[tuple[str, ...]] = ("queue",)


@dataclass(frozen=True)
class WaitsForChannel(QueueUse):
    """A queue waits for a full channel; where it stands, how long is its own doing."""

    channel: ChannelState
    stands: bool
    shown_by = ("street", "queue", "rates")


@dataclass(frozen=True)
class Waits(QueueUse):
    """Packets wait in a queue.

    Parameters
    ----------
    passing
        How other packets pass those that wait; empty where all wait.
    suffers
        Whether somebody suffers from it.
    remedies
        The first is the best for the flow that suffers most, the last for the queue.
    """

    passing: str
    suffers: bool


@dataclass(frozen=True)
class StandingQueue(Waits):
    """For most of the time; where known, which flow's packets are too late for it, and how many."""

    late_flow: str
    late_ratio: float
    is_only: bool

    @property
    def figures(self) -> tuple[str, ...]:
        """Where nobody suffers, the delays show who passes it."""
        return ("delay", "queue") if self.passing and not self.suffers else self.shown_by


@dataclass(frozen=True)
class QueueAtTimes(Waits):
    """At times, or whenever it is used."""

    is_short_otherwise: bool


@dataclass(frozen=True)
class FullLine(Waits):
    """For a full line, at the median or hardly.

    Parameters
    ----------
    is_sawtooth
        Whether senders fill the buffer, lose a packet and slow down, over and over.
    """

    is_long: bool
    is_sawtooth: bool


@dataclass(frozen=True)
class RareWaits(Waits):
    """1 packet in 100."""

    is_full: bool


@dataclass(frozen=True)
class LossyQueue(QueueUse):
    """A queue loses more than senders need to find their rate; felt where that is what hurts."""

    suffers: bool
    is_felt: bool

    @property
    def figures(self) -> tuple[str, ...]:
        """Where somebody suffers, their losses show it first."""
        return ("loss", "queue") if self.suffers else self.shown_by


@dataclass(frozen=True)
class ThrottledSenders(QueueUse):
    """A queue made senders slow down that had more to send, while its line was idle."""

    senders: Throttled
    #: Whether the queue's limit is below what a round trip takes.
    is_too_small: bool
    shown_by = ("line-rate", "queue")


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
    """

    most: ControlShare
    least: ControlShare
    flow_queue: str
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
    """A second queue on the same way stands too."""

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
    """Who uses a low-latency queue, and what waits there."""

    aggregate: Aggregate


@dataclass(frozen=True)
class Sanctions(Fact):
    """Queue protection redirected packets of a flow.

    Parameters
    ----------
    since_warmup
        Whether the first of them was redirected before the measured part.
    is_burst
        Whether only bursts were.
    crowding
        Its share of the classic queue, where it has most of that and others use it too.
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
    """Flows that queue protection keeps out of the low-latency queue: the first, and how many."""

    flow: str
    sanctioned_ratio: float
    more: int


@dataclass(frozen=True)
class Diagnosis:
    """What is wrong with a run.

    Parameters
    ----------
    facts
        All that is told at length, in that order: what to know before a number is believed, then
        paths and channels, the queue that did the harm, and low latency.
    causes
        Why flows suffer, or where none does, how the line fared; none where nothing explains it.
    """

    facts: tuple[Fact, ...]
    causes: tuple[Fact, ...]

    @property
    def cause(self) -> Fact | None:
        """The main cause."""
        causes = [cause for cause in self.causes if not isinstance(cause, OtherQueue)]
        last = causes[-1] if causes else None
        return last.main if isinstance(last, SeveralCauses) else last

    @property
    def remedy(self) -> Remedy | None:
        """What an answer proposes against the main cause.

        What shortens a queue is left out where others pass those that wait in it, or where a full
        line's queue harms nobody.
        """
        cause = self.cause
        if cause is None or not cause.remedies:
            return None
        is_harmless = isinstance(cause, FullLine) and not cause.suffers
        is_passed = isinstance(cause, Waits) and bool(cause.passing)
        is_left_out = cause.remedies[0].action in SHORTENING and (is_harmless or is_passed)
        return None if is_left_out else cause.remedies[0]
