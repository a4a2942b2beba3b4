"""The studies of the AQM paper's conditions, matrix and speed test, on made-up points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

from headend.scenario.source import read_scenario
from headend.study import ClaimVerdict
from headend.study.outcome import draw_study_figures
from judged import fill_points, import_shared, judge, load

pooling = import_shared("aqm-docsis", "pooling")

Row = dict[str, Any]

#: 90th percentiles as the paper has them: latency, ms, and page load time, s.
LATENCY = {"bufferbloat": 170.0, "buffer-control": 42.0, "codel": 24.0, "codel-dt": 22.0,
           "pie": 24.5,
           "sfq-codel": 13.0, "sfq-pie": 13.2, "docsis-pie": 20.0, "codel-dt-offset": 19.8,
           "pie-draft": 24.5,
           "sfq-pie-draft": 13.2}  # fmt: skip
PAGES = {"bufferbloat": 5.5, "buffer-control": 3.5, "codel": 2.75, "codel-dt": 2.8, "pie": 2.8,
         "sfq-codel": 2.7, "sfq-pie": 2.7, "docsis-pie": 2.8, "codel-dt-offset": 2.8,
         "pie-draft": 2.8,
         "sfq-pie-draft": 2.7}  # fmt: skip
LOSS = {"codel": 4, "codel-dt": 20, "pie": 3, "bufferbloat": 9, "buffer-control": 8}


def verdicts(name: str, measure: Callable[[Row], Row]) -> dict[str, ClaimVerdict]:
    found = judge(f"aqm-docsis/{name}", fill_points(f"aqm-docsis/{name}", measure))
    return {claim: verdict for claim, (verdict, _) in found.items()}


def missed(found: dict[str, ClaimVerdict]) -> set[str]:
    return {claim for claim, verdict in found.items() if verdict is ClaimVerdict.DIFFERS}


# Putting runs together.


def test_runs_are_pooled_by_their_weight() -> None:
    values, shares = pooling.pool([np.array([1.0, 3.0]), np.array([2.0])], [1, 3])
    assert values.tolist() == [1.0, 2.0, 3.0]
    assert shares.tolist() == pytest.approx([0.125, 0.875, 1.0])
    assert pooling.find_percentile(values, shares, 87.5) == 2.0
    assert pooling.find_percentile(values, shares, 88) == 3.0


def test_a_distribution_is_spread_between_its_percentiles() -> None:
    values = pooling.spread_out({0: 0.0, 50: 10.0, 100: 110.0})
    assert values is not None
    assert values[[0, 49, 50, 99]] == pytest.approx([0.1, 9.9, 11.0, 109.0])
    assert pooling.spread_out({0: 0.0, 100: None}) is None


# The matrix.


def spread(p90: float, scale: float) -> list[float]:
    """Give percentiles 0 to 100 that rise evenly, with this one at 90."""
    return [scale * p90 * (0.1 + 0.9 * number / 90) for number in range(101)]


def fare(
    row: Row, *, latency: Row | None = None, lost: Row | None = None, mos: float = 4.38
) -> Row:
    """Give a cell as the paper has it; loads and channels differ in best and lost only."""
    queue = row["queue"]
    known = {**LATENCY, **(latency or {})}
    p90 = known[queue] + (-4 if (queue, row["load"]) in {("codel", 2), ("pie", 3)} else 0)
    losses = {**LOSS, **(lost or {})}
    pages = spread(PAGES[queue], 1e9)
    return {
        "sent": 6000,
        "lost": losses.get(queue, 0) if row["load"] > 2 else 0,
        "mos": 1.5 if queue == "bufferbloat" and row["load"] > 3 else mos,
        "delays": spread(p90, 1e6),
        "page_min": pages[0],
        **{f"page_p{number}": pages[number] for number in (5, 25, 50, 75, 90, 95)},
        "page_max": pages[100],
    }


def test_cells_as_the_paper_has_them_reproduce_every_claim() -> None:
    assert missed(verdicts("matrix", fare)) == set()


def test_other_latencies_losses_and_scores_differ() -> None:
    found = verdicts(
        "matrix", lambda row: fare(row, latency={"sfq-codel": 5.0, "bufferbloat": 230.0})
    )
    assert missed(found) == {"AQM-F1.bufferbloat"}
    found = verdicts("matrix", lambda row: fare(row, latency={"pie": 45.0, "codel-dt": 25.0}))
    assert missed(found) == {
        "AQM-F1.single-queue",
        "AQM-F1.order",
        "AQM-F1.codel-dt",
        "AQM-6.single-queue",
    }
    found = verdicts("matrix", lambda row: fare(row, lost={"sfq-pie": 1, "codel": 25}, mos=3.9))
    assert missed(found) == {
        "AQM-F2.sfq",
        "AQM-F2.order",
        "AQM-F3.maximum",
        "AQM-F3.others",
        "AQM-6.single-queue",
    }


def test_codel_dt_with_the_offset_of_its_code_is_told_beside_its_words() -> None:
    points = fill_points(
        "aqm-docsis/matrix",
        lambda row: fare(row, latency={"codel-dt": 30.0, "codel-dt-offset": 20.0}),
    )
    verdict, told = judge("aqm-docsis/matrix", points)["AQM-F1.codel-dt"]
    assert verdict is ClaimVerdict.DIFFERS
    assert "with the published code's offset (reproduced): CoDel-DT, 6 ms lower 20.0" in told


def test_an_aqm_that_is_ahead_in_most_comparisons_is_consistently_ahead() -> None:
    found = verdicts("matrix", lambda row: fare(row, latency={"pie": 19.4}))
    assert missed(found) == {"AQM-6.single-queue", "AQM-F1.codel-dt", "AQM-F1.single-queue"}


def test_an_aqm_that_is_ahead_within_the_spread_of_the_seeds_is_not_ahead() -> None:
    def vary(row: Row) -> Row:
        return fare(row, latency={"pie": 19.4 + 10 * (row["seed"] % 3 - 1)})

    points = fill_points("aqm-docsis/matrix", vary)
    _, told = judge("aqm-docsis/matrix", points)["AQM-6.single-queue"]
    assert "PIE 28 (0 + 28 + 0 + 0) of" in told
    assert told.endswith("of 128 comparisons")


@pytest.mark.parametrize(
    "name",
    ["matrix", "tcp-over-time", "choices", "prediction", "collisions", "flow-queues", "shaping"],
)
def test_figures_are_drawn_from_points(name: str) -> None:
    study = load(f"aqm-docsis/{name}")
    points = fill_points(f"aqm-docsis/{name}", MEASURES[name])
    figures = draw_study_figures(study, study.load_analysis(), points)
    assert [figure.name for figure in figures] == [figure.name for figure in study.figures]
    for figure in figures:
        assert figure.panels
        for panel in figure.panels:
            panel.specify()


def test_sums_and_shipped_scenarios_are_the_paper_s() -> None:
    found = judge("aqm-docsis/conditions", pl.DataFrame())
    assert ClaimVerdict.DIFFERS not in {verdict for verdict, _ in found.values()}
    assert found["AQM-4.4.majority"][1].endswith("load 8 27.2%, load 9 96.5%")
    study = load("aqm-docsis/conditions")
    figures = draw_study_figures(study, study.load_analysis(), pl.DataFrame())
    assert [len(figure.panels) for figure in figures] == [1, 1, 1]


# The speed test.


def say(rtt_ms: int, time: float) -> float:
    """Give how far PIE is ahead of CoDel-DT by the paper's words."""
    if rtt_ms == 20:
        return 0.1 if 2 <= time < 7 else 0.0
    if rtt_ms == 50:
        return 0.0 if time < 7 else 0.1 if time < 18 else -0.1
    if rtt_ms == 100:
        return 0.1 if time < 20 else -0.01
    return -0.3


def race(row: Row, ahead: Callable[[int, float], float] = say) -> Row:
    """Give two uploads whose mean rates are the paper's."""
    times = (np.arange(440) + 1) * 0.25
    means = np.full(440, 200e6)
    if row["queue"] == "pie":
        means *= [1 + ahead(row["rtt_ms"], time - 0.125) for time in times]
    totals = means * times
    return {
        "speed_10s": 205e6,
        "speed_100s": 191e6,
        "goodput": (np.diff(totals, prepend=0.0) / 0.25).tolist(),
    }


def test_uploads_as_the_paper_has_them_reproduce_every_claim() -> None:
    assert missed(verdicts("tcp-over-time", race)) == set()


def test_uploads_that_do_not_differ_or_do_where_they_should_not_are_found() -> None:
    swapped = missed(
        verdicts("tcp-over-time", lambda row: race(row, lambda rtt, time: -say(rtt, time)))
    )
    assert swapped == {"AQM-F6.20ms", "AQM-F6.50ms", "AQM-F6.100ms", "AQM-F6.200ms"}
    slow = missed(
        verdicts(
            "tcp-over-time",
            lambda row: {**race(row), "speed_10s": 190e6 if row["queue"] == "codel" else 214e6},
        )
    )
    assert slow == {"AQM-F6.headline"}


# What is left open, queues that are shared, and token buckets.


def choose(row: Row, drafts: tuple[str, ...] = ("pie-draft", "sfq-pie-draft")) -> Row:
    """Give a run whose latency, score and pages are the matrix's, but for what a choice moves."""
    p90 = LATENCY[row["queue"]] + (row["choice"] == "fresh")
    page = PAGES[row["queue"]] if row["choice"] == "servers-60ms" else 2.0
    page -= 0.2 * (row["choice"] == "today")
    mos = 4.3 - 0.1 * (row["choice"] == "de-jitter-40ms")
    lost = 5 if row["queue"] in drafts else 2
    return {"sent": 6000, "lost": lost, "mos": mos, "page": page * 1e9, "delays": spread(p90, 1e6)}


def test_choices_that_move_what_they_should_are_reproduced_and_others_not() -> None:
    assert missed(verdicts("choices", choose)) == set()
    same = missed(verdicts("choices", lambda row: choose({**row, "choice": "matrix"}, drafts=())))
    assert same == {
        "AQM-open.fresh",
        "AQM-open.windows",
        "AQM-open.pie",
        "AQM-open.de-jitter",
        "AQM-open.servers",
    }


def test_losses_of_readings_cannot_be_compared_where_none_loses() -> None:
    found = verdicts("choices", lambda row: {**choose(row), "lost": 0})
    assert found["AQM-open.pie"] is ClaimVerdict.UNTESTABLE


def predict(row: Row, *, bias: float = 1.02, later: float = 2.0, **latency: float) -> Row:
    """Give a run in which the estimate is so many times what departs."""
    p90 = {"codel": 24.0, "codel-dt": 23.0, "codel-dt-offset": 20.0, "pie": 24.0, **latency}
    lost = 9 if row["queue"] == "codel-dt-offset" else 2
    return {
        "sent": 6000,
        "lost": lost,
        "delays": spread(p90.get(row["queue"], 22.0) + later * (row["placement"] == "random"), 1e6),
        "estimate": [bias * 200e6] * 4375,
        "departed": [200e6] * 4375,
    }


def test_predictions_as_the_paper_has_them_are_reproduced_and_others_not() -> None:
    assert missed(verdicts("prediction", predict)) == set()
    worse = {"codel-dt-offset": 30.0}
    found = missed(verdicts("prediction", lambda row: predict(row, bias=1.3, later=-1.0, **worse)))
    assert found == {"AQM-5.1.offset", "AQM-7.true-rate", "AQM-7.placement"}


def collide(row: Row, *, alone_ms: float = 4.0, shared_ms: float = 40.0) -> Row:
    """Give a run of a hash that lets calls meet others in one of four seeds."""
    return {"sent": 3000, "delays": spread(alone_ms if row["seed"] % 4 else shared_ms, 1e6)}


def test_a_mean_over_hashes_is_held_against_the_paper_s() -> None:
    assert verdicts("collisions", collide) == {"AQM-F1.sfq": ClaimVerdict.UNDECIDED}
    alike = verdicts("collisions", lambda row: collide(row, alone_ms=13.0, shared_ms=13.0))
    assert alike == {"AQM-F1.sfq": ClaimVerdict.REPRODUCED}
    alone = verdicts("collisions", lambda row: collide(row, shared_ms=4.0))
    assert alone == {"AQM-F1.sfq": ClaimVerdict.DIFFERS}


def test_scheduling_at_the_request_is_told_and_does_not_decide() -> None:
    def late(row: Row) -> Row:
        p90 = 13.0 if row["rf"] == "none, request" else 4.0
        return collide(row, alone_ms=p90, shared_ms=p90)

    found = judge("aqm-docsis/collisions", fill_points("aqm-docsis/collisions", late))
    verdict, told = found["AQM-F1.sfq"]
    assert verdict is ClaimVerdict.DIFFERS
    assert "at the request, no congestion (reproduced): SFQ-CoDel 13.0" in told


def share(row: Row, *, alone_ms: float = 4.0, lost: float = 0.0) -> Row:
    is_alone = row["queue"].endswith("perfect")
    p90 = alone_ms if is_alone else 55.0
    return {"sent": 3000, "lost": lost if is_alone else 8, "p90": p90 * 1e6, "mos": 4.0}


def test_a_call_that_suffers_from_the_hash_alone_is_reproduced() -> None:
    assert missed(verdicts("flow-queues", share)) == set()
    found = missed(verdicts("flow-queues", lambda row: share(row, alone_ms=60.0, lost=1.0)))
    assert found == {"AQM-4.4.suffers", "AQM-F2.sfq-alone"}


def shape(row: Row, *, up: tuple[float, float] = (250.0, 200.0), rests: bool = True) -> Row:
    """Give floods through ideal buckets, in steps of 2 ms; rates in Mb/s of MAC frames."""
    times = (np.arange(11500) + 0.5) * 0.002
    packets = 1e6 * 1500 / 1518
    ends = {0.0: (4.8, 8.0), 9.5: (14.3, 16.0), 16.65: (19.05 if rests else 18.0, 23.0)}
    rate, delay = np.zeros(len(times)), np.zeros(len(times))
    for start, (end, stop) in ends.items():
        rate[(times >= start) & (times < end)] = up[0]
        rate[(times >= end) & (times < stop)] = up[1]
    delay[:] = np.where(times < 4.8, 0.8, 1.0) * row["buffer_ms"] * 1e6
    down = np.where(times < 5.28, 1500.0, np.where(times < 8, 1000.0, 0.0))
    return {
        "lost": 0,
        "up": (rate * packets).tolist(),
        "down": (down * packets).tolist(),
        "delay": delay.tolist(),
    }


def test_ideal_buckets_are_reproduced_and_others_not() -> None:
    assert missed(verdicts("shaping", shape)) == set()
    found = missed(verdicts("shaping", lambda row: shape(row, up=(255.0, 205.0), rests=False)))
    assert found == {"AQM-SHAPE.inequalities", "AQM-SHAPE.credit"}
    steady = missed(
        verdicts("shaping", lambda row: {**shape(row), "delay": [row["buffer_ms"] * 1e6] * 11500})
    )
    assert steady == {"AQM-SHAPE.step"}


@pytest.mark.parametrize("name", ["light", "moderate", "heavy"])
def test_a_shipped_pattern_of_rf_congestion_is_the_matrix_s(name: str) -> None:
    factors = load("aqm-docsis/matrix").design.factors
    rf = next(factor for factor in factors if factor.name == "rf")
    shipped = read_scenario(f"aqm/rf-{name}").load().resolved
    own = read_scenario("aqm/load-3").load(rf.write(rf.values.index(name))).resolved
    capacities = [
        item["link"]["cable"]["docsis"]["upstream"]["capacity"] for item in (shipped, own)
    ]
    assert capacities[0] == capacities[1]


MEASURES: dict[str, Callable[[Row], Row]] = {
    "matrix": fare,
    "tcp-over-time": race,
    "choices": choose,
    "prediction": predict,
    "collisions": collide,
    "flow-queues": share,
    "shaping": shape,
}
