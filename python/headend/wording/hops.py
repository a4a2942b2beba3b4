"""Which link is to blame where packets cross several, in words: the Wi-Fi, the modem, or another.

``brief_hops`` is the clause that an answer puts before the reason.
"""

from __future__ import annotations

from collections.abc import Sequence

from headend.analysis.facts import Hop, HopKind, Hops
from headend.analysis.queue_state import QueueState
from headend.text.wording import capitalise, join_names
from headend.wording.cell import tell_air
from headend.wording.quantities import share, time
from headend.wording.table import Cell, Column, Row, Table

#: The name of the link that ``router`` puts before a modem.
_ROUTER = "router"

#: The heading above what is told of the links.
TITLE = "Is it the Wi-Fi or the line behind it?"


def name_hop(fact: Hops, hop: Hop) -> str:
    """Name a link as a person at home does, with its article."""
    if hop.kind is HopKind.WIFI:
        return "the Wi-Fi" if fact.cells == 1 else f"the Wi-Fi {hop.link}"
    if hop.kind is HopKind.CABLE:
        # What waits downstream waits at the provider's end of the line.
        return "the cable line" if hop.guilty == {"down"} else "the modem"
    return "the router" if hop.link == _ROUTER else f"the link {hop.link}"


def brief_hops(fact: Hops) -> str:
    """Say which link is to blame, which is not, and which would be the next."""
    guilty = [name_hop(fact, hop) for hop in fact.guilty]
    others = [name_hop(fact, hop) for hop in fact.hops if not hop.guilty]
    if not guilty:
        none = f"neither {' nor '.join(others)}"
        return f"it is {none}" if fact.suffers else f"{none} is the limit"
    rest = f", not {' or '.join(others)}" if others else ""
    if near := [name_hop(fact, hop) for hop in fact.hops if hop.is_full and not hop.guilty]:
        rest = f", with {join_names(near)} nearly full too"
    if fact.suffers:
        both = "both " if len(guilty) == 2 and not others else ""
        return f"it is {both}{join_names(guilty)}{rest}"
    limits = "is the limit" if len(guilty) == 1 else "are the limits"
    return f"{join_names(guilty)} {limits}{rest}"


def brief_uses(fact: Hops) -> str:
    """Say how much of each link is used."""
    return join_names([_describe_use(fact, hop) for hop in fact.hops])


def _describe_use(fact: Hops, hop: Hop) -> str:
    if hop.channel:
        name = "the air" if name_hop(fact, hop) == "the Wi-Fi" else f"the air of {hop.link}"
        return f"{name} is wanted {share(hop.channel.full_ratio)} of the time"
    return f"{share(hop.used_ratio)} of the rate of {name_hop(fact, hop)} is used"


def full_hops(fact: Hops) -> list[str]:
    """Say which link is to blame, and of each how long packets wait there and how full it is."""
    return [
        f"{capitalise(brief_hops(fact))}. On the way of {fact.flow}:",
        *(_describe_hop(fact, hop) for hop in fact.hops),
    ]


def _describe_hop(fact: Hops, hop: Hop) -> str:
    waits = _write_waits(hop.queues)
    name = _title_hop(fact, hop)
    text = f"{name}: packets wait {waits} at the median (99th percentile)" if waits else name
    text = f"{text}; {_describe_use(fact, hop)}."
    # A full one says who takes its air anyway.
    is_told = hop.channel and not hop.channel.is_full
    return f"{text} {tell_air(hop.channel)}" if hop.channel and is_told else text


def _title_hop(fact: Hops, hop: Hop) -> str:
    """Name a link at the beginning of a line, with the flow that crosses it in place of another."""
    name = capitalise(name_hop(fact, hop).removeprefix("the "))
    return name if hop.flow == fact.flow else f"{name}, on the way of {hop.flow}"


def tabulate_hops(fact: Hops) -> Table:
    """Give a row for each link on the way: how long packets wait there, and how full it is."""
    rows = [
        Row(
            Cell(
                _title_hop(fact, hop),
                is_chosen=bool(hop.guilty),
                tag="guilty" if hop.guilty else "",
            ),
            (
                *(
                    Cell(_write_waits([own for own in hop.queues if own.direction == way]) or "–")
                    for way in ("up", "down")
                ),
                Cell(_describe_use(fact, hop)),
            ),
        )
        for hop in fact.hops
    ]
    columns = (Column("packets wait up"), Column("packets wait down"), Column("how full"))
    whose = join_names(list(dict.fromkeys([fact.flow, *(hop.flow for hop in fact.hops)])))
    note = (
        f"Medians, and the 99th percentile in brackets, of the queues that packets of {whose} meet."
    )
    return Table(columns, tuple(rows), "link", note=note)


def _write_waits(queues: Sequence[QueueState]) -> str:
    """Write how long packets wait in each queue: the median, and the 99th percentile after it."""
    waits = [
        f"{time(own.delay_p50_ns)} ({time(own.delay_p99_ns)}) in {own.queue}" for own in queues
    ]
    return join_names(waits)
