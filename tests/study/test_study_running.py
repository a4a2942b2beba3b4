"""Several studies as one stream of points: order, failures, interruption, equal bytes."""

from __future__ import annotations

import html
import inspect
import json
import os
import signal
import threading
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

import headend
from headend.cli.main import app
from headend.figures import export
from headend.figures.paper import Paper
from headend.results.store import PointStore
from headend.running.executor import Completed, Failure, Progress, Task, Threads
from headend.running.job import Job
from headend.study import read_study
from headend.study.outcome import StudyOutcome
from headend.study.points import run_points
from headend.study.running import Order, run_studies

if TYPE_CHECKING:
    import polars as pl

STUDY = """\
format = 1
title = "{title}"
source = "nowhere"
scenario = "line.toml"
[grid.rate]
values = [1, 2, 4]
set = {{ "link.line.point_to_point.up.rate" = "{{}} Mbit/s" }}
[measures]
ping = "ping.rtt.mean"
[[claim]]
id = "A"
source = "here"
statement = "There is a ping."
expected = "three"
check = "count"
[[figure]]
name = "pings"
title = "Pings"
explanation = "They fall."
draw = "draw"
[quick]
description = "One."
grid = {{ rate = [1] }}
"""

ANALYSIS = """\
from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.study.claims import ClaimResult, ClaimVerdict

def count(points, limits):
    return ClaimResult(str(len(points)), ClaimVerdict.REPRODUCED)

def draw(points):
    return [Panel("", vl.Chart(points).mark_point().encode(x=vl.X("rate:Q"), y=vl.Y("ping:Q")))]
"""

LINE = """\
duration = "2 s"
link.line.point_to_point.up.rate = "1 Mbit/s"
flow.ping = {{ application = "ping", rtt = "{rtt} ms" }}
"""

NAMES = ("one", "three", "two")  # in the order of the command, which is that of the alphabet


@pytest.fixture
def document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the folder of a document with three studies; theirs are the only ones that ship."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("headend.scenario.shipped.SHIPPED", tmp_path)
    folder = tmp_path / "studies" / "document"
    for number, name in enumerate(NAMES):
        (folder / name).mkdir(parents=True)
        files = {
            "study.toml": STUDY.format(title=f"Study {name}"),
            "analysis.py": ANALYSIS,
            "line.toml": LINE.format(rtt=10 * (number + 1)),
        }
        for file, text in files.items():
            (folder / name / file).write_text(text, encoding="utf-8")
    return folder


def run(*options: str, name: str = "document") -> Result:
    return CliRunner().invoke(app, ["study", "run", name, *options])


def read_all(folder: Path) -> dict[str, bytes]:
    """Give every file that a study leaves behind."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_what_the_engine_warns_of_is_told_once_with_where_it_applies(document: Path) -> None:
    file = document / "two" / "study.toml"
    each = '[grid.rate.each.2]\n"link.line.point_to_point.up.queue" = "strict_priority"\n[measures]'
    file.write_text(file.read_text().replace("[measures]", each), encoding="utf-8")
    line = document / "two" / "line.toml"
    of_run = headend.run(line, set={"link.line.point_to_point.up.queue": "strict_priority"})
    told = [f"{text} (at rate = 2)" for text in of_run.warnings]
    assert told
    answer = run("--seeds", "2", "--out", "out", name="document/two")
    shown = " ".join(answer.stdout.split())
    assert [shown.count(f"Warning: {text}.") for text in told] == [1] * len(told)
    report = html.unescape((Path("out") / "report.html").read_text(encoding="utf-8"))
    assert all(f"{text}." in report for text in told)
    answer = run("--seeds", "2", "--out", "out", "--json", name="document/two")
    assert json.loads(answer.stdout)["warnings"] == told
    assert json.loads((Path("out") / "claims.json").read_text())["warnings"] == told


def test_a_reading_is_told_by_run_and_show(document: Path) -> None:
    texts = 'title = "Ping"\nreading = "One a second."\nsource = "§1"\nbeside = "none"\n'
    (document / "readings.toml").write_text(f"[ping]\n{texts}", encoding="utf-8")
    file = document / "two" / "study.toml"
    named = file.read_text().replace("scenario =", 'readings = ["ping"]\nscenario =')
    file.write_text(named, encoding="utf-8")
    for options in ((), ("--quick",)):
        assert "Reading: Ping. One a second." in run(*options, name="document/two").stdout
    shown = CliRunner().invoke(app, ["study", "show", "document/two"]).stdout
    assert "Reading: Ping. One a second." in shown.splitlines()
    whole = CliRunner().invoke(app, ["study", "show", "document/two", "--full"]).stdout
    assert "Reading: Ping. One a second. Source: §1. Beside it: none." in whole.splitlines()
    described = CliRunner().invoke(app, ["study", "show", "document/two", "--json"]).stdout
    expected = {"name": "ping", "title": "Ping", "reading": "One a second.", "source": "§1",
                "beside": "none"}  # fmt: skip
    assert json.loads(described)["readings"] == [expected]
    left = json.loads(run("--json", name="document/two").stdout)
    assert left["readings"] == [expected]


def test_a_weak_claim_is_told_with_its_reason(document: Path) -> None:
    file = document / "two" / "study.toml"
    file.write_text(file.read_text().replace('check = "count"', 'check = "count"\nweak = "any."'))
    answer = run("--full", name="document/two")
    assert answer.exit_code == 0
    lines = answer.stdout.splitlines()
    assert "The claim is weak (A)." in lines
    assert "A: weak: any." in lines
    shown = CliRunner().invoke(app, ["study", "show", "document/two", "--full"]).stdout
    assert "  weak: any." in shown.splitlines()


def test_a_quick_run_measures_and_gives_no_verdict(document: Path) -> None:
    analysis = ANALYSIS.replace("ClaimVerdict.REPRODUCED", 'ClaimVerdict.DIFFERS, why="too few"')
    for name in NAMES:
        (document / name / "analysis.py").write_text(analysis, encoding="utf-8")
    whole, quick = run(name="document/one"), run("--quick", name="document/one")
    assert (whole.exit_code, quick.exit_code) == (1, 0)
    assert "This is a quick run: 1 of 3 settings, no verdict." in quick.stdout.splitlines()
    assert "differs" in whole.stdout
    assert "differs" not in quick.stdout
    told = json.loads(run("--quick", "--json", name="document/one").stdout)
    assert told["quick"] == "One."
    assert [(one["verdict"], one["measured"], one["why"]) for one in told["claims"]] == [
        ("no verdict", "1", "")
    ]
    page = Path("results/studies/document-one-quick/report.html").read_text(encoding="utf-8")
    assert "This is a quick run: 1 of 3 settings, no verdict." in page
    assert run("--quick", "-q", name="document/one").stderr == ""
    every = run("--quick")
    assert every.exit_code == 0
    assert every.stdout.count("This is a quick run") == len(NAMES)
    assert "kind of claim" not in every.stdout


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("seeds = [7]", "1 of 12 seeds"),
        ("seeds = [1, 2]\ngrid = { rate = [1] }", "2 of 12 seeds"),
        ("grid = { rate = [1] }", "1 of 3 settings"),
        ('set = { duration = "1 s" }', "shorter runs"),
    ],
)
def test_a_quick_run_says_how_little_it_is(document: Path, text: str, told: str) -> None:
    file = document / "one" / "study.toml"
    content = file.read_text().replace("grid = { rate = [1] }", text)
    head = 'scenario = "line.toml"\n'
    file.write_text(content.replace(head, f"{head}seeds = {list(range(1, 13))}\n"))
    study = read_study("document/one", document / "one").make_quick()
    assert study.describe_quick() == f"This is a quick run: {told}, no verdict."


def test_a_quick_run_is_no_receipt(document: Path) -> None:
    out = "results/studies/document-one"
    assert run("--quick", "--out", out, name="document/one").exit_code == 0
    answer = CliRunner().invoke(app, ["study", "report"])
    assert answer.exit_code == 2
    assert "was run in its quick form, which judges nothing" in answer.stderr


def order_all(document: Path, out: str = "out") -> list[Order]:
    return [
        Order(read_study(f"document/{name}", document / name), Path(out) / name) for name in NAMES
    ]


def name_of(job: Job) -> str:
    return job.text.access.scenario.name


def test_all_at_once_leave_the_same_bytes_as_one_by_one(
    document: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headend.running.execution.count_cores", lambda: 4)
    assert run("--quiet", "--out", "all").exit_code == 0
    monkeypatch.setattr("headend.running.execution.count_cores", lambda: 1)
    for name in NAMES:
        alone = f"alone-{name}"
        assert run("--quiet", "--out", alone, name=f"document/{name}").exit_code == 0
        left = read_all(Path(alone))
        assert {"points.parquet", "claims.json", "report.html", "figures/pings.svg"} <= set(left)
        assert read_all(Path("all") / f"document-{name}") == left


def test_the_next_points_run_while_a_study_is_written_and_the_order_stays(
    document: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headend.running.execution.count_cores", lambda: 2)
    later, written = threading.Event(), threading.Event()
    carry_out, write_into = Job.run, StudyOutcome.write_into

    def work(job: Job, stop: threading.Event | None = None) -> pl.DataFrame | None:
        result = carry_out(job, stop)
        if name_of(job) == "two":
            later.set()
        if name_of(job) == "three":  # what comes after is done earlier
            assert written.wait(10), "the points of a study waited for those of the one before"
        return result

    def write(outcome: StudyOutcome, folder: Path) -> None:
        written.set()
        if folder.name == "one":
            assert later.wait(10), "no point was run while a study was written"
        write_into(outcome, folder)

    monkeypatch.setattr(Job, "run", work)
    monkeypatch.setattr(StudyOutcome, "write_into", write)
    seen: list[Progress] = []
    pairs = list(run_studies(order_all(document), threading.Event(), on_progress=seen.append))
    assert [order.folder.name for order, _ in pairs] == list(NAMES)
    assert all(isinstance(outcome, StudyOutcome) for _, outcome in pairs)
    assert (seen[0].done, seen[0].total) == (0, 9)
    assert (seen[-1].done, seen[-1].total, seen[-1].running) == (9, 9, 0)


def test_a_study_that_fails_does_not_stop_the_others(document: Path) -> None:
    line = document / "one" / "line.toml"
    line.write_text(line.read_text().replace("rtt", "rt"), encoding="utf-8")
    broken = ANALYSIS.replace("str(len(points))", 'str(points["pong"])')
    (document / "three" / "analysis.py").write_text(broken, encoding="utf-8")
    answer = run("--out", "out")
    assert answer.exit_code == 2
    said = " ".join(answer.stderr.split())
    first, second = said.index("document/one failed: error:"), said.index("document/three failed:")
    assert first < second
    assert "pong" in said[second:]
    assert "Study two" in answer.stdout
    assert "Failed: document/one, document/three." in answer.stdout
    assert (Path("out") / "document-two" / "report.html").is_file()
    assert not (Path("out") / "document-three" / "report.html").exists()
    (document / "three" / "analysis.py").write_text(ANALYSIS, encoding="utf-8")
    answer = run("--out", "out", "--json")
    assert answer.exit_code == 2
    studies = json.loads(answer.stdout)["studies"]
    assert [item["study"] for item in studies] == [f"document/{name}" for name in NAMES]
    assert ["error" in item for item in studies] == [True, False, False]
    assert studies[0].keys() == {"study", "error", "folder"}
    answer = run("--out", "alone", "--json", name="document/one")
    assert answer.exit_code == 2
    assert json.loads(answer.stdout).keys() == {"error"}


def test_a_quiet_run_of_studies_says_which_claims_are_missed(document: Path) -> None:
    analysis = document / "three" / "analysis.py"
    missed = ANALYSIS.replace("ClaimVerdict.REPRODUCED", "ClaimVerdict.DIFFERS, (2.5, 3.25)")
    analysis.write_text(missed, encoding="utf-8")
    told = "A: expected three, measured 3 (95 % interval 2.5 to 3.25)\n"
    answer = run("--quiet", "--out", "all")
    assert (answer.exit_code, answer.stdout) == (1, "")
    assert answer.stderr == f"missed: document/three: {told}"
    answer = run("--quiet", "--out", "alone", name="document/three")
    assert (answer.exit_code, answer.stdout, answer.stderr) == (1, "", f"missed: {told}")
    answer = run("--json", "--quiet", "--out", "alone", name="document/three")
    assert (answer.exit_code, answer.stderr) == (1, "")
    assert json.loads(answer.stdout)["study"]


def test_a_fault_of_headend_stops_no_other_study_and_is_told_as_one(
    document: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_into = StudyOutcome.write_into

    def write(outcome: StudyOutcome, folder: Path) -> None:
        if folder.name == "document-one":
            raise KeyError("template")
        write_into(outcome, folder)

    monkeypatch.setattr(StudyOutcome, "write_into", write)
    answer = run("--out", "out")
    assert answer.exit_code == 70
    (line,) = [line for line in answer.stderr.splitlines() if line.startswith("error: ")]
    assert line.startswith("error: out/document-one/report.html: cannot be made: internal error")
    assert (Path("out") / "document-two" / "report.html").is_file()


def test_a_point_that_fails_is_told_with_its_study_and_the_others_go_on(
    document: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    carry_out = Job.run

    def work(job: Job, stop: threading.Event | None = None) -> pl.DataFrame | None:
        if name_of(job) == "three":
            raise RuntimeError("packets were lost count of")
        return carry_out(job, stop)

    monkeypatch.setattr(Job, "run", work)
    outcomes = [outcome for _, outcome in run_studies(order_all(document), threading.Event())]
    assert [isinstance(outcome, StudyOutcome) for outcome in outcomes] == [True, False, True]
    assert "document/three: {'rate': 1, 'seed': 1}: packets were lost count of" in str(outcomes[1])


def test_an_interruption_keeps_whole_studies_and_a_rerun_completes(
    document: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("--quiet", "--out", "whole").exit_code == 0
    write_into = StudyOutcome.write_into

    def interrupt(outcome: StudyOutcome, folder: Path) -> None:
        if folder.name == "document-three":
            os.kill(os.getpid(), signal.SIGINT)
        write_into(outcome, folder)

    with monkeypatch.context() as patch:
        patch.setattr(StudyOutcome, "write_into", interrupt)
        answer = run("--out", "out")
    assert answer.exit_code == 130
    assert "interrupted: 1 of 3 studies are done" in " ".join(answer.stderr.split())
    assert read_all(Path("out/document-one")) == read_all(Path("whole/document-one"))
    assert not (Path("out") / "document-three" / "report.html").exists()
    kept = len(list(Path("out/document-three/points").glob("*.parquet")))
    assert kept == 3

    carry_out = Job.run

    def work(job: Job, stop: threading.Event | None = None) -> pl.DataFrame | None:
        assert name_of(job) == "two", "a kept point was run again"
        return carry_out(job, stop)

    monkeypatch.setattr(Job, "run", work)
    assert run("--quiet", "--out", "out").exit_code == 0
    assert read_all(Path("out")) == read_all(Path("whole"))


def test_a_stop_before_the_points_are_done_gives_no_outcome(
    document: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headend.running.execution.count_cores", lambda: 1)
    stop = threading.Event()
    carry_out = Job.run
    done: list[Job] = []

    def work(job: Job, told: threading.Event | None = None) -> pl.DataFrame | None:
        result = carry_out(job, told)
        done.append(job)
        if len(done) == 4:
            stop.set()
        return result

    monkeypatch.setattr(Job, "run", work)
    outcomes = list(run_studies(order_all(document), stop))
    # The first study may or may not have been written by then; no other can have been.
    assert {order.folder.name for order, _ in outcomes} <= {"one"}
    assert len(list(Path("out").glob("*/points/*.parquet"))) == 4


def test_those_who_run_the_points_are_let_go_where_nobody_listens_any_more(document: Path) -> None:
    class Known(Threads):
        def run(
            self, tasks: Iterable[Task], stop: threading.Event
        ) -> Generator[tuple[Task, Completed | Failure], None, None]:
            self.stream = super().run(tasks, stop)
            return self.stream

    def fail(progress: Progress) -> None:
        if progress.done:
            raise RuntimeError("nobody listens")

    executor, stop = Known(), threading.Event()
    study = read_study("document/one", document / "one")
    with pytest.raises(RuntimeError, match="nobody listens"):
        run_points(study, PointStore(document / "points"), stop, fail, executor)
    assert inspect.getgeneratorstate(executor.stream) == inspect.GEN_CLOSED
    assert stop.is_set()


def test_a_report_and_figures_that_would_be_the_same_are_left_as_they_are(
    document: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[str] = []
    convert = export._convert

    def count(svg: str, name: str, paper: Paper | None = None) -> bytes:
        drawn.append(name)
        return convert(svg, name, paper)

    monkeypatch.setattr(export, "_convert", count)
    out = Path("out")

    def run_again() -> tuple[int, bool]:
        """Say how often a figure was drawn, and whether the report was written."""
        drawn.clear()
        report = out / "report.html"
        before = report.stat().st_mtime_ns if report.exists() else 0
        assert run("--out", "out", name="document/one").exit_code == 0
        return len(drawn), report.stat().st_mtime_ns != before

    assert run_again() == (1, True)
    whole = read_all(out)
    assert run_again() == (0, False)
    assert read_all(out) == whole
    # What is gone, or was left in the middle, is made again.
    for lost in ("figures/pings.svg", "report.html", "claims.json", "manifest.json"):
        (out / lost).rename(Path("gone"))
        assert run_again() == (1, True)
        assert read_all(out) == whole
    # So is what other words or another release would draw.
    definition = document / "one" / "study.toml"
    definition.write_text(definition.read_text().replace("They fall.", "They drop."))
    assert run_again() == (1, True)
    monkeypatch.setattr("headend.pages.page.fingerprint_drawing", lambda: "another")
    assert run_again() == (1, True)


def test_a_study_that_is_stopped_while_it_is_drawn_anew_is_not_taken_for_done(
    document: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("--out", "out", name="document/one").exit_code == 0
    whole = read_all(Path("out"))
    with monkeypatch.context() as patch:
        patch.setattr("headend.pages.page.fingerprint_drawing", lambda: "another")
        patch.setattr("headend.figures.export.write_file", interrupt)
        assert run("--out", "out", name="document/one").exit_code == 130
    assert not (Path("out") / "claims.json").exists()
    assert run("--out", "out", name="document/one").exit_code == 0
    assert read_all(Path("out")) == whole


def interrupt(content: bytes, path: Path) -> None:
    raise KeyboardInterrupt


def test_a_study_is_told_in_few_lines_and_whole_when_that_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = CliRunner().invoke(app, ["study", "run", "cbt/equal-loss", "--quick"])
    assert answer.exit_code == 0, answer.output
    lines = answer.stdout.splitlines()
    assert len(lines) <= 25
    assert "Does RED take the same share of a large flow's packets and of a tiny one's?" in lines
    assert "--full prints all claims with their notes." in lines
    full = CliRunner().invoke(app, ["study", "run", "cbt/equal-loss", "--quick", "--full"]).stdout
    assert "Parris, Jeffay and Smith" in full
    assert len(full.splitlines()) > len(lines)
