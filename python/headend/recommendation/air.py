"""A home's Wi-Fi before the line: what is tried there while the line stays as it is.

What is set in a cell or done to one of its stations is what ``headend run`` proposes too
(`headend.analysis.cell_settings`), wherever the cell can have it. Besides, the access point and the
stations have a queue for each flow (FQ-CoDel), which Linux has for Wi-Fi. The line without the
Wi-Fi is there to compare with: what filled the Wi-Fi may fill the line then.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from headend.analysis.cell_settings import announce_frames, bring_nearer, free_rate
from headend.recommendation.tier import copy_tables
from headend.scenario.cells import STATION_QUEUE_KEYS, Cell, find_cell, write_station_queues
from headend.scenario.groups import name_group

#: The queue that is tried.
QUEUE = "fq_codel"

#: What a station nearer to the access point has no more: it is as near as can be.
_OF_DISTANCE = ("snr", "frame_errors")


class Air(StrEnum):
    """What is different of the cells of a home."""

    #: The access points have a queue for each station.
    STATION_QUEUES = "queues by station"
    #: Frames are announced with RTS and CTS.
    RTS = "RTS/CTS"
    #: Both.
    STATION_QUEUES_AND_RTS = "queues by station, RTS/CTS"
    #: The access points have a queue for each flow.
    ACCESS_POINT = "access point"
    #: The stations have one as well.
    NODES = "access point and stations"
    #: Rate control chooses a station's rate, in place of a mode that is fixed.
    RATE_CONTROL = "rate control"
    #: A station is nearer to the access point.
    NEARER = "nearer"
    #: A station's hosts are on the line without a cell.
    CABLE = "on a cable"
    #: All hosts are.
    ETHERNET = "over Ethernet"

    @property
    def is_setting(self) -> bool:
        """Whether it is set, and nothing is moved or connected."""
        return self not in (Air.NEARER, Air.CABLE, Air.ETHERNET)

    @property
    def has_station_queues(self) -> bool:
        """Whether access points have a queue for each station."""
        return self in (Air.STATION_QUEUES, Air.STATION_QUEUES_AND_RTS)

    @property
    def has_rts(self) -> bool:
        """Whether frames are announced."""
        return self in (Air.RTS, Air.STATION_QUEUES_AND_RTS)

    @property
    def has_flow_queues(self) -> bool:
        """Whether access points have a queue for each flow."""
        return self in (Air.ACCESS_POINT, Air.NODES)


class Place(NamedTuple):
    """What is different of the cells of a home, and of which station: ``LINK.STATION``, or all."""

    air: Air
    station: str = ""

    @property
    def label(self) -> str:
        """What the setting is called."""
        if self.air.has_flow_queues:
            return f"{self.air} {QUEUE}"
        return f"{name_station(self.station)} {self.air}".lstrip()


def name_station(station: str) -> str:
    """Give the name of a station without that of its link.

    Examples
    --------
    >>> name_station("wifi.printer")
    'printer'
    """
    return station.partition(".")[2]


def write_cells(cells: Mapping[str, Any], air: Air | None, station: str = "") -> dict[str, Any]:
    """Give the tables ``[link.NAME]`` of cells with a setting; none of them over Ethernet.

    Examples
    --------
    >>> cells = {"wifi": {"dot11b": {"station": {"laptop": {}}}}}
    >>> write_cells(cells, Air.ACCESS_POINT)["wifi"]["dot11b"]["access_point"]
    {'queue': 'fq_codel'}
    >>> write_cells(cells, Air.ETHERNET)
    {}
    """
    if air is Air.ETHERNET:
        return {}
    found: dict[str, Any] = copy_tables(cells)
    for name, link in found.items():
        cell = find_cell(link)
        if cell is None or air is None:
            continue
        table = link[cell.kind]
        if air.has_station_queues and cell.shares_queue:
            table["access_point"] = write_station_queues(cell.access_point)
        if air.has_rts and (remedy := announce_frames(name, cell)):
            table["rts_threshold"] = remedy.value
        if air.has_flow_queues:
            table["access_point"] = {**table.get("access_point", {}), "queue": QUEUE}
        if air is Air.NODES:
            stations = cell.stations.items()
            table["station"] = {own: {**has, "queue": QUEUE} for own, has in stations}
        own = name_station(station)
        if station == f"{name}.{own}" and own in cell.stations:
            kept = {**cell.stations[own], **_find_faster(name, cell, own, air)}
            for key in _list_left_out(name, cell, own, air):
                kept.pop(key, None)
            table["station"] = {**cell.stations, own: kept}
    return found


def _find_faster(link: str, cell: Cell, station: str, air: Air) -> dict[str, Any]:
    """Give the key of the best rate that a station can have where it is nearer."""
    remedy = bring_nearer(link, cell, station)
    if air is not Air.NEARER or not remedy.path:
        return {}
    key = remedy.path.rpartition(".")[2]
    return {key: int(remedy.value) if remedy.value.isdigit() else remedy.value}


def _list_left_out(link: str, cell: Cell, station: str, air: Air) -> tuple[str, ...]:
    """List the keys that a station has no more with a setting."""
    if air is Air.NEARER:
        return _OF_DISTANCE
    remedy = free_rate(link, cell, station)
    is_freed = air is Air.RATE_CONTROL and remedy is not None
    return (remedy.subject.rpartition(".")[2],) if is_freed and remedy else ()


def list_airs(
    cells: Mapping[str, Any],
    hosts: Mapping[str, Any] | None = None,
    flows: Mapping[str, Any] | None = None,
    line: str = "",
) -> list[Place]:
    """List what can be tried of cells, in the order of preference: settings before moves.

    Parameters
    ----------
    cells
        The tables ``[link.NAME]`` of the cells.
    hosts, flows, line
        The hosts, flows and the name of the line, which say who can be on the line by cable.

    Examples
    --------
    >>> [own.label for own in list_airs({"wifi": {"dot11b": {"station": {"laptop": {}}}}})]
    ['access point fq_codel', 'access point and stations fq_codel']
    """
    known = {name: cell for name, link in cells.items() if (cell := find_cell(link))}
    can_have = any(cell.shares_queue for cell in known.values())
    can_announce = any(announce_frames(*own) for own in known.items())
    found = [Air.STATION_QUEUES] if can_have else []
    found += [Air.RTS] if can_announce else []
    found += [Air.STATION_QUEUES_AND_RTS] if can_have and can_announce else []
    stations = [(name, cell, own) for name, cell in known.items() for own in cell.stations]
    freed = [(name, own) for name, cell, own in stations if free_rate(name, cell, own)]
    nearer = [own for own in stations if _can_be_nearer(*own)]
    wired = [
        (name, own)
        for name, cell, own in stations
        if _needs_cable(name, cell, own)
        and _can_be_wired(f"{name}.{own}", hosts or {}, flows or {}, line)
    ]
    return [
        *map(Place, (*found, Air.ACCESS_POINT, Air.NODES)),
        *(Place(Air.RATE_CONTROL, ".".join(own)) for own in freed),
        *(Place(Air.NEARER, f"{name}.{own}") for name, _, own in nearer),
        *(Place(Air.CABLE, ".".join(own)) for own in wired),
    ]


def _can_be_nearer(link: str, cell: Cell, station: str) -> bool:
    """Say whether a station has a better rate, or a better signal, nearer to the access point."""
    is_far = any(cell.stations[station].get(key) for key in _OF_DISTANCE)
    return is_far or bool(bring_nearer(link, cell, station).path)


def _needs_cable(link: str, cell: Cell, station: str) -> bool:
    """Say whether a station gains nothing nearer: an older one, and one that others do not hear."""
    is_older = cell.stations[station].get("standard", cell.kind) != cell.kind
    is_hidden = any(station in pair for pair in cell.hidden_pairs)
    return is_hidden or (is_older and not _can_be_nearer(link, cell, station))


def _can_be_wired(
    station: str, hosts: Mapping[str, Any], flows: Mapping[str, Any], line: str
) -> bool:
    """Say whether a station's hosts use the line alone: what is copied at home would cross it."""
    own = list(_list_hosts(station, hosts))
    ends = {
        name_group(str(flow.get(end, ""))) or str(flow.get(end, ""))
        for flow in flows.values()
        if flow.get("peer")
        for end in ("host", "peer")
    }
    return bool(own) and all(line in hosts[name]["via"] and name not in ends for name in own)


def _list_hosts(station: str, hosts: Mapping[str, Any]) -> Iterator[str]:
    """List the hosts that are behind a station."""
    return (name for name, host in hosts.items() if station in host.get("via", ()))


def list_written(
    cells: Mapping[str, Any],
    air: Air | None,
    station: str = "",
    hosts: Mapping[str, Any] | None = None,
) -> list[str]:
    """List the keys of cells that a setting writes, or leaves out, itself.

    Examples
    --------
    >>> list_written({"wifi": {"dot11b": {"station": {"laptop": {}}}}}, Air.NODES)
    ['link.wifi.dot11b.access_point.queue', 'link.wifi.dot11b.station.laptop.queue']
    """
    if air is Air.ETHERNET:
        return [f"link.{name}" for name in cells]
    if air is Air.CABLE:
        return [f"host.{name}.via" for name in _list_hosts(station, hosts or {})]
    found = []
    for name, link in cells.items():
        if air is None or (cell := find_cell(link)) is None:
            continue
        keys = [f"access_point.{key}" for key in STATION_QUEUE_KEYS if air.has_station_queues]
        keys += ["rts_threshold"] if air.has_rts else []
        keys += ["access_point.queue"] if air.has_flow_queues else []
        keys += [f"station.{own}.queue" for own in cell.stations] if air is Air.NODES else []
        own = name_station(station)
        if station == f"{name}.{own}" and own in cell.stations:
            changed = [*_find_faster(name, cell, own, air), *_list_left_out(name, cell, own, air)]
            keys += [f"station.{own}.{key}" for key in changed]
        found += [f"link.{name}.{cell.kind}.{key}" for key in keys]
    return found


def write_hosts(
    hosts: Mapping[str, Any], cells: Collection[str], air: Air | None, station: str = ""
) -> dict[str, Any]:
    """Give the hosts with a setting: over Ethernet those that the line has are on it directly.

    Examples
    --------
    >>> hosts = {"laptop": {"via": ["wifi.laptop", "cable"]}, "printer": {"via": ["wifi.printer"]}}
    >>> write_hosts(hosts, ["wifi"], Air.ETHERNET)
    {'laptop': {'via': ['cable']}}
    """
    if air not in (Air.ETHERNET, Air.CABLE):
        return dict(hosts)
    wired = list(hosts) if air is Air.ETHERNET else list(_list_hosts(station, hosts))
    found = {}
    for name, host in hosts.items():
        via = [hop for hop in host.get("via", ()) if hop.partition(".")[0] not in cells]
        if name not in wired or not host.get("via"):
            found[name] = dict(host)
        elif via:
            found[name] = {**host, "via": via}
    return found
