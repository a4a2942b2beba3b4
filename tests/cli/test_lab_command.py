"""``headend lab``: what it opens and writes, and what it refuses before anything is opened."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from headend.cli.main import app
from headend.lab import page as lab_page

EMPTY = '<script type="application/json" id="given">null</script>'
PAGE = f'<meta name="headend-sources" content="{"0" * 64}"><body>{EMPTY}</body>'


@pytest.fixture(autouse=True)
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a page in the place of the built one, and run in an empty folder."""
    path = tmp_path / "installed/index.html"
    path.parent.mkdir()
    path.write_text(PAGE, encoding="utf-8")
    monkeypatch.setattr(lab_page, "PAGE", path)
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return path


@pytest.fixture(autouse=True)
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """List the addresses that were opened, in place of a browser."""
    addresses: list[str] = []

    def open_address(address: str) -> bool:
        addresses.append(address)
        return True

    monkeypatch.setattr("webbrowser.open", open_address)
    return addresses


def call(*words: str, typed: str | None = None) -> Result:
    return CliRunner().invoke(app, ["lab", *words], input=typed)


def find_given(path: Path) -> dict[str, object]:
    text = path.read_text(encoding="utf-8")
    before, _, rest = text.partition('id="given">')
    assert before
    given: dict[str, object] = json.loads(rest.partition("</script>")[0])
    return given


def fails_with(message: str, *words: str) -> None:
    answer = call(*words)
    assert (answer.stdout, answer.stderr) == ("", f"error: {message}\n")
    assert answer.exit_code == 2


def test_alone_it_opens_the_installed_page(built: Path, opened: list[str]) -> None:
    answer = call()
    assert answer.exit_code == 0, answer.stderr
    assert answer.stdout == f"Lab: {built}\n"
    assert opened == [built.as_uri()]


def test_a_shipped_scenario_is_opened_in_a_copy_with_what_is_set(opened: list[str]) -> None:
    words = ("upload-and-call", "--set", "queue=docsis_pie", "--seed", "3")
    answer = call(*words)
    assert answer.exit_code == 0, answer.stderr
    path = Path("results/lab/upload-and-call.html")
    assert answer.stdout == f"Lab: {path}\n"
    assert opened == [path.resolve().as_uri()]
    given = find_given(path)
    assert "[flow.upload]" in str(given["text"])
    assert (given["overrides"], given["seed"]) == ([["queue", "docsis_pie"]], 3)
    # A copy of before is replaced.
    assert call("upload-and-call").exit_code == 0
    assert find_given(path)["overrides"] == []


def test_a_file_and_standard_input_are_opened_too(home_line: Path) -> None:
    text = home_line.read_text(encoding="utf-8")
    assert call(str(home_line), "--out", "mine.html").exit_code == 0
    assert find_given(Path("mine.html")) == {"text": text, "overrides": [], "seed": 1}
    assert call("-", typed=text).exit_code == 0
    assert find_given(Path("results/lab/stdin.html"))["text"] == text


def test_without_opening_it_says_where_the_page_is(opened: list[str]) -> None:
    answer = call("--out", "lab.html", "--no-open", "--json")
    assert json.loads(answer.stdout) == {"page": "lab.html", "opened": False}
    assert Path("lab.html").read_text(encoding="utf-8") == PAGE
    assert call("--no-open").stdout.startswith("Lab: ")
    assert opened == []


def test_where_there_is_no_browser_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webbrowser.open", lambda _address: False)
    answer = call()
    assert answer.exit_code == 0
    assert answer.stderr == "note: found no browser to open it with; open the file yourself\n"


def test_a_file_that_is_no_page_of_the_lab_is_kept_unless_forced(opened: list[str]) -> None:
    Path("notes.html").write_text("mine", encoding="utf-8")
    fails_with(
        "notes.html: exists and is no page of the lab; choose another file with --out FILE, or"
        " replace it with --out FILE --force",
        "--out",
        "notes.html",
    )
    assert Path("notes.html").read_text(encoding="utf-8") == "mine"
    assert opened == []
    assert call("--out", "notes.html", "--force").exit_code == 0
    assert Path("notes.html").read_text(encoding="utf-8") == PAGE


def test_what_is_wrong_with_a_scenario_is_said_before_anything_is_written(
    opened: list[str],
) -> None:
    Path("bad.toml").write_text("flwo = 1\n", encoding="utf-8")
    fails_with('bad.toml: flwo: unknown key; did you mean "flow"? (line 1, column 1)', "bad.toml")
    Path("lost.toml").write_text(
        '[link.line.point_to_point]\nup.rate = { trace = "rates.csv" }\n[flow.ping]\n'
        'application = "ping"\n',
        encoding="utf-8",
    )
    fails_with(
        "lost.toml: names the file rates.csv, and the lab's page reads no file and runs no Python;"
        " headend run runs the scenario",
        "lost.toml",
    )
    answer = call("real-program")
    assert "headend emulate" in answer.stderr
    assert answer.exit_code == 2
    assert not Path("results").exists()
    assert opened == []


def test_options_without_what_they_are_for_are_refused() -> None:
    fails_with(
        "--set: has no effect without a SCENARIO, such as upload-and-call", "--set", "queue=codel"
    )
    fails_with("--seed: has no effect without a SCENARIO, such as upload-and-call", "--seed", "2")
    fails_with("--force: has no effect without --out, which names a file to replace", "--force")


def test_a_page_that_was_not_built_is_one_line(built: Path) -> None:
    built.unlink()
    answer = call("upload-and-call")
    assert answer.exit_code == 2
    assert answer.stderr.startswith(f"error: {built}: no such file: the lab is not in this")
    assert "`make web`" in answer.stderr
    assert answer.stderr.count("\n") == 1
