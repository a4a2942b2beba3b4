"""Which links of a scenario are cells of Wi-Fi, of whatever generation, and what their tables hold.

All cells have the same structure: an access point with a queue, and stations by name, each with a
queue of its own. Nothing else of a cell is asked for by the name of its kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

#: What the names of all kinds of cells begin with: ``dot11b``, ``dot11n``, …
_STEM = "dot11"


class Cell(NamedTuple):
    """A cell of a scenario: its kind, and the content of ``[link.NAME.KIND]``."""

    kind: str
    table: Mapping[str, Any]

    @property
    def stations(self) -> Mapping[str, Any]:
        """The tables of its stations by their names."""
        found = self.table.get("station", {})
        return found if isinstance(found, Mapping) else {}


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
