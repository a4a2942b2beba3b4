"""A cell of Wi-Fi is one whatever its generation is called."""

from __future__ import annotations

from typing import Any

import pytest

from headend.errors import InputError
from headend.scenario.cells import find_cell
from headend.scenario.source import read_scenario
from headend.scenario.subjects import _list_channels


@pytest.mark.parametrize("kind", ["dot11b", "dot11g", "dot11n", "dot11ac", "dot11ax"])
def test_every_80211_link_is_a_cell_with_stations_and_one_channel(kind: str) -> None:
    cell = find_cell({kind: {"station": {"laptop": {}}}})
    assert cell
    assert (cell.kind, list(cell.stations)) == (kind, ["laptop"])
    content: dict[str, Any] = {
        "link": {"home": {kind: {}}, "cable": {"docsis": {}}, "line": {"plain": {}}}
    }
    assert list(_list_channels(content)) == ["home.down", "cable.up", "cable.down"]


@pytest.mark.parametrize("link", [None, 3, {}, {"docsis": {}}, {"point_to_point": {}}, "dot11b"])
def test_another_link_and_what_is_no_table_is_no_cell(link: Any) -> None:
    assert find_cell(link) is None


def test_a_cell_whose_content_is_no_table_has_no_stations() -> None:
    cell = find_cell({"dot11b": 3})
    assert cell
    assert not cell.stations


@pytest.mark.parametrize(("count", "shares"), [(None, False), (1, False), (2, True)])
def test_a_group_of_one_shares_its_queue_with_nobody(count: int | None, shares: bool) -> None:
    station = {} if count is None else {"count": count}
    cell = find_cell({"dot11ax": {"station": {"sensor": station}}})
    assert cell
    assert cell.shares_queue is shares


def is_taken(kind: str, station: dict[str, Any], **cell: Any) -> bool:
    """Say whether the engine takes a cell with such a station."""
    home = {
        "duration": "1 s",
        "link": {"wifi": {kind: {"station": {"phone": station}, **cell}}},
        "host": {"phone": {"via": ["wifi.phone"]}},
        "flow": {"call": {"host": "phone", "application": "voice", "rtt": "30 ms"}},
    }
    found = ""
    try:
        read_scenario(home).load()
    except InputError as error:
        found = str(error)
    assert not found or "station.phone." in found
    return not found


#: The widths, in MHz, and the most streams of each standard with MCS, the oldest first.
SHAPES = {
    "dot11n": ((20, 40), 4),
    "dot11ac": ((20, 40, 80, 160), 8),
    "dot11ax": ((20, 40, 80, 160), 8),
}


@pytest.mark.parametrize(
    ("kind", "standard"),
    [(kind, own) for at, kind in enumerate(SHAPES) for own in list(SHAPES)[: at + 1]],
)
def test_the_best_mcs_of_a_station_is_the_largest_that_the_engine_takes(
    kind: str, standard: str
) -> None:
    """With each width and number of streams, and where both are left out."""
    (*_, widest), most = SHAPES[standard]
    older = {} if standard == kind else {"standard": standard}
    table = {"width": SHAPES[kind][0][-1]}
    shapes: list[tuple[dict[str, Any], dict[str, Any]]] = [({}, {}), ({}, table)]
    shapes += [
        ({"width": width, "streams": streams}, table)
        for width in SHAPES[standard][0]
        for streams in range(1, most + 1)
    ]
    for shape, cell in shapes:
        station = {**older, **shape}
        written = find_cell({kind: {"station": {"phone": {**station, "mcs": 0}}, **cell}})
        best = written.find_best("phone") if written else None
        assert best
        key, mcs = best
        assert key == "mcs"
        assert is_taken(kind, {**station, "mcs": int(mcs)}, **cell), shape
        assert not is_taken(kind, {**station, "mcs": int(mcs) + 1}, **cell), shape
    assert not is_taken(kind, {**older, "width": 2 * widest, "mcs": 0}, **table)
    assert not is_taken(kind, {**older, "streams": most + 1, "mcs": 0}, **table)


@pytest.mark.parametrize(("kind", "slow", "more"), [("dot11b", 1, 22), ("dot11g", 6, 108)])
def test_the_best_rate_of_a_station_without_mcs_is_the_largest_that_the_engine_takes(
    kind: str, slow: int, more: int
) -> None:
    cell = find_cell({kind: {"station": {"phone": {"rate": f"{slow} Mbit/s"}}}})
    assert cell
    best = cell.find_best("phone")
    assert best
    assert is_taken(kind, dict([best]))
    assert not is_taken(kind, {"rate": f"{more} Mbit/s"})
