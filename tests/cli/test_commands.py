"""What every command offers: help, completion, version; JUnit XML, CSV, standard input."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import click
import pytest
from click.testing import CliRunner, Result

import headend
from headend.cli.commands import Commands
from headend.cli.layout import take_first_paragraph
from headend.cli.main import SECTIONS, app
from headend.cli.version import ask_git
from headend.engine.vocabulary import list_choices
from headend.scenario.shipped import list_scenarios, list_studies, list_sweeps

PACKAGE = str(Path(headend.__file__).parents[1])


def call(*words: str, **environment: str) -> Result:
    return CliRunner().invoke(app, list(words), env=environment)


def list_every() -> list[tuple[str, ...]]:
    """Give the words of every command and of every command in a group."""
    context = click.Context(app, info_name="headend")
    found: list[tuple[str, ...]] = []
    for name in app.lazy_commands:
        found.append((name,))
        command = app.get_command(context, name)
        if isinstance(command, Commands):
            found += [(name, own) for own in command.commands]
    return found


@pytest.mark.parametrize("words", list_every(), ids=" ".join)
def test_help_of_a_command_is_what_its_own_option_prints(words: tuple[str, ...]) -> None:
    asked, own = call("help", *words), call(*words, "--help")
    assert (asked.exit_code, own.exit_code) == (0, 0)
    assert asked.stdout == own.stdout == call(*words, "-h").stdout
    assert own.stdout.startswith(f"Usage: headend {' '.join(words)} ")
    assert own.stdout.splitlines()[-1].split()[:2] == ["-h,", "--help"]
    assert max(map(len, own.stdout.splitlines())) <= 100


def test_the_list_says_what_each_command_says_of_itself() -> None:
    context = click.Context(app, info_name="headend")
    shown = " ".join(call("help").stdout.split())
    for section in SECTIONS.values():
        for name, place in section.items():
            command = app.get_command(context, name)
            assert command
            assert command.name == name or not place.help
            if place.help:
                assert take_first_paragraph(command.help or "") == place.help
                assert f" {name} {place.help}" in shown
    assert call("help").stdout == call("--help").stdout == call().stdout
    assert (call("help").exit_code, call().exit_code) == (0, 2)


def test_every_option_and_argument_has_help() -> None:
    context = click.Context(app, info_name="headend")
    for words in list_every():
        command: click.Command = app
        for word in words:
            assert isinstance(command, click.Group)
            found = command.get_command(context, word)
            assert found
            command = found
        for parameter in command.params:
            assert getattr(parameter, "help", None), f"{words}: {parameter.name}"


def test_help_of_what_is_no_command_is_refused() -> None:
    assert call("help", "stdy").stderr == (
        'error: no command "headend stdy"; did you mean "study"?\n'
    )
    assert call("help", "study", "rn").stderr == (
        'error: no command "headend study rn"; did you mean "run"?\n'
    )
    answer = call("help", "run", "fast")
    assert answer.stderr == 'error: headend run: has no subcommands, found "fast"\n'
    assert answer.exit_code == 2


@pytest.mark.parametrize("columns", ["40", "72", "300"])
def test_help_is_as_wide_as_the_terminal_and_never_wider_than_can_be_read(columns: str) -> None:
    lines = call("run", "--help", COLUMNS=columns).stdout.splitlines()
    assert max(map(len, lines)) <= min(int(columns), 100)
    words = " ".join(" ".join(lines).split())
    assert "where that is there, NAME-2, NAME-3 and so on." in words


def test_help_has_colours_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured = CliRunner().invoke(app, ["run", "--help"], color=True).stdout
    assert "\x1b[36m--set PATH=VALUE\x1b[0m" in coloured
    assert click.unstyle(coloured) == call("run", "--help").stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert CliRunner().invoke(app, ["run", "--help"], color=True).stdout == click.unstyle(coloured)


def complete(*words: str) -> list[tuple[str, str]]:
    """Ask for what a shell would offer for the last word: pairs of kind and value."""
    shown = " ".join(word or "''" for word in ("headend", *words))
    asked = {
        "_HEADEND_COMPLETE": "zsh_complete",
        "COMP_WORDS": shown.removesuffix("''"),
        "COMP_CWORD": str(len(words)),
    }
    answer = CliRunner().invoke(app, [], env=asked)
    assert answer.exit_code == 0
    assert answer.stderr == ""
    lines = answer.stdout.strip("\n").splitlines()
    return list(zip(lines[0::3], lines[1::3], strict=True))


def offer(*words: str) -> list[str]:
    return [value for kind, value in complete(*words) if kind == "plain"]


def test_commands_and_options_are_completed() -> None:
    assert offer("") == list(app.list_commands(click.Context(app)))
    assert offer("co")[:1] == ["compare"]
    assert offer("study", "") == ["list", "show", "run", "report"]
    assert offer("run", "x", "--no") == ["--no-report", "--no-advice"]
    assert offer("help", "st") == ["study"]
    assert offer("help", "study", "re") == ["report"]
    assert offer("completion", "") == ["bash", "zsh", "fish"]
    assert offer("nonsense", "x", "") == offer("")


def test_names_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    scenarios = list(list_scenarios())
    assert offer("run", "") == offer("compare", "") == offer("scenarios", "show", "") == scenarios
    assert offer("run", "upload-and") == ["upload-and-call"]
    studies = list(list_studies())
    assert offer("study", "run", "buffer-control/p") == [
        name for name in studies if name.startswith("buffer-control/p")
    ]
    assert "buffer-control" in offer("study", "show", "buf")
    for command, kind in (
        ("queues", "queue"),
        ("senders", "congestion"),
        ("applications", "application"),
    ):
        assert offer(command, "") == [choice.name for choice in list_choices(kind)]
    assert offer("queues", "fq_") == ["fq_codel", "fq_pie"]


def test_files_are_completed_that_can_be_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("mine.toml", "mine too.toml", "mine.html", ".hidden.toml", "lines/a.toml"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).touch()
    assert offer("run", "")[-3:] == ["mine too.toml", "mine.toml", "lines/"]
    assert offer("run", "mi") == ["mine too.toml", "mine.toml"]
    assert offer("sweep", "") == [*list_sweeps(), "mine too.toml", "mine.toml", "lines/"]
    assert offer("run", "lines/") == ["lines/a.toml"]
    assert offer("run", "./m") == ["./mine too.toml", "./mine.toml"]
    # Where only a folder is left, the shell completes it, and goes on in it.
    assert complete("run", "lin") == [("dir", "lin")]
    assert complete("run", "nowhere/x") == []
    assert complete("report", "")[0][0] == "dir"
    assert complete("report", "x", "--out", "")[0][0] == "file"


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_with_the_script(tmp_path: Path) -> None:
    script = call("completion", "bash")
    assert script.exit_code == 0
    command = tmp_path / "headend"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m headend "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    asked = (
        'COMP_WORDS=("$0" run upload-and); COMP_CWORD=2; _headend_completion "$0"; echo'
        ' "$COMPREPLY"'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", f"{script.stdout}\n{asked}", str(command)],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": PACKAGE},
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("upload-and-call\n", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_for_each_shell_and_how_to_install_it(shell: str) -> None:
    script = call("completion", shell).stdout
    assert f"_HEADEND_COMPLETE={shell}_complete" in script
    assert "_headend_completion" in script
    lines = [line.strip() for line in call("help", "completion", COLUMNS="30").stdout.splitlines()]
    assert {
        'eval "$(headend completion bash)"',
        'eval "$(headend completion zsh)"',
        "headend completion fish > ~/.config/fish/completions/headend.fish",
    } < set(lines)


def test_a_shell_that_is_not_known_is_refused_in_one_line() -> None:
    answer = call("completion", "tcsh")
    assert answer.exit_code == 2
    assert answer.stderr.startswith(
        "error: headend completion: invalid value for 'SHELL': 'tcsh' is not one of"
    )
    assert len(answer.stderr.splitlines()) == 1
    told = "error: headend completion: expected SHELL, found nothing; SHELL is bash, zsh or fish\n"
    assert (call("completion").exit_code, call("completion").stderr) == (2, told)


def test_completion_imports_nothing_heavy() -> None:
    heavy = ("polars", "rich", "jinja2", "headend.figures", "headend.running.experiment")
    code = f"""
import os, sys
os.environ.update(_HEADEND_COMPLETE="bash_complete", COMP_WORDS="headend run up", COMP_CWORD="2")
import headend.cli.main
try:
    headend.cli.main.start()
except SystemExit:
    print([name for name in {heavy} if name in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": PACKAGE},
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == ["plain,upload-and-call", "[]"]


def test_the_version_names_the_commit_the_build_and_the_platform(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    build: dict[str, str | None] = {
        "commit": "abc1234",
        "profile": "release",
        "target": "riscv64-linux",
    }
    monkeypatch.setattr("headend._engine.build", lambda: build)
    answer = call("--version")
    assert answer.stdout == (
        f"headend {headend.__version__} (commit abc1234, release build)\n"
        f"Python {platform.python_version()}, polars {version('polars')}, riscv64-linux\n"
    )
    # Neither the build nor git knows the commit.
    build.update(commit=None, profile="debug")
    monkeypatch.setattr("headend.cli.version.ask_git", lambda _: None)
    first = f"headend {headend.__version__} (debug build)\n"
    assert call("--version").stdout.startswith(first)
    monkeypatch.setattr("headend.cli.version.ask_git", lambda _: "def5678-dirty")
    first = f"headend {headend.__version__} (commit def5678-dirty, debug build)\n"
    assert call("--version").stdout.startswith(first)
    monkeypatch.undo()
    first, second = call("--version").stdout.splitlines()
    assert re.fullmatch(r"headend \S+ \((commit [0-9a-f]{7,}(-dirty)?, )?\w+ build\)", first)
    assert second.startswith(f"Python {platform.python_version()}, ")


def test_a_paper_cites_the_version_and_the_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headend.cli.version.find_commit", lambda: "abc1234")
    text = call("cite").stdout
    assert text.startswith(f"@software{{headend-{headend.__version__},\n")
    assert f"version = {{{{{headend.__version__}}}}}" in text
    assert "note    = {{Commit abc1234}}" in text
    monkeypatch.setattr("headend.cli.version.find_commit", lambda: None)
    assert "note" not in json.loads(call("cite", "--json").stdout)


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
def test_the_commit_of_a_checkout_is_git_s(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        name = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", "-C", str(tmp_path), *name, *words], check=True, capture_output=True)

    assert ask_git(tmp_path) is None
    git("init")
    assert ask_git(tmp_path) is None
    (tmp_path / "file").touch()
    git("add", "file")
    git("commit", "-m", "one")
    git("tag", "v1")
    commit = ask_git(tmp_path)
    assert re.fullmatch("[0-9a-f]{7,}", commit or "")
    (tmp_path / "file").write_text("changed", encoding="utf-8")
    assert ask_git(tmp_path) == f"{commit}-dirty"


def test_a_run_without_its_page_is_whole_and_says_how_to_make_it(
    home_line: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Both pages have all advice tried, however busy the machine is.
    monkeypatch.setattr("headend.running.advice.LEAST_SECONDS", 600.0)
    answer = call("run", "home-line.toml", "--no-report", "--out", "out")
    assert answer.exit_code == 0, answer.output
    assert answer.stdout.splitlines()[-1] == "Kept in out; headend report out makes a report of it"
    assert not Path("out/report.html").exists()
    assert call("verify", "out").exit_code == 0
    call("run", "home-line.toml", "-q", "--out", "with")
    assert {path.name for path in Path("with").iterdir()} - {
        path.name for path in Path("out").iterdir()
    } == {"report.html"}
    assert call("report", "out").exit_code == 0
    assert Path("out/report.html").read_bytes() == Path("with/report.html").read_bytes()
    answer = call("run", "home-line.toml", "--no-report", "--json")
    assert "error" not in json.loads(answer.stdout)


@pytest.mark.parametrize("sources", [["home-line.toml", "--vary", "queue=codel,pie"], ["a", "b"]])
def test_a_comparison_without_its_page_is_whole_too(home_line: Path, sources: list[str]) -> None:
    for name, queue in (("a", "codel"), ("b", "pie")):
        headend.run(home_line, set={"queue": queue}).save(name, report=False)
    answer = call("compare", *sources, "--no-report", "--out", "out")
    assert answer.exit_code == 0, answer.output
    assert answer.stdout.splitlines()[-1] == "Kept in out; headend report out makes a report of it"
    assert not Path("out/report.html").exists()
    assert call("report", "out").exit_code == 0
    assert Path("out/report.html").is_file()


@pytest.mark.parametrize(
    "words",
    [
        ["run", "home-line.toml"],
        ["compare", "home-line.toml", "--vary", "queue=codel,pie"],
    ],
)
def test_without_the_page_nothing_is_imported_that_makes_it(
    home_line: Path, words: list[str]
) -> None:
    code = f"""
import sys
import headend.cli.main
sys.argv[1:] = {[*words, "--no-report", "-q", "--set", "duration=6 s"]!r}
try:
    headend.cli.main.start()
except SystemExit as left:
    made = ("jinja2", "headend.figures", "headend.pages.page")
    print(left.code, [name for name in sys.modules if name.startswith(made)])
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": PACKAGE},
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("0 []\n", "")


LINE = """\
format = 1
duration = "6 s"
[link.line.point_to_point]
up.rate = "2 Mbit/s"
[flow.up]
application = "bulk"
direction = "up"
[flow.ping]
application = "ping"
[expect]
quick = "ping.rtt.p95 < 1 ms"
"""


@pytest.fixture
def line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("line.toml").write_text(LINE, encoding="utf-8")
    return "line.toml"


def read_suites(path: str) -> dict[str, list[str]]:
    """Give of each suite the names of its tests, with a cross at those that failed."""
    return {
        suite.get("name", ""): [
            f"{'✗ ' if case.find('failure') is not None else ''}{case.get('name')}"
            for case in suite.iter("testcase")
        ]
        for suite in ElementTree.parse(path).getroot().iter("testsuite")
    }


def test_expectations_are_written_as_junit_xml_whatever_the_exit_code(line: str) -> None:
    met = ("--set", "expect.quick=ping.rtt.p95 > 1 ms")
    assert call("run", line, "-q", "--junit", "j.xml").exit_code == 1
    assert read_suites("j.xml") == {"line": ["✗ quick"]}
    assert call("run", line, "-q", "--junit", "new/j.xml", "--no-report", *met).exit_code == 0
    assert read_suites("new/j.xml") == {"line": ["quick"]}
    vary = ("--vary", "queue=codel,pie", "--seeds", "2")
    assert call("compare", line, *vary, "-q", "--junit", "k.xml", "--out", "both").exit_code == 1
    assert [name for names in read_suites("k.xml").values() for name in names] == ["✗ quick"] * 4
    # Of finished runs too.
    assert call("compare", "both", "-q", "--junit", "l.xml", "--out", "again").exit_code == 1
    assert read_suites("l.xml") == read_suites("k.xml")


def test_a_scenario_that_does_not_run_leaves_no_junit_xml(line: str) -> None:
    assert call("run", line, "-q", "--junit", "j.xml").exit_code == 1
    assert call("run", line, "--set", "queue=hfsc", "--junit", "j.xml").exit_code == 2
    assert not Path("j.xml").exists()  # of the run before


@pytest.mark.parametrize(
    "words", [["run", "line.toml"], ["compare", "line.toml", "--vary", "queue=codel,pie"]]
)
def test_junit_xml_takes_no_other_file_s_place(line: str, words: list[str]) -> None:
    answer = call(*words, "--junit", line, "--out", "out")
    assert (answer.exit_code, answer.stdout) == (2, "")
    assert answer.stderr.startswith("error: line.toml: exists, and is no JUnit XML of headend; ")
    assert Path(line).read_text(encoding="utf-8") == LINE
    assert not Path("out").exists()


def test_what_cannot_be_written_beside_results_is_refused_before_the_run(line: str) -> None:
    Path("folder").mkdir()
    answer = call("run", line, "--junit", "folder")
    told = "error: folder: expected a file to write JUnit XML to, found a folder\n"
    assert (answer.exit_code, answer.stderr) == (2, told)
    assert call("run", line, "-q", "--csv", "tables").exit_code == 1
    for command in (["run", line], ["compare", line, "--vary", "queue=codel,pie"]):
        answer = call(*command, "--csv", "tables", "--out", "out")
        assert answer.exit_code == 2
        assert answer.stderr.startswith("error: tables/flows.csv: exists; ")
        assert not Path("out").exists()
    assert call("run", line, "-q", "--csv", "tables", "--force").exit_code == 1


@pytest.mark.parametrize(
    "words", [["run", "line.toml"], ["compare", "line.toml", "--vary", "queue=codel,pie"]]
)
@pytest.mark.parametrize(
    ("more", "told"),
    [
        (
            ["--csv", "out"],
            "out: the results are written to this folder; choose another one for --csv",
        ),
        (
            ["--csv", "x/../out/"],
            "x/../out: the results are written to this folder; choose another one for --csv",
        ),
        (["--csv", "file/t"], "file/t: cannot be written: file is a file"),
        (["--junit", "file/j.xml"], "file/j.xml: cannot be written: file is a file"),
        (
            ["--junit", "out"],
            "out: expected a file for --junit, found the folder of the results or one above it",
        ),
    ],
)
def test_what_the_results_leave_no_place_for_is_refused_before_the_run(
    line: str, words: list[str], more: list[str], told: str
) -> None:
    Path("file").touch()
    answer = call(*words, *more, "--out", "out")
    assert (answer.exit_code, answer.stdout, answer.stderr) == (2, "", f"error: {told}\n")
    assert not Path("out").exists()


def test_by_default_too_and_of_sweeps_and_finished_runs(line: str) -> None:
    told = "the results are written to this folder; choose another one for --csv\n"
    assert call("run", line, "--csv", "results/line").stderr == f"error: results/line: {told}"
    for folder in ("a", "b"):
        assert call("run", line, "-q", "--no-report", "--out", folder).exit_code == 1
    answer = call("compare", "a", "b", "--csv", "results/compared")
    assert answer.stderr == f"error: results/compared: {told}"
    text = 'scenario = "line.toml"\ngrid.queue = ["codel"]\nmeasures.rtt = "ping.rtt.mean"\n'
    Path("sweep.toml").write_text(text, encoding="utf-8")
    answer = call("sweep", "sweep.toml", "--out", "swept", "--csv", "swept")
    assert answer.stderr == f"error: swept: {told}"
    assert not Path("results").exists()
    assert not Path("swept").exists()


def test_what_cannot_be_written_after_the_run_costs_only_itself(
    line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("headend.analysis.junit.write_file", fail)
    monkeypatch.setattr("headend.results.export.write_file", fail)
    answer = call("run", line, "--junit", "j.xml", "--csv", "tables", "--out", "out")
    assert answer.exit_code == 2
    assert answer.stderr.splitlines() == [
        "error: j.xml: cannot be written: no space left on device; the results are kept in out",
        "error: tables: cannot be written: no space left on device; the results are kept, and"
        " headend export out --csv DIR writes their tables",
    ]
    assert Path("out/report.html").is_file()
    assert "✗ missed" in answer.stdout


def test_tables_are_written_beside_a_run_and_exported_later(line: str) -> None:
    call("run", line, "-q", "--out", "out", "--csv", "at once")
    answer = call("export", "out", "--csv", "later", "--jsonl", "lines")
    assert answer.exit_code == 0, answer.output
    names = sorted(path.name for path in Path("at once").iterdir())
    assert answer.stdout == f"{len(names)} tables in later\n{len(names)} tables in lines\n"
    for name in names:
        assert Path("later", name).read_bytes() == Path("at once", name).read_bytes()
    assert {path.suffix for path in Path("lines").iterdir()} == {".jsonl"}
    answer = call("export", "out", "--table", "flows", "--json")
    assert json.loads(answer.stdout) == {"tables": ["out/tables/flows.csv"]}
    assert Path("out/tables/flows.csv").read_bytes() == Path("later/flows.csv").read_bytes()
    assert call("verify", "out").exit_code == 0
    assert call("export", "out", "--table", "flows").exit_code == 2
    assert call("export", "out", "--table", "flows", "--force").stdout == "1 table in out/tables\n"
    call("compare", line, "--vary", "queue=codel,pie", "-q", "--out", "both", "--csv", "both.csv")
    first, *rows = Path("both.csv/flows.csv").read_text(encoding="utf-8").splitlines()
    assert first.startswith("label,seed,flow,")
    assert {row.split(",")[0] for row in rows} == {"codel", "pie"}
    call("export", "both", "--csv", "again.csv")
    assert Path("again.csv/flows.csv").read_bytes() == Path("both.csv/flows.csv").read_bytes()


def test_a_table_that_is_not_there_and_what_are_no_results_are_refused(line: str) -> None:
    call("run", line, "-q", "--out", "out")
    answer = call("export", "out", "--table", "flos")
    assert answer.stderr == 'error: out: no table is called "flos"; did you mean "flows"?\n'
    assert call("export", "nowhere").stderr == "error: nowhere: no such results folder\n"
    assert call("export", "out", "--csv", "line.toml").exit_code == 2


def test_a_scenario_is_read_from_standard_input(line: str) -> None:
    typed = ["run", "-", "-q", "--junit", "j.xml"]
    answer = CliRunner().invoke(app, typed, input=LINE)
    assert answer.exit_code == 1
    assert answer.stderr.startswith("missed: quick: ping.rtt.p95 < 1 ms, measured ")
    assert read_suites("j.xml") == {"stdin": ["✗ quick"]}
    assert Path("results/stdin/report.html").is_file()
    answer = CliRunner().invoke(app, ["compare", "-", "--vary", "queue=codel,pie"], input=LINE)
    assert answer.exit_code == 1
    assert Path("results/stdin-compared/report.html").is_file()
    answer = CliRunner().invoke(app, ["run", "-"], input=LINE.replace("bulk", "webrtc"))
    assert answer.stderr.startswith("error: standard input: flow.up.application: ")
    assert (answer.exit_code, len(answer.stderr.splitlines())) == (2, 1)


@pytest.mark.parametrize("words", [["sweep"], ["study", "run"], ["study", "show"]])
def test_only_a_scenario_is_read_from_standard_input(words: list[str]) -> None:
    answer = CliRunner().invoke(app, [*words, "-"], input=LINE)
    assert answer.exit_code == 2
    assert re.fullmatch(
        r"error: -: a (sweep|study) is not read from standard input; expected .*\n", answer.stderr
    )


@pytest.mark.parametrize(
    "words", [["run", "-"], ["compare", "-", "--vary", "queue=codel,pie"], ["run", "line.toml"]]
)
def test_who_has_to_type_the_scenario_is_told_so(
    line: str, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    told = "reading a scenario from the terminal; Ctrl-D ends it\n"
    monkeypatch.setattr("headend.cli.terminal.is_input_terminal", lambda: True)
    answer = CliRunner().invoke(app, [*words, "-q"], input=LINE)
    assert answer.stderr.startswith(told) == ("-" in words)


def test_nobody_has_to_type_where_the_command_is_refused(
    line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headend.cli.terminal.is_input_terminal", lambda: True)
    answer = call("compare", "-", "other", "--vary", "queue=codel,pie")
    assert answer.stderr.startswith("error: --vary needs one scenario; ")


def test_what_others_call_it_is_found() -> None:
    answer = call("find", "webrtc")
    assert answer.exit_code == 0
    name, said, how = answer.stdout.splitlines()[:3]
    assert name == "video_call  application"
    assert said.startswith("  A video call")
    assert how == '  application = "video_call"'
    found = json.loads(call("find", "webrtc", "--json").stdout)
    assert found[0]["name"] == "video_call"
    assert call("find", "wfq").stdout.startswith("wfq  not in headend\n  ")
    for columns in ("", "40"):
        lines = call("find", "--all", "wfq", COLUMNS=columns).stdout.splitlines()
        assert lines == [line.rstrip() for line in lines]
    assert (
        call("find", "latency", "under", "load").stdout == call("find", "latency under load").stdout
    )


def test_much_that_is_found_is_cut_and_all_can_be_asked_for() -> None:
    every = json.loads(call("find", "congestion", "--json").stdout)
    answer = call("find", "congestion").stdout
    assert answer.endswith(f"\n{len(every) - 8} more: headend find --all congestion\n")
    whole = call("find", "--all", "congestion").stdout
    assert " ".join(every[-1]["what"].split()) in " ".join(whole.split())
    assert "more: headend find" not in whole


def test_nothing_that_is_found_is_one_line_and_an_exit_code() -> None:
    answer = call("find", "zyzzyva")
    assert (answer.exit_code, answer.stdout) == (1, "")
    assert answer.stderr.startswith('nothing is called "zyzzyva"; ')
    assert len(answer.stderr.splitlines()) == 1
    answer = call("find", "zyzzyva", "--json")
    assert (answer.exit_code, json.loads(answer.stdout)) == (1, [])


def test_senders_answer_to_congestion_too() -> None:
    assert call("congestion").stdout == call("senders").stdout
    assert call("congestion", "bbr").stdout == call("senders", "bbr").stdout
    assert "Also: headend congestion." in " ".join(call("--help").stdout.split())
    assert "Usage: headend congestion " in call("help", "congestion").stdout


def test_a_name_of_others_leads_to_what_headend_calls_it() -> None:
    assert call("queues", "wfq").stderr == (
        'error: no queue is called "wfq"; headend has no wfq; the nearest are drr, fq_codel and'
        " sfq\n"
    )
    # What helps is not behind a list of all that there is; of what is not known at all, the list is
    # told.
    where = "error: upload-and-call: link.cable.docsis.upstream.queue: unknown name"
    assert call("run", "upload-and-call", "--set", "queue=fifo").stderr == (
        f'{where} "fifo" (from --set queue=fifo); headend calls it drop_tail\n'
    )
    told = call("run", "upload-and-call", "--set", "queue=zyzzyva").stderr
    assert told.startswith(f'{where} "zyzzyva"; expected one of ')
    assert '"buffer_control", ' in told
    assert call("applications", "webrtc").stderr.endswith("; headend calls it video_call\n")
    assert call("scenarios", "show", "netflix").stderr == (
        'error: no shipped scenario is called "netflix"; headend find netflix looks for it\n'
    )


def test_commands_can_be_found_by_name() -> None:
    for section in app.list_sections().values():
        for name, said in section:
            assert headend.Finding(name, "command", said, f"headend {name}") in headend.find(name)
