"""The channel of an 802.11b cell: when it is full, and how the verdict says so."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import headend
from headend.analysis.channels import gather_channels
from headend.analysis.expect import parse_quantity_name
from headend.scenario.source import read_scenario
from headend.scenario.subjects import Vocabulary
from headend.wording.verdict import judge, note_comparison

#: A cell with a download whose window always waits in it.
CELL: dict[str, Any] = {
    "duration": "6 s",
    "warmup": "2 s",
    "bottleneck": "wifi.down",
    "link": {"wifi": {"dot11b": {"station": {"laptop": {}, "phone": {}}}}},
    "host": {"laptop": {"via": ["wifi.laptop"]}, "phone": {"via": ["wifi.phone"]}},
    "flow": {
        "download": {
            "application": "bulk",
            "direction": "down",
            "host": "laptop",
            "rtt": "2 ms",
            "tcp": {"receive_window": "32 KiB"},
        },
        "call": {"application": "voice", "host": "phone"},
    },
}


def test_a_cell_in_which_somebody_always_has_a_frame_is_full() -> None:
    verdict = judge(headend.run(CELL))
    (state,) = verdict.channels
    assert (state.channel, state.queues) == ("wifi", 3)
    assert state.utilisation < 0.9, "the time between frames is lost"
    assert state.full_ratio > 0.95
    assert "The channel of wifi (3 queues) is full" in verdict.paragraph
    assert "stream channel" not in verdict.paragraph
    assert "It waits for the air" in verdict.paragraph


def test_a_cell_with_a_call_alone_is_not_full() -> None:
    result = headend.run(CELL, set={"flow.download.stop": "1 ms"})
    (state,) = gather_channels(result)
    assert not state.is_full
    assert "channel" not in judge(result).paragraph


def test_a_comparison_names_the_full_cell() -> None:
    runs = headend.compare(CELL, {"queue": ["drop_tail", "drr"]}).results
    lines = note_comparison(runs, list(map(judge, runs)))
    assert "The channel of wifi is full under drop_tail and drr." in lines


def test_the_air_of_a_cell_adds_up_and_can_be_expected() -> None:
    expected = {
        "phone": "wifi.phone.up.air <= 50 %",
        "idle": "wifi.down.channel.idle <= 50 %",
        "laptop": "wifi.laptop.up.air >= 90 %",
    }
    result = headend.run({**CELL, "expect": expected})
    assert result.air_time["air_ratio"].sum() == pytest.approx(1.0)
    assert {own.name: own.met for own in result.expectations} == {
        "phone": True,
        "idle": True,
        "laptop": False,
    }
    assert "air-time" in result.figures


def test_a_stations_air_is_that_of_all_frames_from_and_to_it() -> None:
    vocabulary = Vocabulary.from_scenario(read_scenario(CELL).load().scenario)
    tables = headend.run(CELL).tables
    shares = pl.DataFrame(tables["air_time"])
    for station in ("laptop", "phone"):
        quantity = parse_quantity_name(f"wifi.{station}.up.station_air", vocabulary)
        own = shares.filter(station=station)["air_ratio"].sum()
        assert quantity.read(tables) == [pytest.approx(own)]
        assert quantity.read({"air_time": shares.clear()}) == []
    access_point = parse_quantity_name("wifi.down.station_air", vocabulary)
    assert access_point.read(tables) == []
