"""Scores of other tests: those of published examples, and what is read from the tables of a run."""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl
import pytest

from headend.analysis.expect import list_quantities, parse_expectation
from headend.analysis.measures import describe_measure
from headend.analysis.scores import PROFILES, Profile, measure_trips, score_qoo
from headend.engine.metrics import QOO_PROFILES
from headend.errors import InputError
from headend.scenario.subjects import Vocabulary

MS = 1e6
VOCABULARY = Vocabulary(
    {"ping": "ping", "many": "ping", "many.1": "ping", "many.2": "ping", "up": "bulk"},
    ["cable.up"],
    {"many": ["many.1", "many.2"]},
)


def make_tables(
    flows: dict[str, Sequence[float]],
    series: dict[str, tuple[float, float]] | None = None,
    application: str = "ping",
    loss_ratio: float = 0.0,
) -> dict[str, pl.DataFrame]:
    """Make the tables of pings with these round trips in ms; NaN is a ping without an answer."""
    measures, samples = [], []
    for flow, trips in flows.items():
        answered = sorted(trip * MS for trip in trips if not math.isnan(trip)) or [math.nan]
        percentiles = {
            f"p{at}": answered[max(math.ceil(at / 100 * len(answered)) - 1, 0)]
            for at in (50, 90, 95, 99)
        }
        row = {"flow": flow, "measure": "rtt", "count": len(trips), **percentiles}
        measures.append({**row, "min": answered[0], "mean": sum(answered) / len(answered)})
        samples += [{"flow": flow, "measure": "rtt", "value": trip * MS} for trip in trips]
    ways = [
        {"flow": flow, "direction": way, "delay_mean_ns": delay * MS}
        for flow, delays in (series or {}).items()
        for way, delay in zip(("up", "down"), delays, strict=True)
    ]
    schema = {"flow": pl.String, "direction": pl.String, "delay_mean_ns": pl.Float64}
    return {
        "measures": pl.DataFrame(measures),
        "samples": pl.DataFrame(samples),
        "flow_series": pl.DataFrame(ways, schema=schema),
        "flows": pl.DataFrame(
            [
                {
                    "flow": flow,
                    "application": application,
                    "loss_ratio": loss_ratio,
                    "packets_sent": 100,
                    "discarded_ack_thinned": 1,
                }
                for flow in flows
            ]
        ),
    }


def test_the_worked_example_of_the_draft_scores_50_75_and_100() -> None:
    delays: dict[float, tuple[float, float]]
    delays = {99: (200 * MS, 500 * MS), 99.9: (300 * MS, 600 * MS)}
    measured = {99: 350 * MS, 99.9: 375 * MS}
    of_delay = score_qoo(Profile("", "", delays), measured, None)
    of_loss = score_qoo(Profile("", "", {}, (0.01, 0.05)), {}, 0.02)
    of_rate = score_qoo(Profile("", "", {}, rate_bps=4e6), {}, None, 28e6)
    assert [of_delay, of_loss, of_rate] == pytest.approx([50, 75, 100])
    whole = Profile("", "", delays, (0.01, 0.05), 4e6)
    assert score_qoo(whole, measured, 0.02, 28e6) == pytest.approx(50)


def test_the_example_of_qoo_c_scores_21_7() -> None:
    # domoslabs/qoo-c, tests/unit/simple_qoo_test.c: one sample of 200 ms.
    delays: dict[float, tuple[float, float]]
    delays = {50: (20 * MS, 250 * MS), 90: (20 * MS, 300 * MS), 99: (20 * MS, 400 * MS)}
    score = score_qoo(Profile("", "", delays), dict.fromkeys(delays, 200 * MS), None)
    assert score == pytest.approx(21.739, abs=0.001)


def test_expectations_name_the_profiles() -> None:
    assert tuple(PROFILES) == QOO_PROFILES


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_a_profile_goes_from_100_to_0(profile: Profile) -> None:
    best = {at: optimal for at, (optimal, _) in profile.delays.items()}
    worst = {at: useless for at, (_, useless) in profile.delays.items()}
    assert score_qoo(profile, best, 0.0) == 100
    assert score_qoo(profile, worst, 0.0) == 0
    if profile.loss:
        assert score_qoo(profile, best, profile.loss[1]) == 0


def test_bloat_is_the_mean_above_the_least_round_trip() -> None:
    tables = make_tables({"ping": [20, 30, 100]})
    assert measure_trips(tables, ["ping"])["ping"].bloat_ns == pytest.approx(30 * MS)


def test_the_warm_up_has_the_least_round_trip_where_a_queue_stands_later() -> None:
    tables = make_tables({"ping": [220, 240]}, {"ping": (12, 9)})
    assert measure_trips(tables, ["ping"])["ping"].bloat_ns == pytest.approx(209 * MS)


def test_pings_without_an_answer_are_loss_and_no_delay() -> None:
    trips = measure_trips(make_tables({"ping": [20.0] * 99 + [math.nan]}), ["ping"])["ping"]
    assert trips.loss == pytest.approx(0.01)
    assert trips.bloat_ns == pytest.approx(0)
    assert trips.score("web_browsing") == 0
    assert trips.score("gaming") == 100


def test_of_no_answer_at_all_the_score_is_0_and_the_increase_unknown() -> None:
    tables = make_tables({"ping": [math.nan, math.nan]}, {"ping": (10, 10)})
    trips = measure_trips(tables, ["ping"])["ping"]
    assert [trips.score(name) for name in PROFILES] == [0] * len(PROFILES)
    outcome = parse_expectation("bloat", "ping.bloat < 30 ms", VOCABULARY).check(tables)
    assert not outcome.met
    assert outcome.measured is None


def test_a_real_program_loses_packets_and_left_out_acknowledgements_are_no_loss() -> None:
    tables = make_tables({"ping": [20, 20]}, {"ping": (1, 1)}, "real", loss_ratio=0.02)
    trips = measure_trips(tables, ["ping"])["ping"]
    assert trips.loss == pytest.approx(0.01)
    # Its host adds to each round trip what no series of the line has.
    assert trips.bloat_ns == pytest.approx(0)


def test_the_worst_member_counts() -> None:
    tables = make_tables({"many.1": [20, 20], "many.2": [20, 90]})

    def measure(text: str) -> float | None:
        return parse_expectation("one", text, VOCABULARY).check(tables).measured

    assert measure("many.bloat < 30 ms") == pytest.approx(35 * MS)
    assert measure("many.qoo.video_conferencing >= 50") == pytest.approx(20)
    assert measure("many.1.qoo.gaming > 90") == 100


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("up.qoo.gaming > 50", "up has no metric"),
        ("ping.up.bloat < 5 ms", "has no metric"),
        ("ping.qoo > 50", "expected a statistic of qoo"),
        ("ping.qoo.chess > 50", 'found "chess"'),
        ("ping.qoo.gaming > 100", "no value meets"),
    ],
)
def test_what_has_no_score_is_refused(text: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        parse_expectation("one", text, VOCABULARY)


def test_scores_are_listed_beside_the_round_trips() -> None:
    names = set(list_quantities(VOCABULARY))
    assert {"ping.bloat", "ping.qoo.gaming", "many.qoo.web_browsing"} <= names
    assert "up.bloat" not in names


def test_a_sweep_knows_which_way_is_better() -> None:
    better = {
        metric: describe_measure({"measure": metric, "metric": metric, "unit": unit})
        for metric, unit in (("qoo.gaming", "1"), ("bloat", "ns"))
    }
    assert [own.range for own in better.values()] == [(0.0, 100.0), None]
    assert [own.higher_is_better for own in better.values()] == [True, False]
