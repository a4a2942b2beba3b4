"""The page over all studies: every claim of those that were run, and a word about the others."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from headend.cli.main import app
from headend.figures.figure import Figure, Panel
from headend.figures.theme import make_chart
from headend.library import find_study, list_studies
from headend.study import Finding, Judgement, Study, Verdict, read_study
from headend.study.outcome import StudyOutcome, choose_study_folder

NAMES = ("buffer-control/ping-latency", "cbt/equal-loss")


@pytest.fixture
def finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Study]:
    """Studies with one claim reproduced, and all others differing."""
    monkeypatch.chdir(tmp_path)
    studies = [read_study(name, find_study(name)) for name in NAMES]
    chart = make_chart(pl.DataFrame({"x": [1, 2]})).mark_point().encode(x="x:Q")
    figure = Figure("dots", "Dots & lines", "Look at the dots.", [Panel("", chart)])
    for study in studies:
        verdicts = [Verdict.REPRODUCED] + [Verdict.DIFFERS] * (len(study.claims) - 1)
        judgements = [
            Judgement(claim, Finding("17 < 18", verdict, (1.0, 2.0), "because"))
            for claim, verdict in zip(study.claims, verdicts, strict=True)
        ]
        outcome = StudyOutcome(study, pl.DataFrame({"x": [1.0]}), judgements, [figure])
        outcome.write_into(choose_study_folder(study))
    return studies


def test_every_claim_and_figure_is_on_the_page(finished: list[Study]) -> None:
    answer = CliRunner().invoke(app, ["study", "report"])
    assert answer.exit_code == 0, answer.output
    page = Path("results/studies/report.html").read_text(encoding="utf-8")
    for study in finished:
        for claim in study.claims:
            assert f">{claim.id}</a>" in page
    assert page.count("data:image/svg+xml;base64,") == len(finished)
    assert page.count("Dots &amp; lines</h4>") == len(finished)
    assert "17 &lt; 18" in page
    assert "validation/response" in page[page.index("Not run") :]
    (line,) = [line for line in answer.stdout.splitlines() if "not run" in line]
    many = len(list_studies())
    assert line == f"{many - len(finished)} of {many} studies were not run, and so are not in it."


def test_claims_alone_are_markdown(finished: list[Study]) -> None:
    assert CliRunner().invoke(app, ["study", "report", "--markdown", "receipts.md"]).exit_code == 0
    text = Path("receipts.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(rows) == 1 + len(finished) + sum(1 + len(study.claims) for study in finished)
    claim = finished[0].claims[1]
    (row,) = [row for row in rows if row.startswith(f"| {claim.id} |")]
    assert "17 \\< 18 | differs: because |" in row


def test_verdicts_are_counted_by_document(finished: list[Study]) -> None:
    answer = CliRunner().invoke(app, ["study", "report", "--json"])
    document = json.loads(answer.stdout)
    claims = {
        item["study"]: [claim["verdict"] for claim in item["claims"]]
        for item in document["studies"]
        if item["claims"]
    }
    assert claims.keys() == set(NAMES)
    assert all(verdicts.count("reproduced") == 1 for verdicts in claims.values())
    shown = CliRunner().invoke(app, ["study", "report"]).stdout
    differing = sum(len(study.claims) - 1 for study in finished)
    (total,) = [line.split() for line in shown.splitlines() if line.startswith("all ")]
    assert total == ["all", str(len(finished)), str(differing), "0"]


def test_nothing_to_report_is_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    answer = CliRunner().invoke(app, ["study", "report"])
    assert answer.exit_code == 2
    assert "headend study run all makes them" in answer.stderr


def test_what_an_older_version_wrote_is_refused(finished: list[Study]) -> None:
    (choose_study_folder(finished[0]) / "claims.json").write_text('{"claims": []}')
    answer = CliRunner().invoke(app, ["study", "report"])
    assert answer.exit_code == 2
    assert "run the study again" in answer.stderr
