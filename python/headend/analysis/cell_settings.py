"""What can be changed in a cell of Wi-Fi, by what its tables hold.

`headend run` proposes of these what its run calls for, and `headend recommend` tries all of them,
so that the two name the same.
"""

from __future__ import annotations

from headend.analysis.facts import Action, Remedy
from headend.analysis.hidden import THRESHOLD, can_announce
from headend.analysis.signal import find_fixed_mode
from headend.scenario.cells import BY_STATION, Cell


def separate_stations(link: str, cell: Cell) -> Remedy | None:
    """Propose a queue for each station, where stations share the one of their access point."""
    if not cell.shares_queue:
        return None
    path = f"link.{link}.{cell.kind}.access_point.queues"
    return Remedy(Action.STATION_QUEUES, link, path, BY_STATION)


def announce_frames(link: str, cell: Cell) -> Remedy | None:
    """Propose RTS and CTS, where stations do not hear each other and nobody announces frames."""
    if not can_announce(cell):
        return None
    path = f"link.{link}.{cell.kind}.rts_threshold"
    return Remedy(Action.ANNOUNCE_FRAMES, link, path, THRESHOLD)


def bring_nearer(link: str, cell: Cell, station: str) -> Remedy:
    """Propose the best rate that a station can have; a cable where it has that already.

    Where its signal is written, that decides and not the rate: no setting is known.
    """
    if station in cell.stations and (best := cell.find_best(station)):
        key, value = best
        path = f"link.{link}.{cell.kind}.station.{station}.{key}"
        return Remedy(Action.FASTER_STATION, station, path, value)
    has_signal = "snr" in cell.stations.get(station, {})
    return Remedy(Action.FASTER_STATION if has_signal else Action.CABLE_STATION, station)


def free_rate(link: str, cell: Cell, station: str) -> Remedy | None:
    """Propose to leave a mode out that is fixed where the signal is written; None without one."""
    _, path = find_fixed_mode(link, cell, station)
    has_signal = bool(cell.stations.get(station, {}).get("snr"))
    return Remedy(Action.FREE_RATE, path) if path and has_signal else None
