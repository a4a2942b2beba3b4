"""The studies of an 802.11b cell: their claims on points made for the purpose."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from headend.study import ClaimVerdict
from headend.study.claims import check_claims
from judged import fill_points, judge, load, load_analysis

RTT = "service-quality/wifi-rtt"
PINGS = "service-quality/wifi-pings"
CHOICES = "service-quality/wifi-choices"

#: Round trips in ms and knees in Mb/s as the document has them.
LOADED = {512: 121, 1000: 70, 1200: 67, 1500: 55}
KNEES = {512: 2, 1000: 3, 1200: 3, 1500: 4}


def measure_rtt(row: dict[str, Any], *, factor: float = 1.0) -> dict[str, Any]:
    carried = 1e6 * KNEES[row["mtu"]]
    if row["limit"] == "idle" or float(row["limit"]) < KNEES[row["mtu"]]:
        return {"rtt": 2.6e6, "carried": carried}
    return {"rtt": factor * LOADED[row["mtu"]] * 1e6, "carried": carried}


def test_round_trips_as_published_agree_and_longer_ones_differ() -> None:
    agreeing = judge(RTT, fill_points(RTT, measure_rtt))
    assert {verdict for verdict, _ in agreeing.values()} == {ClaimVerdict.REPRODUCED}
    longer = judge(RTT, fill_points(RTT, lambda row: measure_rtt(row, factor=1.05)))
    assert longer["WLN-F4.loaded"][0] is ClaimVerdict.DIFFERS
    assert longer["WLN-F4.order"][0] is longer["WLN-F5.knee"][0] is ClaimVerdict.REPRODUCED


def test_a_cell_that_carries_more_has_its_knee_later() -> None:
    def late(row: dict[str, Any]) -> dict[str, Any]:
        early = row["limit"] != "idle" and float(row["limit"]) < 8
        return {**measure_rtt(row), "rtt": 2.6e6} if early else measure_rtt(row)

    assert judge(RTT, fill_points(RTT, late))["WLN-F5.knee"][0] is ClaimVerdict.DIFFERS


def test_a_verdict_that_the_spread_of_the_seeds_hides_is_undecided() -> None:
    def measure(row: dict[str, Any]) -> dict[str, Any]:
        found = measure_rtt(row)
        spread = 0.95 + 0.05 * row["seed"] if row["limit"] == "100" else 1.0
        return {**found, "rtt": found["rtt"] * spread}

    assert judge(RTT, fill_points(RTT, measure))["WLN-F4.loaded"][0] is ClaimVerdict.UNDECIDED


def measure_pings(row: dict[str, Any], *, factor: float = 1.0) -> dict[str, Any]:
    """Give a download the document's 4 Mb/s, less so many times the pings' time here."""
    stolen = load_analysis(PINGS).find_stolen({**row, "per_second": 1000 / row["interval_ms"]})
    return {"goodput": 4.08e6 - 0.93 * factor * stolen}


def test_pings_that_take_their_time_on_the_air_agree_and_others_differ() -> None:
    agreeing = judge(PINGS, fill_points(PINGS, measure_pings))
    assert {verdict for verdict, _ in agreeing.values()} == {ClaimVerdict.REPRODUCED}
    cheap = judge(PINGS, fill_points(PINGS, lambda row: measure_pings(row, factor=0.3)))
    assert cheap["WLN-F7.halved"][0] is cheap["WLN-F8.sum"][0] is ClaimVerdict.DIFFERS
    dear = judge(PINGS, fill_points(PINGS, lambda row: measure_pings(row, factor=1.3)))
    assert dear["WLN-F8.drift"][0] is ClaimVerdict.DIFFERS


def test_pings_that_take_by_their_bytes_differ() -> None:
    def measure(row: dict[str, Any]) -> dict[str, Any]:
        return {"goodput": 4e6 - 16 * row["size"] * 1000 / row["interval_ms"]}

    assert judge(PINGS, fill_points(PINGS, measure))["WLN-F9.size"][0] is ClaimVerdict.DIFFERS


def test_the_documents_times_are_its_tables() -> None:
    analysis = load_analysis(PINGS)
    # 250 pings of 64 B a second steal 2.05 Mb/s, as the text has it.
    stolen = analysis.find_published({"size": 64, "per_second": 250})
    assert round(stolen / 1e6, 2) == 2.05


def measure_choices(row: dict[str, Any]) -> dict[str, Any]:
    """Give broken frames what is published, RTS what it takes, and others no such numbers."""
    if row["choice"] == "each, 5 %, 2 Mb/s":
        limit = row["run"] if row["run"][0].isdigit() else "100"
        rtt = measure_rtt({**row, "limit": "idle" if row["run"] == "idle" else limit})["rtt"]
        return {"rtt": rtt, "goodput": 2e6 if row["run"] == "dense" else 4e6}
    share = 0.1 if row["choice"] == "RTS before every frame" else 0.5
    goodput = 6e6 * (share if row["run"] == "dense" else 1.0)
    return {"rtt": 2.6e6 if row["run"] == "idle" else 3e10 / row["mtu"], "goodput": goodput}


def test_the_choice_that_gives_what_is_published_is_found() -> None:
    points = fill_points(CHOICES, measure_choices)
    found = judge(CHOICES, points)
    assert {verdict for verdict, _ in found.values()} == {ClaimVerdict.REPRODUCED}
    others = judge(CHOICES, points.filter(pl.col("choice") != "each, 5 %, 2 Mb/s"))
    differing = {claim for claim, (verdict, _) in others.items() if verdict is ClaimVerdict.DIFFERS}
    assert differing == {"WLN-C.loaded", "WLN-C.knee", "WLN-C.alone", "WLN-C.together"}


@pytest.mark.parametrize(
    ("name", "measure"), [(RTT, measure_rtt), (PINGS, measure_pings), (CHOICES, measure_choices)]
)
def test_every_figure_is_drawn_also_of_the_quick_form(name: str, measure: Any) -> None:
    study = load(name)
    analysis = study.load_analysis()
    quick = study.make_quick().list_places()
    points = pl.DataFrame([{**place, **measure(place)} for place in quick])
    assert check_claims(study.claims, analysis, points)
    for figure in study.figures:
        assert all(panel.specify() for panel in getattr(analysis, figure.draw)(points))
