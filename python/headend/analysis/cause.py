"""The main cause of poor grades on a line, and the advice that follows from it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headend.analysis.contention import advise_on_contention, tell_contention
from headend.analysis.grading import Finding, write_quantity
from headend.analysis.low_latency import advise_marking, blame_sanctions, tell_sanctions
from headend.analysis.modem_tlvs import find_tlvs
from headend.analysis.origins import Origins, Place, Share, find_origins
from headend.analysis.queues import (
    FULL,
    LONG_WAIT,
    LOSSY_SHARE,
    SHORT_WAIT,
    STANDING_TIME,
    STOOD_AT_TIMES,
    name_queue_key,
)
from headend.analysis.throttling import Throttled, find_throttled
from headend.analysis.verdict import (
    AT_ITS_LIMIT,
    Party,
    QueueState,
    Verdict,
    find_passing,
    gather_harm,
    is_asleep,
    waits_for_channel,
)
from headend.engine.description import describe, find_queue

if TYPE_CHECKING:
    from headend.analysis.channels import ChannelState
    from headend.results.record import Record

#: From this share of late packets on, the sentence gives that share instead of the queue's delay.
MANY_LATE = 0.05

#: One-way delay from which a conversation is no longer easy (ITU-T G.114), ns.
LONG_WAY = 150e6

#: Causes that one sentence names; flows with further causes are only counted.
MOST_CAUSES = 2


@dataclass(frozen=True)
class Cause:
    """Why flows suffer, or where none does, how the line fared.

    Parameters
    ----------
    told
        A clause with a subject of its own, such as ``packets wait 211 ms in the standing queue
        cable.up``; empty where no cause was found.
    advice
        What to change, as a sentence; empty where no measurement supports advice.
    why
        The names of the figures that show the cause, the best first.
    """

    told: str
    advice: str
    why: tuple[str, ...]


def find_cause(result: Record, verdict: Verdict, suffering: Sequence[Party]) -> Cause:
    """Find the cause for the flows that suffer; where none does, describe the line.

    Parameters
    ----------
    suffering
        Flows and groups of which at least one member suffers, the worst first.
    """
    queue = verdict.queue
    worst = suffering[0].worst if suffering else None
    if worst and (barred := _find_bar(result, worst)):
        return Cause(barred, "", ("loss",))
    if worst and worst.path_loss_ratio > 0.5 * (worst.loss_ratio or math.inf):
        lost = write_quantity(worst.path_loss_ratio, "ratio")
        told = f"the path beyond the line loses {lost} of its packets, and no queue does"
        return Cause(told, "", ("loss",))
    if queue is None:
        return Cause("", "", ())
    if worst and (blame := blame_sanctions(result, worst)):
        return Cause(blame.told, blame.advice, ("queue", "delay"))
    origins = find_origins(result)
    if suffering and origins.main and queue.queue in origins.main.queues:
        cause = _blame_place(result, verdict, queue, origins.main, suffering)
        is_mixed = len(origins.shares) > 1 or origins.unexplained
        return replace(cause, told=_tell_shares(result, origins)) if is_mixed else cause
    if waits_for_channel(queue, verdict.channels):
        state = next(s for s in verdict.channels if s.serves(queue.link, queue.direction))
        return _blame_channel(result, queue, state)
    if not suffering:
        line = describe_line(result, queue)
        sanctions = tell_sanctions(result, queue.queue)
        return replace(line, told=f"{sanctions}; {line.told}") if sanctions else line
    return _blame_queue(result, queue, suffering)


def _blame_place(
    result: Record,
    verdict: Verdict,
    queue: QueueState,
    share: Share,
    suffering: Sequence[Party],
) -> Cause:
    """Name the cause that most of the suffering flows share."""
    if share.place is Place.CONTENTION:
        told = tell_contention(result, share.link)
        advice = advise_on_contention(result, share.link)
        return Cause(f"packets wait upstream, where {told}", advice, ("street", "queue"))
    if share.place is Place.CHANNEL:
        state = next(s for s in verdict.channels if s.serves(share.link, share.direction))
        return _blame_channel(result, queue, state)
    return _blame_queue(result, queue, suffering)


def _tell_shares(result: Record, origins: Origins) -> str:
    """Give the number of flows for each cause, the most frequent cause first."""
    told = [_tell_share(result, share) for share in origins.shares[:MOST_CAUSES]]
    rest = origins.unexplained + sum(share.count for share in origins.shares[MOST_CAUSES:])
    if rest:
        told.append(f"{rest} {'suffers' if rest == 1 else 'suffer'} for other reasons")
    return "; ".join(told)


def _tell_share(result: Record, share: Share) -> str:
    """Say how many flows wait or lose packets at one place; a single flow is named."""
    lost = sum(origin.is_lost for origin in share.origins) > share.count / 2
    if share.count == 1:
        who = f"{share.origins[0].flow} {'loses packets' if lost else 'waits'}"
    else:
        who = f"{share.count} {'lose packets' if lost else 'wait'}"
    if share.place is Place.CONTENTION:
        return f"{who} upstream, where {tell_contention(result, share.link)}"
    if share.place is Place.CHANNEL:
        return f"{who} {'before' if lost else 'for'} the full {share.direction}stream channel"
    if len(share.queues) == 1:
        return f"{who} in the queue {share.queues[0]}"
    return f"{who} in the {share.direction}stream queues of their own modems"


def _find_bar(result: Record, worst: Finding) -> str:
    """Name the reason why most packets of a flow did not arrive, where no queue dropped them."""
    import polars as pl

    rows = result.flows.filter(pl.col("flow") == worst.flow)
    sent, arrived = (int(rows[name].sum()) for name in ("packets_sent", "packets_delivered"))
    reasons = [reason for reason in describe().reasons.values() if reason.barred]
    counts = {reason.barred: int(rows[reason.column].sum()) for reason in reasons}
    told = max(counts, key=counts.__getitem__)
    return told if counts[told] > sent / 2 and arrived < sent / 2 else ""


def _blame_channel(result: Record, queue: QueueState, state: ChannelState) -> Cause:
    name = "Wi-Fi channel" if state.is_cell else f"{state.direction}stream channel"
    told = f"the {name} {state.channel} is full"
    advice = "Only more capacity or less load gives everyone their rate"
    # Where senders slow down, the queue decides how long packets wait for the channel.
    if queue.standing_ratio > STANDING_TIME:
        told += f", and packets wait {write_quantity(queue.delay_p50_ns)} in {_name(queue)}"
        tries = _name_setting(result, queue) if queue.is_tcps else ""
        if tries and find_queue(queue.discipline).governor in ("bound", "nothing"):
            advice += f"; an AQM shortens the wait: try {tries}"
    return Cause(told, f"{advice}.", ("street", "queue", "rates"))


def _blame_queue(result: Record, queue: QueueState, suffering: Sequence[Party]) -> Cause:
    """Say how the queue harmed the flows that suffer; the conditions are in a verdict's order."""
    worst, harm = suffering[0].worst, gather_harm(suffering)
    name, passing = _name(queue), find_passing(result, queue)
    stood = write_quantity(queue.standing_ratio, "ratio")
    wait = write_quantity(queue.delay_p50_ns)
    advice = advise_marking(result, queue.queue, worst)
    advice = advice or ("" if passing else advise(result, queue))
    if queue.standing_ratio > STANDING_TIME:
        late = worst.late_ratio or 0.0
        if late > MANY_LATE and worst.way:
            share = write_quantity(round(late, 2), "ratio")
            whose = f"{worst.flow}'s packets" if len(suffering) > 1 else "its packets"
            told = f"{share} of {whose} arrive too late behind the standing queue {name} ({wait})"
        else:
            told = f"packets wait {wait} in the standing queue {name}"
        return Cause(told, advice, ("queue",))
    if queue.lost_ratio > LOSSY_SHARE and harm != {"late"}:
        told = f"the queue {name} drops {write_quantity(queue.lost_ratio, 'ratio')} of its packets"
        return Cause(told, _advise_on_losses(queue, is_felt="lost" in harm), ("loss", "queue"))
    if queue.standing_ratio > STOOD_AT_TIMES or (queue.delay_p50_ns or 0.0) > LONG_WAIT:
        told = f"packets wait more than 50 ms in the queue {name} {stood} of the time"
        return Cause(told, advice if harm != {"lost"} else "", ("queue",))
    if (queue.utilisation or 0.0) > FULL and (queue.delay_p50_ns or 0.0) > SHORT_WAIT:
        told = f"the line is full and half of the packets wait more than {wait} in {name}"
        return Cause(told, advice, ("queue",))
    if (queue.delay_p99_ns or 0.0) > LONG_WAIT and harm != {"lost"}:
        told = f"1 packet in 100 waits more than {write_quantity(queue.delay_p99_ns)} in {name}"
        return Cause(told, advice, ("queue",))
    if (worst.delay_p50_ns or 0.0) > LONG_WAY and (queue.delay_p99_ns or 0.0) < LONG_WAIT:
        each = write_quantity(worst.delay_p50_ns)
        return Cause(
            f"the path itself takes {each} each way, and no queue adds to it", "", ("delay",)
        )
    look = "No queue explains it: look at loss, the delay of the path and the offered rates."
    return Cause("", look, ("delay",))


def describe_line(result: Record, queue: QueueState) -> Cause:
    """Describe the line where nobody suffered: how full it was, and how long packets waited."""
    name, passing = _name(queue), find_passing(result, queue)
    wait = write_quantity(queue.delay_p50_ns)
    used = write_quantity(queue.utilisation, "ratio")
    throttled = find_throttled(result, queue.queue)
    if passing and queue.standing_ratio > STANDING_TIME:
        told = f"packets wait {wait} in {name}, but {queue.discipline} lets others pass them"
        return Cause(told, "", ("delay", "queue"))
    if queue.standing_ratio > STANDING_TIME:
        told = f"packets wait {wait} in the standing queue {name}"
        return Cause(told, advise(result, queue), ("queue",))
    if throttled:
        return Cause(_tell_throttled(queue, throttled), "", ("line-rate", "queue"))
    if queue.lost_ratio > LOSSY_SHARE:
        lost = write_quantity(queue.lost_ratio, "ratio")
        again = ", mostly TCP's, which sends them again" if queue.is_tcps else ""
        return Cause(f"the queue {name} drops {lost} of its packets{again}", "", ("queue",))
    if (queue.utilisation or 0.0) <= FULL:
        return Cause(f"the line has room to spare: {used} of it is used", "", ())
    if (queue.delay_p50_ns or 0.0) > SHORT_WAIT and _overflows(queue):
        told = (
            f"the line is {used} used: senders speed up until {name} is full and drops a packet,"
            f" then slow down; half of the packets wait more than {wait}"
        )
        return Cause(told, "", ("queue",))
    if (queue.delay_p50_ns or 0.0) > SHORT_WAIT:
        told = f"the line is {used} used, and half of the packets wait more than {wait} in {name}"
        return Cause(told, "", ("queue",))
    told = f"the line is {used} used and its queue stays short ({wait} at the median)"
    return Cause(told, "", ("queue",))


def _overflows(queue: QueueState) -> bool:
    """Say whether TCP fills a queue without an AQM until the queue has no room for a packet."""
    is_bound = find_queue(queue.discipline).governor == "bound"
    return is_bound and queue.is_tcps and queue.reason == "overlimit"


def advise(result: Record, queue: QueueState) -> str:
    """Say in one short sentence how to shorten a long queue."""
    about, tlvs = find_queue(queue.discipline), find_tlvs(result, queue.link, queue.direction)
    if about.governor in ("bound", "nothing"):
        smaller = f"A smaller {about.bound}" if about.bound else "A limit"
        tries = _name_setting(result, queue)
        return (
            f"{smaller}{tlvs.buffer} or an AQM{tlvs.aqm} shortens the"
            f" queue{f': try {tries}' if tries else ''}."
        )
    key = name_queue_key(result, queue.queue)
    if about.governor == "chosen_law":
        law = f"{key}.{queue.discipline}.{about.law_key}=codel" if key and about.law_key else ""
        tries = f": try `--set {law}`" if law else ""
        return f"A smaller limit, or an AQM for the queues in it, shortens it{tries}."
    if is_asleep(queue) and not queue.by_law + queue.marked:
        return (
            f"Its AQM ({queue.discipline}) never woke: less than a third of its buffer was filled;"
            f" a smaller buffer{tlvs.buffer} wakes it sooner."
        )
    if not queue.by_law + queue.marked:
        return f"Its AQM ({queue.discipline}) dropped nothing: its parameters allow this delay."
    if not queue.is_tcps:
        return f"Its AQM ({queue.discipline}) cannot shorten it: its senders do not slow down."
    room = queue.room_ns or math.inf
    is_at_limit = AT_ITS_LIMIT <= (queue.delay_p99_ns or 0.0) / room <= 1 / AT_ITS_LIMIT
    if is_at_limit:
        return (
            f"New transfers fill it before its AQM ({queue.discipline}) slows them down; a"
            f" smaller limit{tlvs.buffer} shortens the worst."
        )
    return f"Its AQM ({queue.discipline}) acts too late, or its parameters allow this delay."


def _advise_on_losses(queue: QueueState, *, is_felt: bool) -> str:
    if queue.is_tcps and is_felt:
        return "A queue for each flow (fq_codel) protects those who send little."
    if queue.reason == "overlimit" and not queue.is_tcps:
        return (
            "More is sent than the line carries: look at the queue's limit and the offered rates."
        )
    return ""


def _tell_throttled(queue: QueueState, throttled: Throttled) -> str:
    idle = write_quantity(round(throttled.idle_ratio, 2), "ratio")
    many = len(throttled.flows) > 1
    who = f"{len(throttled.flows)} flows have" if many else f"{throttled.flows[0]} has"
    told = f"{idle} of the line is idle although {who} more to send"
    if throttled.by_limit:
        return f"{told}: the queue {queue.queue} has too little room"
    return f"{told}: the law of {queue.queue} ({queue.discipline}) drops or marks too early"


def _name(queue: QueueState) -> str:
    """Name a queue; where it stands for many alike, add that it is the worst of them."""
    return f"{queue.queue}, the worst of {queue.alike}" if queue.alike > 1 else queue.queue


def _name_setting(result: Record, queue: QueueState) -> str:
    """Name the setting that gives a queue an AQM: DOCSIS-PIE on a cable upstream, else FQ-CoDel."""
    key = name_queue_key(result, queue.queue)
    if not key:
        return ""
    links = result.manifest["scenario"].get("link", {})
    is_cable = "docsis" in links.get(queue.link.split(".")[0], {})
    law = "docsis_pie" if is_cable and queue.direction == "up" else "fq_codel"
    return f"`--set {key}={law}`"
