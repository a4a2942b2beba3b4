"""A station of a cell whose signal is too weak, where that costs a flow many of its packets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headend.analysis.air import MUCH_AIR, find_cell_of
from headend.analysis.channels import gather_cells
from headend.analysis.routes import list_links, list_ports
from headend.engine.description import describe, list_discards
from headend.scenario.cells import Cell
from headend.text.quantity import parse_quantity

if TYPE_CHECKING:
    from headend.results.record import Record

#: Share of frames that break besides collisions from which they, and not the signal, are named:
#: with half of them a packet still arrives in 99 % of seven tries (1 − 0.5⁷).
MANY_ERRORS = 0.5


@dataclass(frozen=True)
class LostSignal:
    """A station whose signal is why many of a flow's packets are given up.

    Parameters
    ----------
    link, station
        The cell's link, and the station's name.
    flow
        The flow.
    given_up
        How many of its packets the radio gave up, of both directions.
    given_up_ratio
        Share of the packets sent that were given up, of the direction that lost more.
    is_silent
        Whether none of its packets arrived.
    level_db
        The lowest ratio of signal to noise in the measured time; None where frames break by a
        share.
    since
        When that began, such as ``20 s``; empty where it was so from the beginning.
    is_steady
        Whether the ratio is the same in all the measured time.
    error_ratio
        Share of the frames that break besides collisions.
    mode
        What the scenario fixes in place of rate control, such as ``MCS 9``; empty where it does
        not.
    mode_path
        The path of its key.
    """

    link: str
    station: str
    flow: str
    given_up: int
    given_up_ratio: float
    is_silent: bool
    level_db: float | None
    since: str
    is_steady: bool
    error_ratio: float
    mode: str
    mode_path: str


def find_lost_signal(record: Record, flow: str) -> LostSignal | None:
    """Find the station that loses most of what a flow loses, where its signal is written.

    None where other stations do not hear it, and where collisions take more of the air than
    what breaks without them: then these may be why packets are given up.
    """
    column = describe().reasons["retry_limit"].column
    found = _find_station(record, flow, column)
    if found is None:
        return None
    rows = [row for row in record.rows("flows") if row["flow"] == flow]
    given_up = sum(row[column] for row in rows)
    # A thinned acknowledgement is no loss.
    losses = set(list_discards()) - set(list_discards("thinning"))
    if 2 * given_up <= sum(row[name] for row in rows for name in losses):
        return None
    ratio = max(row[column] / max(row["packets_sent"], 1) for row in rows)
    link, cell, station, key = found
    state = next((one for one in gather_cells(record) if one.link == link), None)
    if state and max(MUCH_AIR, state.broken_ratio) < state.collision_ratio:
        return None
    own = cell.stations[key]
    level, since, is_steady = _find_lowest(record, own.get("snr"))
    errors = _read_errors(own)
    if errors > MANY_ERRORS:
        level, since = None, ""
    mode, mode_path = find_fixed_mode(link, cell, key) if level is not None else ("", "")
    return LostSignal(
        link,
        station,
        flow,
        given_up,
        ratio,
        not any(row["packets_delivered"] for row in rows),
        level,
        since,
        is_steady,
        errors,
        mode,
        mode_path,
    )


def find_broken(record: Record, link: str) -> str:
    """Find the station of a cell whose broken frames take much of its air; empty without one.

    A station of which at least half of the frames break waits long before it tries again: its
    broken frames need not take much.
    """
    cell = find_cell_of(record, link)
    rows = [
        row
        for row in record.rows("air_time")
        if row["link"] == link and row["use"] == "broken" and row["air_ratio"]
    ]
    if cell is None or not rows:
        return ""
    most = max(rows, key=lambda row: row["air_ratio"])
    station = most["station"]
    key = cell.find_key(station)
    many = _read_errors(cell.stations.get(key, {})) >= MANY_ERRORS
    return station if many or most["air_ratio"] >= MUCH_AIR else ""


def _read_errors(station: Mapping[str, Any]) -> float:
    """Read the share of a station's frames that break, where it is written."""
    return parse_quantity(str(station.get("frame_errors", "0")), "ratio").value


def _find_station(record: Record, flow: str, column: str) -> tuple[str, Cell, str, str] | None:
    """Find a flow's station with a signal that gives up most: link, cell, name and its key."""
    cells = {
        name: cell for name in list_links(record, flow) if (cell := find_cell_of(record, name))
    }
    # A station of which nothing was heard sent nothing either.
    met = {f"{port}.up" for port in list_ports(record, flow)}
    rows = [row for row in record.rows("queues") if row["queue"] in met and row["link"] in cells]
    for row in sorted(rows, key=lambda row: -row[column]):
        link, cell = row["link"], cells[row["link"]]
        station = row["queue"].removeprefix(f"{link}.").removesuffix(".up")
        key = cell.find_key(station)
        own = cell.stations.get(key, {})
        is_hidden = any(key in pair for pair in cell.hidden_pairs)
        if not is_hidden and (own.get("snr") or _read_errors(own)):
            return link, cell, station, key
    return None


def _find_lowest(record: Record, signal: Any) -> tuple[float | None, str, bool]:
    """Give the lowest ratio of the measured time in dB, when it begins, and if it is the only one.

    The time is empty where it began before the measured time, or comes back with each period.
    """
    if signal is None:
        return None, "", True
    if not isinstance(signal, Mapping):
        return _read_decibels(signal), "", True
    steps = [
        (parse_quantity(str(time), "time").value, str(time), _read_decibels(level))
        for time, level in signal["steps"]
    ]
    begin, end = record.manifest.get("warmup_ns", 0), record.manifest["simulated_ns"]
    if signal.get("period"):
        levels = {level for _, _, level in steps}
        return min(levels), "", len(levels) == 1
    heard = list(_list_heard(steps, begin, end))
    at, time, level = min(heard, key=lambda step: (step[2], step[0]))
    return level, time if at > begin else "", len({step[2] for step in heard}) == 1


def _list_heard(
    steps: list[tuple[float, str, float]], begin: float, end: float
) -> Iterator[tuple[float, str, float]]:
    """List the steps of which something lies in the measured time."""
    for number, step in enumerate(steps):
        until = steps[number + 1][0] if number + 1 < len(steps) else end
        if step[0] < end and until > begin:
            yield step


def _read_decibels(text: Any) -> float:
    return float(str(text).removesuffix("dB"))


def find_fixed_mode(link: str, cell: Cell, station: str) -> tuple[str, str]:
    """Name what is fixed of a station in place of rate control, and its path; empty for nothing."""
    own = cell.stations.get(station, {})
    path = f"link.{link}.{cell.kind}.station.{station}"
    if own.get("mcs") is not None:
        return f"MCS {own['mcs']}", f"{path}.mcs"
    return (str(own["rate"]), f"{path}.rate") if own.get("rate") else ("", "")
