"""Sentences about a cell of Wi-Fi: who takes its air, hidden and far stations, and what helps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from headend.analysis import facts
from headend.analysis.air import AirShare, find_fastest_rate
from headend.analysis.channels import ChannelState
from headend.analysis.facts import Action, Remedy
from headend.analysis.queues import LOSSY_SHARE
from headend.scenario.cells import ADVICE_BY_STATION, count_cells
from headend.text.quantity import format_quantity
from headend.text.wording import capitalise, list_names
from headend.wording.proposals import end_untried
from headend.wording.quantities import count, rate, share
from headend.wording.queue import MOST_NAMED, tell_turns

if TYPE_CHECKING:
    from headend.results.record import Record

#: Share of a cell's time from which a station is named.
LEAST_AIR = 0.005


def name_reasons(state: ChannelState) -> str:
    """Say in brackets why the air of a cell is full, where that is no mere load."""
    reasons = []
    if slow := state.slow_station:
        reasons.append(f"{_name_station(slow)} takes {_part(slow.air_ratio)}")
    elif state.has_small_packets:
        reasons.append(f"small packets, of {format_quantity(state.packet_bytes, 'size')}")
    if state.has_collisions:
        reasons.append(f"collisions take {_part(state.collision_ratio)}")
    if state.has_broken_frames:
        reasons.append(f"broken frames take {_part(state.broken_ratio)}")
    return f" ({', '.join(reasons)})" if reasons else ""


def _name_station(one: AirShare) -> str:
    """Name a station, with its rate where that is why it takes so much."""
    return f"{one.label} at {rate(one.rate_bps)}" if one.is_slow else one.label


def _part(ratio: float) -> str:
    return share(round(ratio, 2))


def tell_rate(record: Record, link: str, rate_bps: float) -> str:
    """Say in a question how fast a link is; of a cell, what its fastest station has.

    Parameters
    ----------
    link
        The link's name, or that of a part of it.
    rate_bps
        The rate of the queue that the question is about, bit/s: it is told of another link.
    """
    name = link.partition(".")[0]
    fastest = find_fastest_rate(record, name)
    if fastest is None:
        return f"on {rate(rate_bps)}"
    which = (
        "Wi-Fi" if count_cells(record.manifest["scenario"]["link"]) == 1 else f"the Wi-Fi {name}"
    )
    return f"over {which} at up to {rate(fastest)}"


def tell_air(state: ChannelState, *, is_named: bool = False) -> str:
    """Say which stations take most of a cell's time, and what each packet costs it besides.

    Parameters
    ----------
    is_named
        Whether to name the cell.
    """
    named = [
        f"{_name_station(one)} {_part(one.air_ratio)}"
        for one in state.stations
        if one.air_ratio >= LEAST_AIR
    ]
    whose = f" of {state.link}" if is_named else ""
    text = f"Shares of the time{whose}: {list_names(named, MOST_NAMED) or 'hardly any'}."
    if state.has_small_packets:
        size = format_quantity(state.packet_bytes, "size")
        text += f" Packets are of {size} on average, and each costs its gaps and its answer too."
    return text


def advise_on_air(remedy: Remedy) -> str:
    """Say what makes room in a cell, and what shortens the wait where senders slow down."""
    untried = end_untried(remedy)
    wait = f"; a queue for each flow may shorten the wait{untried}" if untried else ""
    if remedy.action is Action.LARGER_PACKETS:
        return f"Only fewer or larger packets make room on the air: no queue does{wait}."
    return f"Only less to send, or a cable for one station, makes room on the air{wait}."


def advise_on_turns(remedy: Remedy) -> str:
    """Say what a queue for each station is; where it was not tried, that it may help.

    Examples
    --------
    >>> advise_on_turns(Remedy(Action.STATION_QUEUES, "wifi.down"))
    "Give each station a queue of its own and the same time on the air, as Linux's access points do
    (by_station)."
    """
    if not remedy.path:
        return f"{ADVICE_BY_STATION}."
    return tell_turns(remedy)


def advise_on_station(remedy: Remedy) -> str:
    """Say what gives the air back that a slow station takes."""
    return (
        f"{capitalise(remedy.subject)} nearer to the access point, or on a cable, takes less"
        f" air{end_untried(remedy)}."
    )


def advise_on_cable(remedy: Remedy) -> str:
    """Say what gives the air back that a slow station takes, which has its best rate."""
    return (
        f"{capitalise(remedy.subject)} has the best rate that it can have: on a cable, or replaced"
        " by a newer one, it takes less air."
    )


def _advise_plainly(remedy: Remedy) -> str:
    """Say what makes room in a cell, without what shortens the wait."""
    return advise_on_air(Remedy(remedy.action))


def advise_on_signal(remedy: Remedy) -> str:
    """Say what gives a station a better signal: no setting does."""
    return (
        f"{capitalise(remedy.subject)} loses less nearer to the access point, or near a second one."
    )


#: Sentence for each remedy of a cell.
WRITERS: Mapping[Action, Callable[[Remedy], str]] = {
    Action.MORE_AIR: _advise_plainly,
    Action.LARGER_PACKETS: _advise_plainly,
    Action.STATION_QUEUES: tell_turns,
    Action.FASTER_STATION: advise_on_station,
    Action.CABLE_STATION: advise_on_cable,
    Action.NEARER_STATION: advise_on_signal,
}


def brief_hidden(fact: facts.HiddenStations) -> str:
    """Say which stations do not hear each other, and what their frames cost."""
    hidden = fact.hidden
    first, *others = (_name_pair(*pair) for pair in hidden.pairs)
    rest = f" and {count(len(others), 'more pair')}" if others else ""
    text = (
        f"{first} do not hear each other{rest}, and their frames collide at the access point"
        f" ({_part(hidden.collision_ratio)} of the time)"
    )
    if hidden.given_up_ratio <= LOSSY_SHARE:
        return text
    return f"{text}; up to {_part(hidden.given_up_ratio)} of a station's packets are given up"


def _name_pair(one: str, other: str) -> str:
    return f"those of {one}" if one == other else f"{one} and {other}"


def full_hidden(fact: facts.HiddenStations) -> list[str]:
    """Say what hidden stations do, and what keeps them apart."""
    announced = [own for own in fact.remedies if own.action is Action.ANNOUNCE_FRAMES]
    return [f"{capitalise(brief_hidden(fact))}.", *map(advise_on_hidden, announced)]


def advise_on_hidden(remedy: Remedy) -> str:
    """Say what keeps stations apart that do not hear each other."""
    return (
        "Frames that are announced with RTS and CTS collide less: all hear the access point's"
        f" CTS{end_untried(remedy)}."
    )


def brief_signal(fact: facts.WeakSignal) -> str:
    """Say how weak a station's signal is, and what it costs a flow."""
    signal = fact.signal
    verb = "is" if signal.given_up == 1 else "are"
    cost = f"{count(signal.given_up, 'packet')} of {signal.flow} {verb} given up"
    if signal.level_db is None:
        broken = share(signal.error_ratio)
        return f"{broken} of the frames from and to {signal.station} break, and {cost}"
    level = f"{signal.level_db:g} dB".replace("-", "−")
    if signal.mode:
        fails = "does not pass" if 2 * signal.given_up_ratio > 1 else "often breaks"
        from_then = f" from {signal.since} on" if signal.since else ""
        return f"{signal.station}'s {signal.mode} {fails} at {level}{from_then}, and {cost}"
    if signal.is_silent:
        return f"{signal.station} hears nothing of the access point at {level}"
    if signal.since:
        return f"{signal.station}'s signal falls to {level} at {signal.since}, and {cost}"
    lowest = "" if signal.is_steady else " at its lowest"
    return f"{signal.station}'s signal is {level}{lowest}, and {cost}"


def full_signal(fact: facts.WeakSignal) -> list[str]:
    """Say how weak a station's signal is, and what helps."""
    own = {Action.FREE_RATE: advise_on_mode, Action.NEARER_STATION: advise_on_signal}
    advice = [own[remedy.action](remedy) for remedy in fact.remedies if remedy.action in own]
    return [f"{capitalise(brief_signal(fact))}.", *advice]


def advise_on_mode(remedy: Remedy) -> str:
    """Say what to do with a mode that a signal does not carry.

    Examples
    --------
    >>> advise_on_mode(Remedy(Action.FREE_RATE, "link.wifi.dot11ax.station.phone.mcs"))
    'Leave link.wifi.dot11ax.station.phone.mcs out: rate control then chooses what passes.'
    """
    return f"Leave {remedy.subject} out: rate control then chooses what passes."
