"""The answer of a comparison: its axes, who is hurt, what is best, ties, grids, and all seeds in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

import headend
from headend.cli.main import app
from headend.figures import draw_figures
from headend.figures.spread import merge_runs, merge_samples
from headend.judging.comparison import Variant, gather_variants
from headend.judging.contrast import answer_comparison
from headend.judging.estimate import Bounds
from headend.judging.fates import Fate, judge_grid
from headend.judging.grading import Grade, judge_flows
from headend.judging.grid import choose_axis, find_grid
from headend.judging.headline import Headline
from headend.judging.pooling import list_runs, pool_runs
from headend.judging.scores import Figure, mark_values
from headend.judging.verdict import gather_parties
from headend.running.experiment import compare
from headend.text.quantity import Kind
from street import make_street
from vega_lite import check_panel

RATE = "link.cable.docsis.upstream.rate"
LINE = {
    "title": "A line",
    "duration": "32 s",
    "warmup": "10 s",
    "bottleneck": "cable.up",
    "link": {"cable": {"docsis": {"preset": "docsis31", "upstream": {"rate": "5 Mbit/s"}}}},
    "flow": {
        "call": {"application": "voice"},
        "upload": {"application": "bulk", "direction": "up", "rtt": "20 ms"},
    },
}
QUEUES = [{"drop_tail": {"limit": "300 ms"}}, "docsis_pie"]


@pytest.fixture(scope="module")
def grid() -> headend.Comparison:
    return compare(LINE, {"queue": QUEUES, RATE: ["3 Mbit/s", "8 Mbit/s"]}, seeds=2)


def vary(*settings: dict[str, str]) -> list[Variant]:
    """Give variants that differ in what they were set to."""
    variants = []
    for number, setting in enumerate(settings):
        result = make_street(6, label=f"run {number}")
        result.manifest["overrides"] = [list(pair) for pair in setting.items()]
        variants.append(Variant(result.label, [result]))
    return variants


def test_what_is_given_makes_tiers_and_what_is_chosen_makes_columns() -> None:
    assert choose_axis(["queue", RATE]) == "queue"
    assert choose_axis([RATE, "queue"]) == "queue"
    assert choose_axis(["queue.codel.target", "flow.a.tcp.congestion"]) == "flow.a.tcp.congestion"
    assert choose_axis([RATE, "flow.call.rtt"]) == "flow.call.rtt"


def test_runs_make_a_grid_where_more_than_half_of_the_combinations_are_there() -> None:
    a, b = ({"queue": queue, RATE: "5 Mbit/s"} for queue in ("codel", "pie"))
    c, d = ({"queue": queue, RATE: "9 Mbit/s"} for queue in ("codel", "pie"))
    found = find_grid(vary(d, a, b, c))
    assert found.choice.values == ("pie", "codel")
    assert [tier.label for tier in found.tiers] == [
        "upstream rate 9 Mbit/s",
        "upstream rate 5 Mbit/s",
    ]
    assert [one.label for one in found.tiers[0].present] == ["pie", "codel"]
    partial = find_grid(vary(a, b, c))
    assert partial.tiers[1].variants[1] is None
    # Two keys that change together are one choice.
    assert not find_grid(vary(a, d)).is_several
    assert not find_grid(vary({}, {"queue": "pie"})).is_several


def test_tables_over_seeds_are_means_and_runs_are_kept_for_what_is_drawn() -> None:
    runs = [make_street(4, strain=strain) for strain in (1.0, 3.0)]
    for seed, run in enumerate(runs):
        run.manifest["seed"] = seed
    pooled = pool_runs(runs)
    assert list_runs(pooled) == tuple(runs)
    assert list_runs(runs[0]) == (runs[0],)
    flow = "web.1"
    own = [run.measures.filter(flow=flow, measure="page_load_time") for run in runs]
    (mean,) = pooled.measures.filter(flow=flow, measure="page_load_time")["p50"]
    assert mean == pytest.approx(sum(float(one["p50"][0]) for one in own) / 2)
    assert pooled.flows.height == runs[0].flows.height
    assert pooled.histograms["count"].sum() == sum(run.histograms["count"].sum() for run in runs)


def test_lines_over_seeds_are_medians_with_a_band() -> None:
    runs = [make_street(1) for _ in range(3)]
    for seed, run in enumerate(runs):
        run.manifest["seed"] = seed
    values = {id(run): float(number) for number, run in enumerate(runs)}

    def shape(run: Any) -> pl.DataFrame:
        return pl.DataFrame({"time_s": [1.0], "key": ["a"], "value": [values[id(run)]]})

    (row,) = merge_runs(pool_runs(runs), shape).to_dicts()
    assert (row["value"], row["low"], row["high"]) == (1.0, 0.0, 2.0)
    assert merge_runs(runs[0], shape).columns == ["time_s", "key", "value"]
    samples = pl.DataFrame({"time_s": [1.0, 1.2, 50.0], "key": "a", "value": [1.0, 3.0, 8.0]})
    assert merge_samples(samples, 60.0)["value"].to_list() == [2.0, 8.0]
    assert merge_samples(samples, 6.0)["value"].to_list() == [1.0, 3.0, 8.0]


def test_an_answer_says_who_is_hurt_what_is_best_and_what_it_costs(
    grid: headend.Comparison,
) -> None:
    tier = find_grid(grid.variants).tiers[1]
    answer = answer_comparison(tier.present)
    assert answer.question == "Which queue suits call and upload on 8 Mbit/s?"
    assert len(answer.sentences) == 2
    first, second = answer.sentences
    assert first.startswith("Call is unusable (MOS 1.0) under drop_tail limit 300 ms")
    assert "packets wait " in first
    assert second.startswith("Under docsis_pie it is ")
    assert answer.matrix is not None
    call = answer.matrix.rows[0]
    assert call.cells[0] is not None
    assert call.cells[1] is not None
    assert (call.label, call.cells[0].grade, call.cells[0].word) == ("call", "bad", "unusable")
    assert call.cells[0].note == ""
    assert call.cells[1].note.startswith("Δ +")
    assert answer.why == "queue"


def make_fate(headline: Headline, *values: float) -> Fate:
    """Give a fate with a number for each seed."""
    (party, *_) = gather_parties(judge_flows(make_street(2)))
    return Fate(party, Grade.GOOD, headline, dict(enumerate(values, 1)))


@pytest.mark.parametrize(
    ("kind", "before", "scale", "one", "other"),
    [
        ("time", "", None, 100e6, 105e6),
        ("time", "", None, 100e6, 106e6),
        ("time", "", None, 0.01e6, 0.1e6),
        ("ratio", "", None, 0.0, 0.0009),
        ("ratio", "", None, 0.001, 0.0025),
        ("ratio", "", None, 0.50, 0.515),
        ("number", "MOS", (1.0, 4.5), 4.4, 4.31),
        ("number", "MOS", (1.0, 4.5), 4.4, 4.25),
        ("number", "", None, 1000.0, 1020.0),
        ("rate", "", None, 10e6, 9.4e6),
    ],
)
def test_what_a_matrix_calls_a_difference_a_table_marks(
    kind: Kind, before: str, scale: Bounds | None, one: float, other: float
) -> None:
    headline = Headline("it", one, kind, before)
    differs = make_fate(headline, one).differs(make_fate(headline, other))
    marks = mark_values([{1: one}, {1: other}], Figure("call", "it", kind, range=scale))
    assert differs == ("best" in marks)


def test_choices_that_nothing_tells_apart_are_said_to_be_so() -> None:
    variants = [Variant(name, [make_street(8, label=name)]) for name in ("a", "b")]
    answer = answer_comparison(variants)
    assert answer.sentences[-1] == "One seed shows no difference between them beyond 5 %."
    assert answer.matrix is not None
    people = [row for row in answer.matrix.rows if row.label != "queue"]
    assert people
    assert {cell.note for row in people for cell in row.cells if cell} == {""}


def test_a_grid_compares_within_a_tier(grid: headend.Comparison) -> None:
    answer = grid.answer
    assert answer.question == "Which queue suits call and upload at each upstream rate?"
    first, second = answer.sentences
    assert first.endswith(" under drop_tail limit 300 ms at every upstream rate.")
    assert second.startswith("Best at every upstream rate: docsis_pie")
    assert "but call still suffers at 3 Mbit/s" in second
    matrix = answer.matrix
    assert matrix is not None
    assert matrix.corner == "upstream rate"
    assert matrix.choices == ("drop_tail limit 300 ms", "docsis_pie")
    assert [(row.label, row.inner) for row in matrix.rows] == [
        ("3 Mbit/s", False), ("call", True), ("upload", True),
        ("8 Mbit/s", False), ("call", True), ("upload", True),
    ]  # fmt: skip
    _, tiers = judge_grid(grid.variants)
    for tier in tiers:
        base, other = tier.people["upload"]
        assert base is not None
        assert other is not None
        difference, level = other.compare(base), base.estimate
        assert difference is not None
        assert level is not None
        # Across tiers it would be more than half of the rate.
        assert abs(difference.mean) < 0.3 * level.mean
        assert difference.count == 2


def test_a_grid_has_a_figure_over_all_tiers_and_those_of_each(grid: headend.Comparison) -> None:
    figures = {figure.name: figure for figure in draw_figures(grid.results)}
    assert next(iter(figures)) == "grid"
    assert {"queue-upstream-rate-3-mbit-s", "queue-upstream-rate-8-mbit-s"} <= set(figures)
    assert figures["grid"].panels[0].title == "call"
    for panel in figures["grid"].panels:
        check_panel(panel)


def test_pages_and_json_have_the_answer(
    grid: headend.Comparison, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    grid.save("kept")
    page = Path("kept/report.html").read_text("utf-8")
    assert f"<h1>{grid.answer.question}</h1>" in page
    assert "In figures, upstream rate 3 Mbit/s" in page
    shown = CliRunner().invoke(app, ["compare", "kept", "--out", "again"]).stdout
    assert grid.answer.question in shown
    assert len(shown.splitlines()) <= 25
    full = CliRunner().invoke(app, ["compare", "kept", "--out", "full", "--full"]).stdout
    assert "Means over 2 seeds (1, 2)" in full
    found = CliRunner().invoke(app, ["compare", "kept", "--out", "third", "--json"]).stdout
    assert json.loads(found)["answer"] == json.loads(json.dumps(grid.answer.to_dict()))


def test_the_runs_of_a_folder_are_the_same_grid(grid: headend.Comparison, tmp_path: Path) -> None:
    grid.save(tmp_path / "kept", report=False)
    again = gather_variants(headend.running.comparison.load_results([tmp_path / "kept"]))
    assert answer_comparison(again) == grid.answer
