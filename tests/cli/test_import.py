"""Tests of ``headend import``: what it prints, writes and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from headend.cli.main import app
from headend.errors import InputError
from headend.recommendation.own_line import read_own_line
from headend.scenario.fit_note import read_fit_note

BY_HAND = ("--down", "50", "--up", "10", "--idle", "12", "--loaded-up", "180", "--seeds", "2")


def call(*words: str) -> Result:
    """Call the command."""
    return CliRunner().invoke(app, ["import", *words])


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_web_test_s_numbers_become_a_line_with_its_page() -> None:
    answer = call(*BY_HAND, "--quiet")
    assert (answer.exit_code, answer.output) == (0, "")
    own = Path("results/import/by-hand")
    assert (own / "report.html").is_file()
    assert read_fit_note((own / "my-line.toml").read_text(encoding="utf-8"))


def test_it_prints_the_line_and_what_to_do_next() -> None:
    answer = call(*BY_HAND, "--out", "mine", "--no-report")
    assert answer.exit_code == 0
    assert "Your line carries" in answer.stdout
    assert "The queue of the upload" in answer.stdout
    assert "The kind of queue stays open. The tool gives" in answer.stdout
    assert "headend recommend mine/my-line.toml" in answer.stdout
    assert not Path("mine/report.html").exists()


def test_a_computer_on_wifi_leaves_a_single_line_with_a_flag_that_recommend_reads() -> None:
    slow = ("--down", "5", "--up", "1", "--idle", "12", "--loaded-up", "180", "--seeds", "2")
    answer = call(*slow, "--wifi", "--out", "mine", "--no-report")
    assert answer.exit_code == 0
    assert "Wi-Fi may have made part of the delay" in answer.stdout
    assert "headend recommend mine/my-line.toml" in answer.stdout
    line = read_own_line(Path("mine/my-line.toml")).tiers[0]
    assert line.fit is not None
    assert "wifi-suspected" in line.fit.flags


def test_a_line_with_a_cell_is_not_sent_to_recommend_which_refuses_it() -> None:
    slow = ("--down", "5", "--up", "1", "--idle", "12", "--loaded-up", "180", "--seeds", "2")
    answer = call(*slow, "--line", "wifi", "--out", "mine", "--no-report")
    assert answer.exit_code == 0
    assert "headend run mine/my-line.toml" in answer.stdout
    assert "headend recommend mine" not in answer.stdout
    with pytest.raises(InputError, match="a cell of Wi-Fi"):
        read_own_line(Path("mine/my-line.toml"))


def test_json_is_one_document_with_all_estimates() -> None:
    answer = call(*BY_HAND, "--json")
    content = json.loads(answer.stdout)
    assert content["estimates"]["directions"]["up"]["rate"]["value"] > 10e6
    assert content["queues"]["up"]["likelihoods"]["unknown"] >= 0.3
    assert content["scenario_file"] == "results/import/by-hand/my-line.toml"
    assert content["grade"] == ""


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "expected files of measuring tools, or what a web test shows"),
        (("--down", "fast"), "--down: expected a rate"),
        (("--idle", "12"), "no rate of the loaded line"),
        ((*BY_HAND, "--wifi", "--ethernet"), "--wifi: expected one of"),
        ((*BY_HAND, "--line", "coax"), 'expected auto, plain, cable or wifi, found "coax"'),
        (("nothing.flent",), "nothing.flent"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(words: tuple[str, ...], told: str) -> None:
    answer = call(*words)
    assert answer.exit_code == 2
    assert answer.stdout == ""
    assert answer.stderr.startswith("error: ")
    assert told in answer.stderr
    assert len(answer.stderr.splitlines()) == 1


def test_other_results_in_the_folder_are_not_replaced() -> None:
    assert call(*BY_HAND, "--out", "mine", "--name", "one", "--quiet").exit_code == 0
    answer = call(*BY_HAND, "--out", "mine", "--name", "two", "--quiet")
    assert answer.exit_code == 2
    assert "holds the results of another line" in answer.stderr


def test_the_page_is_made_again_from_the_folder() -> None:
    call(*BY_HAND, "--no-report", "--quiet")
    answer = CliRunner().invoke(app, ["report", "results/import/by-hand"])
    assert answer.exit_code == 0
    assert Path("results/import/by-hand/report.html").is_file()
