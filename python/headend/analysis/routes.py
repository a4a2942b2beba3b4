"""The queues on a flow's way: those of its host's links out, and those of its peer's links in.

Packets of the direction ``up`` leave the host over its links in their order and enter the peer, if
it is behind links too, over the peer's in the opposite order; those of ``down`` the other way
round. A cell's access point has one queue for all stations, a station one of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from headend.analysis.key_figure import read_column
from headend.analysis.low_latency import find_queue_of
from headend.analysis.queues import weigh_queues
from headend.results.record import Record, cached_on_record
from headend.scenario.cells import find_cell
from headend.text.quantity import parse_quantity

#: Rows of queues by where they are: a link or what is attached to it, and the queue's direction.
_Places = Mapping[tuple[str, str], Sequence[dict[str, Any]]]

#: The other direction.
OPPOSITE = {"up": "down", "down": "up"}


def list_queues(record: Record, flow: str, direction: str) -> list[dict[str, Any]]:
    """List the queues that a flow's packets of one direction meet, in that order.

    Of the two queues of an aggregate it is the one that sent most of the flow's packets. A modem
    with several service flows is represented by the queue whose delay is nearest to the flow's
    without its path.

    Parameters
    ----------
    record
        The run. Where its scenario does not tell the flow's route, all queues of the direction are
        given.
    flow
        The flow's name; of a member of a group with its numbers.
    direction
        ``up`` or ``down``.

    Returns
    -------
    list
        Rows of the table of queues, as ``weigh_queues`` gives them.
    """
    places = _index_places(record)
    stages = list(_list_stages(record, flow, direction, places))
    if not stages:
        return [row for row in weigh_queues(record) if row["direction"] == direction]
    sent_by = find_queue_of(record, flow, direction)
    delay = read_column(_index_flows(record).get((flow, direction), {}), "delay_p95_ns")
    wait = delay - read_path(record, flow, direction)
    found = []
    for rows in stages:
        own = [row for row in rows if row["queue"] == sent_by] or rows
        found += sorted(own, key=lambda row: abs(read_column(row, "delay_p95_ns") - wait))[:1]
    return found


def _list_stages(
    record: Record, flow: str, direction: str, places: _Places
) -> Iterator[list[dict[str, Any]]]:
    """Give the queues of each link on the way; a flow without a host is behind the only link."""
    links = record.manifest.get("scenario", {}).get("link", {})
    _, *numbers = flow.split(".")
    near, far, number = _find_ways(record, flow)
    ways = [(hop, direction, numbers[:1]) for hop in near or (links if len(links) == 1 else ())]
    ways += [(hop, OPPOSITE[direction], [number]) for hop in reversed(far)]
    for hop, way, own in ways if direction == "up" else reversed(ways):
        yield _find_place(hop, way, own, links, places)


def _find_ways(record: Record, flow: str) -> tuple[list[str], list[str], str]:
    """Give the links of a flow's host and of its peer, each way out; and the peer's number."""
    scenario = record.manifest.get("scenario", {})
    hosts = scenario.get("host", {})
    about = scenario.get("flow", {}).get(flow.partition(".")[0], {})
    peer, _, number = str(about.get("peer", "")).partition(".")
    near, far = (list(hosts.get(end, {}).get("via", ())) for end in (about.get("host", ""), peer))
    return near, far, number


def list_links(record: Record, flow: str) -> list[str]:
    """List the links on a flow's way, from its host on; none where it names no host."""
    near, far, _ = _find_ways(record, flow)
    return list(dict.fromkeys(hop.partition(".")[0] for hop in [*near, *reversed(far)]))


def list_ports(record: Record, flow: str) -> list[str]:
    """List where a flow's host and its peer are attached, such as ``wifi.phone``.

    Of members of a group it is ``wifi.phone.2``; what has no number may stand beside it.
    """
    near, far, number = _find_ways(record, flow)
    _, *numbers = flow.split(".")
    ways = [*((hop, numbers[:1]) for hop in near), *((hop, [number]) for hop in far)]
    return [name for hop, own in ways for name in (hop, *(f"{hop}.{one}" for one in own if one))]


def _find_place(
    hop: str, way: str, numbers: Sequence[str], links: Mapping[str, Any], places: _Places
) -> list[dict[str, Any]]:
    """Find the queues of a link port in one direction; a number picks one of many modems."""
    link = hop.partition(".")[0]
    if way == "down" and find_cell(links.get(link)):
        return list(places.get((link, way), ()))
    names = [hop, *(f"{hop}.{number}" for number in numbers if number)]
    return [row for name in names for row in places.get((name, way), ())]


@cached_on_record
def _index_places(record: Record) -> _Places:
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in weigh_queues(record):
        place = (row["queue"].rpartition(".")[0], row["direction"])
        found.setdefault(place, []).append(row)
    return found


@cached_on_record
def _index_flows(record: Record) -> dict[tuple[str, str], dict[str, Any]]:
    return {(row["flow"], row["direction"]): row for row in record.rows("flows")}


def read_path(record: Record, flow: str, direction: str) -> float:
    """Give what the wide area takes of a flow's way in one direction, ns.

    Where the scenario draws it, or has it of another host, that is the least delay of a packet.
    """
    about = record.manifest.get("scenario", {}).get("flow", {}).get(flow.partition(".")[0], {})
    if isinstance(rtt := about.get("rtt"), str):
        return parse_quantity(rtt, "time").value / 2
    return read_column(_index_flows(record).get((flow, direction), {}), "delay_min_ns")
