"""A home's Wi-Fi before the line: what is tried there while the line stays as it is.

What stands in a cell is the queue of the access point, and each station's own. A queue for each
station in the access point, with the same time on the air for each, is tried where a cell can have
it, and a queue for each flow (FQ-CoDel), both of which Linux has for Wi-Fi. The line without the
Wi-Fi is there to compare with: what filled the Wi-Fi may fill the line then.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Any

from headend.recommendation.tier import copy_tables
from headend.scenario.cells import STATION_QUEUE_KEYS, find_cell, write_station_queues

#: The queue that is tried.
QUEUE = "fq_codel"


class Air(StrEnum):
    """What is different of the cells of a home."""

    #: The access points have a queue for each station.
    STATION_QUEUES = "queues by station"
    #: The access points have a queue for each flow.
    ACCESS_POINT = "access point"
    #: The stations have one as well.
    NODES = "access point and stations"
    #: The hosts are on the line without a cell.
    ETHERNET = "over Ethernet"

    @property
    def label(self) -> str:
        """What the setting is called."""
        return f"{self} {QUEUE}" if self in (Air.ACCESS_POINT, Air.NODES) else str(self)


def write_cells(cells: Mapping[str, Any], air: Air | None) -> dict[str, Any]:
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
    for link in found.values():
        cell = find_cell(link)
        if cell is None or air is None:
            continue
        table = link[cell.kind]
        if air is Air.STATION_QUEUES:
            if cell.shares_queue:
                table["access_point"] = write_station_queues(cell.access_point)
            continue
        table["access_point"] = {**table.get("access_point", {}), "queue": QUEUE}
        if air is Air.NODES:
            stations = cell.stations.items()
            table["station"] = {name: {**own, "queue": QUEUE} for name, own in stations}
    return found


def list_airs(cells: Mapping[str, Any]) -> list[Air]:
    """List what can be tried of cells, in the order of preference.

    Examples
    --------
    >>> list_airs({"wifi": {"dot11b": {"station": {"laptop": {}, "phone": {}}}}})
    [<Air.ACCESS_POINT: 'access point'>, <Air.NODES: 'access point and stations'>]
    """
    can_have = any((cell := find_cell(link)) and cell.shares_queue for link in cells.values())
    return [*([Air.STATION_QUEUES] if can_have else []), Air.ACCESS_POINT, Air.NODES]


def list_written(cells: Mapping[str, Any], air: Air | None) -> list[str]:
    """List the keys of cells that a setting writes, or leaves out, itself.

    Examples
    --------
    >>> list_written({"wifi": {"dot11b": {"station": {"laptop": {}}}}}, Air.NODES)
    ['link.wifi.dot11b.access_point.queue', 'link.wifi.dot11b.station.laptop.queue']
    """
    if air is Air.ETHERNET:
        return [f"link.{name}" for name in cells]
    found = []
    for name, link in cells.items():
        if air is None or (cell := find_cell(link)) is None:
            continue
        keys = ["access_point.queue"]
        if air is Air.STATION_QUEUES:
            keys = [f"access_point.{key}" for key in STATION_QUEUE_KEYS]
        keys += [f"station.{own}.queue" for own in cell.stations] if air is Air.NODES else []
        found += [f"link.{name}.{cell.kind}.{key}" for key in keys]
    return found


def write_hosts(
    hosts: Mapping[str, Any], cells: Collection[str], air: Air | None
) -> dict[str, Any]:
    """Give the hosts with a setting: over Ethernet those that the line has are on it directly.

    Examples
    --------
    >>> hosts = {"laptop": {"via": ["wifi.laptop", "cable"]}, "printer": {"via": ["wifi.printer"]}}
    >>> write_hosts(hosts, ["wifi"], Air.ETHERNET)
    {'laptop': {'via': ['cable']}}
    """
    if air is not Air.ETHERNET:
        return dict(hosts)
    found = {}
    for name, host in hosts.items():
        via = [hop for hop in host.get("via", ()) if hop.partition(".")[0] not in cells]
        if via or not host.get("via"):
            found[name] = {**host, "via": via} if via else dict(host)
    return found
