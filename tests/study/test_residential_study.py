"""The study of docsis-ns3's residential scenarios: claims on made-up points, scenarios."""

from __future__ import annotations

from typing import Any

import pytest

from headend.scenario.source import read_scenario
from headend.study import ClaimVerdict
from headend.study.outcome import draw_study_figures
from judged import fill_points, judge, load, load_analysis

RESIDENTIAL = "low-latency/residential"

Row = dict[str, Any]

#: A line that counts as the specification does carries this share of docsis-ns3's rate.
RATIOS = {"up": (200 / 210) * (1528 / 1518), "down": 1528 / 1518}


def repeat(row: Row) -> Row:
    """Give a run that is docsis-ns3's, with rates as the specification counts them."""
    analysis = load_analysis(RESIDENTIAL)
    scenario = row["case"].partition(",")[0]
    own = next(filter(None, map(analysis.find_run, (row["case"], scenario, "1"))))
    delays = {
        f"{game}_{way}_{statistic}": value * 1e6
        for game in ("ef", "be")
        for way in ("up", "down")
        for statistic, value in zip(("mean", "p50", "p99"), own[f"{game}_{way}"], strict=True)
    }
    return {
        **delays,
        "ef_lost": 0,
        "up_used": RATIOS["up"] * own["classic_up"] / 50,
        "down_used": RATIOS["down"] * own["classic_down"] / 200,
        "page_mean": own["page"][0] * 1e9 if "page" in own else None,
    }


def test_what_docsis_ns3_printed_agrees_with_itself() -> None:
    verdicts = judge(RESIDENTIAL, fill_points(RESIDENTIAL, repeat))
    assert {verdict for verdict, _ in verdicts.values()} == {ClaimVerdict.REPRODUCED}


@pytest.mark.parametrize(
    ("column", "more", "claim"),
    [
        ("ef_up_p99", 140e3, "RES.ef-up"),
        ("ef_up_p50", -140e3, "RES.ef-up"),
        ("ef_down_p50", 65e3, "RES.ef-down"),
        ("ef_lost", 1, "RES.ef-lost"),
        ("be_up_p50", 950e3, "RES.idle"),
        ("up_used", 0.02, "RES.rate-up"),
        ("down_used", -0.02, "RES.rate-down"),
        ("be_down_mean", 20e6, "RES.be-loaded"),
    ],
)
def test_a_run_that_is_further_off_than_the_bound_differs(
    column: str, more: float, claim: str
) -> None:
    def shift(row: Row) -> Row:
        own = repeat(row)
        own[column] += more
        return own

    verdicts = judge(RESIDENTIAL, fill_points(RESIDENTIAL, shift))
    differing = {name for name, (verdict, _) in verdicts.items() if verdict is ClaimVerdict.DIFFERS}
    assert differing == {claim}


def test_a_claim_about_a_case_that_was_not_run_cannot_be_tested() -> None:
    points = fill_points(RESIDENTIAL, repeat)
    verdicts = judge(RESIDENTIAL, points.filter(points["case"] == "3"))
    untestable = {name for name, (own, _) in verdicts.items() if own is ClaimVerdict.UNTESTABLE}
    assert untestable >= {"RES.idle", "RES.rate-up", "RES.rate-down", "RES.be-loaded"}
    assert verdicts["RES.ef-down"][0] is ClaimVerdict.REPRODUCED


def test_its_figures_are_drawn_from_any_points() -> None:
    study = load(RESIDENTIAL)
    analysis, points = study.load_analysis(), fill_points(RESIDENTIAL, repeat)
    assert [len(own.panels) for own in draw_study_figures(study, analysis, points)] == [4, 2, 1]
    few = points.filter(points["case"] == "1")
    assert [len(own.panels) for own in draw_study_figures(study, analysis, few)] == [4, 2, 1]


def test_each_case_is_the_experiments_home() -> None:
    study = load(RESIDENTIAL)
    for point in study.list_points()[:: len(study.seeds)]:
        scenario = read_scenario(str(point.setting.scenario), study.access).load(
            point.setting.overrides
        )
        line = scenario.resolved["link"]["cable"]["docsis"]
        flows = scenario.resolved["flow"]
        assert (line["upstream"]["rate"], line["downstream"]["rate"]) == (
            "50 Mbit/s",
            "200 Mbit/s",
        )
        assert line["upstream"]["low_latency"]["scheduling"]["pgs"]["rate"] == "5 Mbit/s"
        assert line["downstream"]["low_latency"] == "on"
        assert (flows["ef"]["dscp"], flows["be"]["dscp"]) == (46, 0)
        uploads = [name for name in flows if name.startswith("upload")]
        downloads = [name for name in flows if name.startswith("download")]
        expected = {"3": (1, 0), "4": (0, 1), "5": (1, 1), "6": (5, 5), "7": (5, 5)}
        case = str(point.factor_labels[study.design.names.index("case")])
        assert (len(uploads), len(downloads)) == expected.get(case, (0, 0))
