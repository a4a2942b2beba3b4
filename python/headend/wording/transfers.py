"""Sentences about transfers: what limits them, who yields to whom, and acknowledgements in the way.

Of each fact ``brief_…`` is a clause for the first lines of an answer, and ``full_…`` the sentences
for ``--full``, pages and notes.
"""

from __future__ import annotations

from headend.analysis import facts
from headend.analysis.facts import Remedy
from headend.analysis.queues import LOSSY_SHARE
from headend.analysis.requests import RequestLimit
from headend.analysis.transfer_limits import Limit, TransferLimit
from headend.text.wording import join_names, list_names
from headend.wording.proposals import end_untried
from headend.wording.quantities import rate, share, time
from headend.wording.queue import MOST_NAMED, name_queue, tell_standing

#: Transfers whose limits an answer names; one, where the text gets longer than so many characters.
MOST_LIMITS, LONGEST = 2, 150

#: Packets of a request, on average, from which there are several.
LEAST_MANY = 1.1

#: What the limits are called that a host sets.
WINDOWS = {Limit.RECEIVE_WINDOW: "receive window", Limit.SEND_BUFFER: "send buffer"}


def brief_limits(fact: facts.LimitedTransfers) -> str:
    """Say what limits the first transfers."""
    texts = [_describe_limit(limit) for limit in fact.limits]
    most = MOST_LIMITS if len("; ".join(texts[:MOST_LIMITS])) <= LONGEST else 1
    return "; ".join(texts[:most])


def full_limits(fact: facts.LimitedTransfers) -> list[str]:
    """Say what limits each transfer."""
    return [f"What limits transfers: {'; '.join(map(_describe_limit, fact.limits))}."]


def _name(limit: TransferLimit) -> str:
    return f"each of {limit.count} {limit.flow}" if limit.count > 1 else limit.flow


def _name_line(limit: TransferLimit) -> str:
    """Name what is full on a transfer's way: a queue with its rate, or a channel."""
    if limit.line is None:
        return "a full line"
    rated = f" ({rate(limit.line.rate_bps)})" if limit.line.rate_bps else ""
    return f"{limit.line.name}{rated}" if rated else f"the full {limit.line.name}"


def _describe_limit(limit: TransferLimit) -> str:
    who = _name(limit)
    if limit.kind is Limit.APPLICATION:
        return f"{who} has no more to send {share(round(limit.ratio, 2))} of the time"
    if limit.kind is Limit.PATH_LOSS:
        lost = f"the path loses {share(limit.lost_ratio)} of the packets of {who}"
        if limit.allowed_bps is None:
            return f"{lost}, for which it slows down"
        return (
            f"{lost}: over {time(limit.rtt_ns)} {limit.control} gets about"
            f" {rate(limit.allowed_bps)} with that"
        )
    if limit.kind is Limit.LINE:
        has = f"{who} has its share of {_name_line(limit)}"
        if limit.cubic_bps is None:
            return has
        return (
            f"{has} though the path loses {share(limit.lost_ratio)} of its packets, with which"
            f" CUBIC would get about {rate(limit.cubic_bps)}: {limit.control.upper()} is not held"
            " back by them"
        )
    if limit.kind is Limit.ACKNOWLEDGEMENTS:
        back = "up" if limit.direction == "down" else "down"
        return f"{who} gets what its acknowledgements allow, which share the full way {back}"
    if limit.requests is not None:
        return _describe_requests(who, limit.requests)
    name = WINDOWS[limit.kind]
    if limit.allowed_bps is None:
        return f"the {name} limits {who}"
    part = f" of the buffer's {limit.buffer}" if limit.buffer else ""
    text = (
        f"the {name} limits {who}: {limit.window}{part} in each round trip of"
        f" {time(limit.rtt_ns)} allow at most {rate(limit.allowed_bps)}"
    )
    if not limit.slow_queue:
        return text
    waiting = "acknowledgements" if limit.are_acks else "packets"
    wait = f"{time(limit.wait_ns)} at the median"
    return f"{text}, and for most of that {waiting} wait in {limit.slow_queue} ({wait})"


def _describe_requests(who: str, requests: RequestLimit) -> str:
    """Say that a modem asks for one burst at a time, and what that allows."""
    burst = "a packet" if requests.packets < LEAST_MANY else f"{requests.packets:.1f} packets"
    return (
        f"the requests of its modem limit {who}: one at a time, each for {burst}, every"
        f" {time(requests.interval_ns)}, which is {rate(requests.rate_bps)} in {requests.queue}"
    )


def brief_controls(fact: facts.UnequalControls) -> str:
    """Say why two transfers with different congestion controls get what they get."""
    most, least = fact.most, fact.least
    for one, other in ((least, most), (most, least)):
        if one.control.startswith("ledbat"):
            name = f"{one.flow} ({_name_ledbat(one.control)})"
            if fact.flow_queue:
                return (
                    f"behind {fact.flow_queue} {name} does not yield: each flow has its turn, and"
                    " it does not see how long others wait"
                )
            if one is least and fact.unreached:
                return _tell_unreached(fact, fact.unreached)
            if one is least:
                return (
                    f"{name} yields to {other.flow}, as it is meant to: it slows down while packets"
                    " wait longer than its target"
                )
    names = f"{most.flow} ({most.control.upper()})", f"{least.flow} ({least.control.upper()})"
    if most.control.startswith("bbr"):
        return f"{names[0]} does not slow down for losses, and {names[1]} does"
    return f"their congestion controls differ: {names[0]} and {names[1]}"


def _tell_unreached(
    fact: facts.UnequalControls, unreached: tuple[str, float, float], *, is_brief: bool = False
) -> str:
    """Say that no target makes a sender give way, and what does: how slowly it grows."""
    least, (queue, longest_ns, target_ns) = fact.least, unreached
    slow = "grows slowly"
    if least.control == "ledbat_plus_plus":
        slow += " and pauses from time to time"
    text = (
        f"{least.flow} ({_name_ledbat(least.control)}) {slow}, and has less than {fact.most.flow}"
    )
    if is_brief:
        return text
    return (
        f"{text}: packets in {queue} wait {time(longest_ns)} at the 99th percentile, less than the"
        f" target of {time(target_ns)} above which it would give way"
    )


def _name_ledbat(control: str) -> str:
    return "LEDBAT++" if control == "ledbat_plus_plus" else "LEDBAT"


def tell_beside(fact: facts.LimitedTransfers | facts.UnequalControls) -> str:
    """Say in one clause what limits a transfer while somebody else suffers."""
    if isinstance(fact, facts.LimitedTransfers):
        return _tell_limit(fact.limits[0])
    most, least = fact.most, fact.least
    got = f"{rate(least.goodput_bps)} beside {rate(most.goodput_bps)}"
    if fact.flow_queue:
        return brief_controls(fact)
    if fact.unreached:
        return f"{_tell_unreached(fact, fact.unreached, is_brief=True)} ({got})"
    if least.control.startswith("ledbat"):
        name = _name_ledbat(least.control)
        return f"{least.flow} ({name}) yields to {most.flow}, as it is meant to ({got})"
    return (
        f"{most.flow} ({most.control.upper()}) takes {rate(most.goodput_bps)} beside"
        f" {rate(least.goodput_bps)} of {least.flow} ({least.control.upper()})"
    )


def _tell_limit(limit: TransferLimit) -> str:
    """Say what limits a transfer in as few words as there are; `_describe_limit` says more."""
    who = _name(limit)
    if limit.kind is Limit.LINE:
        return f"{who} is limited by {_name_line(limit)}"
    if limit.kind is Limit.PATH_LOSS:
        return f"losses of the path ({share(limit.lost_ratio)}) limit {who}"
    if limit.requests is not None:
        burst = "a packet" if limit.requests.packets < LEAST_MANY else "a burst"
        every = time(limit.requests.interval_ns)
        return f"one request at a time, for {burst} every {every}, limits {who}"
    if limit.kind is Limit.ACKNOWLEDGEMENTS or limit.allowed_bps is None:
        return _describe_limit(limit)
    name = WINDOWS[limit.kind]
    size = limit.buffer if limit.kind is Limit.SEND_BUFFER else limit.window
    text = f"the {name} of {size} limits {who} to {rate(limit.allowed_bps)}"
    if not limit.slow_queue:
        return text
    return (
        f"{text}: its round trip of {time(limit.rtt_ns)} is mostly the wait in {limit.slow_queue}"
    )


def full_controls(fact: facts.UnequalControls) -> str:
    """Say the same with what each gets."""
    text = brief_controls(fact)
    got = f"{rate(fact.most.goodput_bps)} and {rate(fact.least.goodput_bps)}"
    return f"{text[0].upper()}{text[1:]} ({got})."


def brief_acks(fact: facts.AcksFill) -> str:
    """Say whose acknowledgements fill a queue, and how long packets wait there."""
    whose = list_names(list(fact.flows), MOST_NAMED)
    text = (
        f"acknowledgements of {whose} fill {name_queue(fact.queue)} ({share(fact.share)} of what it"
        " sends)"
    )
    if fact.queue.lost_ratio > LOSSY_SHARE:
        return f"{text}, which drops {share(fact.queue.lost_ratio)} of its packets"
    return f"{text}, and packets wait {time(fact.queue.delay_p50_ns)} there"


def full_acks(fact: facts.AcksFill) -> list[str]:
    """Say what acknowledgements do to the direction, and what helps."""
    return [
        f"{share(fact.share)} of what goes {fact.queue.direction} is acknowledgements of"
        f" {list_names(list(fact.flows), MOST_NAMED)}: the transfer gets no more than its"
        " acknowledgements allow (RFC 3449).",
        *([advise_on_acks(fact.remedies[0])] if fact.remedies else []),
    ]


def advise_on_acks(remedy: Remedy) -> str:
    """Say what helps where acknowledgements fill a queue: fewer of them, or more room."""
    untried = end_untried(remedy)
    if remedy.path.endswith("ack_acceleration"):
        return f"Thinning acknowledgements, or more rate that way, may help{untried}."
    return (
        "Fewer acknowledgements (an ACK filter), more rate that way, or flow queues may"
        f" help{untried}."
    )


def brief_low_picture(fact: facts.LowPicture) -> str:
    """Say what a film gets of its line."""
    return (
        f"it plays at {rate(fact.picture_bps)}, its best picture is {rate(fact.best_bps)}, and the"
        f" line carries {rate(fact.line_bps)}"
    )


def brief_tunnel(fact: facts.SharedTunnel) -> str:
    """Say that a flow queue cannot tell flows of a tunnel apart."""
    beside = join_names(list(fact.others))
    return (
        f"{fact.flow} shares the tunnel {fact.tunnel} with {beside}, and {fact.discipline} takes"
        " them for one flow"
    )


def advise_on_tunnel(_: Remedy) -> str:
    """Say what helps against a tunnel: nothing at this queue."""
    return (
        "No queue here can tell them apart: send it outside the tunnel, or put a flow queue before"
        " the tunnel."
    )


def full_other_queue(fact: facts.OtherQueue) -> str:
    """Say how long packets wait in a second queue."""
    return (
        f"A second queue stands on the way: {name_queue(fact.queue)} held packets"
        f" {time(fact.queue.delay_p50_ns)} at the median."
    )


def brief_other_queue(fact: facts.OtherQueue) -> str:
    """Say how long packets wait in a second queue."""
    return f"{tell_standing(fact.queue, name_queue(fact.queue))} as well"


def advise_on_router(remedy: Remedy) -> str:
    """Say that a router's rate must be below the modem's."""
    return (
        "The router's rate must be below what the modem carries, so that packets wait in the"
        f" router{end_untried(remedy)}."
    )


def brief_spells(fact: facts.Spells) -> str:
    """Say what each flow got before and after the line changed."""
    first = fact.spells[0]
    texts = []
    for name in first.rates:
        got = [f"{rate(spell.rates.get(name, 0.0))}" for spell in fact.spells]
        texts.append(f"{name} gets {_lay_out(fact, got)}")
    for name in first.trips:
        got = [f"{time(spell.trips[name])}" for spell in fact.spells if name in spell.trips]
        if len(got) == len(fact.spells):
            texts.append(f"{name} takes {_lay_out(fact, got)}")
    return "; ".join(texts[:3])


def full_spells(fact: facts.Spells) -> list[str]:
    """Say the same in a sentence of its own."""
    text = brief_spells(fact)
    return [f"The line changed during the run: {text}."] if text else []


def _lay_out(fact: facts.Spells, values: list[str]) -> str:
    parts = [
        f"{value} until {time(spell.end_ns)}"
        for value, spell in zip(values[:-1], fact.spells[:-1], strict=True)
    ]
    return ", ".join([*parts, f"then {values[-1]}"])
