"""Stations of a cell that do not hear each other, and what their frames cost where they meet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headend.analysis.air import MUCH_AIR, find_cell_of
from headend.analysis.channels import gather_cells
from headend.analysis.queues import LOSSY_SHARE
from headend.scenario.cells import Cell
from headend.scenario.groups import name_group
from headend.text.quantity import parse_quantity

if TYPE_CHECKING:
    from headend.results.record import Record

#: The length from which frames are announced where that is proposed: short ones, such as
#: acknowledgements and a call's, cost less than their announcement. 500 B is common in access
#: points (from memory, not read).
THRESHOLD = "500 B"


@dataclass(frozen=True)
class HiddenPairs:
    """Stations that do not hear each other, in a cell where that costs much.

    Parameters
    ----------
    link
        The cell's link.
    pairs
        Their names in the scenario; one of a group that does not hear its own members stands twice.
    collision_ratio
        Share of the time in which frames of the cell collide.
    given_up_ratio
        Share of the packets of these stations that were given up after their tries; the largest.
    """

    link: str
    pairs: tuple[tuple[str, str], ...]
    collision_ratio: float
    given_up_ratio: float


def find_hidden_pairs(record: Record, link: str) -> HiddenPairs | None:
    """Find the stations of a cell that do not hear each other, where their frames meet much.

    None where frames are announced already, and where hardly any are lost.
    """
    cell = find_cell_of(record, link)
    state = next((one for one in gather_cells(record) if one.link == link), None)
    if cell is None or state is None or not can_announce(cell):
        return None
    pairs = cell.hidden_pairs
    named = {name for pair in pairs for name in pair}
    given_up = max(_list_given_up(record, link, named), default=0.0)
    if state.collision_ratio < MUCH_AIR and given_up <= LOSSY_SHARE:
        return None
    return HiddenPairs(link, pairs, state.collision_ratio, given_up)


def can_announce(cell: Cell) -> bool:
    """Say whether stations of a cell do not hear each other, and frames are not announced yet."""
    announced = cell.table.get("rts_threshold")
    least = parse_quantity(THRESHOLD, "size").value
    is_announced = announced is not None and parse_quantity(str(announced), "size").value <= least
    return bool(cell.hidden_pairs) and not is_announced


def _list_given_up(record: Record, link: str, stations: set[str]) -> list[float]:
    """List what share of its packets each of some stations gave up."""
    found = []
    for row in record.rows("queues"):
        name = row["queue"].removeprefix(f"{link}.").removesuffix(".up")
        is_theirs = {name, name_group(name)} & stations
        if row["link"] == link and row["direction"] == "up" and is_theirs:
            found.append(row["discarded_retry_limit"] / max(row["packets_dequeued"], 1))
    return found
