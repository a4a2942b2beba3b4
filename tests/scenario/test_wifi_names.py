"""What errors say of names of Wi-Fi that headend calls otherwise, or has not, or has elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import headend

SCENARIO = """
duration = "2 s"
[link.wifi.{kind}.station]
phone = {{}}
[host]
phone.via = ["wifi.phone"]
[flow.call]
host = "phone"
application = "voice"
"""


def refuse(folder: Path, kind: str = "dot11ax", settings: Mapping[str, Any] | None = None) -> str:
    """Give the error of a cell of a kind, with settings."""
    file = folder / "cell.toml"
    file.write_text(SCENARIO.format(kind=kind), encoding="utf-8")
    with pytest.raises(headend.InputError) as refused:
        headend.run(file, set=settings or {})
    return str(refused.value)


NEWER = "; Wi-Fi 7 (802.11be) and newer is not built; dot11ax is the newest"
OLDER = "; 802.11a is not built; dot11g has the same rates at 2.4 GHz"
NAMES = {
    "dot11be": NEWER,
    "wifi7": NEWER,
    "802.11be": NEWER,
    "dot11a": OLDER,
    "802.11a": OLDER,
    "wifi6": "; headend calls it dot11ax",
    "wifi6e": "; headend calls it dot11ax",
    "802.11ax": "; headend calls it dot11ax",
    "wifi5": "; headend calls it dot11ac",
    "802.11n": "; headend calls it dot11n",
    "wifi": "dot11ax (Wi-Fi 6), dot11ac (Wi-Fi 5), dot11n (Wi-Fi 4), dot11g or dot11b",
}


@pytest.mark.parametrize(("name", "hint"), NAMES.items())
def test_another_name_of_a_standard_is_answered_with_headends_or_with_the_newest(
    tmp_path: Path, name: str, hint: str
) -> None:
    of_cell = refuse(tmp_path, f'"{name}"')
    of_station = refuse(tmp_path, settings={"link.wifi.dot11ax.station.phone.standard": name})
    for said in (of_cell, of_station):
        assert said.endswith(hint)
        assert "did you mean" not in said


def test_a_queue_by_station_is_answered_with_the_key_that_has_it(tmp_path: Path) -> None:
    place = "link.wifi.dot11ax.access_point"
    said = refuse(tmp_path, settings={f"{place}.queue": "by_station"})
    assert 'access_point.queues = "by_station" gives each station a queue' in said
    assert "fq_codel" not in said, "no list of all disciplines"
    assert headend.run(tmp_path / "cell.toml", set={f"{place}.queues": "by_station"})
    said = refuse(tmp_path, settings={"link.wifi.dot11ax.queues": "by_station"})
    assert said.endswith("; headend calls it access_point.queues")


@pytest.mark.parametrize("beside", ["dot11ac.access_point", "dot11be.access_point", "access_point"])
def test_a_path_beside_the_cells_standard_is_answered_with_one_that_the_cell_has(
    tmp_path: Path, beside: str
) -> None:
    said = refuse(tmp_path, settings={f"link.wifi.{beside}.queues": "by_station"})
    assert said.endswith('; did you mean "link.wifi.dot11ax.access_point.queues"?')


def test_a_path_that_the_cell_has_nowhere_is_answered_with_its_standard(tmp_path: Path) -> None:
    for path in ("link.wifi.docsis.preset", "link.wifi.queue"):
        said = refuse(tmp_path, settings={path: "docsis31"})
        assert said.endswith("; link.wifi is dot11ax in this scenario")
