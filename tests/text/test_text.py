"""Texts of others in all that is printed and written: shown as they are."""

from __future__ import annotations

import json
import logging
import os
import pty
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

import headend
from headend.cli import main
from headend.cli.terminal import make_messages, make_output, show_points, show_progress
from headend.errors import InputError
from headend.pages.page import write_report
from headend.running.comparison import Comparison
from headend.running.execution import count_cores
from headend.running.executor import Progress
from headend.running.experiment import compare as compare_settings
from headend.running.result import Result
from headend.scenario.source import read_scenario
from headend.text.reveal import reveal_line

#: Markup of Rich, an emoji's name, and what moves cursors, rings, ends lines and turns the
#: direction of writing.
NASTY = (
    "Uplink [/48] [red]:smile: \x1b[31m \x1b]0;t\x07 \x9b2J \x7f \u202e\u2066\u200e\u200f\u061c"
    " a\r\nb"
)
SHOWN = (
    r"Uplink [/48] [red]:smile: \x1b[31m \x1b]0;t\x07 \x9b2J \x7f \u202e\u2066\u200e\u200f\u061c"
    r" a\r\nb"
)

#: What may control nothing: all that is not printed, but for the newline.
CONTROL = re.compile(
    r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
#: What Rich writes to a terminal for colours and styles, and for bars that are drawn in their
#: place.
STYLES = re.compile(r"\x1b\[(?:[0-9;]*m|[0-9]*[AGK]|\?25[lh])|\r")

SCENARIO = f"""\
title = {json.dumps(NASTY)}
description = {json.dumps(NASTY)}
duration = "1 s"
bottleneck = "line.up"
link.line.point_to_point.up = {{ rate = "1 Mbit/s", queue = "drop_tail" }}
flow.ping = {{ application = "ping" }}
[expect]
slow = "ping.rtt.p50 > 1 s"
"""

SWEEP = f"""\
title = {json.dumps(NASTY)}
scenario = "nasty.toml"
[grid]
queue = ["drop_tail", "codel"]
flow.ping.rtt = {{ values = ["10 ms", "30 ms"],\
 labels = [{json.dumps(NASTY)}, "far"], name = {json.dumps(NASTY)} }}
[measures]
{json.dumps("rtt " + NASTY)} = "ping.rtt.mean"
"""

STUDY = f"""\
format = 1
title = {json.dumps(NASTY)}
source = {json.dumps(NASTY)}
description = {json.dumps(NASTY)}
scenario = "nasty.toml"
[grid.rtt]
values = ["1", "2"]
set = {{ "flow.ping.rtt" = "{{}}0 ms" }}
[measures]
ping = "ping.rtt.mean"
[[claim]]
id = "A"
source = {json.dumps(NASTY)}
statement = {json.dumps(NASTY)}
expected = {json.dumps(NASTY)}
check = "count"
[[figure]]
name = "pings"
title = {json.dumps(NASTY)}
explanation = {json.dumps(NASTY)}
draw = "draw"
"""

ANALYSIS = f"""\
from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.study.claims import ClaimResult, ClaimVerdict

def count(points, limits):
    return ClaimResult({NASTY!r}, ClaimVerdict.DIFFERS, why={NASTY!r})

def draw(points):
    x = vl.X("rtt:N", title={NASTY!r})
    return [Panel({NASTY!r}, vl.Chart(points).mark_point().encode(x=x, y="ping:Q"))]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give a folder with a scenario, a sweep and a study of such texts, and their results."""
    folder = tmp_path_factory.mktemp("text")
    (folder / "study").mkdir()
    for name, text in (
        ("nasty.toml", SCENARIO),
        ("sweep.toml", SWEEP),
        ("study/nasty.toml", SCENARIO),
        ("study/study.toml", STUDY),
        ("study/analysis.py", ANALYSIS),
    ):
        (folder / name).write_text(text, encoding="utf-8")
    before = Path.cwd()
    os.chdir(folder)
    try:
        for command in (
            ["run", "nasty.toml", "--out", "run"],
            [*COMPARE, "--out", "compared"],
            ["sweep", "sweep.toml", "--out", "swept"],
            ["study", "run", "study", "--out", "studied"],
        ):
            answer = CliRunner().invoke(main.app, command)
            assert answer.exit_code in (0, 1), answer.output
        damaged = shutil.copytree("run", "damaged/of \x1b[2J")
        Path(damaged, "flows.parquet").write_bytes(b"damaged")
        yield folder
    finally:
        os.chdir(before)


COMPARE = [
    *("compare", "nasty.toml", "--vary", "queue=drop_tail,codel"),
    *("--label", NASTY, "--label", "\x1b[2J"),
]

#: Commands that print what others wrote.
COMMANDS: list[list[str]] = [
    ["run", "nasty.toml", "--out", "again", "--force", "--full"],
    ["run", "nasty.toml", "--out", "again", "--force", "--quiet"],
    [*COMPARE, "--out", "again", "--force"],
    [*COMPARE, "--out", "again", "--force", "--seeds", "2"],
    [*COMPARE, "--out", "again", "--force", "--quiet"],
    ["compare", "run", "compared", "--out", "again", "--force"],
    ["sweep", "sweep.toml", "--out", "swept"],
    ["sweep", "sweep.toml", "--out", "swept", "--set", "seed=\x1b"],
    ["study", "run", "study", "--out", "studied"],
    ["study", "show", "study"],
    ["report", "run"],
    ["report", "compared"],
    ["report", "swept"],
    ["report", "studied"],
    ["report", "run", "compared", "--out", "page \x1b[2J.html"],
    ["verify", "."],
    ["verify", "damaged"],
    ["figures", "run", "--out", "pictures"],
    ["figures", "swept", "--out", "pictures \x9b"],
]

#: Commands that refuse what was typed, and echo it.
REFUSED: list[list[str]] = [
    ["\x1b[2J"],
    ["--\x1b[2J"],
    ["run", NASTY],
    ["run", "nasty.toml", "--\x9b"],
    ["run", "nasty.toml", "--set", NASTY],
    ["run", "nasty.toml", "--set", f"title='{NASTY}"],
    ["run", "nasty.toml", "--set", f"{NASTY}=1"],
    ["run", "nasty.toml", "--set", f"flow.ping.rtt={NASTY}"],
    ["run", "nasty.toml", "--seed", NASTY],
    ["run", "nasty.toml", "--explain", NASTY],
    ["run", "nasty.toml", "--capture", NASTY],
    ["run", "nasty.toml", "--out", f"nasty.toml/{NASTY}"],
    ["compare", "nasty.toml", "--vary", NASTY],
    ["compare", "nasty.toml", "--vary", f"{NASTY}=1,2"],
    ["compare", "nasty.toml", "--vary", "queue=codel,pie", "--label", NASTY],
    ["compare", "nasty.toml", "--vary", "queue=codel,pie", "--label", NASTY, "--label", NASTY],
    ["compare", "nasty.toml", "--vary", "queue=codel,pie", "--seeds", NASTY],
    ["compare", NASTY, "run"],
    ["sweep", NASTY],
    ["sweep", "sweep.toml", "--seeds", NASTY],
    ["study", NASTY],
    ["study", "run", NASTY],
    ["study", "show", NASTY],
    ["scenarios", "show", NASTY],
    ["scenarios", "copy", "upload-and-call", f"nasty.toml/{NASTY}"],
    ["queues", NASTY],
    ["senders", NASTY],
    ["report", NASTY],
    ["verify", NASTY],
    ["figures", NASTY],
    ["figures", "run", "--format", NASTY],
    ["run", "no\0.toml"],
    ["run", "no\udcff.toml"],
    ["run", "nasty.toml", "--out", "no\0"],
    ["run", "nasty.toml", "--out", "no\udcff"],
    ["compare", "nasty.toml", "--vary", "queue=codel,pie", "--label", "a\udcff", "--label", "b"],
    ["report", "no\0"],
    ["figures", "run", "--out", "no\0"],
    ["scenarios", "copy", "upload-and-call", "no\0"],
    ["study", "report", "--studies", "no\udcff"],
]


@pytest.fixture(params=["pipe", "terminal"])
def medium(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Print to a pipe, or as to a terminal."""
    if request.param == "terminal":
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("TERM", "xterm-256color")
        monkeypatch.setenv("COLUMNS", "150")
    return str(request.param)


def start(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> tuple[int, str, str]:
    """Run the command as a shell starts it; give its exit code, and both its outputs."""
    monkeypatch.setattr("sys.argv", ["headend", *arguments])
    monkeypatch.setattr(logging.getLogger("headend"), "handlers", [])
    capfd.readouterr()
    with pytest.raises(SystemExit) as left:
        main.start()
    printed = capfd.readouterr()
    return int(left.value.code or 0), printed.out, printed.err


def strip_styles(text: str, medium: str) -> str:
    return STYLES.sub("", text) if medium == "terminal" else text


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command[:2]))
def test_what_others_wrote_is_printed_as_it_is(
    command: list[str],
    medium: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    code, out, err = start(command, monkeypatch, capfd)
    assert code in (0, 1, 2), err
    assert "internal error" not in err
    printed = strip_styles(out + err, medium)
    assert printed.strip() or "--quiet" in command
    assert not CONTROL.search(printed)
    for picture in Path().glob("pictures*/*.svg"):
        assert not CONTROL.search(picture.read_text(encoding="utf-8"))


@pytest.mark.parametrize("command", REFUSED, ids=lambda command: reveal_line(" ".join(command)))
def test_what_was_typed_is_echoed_as_it_is_in_one_line(
    command: list[str],
    medium: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    code, out, err = start(command, monkeypatch, capfd)
    assert (code, out) == (2, "")
    # On a terminal, a bar that was drawn and taken away again may stand before it.
    *before, line = strip_styles(err, medium).splitlines()
    assert not before or medium == "terminal"
    assert line.startswith("error: ")
    assert not CONTROL.search("".join([*before, line]))


def test_titles_are_shown_whole(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for command in (
        ["run", "nasty.toml", "--out", "again", "--force"],
        ["compare", "compared", "--out", "again", "--force"],
        ["sweep", "sweep.toml", "--out", "swept"],
        ["study", "run", "study", "--out", "studied"],
        ["study", "show", "study"],
    ):
        _, out, _ = start(command, monkeypatch, capfd)
        assert out.lstrip("\n").startswith(SHOWN)


@pytest.mark.parametrize(
    "command",
    [
        ["run", "nasty.toml", "--out", "again", "--force"],
        [*COMPARE, "--out", "again", "--force"],
        ["sweep", "sweep.toml", "--out", "swept"],
        ["study", "run", "study", "--out", "studied"],
        ["study", "show", "study"],
        ["report", "run", "--out", f"{NASTY.replace('/', '')}.html"],
        ["run", NASTY],
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_json_holds_the_text_itself_and_prints_no_control_character(
    command: list[str],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    _, out, _ = start([*command, "--json"], monkeypatch, capfd)
    assert not CONTROL.search(out)
    told = json.dumps(json.loads(out))
    # What is refused is told in one line.
    expected = NASTY.replace("/", "") if command[0] == "report" else NASTY
    expected = " ".join(expected.split()) if command == ["run", NASTY] else expected
    assert json.dumps(expected)[1:-1] in told


def test_pages_hold_no_control_characters(folder: Path) -> None:
    for name in ("run", "compared", "swept", "studied"):
        page = (folder / name / "report.html").read_text(encoding="utf-8")
        start, end = page.index("<body>"), page.index("<script>")
        data = page[page.index('<script type="application/json"') :]
        assert not CONTROL.search(page[:end] + data)
        assert r"[red]:smile: \x1b[31m" in page[start:end]


def test_charts_have_signs_for_control_characters(folder: Path) -> None:
    page = (folder / "studied" / "report.html").read_text(encoding="utf-8")
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page)
    title = json.loads(data)["pings-0"]["encoding"]["x"]["title"]
    assert title == "Uplink [/48] [red]:smile: ␛[31m ␛]0;t␇ �2J ␡ ����� a␍␊b"


def test_half_a_pair_of_surrogates_in_a_folder_of_results_is_shown(
    folder: Path, tmp_path: Path
) -> None:
    result = Result.load("run")
    result.manifest["title"] = "half \ud83d, a byte \udcff"
    path = write_report([result], tmp_path / "report.html", title="half \ud83d")
    assert r'<p class="eyebrow">half \ud83d</p>' in path.read_text(encoding="utf-8")


def test_bars_show_labels_as_they_are(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "250")
    with show_progress([NASTY], 1_000_000_000) as bars:
        bars[NASTY](500_000_000)
    of_runs = STYLES.sub("", capfd.readouterr().err)
    with show_points(NASTY) as on_point:
        on_point(Progress(1, 2, 1, count_cores()))
    printed = STYLES.sub("", capfd.readouterr().err)
    assert SHOWN in of_runs
    assert SHOWN in printed
    assert "(1 kept)" in printed
    assert not CONTROL.search(of_runs + printed)


def test_what_is_logged_is_printed_as_it_is(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    start(["queues"], monkeypatch, capfd)
    logging.getLogger("headend.running.cluster").warning("the scheduler %s is silent", NASTY)
    assert capfd.readouterr().err == f"the scheduler {SHOWN} is silent\n"


def test_a_table_with_control_characters_stays_straight(
    capfd: pytest.CaptureFixture[str],
) -> None:
    table = Table(box=None, show_header=False)
    table.add_row("\x1b[2J\x9b", "end")
    table.add_row("four", "end")
    make_output().print(table)
    first, second = capfd.readouterr().out.splitlines()
    assert first.strip().startswith(r"\x1b[2J\x9b")
    assert first.index("end") == second.index("end")


@pytest.mark.parametrize("make", [make_output, make_messages])
def test_text_that_is_printed_without_further_ado_is_made_visible_too(
    make: Callable[[], Console], capfd: pytest.CaptureFixture[str]
) -> None:
    make().print(Text("\x1b[2J"), Group(Text("\x1b[3J"), "\x1b[4J :smile: [red]"))
    printed = capfd.readouterr()
    assert (printed.out + printed.err).split("\n")[:3] == [
        r"\x1b[2J",
        r"\x1b[3J",
        r"\x1b[4J :smile: [red]",
    ]


def test_a_terminal_gets_styles_and_nothing_else(folder: Path) -> None:
    for command in (
        ["run", "nasty.toml", "--out", "again", "--force"],
        ["run", "nasty.toml", "--\x1b[2J"],
        ["study", "\x1b[2J"],
    ):
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "headend", *command],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={
                **os.environ,
                "TERM": "xterm-256color",
                "COLUMNS": "150",
                "PYTHONPATH": str(Path(headend.__file__).parents[1]),
            },
        )
        os.close(theirs)
        printed = _read_all(ours)
        assert process.wait() in (1, 2)
        assert "\x1b[1" in printed
        assert not CONTROL.search(STYLES.sub("", printed))


def _read_all(terminal: int) -> str:
    pieces: list[bytes] = []
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # as Linux tells that nobody writes any more
            piece = b""
        if not piece:
            os.close(terminal)
            return b"".join(pieces).decode()
        pieces.append(piece)


def test_commands_to_copy_take_a_folder_for_one_word(
    home_line: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise InputError("no page")

    monkeypatch.setattr(Result, "report", fail)
    for typed, shown in (("-out", "./-out"), ("a b", "'a b'"), ("out", "out")):
        answer = CliRunner().invoke(main.app, ["run", "home-line.toml", f"--out={typed}"])
        assert f"headend report {shown} " in answer.stderr


def test_a_name_that_begins_as_an_option_is_told_where_it_goes(
    home_line: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    home_line.rename("-line.toml")
    code, _, err = start(["run", "-line.toml"], monkeypatch, capfd)
    assert (code, 'comes after "--"' in err) == (2, True)
    code, _, err = start(["run", "--quiet", "--", "-line.toml"], monkeypatch, capfd)
    assert (code, err) == (0, "")


@pytest.mark.parametrize("text", ["a\0b", "a\udcffb"])
def test_what_is_no_text_is_refused_from_python_too(text: str, folder: Path) -> None:
    result = Result.load("run")
    for act in (
        lambda: headend.run(text),
        lambda: headend.run("nasty.toml", out=text),
        lambda: headend.sweep(text),
        lambda: headend.sweep({"scenario": text, "grid": {"queue": ["codel", "pie"]}}),
        lambda: compare_settings("nasty.toml", {"queue": ["codel", "pie"]}, labels=[text, "b"]),
        lambda: result.save(text),
        lambda: Comparison([result], "name").save(text),
        lambda: Result.load(text),
        lambda: read_scenario(text),
    ):
        with pytest.raises(InputError, match=r"expected text.*found") as raised:
            act()
        assert not CONTROL.search(str(raised.value))


def test_a_file_whose_name_holds_nul_is_told_in_one_line(tmp_path: Path) -> None:
    text = SCENARIO.replace(
        'application = "ping"', 'application = { replay = { capture = "a\\u0000b" } }'
    )
    tomllib.loads(text)
    (tmp_path / "line.toml").write_text(text, encoding="utf-8")
    answer = CliRunner().invoke(main.app, ["run", str(tmp_path / "line.toml")])
    assert (answer.exit_code, len(answer.stderr.splitlines())) == (2, 1)
    assert not CONTROL.search(answer.stderr.strip())


def test_a_label_of_any_length_is_a_folder(home_line: Path) -> None:
    labels = ("--label", "x" * 300, "--label", "ü" * 300)
    answer = CliRunner().invoke(
        main.app,
        ["compare", "home-line.toml", "--vary", "queue=codel,pie", *labels, "--out", "out", "-q"],
    )
    assert (answer.exit_code, answer.output) == (0, "")
    assert len(json.loads(Path("out/manifest.json").read_text(encoding="utf-8"))["runs"]) == 2


HUGE = "9" * 5000


@pytest.mark.parametrize(
    "words",
    [
        ["recommend", "--upstream", "1e999 Mbit/s"],
        ["recommend", "--upstream", "10 Mbit/s", "--seeds", HUGE],
        ["recommend", "--upstream", "10 Mbit/s", "--traffic", f"{HUGE} calls"],
        ["recommend", "--upstream", "10 Mbit/s", "--expect", f"upload.goodput >= {HUGE} bit/s"],
        ["recommend", "--upstream", "٣ Mbit/s"],
        ["recommend", "tiers.toml"],
        ["run", "home-line", "--seed", HUGE],
        ["run", "home-line", "--memory", f"{'9' * 305}GB"],
        ["run", "home-line", "--explain", "call@1e999 s"],
        ["compare", "home-line", "--seeds", HUGE],
        ["sweep", "sweep.toml"],
    ],
)
def test_a_number_that_no_computer_holds_is_refused_in_one_line(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiers.toml").write_text(f'[tier.a]\nupstream = "5 Mbit/s"\nseeds = {HUGE}\n')
    (tmp_path / "sweep.toml").write_text(f'scenario = "home-line"\nseeds = {HUGE}\n')
    answer = CliRunner().invoke(main.app, words)
    assert (answer.exit_code, len(answer.stderr.splitlines())) == (2, 1), answer.output
