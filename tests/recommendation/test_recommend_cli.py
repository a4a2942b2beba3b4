"""headend recommend: its first screen, JSON, exit codes, files, and what it refuses."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner, Result

from headend.cli.main import app
from headend.recommendation.candidate import order_candidates
from headend.recommendation.result import load_recommendation

#: A tier whose settings differ enough that three short runs tell them apart.
TIER = (
    *("--upstream", "5 Mbit/s", "--traffic", "page, upload", "--seeds", "3"),
    *("--set", "duration=12 s", "--set", "warmup=4 s"),
    *("--expect", "upload.goodput >= 40 %", "--senders", "cubic"),
)

#: A condition that no setting of it keeps.
IMPOSSIBLE = "upload.goodput >= 99 %"


def call(*words: str, columns: int = 80) -> Result:
    return CliRunner().invoke(app, ["recommend", *words], env={"COLUMNS": str(columns)})


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    """Run the tier once; its folder and what was printed."""
    folder = tmp_path_factory.mktemp("recommend") / "kept"
    return folder, call(*TIER, "--out", str(folder))


@pytest.fixture
def kept(first: tuple[Path, Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a copy of its folder; whatever is done with it, no point is run."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a point is run")

    monkeypatch.setattr("headend.recommendation.run_request", refuse)
    monkeypatch.chdir(tmp_path)
    shutil.copytree(first[0], "kept")
    return Path("kept")


def read(answer: Result) -> dict[str, Any]:
    document = json.loads(answer.stdout)
    assert isinstance(document, dict)
    return document


def test_the_first_screen_has_a_matrix_with_one_recommended_cell_and_then_the_tier(
    first: tuple[Path, Result],
) -> None:
    folder, answer = first
    assert (answer.exit_code, answer.stderr) == (0, "")
    lines = answer.stdout.splitlines()
    assert lines[1].endswith("?")
    (heading,) = [line for line in lines if line.startswith("tier ")]
    assert all(word in heading for word in ("AQM", "latency"))
    (row,) = [line for line in lines if line.startswith("5 Mbit/s ")]
    assert row.count("✓ recommended") == answer.stdout.count("✓ recommended") == 1
    tier = lines.index("5 Mbit/s")
    assert lines.index(row) < tier < 24
    recommended = load_recommendation(folder).decisions[0]
    assert recommended.recommended
    assert "points; --full prints every setting" in answer.stdout


def test_the_recommended_setting_has_a_cell_also_where_another_of_its_feature_ties_with_more(
    kept: Path,
) -> None:
    shown = call(str(kept), "--prefer", "least page.page_load_time.p50").stdout
    assert shown.count("✓ recommended") == 1
    decision = load_recommendation(kept).decisions[0]
    assert decision.recommended
    own = decision.bests[decision.find(decision.recommended).feature]
    assert own.setting == decision.recommended


def test_the_screen_fits_eighty_columns(kept: Path) -> None:
    for words in ([], ["--full"]):
        shown = call(str(kept), *words).stdout
        assert max(map(len, shown.splitlines()[:-1])) <= 80


def test_full_prints_a_row_for_every_setting_with_its_values(kept: Path) -> None:
    decision = load_recommendation(kept).decisions[0]
    shown = call(str(kept), "--full", columns=200).stdout
    rows = [line for line in shown.splitlines() if line[:2] in ("✓ ", "~ ", "✗ ")]
    assert len(rows) == len(decision.candidates) + 1  # and the line that explains the signs
    order = order_candidates(decision.candidates)
    for row, number in zip(rows, order, strict=False):
        assert row[2:].startswith(decision.find(number).label)
    assert sum(line.startswith("recommended") for line in shown.splitlines()) == 1
    assert "upload rate (Mbit/s)" in shown
    assert "--full" not in shown


def test_the_json_document_has_the_recommendation_and_every_candidate(kept: Path) -> None:
    answer = call(str(kept), "--json")
    document = read(answer)
    assert (answer.exit_code, answer.stderr) == (0, "")
    decision = load_recommendation(kept).decisions[0]
    (tier,) = document["tiers"]
    own = tier["recommended"]
    assert decision.recommended
    assert own["label"] == decision.find(decision.recommended).label
    assert (own["standing"], tier["nearest"]) == ("holds", None)
    rate = own["values"]["upload.goodput"]
    assert 2e6 <= rate["low"] <= rate["mean"] <= rate["high"]
    assert rate["unit"] == "bit/s"
    assert [one["label"] for one in tier["candidates"]] == [
        one.label for one in decision.candidates
    ]
    assert {"holds", "undecided"} <= {one["standing"] for one in tier["candidates"]}
    assert len(tier["sentences"]) == 3
    assert document["points"] == document["done"] == 3 * len(decision.candidates)
    assert document["request"]["expect"] == ["upload.goodput >= 40 %"]
    assert call(str(kept), "--json").stdout == answer.stdout


def test_a_folder_is_judged_again_and_the_nearest_is_told_where_nothing_holds(kept: Path) -> None:
    answer = call(str(kept), "--expect", IMPOSSIBLE, "--json")
    assert (answer.exit_code, answer.stderr) == (1, "")
    (tier,) = read(answer)["tiers"]
    assert tier["recommended"] is None
    (condition,) = tier["nearest"]["conditions"]
    assert condition["condition"] == IMPOSSIBLE
    assert condition["bound"] == pytest.approx(4.95e6)
    assert condition["missed_by"] == pytest.approx(4.95e6 - condition["mean"])
    assert condition["missed_by"] > 0
    # The folder has the new conditions from now on.
    again = call(str(kept))
    assert again.exit_code == 1
    assert "✓ recommended" not in again.stdout
    assert tier["nearest"]["label"] in again.stdout


def test_the_page_is_written_again_with_other_conditions_and_not_with_no_report(kept: Path) -> None:
    page = kept / "report.html"
    page.unlink(missing_ok=True)
    call(str(kept), "--prefer", "least page.page_load_time.p50", "--no-report")
    assert not page.exists()
    answer = call(str(kept), "--prefer", "most upload.goodput")
    assert page.exists() == (f"Report: {page}" in answer.stdout)


def test_a_page_that_cannot_be_written_costs_only_the_page(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("headend.recommendation.page.write_recommendation_page", refuse)
    answer = call(str(kept), "--prefer", "least page.page_load_time.p50")
    assert answer.exit_code == 2
    assert "✓ recommended" in answer.stdout
    (line,) = answer.stderr.splitlines()
    assert line.startswith("error: kept/report.html: cannot be written: no space left")
    assert line.endswith("headend report kept makes it of them")


def test_quiet_prints_nothing(kept: Path) -> None:
    answer = call(str(kept), "--quiet")
    assert (answer.exit_code, answer.stdout, answer.stderr) == (0, "", "")


def test_tables_are_written_as_csv(kept: Path) -> None:
    call(str(kept), "--csv", "tables")
    assert sorted(path.name for path in Path("tables").iterdir()) == ["results.csv", "summary.csv"]
    again = call(str(kept), "--csv", "tables")
    assert again.exit_code == 2
    assert again.stderr.count("\n") == 1
    assert call(str(kept), "--csv", "tables", "--force").exit_code == 0


def test_a_failed_point_makes_the_exit_code_1(kept: Path, tmp_path: Path) -> None:
    result = load_recommendation(kept)
    table = result.table.with_columns(
        error=pl.when(pl.int_range(pl.len()) == 0).then(pl.lit("no memory")).otherwise("error")
    )
    replace(result, table=table).write(tmp_path)
    answer = call(str(tmp_path), "--quiet")
    assert (answer.exit_code, answer.stdout) == (1, "")
    assert answer.stderr.startswith("failed: ")


def test_an_interruption_keeps_the_points_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def stop_at_once() -> Iterator[threading.Event]:
        stop = threading.Event()
        stop.set()
        yield stop

    monkeypatch.setattr("headend.running.execution.stop_on_interrupt", stop_at_once)
    monkeypatch.chdir(tmp_path)
    answer = call(*TIER, "--may-set", "aqm", "--out", "kept")
    assert (answer.exit_code, answer.stdout) == (130, "")
    assert answer.stderr == "interrupted: 0 of 24 points are kept in kept; run again to go on\n"
    document = read(call(*TIER, "--may-set", "aqm", "--out", "kept", "--json"))
    assert (document["complete"], document["tiers"], document["answer"]) == (False, [], None)
    opened = call("kept")
    assert opened.exit_code == 2
    assert "run it again to go on" in opened.stderr


def test_the_modem_s_file_is_written_and_never_over_another(kept: Path) -> None:
    answer = call(str(kept), "--write", "modem.cm", "--secret", "secret")
    assert answer.exit_code == 0
    assert Path("modem.cm").read_bytes()
    assert "Modem's file: modem.cm" in answer.stdout
    assert "  TLV " in answer.stdout
    refused = call(str(kept), "--write", "modem.cm")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr == "error: modem.cm: exists already; --force replaces it\n"
    quiet = call(str(kept), "--write", "modem.cm", "--force", "--quiet")
    assert (quiet.exit_code, quiet.stdout) == (0, "")
    assert quiet.stderr.splitlines()[0] == "modem.cm written"
    (written,) = read(call(str(kept), "--write", "other.cm", "--json"))["written"]
    assert (written["tier"], written["file"]) == ("5 Mbit/s", "other.cm")


def test_no_file_is_written_where_nothing_holds(kept: Path) -> None:
    answer = call(str(kept), "--expect", IMPOSSIBLE, "--write", "modem.cm")
    assert answer.exit_code == 1
    assert not Path("modem.cm").exists()
    assert answer.stderr == "note: modem.cm is not written: no setting meets every condition\n"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], 'expected a tier, such as headend recommend --upstream "10 Mbit/s"'),
        (["--downstream", "50 Mbit/s"], "expected a tier, such as"),
        (["--upstream", "5 Mb"], "5 Mb"),
        (["--upstream", "5 Mbit/s", "--seeds", "many"], "--seeds many: expected how many"),
        (["--upstream", "5 Mbit/s", "--may-set", "aqn"], 'did you mean "aqm"?'),
        (["--upstream", "5 Mbit/s", "--secret", "x"], "--secret: has no effect without --write"),
        (["--upstream", "5 Mbit/s", "--write", "-"], "expected a file"),
        (
            ["--upstream", "5 Mbit/s", "--write", "none/modem.cm"],
            "none/modem.cm: cannot be written: no such file or directory",
        ),
        (["--upstream", "5 Mbit/s", "--modem", "x.cm"], "headend recommend FILE"),
        (["--upstrem", "5 Mbit/s"], 'did you mean "--upstream"?'),
        (["none.toml"], "none.toml"),
        (["5 Mbit/s"], '--upstream "5 Mbit/s"'),
        (
            ["empty"],
            "expected a file of tiers, modems' configuration files, the scenario of a line",
        ),
        (["swept"], "holds the results of a sweep; expected a file of tiers"),
        (["upload-and-call"], "--traffic upload-and-call"),
        (["scenario.toml"], "found link.wifi.dot11b, a cell of Wi-Fi"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_asked_is_refused_in_one_line(
    words: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("empty", "swept"):
        Path(folder).mkdir()
    Path("swept/manifest.json").write_text('{"headend": "1", "kind": "sweep"}', encoding="utf-8")
    text = CliRunner().invoke(app, ["scenarios", "show", "wifi-home"]).stdout
    alone = text.replace("[link.cable.docsis]", "[other]").replace(', "cable"]', "]")
    Path("scenario.toml").write_text(alone, encoding="utf-8")
    answer = call(*words)
    assert (answer.exit_code, answer.stdout) == (2, "")
    (line,) = answer.stderr.splitlines()
    assert line.startswith("error: ")
    assert told in line
    assert not Path("results").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["--upstream", "5 Mbit/s"],
        ["--rtt", "20 ms"],
        ["--seeds", "4"],
        ["--set", "duration=20 s"],
        ["--senders", "cubic"],
        ["--may-set", "aqm"],
        ["--out", "other"],
    ],
    ids=" ".join,
)
def test_options_of_a_run_are_refused_with_results_that_are_there(
    words: list[str], kept: Path
) -> None:
    answer = call(str(kept), *words)
    assert (answer.exit_code, answer.stdout) == (2, "")
    assert answer.stderr == (
        f"error: {words[0]}: has no effect on results that are there; leave it out, or name"
        " tiers in place of kept\n"
    )


def test_a_results_folder_stands_alone(kept: Path) -> None:
    answer = call(str(kept), "tiers.toml")
    assert answer.exit_code == 2
    assert "expected one such folder alone" in answer.stderr


def test_help_has_its_options_under_headings() -> None:
    shown = call("--help").stdout
    headings = [line for line in shown.splitlines() if line.endswith(":") and line[0] != " "]
    assert headings == [
        "Arguments:",
        "The tiers:",
        "The people on the line:",
        "What is recommended:",
        "How it is run:",
        "What is written:",
        "Options:",
    ]
    people = shown.split("The people on the line:")[1].split("What is recommended:")[0]
    named = [word for word in people.split() if word.startswith("--")]
    assert named == ["--traffic", "--rtt", "--senders"]


def complete(*words: str) -> list[str]:
    """Ask for what a shell would offer for the last word."""
    asked = {
        "_HEADEND_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(("headend", "recommend", *words)),
        "COMP_CWORD": str(len(words) + 1),
    }
    lines = CliRunner().invoke(app, [], env=asked).stdout.splitlines()
    return [line.partition(",")[2] for line in lines]


def test_names_are_completed_in_a_list_too() -> None:
    assert complete("--may-set", "a") == ["aqm"]
    assert complete("--may-set", "aqm,lo") == ["aqm,low-latency"]
    assert complete("--preset", "docsis") == ["docsis31", "docsis30"]
    assert complete("--rtt", "b") == ["boston"]
    assert complete("--senders", "cubic,bb") == ["cubic,bbr", "cubic,bbr3"]
    assert complete("--traffic", "vid")[:1] == ["video"]
    assert complete("--traffic", "call,up") == ["call,upload"]


def test_a_scenario_by_name_is_refused_with_the_command_that_makes_a_file_of_it() -> None:
    refused = call("home-today")
    assert refused.exit_code == 2
    assert "`headend scenarios copy home-today` makes a file" in refused.stderr
