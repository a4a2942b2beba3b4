"""The studies of an 802.11b cell: their claims on points made for the purpose."""

from __future__ import annotations

from typing import Any

from headend.study import Verdict
from test_studies import fill_points, judge, load

RTT = "service-quality/wifi-rtt"
PINGS = "service-quality/wifi-pings"

#: Round trips in ms and knees in Mb/s as the document has them.
LOADED = {512: 120, 1000: 70, 1200: 67, 1500: 55}
KNEES = {512: 2, 1000: 3, 1200: 3, 1500: 4}


def measure_rtt(row: dict[str, Any], *, factor: float = 1.0) -> dict[str, Any]:
    loaded = factor * LOADED[row["mtu"]]
    goodput = 32 * 1024 * 8 / loaded * 1e3
    if row["limit"] == "idle" or float(row["limit"]) < KNEES[row["mtu"]]:
        return {"rtt": 2.6e6, "goodput": goodput}
    return {"rtt": loaded * 1e6, "goodput": goodput}


def test_round_trips_as_published_agree_and_longer_ones_differ() -> None:
    agreeing = judge(RTT, fill_points(RTT, measure_rtt))
    # The idle ping is set, so that it reproduces nothing.
    assert agreeing.pop("WLN-F4.idle")[0] is Verdict.UNTESTABLE
    assert {verdict for verdict, _ in agreeing.values()} == {Verdict.REPRODUCED}
    longer = judge(RTT, fill_points(RTT, lambda row: measure_rtt(row, factor=1.3)))
    assert longer["WLN-F4.loaded"][0] is Verdict.DIFFERS
    assert longer["WLN-A.window"][0] is Verdict.REPRODUCED


def test_a_cell_that_carries_more_has_its_knee_later() -> None:
    def late(row: dict[str, Any]) -> dict[str, Any]:
        early = row["limit"] != "idle" and float(row["limit"]) < 8
        return {**measure_rtt(row), "rtt": 2.6e6} if early else measure_rtt(row)

    assert judge(RTT, fill_points(RTT, late))["WLN-F5.knee"][0] is Verdict.DIFFERS


def test_pings_that_take_their_time_on_the_air_agree_and_others_differ() -> None:
    analysis = load(PINGS).load_analysis()

    def measure(row: dict[str, Any], *, factor: float) -> dict[str, Any]:
        stolen = analysis.find_stolen({**row, "per_second": 1000 / row["interval_ms"]})
        return {"goodput": 5.08e6 - factor * stolen, "pings": 100}

    agreeing = judge(PINGS, fill_points(PINGS, lambda row: measure(row, factor=1.0)))
    assert {verdict for verdict, _ in agreeing.values()} == {Verdict.REPRODUCED}
    cheap = judge(PINGS, fill_points(PINGS, lambda row: measure(row, factor=0.3)))
    assert cheap["WLN-F7.halved"][0] is cheap["WLN-F8.sum"][0] is Verdict.DIFFERS


def test_the_documents_times_are_its_tables() -> None:
    analysis = load(PINGS).load_analysis()
    # 250 pings of 64 B a second steal 2.05 Mb/s, as the text has it.
    stolen = analysis.find_published({"size": 64, "per_second": 250})
    assert round(stolen / 1e6, 2) == 2.05
