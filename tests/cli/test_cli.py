"""The command line: what it prints, what it refuses in which words, and its exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import headend
import headend.running.experiment
from headend.cli.main import app
from headend.errors import InputError
from headend.interruption import leave_at_once
from headend.running.comparison import load_results
from headend.running.result import Result as RunResult


@pytest.mark.parametrize("module", ["headend.cli.main", "headend.cli.catalogue"])
def test_an_interruption_while_the_command_is_imported_is_one_line(
    tmp_path: Path, module: str
) -> None:
    # Whatever imports the module is interrupted in the middle of it, as by Ctrl-C.
    (tmp_path / "sitecustomize.py").write_text(
        f"""
import os, signal, sys
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
""",
        encoding="utf-8",
    )
    package = str(Path(headend.__file__).parents[1])
    answer = subprocess.run(
        [sys.executable, "-m", "headend", "queues"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), package])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (answer.returncode, answer.stdout, answer.stderr) == (130, "", "interrupted\n")


def test_an_interruption_is_an_exception_once_a_command_has_begun() -> None:
    before = signal.getsignal(signal.SIGINT)
    try:
        leave_at_once()
        assert signal.getsignal(signal.SIGINT) is not before
        assert call("queues").exit_code == 0
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def fails_with(message: str, *arguments: str) -> None:
    answer = call(*arguments)
    assert answer.stderr == f"error: {message}\n"
    assert answer.stdout == ""
    assert answer.exit_code == 2


def test_a_run_that_is_stopped_in_its_warm_up_says_so(
    fake: Any, home_line: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "headend.cli.terminal._ignore", lambda _now: os.kill(os.getpid(), signal.SIGINT)
    )
    longer = ["--set", "duration=6000 s", "--set", "warmup=3000 s"]
    answer = call("run", "home-line.toml", "--out", "out", *longer)
    assert answer.exit_code == 130
    warning = (
        "stopped at 2,000 s, before the warm-up of 3,000 s was over: all figures are of the warm-up"
    )
    assert f"Warning: {warning}" in answer.stdout
    (found,) = RunResult.load("out").warnings
    assert found.startswith(warning)
    assert call("report", "out").exit_code == 0
    assert warning in Path("out/report.html").read_text(encoding="utf-8")


def test_a_run_answers_first_and_names_the_report(fake: Any, home_line: Path) -> None:
    answer = call("run", "home-line.toml")
    assert answer.exit_code == 0, answer.output
    assert "Call is unusable (MOS 1." in answer.stdout
    assert "standing queue" in " ".join(answer.stdout.split())
    assert answer.stdout.splitlines()[-1] == "Report: results/home-line/report.html"
    assert (home_line.parent / "results/home-line/report.html").is_file()


def test_json_is_one_document_and_nothing_else(fake: Any, home_line: Path) -> None:
    answer = call("run", "home-line.toml", "--json")
    document = json.loads(answer.stdout)
    assert answer.stderr == ""
    assert document["verdict"]["queue"]["queue"] == "cable.up"
    assert document["folder"] == "results/home-line"


def test_on_a_narrow_terminal_sentences_are_no_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    for command in ("queues", "senders", "applications"):
        answer = call(command)
        told = " ".join(answer.stdout.split())
        assert "., Use it" not in told
        assert "., Source:" not in told
        assert max(map(len, answer.stdout.splitlines())) <= 50
    text = " ".join(call("queues").stdout.split())
    assert "codel about: Controlled Delay (RFC 8289). Use it where the line's rate varies" in text


def test_a_narrow_terminal_cuts_nothing(
    fake: Any, home_line: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    answer = call("run", "home-line.toml")
    assert "✗ unusable MOS 1." in answer.stdout
    assert max(map(len, answer.stdout.splitlines())) <= 50
    answer = call("run", "home-line.toml", "--full")
    for shown in (
        "  grade: ✗ bad",
        "  delay p95 (ms): ",
        "  discipline: drop_tail",
        "  dropped: 10",
    ):
        assert shown in answer.stdout
    assert "…" not in answer.stdout.replace("queue=…", "")
    assert max(map(len, answer.stdout.splitlines())) <= 50
    answer = call("compare", "home-line.toml", "--vary", "queue=drop_tail,docsis_pie,codel")
    assert " ✓ good " in answer.stdout
    assert "…" not in answer.stdout
    assert max(map(len, answer.stdout.splitlines())) <= 50
    monkeypatch.setenv("COLUMNS", "160")
    assert "grade:" not in call("run", "home-line.toml", "--full").stdout


def test_quiet_prints_nothing(fake: Any, home_line: Path) -> None:
    assert call("run", "home-line.toml", "--quiet").output == ""


def test_a_missed_expectation_exits_with_1(fake: Any, home_line: Path) -> None:
    with home_line.open("a") as file:
        file.write('[expect]\ncall = "call.mos.p5 >= 4.0"\nline = "cable.up.utilisation > 90 %"\n')
    answer = call("run", "home-line.toml", "--quiet")
    assert answer.exit_code == 1
    assert answer.stderr.startswith("missed: call: call.mos.p5 >= 4.0, measured 1.")
    assert (
        call(
            "run",
            "home-line.toml",
            "--set",
            "queue=docsis_pie",
            "--set",
            "expect.call=call.mos.p5 > 3.5",
        ).exit_code
        == 0
    )


def test_a_quiet_comparison_says_which_expectation_a_run_missed(fake: Any, home_line: Path) -> None:
    with home_line.open("a") as file:
        file.write('[expect]\ncall = "call.mos.p5 > 3.5"\n')
    answer = call("compare", "home-line.toml", "--quiet", "--vary", "queue=drop_tail,docsis_pie")
    assert answer.exit_code == 1
    assert answer.stdout == ""
    (line,) = answer.stderr.splitlines()
    assert line.startswith("missed: drop_tail: call: call.mos.p5 > 3.5, measured 1.")


def test_json_says_on_standard_error_what_was_missed(fake: Any, home_line: Path) -> None:
    with home_line.open("a") as file:
        file.write('[expect]\ncall = "call.mos.p5 > 3.5"\n')
    answer = call("run", "home-line.toml", "--json")
    assert (answer.exit_code, json.loads(answer.stdout)["expectations"][0]["met"]) == (1, False)
    assert answer.stderr.startswith("missed: call: call.mos.p5 > 3.5, measured 1.")
    answer = call("compare", "home-line.toml", "--json", "--vary", "queue=drop_tail,docsis_pie")
    assert (answer.exit_code, len(json.loads(answer.stdout)["runs"])) == (1, 2)
    assert answer.stderr.startswith("missed: drop_tail: call: call.mos.p5 > 3.5, measured 1.")


def test_a_test_without_an_expectation_does_not_pass(fake: Any, home_line: Path) -> None:
    told = "nothing is expected, so --junit would pass without a test; add [expect]"
    vary = ("--vary", "queue=drop_tail,codel")
    for command in (["run", "home-line.toml"], ["compare", "home-line.toml", *vary]):
        answer = call(*command, "--junit", "junit.xml", "--out", "out")
        assert (answer.exit_code, answer.stdout) == (2, "")
        assert answer.stderr.startswith(f"error: home-line.toml: {told}")
        assert not Path("out").exists()
    for name in ("drop_tail", "codel"):
        headend.run(home_line, set={"queue": name}, out=name)
    answer = call("compare", "drop_tail", "codel", "--junit", "junit.xml")
    assert answer.stderr.startswith(f"error: drop_tail codel: {told}")
    assert not Path("junit.xml").exists()


def test_junit_is_a_file(fake: Any, home_line: Path) -> None:
    answer = call("run", "home-line.toml", "--junit", "-")
    assert answer.exit_code == 2
    assert 'expected a file, found "-"' in answer.stderr
    assert not Path("-").exists()


def test_one_setting_is_run_with_several_seeds(fake: Any, home_line: Path) -> None:
    answer = call("compare", "home-line.toml", "--seeds", "3", "--out", "out", "--json")
    assert answer.exit_code == 0, answer.stderr
    runs = json.loads(answer.stdout)["runs"]
    assert [(run["label"], run["seed"]) for run in runs] == [
        ("home-line", seed) for seed in (1, 2, 3)
    ]
    assert Path("out/report.html").is_file()
    fails_with(
        "--seeds asks for one run, which is nothing to compare: give several seeds (--seeds 10),"
        " for means with intervals; or several settings, such as --vary queue=drop_tail,codel",
        "compare", "home-line.toml", "--seeds", "1",
    )  # fmt: skip
    fails_with(
        "--seeds needs one scenario; leave it out to compare results folders",
        "compare", "home-line.toml", "street", "--seeds", "2",
    )  # fmt: skip


def test_what_a_stopped_run_met_is_met_so_far(
    fake: Any, home_line: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "headend.cli.terminal._ignore", lambda _now: os.kill(os.getpid(), signal.SIGINT)
    )
    with home_line.open("a") as file:
        file.write('[expect]\ncall = "call.mos.p5 > 1.01"\nline = "cable.up.utilisation < 0.1 %"\n')
    answer = call("run", "home-line.toml", "--out", "out", "--set", "duration=6000 s")
    assert answer.exit_code == 130
    assert "1 of 2 expectations met so far" in answer.stdout
    assert "✗ missed so far cable.up.utilisation" in answer.stdout
    answer = call("run", "home-line.toml", "--json", "--set", "duration=6000 s")
    assert [one["so_far"] for one in json.loads(answer.stdout)["expectations"]] == [True, True]
    assert " so far" in answer.stderr


def test_finished_runs_that_missed_an_expectation_exit_with_1_too(
    fake: Any, home_line: Path
) -> None:
    with home_line.open("a") as file:
        file.write('[expect]\ncall = "call.mos.p5 > 3.5"\n')
    for name, queue in (("a", "drop_tail"), ("b", "docsis_pie"), ("c", "codel")):
        result = headend.run(home_line, set={"queue": queue})
        result.manifest["partial"] = name == "c"
        result.save(name, report=False)
    answer = call("compare", "a", "b", "--quiet")
    assert answer.exit_code == 1
    assert answer.stderr.startswith("missed: a: call: call.mos.p5 > 3.5, measured 1.")
    # That a folder is partial is no interruption of this command.
    assert call("compare", "b", "c", "--quiet").exit_code == 0
    assert call("compare", "a", "c", "--quiet").exit_code == 1


def test_an_expectation_missed_with_several_seeds_is_one_line(fake: Any, home_line: Path) -> None:
    with home_line.open("a") as file:
        file.write(
            '[expect]\ncall = "call.mos.p5 > 3.5"\nnone = "upload.completion_time.p50 < 1 s"\n'
        )
    command = ["compare", "home-line.toml", "--vary", "queue=drop_tail,docsis_pie", "--seeds", "3"]
    answer = call(*command, "--quiet")
    assert answer.exit_code == 1
    first, second, third = answer.stderr.splitlines()
    assert first.startswith(
        "missed: drop_tail: call: call.mos.p5 > 3.5, in 3 of 3 seeds, measured 1."
    )
    none = "none: upload.completion_time.p50 < 1 s, in 3 of 3 seeds, nothing measured"
    assert (second, third) == (f"missed: drop_tail: {none}", f"missed: docsis_pie: {none}")
    assert answer.stderr.replace("missed:", "✗") == "".join(
        f"{line}\n" for line in call(*command).stdout.splitlines() if line.startswith("✗")
    )


def test_a_run_called_as_a_file_of_the_comparison_gets_a_folder(fake: Any, home_line: Path) -> None:
    labels = ("--label", "report.html", "--label", "manifest.json")
    vary = ("--vary", "queue=drop_tail,docsis_pie")
    answer = call("compare", "home-line.toml", *vary, *labels, "--out", "out", "--quiet")
    assert answer.exit_code == 0, answer.output
    assert {path.name for path in Path("out").iterdir() if path.is_dir()} == {
        "report.html-2",
        "manifest.json-2",
    }
    assert Path("out/report.html").is_file()
    assert [one.label for one in load_results(["out"])] == ["report.html", "manifest.json"]


def test_an_expectation_that_is_not_understood_stops_before_the_run(
    fake: Any, home_line: Path
) -> None:
    with home_line.open("a") as file:
        file.write('[expect]\ncall = "caal.mos.p5 >= 4.0"\n')
    fails_with(
        'home-line.toml: expect.call: no flow or queue is called "caal"; did you mean "call"?'
        " (line 1, column 1)",
        "run",
        "home-line.toml",
    )
    assert not (home_line.parent / "results").exists()


def test_bad_scenarios_are_refused_in_one_line(fake: Any, home_line: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.toml").write_text(" \n")
    (tmp_path / "rubbish.toml").write_bytes(bytes(range(256)))
    (tmp_path / "folder").mkdir()
    (tmp_path / "bad.toml").write_text('[flwo.x]\napplication = "bulk"\n')
    fails_with("nowhere.toml: no such file", "run", "nowhere.toml")
    fails_with("folder: expected a scenario file, found a directory", "run", "folder")
    fails_with(
        "empty.toml: the file is empty; a scenario needs at least a link and a flow",
        "run",
        "empty.toml",
    )
    fails_with(
        "rubbish.toml: not a text file (byte 128 is not UTF-8); a scenario is TOML",
        "run",
        "rubbish.toml",
    )
    fails_with('bad.toml: flwo: unknown key "flwo" (line 1)', "run", "bad.toml")


@pytest.mark.parametrize(
    "options", [["run"], ["run", "--set", "queue=pie"], ["compare", "--vary", "queue=pie,codel"]]
)
def test_a_sweep_s_file_is_pointed_to_its_command(
    fake: Any, home_line: Path, options: list[str]
) -> None:
    text = 'scenario = "home-line.toml"\n[grid]\nqueue = ["codel"]\n'
    for name, told in (
        ("sw.toml", "this is a sweep, not a scenario; headend sweep sw.toml runs it"),
        ("own/study.toml", "this is a study, not a scenario; headend study run own runs it"),
    ):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")
        fails_with(f"{name}: {told}", options[0], name, *options[1:])


def test_a_huge_file_is_not_read(fake: Any, home_line: Path, tmp_path: Path) -> None:
    with (tmp_path / "huge.toml").open("wb") as file:
        file.truncate(2**30)
    fails_with(
        "huge.toml: 1024 MiB is too large for a scenario (at most 16 MiB)", "run", "huge.toml"
    )


def test_what_never_ends_or_waits_is_not_read(fake: Any, home_line: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    refusal = "expected a file, found a pipe or a device"
    fails_with(f"pipe.toml: {refusal}", "run", "pipe.toml")
    fails_with(f"/dev/zero: {refusal}", "run", "/dev/zero")


@pytest.mark.parametrize("seed", ["-1", str(2**64)])
def test_a_seed_out_of_range_is_refused(fake: Any, home_line: Path, seed: str) -> None:
    message = f"seed: expected a whole number from 0 to {2**64 - 1}, found {seed}"
    fails_with(message, "run", "home-line.toml", "--seed", seed)
    with pytest.raises(InputError, match="seed: expected"):
        headend.run(home_line, seed=int(seed))


def test_values_that_are_no_toml_are_refused_as_typed(fake: Any, home_line: Path) -> None:
    hint = 'not valid TOML; a table is written {name = "value"}, a text in quotes'
    bad = "queue={codel = {target = 5 ms}}"
    fails_with(f"--set {bad}: {hint}", "run", "home-line.toml", "--set", bad)
    fails_with(f"--vary {bad}: {hint}", "compare", "home-line.toml", "--vary", bad)


def test_an_empty_or_repeated_value_to_vary_is_refused(fake: Any, home_line: Path) -> None:
    for values in ("a,,b", "a,", ",a"):
        message = f"--vary queue={values}: a value between two commas is empty"
        fails_with(message, "compare", "home-line.toml", "--vary", f"queue={values}")
    fails_with(
        "--vary queue: given twice; one --vary takes all its values",
        "compare", "home-line.toml", "--vary", "queue=a", "--vary", "queue=b",
    )  # fmt: skip


def test_bad_options_are_refused_in_one_line(fake: Any, home_line: Path, tmp_path: Path) -> None:
    fails_with(
        '--set queue: expected PATH=VALUE, such as --set "flow.upload.rtt=80 ms"',
        "run",
        "home-line.toml",
        "--set",
        "queue",
    )
    fails_with(
        'home-line.toml: nowhere.rate: --set nowhere.rate: no such key "nowhere" (line None)',
        "run",
        "home-line.toml",
        "--set",
        "nowhere.rate=1",
    )
    fails_with(
        "--vary queue: expected PATH=A,B,…, such as --vary queue=drop_tail,docsis_pie",
        "compare",
        "home-line.toml",
        "--vary",
        "queue",
    )


def test_a_command_or_option_that_is_not_there_is_told_what_there_is() -> None:
    assert 'scenarios lst"; did you mean "list"?' in call("scenarios", "lst").stderr
    assert 'no command "headend foo"; there are applications, capacity, ' in call("foo").stderr
    assert call("foo").exit_code == 2
    fails_with('headend run: no such option: --sedd; did you mean "--seed"?', "run", "--sedd")
    answer = call("run", "--bogus")
    assert answer.exit_code == 2
    told = "error: headend run: no such option: --bogus; there are --allow-files, --capture"
    assert answer.stderr.startswith(told)
    fails_with("headend: no such option: --bogus; there are --help, --version", "--bogus")
    unknown = "headend run: no such option:"
    fails_with(
        f"{unknown} --vary; headend compare SCENARIO --vary PATH=A,B runs it once with each value",
        "run", "a", "--vary", "queue=pie,codel",
    )  # fmt: skip
    assert "; headend compare SCENARIO --seeds N " in call("run", "--seeds=3").stderr
    fails_with(
        "headend sweep: no such option: --vary; what varies is in [grid] of the sweep's file",
        "sweep", "a.toml", "--vary", "queue=pie,codel",
    )  # fmt: skip
    fails_with(f'{unknown} --queue; did you mean "--set queue=…"?', "run", "a", "--queue", "pie")
    fails_with('no command "headend plot"; headend figures writes figures', "plot", "x")
    assert call("run", "-x").stderr.endswith(
        '; what begins with "-" and is no option comes after "--"\n'
    )


def test_words_that_are_missing_or_too_many_are_told_in_one_line() -> None:
    nothing = "found nothing; "
    scenarios = f"{nothing}headend scenarios lists those that are shipped"
    fails_with(f"headend run: expected SCENARIO, {scenarios}", "run")
    fails_with(f"headend compare: expected SCENARIO | RUN_DIR…, {scenarios}", "compare")
    fails_with(f"headend scenarios copy: expected NAME, {scenarios}", "scenarios", "copy")
    studies = f"{nothing}headend study list lists those that are shipped"
    fails_with(f"headend study run: expected NAME, {studies}", "study", "run")
    results = f"{nothing}runs write theirs to results/NAME, or where --out says"
    fails_with(f"headend export: expected RESULTS_DIR, {results}", "export")
    fails_with(
        "headend run: expected nothing after SCENARIO, found \"b\"; headend compare puts several"
        " runs side by side",
        "run", "a", "b",
    )  # fmt: skip
    fails_with(
        "headend run: expected nothing after SCENARIO, found \"queue=pie\"; --set queue=pie changes"
        " a value",
        "run", "a", "queue=pie",
    )  # fmt: skip
    fails_with(
        'headend queues: expected nothing after NAME, found "b"; headend help queues lists the'
        ' options',
        "queues", "a", "b",
    )  # fmt: skip
    fails_with(
        'headend schema: expected nothing, found "b"; headend help schema lists the options',
        "schema", "b",
    )  # fmt: skip
    fails_with("headend run: option '--seed' requires an argument", "run", "a", "--seed")
    fails_with("headend run: option '--json' does not take a value", "run", "a", "--json=3")


def test_scenarios_are_listed_by_name_and_without() -> None:
    answer = call("scenarios", "list")
    assert answer.exit_code == 0
    assert answer.stdout == call("scenarios").stdout
    assert json.loads(call("scenarios", "list", "--json").stdout)[0]["name"]
    assert "--json: expected after list" in call("scenarios", "--json", "list").stderr


def test_a_name_is_found_whatever_its_letters() -> None:
    fails_with('no congestion control is called "CUBIC"; did you mean "cubic"?', "senders", "CUBIC")


@pytest.mark.parametrize("encoding", ["latin1", "ascii"])
def test_what_an_encoding_has_not_got_is_replaced(encoding: str) -> None:
    package = str(Path(headend.__file__).parents[1])
    for options in (["scenarios"], ["scenarios", "--json"], ["run", "m↕nchen"]):
        answer = subprocess.run(
            [sys.executable, "-m", "headend", *options],
            env={**os.environ, "PYTHONPATH": package, "PYTHONIOENCODING": encoding},
            capture_output=True,
            check=False,
        )
        assert b"internal error" not in answer.stderr
        assert answer.returncode == (2 if "run" in options else 0)
        if "--json" in options:
            assert json.loads(answer.stdout) == json.loads(call(*options).stdout)


def test_marks_that_an_encoding_has_not_got_stay_told_apart(tmp_path: Path) -> None:
    code = (
        "import headend.cli.terminal as t; t.replace_unknown_letters(); print('✓ ✗ ↑ Δ × µ …"
        " m↕nchen 語')"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code],
        env={
            **os.environ,
            "PYTHONPATH": str(Path(headend.__file__).parents[1]),
            "PYTHONIOENCODING": "ascii",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout == "+ x ^ d x u ... m=nchen ?\n"


def test_results_are_not_written_over(fake: Any, home_line: Path, tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("x")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    # What --force would not replace is not said to be replaced with --force.
    fails_with(
        "full: not a results folder, so it is not replaced; choose another folder",
        "run", "home-line.toml", "--out", "full",
    )  # fmt: skip
    fails_with(
        "full: not a results folder, so it is not replaced; choose another folder",
        "run", "home-line.toml", "--out", "full", "--force",
    )  # fmt: skip
    fails_with(
        "notes: expected a folder to write results to, found a file",
        "run", "home-line.toml", "--out", "notes",
    )  # fmt: skip
    fails_with(
        "notes/out: cannot be written: notes is a file",
        "run", "home-line.toml", "--out", "notes/out",
    )  # fmt: skip


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_without_permission_is_refused(fake: Any, home_line: Path, tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    fails_with(
        "locked/out: cannot be written: permission denied",
        "run", "home-line.toml", "--out", "locked/out",
    )  # fmt: skip


def test_without_out_a_name_that_is_there_gets_a_number_and_the_help_says_so(
    fake: Any, home_line: Path
) -> None:
    vary = ("compare", "home-line.toml", "--vary", "queue=codel,pie", "-q")
    for command in (
        ["run", "home-line.toml", "-q"],
        vary,
        ["compare", "results/home-line-compared"],
    ):
        assert call(*command).exit_code == 0
        assert call(*command).exit_code == 0
    assert sorted(path.name for path in Path("results").iterdir()) == [
        "compared",
        "compared-2",
        "home-line",
        "home-line-2",
        "home-line-compared",
        "home-line-compared-2",
    ]
    helps = {name: describe_help(name) for name in ("run", "compare")}
    assert "By default results/NAME, or where that is there, NAME-2," in helps["run"]
    assert "By default results/NAME-compared, or results/compared" in helps["compare"]


def describe_help(command: str) -> str:
    """Give the words of a command's help without the frames around them."""
    text = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "300"}).output
    return " ".join(text.replace("│", " ").split())


def test_force_replaces_the_default_folder(fake: Any, home_line: Path) -> None:
    for _ in range(2):
        call("run", "home-line.toml", "--quiet", "--force")
        call("compare", "home-line.toml", "--vary", "queue=drop_tail,codel", "--quiet", "--force")
    assert sorted(path.name for path in Path("results").iterdir()) == [
        "home-line",
        "home-line-compared",
    ]


def test_missing_folders_are_not_made_for_one_file(fake: Any, home_line: Path) -> None:
    call("run", "home-line.toml", "--quiet", "--out", "a")
    message = "cannot be written: no such file or directory"
    fails_with(f"new/a.html: {message}", "report", "a", "--out", "new/a.html")
    fails_with(f"new/b.toml: {message}", "scenarios", "copy", "aimd", "new/b.toml")
    assert not Path("new").exists()


def start(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Start the command as the shell does."""
    command = [sys.executable, "-m", "headend", *arguments]
    path = str(Path(headend.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(command, env=environment, stderr=subprocess.PIPE, text=True, **options)


@pytest.mark.parametrize("command", [["run"], ["report"], ["figures"], ["study", "run"]])
def test_an_empty_path_is_refused(command: list[str]) -> None:
    answer = start(*command, "x", "--out", "", stdout=subprocess.PIPE)
    told = f"headend {' '.join(command)}: invalid value for '--out': expected a path, found nothing"
    assert answer.stderr == f"error: {told}\n"
    assert (answer.returncode, answer.stdout) == (2, "")


@pytest.mark.parametrize("seed", ["1.5", "one", ""])
@pytest.mark.parametrize("command", ["run", "compare"])
def test_a_seed_that_is_no_whole_number_is_refused(command: str, seed: str) -> None:
    answer = start(command, "x", f"--seed={seed}", stdout=subprocess.PIPE)
    expected = f'expected a whole number, found "{seed}"'
    assert answer.stderr == f"error: headend {command}: invalid value for '--seed': {expected}\n"
    assert (answer.returncode, answer.stdout) == (2, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize(
    "command",
    [["schema"], ["scenarios"], ["scenarios", "--json"], ["--help"], ["help"], ["study"], []],
)
def test_output_that_cannot_be_written_is_told_in_one_line(command: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        answer = start(*command, stdout=full)
    message = "standard output: cannot be written: no space left on device"
    assert answer.stderr == f"error: {message}\n"
    assert answer.returncode == 2


@pytest.mark.parametrize(
    "command", [["schema"], ["scenarios"], ["scenarios", "--json"], ["--help"]]
)
def test_who_reads_no_further_changes_nothing(command: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    answer = start(*command, stdout=writer)
    os.close(writer)
    assert (answer.returncode, answer.stderr) == (0, "")


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["--help"], 0),
        (["--version"], 0),
        (["scenarios"], 0),
        (["scenarios", "--json"], 0),
        (["schema"], 0),
        (["find", "webrtc"], 0),
        ([], 2),
        (["nonsense"], 2),
    ],
)
def test_output_that_is_closed_is_written_nowhere(command: list[str], code: int) -> None:
    closed = "import os, sys\nfor one in (1, 2): os.close(one)\nos.execv(sys.argv[1], sys.argv[1:])"
    words = [sys.executable, "-m", "headend", *command]
    assert subprocess.run([sys.executable, "-c", closed, *words], check=False).returncode == code
    # What goes to standard error still goes there.
    closed = closed.replace("(1, 2)", "(1,)")
    answer = subprocess.run(
        [sys.executable, "-c", closed, *words], check=False, stderr=subprocess.PIPE, text=True
    )
    told = "" if code == 0 or not command else 'error: no command "headend nonsense"'
    assert answer.returncode == code
    assert answer.stderr.startswith(told)
    assert len(answer.stderr.splitlines()) == bool(told)


def test_a_missed_expectation_is_missed_whoever_reads(home_line: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    missed = ["--set", "duration=6 s", "--set", "expect.call=call.loss > 50 %"]
    assert start("run", "home-line.toml", *missed, stdout=writer).returncode == 1
    os.close(writer)


def test_an_error_is_json_too(fake: Any, home_line: Path) -> None:
    answer = call("run", "nowhere.toml", "--json")
    assert json.loads(answer.stdout) == {"error": "nowhere.toml: no such file"}
    assert answer.exit_code == 2


def test_an_interrupted_run_keeps_what_it_has_and_says_so(
    fake: Any, home_line: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fake.Run, "slow", True)
    began = threading.Event()
    advance = fake.Run.advance

    def note(self: Any, wall_seconds: float) -> tuple[int, bool]:
        began.set()
        done: tuple[int, bool] = advance(self, wall_seconds)
        return done

    monkeypatch.setattr(fake.Run, "advance", note)

    def interrupt() -> None:
        began.wait()
        os.kill(os.getpid(), signal.SIGINT)

    interrupter = threading.Thread(target=interrupt)
    interrupter.start()
    answer = call("run", "home-line.toml", "--set", "duration=6000 s", "--out", "out")
    interrupter.join()
    assert answer.exit_code == 130
    assert "Partial: stopped at" in answer.stdout
    result = RunResult.load("out")
    assert result.is_partial
    assert answer.stdout.splitlines()[-1] == "Kept in out; headend report out makes a report of it"
    assert call("report", "out").exit_code == 0
    assert "<strong>Partial.</strong>" in Path("out/report.html").read_text()


def test_a_quiet_run_that_is_interrupted_says_what_is_kept(
    fake: Any, home_line: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "headend.cli.terminal._ignore", lambda _now: os.kill(os.getpid(), signal.SIGINT)
    )
    answer = call("run", "home-line.toml", "-q", "--set", "duration=6000 s", "--out", "out")
    told = "interrupted: kept in out, 2,000 s of 6,000 s\n"
    assert (answer.exit_code, answer.stdout, answer.stderr) == (130, "", told)
    monkeypatch.undo()
    monkeypatch.chdir(home_line.parent)
    monkeypatch.setattr(
        "headend.pages.page.write_page", lambda *_: os.kill(os.getpid(), signal.SIGINT)
    )
    answer = call("run", "home-line.toml", "-q", "--set", "duration=6 s", "--out", "whole")
    told = "interrupted: kept in whole\n"
    assert (answer.exit_code, answer.stdout, answer.stderr) == (130, "", told)


@pytest.mark.parametrize(
    "command",
    [
        ["run", "home-line.toml"],
        ["compare", "home-line.toml", "--vary", "queue=drop_tail,codel"],
        ["compare", "one", "two"],
    ],
)
def test_an_interruption_while_the_report_is_made_costs_only_the_report(
    fake: Any, home_line: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    for name, queue in (("one", "drop_tail"), ("two", "codel")):
        headend.run(home_line, set={"queue": queue}).save(name, report=False)
    monkeypatch.setattr(
        "headend.pages.page.write_page", lambda *_: os.kill(os.getpid(), signal.SIGINT)
    )
    answer = call(*command, "--out", "out")
    assert answer.exit_code == 130
    assert answer.stdout.splitlines()[-1] == "Kept in out; headend report out makes a report of it"
    assert not any(result.is_partial for result in load_results(["out"]))
    assert not Path("out/report.html").exists()
    monkeypatch.undo()
    assert call("report", str(home_line.parent / "out")).exit_code == 0


def test_an_interruption_as_a_run_ends_leaves_out_the_report(
    fake: Any, home_line: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = RunResult.write_into

    def interrupt(self: RunResult, folder: Path) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        write(self, folder)

    monkeypatch.setattr(RunResult, "write_into", interrupt)
    answer = call("run", "home-line.toml", "--out", "out")
    assert answer.exit_code == 130
    assert answer.stdout.splitlines()[-1] == "Kept in out; headend report out makes a report of it"
    assert not RunResult.load("out").is_partial


def test_a_comparison_is_one_folder_with_one_report(fake: Any, home_line: Path) -> None:
    answer = call(
        "compare", "home-line.toml", "--vary", "queue=drop_tail,docsis_pie", "--out", "both"
    )
    assert answer.exit_code == 0, answer.output
    text = " ".join(answer.stdout.split())
    assert "Which queue suits " in text
    assert "is bad (" in text
    assert " under drop_tail: packets wait " in text
    assert sorted(path.name for path in Path("both").iterdir()) == [
        "SHA256SUMS",
        "docsis_pie",
        "drop_tail",
        "manifest.json",
        "report.html",
    ]
    assert call("report", "both", "--out", "again.html").exit_code == 0
    assert Path("again.html").read_bytes() == Path("both/report.html").read_bytes()


def test_a_report_takes_no_other_file_s_place(fake: Any, home_line: Path) -> None:
    call("run", "home-line.toml", "--quiet", "--out", "a")
    text = home_line.read_text(encoding="utf-8")
    refusal = "exists and is no page of headend; choose another file, or replace it with --force"
    fails_with(f"home-line.toml: {refusal}", "report", "a", "--out", "home-line.toml")
    fails_with(
        f"home-line.toml: {refusal}", "study", "report", "--studies", "a", "--out", "home-line.toml"
    )
    assert home_line.read_text(encoding="utf-8") == text
    page = Path("page.html")
    for _ in range(2):  # one of ours is replaced
        assert call("report", "a", "--out", "page.html").exit_code == 0
    page.write_text("notes", encoding="utf-8")
    fails_with(f"page.html: {refusal}", "report", "a", "--out", "page.html")
    assert call("report", "a", "--out", "page.html", "--force").exit_code == 0
    assert page.read_bytes() == Path("a/report.html").read_bytes()
    # The page of a results folder is ours, also where it is damaged.
    Path("a/report.html").write_text("cut short", encoding="utf-8")
    assert call("report", "a", "--out", "a/report.html").exit_code == 0
    assert page.read_bytes() == Path("a/report.html").read_bytes()


def test_figures_that_were_there_are_replaced_and_counted(fake: Any, home_line: Path) -> None:
    call("run", "home-line.toml", "--quiet", "--out", "a")
    first = call("figures", "a", "--out", "f").stdout
    count = len(list(Path("f").iterdir()))
    assert first == f"{count} figures in f\n"
    Path("f/mos.svg").unlink()
    again = call("figures", "a", "--out", "f").stdout
    assert again == f"{count} figures in f, {count - 1} of them in place of files that were there\n"
    document = json.loads(call("figures", "a", "--out", "f", "--format", "png", "--json").stdout)
    assert (len(document["figures"]), document["replaced"]) == (count, [])


def test_finished_runs_are_compared_too(fake: Any, home_line: Path) -> None:
    call("run", "home-line.toml", "--quiet", "--out", "a")
    call("run", "home-line.toml", "--quiet", "--set", "queue=docsis_pie", "--out", "b")
    answer = call("compare", "a", "b", "--label", "long", "--label", "short", "--json")
    assert [run["label"] for run in json.loads(answer.stdout)["runs"]] == ["long", "short"]
    fails_with("a: one run alone is nothing to compare; give another folder", "compare", "a")
    fails_with("nothing: no such results folder", "compare", "nothing", "a")


def test_figures_are_written_in_every_format(fake: Any, home_line: Path) -> None:
    call("run", "home-line.toml", "--quiet", "--out", "a")
    answer = call("figures", "a", "--format", "svg,pdf,png", "--out", "f")
    assert answer.exit_code == 0, answer.output
    names = {path.name for path in Path("f").iterdir()}
    assert {"mos.svg", "queue-delay.svg", "cable.up-backlog-over-time.svg"} <= names
    call("run", "home-line.toml", "--quiet", "--set", "queue=docsis_pie", "--out", "b")
    call("figures", "a", "b", "--out", "g")
    assert {"call-up-mos.svg", "cable.up-queue-delay.svg"} <= {p.name for p in Path("g").iterdir()}
    starts = {path.suffix: path.read_bytes()[:4] for path in Path("f").iterdir()}
    assert starts == {".svg": b"<svg", ".pdf": b"%PDF", ".png": b"\x89PNG"}
    fails_with(
        'no figure format is called "jpg"; did you mean "png"?',
        "figures",
        "a",
        "--format",
        "jpg",
    )


def test_unknown_names_are_answered_with_the_nearest() -> None:
    answer = call("study", "run", "buffer-control/ping-latancy")
    assert answer.exit_code == 2
    assert 'did you mean "buffer-control/ping-latency"?' in answer.stderr


@pytest.mark.parametrize("low_latency", ["off", "on"])
def test_an_answer_makes_no_frame(low_latency: str) -> None:
    setting = ("low_latency", low_latency)
    code = (
        "import sys\n"
        "from headend.running.experiment import plan_run\n"
        "from headend.wording.run import answer_run\n"
        f"overrides = [('duration', '12 s'), {setting!r}]\n"
        "print(answer_run(plan_run('upload-and-call', overrides).carry_out()).sentences != ())\n"
        "print('polars' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]


def test_help_is_quick_and_lists_every_command() -> None:
    heavy = (
        "[m for m in ('polars', 'altair', 'numpy', 'jinja2', 'headend._engine') if m in"
        " sys.modules]"
    )
    code = f"import sys, headend.cli.main; print({heavy})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    for command in (
        "run",
        "compare",
        "scenarios",
        "study",
        "queues",
        "schema",
        "report",
        "figures",
    ):
        assert command in call("--help").stdout


def test_what_would_be_called_one_thing_and_run_as_another_is_refused(
    fake: Any, home_line: Path
) -> None:
    answer = call("compare", "home-line.toml", "--vary", "seed=1,2")
    assert (answer.exit_code, "--seeds 1,2,3" in answer.stderr) == (2, True)
    answer = call(
        "compare", "home-line.toml", "--vary", "queue=codel,pie", "--vary", "queue.codel.ecn=true"
    )
    assert (answer.exit_code, "--vary queue chose" in answer.stderr) == (2, True)


def test_a_stopped_seed_is_left_out_of_the_means_and_named(
    fake: Any, home_line: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    carry_out_all = headend.running.experiment.carry_out_all

    def stop_at_the_last(*args: Any) -> Any:
        results = carry_out_all(*args)
        list(results.values())[-1].manifest["partial"] = True
        return results

    monkeypatch.setattr("headend.running.experiment.carry_out_all", stop_at_the_last)
    answer = call(
        "compare", "home-line.toml", "--vary", "queue=codel,pie", "--seeds", "2", "--out", "out"
    )
    assert answer.exit_code == 130
    assert "Not finished: pie, seed 2." in answer.stdout
    assert json.loads(Path("out/manifest.json").read_text())["runs"] == [
        "codel/seed-1",
        "codel/seed-2",
        "pie",
    ]


def stop_after(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a comparison be stopped when so many runs are done: the others are not begun."""
    carry_out_all = headend.running.experiment.carry_out_all
    monkeypatch.setattr(
        "headend.running.experiment.carry_out_all",
        lambda plans, *rest: carry_out_all(plans[:count], *rest),
    )


def test_what_an_interrupted_comparison_lacks_is_told_whenever_it_is_read(
    fake: Any, home_line: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_after(2, monkeypatch)
    queues = "queue=drop_tail,codel,pie,red"
    answer = call("compare", "home-line.toml", "--vary", queues, "--out", "out")
    assert answer.exit_code == 130
    assert "Not finished: pie, red." in answer.stdout
    assert json.loads(Path("out/manifest.json").read_text())["unfinished"] == ["pie", "red"]
    assert call("report", "out").exit_code == 0
    told = "<strong>Partial.</strong> The comparison was stopped. Not finished: pie, red."
    assert told in Path("out/report.html").read_text()
    answer = call("compare", "out", "--out", "again")
    assert answer.exit_code == 0
    assert "Not finished: pie, red." in answer.stdout
    assert told in Path("again/report.html").read_text()
    answer = call("compare", "again", "out", "--out", "both", "--json")
    names = ["pie of again", "red of again", "pie of out", "red of out"]
    assert json.loads(answer.stdout)["unfinished"] == names


def test_a_quiet_comparison_that_is_interrupted_says_what_it_lacks(
    fake: Any, home_line: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_after(3, monkeypatch)
    vary = ("--vary", "queue=codel,pie", "--seeds", "2")
    answer = call("compare", "home-line.toml", *vary, "--out", "out", "--quiet")
    told = "interrupted: kept in out. Not finished: pie, seed 2.\n"
    assert (answer.exit_code, answer.stdout, answer.stderr) == (130, "", told)


def test_seeds_that_an_interrupted_comparison_lacks_are_no_other_traffic(
    fake: Any, home_line: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_after(3, monkeypatch)
    said = "do not have the same seeds"
    answer = call(
        "compare", "home-line.toml", "--vary", "queue=codel,pie", "--seeds", "2", "--out", "out"
    )
    assert "Not finished: pie, seed 2." in answer.stdout
    assert said not in " ".join(answer.stdout.split())
    assert call("report", "out").exit_code == 0
    assert said not in Path("out/report.html").read_text()
    answer = call("compare", "out", "--out", "again", "--json")
    assert json.loads(answer.stdout)["warnings"] == []
    headend.run(home_line, set={"queue": "red"}, seed=7).save("other", report=False)
    answer = call("compare", "again", "other", "--json")
    assert said in json.loads(answer.stdout)["warnings"][0]


def test_an_interrupted_comparison_does_not_advise_the_seeds_that_were_asked_for(
    fake: Any, home_line: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    carry_out_all = headend.running.experiment.carry_out_all
    monkeypatch.setattr(
        "headend.running.experiment.carry_out_all",
        lambda plans, *rest: carry_out_all([plan for plan in plans if plan.seed == 1], *rest),
    )
    vary = ("--vary", "queue=codel,pie", "--seeds", "10")
    answer = call("compare", "home-line.toml", *vary, "--out", "out", "--full")
    told = "One seed has no interval: the comparison was stopped before it ran more."
    said = " ".join(answer.stdout.split())
    assert said.count(told) == 2
    assert "--seeds 10" not in said
    assert call("report", "out").exit_code == 0
    page = Path("out/report.html").read_text()
    assert told in page
    assert "--seeds 10" not in page


def test_the_seeds_that_a_comparison_lacks_are_not_those_in_its_labels(
    fake: Any, home_line: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_after(3, monkeypatch)
    labels = ("--label", "old", "--label", "new, seed 7")
    vary = ("--vary", "queue=codel,pie", "--seeds", "2", *labels)
    call("compare", "home-line.toml", *vary, "--out", "out")
    manifest = json.loads(Path("out/manifest.json").read_text())
    assert manifest["unfinished"] == ["new, seed 7, seed 2"]
    assert manifest["missing_seeds"] == {"new, seed 7": [2]}
    # Renamed, they are those of the same runs, and no others'.
    relabelled = ("--label", "a", "--label", "b", "--out", "again", "--json")
    assert json.loads(call("compare", "out", *relabelled).stdout)["warnings"] == []
    assert json.loads(Path("again/manifest.json").read_text())["missing_seeds"] == {"b": [2]}
    headend.run(home_line, set={"queue": "red"}).save("other", report=False)
    warnings = json.loads(call("compare", "again", "other", "--json").stdout)["warnings"]
    assert ["do not have the same seeds" in text for text in warnings] == [True]


def test_one_choice_that_was_run_is_not_spoken_of_as_several(
    fake: Any, home_line: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_after(1, monkeypatch)
    answer = call("compare", "home-line.toml", "--vary", "queue=drop_tail,pie", "--out", "out")
    assert answer.exit_code == 130
    text = " ".join(answer.stdout.split())
    assert "How do upload, call, ping and browsing fare on 10 Mbit/s?" in text
    assert "Call is unusable (MOS 1." in text
    assert "Not finished: pie. Kept in out; headend report out makes a report of it" in text
    for of_several in ("The choice", "in every run", "best", "Δ"):
        assert of_several not in text


def test_parts_of_runs_in_means_are_warned_of(fake: Any, home_line: Path) -> None:
    for queue, seed in (("codel", 1), ("codel", 2), ("pie", 1), ("pie", 2)):
        result = headend.run(home_line, set={"queue": queue}, seed=seed)
        result.manifest["partial"] = (queue, seed) == ("pie", 2)
        result.save(f"{queue}-{seed}", report=False)
    folders = sorted(path.name for path in Path().iterdir() if path.is_dir())
    answer = call("compare", *folders, "--label", "one", "--label", "two", "--json")
    assert answer.exit_code == 0
    assert json.loads(answer.stdout)["warnings"] == [
        "the means hold runs that were stopped before their end (two, seed 2)"
    ]


def test_a_fault_of_our_own_is_one_line_with_an_exit_code_of_its_own(
    fake: Any, home_line: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise KeyError("no such column")

    monkeypatch.setattr("headend.wording.verdict.judge", fail)
    answer = call("run", "home-line.toml", "--out", "out")
    assert answer.exit_code == 70
    assert answer.stderr.startswith("error: internal error, please report it: KeyError")
    assert "Traceback" not in answer.stderr


def test_an_empty_name_and_a_link_to_nothing_are_told_as_such(home_line: Path) -> None:
    empty = call("run", "")
    assert empty.stderr == (
        "error: expected the name of a shipped scenario or the path of a file, found nothing\n"
    )
    loop = home_line.with_name("loop.toml")
    loop.symlink_to(loop)
    assert call("run", "loop.toml").stderr == (
        "error: loop.toml: a symbolic link that leads to no file\n"
    )


def test_the_parameters_of_tables_in_a_queue_are_shown() -> None:
    names = [
        row["name"] for row in json.loads(call("queues", "cbt", "--json").stdout)[0]["parameters"]
    ]
    assert {"class", "class.NAME.match", "class.NAME.match.dscp", "class.NAME.rate"} <= set(names)
    names = [
        row["name"] for row in json.loads(call("queues", "sfq", "--json").stdout)[0]["parameters"]
    ]
    assert "hash.ways" in names


def test_an_end_system_is_no_congestion_control_and_is_pointed_to() -> None:
    answer = call("senders", "linux")
    assert answer.exit_code == 2
    assert (
        '"linux" is an end system, not a congestion control: tcp.system = "linux"' in answer.stderr
    )
    assert "tcp.system = freebsd4, linux, macos, rfc, windows_xp" in call("senders").stdout


def test_errors_name_a_name_in_another_order_and_the_units() -> None:
    answer = call("run", "upload-and-call", "--set", "queue=pie_docsis", "--out", "out")
    assert (answer.exit_code, 'did you mean "docsis_pie"?' in answer.stderr) == (2, True)
    rate = "link.cable.docsis.upstream.rate=100 Tbit/s"
    answer = call("run", "upload-and-call", "--set", rate, "--out", "out")
    told = (
        'expected a rate or "unlimited", such as "10 Mbit/s" (bit/s, kbit/s, Mbit/s, Gbit/s), found'
        ' "100 Tbit/s"'
    )
    assert (answer.exit_code, told in answer.stderr) == (2, True)
