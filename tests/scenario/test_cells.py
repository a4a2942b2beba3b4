"""A cell of Wi-Fi is one whatever its generation is called."""

from __future__ import annotations

from typing import Any

import pytest

from headend.scenario.cells import find_cell
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
