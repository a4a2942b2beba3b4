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
from headend.analysis.throttling import Throttled


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
    MARK_PACKETS = "mark_packets"
    RAISE_THRESHOLD = "raise_threshold"
    USE_CLASSIC = "use_classic"
    LOOK_ELSEWHERE = "look_elsewhere"


#: What shortens a queue, or says why its law does not.
SHORTENING = (
    Action.ADD_AQM,
    Action.CHOOSE_LAW,
    Action.WAKE_AQM,
    Action.CHECK_AQM,
    Action.SLOW_SENDERS,
    Action.LOWER_LIMIT,
    Action.TUNE_AQM,
)


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


@dataclass(frozen=True)
class Untrustworthy:
    """A run with real programs fell behind real time."""

    lateness: Mapping[str, Any]


@dataclass(frozen=True)
class OpenLoop:
    """Recorded arrivals met other settings than those that their senders reacted to."""

    changed: tuple[str, ...]


@dataclass(frozen=True)
class UnequalReplay:
    """The frames of a replay did not end as those of the recorded run did."""


@dataclass(frozen=True)
class Partial:
    """A run was stopped before its end."""

    simulated_ns: float
    duration_ns: float


@dataclass(frozen=True)
class NothingSent:
    """Nothing was sent in the measured part; hosts are those of real programs."""

    hosts: tuple[str, ...]


@dataclass(frozen=True)
class NothingDelivered:
    """Packets were sent, and none arrived in the measured part."""

    sent: int
    lost: int


@dataclass(frozen=True)
class PathLoss:
    """The path beyond the line lost packets.

    Parameters
    ----------
    shares
        By flow or group: the share that it lost, of a group that of the worst member.
    groups
        Those of them that are groups.
    """

    shares: Mapping[str, float]
    groups: frozenset[str]
    figures: ClassVar = ("loss",)


@dataclass(frozen=True)
class LossyPath:
    """The path beyond the line explains why a flow suffers."""

    flow: str
    lost_ratio: float
    figures: ClassVar = ("loss",)


@dataclass(frozen=True)
class Barred:
    """Most packets of a flow did not arrive, and no queue lost them; the reason is the engine's."""

    flow: str
    reason: str
    figures: ClassVar = ("loss",)


@dataclass(frozen=True)
class LongPath:
    """The path itself takes longer each way than a conversation bears."""

    flow: str
    delay_ns: float
    is_full: bool
    figures: ClassVar = ("delay",)


@dataclass(frozen=True)
class FullChannel:
    """A channel that queues share is full."""

    channel: ChannelState


@dataclass(frozen=True)
class QueueUse:
    """How long packets waited in the queue that the run is judged by, and how full its line was."""

    queue: QueueState


@dataclass(frozen=True)
class OtherBottleneck:
    """The scenario is about another queue than the one that did the harm; None: it held none."""

    queue: str
    delay_p50_ns: float | None


@dataclass(frozen=True)
class Collisions:
    """A hash has put flows together in queues of a scheduler; key: of the queue in ``--set``."""

    meetings: tuple[Meeting, ...]
    discipline: str
    key: str


@dataclass(frozen=True)
class WaitsForGrants:
    """Packets wait until a request for a grant gets through: requests of a link's modems."""

    link: str
    requests: float
    collided: float
    remedies: tuple[Remedy, ...]
    figures: ClassVar = ("street", "queue")


@dataclass(frozen=True)
class WaitsForChannel:
    """A queue waits for a full channel; where it stands, how long is its own doing."""

    queue: QueueState
    channel: ChannelState
    stands: bool
    remedies: tuple[Remedy, ...]
    figures: ClassVar = ("street", "queue", "rates")


@dataclass(frozen=True)
class StandingQueue:
    """Packets wait for most of the time.

    Parameters
    ----------
    passing
        How other packets pass those that wait; empty where all wait.
    suffers
        Whether somebody suffers.
    late_flow, late_ratio
        Of what packets it makes too many too late, where that is known.
    remedies
        The first is the best for the flow that suffers most, the last for the queue.
    """

    queue: QueueState
    passing: str
    suffers: bool
    late_flow: str
    late_ratio: float
    is_only: bool
    remedies: tuple[Remedy, ...]

    @property
    def figures(self) -> tuple[str, ...]:
        """The figures that show it."""
        return ("delay", "queue") if self.passing and not self.suffers else ("queue",)


@dataclass(frozen=True)
class LossyQueue:
    """A queue loses more than senders need to find their rate; felt where that is what hurts."""

    queue: QueueState
    suffers: bool
    is_felt: bool
    remedies: tuple[Remedy, ...]

    @property
    def figures(self) -> tuple[str, ...]:
        """The figures that show it."""
        return ("loss", "queue") if self.suffers else ("queue",)


@dataclass(frozen=True)
class QueueAtTimes:
    """A queue stood at times, or whenever it was used."""

    queue: QueueState
    passing: str
    is_felt: bool
    is_short_otherwise: bool
    remedies: tuple[Remedy, ...]
    figures: ClassVar = ("queue",)


@dataclass(frozen=True)
class FullLine:
    """The line is full.

    Parameters
    ----------
    is_long
        Whether its queue is long at the median.
    is_sawtooth
        Whether senders fill the buffer, lose a packet and slow down, over and over.
    """

    queue: QueueState
    passing: str
    suffers: bool
    is_long: bool
    is_sawtooth: bool
    remedies: tuple[Remedy, ...]
    figures: ClassVar = ("queue",)


@dataclass(frozen=True)
class RareWaits:
    """A queue is short but for 1 packet in 100."""

    queue: QueueState
    passing: str
    suffers: bool
    is_full: bool
    remedies: tuple[Remedy, ...]
    figures: ClassVar = ("queue",)


@dataclass(frozen=True)
class ThrottledSenders:
    """A queue made senders slow down that had more to send, while its line was idle.

    Parameters
    ----------
    is_too_small
        Whether the queue's limit is below what a round trip takes.
    """

    queue: QueueState
    senders: Throttled
    is_too_small: bool
    remedies: tuple[Remedy, ...]
    figures: ClassVar = ("line-rate", "queue")


@dataclass(frozen=True)
class SpareLine:
    """The line has room to spare."""

    queue: QueueState


@dataclass(frozen=True)
class Unexplained:
    """Somebody suffers, and no queue explains it."""

    is_full: bool
    remedies: ClassVar = (Remedy(Action.LOOK_ELSEWHERE),)
    figures: ClassVar = ("delay",)


@dataclass(frozen=True)
class SeveralCauses:
    """Flows suffer for different reasons; the main one is a fact of its own."""

    main: Fact
    groups: tuple[CauseGroup, ...]
    #: By link: how many requests were sent in contention, and how many of them collided.
    contention: Mapping[str, tuple[float, float]]
    unexplained: int


@dataclass(frozen=True)
class LowLatencyUnused:
    """No packet was sent to a low-latency queue."""

    low: str


@dataclass(frozen=True)
class LowLatencyUse:
    """Who uses a low-latency queue, and what waits there."""

    aggregate: Aggregate


@dataclass(frozen=True)
class Sanctions:
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
    remedies: tuple[Remedy, ...]


@dataclass(frozen=True)
class MoreSanctions:
    """Further flows, or aggregates, of which queue protection redirected packets."""

    flows: int = 0
    aggregates: int = 0


@dataclass(frozen=True)
class SanctionedFlow:
    """A flow suffers in the classic queue, to which queue protection sends it."""

    flow: str
    aggregate: Aggregate
    sanctioned_ratio: float
    remedies: tuple[Remedy, ...]
    figures: ClassVar = ("queue", "delay")


@dataclass(frozen=True)
class KeptOut:
    """Flows that queue protection keeps out of the low-latency queue: the first, and how many."""

    flow: str
    sanctioned_ratio: float
    more: int


Fact = (
    Untrustworthy
    | OpenLoop
    | UnequalReplay
    | Partial
    | NothingSent
    | NothingDelivered
    | PathLoss
    | LossyPath
    | Barred
    | LongPath
    | FullChannel
    | QueueUse
    | OtherBottleneck
    | Collisions
    | WaitsForGrants
    | WaitsForChannel
    | StandingQueue
    | LossyQueue
    | QueueAtTimes
    | FullLine
    | RareWaits
    | ThrottledSenders
    | SpareLine
    | Unexplained
    | SeveralCauses
    | LowLatencyUnused
    | LowLatencyUse
    | Sanctions
    | MoreSanctions
    | SanctionedFlow
    | KeptOut
)


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
        last = self.causes[-1] if self.causes else None
        return last.main if isinstance(last, SeveralCauses) else last

    @property
    def figures(self) -> tuple[str, ...]:
        """The figures that show the main cause, the best first."""
        return tuple(getattr(self.cause, "figures", ()))

    @property
    def remedy(self) -> Remedy | None:
        """What an answer proposes against the main cause.

        What shortens a queue is left out where others pass those that wait in it, or where a full
        line's queue harms nobody.
        """
        cause = self.cause
        first = next(iter(getattr(cause, "remedies", ())), None)
        is_harmless = isinstance(cause, FullLine) and not cause.suffers
        is_passed = bool(getattr(cause, "passing", ""))
        is_left_out = first and first.action in SHORTENING and (is_harmless or is_passed)
        return None if is_left_out else first
