"""The page of a recommendation and its figures."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headend.analysis.criteria import read_preferences
from headend.analysis.ranking import Feasibility
from headend.figures.figure import Figure
from headend.recommendation import Recommendation, run_request
from headend.recommendation.candidate import order_candidates
from headend.recommendation.page import (
    render_recommendation,
    write_recommendation,
    write_recommendation_page,
)
from headend.recommendation.request import Request
from headend.recommendation.sentences import describe_tier
from headend.recommendation.tier import Tier
from headend.recommendation.writing import list_tlvs


@pytest.fixture(scope="module")
def found() -> Recommendation:
    """Run one tier for a short time."""
    link = {
        "preset": "docsis31",
        "upstream": {"rate": "10 Mbit/s"},
        "downstream": {"rate": "100 Mbit/s"},
    }
    short = (("duration", "24 s"), ("warmup", "4 s"))
    tiers = (Tier("10 Mbit/s", 10e6, 100e6, link),)
    return run_request(Request("tiers", tiers, seeds=(1, 2), overrides=short))


@pytest.fixture(scope="module")
def figures(found: Recommendation) -> list[Figure]:
    return found.draw_figures()


@pytest.fixture(scope="module")
def page(found: Recommendation) -> str:
    return render_recommendation(found)


def ask_again(found: Recommendation, *conditions: str) -> Recommendation:
    """Hold the same results against other conditions."""
    ((tier, candidates, _),) = found.tiers
    wish = read_preferences([*conditions, "most upload.goodput"], {})
    request = replace(found.request, expect=conditions)
    return replace(found, request=request, tiers=((tier, candidates, wish),))


def list_marks(figure: Figure) -> list[dict[str, Any]]:
    """Give the layers of a figure's first chart."""
    layers = figure.panels[0].specify()["layer"]
    return [part for own in layers for part in own.get("layer", [own])]


def list_points(figure: Figure) -> list[dict[str, Any]]:
    """Give the rows of a figure's first chart that are settings."""
    sets = figure.panels[0].specify()["datasets"].values()
    return next(rows for rows in sets if rows and "setting" in rows[0])


def test_the_trade_off_comes_first_and_each_person_has_a_figure(figures: list[Figure]) -> None:
    assert [own.name for own in figures] == [
        "trade-off",
        "call",
        "game",
        "page",
        "upload",
        "video",
    ]


def test_every_setting_is_a_point_with_its_interval(
    found: Recommendation, figures: list[Figure]
) -> None:
    (decision,) = found.decisions
    for figure in figures:
        points = list_points(figure)
        assert {own["setting"] for own in points} == {own.label for own in decision.candidates}
        assert all(own["x_low"] <= own["x"] <= own["x_high"] for own in points)
    means = {own["setting"]: own["x"] for own in list_points(figures[0])}
    goodputs = decision.terms["upload.goodput"].estimates
    for number, candidate in enumerate(decision.candidates, start=1):
        assert means[candidate.label] == pytest.approx(goodputs[number].mean / 1e6)


def test_a_page_counts_the_settings_as_the_answer_does(found: Recommendation, page: str) -> None:
    (decision,) = found.decisions
    assert sum(not own.is_settable for own in decision.candidates) == 1
    count = len(decision.candidates) - 1
    assert f"{count} settings" in " ".join(filter(None, describe_tier(decision)))
    title = f"All {count} settings of 10 Mbit/s, and 1 to compare with"
    assert title in page


def test_the_ring_is_around_the_setting_that_is_chosen(
    found: Recommendation, figures: list[Figure]
) -> None:
    (decision,) = found.decisions
    assert decision.chosen.setting is not None
    chosen = decision.find(decision.chosen.setting).label
    for figure in figures:
        assert [own["setting"] for own in list_points(figure) if own["best"]] == [chosen]
        assert chosen in figure.panels[0].specify()["description"]


def test_open_points_do_not_hold_the_bound(found: Recommendation) -> None:
    asked = ask_again(found, "upload.goodput >= 7 Mbit/s")
    (decision,) = asked.decisions
    (condition,) = decision.criteria.constraints
    (upload,) = (own for own in asked.draw_figures() if own.name == "upload")
    for point in list_points(upload):
        held = decision.judge(condition, point["number"]) is Feasibility.HOLDS
        assert point["holds"] is held
    assert {own["holds"] for own in list_points(upload)} == {True, False}


def test_axes_have_words_and_units(figures: list[Figure]) -> None:
    titles = {
        channel["title"]
        for figure in figures
        for mark in list_marks(figure)
        for name, channel in mark["encoding"].items()
        if name in ("x", "y") and channel.get("title")
    }
    assert {"upload rate (Mbit/s)", "call MOS (5th percentile)", "game packets late (%)"} <= titles


def test_settings_are_listed_by_feature_and_size(found: Recommendation) -> None:
    (decision,) = found.decisions
    labels = [decision.find(own).label for own in order_candidates(decision.candidates)]
    assert labels[0] == "no AQM, 250 ms"
    sizes = [int(own.split()[1]) for own in labels if own.startswith("buffer")]
    assert sizes == sorted(sizes)
    assert len(sizes) > 5
    targets = [own for own in labels if re.fullmatch(r"AQM \d+ ms", own)]
    assert targets == ["AQM 5 ms", "AQM 10 ms", "AQM 15 ms", "AQM 20 ms", "AQM 30 ms"]


def test_people_without_a_condition_have_a_figure_of_what_they_are_graded_by(
    found: Recommendation,
) -> None:
    drawn = ask_again(found, "call.mos.p5 >= 4.0").draw_figures()
    titles = {own.name: own.title for own in drawn}
    assert titles["page"] == "Page load time (median) of each setting"


def test_the_trade_off_has_the_condition_that_most_settings_miss(found: Recommendation) -> None:
    asked = ask_again(found, "call.mos.p5 >= 1.0", "page.page_load_time.p50 <= 1 ms")
    assert asked.draw_figures()[0].title == (
        "Who gains and who pays: page load time (median) against upload rate"
    )


def test_what_has_no_value_is_left_out_of_the_figures(found: Recommendation) -> None:
    import polars as pl

    table = found.table.filter(pl.col("subject") != "call")
    figures = replace(found, table=table).draw_figures()
    assert "call" not in [own.name for own in figures]
    assert "call" not in figures[0].title
    assert "call" in render_recommendation(replace(found, table=table))


def test_labels_of_the_trade_off_name_the_chosen_setting(
    found: Recommendation, figures: list[Figure]
) -> None:
    (decision,) = found.decisions
    labels = [own["label"] for own in list_points(figures[0]) if own["label"]]
    word = "recommended" if decision.recommended else "nearest"
    assert decision.chosen.setting is not None
    assert f"{word}: {decision.find(decision.chosen.setting).label}" in labels


def test_the_page_begins_with_the_answer_and_has_every_setting(
    found: Recommendation, page: str
) -> None:
    first, *_ = page.split('id="tier-1"')
    assert f"<h1>{found.answer.question}</h1>" in first
    assert 'data-chart="trade-off-0"' in first
    (decision,) = found.decisions
    rows = re.findall(r"<tr[^>]*><th>(.+?)</th>", page.replace("\N{NO-BREAK SPACE}", " "))
    names = [re.sub(r" <span.*", "", own) for own in rows]
    for candidate in decision.candidates:
        assert candidate.label in names


def test_one_row_of_the_page_is_marked(found: Recommendation, page: str) -> None:
    (decision,) = found.decisions
    assert decision.chosen.setting is not None
    (row,) = re.findall(r'<tr class="chosen"><th>(.+?) <span class="mark">(.+?)</span>', page)
    label = decision.find(decision.chosen.setting).label
    assert row[0].replace("\N{NO-BREAK SPACE}", " ") == label
    assert row[1] == ("recommended" if decision.recommended else "nearest")


def test_the_page_lists_the_tlvs_of_the_setting(found: Recommendation, page: str) -> None:
    (decision,) = found.decisions
    tlvs = list_tlvs(found.request, decision)
    for own in tlvs:
        assert f"<tr><th><code>{own.path}</code></th><td>{own.name}</td>" in page
    assert ("needs no change for this setting" in page) is (not tlvs)


def test_the_page_says_what_was_asked(page: str) -> None:
    text = page.replace("\N{NO-BREAK SPACE}", " ")
    assert "call MOS (5th percentile) ≥ 4.0, as <code>call.mos.p5 &gt;= 4.0</code>" in text
    assert "ran for 24 s of simulated time, of which the first 4 s are not measured" in text
    assert "seeds 1, 2" in text
    assert "<td>45 (NQB)</td>" in text
    assert "the whole 95 % interval" in text


def test_a_page_on_which_nothing_holds_names_the_nearest_and_no_tlv(found: Recommendation) -> None:
    page = render_recommendation(ask_again(found, "call.mos.p5 >= 4.45"))
    assert "so none is recommended and there are no TLVs to write" in page
    assert '<span class="mark">nearest</span>' in page
    assert '<span class="mark">recommended</span>' not in page
    assert "comes nearest, as none meets all conditions" in page


def test_failed_points_are_told_once_for_each_reason(found: Recommendation) -> None:
    import polars as pl

    failed = pl.col("setting") == 3
    reason = pl.when(failed).then(pl.lit("out of memory")).otherwise(pl.col("error"))
    table = found.table.filter(~failed | (pl.col("measure") == "call.mos.p5"))
    broken = replace(found, table=table.with_columns(error=reason))
    label = found.tiers[0][1][2].label
    told = f"2 points, the first 10 Mbit/s, {label}, seed 1: out of memory"
    page = render_recommendation(broken)
    assert "Points that failed" in page
    assert page.count(f"<li>{told}</li>") == 1


def test_the_same_results_give_the_same_page(found: Recommendation, page: str) -> None:
    assert render_recommendation(replace(found)) == page


def test_a_page_of_the_same_content_is_not_written_again(
    found: Recommendation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = replace(found, folder=tmp_path)
    write_recommendation(kept)
    path = tmp_path / "report.html"
    before = path.stat().st_mtime_ns
    monkeypatch.setattr("headend.recommendation.page.render_recommendation", lambda _: "another")
    write_recommendation_page(kept)
    assert path.stat().st_mtime_ns == before
    replace(kept, notes=("new",)).write(tmp_path)
    write_recommendation_page(kept)
    assert path.read_text(encoding="utf-8").startswith("another")


@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_fits_its_window(page: str, tmp_path: Path, browser: Any, width: int) -> None:
    path = tmp_path / "report.html"
    path.write_text(page, encoding="utf-8")
    window = browser.new_page(viewport={"width": width, "height": 844})
    errors: list[str] = []
    window.on("pageerror", lambda error: errors.append(str(error)))
    window.goto(path.as_uri())
    window.wait_for_selector("body[data-drawn]")
    assert window.evaluate("document.documentElement.scrollWidth") <= width
    assert window.locator(".chart svg.marks").count() == 6
    assert not errors
    window.close()
