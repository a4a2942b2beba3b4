"""Which links of a scenario are cells of Wi-Fi, of whatever generation, and what their tables hold.

All cells have the same structure: an access point with a queue, and stations by name, each with a
queue of its own. What only some generations have is asked for here, by the name of their kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from headend.scenario.groups import name_group
from headend.text.quantity import parse_quantity

#: What the names of all kinds of cells begin with: ``dot11b``, ``dot11n``, …
_STEM = "dot11"

#: The kind whose access point has one queue for all, and nothing else.
_OLDEST = "dot11b"

#: The value of ``access_point.queues`` with which each station has a queue of its own, and the same
#: time on the air.
BY_STATION = "by_station"

#: What to do where stations share a queue, as an imperative without its full stop.
ADVICE_BY_STATION = (
    "Give each station a queue of its own and the same time on the air, as Linux's access points do"
    f" ({BY_STATION})"
)

#: What to do where stations do not hear each other, likewise.
ADVICE_RTS = (
    "Lower the access point's threshold of RTS and CTS (rts_threshold), since all stations hear its"
    " CTS"
)

#: The keys of an access point that a queue for each station writes, or leaves out.
STATION_QUEUE_KEYS = ("queues", "ahead")

#: The best rates of the standards that have no MCS (IEEE 802.11-2020 §16 and §17).
_BEST_RATES = {"dot11b": "11 Mbit/s", "dot11g": "54 Mbit/s"}

#: The largest MCS, width in MHz and number of streams of the others (§19.5, §21.5; 802.11ax §27.5).
_LARGEST = {"dot11n": (7, 40, 4), "dot11ac": (9, 160, 8), "dot11ax": (11, 160, 8)}
_NEWEST = "dot11ax"

#: Widths above 20 MHz and streams with which 802.11ac has no MCS 9 (§21.5).
_PARTIAL = ((80, 6), (160, 3))


def _read_rate(text: Any) -> float:
    return parse_quantity(str(text), "rate").value


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
        has_group = any(own.get("count", 1) != 1 for own in self._tables)
        return is_able and (len(self.stations) > 1 or has_group)

    @property
    def hidden_pairs(self) -> tuple[tuple[str, str], ...]:
        """The stations that do not hear each other, each pair once."""
        found: dict[tuple[str, str], None] = {}
        for name, own in self.stations.items():
            hidden = own.get("hidden_from", ()) if isinstance(own, Mapping) else ()
            for other in hidden:
                found[min(name, other), max(name, other)] = None
        return tuple(found)

    def find_key(self, station: str) -> str:
        """Give the key of a station: its name, or that of the group it is a member of, or none."""
        return station if station in self.stations else name_group(station) or ""

    def find_standard(self, station: str) -> str:
        """Give the standard of a station, that of the cell where it has none of its own."""
        own = self.stations.get(station)
        return str(own.get("standard", self.kind)) if isinstance(own, Mapping) else self.kind

    def find_best(self, station: str) -> tuple[str, str] | None:
        """Give the key and the value of a station's best rate, where it is written to be lower.

        Of a station whose signal is written, that decides and not the rate.

        Examples
        --------
        >>> table = {"station": {"printer": {"standard": "dot11n", "mcs": 0}, "pc": {}}}
        >>> Cell("dot11ax", table).find_best("printer"), Cell("dot11ax", table).find_best("pc")
        (('mcs', '7'), None)
        """
        own = self.stations.get(station, {})
        if own.get("snr"):
            return None
        standard = self.find_standard(station)
        if standard in _BEST_RATES:
            best = _BEST_RATES[standard]
            # An older station does not have the rate of the cell.
            rate = own.get("rate") or (self.table.get("rate") if standard == self.kind else None)
            is_lower = rate is not None and _read_rate(rate) < _read_rate(best)
            return ("rate", best) if is_lower else None
        mcs, most = own.get("mcs", self.table.get("mcs")), self._find_best_mcs(standard, own)
        return ("mcs", str(most)) if isinstance(mcs, int) and mcs < most else None

    def _find_best_mcs(self, standard: str, own: Mapping[str, Any]) -> int:
        """Give the largest MCS that a station can have with its width and streams.

        Of 802.11ac, the largest does not fill whole symbols in some (IEEE 802.11-2020 §21.5).
        """
        most, widest, most_streams = _LARGEST.get(standard, _LARGEST[_NEWEST])
        width = own.get("width") or min(self.table.get("width", widest), widest)
        streams = own.get("streams") or min(self.table.get("streams", 2), most_streams)
        is_partial = (width, streams) in _PARTIAL or (width == 20 and streams not in (3, 6))
        return most - 1 if standard == "dot11ac" and is_partial else most

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


def count_cells(links: Mapping[str, Any]) -> int:
    """Count the cells among the links of a scenario.

    Examples
    --------
    >>> count_cells({"wifi": {"dot11b": {}}, "cable": {"docsis": {}}})
    1
    """
    return sum(find_cell(link) is not None for link in links.values())


def write_station_queues(point: Mapping[str, Any]) -> dict[str, Any]:
    """Give the table of an access point with a queue for each station; a queue written is kept.

    The radio takes nothing ahead then, so that its key is left out.

    Examples
    --------
    >>> write_station_queues({"ahead": 20, "queue": "codel"})
    {'queue': 'codel', 'queues': 'by_station'}
    """
    kept = {key: value for key, value in point.items() if key not in STATION_QUEUE_KEYS}
    return {**kept, "queues": BY_STATION}
