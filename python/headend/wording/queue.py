"""Sentences about a queue: how long packets wait in it, what it loses, and what shortens it.

Of each fact ``brief_…`` is a clause for the first lines of an answer, and ``full_…`` the sentences
for ``--full``, pages and notes.
"""

from __future__ import annotations

from headend.analysis import facts
from headend.analysis.facts import Action, Remedy
from headend.analysis.queue_state import QueueState
from headend.analysis.queues import LONG_WAIT, LOSSY_SHARE, STOOD_AT_TIMES
from headend.engine.description import describe, find_queue
from headend.text.wording import capitalise, list_names
from headend.wording.proposals import end_untried
from headend.wording.quantities import count, share, time

#: Flows that a sentence names at most.
MOST_NAMED = 4

#: What ends a sentence of a fact that those notice who suffer.
FELT = "that is what those feel who suffer"


def name_queue(queue: QueueState) -> str:
    """Name a queue; where it stands for many alike, add that it is the worst of them."""
    return f"{queue.queue}, the worst of {queue.alike}" if queue.alike > 1 else queue.queue


def tell_standing(queue: QueueState, name: str) -> str:
    """Say how long packets wait in a queue that stands: by the median where that is long.

    A short one is no reason to suffer; for how much of the time the queue stood is.
    """
    if _has_long_median(queue):
        return f"packets wait {time(queue.delay_p50_ns)} in {name}"
    return f"packets wait more than 50 ms in {name} {share(queue.standing_ratio)} of the time"


def _has_long_median(queue: QueueState) -> bool:
    return (queue.delay_p50_ns or 0.0) > LONG_WAIT


def full_use(fact: facts.QueueUse) -> str:
    """Say how long packets waited in it, what it lost, and how much of its rate was used."""
    queue = fact.queue
    name = f"The queue {queue.queue} ({queue.discipline})"
    if queue.alike > 1:
        name += (
            f", the worst of {queue.alike} like it, {queue.standing or 'none'} of them standing,"
        )
    if queue.delay_p50_ns is None:
        return f"{name} let no packet through."
    is_lossy = queue.lost_ratio > LOSSY_SHARE
    lost = f" and discarded {share(queue.lost_ratio)} of its packets" if is_lossy else ""
    return (
        f"{name} held packets {time(queue.delay_p50_ns)} at the median and"
        f" {time(queue.delay_p99_ns)} at the 99th percentile{lost}, with"
        f" {share(queue.utilisation)} of its rate used."
    )


def full_other_bottleneck(fact: facts.OtherBottleneck) -> str:
    """Say how long packets waited in the queue that the scenario calls its bottleneck."""
    wait = fact.delay_p50_ns
    held = f"held packets {time(wait)} at the median" if wait is not None else "held none"
    return f"The scenario calls {fact.queue} its bottleneck, which {held}."


def brief_standing(fact: facts.StandingQueue) -> str:
    """Say how long packets wait, and whose are too late for it."""
    queue, name = fact.queue, name_queue(fact.queue)
    if fact.passing and not fact.suffers:
        return f"{tell_standing(queue, name)}, but {queue.discipline} lets others pass them"
    if not fact.late_flow:
        return tell_standing(queue, f"the standing queue {name}")
    whose = "its packets" if fact.is_only else f"{fact.late_flow}'s packets"
    late = share(round(fact.late_ratio, 2))
    wait = f" ({time(queue.delay_p50_ns)})" if _has_long_median(queue) else ""
    return f"{late} of {whose} arrive too late behind the standing queue {name}{wait}"


def full_standing(fact: facts.StandingQueue) -> list[str]:
    """Say for how much of the time packets waited."""
    stood = f"{share(fact.queue.standing_ratio)} of the time"
    if fact.passing:
        return [f"Packets stand in it {stood}{_end_passing(fact)}", *full_remedies(fact.remedies)]
    advice = " ".join(full_remedies(fact.remedies))
    return [f"That is a standing queue: packets waited more than 50 ms in it {stood}. {advice}"]


def brief_losses(fact: facts.LossyQueue) -> str:
    """Say which share of its packets a queue drops."""
    again = ", mostly TCP's, which sends them again"
    lost = share(fact.queue.lost_ratio)
    text = f"the queue {name_queue(fact.queue)} drops {lost} of its packets"
    return text + again if fact.queue.is_tcps and not fact.suffers else text


def full_losses(fact: facts.LossyQueue) -> list[str]:
    """Say what a queue's losses mean."""
    reason = describe().reasons[fact.queue.reason]
    if not fact.queue.is_tcps or not reason.look_of_tcp:
        return [f"The packets that it drops do not arrive: {reason.look}."]
    text = (
        "Most of the packets that it drops are TCP's, which sends them again:"
        f" {reason.look_of_tcp}."
    )
    remark = (
        " Other flows in this queue lose packets too: a queue for each flow (fq_codel) may protect"
        " those that send little."
    )
    return [text + remark if fact.is_felt else text]


def brief_at_times(fact: facts.QueueAtTimes) -> str:
    """Say for how much of the time packets wait; of a queue that is seldom used, how long."""
    queue, name = fact.queue, f"the queue {name_queue(fact.queue)}"
    if queue.standing_ratio <= STOOD_AT_TIMES:
        return f"half of the packets in {name} wait more than {time(queue.delay_p50_ns)}"
    return f"packets wait more than 50 ms in {name} {share(queue.standing_ratio)} of the time"


def full_at_times(fact: facts.QueueAtTimes) -> list[str]:
    """Say for how much of the time packets waited, and who felt it."""
    stood = f"{share(fact.queue.standing_ratio)} of the time"
    short = ", and was short otherwise" if fact.is_short_otherwise else ""
    text = (
        f"It stood {stood}{short}: {FELT if fact.suffers else 'who sends while it stands waits'}."
    )
    if fact.passing:
        text = f"Packets stood in it {stood}{_end_passing(fact)}"
    return [text, *full_remedies(fact.remedies)]


def brief_full_line(fact: facts.FullLine) -> str:
    """Say how full the line is, and how long packets wait for it."""
    name, wait = name_queue(fact.queue), time(fact.queue.delay_p50_ns)
    used = f"the line is {share(fact.queue.utilisation)} used"
    if fact.suffers:
        return f"the line is full and half of the packets wait more than {wait} in {name}"
    if not fact.is_long:
        return f"{used} and its queue stays short ({wait} at the median)"
    if fact.is_sawtooth:
        return (
            f"{used}: senders speed up until {name} is full and drops a packet, then slow down;"
            f" half of the packets wait more than {wait}"
        )
    return f"{used}, and half of the packets wait more than {wait} in {name}"


def full_full_line(fact: facts.FullLine) -> list[str]:
    """Say what a full line costs in a queue that does not stand."""
    if not fact.is_long:
        return ["The line was full and the queue stayed short, which is what a good queue does."]
    room = ""
    # A law keeps away from the limit, which then tells nothing.
    if find_queue(fact.queue.discipline).bound == "buffer" and fact.queue.room_ns:
        room = f" of the {time(fact.queue.room_ns)} that it can hold"
    text = (
        "The line was full, and so was its queue: half of the packets waited more than"
        f" {time(fact.queue.delay_p50_ns)}{room}"
    )
    if fact.passing:
        return [f"{text}{_end_passing(fact)}"]
    return [f"{text}.", *full_remedies(fact.remedies)]


def brief_rare(fact: facts.RareWaits) -> str:
    """Say how long 1 packet in 100 waits."""
    wait = time(fact.queue.delay_p99_ns)
    return f"1 packet in 100 waits more than {wait} in {name_queue(fact.queue)}"


def full_rare(fact: facts.RareWaits) -> list[str]:
    """Say how long 1 packet in 100 waited, and who felt it."""
    rare = f"1 packet in 100 waited more than {time(fact.queue.delay_p99_ns)}"
    first = f"It stood {share(fact.queue.standing_ratio)} of the time only"
    if fact.is_full:
        first = "The line was full and the queue short at the median"
    felt = FELT if fact.suffers else "calls and games feel that"
    text = (
        f"{first}. {rare}{_end_passing(fact)}" if fact.passing else f"{first}, but {rare}: {felt}."
    )
    return [text, *full_remedies(fact.remedies)]


def _end_passing(fact: facts.Waits) -> str:
    """Say that not everybody waits as long as a queue's delays say, and end the sentence."""
    return f", but not everybody's: {fact.queue.discipline} {fact.passing}."


def brief_throttled(fact: facts.ThrottledSenders) -> str:
    """Say that the line is idle although senders have more to send, and why."""
    flows, queue = fact.senders.flows, fact.queue
    who = f"{len(flows)} flows have" if len(flows) > 1 else f"{flows[0]} has"
    idle = share(round(fact.senders.idle_ratio, 2))
    line = "air" if fact.senders.is_cell else "line"
    text = f"{idle} of the {line} is idle although {who} more to send"
    if any(own.action is Action.STATION_QUEUES for own in fact.remedies):
        return f"{text}: the queue {queue.queue}, which all stations share, drops packets of theirs"
    if fact.senders.by_limit:
        return f"{text}: the queue {queue.queue} has too little room"
    return f"{text}: the law of {queue.queue} ({queue.discipline}) drops or marks too early"


def full_throttled(fact: facts.ThrottledSenders) -> str:
    """Say what the queue did to senders that had more to send, and what fills the line."""
    queue, senders = fact.queue, fact.senders
    flows = list_names(list(senders.flows), MOST_NAMED)
    line = "air" if senders.is_cell else "line"
    text = f"{share(senders.idle_ratio)} of the {line} was idle although {flows} had more to send"
    if turns := [own for own in fact.remedies if own.action is Action.STATION_QUEUES]:
        return (
            f"{text}: packets for any station can take the room of {queue.queue}, and the senders"
            f" slowed down for its {count(queue.discarded, 'loss', 'losses')}."
            f" {tell_turns(turns[0])}"
        )
    if senders.by_limit:
        lost = count(queue.discarded, "loss", "losses")
        if not fact.is_too_small:
            return (
                f"{text}: after its {lost} the senders were slow to grow back to the line's rate."
            )
        when = "after its" if queue.discarded == 1 else "after each of its"
        return (
            f"{text}: with room for {time(queue.room_ns)} where a round trip takes"
            f" {time(senders.rtt_ns)}, the queue runs empty {when} {lost}. A larger limit may fill"
            " the line."
        )
    action = "marked" if queue.marked > queue.by_law else "dropped"
    packets = count(max(queue.marked, queue.by_law), "packet")
    waits = (
        " On a cable upstream, request and grant alone take milliseconds, which a law takes for a"
        " queue."
    )
    return (
        f"{text}: its law ({queue.discipline}) {action} {packets}, too early for this"
        f" line.{waits if senders.asks_for_grants else ''} A higher target or threshold may fill"
        " it."
    )


def brief_policed(fact: facts.Policed) -> str:
    """Say what a policer drops, and what that does to TCP."""
    text = (
        f"the policer before {fact.queue} ({fact.rate}, bursts of {fact.burst}) drops"
        f" {share(fact.lost_ratio)} of its packets"
    )
    if not fact.is_tcps:
        return text
    return f"{text}, and TCP slows down for each loss: {share(fact.utilisation)} of its rate passes"


def full_policed(fact: facts.Policed) -> str:
    """Say what a policer drops, what that does to TCP, and what would not."""
    text = f"{capitalise(brief_policed(fact))}."
    return f"{text} {advise_on_policer(fact.remedies[0])}" if fact.remedies else text


def advise_on_policer(remedy: Remedy) -> str:
    """Say that a larger burst or a queue lets TCP reach a policer's rate."""
    return (
        "A burst of some round trips at its rate, or a shaper in its place, may let TCP reach it"
        f"{end_untried(remedy)}."
    )


def brief_spare(fact: facts.SpareLine) -> str:
    """Say how much of the line is used; of a cell, how much of the time the air is."""
    if fact.busy_ratio is not None:
        bits = share(fact.queue.utilisation)
        return f"the air is wanted {share(fact.busy_ratio)} of the time ({bits} of the cell's bits)"
    return f"the line has room to spare: {share(fact.queue.utilisation)} of it is used"


def full_remedies(remedies: tuple[Remedy, ...]) -> list[str]:
    """Say what shortens a queue, and what its law did; what helps one flow alone is left out."""
    turns = [tell_turns(own) for own in remedies[:-1] if own.action is Action.STATION_QUEUES]
    return [*turns, *(full_remedy(remedy) for remedy in remedies[-1:])]


def tell_turns(remedy: Remedy) -> str:
    """Say that a queue for each station may help."""
    untried = end_untried(remedy)
    return f"A queue for each station, as Linux's access points have, may help{untried}."


def full_remedy(remedy: Remedy) -> str:
    """Say what shortens a queue, and what its law did."""
    queue, action = remedy.queue, remedy.action
    assert queue is not None
    untried, law = end_untried(remedy, any_value=True), queue.discipline
    if action is Action.CHOOSE_LAW:
        untried = end_untried(remedy)
        return f"A smaller limit, or an AQM for the queues in it, may shorten that{untried}."
    if action is Action.ADD_AQM:
        return f"{_name_bound(remedy)} or an AQM{remedy.aqm_tlv} may shorten it{untried}."
    if action is Action.WAKE_AQM:
        longest = (queue.room_ns or 0.0) * (queue.filled_ratio or 0.0)
        return (
            "Its AQM (docsis_pie) never woke: it drops nothing while less than a third of its"
            f" buffer is filled (RFC 8034), and of the {time(queue.room_ns)} that this one holds"
            f" {time(longest)} were the most. A smaller buffer{remedy.buffer_tlv} wakes it"
            f" sooner{untried}."
        )
    if action is Action.CHECK_AQM:
        lost = (
            f", and {count(queue.overflowed, 'packet')} found no room" if queue.overflowed else ""
        )
        return (
            f"Its AQM ({law}) dropped nothing{lost}: it assumes a rate that the line does not give,"
            " or its parameters allow this delay."
        )
    counted = count(queue.by_law + queue.marked, "packet")
    more = f" ({count(queue.overflowed, 'more packet')} found no room)" if queue.overflowed else ""
    did = f"Its AQM ({law}) dropped or marked {counted}{more} and could not shorten it"
    if action is Action.SLOW_SENDERS:
        return (
            f"{did}: its senders do not slow down when packets are dropped, or its parameters allow"
            " this delay."
        )
    text = (
        f"{did}: its parameters allow this delay, or new transfers fill it before they notice a"
        " drop."
    )
    if action is not Action.LOWER_LIMIT:
        return text
    return (
        f"{text} It holds {time(queue.room_ns)} at most; a smaller limit{remedy.buffer_tlv}"
        f" may shorten the worst{untried}."
    )


def brief_remedy(remedy: Remedy) -> str:
    """Say in one short sentence how to shorten a queue."""
    assert remedy.queue is not None
    action, law = remedy.action, remedy.queue.discipline
    untried, name = end_untried(remedy), f"The AQM of {remedy.queue.queue} ({law})"
    if action is Action.ADD_AQM:
        return f"{_name_bound(remedy)} or an AQM{remedy.aqm_tlv} may help{untried}."
    if action is Action.CHOOSE_LAW:
        return f"A smaller limit, or an AQM for the queues in it, may help{untried}."
    if action is Action.WAKE_AQM:
        return (
            f"{name} never woke: less than a third of its buffer was filled; a smaller"
            f" buffer{remedy.buffer_tlv} wakes it sooner."
        )
    if action is Action.CHECK_AQM:
        return f"{name} dropped nothing: its parameters allow this delay."
    if action is Action.SLOW_SENDERS:
        return f"{name} cannot shorten the queue: its senders do not slow down."
    if action is Action.LOWER_LIMIT:
        return (
            f"New transfers fill {remedy.queue.queue} before its AQM ({law}) slows them down; a"
            f" smaller limit{remedy.buffer_tlv} may shorten the worst."
        )
    return f"{name} acts too late, or its parameters allow this delay."


def _name_bound(remedy: Remedy) -> str:
    bound = find_queue(remedy.queue.discipline).bound if remedy.queue else ""
    return f"A smaller {bound}{remedy.buffer_tlv}" if bound else f"A limit{remedy.buffer_tlv}"
