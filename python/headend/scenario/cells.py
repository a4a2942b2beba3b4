"""Which links of a scenario are cells of Wi-Fi, of whatever generation, and what their tables hold.

All cells have the same structure: an access point with a queue, and stations by name, each with a
queue of its own. What only some generations have is asked for here, by the name of their kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

#: What the names of all kinds of cells begin with: ``dot11b``, ``dot11n``, …
_STEM = "dot11"

#: The kind whose access point has one queue for all, and nothing else.
_OLDEST = "dot11b"

#: The value of ``access_point.queues`` with which each station has a queue of its own, and the same
#: time on the air.
BY_STATION = "by_station"


class Cell(NamedTuple):
    """A cell of a scenario: its kind, and the content of ``[link.NAME.KIND]``."""

    kind: str
    table: Mapping[str, Any]

    @property
    def stations(self) -> Mapping[str, Any]:
        """The tables of its stations by their names."""
        found = self.table.get("station", {})
        return found if isinstance(found, Mapping) else {}

    @property
    def access_point(self) -> Mapping[str, Any]:
        """The table of its access point."""
        found = self.table.get("access_point", {})
        return found if isinstance(found, Mapping) else {}

    @property
    def shares_queue(self) -> bool:
        """Whether stations share the queue of the access point, and each could have its own."""
        is_able = self.kind != _OLDEST and self.access_point.get("queues") != BY_STATION
        return is_able and (len(self.stations) > 1 or any("count" in own for own in self._tables))

    @property
    def _tables(self) -> list[Mapping[str, Any]]:
        return [own for own in self.stations.values() if isinstance(own, Mapping)]


def find_cell(link: Any) -> Cell | None:
    """Give the cell that a link is; None for another link, and for what is no table.

    Parameters
    ----------
    link
        The content of ``[link.NAME]``.

    Examples
    --------
    >>> find_cell({"dot11b": {"station": {"laptop": {}}}})
    Cell(kind='dot11b', table={'station': {'laptop': {}}})
    >>> find_cell({"docsis": {}})
    """
    if not isinstance(link, Mapping):
        return None
    for kind, table in link.items():
        if str(kind).startswith(_STEM):
            return Cell(str(kind), table if isinstance(table, Mapping) else {})
    return None
