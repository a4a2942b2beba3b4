"""A cell beside theory, downloads on it, and its traces: claims on made-up points."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import polars as pl
import pytest

from headend.engine.columns import OPTIONAL_TABLES
from headend.study import ClaimVerdict
from headend.study.airtime import CELL
from headend.study.claims import check_claims
from judged import fill_points, import_shared, judge, load, load_analysis

dcf = import_shared("validation", "dcf")

WINDOWS = "service-quality/windows"
LOCAL = "service-quality/local-download"
SATURATION = "validation/cell-saturation"
SHARING = "validation/cell-sharing"
TIMELINE = "service-quality/timeline"

#: Verdicts by claim.
Verdicts = dict[str, tuple[ClaimVerdict, str]]


def differing(verdicts: Verdicts) -> set[str]:
    return {claim for claim, (verdict, _) in verdicts.items() if verdict is ClaimVerdict.DIFFERS}


def test_a_station_alone_sends_in_a_slot_of_its_mean_backoff_and_one() -> None:
    assert dcf.solve_attempt_rate(1) == pytest.approx(2 / 33)
    rates = [dcf.solve_attempt_rate(stations) for stations in (2, 5, 20, 50)]
    assert rates == sorted(rates, reverse=True)


def test_a_station_alone_has_its_closed_form_and_two_equal_ones_share_the_models() -> None:
    alone = dcf.find_saturation_bps(1, 1500, CELL)
    assert alone == pytest.approx(1500 * 8 / CELL.exchange_us(1500) * 1e6)
    two = dcf.find_saturation_bps(2, 1500, CELL, is_standard=True)
    assert 2 * dcf.share_two_bps(1500, [CELL, CELL]) == pytest.approx(two)


def test_turns_come_to_all_alike_and_jains_index_tells_who_had_them() -> None:
    turns = dcf.draw_turns(4, 8000)
    assert np.bincount(turns).min() > 1800
    assert dcf.average_jain(np.array([0, 1] * 50), 2, 2) == 1
    assert dcf.average_jain(np.zeros(100, dtype=np.int64), 2, 10) == 0.5


def measure_windows(row: dict[str, Any], *, is_starved: bool = True) -> dict[str, Any]:
    """Give windows their share of the rate: alone all from the product on, or half."""
    measured: dict[str, Any] = {}
    for line, rate, idle, product in (("wifi", 5e6, 1.5e6, 2000), ("cable", 1.9e6, 8.4e6, 2000)):
        other = 32768 if row["company"] == "beside" else 0
        window = row["window"]
        rtt = max(idle, (window + other) * 8 / rate * 1e9)
        goodput = window * 8 / rtt * 1e9 if is_starved else rate / 2
        if is_starved and not other and window < product:
            goodput = 0.1e6
        measured |= {f"{line}_goodput": goodput if window else 0.0, f"{line}_rtt": rtt}
    return measured


def test_windows_that_starve_beside_another_agree_and_those_that_do_not_differ() -> None:
    starved = judge(WINDOWS, fill_points(WINDOWS, measure_windows))
    assert differing(starved) == set()
    even = fill_points(WINDOWS, lambda row: measure_windows(row, is_starved=False))
    assert differing(judge(WINDOWS, even)) == {"WLN-A.tuned-wifi", "WLN-A.tuned-cable"}


def measure_local(row: dict[str, Any], *, far: float = 1.0) -> dict[str, Any]:
    added = {"wifi": 52.0, "cable": 262.144 / row["cable_mbps"]}
    measured = {}
    for line, rise in added.items():
        for place, away in {"near": 0.8, "country": 30.0, "ocean": 100.0, "far": 200.0}.items():
            loaded = rise * (far if place == "far" else 1.0) * (row["state"] == "download")
            measured[f"{line}_{place}"] = (away + loaded) * 1e6
    return measured


def test_a_queue_that_all_wait_in_agrees_and_one_that_only_some_do_differs() -> None:
    agreeing = judge(LOCAL, fill_points(LOCAL, measure_local))
    assert agreeing["WLN-A.rise-wifi"][0] is ClaimVerdict.REPRODUCED
    # At 3 and 5 Mb/s the window drains faster, and the document does not say which cap it had.
    assert agreeing["WLN-A.rise-cable"][0] is ClaimVerdict.UNTESTABLE
    spared = judge(LOCAL, fill_points(LOCAL, lambda row: measure_local(row, far=0.2)))
    assert differing(spared) == {"WLN-A.rise-wifi"}


def test_saturated_stations_as_in_the_model_agree_and_slower_ones_differ() -> None:
    analysis = load_analysis(SATURATION)

    def measure(row: dict[str, Any], *, factor: float = 1.0) -> dict[str, Any]:
        return {"throughput": factor * analysis.predict(row["rules"], row["stations"])}

    assert differing(judge(SATURATION, fill_points(SATURATION, measure))) == set()
    slow = judge(SATURATION, fill_points(SATURATION, lambda row: measure(row, factor=0.95)))
    assert differing(slow) == {"DCF.basic", "DCF.announced", "DCF.standard"}


drawn_once = functools.cache(dcf.draw_turns)


def measure_sharing(row: dict[str, Any], *, in_turn: bool = False) -> dict[str, Any]:
    """Give stations the closed form's rates, and turns as they are drawn or one after the other."""
    analysis = load_analysis(SHARING)
    stations = analysis.STATIONS.get(row["case"], 2)
    rate = analysis.RATES.get(row["case"], 11.0)
    fast, slow = analysis.time_station(11.0), analysis.time_station(rate)
    turns = np.arange(8000) % stations if in_turn else drawn_once(stations, 30_000, 2)
    mbps = dcf.share_two_bps(1500, [fast, slow])
    measured: dict[str, Any] = {"fast": 2 * mbps if in_turn else mbps, "slow": mbps}
    for number in range(10):
        # A frame every second interval.
        series = np.zeros(analysis.WARMUP + 2 * len(turns))
        series[analysis.WARMUP :: 2] = 12e6 * (turns == number)
        measured[f"s{number + 1}"] = series.tolist() if number < stations else []
    return measured


def test_turns_as_the_slots_make_them_agree_and_strict_turns_differ() -> None:
    assert differing(judge(SHARING, fill_points(SHARING, measure_sharing))) == set()
    strict = fill_points(SHARING, lambda row: measure_sharing(row, in_turn=True))
    expected = {
        "DCF.turns",
        "DCF.short-term",
        "DCF.anomaly",
        "DCF.anomaly-equal",
        "DCF.anomaly-form",
    }
    assert expected == differing(judge(SHARING, strict))


def make_steps(*, gap_us: int = 110, sifs_us: int = 10) -> pl.DataFrame:
    """Make a trace: a neighbour's exchange during a packet's turn, and its own."""
    rows: list[dict[str, Any]] = []

    def add(
        step: str, at: int, queue: str, detail: str = "", until: int = 0, size: int = 0
    ) -> None:
        rows.append(
            {
                "step": step,
                "queue": queue,
                "detail": detail,
                "at_ns": began if step == "aired" else at * 1000,
                "when_ns": at * 1000,
                "until_ns": max(at, until) * 1000,
                "bytes": float(size),
                "opportunity": 0.0,
                "window": 0.0,
            }
        )

    at, began = 1000, 0
    for queue, packet in (("wifi.neighbour.up", 500), ("wifi.sender.up", 1500)):
        began = at * 1000
        times = {"rts": 352, "cts": 304, "data": 192 + -(-(packet + 42) * 8 // 11), "ack": 304}
        if packet == 500:
            add("dequeued", at + 5, "wifi.sender.up")
        for frame, time in times.items():
            add("aired", at, queue, frame, at + time, packet + 42 if frame == "data" else 14)
            at += time + sifs_us
        at += gap_us - sifs_us
    return pl.DataFrame(rows, schema=OPTIONAL_TABLES["steps"])


def judge_trace(steps: pl.DataFrame) -> Verdicts:
    study = load(TIMELINE)
    analysis = study.load_analysis()
    vars(analysis)["follow"] = lambda _when: analysis.read_trace(steps)
    assert all(panel.specify() for panel in analysis.draw_exchange(pl.DataFrame()))
    found = check_claims(study.claims, analysis, pl.DataFrame())
    return {item.claim.id: (item.result.verdict, item.result.measured) for item in found}


def test_an_exchange_as_the_standard_has_it_agrees() -> None:
    verdicts = judge_trace(make_steps())
    assert differing(verdicts) == set()
    assert verdicts["WLN-F1.backoff"][1] == ", ".join(["3"] * 8) + " slots"


def test_answers_that_come_late_and_waits_that_are_no_slots_differ() -> None:
    assert differing(judge_trace(make_steps(sifs_us=12))) == {"WLN-F1.order", "WLN-F1.time"}
    assert differing(judge_trace(make_steps(gap_us=115))) == {"WLN-F1.backoff"}
    assert "WLN-F1.silence" in differing(judge_trace(make_steps(gap_us=45)))


@pytest.mark.parametrize(
    ("name", "measure"),
    [(WINDOWS, measure_windows), (LOCAL, measure_local), (SHARING, measure_sharing)],
)
def test_every_figure_is_drawn_also_of_the_quick_form(name: str, measure: Any) -> None:
    study = load(name)
    analysis = study.load_analysis()
    rows = [{**place, **measure(place)} for place in study.make_quick().list_places()]
    points = pl.DataFrame(rows, infer_schema_length=None)
    assert check_claims(study.claims, analysis, points)
    for figure in study.figures:
        assert all(panel.specify() for panel in getattr(analysis, figure.draw)(points))


def test_the_legend_of_stations_has_their_own_shapes() -> None:
    study = load(SHARING)
    rows = [{**place, **measure_sharing(place)} for place in study.list_places()]
    points = pl.DataFrame(rows, infer_schema_length=None)
    (panel,) = study.load_analysis().draw_anomaly(points)
    encoding = panel.specify()["layer"][1]["encoding"]
    tone, form = encoding["color"], encoding["shape"]
    # Vega-Lite makes one legend of two that agree in these.
    assert tone["field"] == form["field"]
    assert tone["scale"]["domain"] == form["scale"]["domain"]
    assert tone["legend"] == form["legend"] == {"title": None}
