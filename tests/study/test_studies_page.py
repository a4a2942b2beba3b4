"""The page over all studies: every claim of those that were run, and a word about the others."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

from headend.cli.main import app
from headend.figures.figure import Figure, Panel
from headend.figures.theme import make_chart
from headend.results.seal import read_seals, seal
from headend.scenario.library import find_study
from headend.scenario.shipped import list_studies
from headend.study import CheckedClaim, ClaimResult, ClaimVerdict, Kind, Reading, Study, read_study
from headend.study.claims import COUNTED
from headend.study.documents import DOCUMENTS, FIVE, Entry, read_catalogue
from headend.study.locating import choose_study
from headend.study.outcome import StudyOutcome, choose_study_folder
from headend.study.receipts import Exhibit, list_exhibits, read_receipts
from headend.study.sentences import count_by_kind

NAMES = ("buffer-control/ping-latency", "cbt/equal-loss")
NAMES_OF = dict(name.split("/") for name in NAMES)


@pytest.fixture
def finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Study]:
    """Studies with one claim reproduced, and all others differing."""
    monkeypatch.chdir(tmp_path)
    studies = [read_study(name, find_study(name)) for name in NAMES]
    chart = make_chart(pl.DataFrame({"x": [1, 2]})).mark_point().encode(x="x:Q")
    for study in studies:
        # A figure that the study has, so that the page knows what of the document it shows.
        name = next((one.name for one in study.figures if one.shows), study.figures[0].name)
        figure = Figure(name, "Dots & lines", "Look at the dots.", [Panel("", chart)])
        verdicts = [ClaimVerdict.REPRODUCED] + [ClaimVerdict.DIFFERS] * (len(study.claims) - 1)
        claims = [
            CheckedClaim(claim, ClaimResult("17 < 18", verdict, (1.0, 2.0), "because"))
            for claim, verdict in zip(study.claims, verdicts, strict=True)
        ]
        outcome = StudyOutcome(study, pl.DataFrame({"x": [1.0]}), claims, [figure])
        outcome.write_into(choose_study_folder(study))
    return studies


def write_resealed(path: Path, content: dict[str, Any]) -> None:
    """Write other claims than were found, as if they had been."""
    path.write_text(json.dumps(content))
    seal(path.parent, read_seals(path.parent))


def test_every_claim_and_figure_is_on_the_page(finished: list[Study]) -> None:
    answer = CliRunner().invoke(app, ["study", "report"])
    assert answer.exit_code == 0, answer.output
    page = Path("results/studies/report.html").read_text(encoding="utf-8")
    for study in finished:
        for claim in study.claims:
            assert f">{claim.id}</a>" in page
    assert page.count("data:image/svg+xml;base64,") == len(finished)
    assert page.count("Dots &amp; lines") >= len(finished)
    assert "17 &lt; 18" in page
    many = len(list_studies())
    line = f"{many - len(finished)} of {many} studies were not run in full, and so are not in it."
    assert line in page
    assert line in answer.stdout.splitlines()


def list_own(study: Study) -> dict[str, Exhibit]:
    """Give the figures and tables of a study's document, by name."""
    receipts = read_receipts(Path("results/studies"))
    document = study.name.split("/")[0]
    own = [item for item in receipts if item.study.name.split("/")[0] == document]
    return {exhibit.entry.name: exhibit for exhibit in list_exhibits(own)}


def test_a_published_figure_stands_beside_our_picture_of_it(finished: list[Study]) -> None:
    study = finished[0]
    shown = next(one.shows for one in study.figures if one.shows)
    exhibits = list_own(study)
    assert exhibits.keys() >= set(shown)
    for name, exhibit in exhibits.items():
        assert all(name in one.claim.source for one in exhibit.claims)
        assert (exhibit.picture is not None) == (name in shown)
        assert exhibit.is_run == (exhibit.study in ("", study.name))


def test_every_figure_of_a_document_has_its_row_also_without_a_claim(
    finished: list[Study],
) -> None:
    assert CliRunner().invoke(app, ["study", "report", "--markdown", "receipts.md"]).exit_code == 0
    text = Path("receipts.md").read_text(encoding="utf-8")
    for document in ("buffer-control", "cbt"):
        names = read_catalogue(find_study(f"{document}/{NAMES_OF[document]}").parent)
        assert names
        for name, entry in names.items():
            assert f"**{name}**: {entry.caption}" in text
    lines = text.splitlines()
    assert "A diagram of the bench of `buffer-control/voice`, which is not drawn anew." in lines
    assert "`buffer-control/voice` was not run." in lines


def test_a_figure_is_shown_by_the_study_whose_results_have_it_as_their_source() -> None:
    """Two studies of the AQM paper may draw its Figure 1."""
    entry = Entry("Figure 1")
    names = [f"aqm-docsis/{name}" for name in ("collisions", "matrix")]
    shipped = [read_study(name, find_study(name)) for name in names]
    figures = [replace(study.figures[0], shows=(entry.name,)) for study in shipped]
    studies = [
        replace(study, figures=(figure,)) for study, figure in zip(shipped, figures, strict=True)
    ]
    for order in (studies, studies[::-1]):
        chosen = choose_study(entry, order)
        assert chosen is not None
        assert chosen.name == "aqm-docsis/matrix"
    named = choose_study(Entry("Figure 1", study="collisions"), studies)
    assert named == studies[0]
    assert choose_study(Entry("Figure 99"), studies) is None


def test_the_page_is_markdown_with_small_pictures(finished: list[Study]) -> None:
    assert CliRunner().invoke(app, ["study", "report", "--markdown", "receipts.md"]).exit_code == 0
    text = Path("receipts.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    for study in finished:
        for claim in study.claims:
            (row,) = [row for row in rows if row.startswith(f"| {claim.id}<br>")]
            assert "17 \\< 18" in row
    differing = finished[0].claims[1]
    (row,) = [row for row in rows if row.startswith(f"| {differing.id}<br>")]
    assert "differs: because" in row
    pictures = re.findall(
        r'\[<img src="(receipts/[^"]+)"[^>]* width="420">\]\((receipts/[^)]+)\)', text
    )
    assert pictures
    for small, whole in pictures:
        assert Path(small).read_bytes().startswith(b"\x89PNG")
        assert Path(whole).read_text(encoding="utf-8").startswith("<svg")
        assert "aria-" not in Path(whole).read_text(encoding="utf-8")
    runs = [exhibit.run for exhibit in list_own(finished[0]).values() if exhibit.run]
    assert runs
    for run in runs:
        assert f"<!-- lab: {run.words}: {run.given.write_fragment()} -->" in text.splitlines()


def count_results(documents: Sequence[str]) -> int:
    """Count the published results of documents."""
    studies = [read_study(name, path) for name, path in list_studies().items()]
    own = [study for study in studies if study.name.split("/")[0] in documents]
    return sum(claim.kind is Kind.RESULT for study in own for claim in study.claims)


@pytest.mark.usefixtures("finished")
def test_results_of_other_documents_are_counted_apart() -> None:
    name = "validation/random-loss"
    study = read_study(name, find_study(name))
    make_outcome(study, [ClaimVerdict.DIFFERS]).write_into(choose_study_folder(study))
    answer = CliRunner().invoke(app, ["study", "report", "--markdown", "receipts.md"])
    assert answer.exit_code == 0, answer.output
    text = Path("receipts.md").read_text(encoding="utf-8")
    (first, apart) = re.findall(r"Of the (\d+) published results of [^.]*\.", text)
    assert int(first) == count_results(FIVE)
    assert int(apart) == count_results([name for name in DOCUMENTS if name not in FIVE])
    of_five, others = text.split("| published results of other documents |")
    assert DOCUMENTS["buffer-control"] in of_five
    assert DOCUMENTS["validation"] not in of_five
    assert f"| {DOCUMENTS['validation']} | 0 | 0 | 4 | 0 | 0 |" in others


def test_only_published_results_are_in_the_headline(finished: list[Study]) -> None:
    answer = CliRunner().invoke(app, ["study", "report", "--json"])
    document = json.loads(answer.stdout)
    claims = {
        item["study"]: [(claim["kind"], claim["verdict"]) for claim in item["claims"]]
        for item in document["studies"]
        if item["claims"]
    }
    assert claims.keys() == set(NAMES)
    every = [pair for pairs in claims.values() for pair in pairs]
    results = [verdict for kind, verdict in every if kind == "published result"]
    assert 0 < len(results) < len(every)
    shown = CliRunner().invoke(app, ["study", "report"]).stdout
    parts = (results.count("reproduced"), results.count("differs"))
    assert parts[0] == 1
    left = count_results(FIVE) - len(results)
    told = f"of the five documents, 1 is reproduced, {parts[1]} differ and {left} were not run."
    assert f"Of the {count_results(FIVE)} published results {told}" in " ".join(shown.split())
    (of_results, of_all) = [line.split() for line in shown.splitlines() if line.startswith("all ")]
    assert of_results == ["all", str(parts[0]), "0", str(parts[1]), "0", "0"]
    assert sum(map(int, of_all[1:])) == len(every)


def weaken(study: Study, count: int) -> Study:
    """Give a study whose first claims are weak."""
    weak = [replace(claim, weak="any queue passes it") for claim in study.claims[:count]]
    return replace(study, claims=(*weak, *study.claims[count:]))


def test_a_weak_claim_is_counted_apart_from_what_is_reproduced() -> None:
    study = weaken(read_study(NAMES[1], find_study(NAMES[1])), 1)
    both = make_outcome(study, [ClaimVerdict.REPRODUCED])
    assert both.answer.sentences[0] == "1 of 2 claims is reproduced; 1 is weak (CBT-2.3.equal)."
    counts = count_by_kind([(study.name, both.claims)])
    assert {**counts[study.claims[0].kind]} == {ClaimVerdict.WEAK: 1, ClaimVerdict.REPRODUCED: 1}
    weak, _ = both.claims
    assert weak.describe_verdict() == "reproduced: weak: any queue passes it"
    content = weak.to_dict()
    assert content["verdict"] == "weak"
    assert CheckedClaim.from_dict(content) == replace(weak, claim=replace(weak.claim, check=""))


def test_a_weak_claim_that_differs_still_differs() -> None:
    study = weaken(read_study(NAMES[1], find_study(NAMES[1])), 2)
    outcome = make_outcome(study, [ClaimVerdict.DIFFERS, ClaimVerdict.REPRODUCED])
    assert [one.verdict for one in outcome.claims] == [ClaimVerdict.DIFFERS, ClaimVerdict.WEAK]
    assert [one.differs for one in outcome.claims] == [True, False]


def test_readings_and_weak_claims_are_on_the_page_of_their_study(tmp_path: Path) -> None:
    reading = Reading("order", "Order of service", "The <first> goes first.", "§2", "others: none")
    study = weaken(replace(read_study(NAMES[1], find_study(NAMES[1])), readings=(reading,)), 1)
    make_outcome(study, [ClaimVerdict.REPRODUCED]).write_into(tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Reading: Order of service." in page
    assert "The &lt;first&gt; goes first." in page
    assert "any queue passes it" in page
    content = json.loads((tmp_path / "out" / "claims.json").read_text())
    assert content["readings"] == [reading.to_dict()]


def test_the_readings_of_a_document_are_on_the_receipts_once(
    finished: list[Study], monkeypatch: pytest.MonkeyPatch
) -> None:
    reading = Reading("order", "Order of service", "The <first> goes first.", "§2", "others: none")
    monkeypatch.setattr(
        "headend.study.receipts.read_study",
        lambda name, path: replace(read_study(name, path), readings=(reading,) * (name in NAMES)),
    )
    assert CliRunner().invoke(app, ["study", "report", "--markdown", "receipts.md"]).exit_code == 0
    text = Path("receipts.md").read_text(encoding="utf-8")
    line = (
        "- Reading: **Order of service**. The \\<first> goes first. Source: §2. Beside it: others:"
        " none."
    )
    assert text.splitlines().count(line) == len(NAMES)
    page = Path("results/studies/report.html").read_text(encoding="utf-8")
    assert page.count("Reading: Order of service.") == len(NAMES)


def test_fewer_seeds_than_a_studys_own_are_no_receipt(finished: list[Study]) -> None:
    study = finished[1]
    path = choose_study_folder(study) / "claims.json"
    content = json.loads(path.read_text())
    write_resealed(path, {**content, "seeds": [1]})
    answer = CliRunner().invoke(app, ["study", "report"])
    assert answer.exit_code == 2
    assert (
        "cbt-equal-loss: was run with seed 1, and a receipt needs the study's own seeds 1, 2, 3, 4"
        in answer.stderr
    )
    assert "headend study run cbt/equal-loss" in answer.stderr
    write_resealed(path, {**content, "seeds": [1, 2, 3, 4, 5]})
    assert CliRunner().invoke(app, ["study", "report"]).exit_code == 0


@pytest.mark.parametrize("name", ["receipts", "results/studies/report.html"])
def test_the_markdown_needs_a_file_of_its_own(finished: list[Study], name: str) -> None:
    answer = CliRunner().invoke(app, ["study", "report", "--markdown", name])
    assert answer.exit_code == 2
    assert "expected a file name with an ending that --out does not name" in answer.stderr
    assert not Path("receipts").exists()


def test_claims_that_have_changed_since_are_no_receipt(finished: list[Study]) -> None:
    path = choose_study_folder(finished[0]) / "claims.json"
    content = json.loads(path.read_text())
    content["claims"][0]["expected"] = "anything"
    write_resealed(path, content)
    answer = CliRunner().invoke(app, ["study", "report"])
    assert answer.exit_code == 2
    assert "the study's claims have changed since it was judged" in answer.stderr


def test_nothing_to_report_is_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    answer = CliRunner().invoke(app, ["study", "report"])
    assert answer.exit_code == 2
    assert "headend study run all makes them" in answer.stderr


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"claims": [], "figures": [], "points": 1, "seeds": ["x"]}']
)
def test_what_is_no_result_of_a_study_is_refused(finished: list[Study], text: str) -> None:
    folder = choose_study_folder(finished[0])
    (folder / "claims.json").write_text(text)
    answer = CliRunner().invoke(app, ["study", "report"])
    assert answer.exit_code == 2
    assert "claims.json: not what was written" in answer.stderr
    seal(folder, read_seals(folder))
    answer = CliRunner().invoke(app, ["study", "report"])
    assert answer.exit_code == 2
    assert len(answer.stderr.splitlines()) == 1


def test_what_an_older_version_wrote_is_refused(finished: list[Study]) -> None:
    write_resealed(choose_study_folder(finished[0]) / "claims.json", {"claims": []})
    answer = CliRunner().invoke(app, ["study", "report"])
    assert answer.exit_code == 2
    assert "run the study again" in answer.stderr


def make_outcome(study: Study, verdicts: list[ClaimVerdict]) -> StudyOutcome:
    """Give the outcome of a study whose claims have these verdicts, the last for the rest."""
    filled = verdicts + verdicts[-1:] * (len(study.claims) - len(verdicts))
    claims = [
        CheckedClaim(claim, ClaimResult("17 < 18 " * 12, verdict))
        for claim, verdict in zip(study.claims, filled, strict=False)
    ]
    return StudyOutcome(study, pl.DataFrame({"x": [1.0]}), claims, [])


def test_a_claim_that_differs_is_in_the_first_rows_whatever_it_is_evidence_for() -> None:
    """A telephone shows three rows, and the sentence above them names what differs."""
    studies = [read_study(name, find_study(name)) for name in NAMES]
    study = next(own for own in studies if len({claim.kind for claim in own.claims}) > 1)
    kinds = [claim.kind for claim in study.claims]
    last = next(at for at, kind in enumerate(kinds) if kind is not Kind.RESULT)
    verdicts = [
        ClaimVerdict.DIFFERS if at == last else ClaimVerdict.REPRODUCED for at in range(len(kinds))
    ]
    answer = make_outcome(study, verdicts).answer
    assert study.claims[last].id in answer.sentences[0]
    assert answer.matrix is not None
    assert answer.matrix.rows[0].label == study.claims[last].id


def test_a_study_answers_its_question_with_its_most_telling_claims_first() -> None:
    shipped = read_study(NAMES[0], find_study(NAMES[0]))
    study = replace(shipped, claims=tuple(replace(claim, weak="") for claim in shipped.claims))
    kinds = [claim.kind for claim in study.claims]
    differing = [
        ClaimVerdict.DIFFERS
        if kind is Kind.RESULT and number == kinds.index(Kind.RESULT) + 1
        else ClaimVerdict.REPRODUCED
        for number, kind in enumerate(kinds)
    ]  # fmt: skip
    answer = make_outcome(study, differing).answer
    missed = [
        claim.id
        for claim, one in zip(study.claims, differing, strict=True)
        if one is ClaimVerdict.DIFFERS
    ]
    assert len(missed) == 1
    results = kinds.count(Kind.RESULT)
    assert answer.question == study.question
    assert answer.sentences == (
        f"{len(kinds) - 1} of {len(kinds)} claims are reproduced; 1 differs ({missed[0]}).",
        f"Of {results} published results, {results - 1} are reproduced.",
    )
    assert answer.matrix is not None
    assert answer.matrix.names == ("published", "measured", "verdict")
    labels = [row.label for row in answer.matrix.rows]
    assert labels[0] == missed[0]
    of_results = [claim.id for claim in study.claims if claim.kind is Kind.RESULT]
    assert set(labels[:results]) == set(of_results)
    published, measured, verdict = answer.matrix.rows[0].cells
    assert published is not None
    assert measured is not None
    assert verdict is not None
    assert (verdict.grade, verdict.word) == ("bad", "differs")
    assert measured.text.endswith(" …")
    assert len(measured.text) <= 64


@pytest.mark.parametrize(
    ("verdict", "sentence"),
    [
        (ClaimVerdict.REPRODUCED, "Both claims are reproduced."),
        (ClaimVerdict.DIFFERS,
         "0 of 2 claims are reproduced; 2 differ (CBT-2.3.equal, CBT-2.3.fred)."),
        (ClaimVerdict.UNDECIDED,
         "0 of 2 claims are reproduced; 2 are undecided (CBT-2.3.equal, CBT-2.3.fred)."),
    ],
)  # fmt: skip
def test_the_verdicts_of_a_study_are_told_in_a_sentence(
    verdict: ClaimVerdict, sentence: str
) -> None:
    study = read_study(NAMES[1], find_study(NAMES[1]))
    assert make_outcome(study, [verdict]).answer.sentences[0] == sentence


def test_one_claim_is_told_by_its_verdict() -> None:
    study = read_study(NAMES[1], find_study(NAMES[1]))
    alone = replace(study, claims=study.claims[:1])
    told = {
        verdict: make_outcome(alone, [verdict]).answer.sentences
        for verdict in (ClaimVerdict.REPRODUCED, ClaimVerdict.DIFFERS)
    }
    assert told == {
        ClaimVerdict.REPRODUCED: ("The claim is reproduced.",),
        ClaimVerdict.DIFFERS: ("The claim differs (CBT-2.3.equal).",),
    }


def test_the_page_over_all_studies_begins_with_the_documents_and_their_verdicts(
    finished: list[Study],
) -> None:
    assert CliRunner().invoke(app, ["study", "report"]).exit_code == 0
    page = Path("results/studies/report.html").read_text(encoding="utf-8")
    first = page[page.index("<h1>") : page.index("</header>")]
    assert "Does headend measure what the documents published?" in first
    assert "published results of" in first
    for verdict in COUNTED:
        assert f"<th>{verdict}</th>" in first
    assert page.index("</header>") < page.index("data:image/svg+xml")


def test_the_page_of_a_study_begins_with_its_answer_and_folds_many_claims(
    finished: list[Study],
) -> None:
    page = (choose_study_folder(finished[0]) / "report.html").read_text(encoding="utf-8")
    places = [
        page.index(text) for text in ("<h1>", '<table class="matrix', 'class="why"', "All claims")
    ]
    assert places == sorted(places)
    assert f"<summary>{len(finished[0].claims)} claims with their notes</summary>" in page
