"""What is wrong with a run: finders of the facts of ``analysis/facts.py``, and their order.

A new fact is a dataclass there, a finder here that yields it, and its sentences in
the subject's file of ``wording/``, named in ``WORDS`` of ``wording/facts.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from headend.analysis import facts
from headend.analysis.acknowledgements import find_acks
from headend.analysis.bottleneck import find_bottleneck
from headend.analysis.causes import CauseGroup, Causes, DelaySource, find_causes
from headend.analysis.cell_remedies import (
    find_hidden,
    find_station_queues,
    find_weak_signal,
    relieve_cell,
)
from headend.analysis.channels import ChannelState, gather_cells, gather_channels
from headend.analysis.collisions import Meeting, find_meetings
from headend.analysis.contention import find_waits_for_grants
from headend.analysis.facts import Action, Diagnosis, Fact, Remedy
from headend.analysis.flow_groups import FlowGroup, gather_groups
from headend.analysis.grading import PICTURE, Grade
from headend.analysis.hops import BEYOND, find_hops, list_blamed
from headend.analysis.lateness import find_emulation, is_open_loop, is_trustworthy
from headend.analysis.policers import find_policed
from headend.analysis.quality import FlowQuality, judge_flows, read_best_picture
from headend.analysis.queue_remedies import shorten
from headend.analysis.queue_state import QueueState, describe_queue, find_passing
from headend.analysis.queues import (
    FULL,
    LONG_WAIT,
    LOSSY_SHARE,
    OWN_RATE,
    SHORT_WAIT,
    STANDING_TIME,
    STOOD_AT_TIMES,
    name_queue_key,
)
from headend.analysis.routers import find_router
from headend.analysis.routes import list_links, list_queues
from headend.analysis.sanctions import (
    find_kept_out,
    find_low_latency,
    find_marking,
    find_sanctioned,
)
from headend.analysis.signal import find_broken
from headend.analysis.spells import find_spells
from headend.analysis.throttling import find_throttled
from headend.analysis.transfer_limits import (
    UNEQUAL,
    ControlShare,
    Limit,
    find_control_shares,
    find_transfer_limits,
    list_notable,
)
from headend.analysis.tunnels import find_tunnel
from headend.analysis.turns import find_turn
from headend.engine.description import REAL, describe, find_queue, list_discards
from headend.results.record import Record, cached_on_record
from headend.scenario.parameters import find_value
from headend.text.quantity import parse_quantity

#: From this share of late packets on, the fact of a standing queue names the flow.
MANY_LATE = 0.05

#: Share of its packets with which a flow met others in a hashed queue, from which that is why it
#: suffers.
MOSTLY_MET = 0.5

#: The discipline that is proposed where a queue for each flow may help.
FLOW_QUEUE = "fq_codel"

#: Facts that say of no link that it makes a flow suffer.
_UNEXPLAINING = (
    facts.Unexplained,
    facts.SpareLine,
    facts.LimitedTransfers,
    facts.UnequalControls,
    facts.Barred,
)

#: Facts that say where packets wait.
_WAITING = (
    facts.Waits,
    facts.WaitsForChannel,
    facts.WaitsForGrants,
    facts.SeveralCauses,
)

#: One-way delay from which a conversation is no longer easy (ITU-T G.114), ns.
LONG_WAY = 150e6


@dataclass(frozen=True)
class Case:
    """The input of all finders: a run, with its flows, queue, channels and causes.

    Parameters
    ----------
    groups
        Flows, and groups of flows as one, those with the worst grade first.
    suffering
        The groups of which a member suffers.
    symptoms
        What the flows suffer from where that is known: ``late``, ``lost``.
    queue
        The queue that the run is judged by.
    channels
        The full channels.
    """

    record: Record
    groups: Sequence[FlowGroup]
    suffering: Sequence[FlowGroup]
    symptoms: frozenset[str]
    queue: QueueState | None
    channels: Sequence[ChannelState]
    causes: Causes

    @property
    def worst(self) -> FlowQuality | None:
        """The flow that suffers most; None where none does."""
        return self.suffering[0].worst if self.suffering else None

    def find_channel(self, queue: QueueState) -> ChannelState | None:
        """Find the full channel that a queue waits for; None where it waits for its own rate."""
        if (queue.utilisation or 0.0) > OWN_RATE:
            return None
        served = (state for state in self.channels if state.serves(queue.link, queue.direction))
        return next(served, None)


@cached_on_record
def open_case(record: Record) -> Case:
    """Gather the input of the finders from a run."""
    groups = gather_groups(judge_flows(record), worst_first=True)
    suffering = [group for group in groups if group.grades and group.worst.suffers]
    flows = [flow for group in suffering for flow in group.findings if flow.suffers]
    name = find_bottleneck(record)
    return Case(
        record,
        groups,
        suffering,
        frozenset(flow.symptom for flow in flows if flow.symptom),
        describe_queue(record, name) if name else None,
        [state for state in gather_channels(record) if state.is_full],
        find_causes(record) if suffering else Causes((), 0),
    )


@cached_on_record
def diagnose(record: Record) -> Diagnosis:
    """Find what is wrong with a run."""
    case = open_case(record)
    every = (fact for find in FINDERS for fact in find(case))
    causes = tuple(find_main_causes(case))
    hops = find_hops(
        record,
        [group.worst.flow for group in case.groups],
        causes,
        case.queue,
        suffers=bool(case.suffering),
    )
    weak = [cause for cause in causes if isinstance(cause, facts.WeakSignal)]
    kept = (fact for fact in every if not (weak and _has_no_reason(fact)))
    told = (*kept, *weak, *((hops,) if hops else ()))
    return Diagnosis(told, causes, _find_beside(case, causes), hops)


def _has_no_reason(fact: Fact) -> bool:
    """Say whether a fact leaves open why packets are lost, or only that the radio gave them up."""
    is_given_up = isinstance(fact, facts.LossyQueue) and fact.queue.reason == "retry_limit"
    return isinstance(fact, facts.Unexplained) or is_given_up


def find_reservations(record: Record) -> Iterator[Fact]:
    """Find the reservations against all numbers of a run."""
    emulation = find_emulation(record) or {}
    if not is_trustworthy(record):
        yield facts.Untrustworthy(emulation["lateness"])
    if is_open_loop(record):
        yield facts.OpenLoop(tuple(emulation.get("changed") or ()))
    if emulation.get("equal") is False:
        yield facts.UnequalReplay()


def _find_partial(case: Case) -> Iterator[Fact]:
    manifest = case.record.manifest
    if case.record.is_partial:
        yield facts.Partial(manifest["simulated_ns"], manifest["duration_ns"])


def find_nothing(record: Record) -> Iterator[Fact]:
    """Find whether no packet was delivered, and whether any was sent."""
    if record.rows("summary")[0]["packets_delivered"]:
        return
    if sent := sum(row["packets_sent"] for row in record.rows("flows")):
        lost = sum(row[column] for row in record.rows("flows") for column in list_discards())
        yield facts.NothingDelivered(sent, lost)
        return
    # The customers' hosts that are real: those with a flow of real programs.
    hosts = [
        str(flow.get("host", name))
        for name, flow in record.manifest["scenario"].get("flow", {}).items()
        if (own := flow.get("application")) == REAL or (isinstance(own, dict) and REAL in own)
    ]
    own = [row["flow"] for row in record.rows("flows") if row["application"] == REAL]
    yield facts.NothingSent(tuple(hosts or dict.fromkeys(own)))


def _find_path_loss(case: Case) -> Iterator[Fact]:
    """Find the flows of which the path beyond all links lost packets."""
    shares = {group.label: max(f.path_loss_ratio for f in group.findings) for group in case.groups}
    if lossy := {label: share for label, share in shares.items() if share}:
        yield facts.PathLoss(
            lossy, frozenset(group.label for group in case.groups if group.is_group)
        )


def _find_queue(case: Case) -> Iterator[Fact]:
    """Find what the judged queue did to the flows."""
    record, queue, main = case.record, case.queue, case.causes.main
    if queue is None:
        return
    yield facts.QueueUse(queue)
    if meetings := find_meetings(record, queue.queue):
        yield _describe_collisions(record, queue, meetings)
    if main and main.source is DelaySource.CONTENTION and queue.queue in main.queues:
        yield find_waits_for_grants(record, queue.link)
    elif channel := case.find_channel(queue):
        yield _describe_shortage(record, queue, channel)
    else:
        yield from find_symptoms(case, queue, is_alone=False)
    if record.bottleneck not in (None, queue.queue):
        other = describe_queue(record, str(record.bottleneck))
        yield facts.OtherBottleneck(str(record.bottleneck), other.delay_p50_ns if other else None)
    yield from find_low_latency(record, queue.queue)


def _find_policed(case: Case) -> Iterator[Fact]:
    """Find a policer that drops packets."""
    if policed := find_policed(case.record):
        yield policed


def _find_turns(case: Case) -> Iterator[Fact]:
    """Find that the flow that suffers most waits for its turn."""
    if case.worst and (turn := find_turn(case.record, case.worst)):
        yield turn


def _find_limits(case: Case) -> Iterator[Fact]:
    """Find what limits each transfer, its share of a line and its congestion control too."""
    if limits := find_transfer_limits(case.record):
        yield facts.LimitedTransfers(tuple(limits))
    if controls := _find_controls(case.record):
        yield controls


#: In the order in which their facts are told.
FINDERS: Sequence[Callable[[Case], Iterable[Fact]]] = (
    lambda case: find_reservations(case.record),
    _find_partial,
    lambda case: find_nothing(case.record),
    _find_path_loss,
    lambda case: map(facts.FullChannel, case.channels),
    _find_queue,
    _find_policed,
    _find_turns,
    _find_limits,
)


def find_symptoms(case: Case, queue: QueueState, *, is_alone: bool = True) -> Iterator[Fact]:
    """Find the worst thing that a queue did to the flows in it.

    Parameters
    ----------
    is_alone
        Whether to leave out that the queue slowed senders down.
    """
    if acks := find_acks(case.record, queue):
        yield acks
        return
    suffers, is_lost = bool(case.suffering), case.symptoms == {"lost"}
    median, slow = queue.delay_p50_ns or 0.0, queue.delay_p99_ns or 0.0
    passing, is_full = find_passing(case.record, queue), (queue.utilisation or 0.0) > FULL
    is_rare = slow > LONG_WAIT and not is_lost
    # Of a flow of which nothing arrived, no wait is known.
    is_silent = bool(case.worst and case.worst.loss_ratio == 1.0)
    is_lossy = is_silent and queue.lost_ratio > LOSSY_SHARE
    slowed = [] if is_alone else list(_find_throttled(case.record, queue))
    if queue.standing_ratio > STANDING_TIME and median > SHORT_WAIT and not is_lossy:
        yield _describe_standing(case, queue, passing)
    elif is_lossy or (queue.lost_ratio > LOSSY_SHARE and case.symptoms != {"late"}):
        yield _describe_losses(case, queue, suffers=suffers, is_felt="lost" in case.symptoms)
        yield from slowed
    elif queue.standing_ratio > STOOD_AT_TIMES or median > LONG_WAIT:
        waits = suffers and not is_lost
        remedies = find_remedies(case, queue) if waits else ()
        yield facts.QueueAtTimes(queue, passing, waits, median <= SHORT_WAIT, remedies=remedies)
    elif is_full and (median > SHORT_WAIT or not (suffers or is_rare)):
        yield _describe_full_line(case, queue, passing)
    elif is_rare and (is_full or "late" in case.symptoms or (suffers and is_alone)):
        # A transfer feels it too, though it cannot be told whether by delay or loss.
        remedies = find_remedies(case, queue) if suffers else ()
        yield facts.RareWaits(queue, passing, suffers, is_full, remedies=remedies)
    elif slowed and not is_full:
        yield from slowed
    elif worst := case.worst:
        is_long = (worst.delay_p50_ns or 0.0) > LONG_WAY and slow < LONG_WAIT
        long = facts.LongPath(worst.flow, worst.delay_p50_ns or 0.0, is_full)
        look = (Remedy(Action.LOOK_ELSEWHERE),)
        yield long if is_long else facts.Unexplained(is_full, remedies=look)
    else:
        yield facts.SpareLine(queue)


def _describe_standing(case: Case, queue: QueueState, passing: str) -> Fact:
    worst, suffers = case.worst, bool(case.suffering)
    late = (worst.late_ratio or 0.0) if worst and worst.direction else 0.0
    flow = worst.flow if worst and late > MANY_LATE else ""
    remedies = find_remedies(case, queue) if suffers or not passing else ()
    is_only = len(case.suffering) == 1
    return facts.StandingQueue(queue, passing, suffers, flow, late, is_only, remedies=remedies)


def _describe_losses(case: Case, queue: QueueState, *, suffers: bool, is_felt: bool) -> Fact:
    """Describe a queue's losses: TCP sends again what it lost, and slows down for it."""
    remedies: tuple[Remedy, ...] = ()
    if suffers and queue.is_tcps and is_felt and queue.discipline != FLOW_QUEUE:
        path = name_queue_key(case.record, queue.queue) or ""
        own = find_station_queues(case.record, queue)
        by_flow = Remedy(Action.FLOW_QUEUES, queue.queue, path, FLOW_QUEUE, queue)
        remedies = (*((own,) if own else ()), by_flow)
    elif suffers and queue.reason == "overlimit" and not queue.is_tcps:
        remedies = (Remedy(Action.LESS_LOAD, queue.queue, queue=queue),)
    return facts.LossyQueue(queue, suffers, is_felt, remedies=remedies)


def _describe_full_line(case: Case, queue: QueueState, passing: str) -> Fact:
    is_bound = find_queue(queue.discipline).governor == "bound"
    is_sawtooth = is_bound and queue.is_tcps and queue.reason == "overlimit"
    is_long, suffers = (queue.delay_p50_ns or 0.0) > SHORT_WAIT, bool(case.suffering)
    remedies = find_remedies(case, queue) if is_long else ()
    return facts.FullLine(queue, passing, suffers, is_long, is_sawtooth, remedies=remedies)


def _describe_shortage(record: Record, queue: QueueState, channel: ChannelState) -> Fact:
    """Describe the full channel that a queue waits for; a law in the queue may shorten the wait."""
    stands, shorter = queue.standing_ratio > STANDING_TIME, shorten(record, queue)
    is_long = stands or (channel.is_cell and (queue.delay_p99_ns or 0.0) > LONG_WAIT)
    # Where senders slow down, the queue decides how long packets wait for the channel.
    helps = is_long and queue.is_tcps and shorter.action is Action.ADD_AQM
    path, value = (shorter.path, shorter.value) if helps else ("", "")
    capacity = [Remedy(Action.MORE_CAPACITY, channel.channel, path, value)]
    if channel.is_cell:
        is_small = channel.has_small_packets and not channel.slow_station
        action = Action.LARGER_PACKETS if is_small else Action.MORE_AIR
        first = [replace(capacity[0], action=action)] if helps or not channel.slow_station else []
        own = find_station_queues(record, queue) if is_long or channel.slow_station else None
        turns = [own] if own else []
        first = [*first, *turns] if is_small else [*turns, *first]
        capacity = [*first, *relieve_cell(record, queue, channel)]
        if station := find_broken(record, channel.link):
            capacity.append(Remedy(Action.NEARER_STATION, station))
    remedies = (*capacity, shorter) if stands else tuple(capacity)
    return facts.WaitsForChannel(queue, channel, stands, remedies=remedies)


def _find_throttled(record: Record, queue: QueueState) -> Iterator[Fact]:
    """Find the senders that a queue slowed down while its line was idle."""
    if senders := find_throttled(record, queue.queue):
        action = Action.RAISE_LIMIT if senders.by_limit else Action.RAISE_TARGET
        own = find_station_queues(record, queue)
        # What stations share may be taken by the packets of one: a larger limit is no cure.
        is_too_small = bool(queue.room_ns and queue.room_ns < senders.rtt_ns and own is None)
        remedy = own or Remedy(action, queue.queue, queue=queue)
        yield facts.ThrottledSenders(queue, senders, is_too_small, remedies=(remedy,))


def find_remedies(case: Case, queue: QueueState) -> tuple[Remedy, ...]:
    """Find the remedies for waits; the first is the one for the flow that suffers most."""
    marking = find_marking(case.record, queue.queue, case.worst) if case.worst else None
    return (*((marking,) if marking else ()), *list_shorter(case.record, queue))


def list_shorter(record: Record, queue: QueueState) -> tuple[Remedy, ...]:
    """List the remedies for a long queue: that of an access point may be one for each station."""
    own = find_station_queues(record, queue)
    return (*((own,) if own else ()), shorten(record, queue))


def find_main_causes(case: Case) -> Iterable[Fact]:
    """Find why the flows that suffer do so; where none does, describe the line."""
    others = list(_find_other_causes(case))
    hidden = find_hidden(case.record, _name_worst(case), suffers=bool(case.suffering))
    if hidden is None or _lie_elsewhere(case, others, hidden.hidden.link):
        return _find_weak_signal(case, others) or others
    # What would be told without them may help as well.
    mains = [fact.main if isinstance(fact, facts.SeveralCauses) else fact for fact in others]
    rest = dict.fromkeys(own for fact in mains for own in fact.remedies)
    return [replace(hidden, remedies=(*hidden.remedies, *rest))]


def _find_weak_signal(case: Case, others: Sequence[Fact]) -> list[Fact]:
    """Find that the flow that fares worst does so for a weak signal; empty where it does not.

    It has lost many packets by it, or suffers from losses, or nothing else explains how it fares.
    Where it waits elsewhere, that is the cause. What others wait for elsewhere is told beside it.
    """
    flow = _name_worst(case)
    weak = find_weak_signal(case.record, flow) if flow else None
    if weak is None:
        return []
    worst = case.worst or case.groups[0].worst
    is_alone = all(isinstance(fact, _UNEXPLAINING) for fact in others)
    is_fine = worst.grade in (Grade.GOOD, Grade.NONE)
    matters = worst.symptom == "lost" or (is_alone and not is_fine)
    if not matters and weak.signal.given_up_ratio <= LOSSY_SHARE:
        return []
    waits = [fact for fact in others if isinstance(fact, _WAITING)]
    is_elsewhere = bool(waits) and _lie_elsewhere(case, waits, weak.signal.link)
    if is_elsewhere and worst.symptom == "late":
        return []
    if is_elsewhere:
        return [weak, *(waits if len(case.suffering) > 1 else ())]
    # What shortens a wait in the same cell may help as well.
    mains = [fact.main if isinstance(fact, facts.SeveralCauses) else fact for fact in waits]
    rest = dict.fromkeys(own for fact in mains for own in fact.remedies)
    return [replace(weak, remedies=(*weak.remedies, *rest))]


def _name_worst(case: Case) -> str:
    """Name the flow that fares worst, whether it suffers or not; empty where there is none."""
    return case.worst.flow if case.worst else case.groups[0].worst.flow if case.groups else ""


def _lie_elsewhere(case: Case, causes: Sequence[Fact], link: str) -> bool:
    """Say whether a cause is about another link than one, or about what lies beyond all links."""
    blamed = {name for name, _ in list_blamed(case.record, causes, case.queue)}
    return not blamed <= {link} or any(isinstance(cause, BEYOND) for cause in causes)


def _find_other_causes(case: Case) -> Iterable[Fact]:
    """Find why flows suffer where all stations hear each other."""
    record, worst, queue = case.record, case.worst, case.queue
    if worst and (reason := _find_bar(record, worst)):
        return [facts.Barred(worst.flow, reason, _find_given_up(record, worst.flow, reason))]
    if worst and worst.path_loss_ratio > 0.5 * (worst.loss_ratio or math.inf):
        return [facts.LossyPath(worst.flow, worst.path_loss_ratio)]
    if queue is None:
        return []
    if policed := find_policed(record, worst.flow if worst else ""):
        return [policed]
    if spells := find_spells(record):
        causes = _find_queue_causes(case, queue) if worst else ()
        return [*causes, facts.Spells(tuple(spells))]
    return _find_queue_causes(case, queue)


def _find_queue_causes(case: Case, queue: QueueState) -> Iterable[Fact]:
    """Find what a queue did to the flow that suffers most; without one, describe the line."""
    record, worst = case.record, case.worst
    if worst and (picture := _find_low_picture(record, worst, queue)):
        return [picture]
    if worst and (sanctioned := find_sanctioned(record, worst)):
        return [sanctioned]
    if worst and (tunnel := find_tunnel(record, queue, worst.flow)):
        return [tunnel]
    if worst and (meeting := _find_met(record, queue, worst)):
        return [meeting]
    if worst and (turn := find_turn(record, worst)):
        return [turn]
    main = case.causes.main
    if main and queue.queue in main.queues:
        return find_second_queue(case, _describe_main(case, queue))
    if channel := case.find_channel(queue):
        return [_describe_shortage(record, queue, channel)]
    if worst:
        return [
            both for fact in find_symptoms(case, queue) for both in find_second_queue(case, fact)
        ]
    kept_out = find_kept_out(record, queue.queue)
    facts_before = [kept_out] if kept_out else []
    return [*facts_before, *_find_transfers(case, queue)]


def _find_low_picture(
    record: Record, worst: FlowQuality, queue: QueueState
) -> facts.LowPicture | None:
    """Find that what is wrong with a film is its picture, and not that it waits or stands still."""
    best = read_best_picture(record, worst.flow)
    if best is None or worst.about != PICTURE.shown:
        return None
    rate = next(
        row["p50"]
        for row in record.rows("measures")
        if row["flow"] == worst.flow and row["measure"] == "segment_rate"
    )
    return facts.LowPicture(worst.flow, rate, best, queue.rate_bps)


def _find_met(record: Record, queue: QueueState, worst: FlowQuality) -> facts.Collisions | None:
    """Find that the flow that suffers most shares a scheduler's queue with others by its hash."""
    meetings = [
        meeting
        for meeting in find_meetings(record, queue.queue)
        if worst.flow in meeting.flows and meeting.share > MOSTLY_MET
    ]
    return _describe_collisions(record, queue, meetings) if meetings else None


def _describe_collisions(
    record: Record, queue: QueueState, meetings: Sequence[Meeting]
) -> facts.Collisions:
    """Describe flows that a hash put together; without a hash each has a queue of its own."""
    key = name_queue_key(record, queue.queue)
    path = f"{key}.{queue.discipline}.hash.isolation" if key else ""
    remedy = Remedy(Action.SEPARATE_FLOWS, queue.queue, path, "perfect", queue)
    return facts.Collisions(tuple(meetings), queue.discipline, remedies=(remedy,))


def find_second_queue(case: Case, fact: Fact) -> Iterator[Fact]:
    """Give a cause, and a second queue on the same way that stands; a router's rate helps.

    The way is that of the flow that suffers most, in both directions, if it leads through the queue
    of the cause. Of a router before a modem the rate is the first advice: it decides in which of
    them packets wait.
    """
    if not isinstance(fact, facts.Waits | facts.LossyQueue | facts.WaitsForChannel):
        yield fact
        return
    other = _find_other_queue(case, fact.queue)
    if other and isinstance(fact, facts.Waits) and _wait_of(other) > _wait_of(fact.queue):
        passing, own = find_passing(case.record, other), fact
        fact = replace(fact, queue=other, passing=passing, remedies=find_remedies(case, other))
        found = facts.OtherQueue(own.queue, remedies=own.remedies)
    elif other:
        found = facts.OtherQueue(other, remedies=list_shorter(case.record, other))
    else:
        found = None
    if router := find_router(case.record, fact.queue):
        fact = replace(fact, remedies=(router, *fact.remedies))
    yield fact
    if found:
        yield found


def _find_other_queue(case: Case, queue: QueueState) -> QueueState | None:
    """Find the longest standing queue, but for one, on the way of the flow that suffers most."""
    if case.worst is None:
        return None
    ways = [list_queues(case.record, case.worst.flow, way) for way in ("up", "down")]
    passed = [row for way in ways for row in way]
    standing = [
        row
        for row in passed
        if row["queue"] != queue.queue
        and row["standing_ratio"] > STANDING_TIME
        and row["median"] > SHORT_WAIT
    ]
    if not standing or all(row["queue"] != queue.queue for row in passed):
        return None
    longest = max(standing, key=lambda row: row["median"])
    return describe_queue(case.record, longest["queue"])


def _wait_of(queue: QueueState) -> float:
    return queue.delay_p50_ns or 0.0


def _find_transfers(case: Case, queue: QueueState) -> Iterator[Fact]:
    """Find what transfers got and why; last, how the line fared, where that is not all."""
    record, fact = case.record, describe_line(case, queue)
    limits = tuple(list_notable(find_transfer_limits(record)))
    if limits:
        # Who has no more to send is limited by nothing else, however the line fares.
        is_paced = all(limit.kind is Limit.APPLICATION for limit in limits)
        if not is_paced or isinstance(fact, facts.SpareLine):
            yield facts.LimitedTransfers(limits)
    elif controls := _find_controls(record):
        yield find_tunnel(record, queue, controls.least.flow) or controls
        return
    if not (limits and isinstance(fact, facts.SpareLine)):
        yield fact


def _find_controls(record: Record) -> facts.UnequalControls | None:
    """Find that congestion controls decide what transfers get of a full line.

    Behind a flow queue they do not, unless one of them is meant to yield there and cannot.
    """
    shares = find_control_shares(record)
    if shares is None:
        return None
    most, least, line = shares
    queue = describe_queue(record, line.name) if line.discipline else None
    # Flows of one tunnel are one flow to it.
    has_turns = queue and find_queue(queue.discipline).lets_pass
    is_flow_queue = bool(queue and has_turns and not find_tunnel(record, queue, least.flow))
    is_unequal = most.goodput_bps > UNEQUAL * least.goodput_bps
    is_yielding = any(share.control.startswith("ledbat") for share in (most, least))
    if not (is_yielding if is_flow_queue else is_unequal):
        return None
    unreached = _find_unreached(record, least, queue) if queue else None
    return facts.UnequalControls(most, least, line.discipline if is_flow_queue else "", unreached)


def _find_unreached(
    record: Record, share: ControlShare, queue: QueueState
) -> tuple[str, float, float] | None:
    """Find the delay that a sender is to give way above, where the queue does not reach it, ns."""
    flow = record.manifest["scenario"].get("flow", {}).get(share.flow, {})
    target = find_value(flow, f"tcp.congestion.{share.control}.target")
    if not share.control.startswith("ledbat") or not target or queue.delay_p99_ns is None:
        return None
    target_ns = parse_quantity(str(target), "time").value
    if queue.delay_p99_ns >= target_ns:
        return None
    return queue.queue, queue.delay_p99_ns, target_ns


def _find_beside(
    case: Case, causes: Sequence[Fact]
) -> facts.LimitedTransfers | facts.UnequalControls | None:
    """Find what limits a transfer where somebody suffers and the causes do not say it already.

    A share of the only line goes without saying; so does a transfer's own pace.
    """
    told = (facts.LimitedTransfers, facts.UnequalControls, facts.SharedTunnel, facts.Spells)
    if not case.suffering or any(isinstance(fact, told) for fact in causes):
        return None
    limits = find_transfer_limits(case.record)
    own = {Limit.RECEIVE_WINDOW, Limit.SEND_BUFFER, Limit.PATH_LOSS, Limit.REQUESTS}
    if not any(isinstance(fact, facts.AcksFill) for fact in causes):
        own.add(Limit.ACKNOWLEDGEMENTS)
    if found := [limit for limit in limits if limit.kind in own]:
        return facts.LimitedTransfers(tuple(found[:1]))
    if controls := _find_controls(case.record):
        return controls
    named = set(_name_channels(case, causes))
    shares = [
        limit
        for limit in limits
        if limit.kind is Limit.LINE
        and limit.links > 1
        and not (limit.line and limit.line.name in named)
    ]
    return facts.LimitedTransfers(tuple(shares[:1])) if shares else None


def _name_channels(case: Case, causes: Sequence[Fact]) -> Iterator[str]:
    """Name the full channels that causes are about."""
    for cause in causes:
        if isinstance(cause, facts.WaitsForChannel):
            yield cause.channel.title
        elif isinstance(cause, facts.SeveralCauses):
            for group in cause.groups:
                served = (own for own in case.channels if own.serves(group.link, group.direction))
                yield from (own.title for own in served if group.source is DelaySource.CHANNEL)


def _find_bar(record: Record, worst: FlowQuality) -> str:
    """Name the reason why most packets of a flow did not arrive, where no queue dropped them."""
    rows = [row for row in record.rows("flows") if row["flow"] == worst.flow]
    sent, arrived = (
        sum(row[name] for row in rows) for name in ("packets_sent", "packets_delivered")
    )
    reasons = [reason for reason in describe().reasons.values() if reason.barred]
    counts = {reason.barred: sum(row[reason.column] for row in rows) for reason in reasons}
    barred = max(counts, key=counts.__getitem__)
    return barred if counts[barred] > sent / 2 and arrived < sent / 2 else ""


def _find_given_up(record: Record, flow: str, reason: str) -> str:
    """Find the cell that gave up most on a flow's way; none where that is not the reason."""
    given_up = describe().reasons["retry_limit"]
    if reason != given_up.barred:
        return ""
    # Only a cell's medium gives up.
    cells = {state.link for state in gather_cells(record)}
    met = [row for way in ("up", "down") for row in list_queues(record, flow, way)]
    lost = {link: 0 for link in list_links(record, flow) if link in cells}
    for row in met:
        if row["link"] in lost:
            lost[row["link"]] += row[given_up.column]
    return max(lost, key=lambda link: lost[link], default="")


def _describe_main(case: Case, queue: QueueState) -> Fact:
    """Describe the cause that most of the suffering flows share, and the others with it."""
    groups, channels = case.causes.groups, case.channels
    waits = {
        group.link: find_waits_for_grants(case.record, group.link)
        for group in groups
        if group.source is DelaySource.CONTENTION
    }
    first = groups[0]
    if first.source is DelaySource.CONTENTION:
        main: Fact = waits[first.link]
    elif first.source is DelaySource.CHANNEL:
        full = next(own for own in channels if own.serves(first.link, first.direction))
        main = _describe_shortage(case.record, queue, full)
    else:
        main = next(find_symptoms(case, queue))
    if len(groups) == 1 and not case.causes.unexplained:
        return main
    remedies = tuple(own for group in groups[1:] for own in _list_remedies(case, group))
    return facts.SeveralCauses(main, groups, waits, case.causes.unexplained, remedies=remedies)


def _list_remedies(case: Case, group: CauseGroup) -> Iterable[Remedy]:
    """List what helps the flows of another cause: in their queue, or in the cell that is full."""
    queue = describe_queue(case.record, group.queues[0])
    if queue is None or group.source is DelaySource.CONTENTION:
        return ()
    if group.source is DelaySource.QUEUE:
        return list_shorter(case.record, queue)
    cells = (own for own in case.channels if own.is_cell and own.link == group.link)
    return (own for cell in cells for own in _describe_shortage(case.record, queue, cell).remedies)


def describe_line(case: Case, queue: QueueState) -> Fact:
    """Describe the line where nobody suffered: how full it was, and how long packets waited."""
    passing = find_passing(case.record, queue)
    if queue.standing_ratio > STANDING_TIME and (queue.delay_p50_ns or 0.0) > SHORT_WAIT:
        return find_acks(case.record, queue) or _describe_standing(case, queue, passing)
    for throttled in _find_throttled(case.record, queue):
        return throttled
    if queue.lost_ratio > LOSSY_SHARE:
        return _describe_losses(case, queue, suffers=False, is_felt=False)
    if (queue.utilisation or 0.0) > FULL:
        return _describe_full_line(case, queue, passing)
    cells = (state for state in gather_cells(case.record) if state.link == queue.link)
    cell = next(cells, None)
    if cell and cell.full_ratio > FULL:
        return _describe_shortage(case.record, queue, cell)
    return facts.SpareLine(queue, busy_ratio=cell.full_ratio if cell else None)
