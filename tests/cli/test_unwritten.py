"""Results that are finished are kept and told, even if their report cannot be written."""

from __future__ import annotations

import errno
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jinja2
import pytest
from click.testing import CliRunner
from click.testing import Result as Answer

import headend
from headend.cli.main import app
from headend.errors import InputError
from headend.running.job import Job
from headend.running.result import Result


class Panic(BaseException):
    """As a library in Rust tells that it gave up."""


#: What may go wrong, what is said of it, and the exit code.
FAULTS = [
    (OSError(errno.ENOSPC, "No space left on device"), "cannot be written: no space left", 2),
    (InputError("out/report.html: cannot be written: is a directory"), "is a directory", 2),
    (MemoryError(), "out/report.html: cannot be made: out of memory", 2),
    (jinja2.TemplateError("no such block"), "TemplateError: no such block", 70),
    (ValueError("Vega-Lite to SVG conversion failed"), "ValueError: Vega-Lite to SVG", 70),
    (Panic("called unwrap"), "Panic: called unwrap", 70),
]

LINE = """\
duration = "2 s"
title = "A line"
bottleneck = "line.up"
link.line.point_to_point.up = { rate = "1 Mbit/s", queue = "drop_tail" }
flow.ping = { application = "ping" }
"""

SWEEP = """\
title = "Small"
scenario = "line.toml"
[grid]
queue = ["drop_tail", "codel"]
[measures]
rtt = "ping.rtt.mean"
"""

STUDY = """\
format = 1
title = "The study of {name}"
source = "nowhere"
scenario = "line.toml"
[grid.rtt]
values = ["1", "2"]
set = {{ "flow.ping.rtt" = "{{}}0 ms" }}
[measures]
ping = "ping.rtt.mean"
[[claim]]
id = "A"
source = "here"
statement = "There is a ping."
expected = "some"
check = "count"
[[figure]]
name = "pings"
title = "Pings"
explanation = "They fall."
draw = "draw"
"""

ANALYSIS = """\
from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.study.claims import ClaimResult, ClaimVerdict

def count(points, limits):
    return ClaimResult("as many as were run", ClaimVerdict.REPRODUCED)

def draw(points):
    return [Panel("", vl.Chart(points).mark_point().encode(x="rtt:N", y="ping:Q"))]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "line.toml").write_text(LINE, encoding="utf-8")
    (tmp_path / "small.toml").write_text(SWEEP, encoding="utf-8")
    for name in ("one", "two"):
        study = tmp_path / "document" / name
        study.mkdir(parents=True)
        (study / "line.toml").write_text(LINE, encoding="utf-8")
        (study / "study.toml").write_text(STUDY.format(name=name), encoding="utf-8")
        (study / "analysis.py").write_text(ANALYSIS, encoding="utf-8")
    return tmp_path


@pytest.fixture
def fault(request: pytest.FixtureRequest) -> Iterator[tuple[str, int]]:
    """Let no page be written, for a reason; give what is said of it, and the exit code."""
    error, said, code = request.param

    def fail(*_: Any, **__: Any) -> None:
        raise error

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("headend.pages.page.write_page", fail)
        yield said, code


every_fault = pytest.mark.parametrize(
    "fault", FAULTS, indirect=True, ids=lambda fault: type(fault[0]).__name__
)
full_disk = pytest.mark.parametrize("fault", FAULTS[:1], indirect=True, ids=["OSError"])


def call(*arguments: str) -> Answer:
    return CliRunner().invoke(app, list(arguments))


def list_errors(answer: Answer) -> list[str]:
    return [line for line in answer.stderr.splitlines() if line.startswith("error: ")]


def check_told(answer: Answer, fault: tuple[str, int], later: str) -> None:
    said, code = fault
    assert answer.exit_code == code
    (line,) = list_errors(answer)
    assert line.startswith("error: out/report.html: cannot be ")
    assert said in line
    assert later in line


@every_fault
def test_a_run_without_its_report_is_kept_and_told(folder: Path, fault: tuple[str, int]) -> None:
    answer = call("run", "line.toml", "--out", "out")
    check_told(answer, fault, "the results are kept, and headend report out makes it of them")
    assert "Ping is good" in answer.stdout
    assert "Kept in out; headend report out makes a report of it" in answer.stdout
    assert Result.load("out").title == "A line"


@every_fault
def test_a_comparison_without_its_report_is_kept_and_told(
    folder: Path, fault: tuple[str, int]
) -> None:
    answer = call("compare", "line.toml", "--vary", "queue=drop_tail,codel", "--out", "out")
    check_told(answer, fault, "headend report out makes it")
    assert "Which queue suits ping" in answer.stdout
    assert Result.load("out/codel").title == "A line"


@every_fault
def test_a_sweep_without_its_report_is_kept_and_told(folder: Path, fault: tuple[str, int]) -> None:
    answer = call("sweep", "small.toml", "--out", "out")
    check_told(answer, fault, "headend report out makes it")
    assert "2 of 2 points" in answer.stdout
    assert "drop_tail" in answer.stdout
    assert "Report:" not in answer.stdout
    assert {"results.parquet", "summary.parquet", "manifest.json"} <= {
        path.name for path in Path("out").iterdir()
    }


@every_fault
def test_a_study_without_its_report_is_told_and_its_points_are_kept(
    folder: Path, fault: tuple[str, int]
) -> None:
    answer = call("study", "run", "document/one", "--out", "out")
    check_told(answer, fault, "its points are kept, and the same command, run again, makes it")
    assert "The study of one" in answer.stdout
    assert "reproduced" in answer.stdout
    assert "Report:" not in answer.stdout
    assert Path("out/claims.json").exists()
    assert [line for line in headend.verify("out").damage if "report.html" not in line] == []


@pytest.mark.parametrize(
    "command",
    [
        ("run", "line.toml"),
        ("compare", "line.toml", "--vary", "queue=drop_tail,codel"),
        ("sweep", "small.toml"),
    ],
    ids=lambda command: command[0],
)
def test_the_report_is_made_later_as_it_would_have_been(
    folder: Path, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr("headend.pages.page.render_page", fail)
        assert call(*command, "--out", "out").exit_code == 2
    assert not Path("out/report.html").exists()
    assert call("report", "out").exit_code == 0
    assert call(*command, "--out", "whole").exit_code == 0
    made, whole = (Path(name, "report.html").read_text("utf-8") for name in ("out", "whole"))
    assert made == whole


def test_a_study_is_completed_without_running_a_point_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise ValueError("Vega-Lite to SVG conversion failed")

    with monkeypatch.context() as patch:
        patch.setattr("headend.figures.export._draw", fail)
        assert call("study", "run", "document/one", "--out", "out").exit_code == 70

    def refuse(job: Job, stop: threading.Event | None = None) -> None:
        raise AssertionError("a point is run again")

    monkeypatch.setattr(Job, "run", refuse)
    answer = call("study", "run", "document/one", "--out", "out")
    assert (answer.exit_code, list_errors(answer)) == (0, [])
    assert answer.stdout.splitlines()[-1] == "Report: out/report.html"


def test_of_several_studies_the_others_go_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [Path("document/one"), Path("document/two")]
    monkeypatch.setattr("headend.scenario.library.find_studies", lambda _name: found)
    Path("out/one/report.html/full").mkdir(parents=True)
    Path("out/one/points").mkdir()
    answer = call("study", "run", "document", "--out", "out")
    assert answer.exit_code == 2
    (line,) = list_errors(answer)
    assert line.startswith("error: out/one/report.html: cannot be written: ")
    assert answer.stdout.index("The study of one") < answer.stdout.index("The study of two")
    assert Path("out/two/report.html").is_file()
    document = json.loads(call("study", "run", "document", "--out", "out", "--json").stdout)
    assert ["error" in study for study in document["studies"]] == [True, False]
    assert all(study["claims"] for study in document["studies"])


def test_a_folder_in_the_report_s_place_costs_a_sweep_its_report_only(folder: Path) -> None:
    assert call("sweep", "small.toml", "--out", "out").exit_code == 0
    Path("out/report.html").unlink()
    Path("out/report.html/full").mkdir(parents=True)
    answer = call("sweep", "small.toml", "--out", "out")
    check_told(answer, ("cannot be written", 2), "headend report out makes it")
    assert "2 of 2 points" in answer.stdout


@full_disk
@pytest.mark.parametrize(
    ("command", "key"),
    [
        (("run", "line.toml"), "flows"),
        (("compare", "line.toml", "--vary", "queue=drop_tail,codel"), "figures"),
        (("sweep", "small.toml"), "summary"),
        (("study", "run", "document/one"), "claims"),
    ],
    ids=["run", "compare", "sweep", "study"],
)
def test_json_and_quiet_tell_it_too(
    folder: Path, fault: tuple[str, int], command: tuple[str, ...], key: str
) -> None:
    answer = call(*command, "--out", "out", "--json")
    document = json.loads(answer.stdout)
    assert answer.exit_code == 2
    assert list_errors(answer) == [f"error: {document['error']}"]
    assert document[key]
    answer = call(*command, "--out", "out", "--quiet", *(["--force"] * (command[0] != "study")))
    assert (answer.exit_code, answer.stdout) == (2, "")
    assert list_errors(answer) == [f"error: {document['error']}"]


@full_disk
def test_a_report_that_is_missing_comes_before_a_missed_expectation(
    folder: Path, fault: tuple[str, int]
) -> None:
    with Path("line.toml").open("a") as file:
        file.write('expect.slow = "ping.rtt.p50 > 1 s"\n')
    answer = call("run", "line.toml", "--out", "out")
    assert answer.exit_code == 2
    assert "missed" in answer.stdout
    assert call("run", "line.toml", "--out", "out", "--force", "--quiet").exit_code == 2


def test_a_picture_that_cannot_be_drawn_costs_no_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("headend.figures.export._draw", fail)
        answer = call("run", "line.toml", "--out", "out", "--explain", "ping@1 s")
    assert answer.exit_code == 2
    assert re.fullmatch(
        "error: out/life.svg: cannot be written: no space left on device; the results are kept,"
        " and headend figures out draws it of them\n",
        answer.stderr,
    )
    assert "Report: out/report.html" in answer.stdout
    assert not Path("out/life.svg").exists()
    assert call("figures", "out").exit_code == 0


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (("run", "line.toml"), "Kept in out; headend report out makes a report of it\n"),
        (
            ("sweep", "small.toml"),
            "interrupted: all points are kept in out; headend report out makes the report\n",
        ),
    ],
    ids=["run", "sweep"],
)
def test_an_interruption_of_the_report_costs_the_report_only(
    folder: Path, command: tuple[str, ...], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("headend.pages.page.write_page", interrupt)
        answer = call(*command, "--out", "out")
    assert answer.exit_code == 130
    assert answer.output.endswith(told)
    assert call("report", "out").exit_code == 0
