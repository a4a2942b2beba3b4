"""The command and the function from a name to the page, with runs of a second."""

from __future__ import annotations

import json
import os
import re
import threading
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest
from click.testing import CliRunner, Result

import headend
from headend.analysis.estimate import format_estimate
from headend.cli.main import app
from headend.errors import InputError
from headend.evaluation.criterion import take
from headend.evaluation.latex import check_latex, render_latex
from headend.evaluation.result import Evaluation, load_evaluation
from headend.evaluation.tables import list_misses
from headend.running.job import Job
from vega_lite import check_panel

#: The least that is run: ten runs of some 50 ms.
QUICK = ("--section", "5.1.1", "--quick", "--seeds", "5")


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    """Give an evaluation of CoDel that is kept."""
    folder = tmp_path_factory.mktemp("evaluation") / "codel"
    return headend.evaluate("queue", "codel", sections=["5.1.1"], quick=True, seeds=5, out=folder)


def call(*words: str) -> Result:
    return CliRunner().invoke(app, ["evaluate", *words])


def test_codel_keeps_the_queue_of_one_flow_short_and_costs_goodput(result: Evaluation) -> None:
    # RFC 8289 §2: one flow's sawtooth cannot fill a path whose queue is far below its BDP.
    standings = dict(result.verdicts.select("criterion", "standing").iter_rows())
    assert standings == {"delay": "holds", "goodput": "fails"}
    assert result.is_missed
    assert result.answer.question == "How does codel fare in the tests of RFC 7928?"
    assert result.answer.sentences[0] == "codel: 1 of 2 criteria hold, 1 fails."
    assert "§5.1.1" in result.answer.sentences[1]


def test_the_page_says_verdict_number_bound_whose_and_the_baseline(result: Evaluation) -> None:
    assert result.folder
    page = (result.folder / "report.html").read_text(encoding="utf-8")
    page = page.replace("\N{NO-BREAK SPACE}", " ").replace("&#39;", "'").replace("<wbr>", "")
    worst = list_misses(result.findings, ["codel"])[0].worst
    assert worst
    assert worst.own
    assert worst.baseline
    for told in (
        "How does codel fare in the tests of RFC 7928?",
        "What fails, worst first",
        'href="#friendly"',
        'id="friendly"',
        "bound: the RFC's comparison, our margin (§1.2)",
        "RFC 7928, section 13: the scenario must be considered.",
        "<code>headend run worst-friendly-codel.toml</code>",
        "goodput ≥ 90 % of drop_tail's",
        format_estimate(worst.own, "rate"),
        f"drop_tail: {format_estimate(worst.baseline, 'rate')}",
        "What is not run of RFC 7928",
        "the RFC leaves tests of schedulers out of its scope",
    ):
        assert told in page, told


def test_the_worst_condition_of_what_fails_is_a_scenario(result: Evaluation) -> None:
    assert result.folder
    ran = headend.run(result.folder / "worst-friendly-codel.toml")
    goodput = ran.flows.filter(flow="tcp", direction="down")["goodput_bps"].item()
    (verdict,) = list_misses(result.findings, ["codel"])
    (condition,) = (own.condition for own in verdict.findings)
    assert goodput == result.findings.read(verdict.case, condition, "codel", take("goodput"))[1]
    assert "codel" in ran.title


def test_finished_points_are_kept_and_read_back(
    result: Evaluation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Job, "run", None)
    again = headend.evaluate(
        "queue", "codel", sections=["5.1.1"], quick=True, seeds=5, out=result.folder
    )
    assert again.table.equals(result.table)
    assert result.folder
    loaded = headend.load(result.folder)
    assert isinstance(loaded, Evaluation)
    assert loaded.verdicts.equals(result.verdicts)
    assert loaded.request == result.request
    assert [figure.name for figure in loaded.draw_figures()] == ["friendly-trade"]


def test_the_figures_of_every_family_are_drawn() -> None:
    for family, name, sections in (
        ("queue", "codel", ["friendly", "round-trips", "bursts"]),
        ("sender", "cubic", ["loss", "beside"]),
        ("media", "video_call", ["long"]),
    ):
        found = headend.evaluate(
            family, name, sections=sections, rates=[2e6], rtts=[2e7], buffers=[1.0], seeds=2
        )
        answer, figures = found.present()
        assert answer.why == figures[0].name
        drawn = {own.case for own in found.request.family.curves}
        drawn |= {own.case for own in found.request.family.trades}
        assert len(figures) == len(drawn & {case.id for case in found.findings.cases})
        for figure in figures:
            for panel in figure.panels:
                check_panel(panel)


def test_an_interruption_keeps_what_is_finished(tmp_path: Path) -> None:
    stop = threading.Event()
    stop.set()
    stopped = headend.evaluate(
        "queue", "codel", sections=["5.1.1"], quick=True, out=tmp_path / "out", stop=stop
    )
    assert not stopped.complete
    assert not (tmp_path / "out" / "report.html").exists()
    with pytest.raises(InputError, match="run it again to go on"):
        load_evaluation(tmp_path / "out")


def test_a_folder_of_other_names_is_refused(result: Evaluation) -> None:
    with pytest.raises(InputError, match="holds the results of another evaluation"):
        headend.evaluate("queue", "pie", sections=["5.1.1"], quick=True, seeds=5, out=result.folder)


def test_the_tables_are_written(result: Evaluation, tmp_path: Path) -> None:
    files = result.to_csv(tmp_path / "csv")
    assert [file.name for file in files] == ["results.csv", "summary.csv", "verdicts.csv"]
    rows = pl.read_csv(files[-1])
    assert rows.height == 2
    assert {"mean", "low", "high", "bound", "bound_of", "baseline_mean"} <= set(rows.columns)
    assert result.folder
    exported = headend.export_tables(result.folder, tmp_path / "tables")
    assert [file.name for file in exported] == ["results.csv", "summary.csv", "verdicts.csv"]


def test_the_latex_table_escapes_and_marks(result: Evaluation) -> None:
    text = render_latex(result.findings)
    assert r"drop\_tail" in text
    assert r"$\geq$ 90 \% of drop\_tail's" in text
    assert text.count(r"\,$\times$") == 1
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == 1


def test_latex_never_replaces_a_file_of_somebody_else(tmp_path: Path) -> None:
    own = tmp_path / "paper.tex"
    own.write_text(r"\documentclass{article}")
    with pytest.raises(InputError, match="is no LaTeX of headend"):
        check_latex(own)
    assert check_latex(own, force=True) == own
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match=r"expected a file to write LaTeX to, found a pipe"):
        check_latex(pipe, force=True)


def test_the_command_prints_the_answer_and_ends_with_one(tmp_path: Path) -> None:
    files = ["--junit", str(tmp_path / "j.xml"), "--latex", str(tmp_path / "t.tex")]
    done = call("queue", "codel", *QUICK, "--out", str(tmp_path / "out"), *files)
    assert done.exit_code == 1, done.output
    assert "codel: 1 of 2 criteria hold, 1 fails." in done.output
    assert "fails: TCP-friendly sender (§5.1.1): goodput is 7." in " ".join(done.output.split())
    root = ElementTree.parse(tmp_path / "j.xml").getroot()
    assert {key: root.get(key) for key in ("tests", "failures", "skipped")} == {
        "tests": "2", "failures": "1", "skipped": "0"
    }  # fmt: skip
    assert (tmp_path / "t.tex").read_text().startswith("% Written by headend evaluate: RFC 7928")
    # Nobody is evaluated who stands beside.
    done = call("queue", "drop_tail", *QUICK, "--out", str(tmp_path / "base"))
    assert done.exit_code == 0, done.output


LAW = """\
from headend import ControlLaw


class Crash(ControlLaw):
    def enqueue(self, packet, backlog, line):
        if line.rate > 20_000_000:
            raise ValueError("too fast")
        backlog.push(packet)


class Lossy(ControlLaw):
    arrived = 0

    def enqueue(self, packet, backlog, line):
        self.arrived += 1
        if self.arrived % 10:
            backlog.push(packet)
        else:
            backlog.discard(packet)
"""


@pytest.fixture
def law(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Write two laws to a file; one raises above 20 Mbit/s, one drops each tenth packet."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "law.py").write_text(LAW)
    return "law.py"


def test_runs_that_fail_leave_criteria_undecided_and_everything_says_so(
    law: str, tmp_path: Path
) -> None:
    words = ("--section", "5.1.1", "--rate", "10 Mbit/s, 50 Mbit/s", "--rtt", "20 ms")
    files = ["--junit", "j.xml", "--latex", "t.tex", "--csv", "csv", "--out", "out"]
    done = call("queue", f"{law}:Crash", *words, "--buffer", "1", "--seeds", "2", *files)
    assert done.exit_code == 1, done.output
    told = " ".join(done.stdout.split())
    reason = "2 of 2 runs of law.py:Crash failed"
    assert "law.py:Crash: 0 of 2 criteria hold, 2 are undecided." in told
    assert f"2 of 2 criteria of law.py:Crash lack runs: {reason}, in TCP-friendly sender" in told
    (failed,) = [line for line in done.stderr.splitlines() if line.startswith("failed: ")]
    first = "friendly, 50 Mbit/s, 20 ms, 1 BDP, law.py:Crash, seed 1"
    assert failed.startswith(f"failed: 2 points, the first {first}: at ")
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    suites = ElementTree.parse(tmp_path / "j.xml").getroot()
    assert suites.get("skipped") == suites.get("tests") == "2"
    assert page.replace("\N{NO-BREAK SPACE}", " ").count(reason) > 2
    assert all(reason in str(own.get("message")) for own in suites.iter("skipped"))
    assert (tmp_path / "t.tex").read_text().count(reason) == 2
    rows = pl.read_csv(tmp_path / "csv" / "verdicts.csv").sort("rate", "criterion")
    assert rows.select("rate", "standing", "missing", "seeds").rows() == [
        *[("10 Mbit/s", "holds", None, 2)] * 2, *[("50 Mbit/s", "undecided", reason, 0)] * 2
    ]  # fmt: skip


def test_the_worst_condition_of_a_law_is_run_as_the_page_says(law: str, tmp_path: Path) -> None:
    found = headend.evaluate(
        "queue", f"{law}:Lossy", sections=["5.1.1"], quick=True, seeds=2, out=tmp_path / "out"
    )
    assert found.is_missed
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    page = page.replace("\N{NO-BREAK SPACE}", " ").replace("<wbr>", "")
    (told,) = re.findall("<code>headend (run .*?)</code>", page)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path / "out")
        ran = CliRunner().invoke(app, [*told.split(), "--out", str(tmp_path / "ran")])
    assert ran.exit_code == 0, ran.output


def test_json_is_one_document(tmp_path: Path) -> None:
    done = call("queue", "codel", *QUICK, "--out", str(tmp_path / "out"), "--json", "--no-report")
    document: dict[str, Any] = json.loads(done.stdout)
    assert document["document"] == "RFC 7928"
    assert document["counts"]["codel"] == {
        "fails": 1, "undecided": 0, "holds": 1, "missing": 0
    }  # fmt: skip
    assert [own["standing"] for own in document["verdicts"]][:2] == ["holds", "missing"]
    assert document["not_run"][0]["section"] == "2.4"
    assert not (tmp_path / "out" / "report.html").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["queue", "codl", *QUICK], 'queue codl: unknown name "codl"; did you mean "codel"?'),
        (["queue", "{codel={tarket=1}}", *QUICK], 'did you mean "target"?'),
        (["sender", "cubik", "--quick"], "congestion control cubik: unknown"),
        (["media", "video_cal", "--quick"], 'did you mean "video_call"?'),
        (["media", "voice", "--quick"], "application voice: has not what RFC 8867 measures:"),
        (["queue"], "NAME"),
        (["queue", "codel", "--rate", "fast"], "--rate fast"),
        (["queue", "codel", "--buffer", "1 BDP"], "--buffer 1 BDP"),
        (["queue", "codel", "--section", "11"], "it is a discussion, and no test"),
        (["queue", "codel", "--seeds", "no"], "--seeds no"),
        (["queues", "codel"], "queue"),
    ],
)
def test_bad_input_is_one_line(words: list[str], told: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["evaluate", *words], env={"PWD": str(tmp_path)})
    assert done.exit_code == 2
    assert told in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_family_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match="expected one of queue, sender, media"):
        headend.evaluate("line", "codel")
    with pytest.raises(InputError, match="expected the name of a queue, found nothing"):
        headend.evaluate("queue", [])
