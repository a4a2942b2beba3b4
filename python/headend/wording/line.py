"""Sentences about a run as a whole, its paths and channels, and what several flows share."""

from __future__ import annotations

from headend.analysis import facts
from headend.analysis.causes import CauseGroup, DelaySource
from headend.analysis.collisions import MOST_FLOWS, Cost
from headend.analysis.facts import Action, Remedy
from headend.analysis.queues import LONG_WAIT
from headend.text.wording import capitalise, join_names, list_names
from headend.wording.cell import WRITERS, name_reasons, tell_air
from headend.wording.proposals import end_untried
from headend.wording.quantities import count, number, rate, share, time
from headend.wording.queue import MOST_NAMED, full_remedy, name_queue, tell_standing

#: Causes that one sentence names; flows with further causes are only counted.
MOST_CAUSES = 2

#: Meetings of flows in hashed queues that are told of.
MOST_MEETINGS = 2


def full_partial(fact: facts.Partial) -> str:
    """Say when a run was stopped."""
    return f"Partial: stopped at {time(fact.simulated_ns)} of {time(fact.duration_ns)}."


def full_nothing_sent(fact: facts.NothingSent) -> str:
    """Say what to look at where nothing was sent."""
    text = "Nothing was sent in the measured part, so there is nothing to judge:"
    if not fact.hosts:
        return f"{text} look at when flows start and stop, at warmup and duration."
    return (
        f"{text} {join_names(fact.hosts)} sent nothing. Did the program use the names or addresses"
        " of this run?"
    )


def full_nothing_delivered(fact: facts.NothingDelivered) -> str:
    """Say what became of the packets of which none arrived."""
    return (
        f"Nothing was delivered in the measured part: {count(fact.sent, 'packet')} sent,"
        f" {number(fact.lost)} lost, the rest still on the way at its end."
    )


def full_path_loss(fact: facts.PathLoss) -> str:
    """Say whose packets the path lost."""
    shares = [
        f"{share(lost)} of {name}{' at most' if name in fact.groups else ''}"
        for name, lost in fact.shares.items()
    ]
    return (
        "The path beyond the line (path.loss) lost packets, apart from what queues dropped:"
        f" {list_names(shares, MOST_NAMED)}."
    )


def brief_lossy_path(fact: facts.LossyPath) -> str:
    """Say which share of a flow's packets the path loses."""
    return (
        f"the path beyond the line loses {share(fact.lost_ratio)} of its packets, and no queue does"
    )


def brief_barred(fact: facts.Barred) -> str:
    """Say why a flow's packets do not arrive."""
    return fact.reason


def brief_long_path(fact: facts.LongPath) -> str:
    """Say how long the path takes."""
    return f"the path itself takes {time(fact.delay_ns)} each way, and no queue adds to it"


def full_long_path(fact: facts.LongPath) -> str:
    """Say how long the path takes, and whether the line was full."""
    full = "The line was full and the queue stayed short. " if fact.is_full else ""
    wait = time(fact.delay_ns)
    return f"{full}The path of {fact.flow} takes {wait} each way, and no queue adds to it."


def full_unexplained(fact: facts.Unexplained) -> str:
    """Say what else to look at."""
    none = "The line was full and the queue stayed short" if fact.is_full else "No queue stood"
    return f"{none}: look at loss, wide-area delay and the offered rates."


def full_channel(fact: facts.FullChannel) -> str:
    """Say that a channel is full, and by how much; of a cell, who takes its air."""
    state = fact.channel
    text = f"The {state.title} ({state.sharing}) is full:"
    time_full = f"{share(state.full_ratio)} of the time"
    if state.is_cell:
        return (
            f"{text} {time_full} somebody has a frame to send. Frames are on the air"
            f" {share(state.utilisation)} of the time, {share(state.collision_ratio)} of it in"
            f" collisions; backoff and the gaps between frames take the rest. {tell_air(state)}"
        )
    used = rate(state.used_bps)
    if state.neighbours_bps > 0:
        used += f" used and {rate(state.neighbours_bps)} taken by neighbours"
    return (
        f"{text} {used} of {rate(state.capacity_bps)}, and {time_full} more was asked for than it"
        " has."
    )


def brief_waits_for_channel(fact: facts.WaitsForChannel) -> str:
    """Say which channel is full, and how long packets wait for it."""
    state = fact.channel
    text = f"the {state.direction}stream channel {state.channel} is full"
    if state.is_cell:
        nearly = "" if state.is_full else "nearly "
        text = f"the air of {state.channel} is {nearly}full{name_reasons(state)}"
    slow = fact.queue.delay_p99_ns or 0.0
    if fact.stands:
        return f"{text}, and {tell_standing(fact.queue, name_queue(fact.queue))}"
    if state.is_cell and slow > LONG_WAIT:
        rare = f"1 packet in 100 waits more than {time(slow)} in {name_queue(fact.queue)}"
        return f"{text}, and {rare}"
    return text


def advise_on_channel(remedy: Remedy) -> str:
    """Say what gives everyone their rate, and what shortens the wait where senders slow down."""
    untried = end_untried(remedy)
    wait = f"; an AQM may shorten the wait{untried}" if untried else ""
    return f"Only more capacity or less load gives everyone their rate{wait}."


def full_waits_for_channel(fact: facts.WaitsForChannel) -> list[str]:
    """Say what a queue can and cannot do about the full channel that it waits for."""
    cause = (
        "It waits for the full channel: only more capacity, or less load, gives everyone their"
        " rate."
    )
    if fact.channel.is_cell:
        told = [WRITERS[own.action](own) for own in fact.remedies if own.action in WRITERS]
        cause = f"It waits for the air. {' '.join(dict.fromkeys(told))}"
    if not fact.stands:
        return [cause]
    advice = full_remedy(fact.remedies[-1])
    return [cause, f"How long packets wait there depends on the queue itself. {advice}"]


def _describe_collided(fact: facts.WaitsForGrants) -> str:
    part = round(fact.collided / fact.requests, 2) if fact.requests else 0.0
    return f"{share(part)} of the modems' requests collide"


def brief_waits_for_grants(fact: facts.WaitsForGrants) -> str:
    """Say how many of a link's requests collide."""
    return f"packets wait upstream, where {_describe_collided(fact)}"


def full_waits_for_grants(fact: facts.WaitsForGrants) -> list[str]:
    """Give both counts, what a modem does after a collision, and what shortens the wait."""
    return [
        f"Of {number(round(fact.requests))} requests that the modems of {fact.link} sent in"
        f" contention, {number(round(fact.collided))} collided: after each collision a modem waits"
        " longer before it sends another request.",
        advise_on_contention(fact.remedies[0]),
    ]


def advise_on_contention(remedy: Remedy) -> str:
    """Say in one short sentence how to shorten the wait until a request succeeds."""
    if remedy.action is Action.MORE_OPPORTUNITIES:
        return f"More request opportunities may shorten that wait{end_untried(remedy)}."
    if remedy.action is Action.SHORTER_BACKOFF:
        return f"A backoff that grows less may shorten that wait{end_untried(remedy)}."
    return (
        "Fewer modems on the channel, or grants without requests (UGS), leave room for the others'"
        " requests."
    )


def brief_several_causes(fact: facts.SeveralCauses) -> str:
    """Give the number of flows for each cause, the most frequent cause first."""
    clauses = [_describe_group(fact, group) for group in fact.groups[:MOST_CAUSES]]
    rest = fact.unexplained + sum(group.count for group in fact.groups[MOST_CAUSES:])
    if rest:
        clauses.append(f"{rest} {'suffers' if rest == 1 else 'suffer'} for other reasons")
    return "; ".join(clauses)


def _describe_group(fact: facts.SeveralCauses, group: CauseGroup) -> str:
    """Say how many flows wait or lose packets at one place; a single flow is named."""
    lost = sum(cause.is_lost for cause in group.causes) > group.count / 2
    if group.count == 1:
        who = f"{group.causes[0].flow} {'loses packets' if lost else 'waits'}"
    else:
        who = f"{group.count} {'lose packets' if lost else 'wait'}"
    if group.source is DelaySource.CONTENTION:
        return f"{who} upstream, where {_describe_collided(fact.contention[group.link])}"
    if group.source is DelaySource.CHANNEL:
        way, link = group.direction, group.link
        channel = f"{way}stream channel" if way else f"channel of {link}"
        return f"{who} {'before' if lost else 'for'} the full {channel}"
    if len(group.queues) == 1:
        return f"{who} in the queue {group.queues[0]}"
    return f"{who} in the {group.direction}stream queues of their own modems"


def full_collisions(fact: facts.Collisions) -> list[str]:
    """Say which flows share a queue inside a scheduler's, and what they and the others get."""
    sentences = []
    for meeting in fact.meetings[:MOST_MEETINGS]:
        named = meeting.flows[:MOST_FLOWS]
        who = join_names(named) if len(named) > 1 else f"connections of {named[0]}"
        costs = "; ".join(map(_describe_cost, meeting.costs))
        sentences.append(
            f"A hash put {who} into one queue of {fact.discipline}, for {share(meeting.share)} of"
            f" the packets of {named[0]}: they have one share of the line"
            f" together{f', {costs}' if costs else ''}."
        )
    more = len(fact.meetings) - MOST_MEETINGS
    if more > 0:
        sentences.append(f"So it is in {more} more of its queues.")
    if fact.remedies:
        sentences.append(f"Another seed puts others together. {advise_on_hash(fact.remedies[0])}")
    return sentences


def advise_on_hash(remedy: Remedy) -> str:
    """Say what keeps flows apart that a hash puts together."""
    return f"With a queue for each flow nobody meets{end_untried(remedy)}."


def brief_turn(fact: facts.TurnWait) -> str:
    """Say how much of its delay a flow waits for its turn, and what takes the rest."""
    text = (
        f"of {time(fact.total_ns)} {fact.flow} waits {time(fact.turn_ns)} for its turn among"
        f" {fact.flows} flows in {name_queue(fact.queue)}"
    )
    rest = [f"packets wait {time(wait)} in {name}" for name, wait in fact.others.items()]
    rest += [f"its path takes {time(fact.path_ns)}"] if fact.path_ns else []
    return f"{text}, and {join_names(rest)}" if rest else text


def full_turn(fact: facts.TurnWait) -> list[str]:
    """Say what a turn is, and what may spare a flow its wait."""
    return [
        f"{capitalise(brief_turn(fact))}: {fact.queue.discipline} serves them one after the other,"
        " and how long packets wait in the queues of others is not its wait.",
        *map(advise_on_turn, fact.remedies),
    ]


def advise_on_turn(remedy: Remedy) -> str:
    """Say what may spare a flow the wait for its turn."""
    return (
        f"A scheduler that serves new flows first ({remedy.value}) may help{end_untried(remedy)}."
    )


def brief_collisions(fact: facts.Collisions) -> str:
    """Say which flows share a queue inside a scheduler's, and for how much of the time."""
    first = fact.meetings[0]
    others = join_names(first.flows[1:MOST_FLOWS]) or "its own connections"
    return (
        f"a hash put {first.flows[0]} into one queue of {fact.discipline} with {others}, for"
        f" {share(first.share)} of its packets"
    )


def _describe_cost(cost: Cost) -> str:
    write = rate if cost.is_rate else time
    text = join_names([f"{flow} {write(value)}" for flow, value in cost.values.items()])
    text += "" if cost.is_rate else " one way at the 99th percentile"
    if cost.others_mean is None:
        return text
    who = cost.others[0] if len(cost.others) == 1 else f"each of {len(cost.others)} others"
    return f"{text}, where {who} alone has {write(cost.others_mean)}"
