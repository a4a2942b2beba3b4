"""Studies: the grid, points that are kept, and claims judged on points made for the purpose."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner, Result

from conftest import ANALYSIS, SMALL_STUDY
from headend.cli.main import app
from headend.cli.study import _Printer
from headend.design.design import Design
from headend.errors import InputError
from headend.running.executor import Executor, Progress
from headend.running.memory import Allowance
from headend.scenario.library import find_study
from headend.scenario.shipped import list_studies
from headend.scenario.subjects import Vocabulary
from headend.study import ClaimVerdict, PointStore, Study, read_study, run_points
from headend.study.analysis import blame
from headend.study.claims import check_claims
from headend.study.outcome import draw_study_figures
from headend.study.points import prepare_points, read_distribution, read_series, take_percentiles
from headend.study.running import Order
from judged import LINE, fill_points, judge, keep_values, load, load_analysis

PING = "buffer-control/ping-latency"


def make_points(study: Study, fill: Callable[[dict[str, Any], float], float]) -> pl.DataFrame:
    """Give each point the mean ping of a buffer filled to a share that the test chooses."""
    rows = []
    for row in study.list_places():
        predicted = row["buffer_kib"] * 8.192 / row["rate_mbps"]
        share = fill(row, predicted)
        # Below the line where the buffer drains, at both round trips alike.
        if predicted < 117 and row["congestion"] != "ten cubic":
            share *= 0.9
        row["ping"] = (17 + share * predicted) * 1e6
        rows.append(row)
    return pl.DataFrame(rows)


def judge_ping(points: pl.DataFrame) -> dict[str, tuple[ClaimVerdict, str]]:
    return judge(PING, points)


def saw_tooth(row: dict[str, Any], _predicted: float) -> float:
    return {"cubic": 0.85, "ten cubic": 0.95}[row["congestion"]]


def test_the_grid_is_the_guidelines() -> None:
    points = load(PING).list_points()
    assert len(points) == 2 * 4 * 6 * 2
    assert {place["buffer_kib"] for place in load(PING).list_places()} == {8, 16, 32, 64, 128, 256}
    assert len({point.setting.overrides for point in points}) == len(points)


def test_points_as_the_guideline_saw_them_reproduce_every_claim() -> None:
    verdicts = judge_ping(make_points(load(PING), saw_tooth))
    assert {verdict for verdict, _ in verdicts.values()} == {ClaimVerdict.REPRODUCED}
    assert verdicts["BUF-F4.slope"][1].startswith("0.8496 over 48 points (0.849 to 0.850")


def test_a_buffer_that_stays_full_differs_in_its_slope() -> None:
    verdicts = judge_ping(make_points(load(PING), lambda _row, _predicted: 1.0))
    assert verdicts["BUF-F4.slope"][0] is ClaimVerdict.DIFFERS
    assert verdicts["BUF-F3.buffer"][0] is ClaimVerdict.REPRODUCED


def test_a_ping_that_falls_with_the_buffer_differs() -> None:
    points = make_points(
        load(PING), lambda row, _predicted: 0.1 if row["buffer_kib"] == 128 else 0.85
    )
    assert judge_ping(points)["BUF-F3.buffer"][0] is ClaimVerdict.DIFFERS


def test_an_rtt_that_matters_differs() -> None:
    points = make_points(load(PING), lambda row, _predicted: 0.9 if row["rtt_ms"] == 57 else 0.2)
    assert judge_ping(points)["BUF-F3.rtt"][0] is ClaimVerdict.DIFFERS


def contend(row: dict[str, Any], *, saturated_share: float = 1.0) -> dict[str, Any]:
    """Give a run as the closed forms have it, with saturated shares so many times theirs."""
    analysis = load_analysis("cable-plant/contention")
    window, modems = 2 ** row["exponent"], row["modems"]
    cycle = 20 + (window - 1) / 2
    share = analysis.compute_first(window, modems)
    if row["traffic"].startswith("saturated"):
        share = saturated_share * analysis.compute_saturated(row["exponent"], modems, cycle)
    requests = 60 * 8000 / cycle
    delay = 1e6 * (2 + window / 16 + (modems - 1) * 4 / window)
    return {
        "requests": requests,
        "collisions": share * requests,
        "delay": delay,
        "delay_p99": 3 * delay,
    }


def test_contention_by_the_closed_forms_is_reproduced_and_otherwise_not() -> None:
    study = "cable-plant/contention"
    agreeing = judge(study, fill_points(study, contend))
    assert {verdict for verdict, _ in agreeing.values()} == {ClaimVerdict.REPRODUCED}
    off = fill_points(study, lambda row: contend(row, saturated_share=1.2))
    verdicts = judge(study, off)
    assert verdicts["ALOHA.saturated"][0] is ClaimVerdict.DIFFERS
    assert verdicts["ALOHA.first"][0] is ClaimVerdict.REPRODUCED
    late = off.with_columns(collisions=pl.col("collisions") * 0.7, delay=-pl.col("delay"))
    assert {verdict for verdict, _ in judge(study, late).values()} == {ClaimVerdict.DIFFERS}


def test_the_fixed_point_is_one() -> None:
    analysis = load_analysis("cable-plant/contention")
    # Two modems, one window only (the end is 8): each asks once in cycle opportunities, so the
    # other meets it that often.
    assert analysis.compute_saturated(8, 2, 200.0) == pytest.approx(1 / 200)
    assert analysis.compute_saturated(4, 1, 20.0) == pytest.approx(0)


def spread(low: float, high: float) -> dict[str, Any]:
    return {"delays": [1e6 * (low + (high - low) * number / 100) for number in range(101)]}


def test_request_and_grant_within_the_range_reproduce_and_longer_ones_differ() -> None:
    study = "cable-plant/request-grant"
    within = judge(study, fill_points(study, lambda _row: spread(3.6, 8.2)))
    assert {verdict for verdict, _ in within.values()} == {ClaimVerdict.REPRODUCED}
    longer = judge(study, fill_points(study, lambda _row: spread(7.5, 12)))
    assert {verdict for verdict, _ in longer.values()} == {ClaimVerdict.DIFFERS}


def line_of_2004(row: dict[str, Any]) -> dict[str, Any]:
    """Give a run as the document has it."""
    packets = 20 * 500 / row["map_ms"]  # whatever the opportunities
    flood = (26_396_500 - 256_000) / (1524 * 8) * 20
    limit = 20 * row["rate_mbps"] * 1e6 / 12_000
    return {
        "rtt": 13e6,
        "datagrams": flood if row["traffic"] == "flood" else min(packets, limit),
        "segments": 2 * packets,
    }


def test_a_line_as_the_document_of_2004_has_it_reproduces_and_another_differs() -> None:
    study = "service-quality/docsis-2004"
    agreeing = judge(study, fill_points(study, line_of_2004))
    assert {verdict for verdict, _ in agreeing.values()} == {ClaimVerdict.REPRODUCED}
    factor = {"rtt": 0.6, "datagrams": 0.8, "segments": 1.1}
    off = fill_points(
        study, lambda row: {key: factor[key] * value for key, value in line_of_2004(row).items()}
    )
    assert {verdict for verdict, _ in judge(study, off).values()} == {ClaimVerdict.DIFFERS}


def test_a_distribution_is_that_of_all_members_together() -> None:
    vocabulary = Vocabulary({"probe": "cbr"}, ["cable.up"], {"probe": ["probe.1", "probe.2"]})
    histograms = pl.DataFrame(
        {
            "kind": ["flow", "flow", "flow", "queue"],
            "name": ["probe.1", "probe.2", "probe.1", "cable.up"],
            "direction": ["up", "up", "down", "up"],
            "lower_ns": [10, 20, 900, 900],
            "upper_ns": [11, 21, 901, 901],
            "count": [60, 40, 5, 5],
        }
    )
    percentiles = take_percentiles(histograms, read_distribution("probe.up.delay", vocabulary))
    assert percentiles is not None
    assert len(percentiles) == 101
    assert [percentiles[at] for at in (0, 1, 60, 61, 100)] == [10, 11, 11, 21, 21]
    assert (
        take_percentiles(histograms.clear(), read_distribution("probe.delay", vocabulary)) is None
    )
    with pytest.raises(
        InputError, match=r'expected the delay of a flow or queue.* found "probe.loss"'
    ):
        read_distribution("probe.loss", vocabulary)


def test_a_series_is_that_of_one_queue_or_flow_in_the_order_of_time() -> None:
    vocabulary = Vocabulary(
        {"probe": "cbr", "probe.1": "cbr"}, ["cable.up"], {"probe": ["probe.1"]}
    )
    rows = pl.DataFrame(
        {
            "time_ns": [2, 1, 1, 1],
            "flow": ["probe.1", "probe.1", "probe.1", "other"],
            "direction": ["up", "up", "down", "up"],
            "discarded": [20, 10, 5, 5],
        }
    )
    curve = read_series("probe.1.up.discarded", vocabulary)
    assert (curve.table, curve.take(rows)) == ("flow_series", [10, 20])
    assert read_series("cable.up.drop_probability", vocabulary).table == "queue_series"
    for text in ("probe.up.discarded", "probe.1.discarded", "cable.discarded"):
        with pytest.raises(InputError, match="expected a column of one queue or flow"):
            read_series(text, vocabulary)
    with pytest.raises(InputError, match=r'no column "discard"; did you mean "discarded"\?'):
        read_series("cable.up.discard", vocabulary)


def test_a_series_of_a_connection_is_that_of_the_first_one_of_the_first_member() -> None:
    vocabulary = Vocabulary(
        {"upload": "bulk", "upload.1": "bulk", "upload.2": "bulk", "page": "web"},
        ["cable.up"],
        {"upload": ["upload.1", "upload.2"]},
    )
    rows = pl.DataFrame(
        {
            "time_ns": [2, 1, 1, 1, 1],
            "flow": ["upload.1", "upload.1", "upload.2", "page", "page"],
            "connection": [0, 0, 0, 1, 0],
            "cwnd_bytes": [20, 10, 5, 7, 3],
        }
    )
    curve = read_series("upload.connection.cwnd_bytes", vocabulary)
    assert (curve.table, curve.take(rows)) == ("connection_series", [10, 20])
    assert read_series("upload.2.connection.cwnd_bytes", vocabulary).take(rows) == [5]
    assert read_series("page.connection.cwnd_bytes", vocabulary).take(rows) == [3]
    with pytest.raises(InputError, match=r'no column "cwnd"'):
        read_series("page.connection.cwnd", vocabulary)
    with pytest.raises(InputError, match="or of its first connection"):
        read_series("cable.up.connection.cwnd_bytes", vocabulary)


@pytest.mark.parametrize("name", list_studies())
def test_a_study_is_complete(name: str) -> None:
    study = load(name)
    analysis = study.load_analysis()
    for function in [claim.check for claim in study.claims] + [f.draw for f in study.figures]:
        assert hasattr(analysis, function), function
    assert len({claim.id for claim in study.claims}) == len(study.claims)
    if not study.has_runs:
        return
    assert study.request or Path(str(study.design.scenario)).is_file()
    quick = study.make_quick()
    assert quick.quick
    assert len(quick.list_points()) < len(study.list_points())
    # Its scenarios, settings and measures are understood.
    prepare_points(quick)


def test_a_claim_about_intervals_is_not_judged_on_one_seed() -> None:
    study = load(PING)
    claims = [replace(study.claims[0], least_seeds=2)]
    points = make_points(study, saw_tooth)
    (checked,) = check_claims(claims, study.load_analysis(), points)
    assert checked.result.verdict is ClaimVerdict.UNTESTABLE
    assert "needs 2 or more" in checked.result.why
    twice = pl.concat([points, points.with_columns(seed=pl.col("seed") + 1)])
    (checked,) = check_claims(claims, study.load_analysis(), twice)
    assert checked.result.verdict is ClaimVerdict.REPRODUCED


def test_figures_are_drawn_from_points() -> None:
    study = load(PING)
    points = make_points(study, saw_tooth)
    figures = draw_study_figures(study, study.load_analysis(), points)
    assert [len(figure.panels) for figure in figures] == [2, 2]


def make_study(folder: Path) -> Study:
    study = read_study("small", find_study(PING))
    factors = [own for own in study.design.factors if own.name in ("rate_mbps", "buffer_kib")]
    few = [keep_values(factor, factor.values[:2]) for factor in factors]
    kept = tuple(
        (replace(own, writes=tuple((("seed", str(value)),) for value in own.values)),)
        for own in few
    )
    design = Design(kept, (1,), folder / "home-line.toml")
    measures = {"ping": "ping.rtt.mean", "used": "cable.up.utilisation"}
    return replace(study, design=design, measures=measures)


def test_finished_points_are_kept_and_not_run_again(
    fake: Any, home_line: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = make_study(home_line.parent)
    path = home_line.parent / "points"
    points = run_points(study, PointStore(path), threading.Event())
    assert points is not None
    assert points.columns == ["rate_mbps", "buffer_kib", "seed", "ping", "used"]
    assert points.height == 4
    monkeypatch.setattr(fake.Run, "advance", lambda *_: pytest.fail("a kept point was run again"))
    again = run_points(study, PointStore(path), threading.Event())
    assert again is not None
    assert again.equals(points)


def test_a_kept_point_has_the_place_that_the_study_gives_it_now(fake: Any, home_line: Path) -> None:
    study = make_study(home_line.parent)
    store = PointStore(home_line.parent / "points")
    assert run_points(study, store, threading.Event()) is not None
    first, *others = study.design.dimensions
    tier = replace(first[0], name="tier")
    renamed = replace(study, design=replace(study.design, dimensions=((tier,), *others)))
    again = run_points(renamed, store, threading.Event())
    assert again is not None
    assert again.columns == ["tier", "buffer_kib", "seed", "ping", "used"]
    assert again["tier"].to_list() == [1, 1, 2, 2]


def test_a_stopped_study_keeps_what_is_done(
    fake: Any, home_line: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fake.Run, "slow", True)
    monkeypatch.setattr("headend.running.execution.count_cores", lambda: 1)
    study = make_study(home_line.parent)
    study = replace(study, design=replace(study.design, overrides=(("duration", "0.3 s"),)))
    stop = threading.Event()
    store = PointStore(home_line.parent / "points")

    def after_first(progress: Progress) -> None:
        if progress.done:
            stop.set()

    assert run_points(study, store, stop, after_first) is None
    assert 1 <= len(list(store.folder.glob("*.parquet"))) < 4


def test_a_damaged_point_is_run_again(fake: Any, home_line: Path) -> None:
    study = make_study(home_line.parent)
    store = PointStore(home_line.parent / "points")
    first = run_points(study, store, threading.Event())
    damaged = min(store.folder.glob("*.parquet"))
    damaged.write_bytes(b"rubbish")
    assert store.find([damaged.stem]) == set()
    again = run_points(study, store, threading.Event())
    assert first is not None
    assert again is not None
    assert again.equals(first)


def test_a_bad_study_is_refused_with_its_key(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text('titel = "x"\n')
    with pytest.raises(InputError, match=r'unknown key "titel"; did you mean "title"\?'):
        read_study("x", tmp_path)


def test_a_study_that_only_calculates_needs_no_runs(tmp_path: Path) -> None:
    folder = tmp_path / "closed-form"
    folder.mkdir()
    claim = SMALL_STUDY[SMALL_STUDY.index("[[claim]]") :]
    (folder / "study.toml").write_text(f'title = "Sum"\nsource = "nowhere"\n{claim}')
    (folder / "analysis.py").write_text(ANALYSIS)
    result = CliRunner().invoke(app, ["study", "run", str(folder), "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert "calculated" in (tmp_path / "out" / "report.html").read_text()
    # Where nothing is to run, nobody is asked to.
    again = CliRunner().invoke(
        app,
        ["study", "run", str(folder), "--out", str(tmp_path / "out"), "--scheduler", "nonsense"],
    )
    assert again.exit_code == 0


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "small"
    folder.mkdir()
    for name, text in (("study.toml", SMALL_STUDY), ("analysis.py", ANALYSIS), ("line.toml", LINE)):
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def run_small(*options: str) -> Result:
    return CliRunner().invoke(app, ["study", "run", "small", "--out", "out", *options])


def test_an_interruption_says_what_is_kept_and_a_rerun_completes(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any) -> None:
        (Path("out") / ".report.html.left").touch()
        os.kill(os.getpid(), signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr("headend.study.running.draw_study_figures", interrupt)
        answer = run_small("--json")
    assert answer.exit_code == 130
    message = "interrupted: 2 points are kept in out; run again to go on"
    _, interrupted = answer.stderr.split("\n", 1)
    assert " ".join(interrupted.split()) == message
    assert json.loads(answer.stdout) == {
        "study": "small",
        "folder": "out",
        "complete": False,
        "done": 2,
    }
    page = CliRunner().invoke(app, ["study", "report", "--studies", "small"])
    assert "small: no study's results are here" in page.stderr
    assert run_small("--quiet").exit_code == 0
    assert (Path("out") / "report.html").is_file()
    page = CliRunner().invoke(app, ["study", "report", "--studies", "out"])
    assert (
        "out: holds the results of one study; expected the folder with those of all" in page.stderr
    )


def test_another_studys_results_are_not_replaced(small: Path) -> None:
    assert run_small("--quiet").exit_code == 0
    page = (Path("out") / "report.html").read_bytes()
    small.rename(small.with_name("other"))
    answer = CliRunner().invoke(app, ["study", "run", "other", "--out", "out"])
    assert answer.exit_code == 2
    message = (
        'out: holds the results of another study, "small" and not "other"; choose another folder'
    )
    assert message in " ".join(answer.stderr.split())
    assert (Path("out") / "report.html").read_bytes() == page


def test_what_an_interrupted_write_left_is_no_obstacle(small: Path) -> None:
    (Path("out") / ".points.left").mkdir(parents=True)
    assert run_small("--quiet").exit_code == 0
    (Path("out") / "points.parquet").rename(Path("out") / "thesis.txt")
    (Path("out") / "points").rename(Path("out") / "chapters")
    assert "holds something other than" in run_small().stderr


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("ping.rtt.mean", "ping.rtt.mean + line.up.utilisation"), "of one kind (line 9)"),
        (("ping.rtt.mean", "ping.rtt.avg"), "measures.ping: "),
        (("line.point", "lime.point"),
         '(from small/study.toml: link.lime.point_to_point.up.rate=1 M'),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_point_is_told_with_the_study_s_file(
    small: Path, change: tuple[str, str], message: str
) -> None:
    (small / "study.toml").write_text(SMALL_STUDY.replace(*change), encoding="utf-8")
    answer = run_small()
    assert answer.exit_code == 2
    assert "small/study.toml: " in answer.stderr
    assert message in answer.stderr


FIGURE = """
[[figure]]
name = "rates"
title = "Rates"
explanation = "Nothing."
draw = "draw"
"""


BROKEN_CHART = """from headend.figures import Panel, vegalite
    chart = vegalite.Chart(points).mark_line().encode(x="nothing:Q")
    return [Panel("broken", chart)]"""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("import", "import import"), "line 1: SyntaxError: invalid syntax"),
        (("ClaimResult, ClaimVerdict", "Nothing"), "line 1: ImportError: cannot import name"),
        (("return ClaimResult(", "return none + ("), "line 4: NameError: name 'none' is not"),
        (("str(len(points))", "points['pong'][0]"), "line 4: ColumnNotFoundError: "),
        (("def count", "def cuont"), 'claim A: no function "count"; did you mean "cuont"?'),
        (("return ClaimResult", "ClaimResult"),
         "line 3: count: expected it to return a ClaimResult, found None"),
        (("return []", "return points"), "line 7: draw: expected it to return a list of panels, f"),
        (("count(points, limits)", "count(points)"),
         "line 3: count: expected it to take 2 arguments: "),
        (("return []", BROKEN_CHART), "line 7: draw: a chart that cannot be drawn: "),
        (("return []", "return points.dropp()"), "line 8: AttributeError: 'DataFrame' object has"),
        (("def draw", "def drawn"), 'figure rates: no function "draw"; did you mean "drawn"?'),
    ],
)  # fmt: skip
def test_a_mistake_in_an_analysis_is_told_with_its_line(
    small: Path, change: tuple[str, str], message: str
) -> None:
    analysis = ANALYSIS + "\n\ndef draw(points):\n    return []\n"
    assert change[0] in analysis
    (small / "study.toml").write_text(SMALL_STUDY + FIGURE, encoding="utf-8")
    (small / "analysis.py").write_text(analysis.replace(*change, 1), encoding="utf-8")
    answer = run_small()
    assert answer.exit_code == 2
    _, error = answer.stderr.split("\n", 1)
    assert error.startswith(f"error: small/analysis.py: {message}")


def test_a_mistake_elsewhere_is_not_the_analysis_s(small: Path) -> None:
    with pytest.raises(ZeroDivisionError), blame(small / "analysis.py"):
        raise ZeroDivisionError


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("./empty", "./empty: expected a folder with a study.toml, found none in it"),
        ("empty", "empty: expected a folder with a study.toml, found none in it"),
        ("small/study.toml",
         "small/study.toml: expected a study's name or its folder, found a file"),
        ("./nothing", "./nothing: no such folder"),
        ("bufer-control", 'no study is called "bufer-control"; did you mean "buffer-control"?'),
        ("ping-latenc", 'no study is called "ping-latenc"; did you mean "ping-latency"?'),
        ("xxxxx", 'no study is called "xxxxx"; there are those of aqm-docsis, buffer-control,'),
        ("rubbish", "rubbish/study.toml: not a text file (byte 0 is not UTF-8); a study is TOML"),
        ("torn", "torn/study.toml: not valid TOML: "),
        ("twice", "twice/study.toml: not valid TOML: set.a is there twice (lines 2 and 3)"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("command", ["run", "show"])
def test_what_is_no_study_is_said_so(small: Path, command: str, name: str, message: str) -> None:
    twice = b"[set]\na = 1\na = 2"
    for folder, content in (("rubbish", b"\xff"), ("torn", b"x = ["), ("twice", twice)):
        Path(folder).mkdir()
        (Path(folder) / "study.toml").write_bytes(content)
    Path("empty").mkdir()
    answer = CliRunner().invoke(app, ["study", command, name])
    assert answer.exit_code == 2
    assert answer.stderr.startswith(f"error: {message}")


@pytest.mark.parametrize("command", ["show", "run"])
def test_a_figure_of_several_documents_is_told_with_the_studies_that_draw_it(command: str) -> None:
    answer = CliRunner().invoke(app, ["study", command, "figure 4"])
    assert answer.exit_code == (0 if command == "show" else 2)
    told = " ".join((answer.stdout if command == "show" else answer.stderr).split())
    for name in ("buffer-control/ping-latency", "aqm-docsis/matrix", "service-quality/wifi-rtt"):
        assert f"headend study {command} {name}" in told
    if command == "run":
        assert told.startswith('error: "figure 4" is in 4 documents; choose one: ')
    else:
        assert 'Figure 4 of Cable Modem Buffer Control (CableLabs, 2011): "Ping Time' in told
        listed = CliRunner().invoke(app, ["study", "show", "figure 4", "--json"]).stdout
        assert next(item["name"] for item in json.loads(listed)) == "buffer-control/ping-latency"


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("aqm figure 1", "aqm-docsis/matrix"),
        ("AQM-DOCSIS fig. 1", "aqm-docsis/matrix"),
        ("figure 13 of buffer control", "buffer-control/web-pages"),
        ("cbt figure 4", "cbt/blast"),
        ("fairness analysis", "fast-docsis/fairness"),
        ("table 5", "buffer-control/site-round-trips"),
    ],
)
def test_a_figure_of_one_document_is_the_study_that_draws_it(
    query: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = CliRunner().invoke(app, ["study", "show", query])
    assert shown.exit_code == 0, shown.output
    assert f"headend study run {name}" in shown.stdout
    asked: list[str] = []
    monkeypatch.setattr(
        "headend.cli.study._run",
        lambda orders, *_, **__: asked.extend(order.study.name for order in orders),
    )
    CliRunner().invoke(app, ["study", "run", query, "--quick", "-q"])
    assert asked == [name]


@pytest.mark.parametrize(
    ("query", "told"),
    [
        (
            "figure 99",
            'no document has "figure 99"; buffer-control has Figures 1 to 16 and Tables 1 to',
        ),
        ("aqm figure", 'no document has "aqm figure"; aqm-docsis has Figures 1 to 16 and Table 1'),
        ("figur 4", 'no document has "figur 4"; did you mean "figure 4"?'),
        ("figure of merit 4", 'no study is called "figure of merit 4"'),
    ],
)
@pytest.mark.parametrize("command", ["show", "run"])
def test_a_figure_that_no_document_has_is_refused_with_those_there_are(
    command: str, query: str, told: str
) -> None:
    answer = CliRunner().invoke(app, ["study", command, query])
    assert answer.exit_code == 2
    assert " ".join(answer.stderr.split()).startswith(f"error: {told}")


def test_the_claims_of_the_figure_that_was_asked_for_come_first() -> None:
    shown = CliRunner().invoke(app, ["study", "show", "aqm figure 5"]).stdout
    claims = [line.split()[0] for line in shown.splitlines() if line.startswith("AQM-")]
    assert [claim.split(".")[0] for claim in claims[:4]] == ["AQM-F5"] * 4


def test_a_document_is_shown_by_its_studies() -> None:
    names = [name for name in list_studies() if name.startswith("fast-docsis/")]
    answer = CliRunner().invoke(app, ["study", "show", "fast-docsis"])
    assert answer.exit_code == 0
    assert all(f"{name}  " in answer.stdout for name in names)
    told = json.loads(CliRunner().invoke(app, ["study", "show", "fast-docsis", "--json"]).stdout)
    assert [study["name"] for study in told] == names


@pytest.mark.parametrize(
    "name", ["aqm-docsis/choices", "aqm-docsis/conditions", "validation/competition"]
)
def test_a_study_is_shown_in_25_lines_and_in_full_on_request(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    study = read_study(name, list_studies()[name])
    short = CliRunner().invoke(app, ["study", "show", name])
    full = CliRunner().invoke(app, ["study", "show", name, "--full"])
    assert (short.exit_code, full.exit_code) == (0, 0)
    assert len(short.stdout.splitlines()) <= 25
    assert f"headend study run {name}" in short.stdout
    assert study.claims[0].id in short.stdout
    assert f"{len(study.claims)} claim" in short.stdout
    flat = " ".join(full.stdout.split())
    for claim in study.claims:
        assert " ".join(claim.statement.split()) in flat
        assert f"expected: {' '.join(claim.expected.split())}" in flat


def test_a_document_stands_for_all_its_studies(monkeypatch: pytest.MonkeyPatch) -> None:
    carried: list[tuple[str, str]] = []

    def carry_out(
        orders: list[Order], executor: Executor, printer: _Printer, allowance: Allowance
    ) -> None:
        assert (printer.quiet, printer.as_json) == (False, True)
        for order in orders:
            carried.append((order.study.name, str(order.folder)))
            printer.documents.append({})

    monkeypatch.setattr("headend.cli.study._run", carry_out)
    command = ["study", "run", "buffer-control", "--json", "--out", "all"]
    answer = CliRunner().invoke(app, command)
    assert carried == [
        (name, f"all/{name.replace('/', '-')}")
        for name in list_studies()
        if name.startswith("buffer-control/")
    ]
    assert len(json.loads(answer.stdout)["studies"]) == len(carried)
