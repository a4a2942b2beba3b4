"""The answer of a comparison: its axes, who is hurt, what is best, ties, grids, seeds."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

import headend
from headend.analysis.estimate import Bounds, estimate_mean
from headend.analysis.flow_groups import gather_groups
from headend.analysis.grading import Grade
from headend.analysis.key_figure import KeyFigure
from headend.analysis.quality import judge_flows
from headend.cli.main import app
from headend.comparison.comparison import Variant, gather_variants
from headend.comparison.contrast import answer_comparison
from headend.comparison.grid import find_grid
from headend.comparison.outcomes import FlowOutcome, QueueOutcome, judge_grid
from headend.comparison.pooling import list_runs, pool_runs
from headend.comparison.scores import ScoredMetric, mark_values
from headend.comparison.sentences import describe_grid, describe_tier
from headend.design.factor import choose_main
from headend.figures import draw_figures
from headend.figures.thinning import merge_runs, merge_samples
from headend.running.comparison import load_comparison
from headend.running.experiment import compare
from headend.text.quantity import Kind, format_change
from headend.wording.run import answer_run
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
    return compare(LINE, {"queue": QUEUES, RATE: ["2 Mbit/s", "8 Mbit/s"]}, seeds=2)


def vary(*settings: dict[str, str]) -> list[Variant]:
    """Give variants that differ in what they were set to."""
    variants = []
    for number, setting in enumerate(settings):
        result = make_street(6, label=f"run {number}")
        result.manifest["overrides"] = [list(pair) for pair in setting.items()]
        variants.append(Variant(result.label, [result]))
    return variants


def test_what_is_given_makes_tiers_and_what_is_chosen_makes_columns() -> None:
    assert choose_main(["queue", RATE]) == "queue"
    assert choose_main([RATE, "queue"]) == "queue"
    assert choose_main(["queue.codel.target", "flow.a.tcp.congestion"]) == "flow.a.tcp.congestion"
    assert choose_main([RATE, "flow.call.rtt"]) == "flow.call.rtt"


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


def test_a_comparison_keeps_its_design_and_is_read_back_by_it(
    grid: headend.Comparison, tmp_path: Path
) -> None:
    folder = grid.save(tmp_path / "out", report=False)
    manifest = json.loads((folder / "manifest.json").read_text())
    (queue,), (rate,) = manifest["design"]["dimensions"]
    assert (queue["path"], queue["role"], queue["labels"][1]) == ("queue", "choice", "docsis_pie")
    assert (rate["path"], rate["role"]) == (RATE, "given")
    assert manifest["design"]["seeds"] == [1, 2]
    again = load_comparison([folder])
    places = [run.manifest["place"] for run in again.results]
    assert places[0] == places[1] == ["drop_tail limit 300 ms", "2 Mbit/s"]
    for run in again.results:
        run.manifest["overrides"] = []  # which a comparison does not read
    tiers = ["upstream rate 2 Mbit/s", "upstream rate 8 Mbit/s"]
    assert [tier.label for tier in again.grid.tiers] == tiers
    again.rename(["FIFO", "PIE"])
    assert again.grid.choice.labels == ("FIFO", "PIE")
    assert again.results[0].label == "queue=FIFO, rate=2 Mbit/s"
    named = load_comparison([again.save(tmp_path / "named", report=False)])
    assert named.grid.choice.labels == ("FIFO", "PIE")


def test_loose_runs_without_a_common_design_are_read_by_what_was_overridden(
    grid: headend.Comparison, tmp_path: Path
) -> None:
    folder = grid.save(tmp_path / "out", report=False)
    loose = load_comparison([folder])
    for run in loose.results:
        del run.manifest["design"], run.manifest["place"]
    assert loose.grid.choice.labels == grid.grid.choice.labels
    assert [tier.label for tier in loose.grid.tiers] == [tier.label for tier in grid.grid.tiers]
    loose.rename(["FIFO", "PIE"])
    assert loose.grid.choice.labels == ("FIFO", "PIE")


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

    (rows,) = merge_runs([pool_runs(runs)], shape).values()
    (row,) = rows.to_dicts()
    assert (row["value"], row["low"], row["high"]) == (1.0, 0.0, 2.0)
    assert merge_runs(runs[:1], shape)[runs[0].label].columns == ["time_s", "key", "value"]
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


def test_a_question_does_not_ask_for_whom_what_only_watches() -> None:
    line = {"duration": "12 s", "warmup": "2 s", **LINE, "router": "cake"}
    found = compare(line, {"router.autorate": [False, True]})
    assert answer_comparison(found.variants).question == (
        "Which autorate suits call and upload on 5 Mbit/s?"
    )


@pytest.mark.parametrize(
    ("key", "values", "asks"),
    [
        ("access_point.queues", ["by_category", "by_station"], "Which queues suit "),
        ("sifs", ["10 us", "16 us"], "Which sifs suits "),
        ("mcs", [3, 5], "Which mcs suits "),
    ],
)
def test_a_question_asks_in_the_plural_for_what_is_a_plural(
    key: str, values: list[str], asks: str
) -> None:
    cell: dict[str, Any] = {"wifi": {"dot11n": {"station": {"phone": {}, "laptop": {}}}}}
    flows = {"call": {"host": "phone", "application": "voice", "rtt": "30 ms"}}
    home: dict[str, Any] = {"duration": "3 s", "warmup": "1 s", "link": cell, "flow": flows}
    home["host"] = {name: {"via": [f"wifi.{name}"]} for name in ("phone", "laptop")}
    found = compare(home, {f"link.wifi.dot11n.{key}": values})
    assert asks in answer_comparison(found.variants).question


def make_fate(key_figure: KeyFigure, *values: float) -> FlowOutcome:
    """Give a fate with a number for each seed."""
    (party, *_) = gather_groups(judge_flows(make_street(2)))
    return FlowOutcome(party, Grade.GOOD, key_figure, dict(enumerate(values, 1)))


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
    key_figure = KeyFigure("it", one, kind, before)
    differs = make_fate(key_figure, one).differs(make_fate(key_figure, other))
    marks = mark_values([{1: one}, {1: other}], ScoredMetric("call", "it", kind, range=scale))
    assert differs == ("best" in marks)


def tell(
    people: Mapping[str, Sequence[FlowOutcome]], delays: Sequence[float] = (), tiers: int = 1
) -> tuple[str, ...]:
    """Give sentences on people under choices a, b, c …, with these median queue delays."""
    return describe_tiers([people] * tiers, delays)


def describe_tiers(
    tiers: Sequence[Mapping[str, Sequence[FlowOutcome]]], delays: Sequence[float] = ()
) -> tuple[str, ...]:
    """Give the sentences on some people in each tier, at 1 Mbit/s, 2 Mbit/s and so on."""
    people = tiers[0]
    choices = "abc"[: len(next(iter(people.values())))]
    rates = [f"{number} Mbit/s" for number in range(1, len(tiers) + 1)]
    axes = [{RATE: rate} for rate in rates] if len(tiers) > 1 else [{}]
    variants = vary(*({"queue": own, **axis} for axis in axes for own in choices))
    if len(tiers) == 1:
        named = zip(choices, variants, strict=True)
        variants = [Variant(name, variant.results) for name, variant in named]
    grid, found = judge_grid(variants)
    queues = tuple(QueueOutcome(estimate_mean([delay]), None, 1e6) for delay in delays) or (
        None,
    ) * len(choices)
    made = [
        replace(tier, people={name: tuple(fates) for name, fates in own.items()}, queues=queues)
        for tier, own in zip(found, tiers, strict=True)
    ]
    return describe_grid(grid, made) if len(tiers) > 1 else describe_tier(grid, made[0])


def make_call(mos: float, grade: Grade, word: str) -> FlowOutcome:
    fate = make_fate(KeyFigure("MOS", mos, "number", "MOS", higher_is_better=True), mos)
    worst = replace(fate.party.worst, grade=grade, is_unusable=word == "unusable", symptom="late")
    return replace(fate, grade=grade, party=replace(fate.party, findings=(worst,)))


def make_upload(rate: float) -> FlowOutcome:
    fate = make_fate(KeyFigure("goodput", rate, "rate", higher_is_better=True), rate)
    return replace(fate, grade=Grade.NONE)


def make_ping(delay: float) -> FlowOutcome:
    fate = make_call(4.0, Grade.GOOD, "good")
    key_figure = KeyFigure("95th percentile of the round trip", delay)
    return replace(fate, key_figure=key_figure, values={1: delay})


def make_game(late: float) -> FlowOutcome:
    fate = make_call(4.0, Grade.GOOD, "good")
    key_figure = KeyFigure("share of packets late or lost", late, "ratio", after="late")
    return replace(fate, key_figure=key_figure, values={1: late})


CALLS = (
    make_call(3.4, Grade.POOR, "poor"),
    make_call(1.5, Grade.BAD, "unusable"),
    make_call(4.3, Grade.GOOD, "good"),
)


def test_a_sentence_is_true_of_every_choice_that_it_names() -> None:
    first, second = tell({"call": CALLS}, [80e6, 211e6, 5e6])
    assert first == (
        "Call is poor to unusable (MOS 1.5–3.4) under a and b: packets wait 80–211 ms in the queue."
    )
    assert second == "Under c it is good (MOS 4.3)."
    # A cause that is not that of all is told with the choice that has it.
    first, _ = tell({"call": CALLS}, [8e6, 211e6, 5e6])
    assert first.endswith(" under a and b: packets wait 211 ms in the queue under b.")


def test_what_a_transfer_loses_is_said_where_nobody_suffers() -> None:
    people = {
        "ping": (make_ping(20e6), make_ping(50e6)),
        "upload": (make_upload(9e6), make_upload(10e6)),
    }
    first, second = tell(people)
    assert first == "Nobody suffers under any queue."
    assert second == (
        "What differs most is ping: 20 ms under a, 50 ms under b, but upload gets 10 % less"
        " under a than under b."
    )
    people["upload"] = (make_upload(9.8e6), make_upload(10e6))
    assert tell(people)[1] == "What differs most is ping: 20 ms under a, 50 ms under b."
    people["page"] = (make_ping(90e6), make_ping(80e6))
    assert tell(people)[1].endswith(", but page is worse (90 ms, not 80 ms) under a than under b.")


def test_what_differs_most_is_no_share_that_is_small_under_all() -> None:
    people = {
        "game": (make_game(0.0), make_game(0.002)),
        "upload": (make_upload(9e6), make_upload(4.5e6)),
    }
    told = "What differs most is upload: 9 Mbit/s under a, 4.5 Mbit/s under b."
    assert tell(people)[1] == told
    people["upload"] = (make_upload(4.5e6), make_upload(9e6))
    assert "but game is worse (0.2 % late, not 0 % late) under b than" in tell(people)[1]


def test_of_two_whose_grades_change_alike_the_one_that_changes_more_is_told() -> None:
    good, bad = make_call(4.3, Grade.GOOD, "good"), make_call(2.0, Grade.BAD, "unusable")
    worse = make_call(1.2, Grade.BAD, "unusable")
    people = {"call": (bad, good), "talk": (worse, good)}
    assert tell(people)[0] == "Talk is unusable (MOS 1.2) under a."


def test_a_transfer_that_got_nothing_elsewhere_is_told_by_what_it_gets() -> None:
    variants = vary({RATE: "1 Mbit/s"}, {RATE: "2 Mbit/s"})
    named = zip(("1 Mbit/s", "2 Mbit/s"), variants, strict=True)
    grid, (tier,) = judge_grid([Variant(name, own.results) for name, own in named])
    nothing = make_fate(KeyFigure("", kind="rate", told="nothing got through"), math.nan)
    fates = (replace(nothing, grade=Grade.BAD), make_upload(2e6))
    made = replace(tier, people={"upload": fates}, queues=(None,) * 2)
    assert describe_tier(grid, made)[1] == "Under 2 Mbit/s it gets 2 Mbit/s."


def test_the_best_choice_is_told_with_everything_it_costs() -> None:
    people = {
        "call": CALLS,
        "ping": (make_ping(20e6), make_ping(20e6), make_ping(30e6)),
        "upload": (make_upload(10e6), make_upload(10e6), make_upload(9.8e6)),
        "backup": (make_upload(5e6), make_upload(5e6), make_upload(4e6)),
        "mirror": (make_upload(5e6), make_upload(5e6), make_upload(4.9e6)),
    }
    _, second = tell(people)
    assert second == (
        "Under c it is good (MOS 4.3) and nobody suffers, for 6.5 % less of all transfers together"
        " than under a (20 % less backup); ping is worse (30 ms, not 20 ms)."
    )


def test_a_grade_makes_the_best_only_if_the_whole_interval_has_it() -> None:
    about = "MOS in the worst 5 % of scoring periods"

    def call(*scores: float) -> FlowOutcome:
        own = make_call(sum(scores) / len(scores), Grade.GOOD, "good")
        finding = replace(own.party.worst, application="voice")
        key_figure = replace(own.key_figure, about=about)
        values = dict(enumerate(scores, start=1))
        party = replace(own.party, findings=(finding,))
        return replace(own, party=party, key_figure=key_figure, values=values)

    unsure, sure = call(3.9, 4.3, 4.1, 4.4, 3.8), call(4.1, 4.11, 4.12, 4.1, 4.11)
    assert (unsure.badness, unsure.assured) == (0, 1)
    assert (sure.badness, sure.assured) == (0, 0)
    assert call(4.01).assured == 0
    # A faster upload is no reason to take the choice whose call may be fair.
    hurt = make_call(1.5, Grade.BAD, "unusable")
    uploads = tuple(map(make_upload, (5e6, 9e6, 5e6)))
    _, second = tell({"call": (hurt, unsure, sure), "upload": uploads})
    assert second.startswith("Under c it is good")
    assert "more seeds" not in second
    # Where no interval tells choices apart, the means do, and that is said.
    wide = call(4.4, 2.0)
    assert wide.assured == make_call(1.5, Grade.BAD, "unusable").badness == 3
    _, second = tell({"call": (hurt, wide)})
    assert second == (
        "Under b it is good (MOS 3.2); only the means say so, and more seeds may change it."
    )


def test_costs_are_of_all_transfers_together() -> None:
    people = {
        "call": CALLS,
        "upload": (make_upload(10e6), make_upload(10e6), make_upload(6e6)),
        "backup": (make_upload(4e6), make_upload(4e6), make_upload(8e6)),
    }
    _, second = tell(people)
    assert second == (
        "Under c it is good (MOS 4.3), with as much of all transfers together but 100 % more backup"
        " and 40 % less upload than under a."
    )
    people["backup"] = (make_upload(4e6), make_upload(4e6), make_upload(9.4e6))
    _, second = tell(people)
    gained = "with 10 % more of all transfers together than under a"
    assert f", {gained} (135 % more backup and 40 % less upload)." in second


def test_what_nobody_can_choose_is_no_advice() -> None:
    variants = vary({RATE: "1 Mbit/s"}, {RATE: "2 Mbit/s"}, {RATE: "5 Mbit/s"})
    named = zip(("1 Mbit/s", "2 Mbit/s", "5 Mbit/s"), variants, strict=True)
    grid, (tier,) = judge_grid([Variant(name, own.results) for name, own in named])
    people = {
        "call": CALLS,
        "upload": (make_upload(1e6), make_upload(2e6), make_upload(0.6e6)),
    }
    made = replace(
        tier,
        people={name: tuple(fates) for name, fates in people.items()},
        queues=(None,) * 3,
    )
    first, second = describe_tier(grid, made)
    assert first.startswith("Call is poor to unusable")
    assert second == "Under 5 Mbit/s it is good (MOS 4.3)."


def test_a_grid_of_rates_and_distances_names_no_best() -> None:
    places = [(rate, rtt) for rtt in ("10 ms", "90 ms") for rate in ("1 Mbit/s", "9 Mbit/s")]
    variants = vary(*({RATE: rate, "flow.call.rtt": rtt} for rate, rtt in places))
    grid, tiers = judge_grid(variants)
    calls = {"call": (CALLS[1], CALLS[2])}
    made = [replace(tier, people=calls, queues=(None,) * 2) for tier in tiers]
    first, second = describe_grid(grid, made)
    assert first.startswith("Call is unusable (MOS 1.5) under ")
    assert second == "RTT of call is given, not chosen: none is called the best."
    answer = answer_comparison(variants)
    assert answer.question.startswith("How do ")
    assert answer.matrix
    assert "Best:" not in answer.matrix.note


def test_a_grid_without_a_change_of_grade_says_what_differs_all_the_same() -> None:
    people = {
        "ping": (make_ping(20e6), make_ping(20e6)),
        "upload": (make_upload(9e6), make_upload(10e6)),
    }
    first, second = tell(people, tiers=2)
    assert first == "Nobody suffers anywhere."
    assert second == (
        "At the same upstream rate, no queue changes anybody's grade; what differs most is upload"
        " at 1 Mbit/s: 10 Mbit/s under b, 9 Mbit/s under a."
    )


def test_points_of_a_grid_have_shapes_and_intervals_that_are_seen(grid: headend.Comparison) -> None:
    """Grey print has no colours, and a point must not hide the interval that runs through it."""
    figure = next(own for own in grid.present()[1] if own.name == "grid")
    spans, points = figure.panels[0].specify()["layer"]
    assert points["mark"]["size"] <= 40
    assert spans["mark"]["type"] == "rule"
    shapes = points["encoding"]["shape"]["scale"]["range"]
    assert len(set(shapes)) == len(shapes) == 2
    assert "shorter than the point" in figure.explanation


def test_a_grid_is_shown_by_what_was_varied(grid: headend.Comparison) -> None:
    assert repr(grid.grid) == (
        "<Grid: queue (drop_tail limit 300 ms, docsis_pie) at each upstream rate (2 Mbit/s, 8"
        " Mbit/s)>"
    )


def test_links_to_figures_stand_by_tier(grid: headend.Comparison, tmp_path: Path) -> None:
    page = grid.report(tmp_path / "report.html").read_text(encoding="utf-8")
    links = page.partition('<nav aria-label="Figures">')[2].partition("</nav>")[0]
    assert re.findall(r"<p>(.*?)</p>", links) == [
        "upstream rate 2 Mbit/s",
        "upstream rate 8 Mbit/s",
    ]
    assert "upstream rate" not in "".join(re.findall(r"<a [^>]*>(.*?)</a>", links))


def test_a_grid_of_transfers_tells_what_each_gets() -> None:
    """Nobody is judged there, so that nobody can be said to suffer or not."""
    people = {
        "far": (make_upload(6e6), make_upload(9e6)),
        "near": (make_upload(13e6), make_upload(11e6)),
    }
    assert tell(people, tiers=2) == (
        "The queue changes far most: 9 Mbit/s under b, 6 Mbit/s under a.",
        "Near: 13 Mbit/s under a, 11 Mbit/s under b.",
    )
    people = {"far": (make_upload(6e6), make_upload(6e6))}
    assert tell(people, tiers=2) == (
        "At the same upstream rate, no queue changes what anybody gets.",
    )


def test_a_cost_has_the_digits_of_the_table() -> None:
    people = {
        "call": (CALLS[1], CALLS[2]),
        "upload": (make_upload(4.48e6), make_upload(4.223e6)),
    }
    _, second = tell(people)
    assert second == "Under b it is good (MOS 4.3), for 5.74 % less upload."
    # What the table writes behind its Δ.
    assert format_change(4.223 / 4.48 - 1) == "−5.74 %"


def test_no_cost_is_said_of_what_the_table_shows_as_even() -> None:
    def spread(mean: float) -> FlowOutcome:
        values = {1: 0.96 * mean, 2: 1.04 * mean, 3: mean}
        return replace(make_upload(mean), values=values)

    calls = tuple(replace(call, values=dict.fromkeys((1, 2, 3), call.values[1])) for call in CALLS)
    base = replace(make_upload(10e6), values={1: 10e6, 2: 10e6, 3: 10e6})
    people = {"call": calls[1:], "upload": (base, spread(9.91e6))}
    _, second = tell(people)
    # 0.9 % less, within 10 % of interval.
    assert second == (
        "Under b it is good (MOS 4.3), at no cost to transfers beyond the interval (0.9 % less"
        " upload)."
    )
    _, second = tell({**people, "upload": (base, spread(9.97e6))})
    assert second == "Under b it is good (MOS 4.3), at no cost to transfers."
    # Of several transfers their sum comes first.
    half = replace(base, values=dict.fromkeys((1, 2, 3), 5000000.0))
    _, second = tell({**people, "backup": (half, half)})
    assert "beyond the interval (0.6 % less of all transfers together)" in second


def test_the_base_of_a_cost_is_named_where_it_is_not_the_tables() -> None:
    people = {
        "call": (CALLS[2], CALLS[1]),
        "upload": (make_upload(9e6), make_upload(10e6)),
    }
    _, second = tell(people)
    assert second == "Under a it is good (MOS 4.3), for 10 % less upload than under b."


def test_where_grades_are_alike_the_best_is_told_by_what_it_gives() -> None:
    """A best that transfers alone decided is not the best of all; who pays for it is named."""
    suffers = {
        "call": (CALLS[1], CALLS[2]),
        "ping": (make_ping(20e6),) * 2,
        "upload": (make_upload(5e6),) * 2,
    }
    alike = {
        "call": (CALLS[2], CALLS[2]),
        "ping": (make_ping(50e6), make_ping(20e6)),
        "upload": (make_upload(18e6), make_upload(16e6)),
    }
    _, second = describe_tiers([suffers, alike])
    assert second == (
        "Best: b at 1 Mbit/s, at no cost to transfers; at 2 Mbit/s grades are alike, and a gives"
        " most upload (18 Mbit/s), but ping is worse (50 ms, not 20 ms) under a than under b."
    )


def test_one_setting_over_its_seeds_is_answered_as_a_run() -> None:
    results = [make_street(12, strain=strain) for strain in (3.0, 3.2)]
    for seed, result in enumerate(results, 1):
        result.manifest["seed"] = seed
    (variant,) = gather_variants(results)
    assert answer_comparison([variant]).sentences == answer_run(variant.pool()).sentences


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
    assert first.endswith(
        " under drop_tail limit 300 ms at every upstream rate and under docsis_pie at 2 Mbit/s."
    )
    assert second.startswith("Best at every upstream rate: docsis_pie")
    assert "but call still suffers at 2 Mbit/s" in second
    matrix = answer.matrix
    assert matrix is not None
    assert matrix.corner == "upstream rate\u00a0↓ queue"
    assert "Best: the lowest sum of grades, each as the whole 95 % interval has it" in matrix.note
    assert "Call: MOS in the worst 5 %" in matrix.note
    heads = [cell for row in matrix.rows if row.place != "inner" for cell in row.cells if cell]
    assert all(cell.text.startswith("queue ") and cell.text.endswith(" used") for cell in heads)
    assert matrix.names == ("drop_tail limit 300 ms", "docsis_pie")
    assert [(row.label, (row.place == "inner")) for row in matrix.rows] == [
        ("2 Mbit/s", False), ("call", True), ("upload", True),
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
    assert {"queue-upstream-rate-2-Mbit-s", "queue-upstream-rate-8-Mbit-s"} <= set(figures)
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
    assert "In figures, upstream rate 2 Mbit/s" in page
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
