"""Variants side by side: the same seeds, best and worst, paired differences, names."""

from __future__ import annotations

import html
import json
import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner, Result

import headend
from headend.analysis.estimate import estimate_difference, estimate_mean, format_estimate
from headend.analysis.ties import is_tie
from headend.cli.main import app
from headend.comparison.comparison import (
    ONE_SEED,
    UNEVEN,
    Variant,
    compare_figures,
    explain_board,
    gather_variants,
)
from headend.comparison.notes import warn_of_variants
from headend.comparison.outcomes import judge_grid
from headend.comparison.pooling import pool_histograms
from headend.comparison.scores import ScoredMetric, mark_values, score_runs
from headend.design.seeds import choose_seeds
from headend.figures import draw_figures
from headend.figures.differences import _choose_domain, _cut
from headend.running.comparison import load_results
from headend.running.experiment import Plan, compare, plan_comparison
from street import make_street
from vega_lite import check_panel

QUEUES = {"queue": ["drop_tail", "docsis_pie", "codel"]}


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def test_every_variant_runs_with_the_same_seeds(fake: Any, home_line: Path) -> None:
    plans = plan_comparison(home_line, QUEUES, seeds=3)
    assert [plan.run for plan in plans[:4]] == [
        ("drop_tail", 1),
        ("drop_tail", 2),
        ("drop_tail", 3),
        ("docsis_pie", 1),
    ]
    variants = compare(home_line, QUEUES, seeds=[7, 5]).variants
    assert [variant.label for variant in variants] == QUEUES["queue"]
    assert [variant.seeds for variant in variants] == [[7, 5]] * 3


def test_seeds_count_on_from_the_one_that_is_set(fake: Any, home_line: Path) -> None:
    plans = plan_comparison(home_line, QUEUES, seed=40, seeds=2)
    assert {plan.seed for plan in plans} == {40, 41}


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (0, "seeds: expected 1 to 100 of them, found 0"),
        (101, "seeds: expected 1 to 100 of them, found 101"),
        ([3, 3], "seeds: 3 is given twice"),
        ([2**64], f"seed: expected a whole number from 0 to {2**64 - 1}, found {2**64}"),
    ],
)
def test_seeds_that_cannot_be_are_refused(wanted: Any, message: str) -> None:
    with pytest.raises(headend.InputError) as caught:
        choose_seeds(wanted)
    assert str(caught.value) == message


def test_an_interval_is_students() -> None:
    # Table of Student's t, two-sided 95 %: 12.706 for one degree of freedom, 2.262 for nine.
    assert estimate_mean([0.0, 2.0]).half == pytest.approx(12.706, abs=1e-3)
    ten = [float(number) for number in range(10)]
    deviation = math.sqrt(sum((value - 4.5) ** 2 for value in ten) / 9)
    assert estimate_mean(ten).half == pytest.approx(2.262 * deviation / math.sqrt(10), rel=1e-3)


def test_one_seed_has_no_interval_and_is_never_clear() -> None:
    alone = estimate_mean([3.0])
    assert (alone.mean, alone.count, alone.is_clear) == (3.0, 1, False)
    assert math.isnan(alone.half)
    assert format_estimate(alone, "number") == "3"


def test_pairing_removes_what_the_seeds_have_in_common() -> None:
    base = [10.0, 200.0, 3000.0]
    better = [value - 5 - offset for value, offset in zip(base, (0.1, 0.0, -0.1), strict=True)]
    assert not estimate_mean([value - 5 - 1000 for value in base]).is_clear
    difference = estimate_difference(better, base)
    assert difference.is_clear
    assert difference.mean == pytest.approx(-5)


DELAY = ScoredMetric("queue", "delay p50", "time")
MOS = ScoredMetric("call", "MOS p50", "number", rising=True, range=(1.0, 4.5))


def mark(values: list[float], metric: ScoredMetric = DELAY) -> list[str]:
    """Mark values of one seed, of delays in ms."""
    unit = 1e6 if metric is DELAY else 1
    return list(mark_values([{1: value * unit} for value in values], metric))


def test_best_and_worst_are_marked_and_ties_are_ties() -> None:
    assert mark([1.0, 2.0]) == ["best", ""]
    assert mark([1.0, 1.04, 3.0]) == ["best", "best", "worst"]
    assert mark([1.0, 1.2, 3.0, 2.95]) == ["best", "", "worst", "worst"]
    assert mark([1.0, math.nan, 2.0]) == ["best", "worst", ""]
    assert mark([5.0, 5.0]) == mark([5.0, 5.2]) == ["", ""]
    assert mark([2.0, 3.0, 1.5], MOS) == ["", "best", "worst"]


def test_a_value_alone_is_not_the_best_of_anything() -> None:
    assert mark([math.nan, 5.0]) == ["", ""]
    assert mark([5.0, math.nan, math.nan]) == ["", "", ""]
    assert mark([5.0]) == [""]
    assert mark_values([{1: 5e6}, {}], DELAY) == ["", ""]


def test_what_nobody_notices_is_a_tie() -> None:
    loss = ScoredMetric("call", "lost", "ratio")
    assert mark([0.0, 0.09]) == ["", ""]
    assert mark([0.0, 0.11]) == ["best", ""]
    assert mark([0.0, 0.0009], loss) == ["", ""]
    assert mark([0.0, 0.0011], loss) == ["best", ""]
    # 5 % of the best would be 0.22 of a MOS, and of a bad one 0.05.
    assert mark([4.4, 4.31], MOS) == ["", ""]
    assert mark([4.4, 4.29], MOS) == ["best", ""]
    assert mark([1.2, 1.11], MOS) == ["", ""]


def test_a_difference_within_its_interval_is_a_tie() -> None:
    best = {1: 100e6, 2: 130e6, 3: 90e6}
    noisy = {1: 120e6, 2: 125e6, 3: 125e6}
    steady = {seed: value + 12e6 for seed, value in best.items()}
    assert is_tie(noisy, best, DELAY.kind)
    assert not is_tie(steady, best, DELAY.kind)
    worst = {seed: value * 3 for seed, value in best.items()}
    assert mark_values([best, noisy, steady, worst], DELAY) == ["best", "best", "", "worst"]


def test_without_common_seeds_intervals_that_overlap_tie() -> None:
    best = {1: 100e6, 2: 110e6}
    assert is_tie({3: 115e6, 4: 130e6}, best, DELAY.kind)
    assert not is_tie({3: 915e6, 4: 920e6}, best, DELAY.kind)


def test_figures_are_those_that_the_applications_are_about(fake: Any, home_line: Path) -> None:
    (scores,) = score_runs([headend.run(home_line)])
    names = {(figure.subject, figure.name) for figure in scores}
    assert names == {
        ("call", "MOS p50"),
        ("call", "MOS p5"),
        ("browsing", "page load p50"),
        ("browsing", "page load p95"),
        ("ping", "round trip p50"),
        ("ping", "round trip p99"),
        ("upload", "goodput"),
        *(
            ("queue cable.up", name)
            for name in ("delay p50", "delay p99", "delay p99.9", "dropped", "line used")
        ),
    }


def test_of_a_group_the_middle_and_the_worst_are_compared() -> None:
    (scores,) = score_runs([make_street(100)])
    worst = scores[ScoredMetric("web ×100", "page load p50, worst", "time")]
    middle = scores[ScoredMetric("web ×100", "page load p50, in the middle", "time")]
    assert worst == pytest.approx(7e9)
    assert 1e9 < middle < worst


def test_differences_are_to_the_first_variant_by_common_seeds() -> None:
    def street(label: str, seed: int, strain: float) -> Any:
        result = make_street(10, label=label, strain=strain)
        result.manifest["seed"] = seed
        return result

    variants = [
        Variant("a", [street("a", 1, 1.0), street("a", 2, 2.0), street("a", 3, 9.0)]),
        Variant("b", [street("b", 2, 1.0), street("b", 1, 0.5)]),
    ]
    rows = {(row.metric.subject, row.metric.name): row for row in compare_figures(variants)}
    base, other = rows["ping", "round trip p50"].cells
    assert base is not None
    assert other is not None
    assert base.difference is None
    assert (base.mark, other.mark, base.estimate.count) == ("", "", 3)  # within the interval of two
    # 25 ms and 30 ms, less 22.5 ms and 25 ms: seed by seed, not in the order of the runs.
    assert other.difference is not None
    assert other.difference.mean == pytest.approx(-3.75e6)
    assert other.difference.count == 2


def test_an_interval_that_reaches_zero_is_marked_at_the_edge() -> None:
    drawn = {"low": [-0.9, 0.4, 0.5], "ratio": [0.0, 0.5, 1.2], "high": [0.9, 0.6, 9.0]}
    points = pl.DataFrame(drawn)
    domain = _choose_domain(drawn["ratio"])
    assert domain == (0.25, 2.4)
    cut = _cut(points, domain)
    assert cut["beyond_low"].to_list() == [True, False, False]
    assert cut["beyond_high"].to_list() == [False, False, True]
    # What is zero has no place on a logarithm; it keeps its value for whoever points at it.
    assert cut["ratio"].to_list() == [None, 0.5, 1.2]
    assert cut["times"].to_list() == [0.0, 0.5, 1.2]


def test_distributions_of_all_seeds_are_drawn_as_one() -> None:
    runs = [make_street(2).histograms, make_street(2).histograms]
    pooled = pool_histograms(runs)
    assert pooled.height == runs[0].height
    assert pooled["count"].sum() == 2 * runs[0]["count"].sum()


def test_a_report_over_seeds_has_intervals_and_is_of_all_seeds(fake: Any, home_line: Path) -> None:
    comparison = compare(home_line, QUEUES, seeds=3, out="kept")
    page = Path("kept/report.html").read_text()
    for text in (
        "Means over 3 seeds (1, 2, 3)",
        "Differences to drop_tail",
        "Each line is the median over the seeds",
        " ± ",
    ):
        assert text in page, text
    assert "seed 1." not in page
    assert {figure.name for figure in draw_figures(comparison.results)} >= {"differences", "delay"}
    for panel in draw_figures(comparison.results)[0].panels:
        check_panel(panel)
    assert call("report", "kept", "--out", "again.html").exit_code == 0
    assert Path("again.html").read_text() == page


def test_one_seed_has_a_table_without_intervals(fake: Any, home_line: Path) -> None:
    comparison = compare(home_line, QUEUES, out="kept")
    page = Path("kept/report.html").read_text()
    assert html.unescape(page).count(ONE_SEED) == 1
    assert "Differences to" not in page
    assert "✗ worst" in explain_board(comparison.variants)


def test_of_finished_runs_of_one_seed_is_said_how_they_get_intervals(
    fake: Any, home_line: Path
) -> None:
    for queue in ("drop_tail", "codel"):
        headend.run(home_line, set={"queue": queue}, seed=1).save(queue)
    answer = call("compare", "drop_tail", "codel", "--out", "one", "--full")
    assert ONE_SEED in " ".join(answer.stdout.split())
    # What it says of finished runs is done.
    for queue in ("drop_tail", "codel"):
        headend.run(home_line, set={"queue": queue}, seed=2).save(f"{queue}-2")
    folders = ["drop_tail", "codel", "drop_tail-2", "codel-2"]
    answer = call("compare", *folders, "--out", "several", "--full")
    assert "Means over 2 seeds (1, 2)" in " ".join(answer.stdout.split())


@pytest.mark.parametrize("seeds", [(1,), (1, 2)])
def test_what_a_stopped_run_met_is_met_so_far_on_a_page(
    fake: Any, home_line: Path, seeds: tuple[int, ...]
) -> None:
    with home_line.open("a") as file:
        file.write('[expect]\ncall = "call.mos.p5 > 1.01"\nline = "cable.up.utilisation < 0.1 %"\n')
    save_runs(home_line, stopped="codel-1")
    for queue in ("drop_tail", "codel"):
        load_results([f"{queue}-1"])[0].report(f"{queue}.html")
    assert "Missed so far:" in Path("codel.html").read_text()
    assert "met so far" in Path("codel.html").read_text()
    assert "so far" not in Path("drop_tail.html").read_text()
    folders = [f"{queue}-{seed}" for queue in ("drop_tail", "codel") for seed in seeds]
    call("compare", *folders, "--out", "out")
    page = Path("out/report.html").read_text()
    # Of several seeds, the table has those that are missed.
    words = ("missed so far", "cases over all seeds so far" if len(seeds) > 1 else "met so far")
    assert all(word in page for word in words)


def save_runs(line: Path, stopped: str = "") -> None:
    """Keep a run of each queue and seed; one of them was stopped a third into its time."""
    for queue in ("drop_tail", "codel"):
        for seed in (1, 2):
            result = headend.run(line, set={"queue": queue}, seed=seed)
            if f"{queue}-{seed}" == stopped:
                result.manifest["partial"] = True
                result.manifest["simulated_ns"] //= 3
            result.save(f"{queue}-{seed}", report=False)


@pytest.mark.parametrize("seeds", [(1,), (1, 2)])
def test_a_stopped_run_is_not_set_against_whole_ones(
    fake: Any, home_line: Path, seeds: tuple[int, ...]
) -> None:
    save_runs(home_line, stopped="codel-1")
    folders = [f"{queue}-{seed}" for queue in ("drop_tail", "codel") for seed in seeds]
    answer = call("compare", *folders, "--out", "out")
    text = " ".join(answer.stdout.split())
    assert UNEVEN in text
    assert "Δ" not in text
    text = " ".join(call("compare", *folders, "--out", "out", "--force", "--full").stdout.split())
    assert ("Means over" in text) == (len(seeds) > 1)
    # The table of people above has marks of its own.
    board = text.partition("figure ")[2].removesuffix(text.partition(UNEVEN)[2])
    assert board
    assert not set("✓✗Δ*") & set(board)
    page = html.unescape(Path("out/report.html").read_text())
    assert UNEVEN in page
    assert "Δ" not in page
    rows = compare_figures(gather_variants(load_results(["out"])))
    cells = [cell for row in rows for cell in row.cells if cell]
    assert cells
    assert {(cell.mark, cell.difference) for cell in cells} == {("", None)}


def test_runs_of_lengths_that_were_chosen_are_set_against_each_other(
    fake: Any, home_line: Path
) -> None:
    variants = compare(home_line, {"duration": ["30 s", "60 s"]}).variants
    assert UNEVEN not in explain_board(variants)
    assert any(cell and cell.difference for row in compare_figures(variants) for cell in row.cells)


def test_a_comparison_over_seeds_is_kept_by_variant_and_seed(fake: Any, home_line: Path) -> None:
    arguments = ["--vary", "queue=drop_tail,docsis_pie", "--seeds", "1,4", "--out", "kept"]
    answer = call("compare", "home-line.toml", *arguments, "--full")
    assert answer.exit_code == 0, answer.output
    assert "of seed" not in answer.stdout
    assert "paired by seed" in " ".join(answer.stdout.split())
    folders = sorted(
        path.parent.relative_to("kept").as_posix() for path in Path("kept").rglob("flows.parquet")
    )
    assert folders == [
        "docsis_pie/seed-1", "docsis_pie/seed-4", "drop_tail/seed-1", "drop_tail/seed-4",
    ]  # fmt: skip
    document = json.loads(call("compare", "kept", "--out", "again", "--json").stdout)
    assert [run["seed"] for run in document["runs"]] == [1, 4, 1, 4]
    figure = next(f for f in document["figures"] if f["figure"] == "MOS p5")
    assert figure["runs"]["docsis_pie"]["mark"] == "best"
    assert figure["runs"]["docsis_pie"]["difference"]["count"] == 2


def test_figures_as_json_are_set_against_each_other_within_a_tier(
    fake: Any, home_line: Path
) -> None:
    """The grid of a researcher: first choices have no difference, each tier its own best."""
    rate = "link.cable.docsis.upstream.rate=5 Mbit/s,20 Mbit/s"
    arguments = ["--vary", "queue=drop_tail,docsis_pie", "--vary", rate, "--seeds", "2", "--json"]
    figures = json.loads(call("compare", "home-line.toml", *arguments).stdout)["figures"]
    tiers = {"upstream rate 5 Mbit/s", "upstream rate 20 Mbit/s"}
    assert {figure["tier"] for figure in figures} == tiers
    for figure in figures:
        assert list(figure["runs"]) == ["drop_tail", "docsis_pie"]
        assert figure["runs"]["drop_tail"]["difference"] is None
    scores = [figure["runs"] for figure in figures if figure["figure"] == "MOS p5"]
    assert [own["docsis_pie"]["mark"] for own in scores] == ["best", "best"]


@pytest.mark.parametrize(
    ("seeds", "message"),
    [
        ("x", "--seeds x: expected how many, such as 10, or a list, such as 1,2,5"),
        ("0", "--seeds 0: expected 1 to 100 of them, found 0"),
        ("1,1", "--seeds 1,1: 1 is given twice"),
    ],
)
def test_seeds_are_refused_in_one_line(
    fake: Any, home_line: Path, seeds: str, message: str
) -> None:
    answer = call("compare", "home-line.toml", "--vary", "queue=a,b", "--seeds", seeds)
    assert (answer.exit_code, answer.stderr) == (2, f"error: {message}\n")


def keep(home_line: Path, name: str, queue: str, seed: int) -> str:
    headend.run(home_line, set={"queue": queue}, seed=seed).save(name, report=False)
    return name


def test_other_seeds_are_other_traffic_and_warned_of(fake: Any, home_line: Path) -> None:
    long, short = keep(home_line, "long", "drop_tail", 1), keep(home_line, "short", "codel", 2)
    answer = call("compare", long, short, "--out", "both")
    said = "the runs compared do not have the same seeds (long: 1; short: 2): another seed is"
    assert f"Warning: {said}" in " ".join(answer.stdout.split())
    assert "Δ is the difference" not in answer.stdout
    assert f"<strong>Warning.</strong> {said}" in Path("both/report.html").read_text()
    document = json.loads(call("compare", "both", "--out", "again", "--json").stdout)
    (warning,) = document["warnings"]
    assert warning.startswith(said)
    assert [run["warnings"] for run in document["runs"]] == [[], []]
    assert "seeds" not in Path("both/long/manifest.json").read_text()
    same = keep(home_line, "same", "codel", 1)
    answer = call("compare", long, same, "--out", "alike", "--json")
    assert json.loads(answer.stdout)["warnings"] == []


def test_runs_of_other_lengths_are_warned_of(fake: Any, home_line: Path) -> None:
    for name, duration in (("short", "20 s"), ("long", "40 s"), ("stopped", "80 s")):
        result = headend.run(home_line, set={"queue": "codel", "duration": duration})
        result.manifest["partial"] = name == "stopped"
        result.save(name, report=False)
    said = "the runs compared were not measured over the same time (short: 15 s; long: 35 s), so"
    answer = call("compare", "short", "long", "--out", "both")
    assert f"Warning: {said}" in " ".join(answer.stdout.split())
    assert f"<strong>Warning.</strong> {said}" in Path("both/report.html").read_text()
    (warning,) = json.loads(call("compare", "both", "--json").stdout)["warnings"]
    assert warning.startswith(said)
    answer = call("compare", "short", "stopped", "--json")
    assert json.loads(answer.stdout)["warnings"] == []


def test_one_choice_with_several_seeds_is_no_comparison_but_a_report(
    fake: Any, home_line: Path
) -> None:
    folders = [keep(home_line, f"seed {seed}", "codel", seed) for seed in (2, 3)]
    answer = call("compare", *folders)
    assert (answer.exit_code, answer.stderr) == (
        2,
        "error: 'seed 2' 'seed 3': the same choice, run with seeds 2, 3, so there is nothing to"
        " compare; add runs of another choice, or make a report with the means over these seeds:"
        " headend report 'seed 2' 'seed 3' --out FILE\n",
    )
    assert call("report", *folders, "--out", "seeds.html").exit_code == 0
    page = Path("seeds.html").read_text().replace("\N{NO-BREAK SPACE}", " ")
    assert "How do upload, call, ping and browsing fare on 10 Mbit/s?" in page
    assert "Each line is the median over the seeds" in page
    assert (
        "Means over 2 seeds (2, 3) with their 95 % intervals, as ± half the width or (from–to)."
        in page
    )
    assert " ± " in page
    assert "✓ " not in page
    assert call("report", folders[0]).exit_code == 0
    assert "In figures" not in Path(folders[0], "report.html").read_text()


def test_differences_are_of_the_seeds_that_settings_have_in_common(
    fake: Any, home_line: Path
) -> None:
    folders = [
        keep(home_line, f"{queue}-{seed}", queue, seed)
        for queue, seed in (("drop_tail", 1), ("drop_tail", 2), ("codel", 3), ("codel", 2))
    ]
    label = ("--label", "long", "--label", "short")
    answer = call("compare", *folders, *label, "--out", "both", "--full")
    assert "Means over the seeds of each run" in answer.stdout
    assert "(long: 1, 2; short: 2, 3)" in answer.stdout
    long, short = gather_variants(load_results(["both"]))
    assert (long.seeds, short.seeds) == ([2, 1], [2, 3])
    _, (tier,) = judge_grid([long, short])
    base, other = tier.people["call"]
    assert base is not None
    assert other is not None
    difference = other.compare(base)
    assert difference is not None
    assert difference.count == 1


def test_a_list_of_seeds_leaves_no_first_one_to_choose(fake: Any, home_line: Path) -> None:
    answer = call(
        "compare", "home-line.toml", "--vary", "queue=a,b", "--seeds", "1,2", "--seed", "3"
    )
    assert answer.stderr == (
        "error: --seed: has no effect beside a list of --seeds, which names every seed; leave"
        " out one of them\n"
    )


def test_finished_runs_are_called_by_what_was_changed(fake: Any, home_line: Path) -> None:
    for queue in ("drop_tail", "docsis_pie"):
        for seed in ("1", "2"):
            call("run", "home-line.toml", "--quiet", "--set", f"queue={queue}", "--seed", seed)
    folders = sorted(map(str, Path("results").iterdir()))
    variants = gather_variants(load_results(folders))
    assert [(variant.label, variant.seeds) for variant in variants] == [
        ("drop_tail", [1, 2]),
        ("docsis_pie", [1, 2]),
    ]


def test_finished_runs_keep_the_names_that_were_chosen_for_them(fake: Any, home_line: Path) -> None:
    call("run", "home-line.toml", "--quiet", "--out", "long")
    call("run", "home-line.toml", "--quiet", "--set", "queue=docsis_pie", "--out", "short")
    assert [result.label for result in load_results(["long", "short"])] == ["long", "short"]


def test_the_same_run_twice_is_two_variants(fake: Any, home_line: Path) -> None:
    call("run", "home-line.toml", "--quiet", "--out", "a/x")
    call("run", "home-line.toml", "--quiet", "--out", "b/x")
    labels = [result.label for result in load_results(["a/x", "b/x"])]
    assert labels == ["home-line (1)", "home-line (2)"]


def test_a_run_that_is_given_twice_is_not_compared_with_itself(fake: Any, home_line: Path) -> None:
    run = keep(home_line, "run", "codel", 1)
    call("compare", "home-line.toml", "--vary", "queue=codel,pie", "--quiet", "--out", "both")
    for folders, named in (
        ((run, f"{run}/../run"), "run/../run"),
        (("both", "both/pie"), "both/pie"),
        (("both/pie", "both"), "both/pie"),
        (("both", "both"), "both/codel"),
    ):
        for command in ("compare", "report"):
            answer = call(command, *folders, "--out", "out")
            assert (answer.exit_code, answer.stderr) == (2, f"error: {named}: given twice\n")
    assert not Path("out").exists()


def test_one_run_is_nothing_to_compare(fake: Any, home_line: Path) -> None:
    told = (
        "is nothing to compare: give several values, such as queue=drop_tail,codel; or several"
        " seeds (--seeds 10)"
    )
    vary = ("--vary", "queue=codel", "--vary", "flow.call.rtt=40 ms")
    answer = call("compare", "home-line.toml", *vary, "--out", "out")
    assert answer.exit_code == 2
    assert "--vary asks for one run (queue=codel, rtt=40 ms), which" in answer.stderr
    assert told in answer.stderr
    with pytest.raises(headend.InputError, match="asks for one run"):
        headend.compare(home_line, {"queue": ["codel"]}, out="out")
    assert not Path("out").exists()
    # With several seeds there are means.
    assert call("compare", "home-line.toml", *vary, "--seeds", "2", "-q").exit_code == 0


@pytest.mark.parametrize(
    ("path", "first", "second"),
    [("flow.call.rtt", "40ms", "40 ms"), ("queue", "codel", "codel"),
     ("queue", "codel", "{codel = {}}")],
)  # fmt: skip
def test_a_setting_is_not_compared_with_itself(path: str, first: str, second: str) -> None:
    answer = call("compare", "upload-and-call", "--vary", f"{path}={first},{second}")
    names = [name.replace("{codel = {}}", "codel") for name in (first, second)]
    told = f'--vary: "{names[0]}" and "{names[1]}" are the same setting; leave out one of them'
    assert (answer.exit_code, answer.stderr) == (2, f"error: {told}\n")


def test_finished_runs_are_not_called_the_same(fake: Any, home_line: Path) -> None:
    folders = [keep(home_line, queue, queue, 1) for queue in ("codel", "pie")]
    answer = call("compare", *folders, "--label", "a", "--label", "a", "--out", "out")
    message = 'error: two runs would both be called "a": give each a --label\n'
    assert (answer.exit_code, answer.stderr) == (2, message)
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"seeds": [1, 2], "seed": 3},
            "seed: has no effect beside a list of seeds, which names every seed; leave out one of"
            " them",
        ),
        ({"labels": "abc"}, "labels: expected a list of texts, found 'abc'"),
        ({"labels": [1, 2, 3]}, "labels: expected a list of texts, found [1, 2, 3]"),
        ({"labels": 3}, "labels: expected a list of texts, found 3"),
        ({"labels": ["a", "", "c"]}, 'label "": expected a name, found a blank one'),
    ],
)
def test_seeds_and_labels_from_python_are_checked(
    home_line: Path, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(headend.InputError) as raised:
        compare(home_line, QUEUES, **arguments)
    assert str(raised.value) == message


@pytest.mark.parametrize("blank", ["", " "])
def test_a_blank_label_is_refused(fake: Any, home_line: Path, blank: str) -> None:
    vary = ["--vary", "queue=drop_tail,docsis_pie"]
    answer = call("compare", "home-line.toml", *vary, "--label", "a", "--label", blank)
    message = f'error: label "{blank}": expected a name, found a blank one\n'
    assert (answer.exit_code, answer.stderr) == (2, message)


def test_labels_are_one_for_each_run(fake: Any, home_line: Path) -> None:
    folders = [keep(home_line, queue, queue, 1) for queue in ("codel", "pie")]
    message = "error: 1 label for 2 runs: give one for each, or none\n"
    for sources in (folders, ["home-line.toml", "--vary", "queue=codel,pie"]):
        answer = call("compare", *sources, "--label", "a")
        assert (answer.exit_code, answer.stderr) == (2, message)
    shown = call("compare", "--help").stdout.replace("│", " ")
    assert "Give it once for each setting, in their order;" in " ".join(shown.split())


def test_what_cannot_be_compared_is_told_with_what_was_meant(fake: Any, home_line: Path) -> None:
    answer = call("compare", "")
    assert answer.stderr == (
        'error: "": expected the name or file of a scenario, or a results folder\n'
    )


def test_a_path_beside_the_kind_of_line_is_led_into_it() -> None:
    vary = {"link.cable.upstream.rate": ["5 Mbit/s", "10 Mbit/s"]}
    with pytest.raises(headend.InputError) as raised:
        plan_comparison(
            "upload-and-call", {path: [f'"{v}"' for v in own] for path, own in vary.items()}
        )
    assert str(raised.value).endswith('; did you mean "link.cable.docsis.upstream.rate"?')


def test_labels_of_a_grid_name_its_choices(fake: Any, home_line: Path) -> None:
    """A paper has FQ-CoDel where a scenario has fq_codel; finished runs can be called so too."""
    vary = ["--vary", "queue=pie,fq_codel", "--vary", "flow.call.rtt=20 ms,40 ms"]
    names = ["--label", "PIE", "--label", "FQ-CoDel"]
    again = ["compare", "kept", "--label", "P", "--label", "Q", "--out", "again"]
    for arguments, choices in (
        (["compare", "home-line.toml", *vary, *names, "--out", "kept"], ["PIE", "FQ-CoDel"]),
        (again, ["P", "Q"]),
    ):
        document = json.loads(call(*arguments, "--json").stdout)
        assert document["answer"]["matrix"]["choices"] == choices
        assert {name for figure in document["figures"] for name in figure["runs"]} == set(choices)
        labels = [run["label"] for run in document["runs"]]
        assert labels[0] == f"queue={choices[0]}, rtt=20 ms"
    wrong = call("compare", "home-line.toml", *vary, "--label", "a", "--label", "b", "--label", "c")
    assert wrong.stderr == (
        "error: 3 labels for 4 runs: give one for each, or for each of the 2 choices, or none\n"
    )


def test_the_first_seed_is_run_under_every_setting_before_the_second(
    fake: Any, home_line: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an interruption leaves can then be compared."""
    begun: list[tuple[str, int]] = []
    original = Plan.carry_out

    def carry_out(plan: Plan, *arguments: Any) -> Any:
        begun.append(plan.run)
        return original(plan, *arguments)

    monkeypatch.setattr(Plan, "carry_out", carry_out)
    monkeypatch.setattr("headend.running.execution.count_cores", lambda: 1)
    comparison = compare(home_line, {"queue": ["codel", "pie"]}, seeds=2)
    assert begun == [("codel", 1), ("pie", 1), ("codel", 2), ("pie", 2)]
    assert [run.label for run in comparison.results] == ["codel", "codel", "pie", "pie"]


def save_run(name: str, flows: dict[str, Any], link: str = "line") -> str:
    up = {"point_to_point": {"up": {"rate": "2 Mbit/s"}}}
    headend.run({"duration": "1 s", "link": {link: up}, "flow": flows}).save(name, report=False)
    return name


PING, VOICE = {"application": "ping"}, {"application": "voice"}


def test_finished_runs_without_a_flow_in_common_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first = save_run("first", {"a": PING, "b": {**PING, "count": 2}})
    second, third = save_run("second", {"c": PING}), save_run("third", {"a": PING})
    told = "nothing to compare: none of its flows"
    answer = call("compare", first, second)
    line = f"error: first: {told} (a, b) is in the other runs (c); compare runs of one scenario\n"
    assert (answer.exit_code, answer.stderr) == (2, line)
    assert not Path("results").exists()
    answer = call("compare", first, third, second)
    line = f"error: second: {told} (c) is in the other runs (a, b); compare runs of one scenario\n"
    assert (answer.exit_code, answer.stderr) == (2, line)
    # One folder is its own business.
    assert len(load_results([second])) == 1


def test_finished_runs_of_other_flows_or_links_are_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first = save_run("first", {"a": PING, "call": VOICE})
    second = save_run("second", {"a": PING, "b": {**PING, "count": 2}}, "other")
    end = "they are of different scenarios, so what sets them apart may be that and not the choice"
    document = json.loads(call("compare", first, second, "--out", "both", "--json").stdout)
    assert document["warnings"] == [
        f"the runs compared do not have the same flows (only first: call; only second: b): {end}",
        "the runs compared do not have the same links (only first: line; only second: other):"
        f" {end}",
    ]
    page = html.unescape(Path("both/report.html").read_text("utf-8"))
    assert "do not have the same flows (only first: call; only second: b)" in page
    alike = save_run("alike", {"call": VOICE, "a": {**PING, "count": 3}})
    answer = call("compare", first, alike, "--out", "alike-too", "--json")
    assert json.loads(answer.stdout)["warnings"] == []


def test_a_line_with_and_without_a_router_is_one_scenario() -> None:
    line = {"cable": {"docsis": {"upstream": {"rate": "5 Mbit/s"}}}}
    flows = {"ping": {"application": "ping"}}
    scenario = {"duration": "3 s", "link": line, "flow": flows}
    found = headend.compare(scenario, {"router": ["off", "cake"]})
    assert not [note for note in warn_of_variants(found.variants) if "same links" in note]
    assert found.answer.question.startswith("Which router suits ping")
