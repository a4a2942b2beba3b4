"""Nothing foreign is read: where scenarios' files may be, quoted errors, programs."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import headend
from headend.cli.main import app
from headend.errors import InputError
from headend.running.job import prepare
from headend.running.measuring import Named
from headend.scenario.library import find_study
from headend.scenario.source import read_scenario

LINE = """
duration = "1 s"
[link.line.point_to_point]
up = { rate = "1 Mbit/s" }
[flow.ping]
application = "ping"
"""

TRACED = LINE.replace('rate = "1 Mbit/s"', 'rate = { trace = "%s" }')

RATE = "link.line.point_to_point.up.rate"

#: An opportunity for 1504 bytes each ten and each five milliseconds.
SLOW, FAST = "10\n", "5\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the caller, with a folder of a scenario in it and another beside."""
    here = tmp_path / "here"
    (here / "mine" / "below").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "secret").write_text("a secret of somebody else that is long\n")
    (tmp_path / "elsewhere" / "fast").write_text(FAST)
    (here / "mine" / "slow").write_text(SLOW)
    (here / "mine" / "below" / "slow").write_text(SLOW)
    (here / "mine" / "line.toml").write_text(LINE)
    monkeypatch.chdir(here)
    return here


def run(*words: str) -> Any:
    return CliRunner().invoke(app, ["run", "--out", "out", "--force", "-q", *words])


def write_traced(folder: Path, name: str) -> str:
    (folder / "mine" / "traced.toml").write_text(TRACED % name)
    return "mine/traced.toml"


@pytest.mark.parametrize("name", ["slow", "below/slow", "./slow", "below/../slow"])
def test_a_scenario_reads_from_its_own_folder_and_below(folder: Path, name: str) -> None:
    assert run(write_traced(folder, name)).exit_code == 0


@pytest.mark.parametrize(
    "name", ["../../elsewhere/secret", "/etc/passwd", "link", "below/up/secret"]
)
def test_a_scenario_reads_from_nowhere_else(folder: Path, name: str) -> None:
    (folder / "mine" / "link").symlink_to("../../elsewhere/secret")
    (folder / "mine" / "below" / "up").symlink_to("../../../elsewhere")
    answer = run(write_traced(folder, name))
    assert answer.exit_code == 2
    assert f'{RATE}.trace: the file "{name}" cannot be read' in answer.stderr
    assert (
        "it is not in the folder mine or below; --allow-files PATH lets files elsewhere be read"
        in answer.stderr
    )
    assert "secret of" not in answer.output
    assert not Path("out").exists()


def test_a_link_is_followed_inside(folder: Path) -> None:
    (folder / "mine" / "link").symlink_to("below/slow")
    assert run(write_traced(folder, "link")).exit_code == 0


@pytest.mark.parametrize("allowed", ["../elsewhere", "../elsewhere/fast", ".."])
def test_more_can_be_allowed(folder: Path, allowed: str) -> None:
    scenario = write_traced(folder, "../../elsewhere/fast")
    assert run(scenario).exit_code == 2
    assert run(scenario, "--allow-files", allowed).exit_code == 0
    assert headend.run(scenario, allow_files=[allowed]).flows.height > 0
    answer = run(scenario, "--allow-files", "nowhere")
    assert "--allow-files nowhere: no such file or folder" in answer.stderr


def test_what_is_allowed_is_a_list_of_paths(folder: Path) -> None:
    with pytest.raises(InputError, match="allow_files: expected a list of paths, found 'mine'"):
        headend.run("mine/line.toml", allow_files="mine")


def test_an_override_reads_from_the_callers_folder(folder: Path) -> None:
    (folder / "fast").write_text(FAST)
    trace = f'{RATE}={{ trace = "fast" }}'
    assert run("mine/line.toml", "--set", trace).exit_code == 0
    # Also of a scenario that ships, whose folder is the installed package's.
    rate = 'link.radio.point_to_point.up.rate={ trace = "fast" }'
    answer = run("varying-rate", "--set", rate, "--set", "duration=2 s", "--set", "warmup=1 s")
    assert answer.exit_code in (0, 1), answer.output
    answer = run("mine/line.toml", "--set", f'{RATE}={{ trace = "mine/../../elsewhere/fast" }}')
    assert (answer.exit_code, "it is not in this folder or below" in answer.stderr) == (2, True)


def test_an_override_reads_what_is_not_in_the_callers_folder_from_the_scenarios(
    folder: Path,
) -> None:
    def read(name: str, *words: str) -> Any:
        return run("mine/line.toml", "--set", f'{RATE}={{ trace = "{name}" }}', *words)

    def measure(name: str) -> float:
        result = headend.run("mine/line.toml", set={RATE: {"trace": name}})
        return float(result.queues.filter(queue="line.up")["rate_bps"][0])

    assert read("slow").exit_code == read("below/slow").exit_code == 0
    slow = measure("slow")
    # What is in the caller's folder goes before it.
    (folder / "slow").write_text(FAST)
    assert measure("slow") == pytest.approx(2 * slow)
    (folder / "mine" / "link").symlink_to("../../elsewhere/secret")
    answer = read("link")
    assert answer.exit_code == 2
    assert "it is not in the folder mine or below" in answer.stderr
    answer = read("none")
    assert answer.exit_code == 2
    assert "no such file in this folder or in the scenario's, mine" in answer.stderr


def test_a_varied_file_is_looked_for_in_the_scenarios_folder_too(folder: Path) -> None:
    (folder / "fast").write_text(FAST)
    vary = f'{RATE}={{trace="slow"}},{{trace="fast"}}'
    answer = CliRunner().invoke(
        app, ["compare", "mine/line.toml", "--vary", vary, "--out", "out", "-q"]
    )
    assert answer.exit_code == 0, answer.output


def test_the_processs_environment_is_not_read(folder: Path) -> None:
    name = "/proc/self/environ"
    if not Path(name).exists():
        pytest.skip("this system shows no process's environment in a file")
    words = ("mine/line.toml", "--set", f'{RATE}={{ trace = "{name}" }}')
    secret = Path(name).read_bytes()
    assert secret
    answer = run(*words)
    assert answer.exit_code == 2
    assert find_longest(secret.decode(errors="replace"), answer.output) < 10
    # Nor much of it where somebody allows it: an error quotes twenty characters at most.
    answer = run(*words, "--allow-files", "/proc")
    assert answer.exit_code == 2
    assert find_longest(secret.decode(errors="replace"), answer.output) <= 20
    assert "\0" not in answer.output


def find_longest(secret: str, told: str) -> int:
    """Give the length of the longest piece of a text that is told."""
    longest = 0
    for start in range(len(secret)):
        while secret[start : start + longest + 1] in told and start + longest < len(secret):
            longest += 1
    return longest


def test_an_error_quotes_twenty_characters_of_a_file(folder: Path) -> None:
    (folder / "mine" / "odd").write_text("\x1b[31mred and many more characters than these\n")
    answer = run(write_traced(folder, "odd"))
    assert answer.exit_code == 2
    assert '"\\u{1b}[31mred' in answer.stderr
    assert "more characters" not in answer.stderr
    assert "\x1b" not in answer.stderr


def test_one_name_in_two_folders_is_refused(folder: Path) -> None:
    (folder / "slow").write_text(FAST)
    scenario = write_traced(folder, "slow")
    down = f'{RATE.replace("up", "down")}={{ trace = "%s" }}'
    answer = run(scenario, "--set", down % "slow")
    assert answer.exit_code == 2
    assert (
        "two files have this name, mine/slow and slow; write ./slow for one of them"
        in answer.stderr
    )
    assert run(scenario, "--set", down % "./slow").exit_code == 0


# Sweeps and studies

SWEEP = """
scenario = "line.toml"
[grid]
"link.line.point_to_point.up.rate" = [{ trace = "%s" }, "1 Mbit/s"]
[measures]
rtt = "ping.rtt.p50"
"""


def sweep(*words: str) -> Any:
    return CliRunner().invoke(app, ["sweep", "swept/small.toml", "--out", "out", "-q", *words])


def test_a_sweep_reads_from_the_folder_of_its_file(folder: Path) -> None:
    (folder / "swept").mkdir()
    (folder / "swept" / "line.toml").write_text(LINE)
    (folder / "swept" / "fast").write_text(FAST)
    (folder / "swept" / "small.toml").write_text(SWEEP % "fast")
    assert sweep().exit_code == 0
    (folder / "swept" / "small.toml").write_text(SWEEP % "../../elsewhere/fast")
    answer = sweep()
    assert answer.exit_code == 2
    assert "it is not in the folder swept or below" in answer.stderr
    assert sweep("--allow-files", "../elsewhere").exit_code == 0
    # What is typed is of the folder where it is typed.
    (folder / "typed").write_text(FAST)
    down = f'{RATE.replace("up", "down")}={{ trace = "typed" }}'
    assert sweep("--set", down, "--allow-files", "../elsewhere").exit_code == 0


def test_a_sweep_runs_scenarios_of_its_own_folder(folder: Path) -> None:
    (folder / "swept").mkdir()
    (folder / "swept" / "small.toml").write_text((SWEEP % "x").replace('"line', '"../mine/line'))
    answer = sweep()
    assert answer.exit_code == 2
    assert (
        "swept/../mine/line.toml cannot be read: it is not in the folder swept or below"
        in answer.stderr
    )
    (folder / "swept" / "x").write_text(FAST)
    assert sweep("--allow-files", "mine").exit_code == 0


def test_a_scenario_within_a_sweep_reads_from_the_sweeps_folder(folder: Path) -> None:
    (folder / "swept").mkdir()
    inner = TRACED.replace("[", "[scenario.").replace("duration", "scenario.duration") % "fast"
    (folder / "swept" / "small.toml").write_text(
        f'{inner}[grid]\n"flow.ping.rtt" = ["10 ms", "20 ms"]\n[measures]\nrtt = "ping.rtt.p50"\n'
    )
    (folder / "fast").write_text(FAST)
    answer = sweep()
    assert answer.exit_code == 2
    assert "swept/fast: no such file" in answer.stderr
    (folder / "swept" / "fast").write_text(FAST)
    assert sweep().exit_code == 0


def test_a_file_that_changes_during_a_sweep_gives_no_result(folder: Path) -> None:
    trace = folder / "mine" / "slow"
    job = prepare(
        read_scenario(write_traced(folder, "slow")), (), 1, Named({"rtt": "ping.rtt.p50"})
    )
    assert job.run() is not None
    trace.write_text(FAST)
    with pytest.raises(InputError, match='the file "slow" has changed since the point was checked'):
        job.run()
    with pytest.raises(InputError, match="has changed"):
        job.pack()


@pytest.mark.parametrize("name", ["a\\u0000b", "\\ud800"])
def test_a_name_that_no_file_can_have_is_refused(folder: Path, name: str) -> None:
    answer = run(write_traced(folder, name))
    assert answer.exit_code == 2
    assert len(answer.stderr.splitlines()) == 1


def copy_study(folder: Path) -> Path:
    study = folder / "study"
    shutil.copytree(find_study("cbt/equal-loss"), study)
    shutil.copy(find_study("cbt/equal-loss").parent / "readings.toml", folder)
    return study


def test_a_program_that_does_not_ship_is_announced(folder: Path) -> None:
    copy_study(folder)
    told = "study/analysis.py is a program that does not ship with headend; it will be executed"
    answer = CliRunner().invoke(app, ["study", "run", "study", "--quick", "-q", "--out", "out"])
    assert told in answer.stderr
    assert answer.exit_code in (0, 1), answer.output
    words = ["study", "run", "cbt/equal-loss", "--quick", "-q", "--out", "shipped"]
    assert "analysis.py" not in CliRunner().invoke(app, words).stderr


def test_a_study_reads_from_its_own_folder(folder: Path) -> None:
    study = copy_study(folder)
    shutil.move(study / "line.toml", folder.parent / "elsewhere" / "line.toml")
    text = (study / "study.toml").read_text()
    name = os.path.relpath(folder.parent / "elsewhere" / "line.toml", study)
    assert '"line.toml"' in text
    (study / "study.toml").write_text(text.replace('"line.toml"', json.dumps(name)))
    words = ["study", "run", "study", "--quick", "-q", "--out", "out"]
    answer = CliRunner().invoke(app, words)
    assert answer.exit_code == 2
    assert "it is not in the folder study or below" in answer.stderr
    answer = CliRunner().invoke(app, [*words, "--allow-files", "../elsewhere"])
    assert answer.exit_code in (0, 1), answer.output
