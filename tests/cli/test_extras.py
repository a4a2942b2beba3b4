"""What the default install leaves out: one line says what to install; the rest goes on."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conftest import ANALYSIS, SMALL_STUDY
from headend.errors import InputError
from headend.extras import CLUSTER, MEASUREMENTS, PAPER, STUDIES, Extra
from headend.figures import draw_figures
from headend.figures.export import convert_pictures, write_figures
from headend.running.connection import Connection
from headend.study import read_study
from headend.study.running import Order, run_studies

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

#: What is not there unless an extra installs it, and what is not there at all.
ABSENT = (
    "altair",
    "cramjam",
    "dask",
    "distributed",
    "msgpack",
    "numpy",
    "pandas",
    "pydantic",
    "scipy",
    "typer",
    "vl_convert",
)

LINE = """\
duration = "2 s"
bottleneck = "line.up"
link.line.point_to_point.up.rate = "1 Mbit/s"
link.line.point_to_point.down.rate = "1 Mbit/s"
flow.call.application = "voice"
flow.ping.application = "ping"
flow.upload = { application = "bulk", direction = "up" }
"""

SWEEP = """\
format = 1
title = "Queues"
scenario = "line.toml"
seeds = 2
grid.queue = ["codel", "drop_tail"]
measures.delay = "line.up.delay.mean"
"""

#: The command as it is where some modules are not installed.
COMMAND = """\
import sys
sys.modules |= dict.fromkeys({absent!r})
from headend.__main__ import start
start()
"""


@pytest.fixture
def hide(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Hide modules, as if they were not installed."""

    def hide(*modules: str) -> None:
        for module in modules:
            monkeypatch.setitem(sys.modules, module, None)

    return hide


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the folder of a study."""
    monkeypatch.chdir(tmp_path)
    folder = Path("own")
    folder.mkdir()
    for name, text in {
        "study.toml": SMALL_STUDY,
        "analysis.py": ANALYSIS,
        "line.toml": LINE,
    }.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def call(*arguments: str, absent: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run the command where some modules are not installed."""
    command = [sys.executable, "-c", COMMAND.format(absent=tuple(absent)), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def conclude(study: Path) -> Exception | None:
    """Run a study; give the error where it cannot be run."""
    order = Order(read_study("own", study), Path("out"))
    ((_, outcome),) = run_studies([order], threading.Event())
    return outcome if isinstance(outcome, Exception) else None


def test_an_extra_names_all_that_is_absent(hide: Callable[..., None]) -> None:
    extra = Extra("more", {"json": "json", "first": "one", "second": "two-python"})
    hide("first", "second")
    line = 'a picture needs one and two-python: pip install "headend[more]"'
    assert extra.describe_absent("a picture") == line
    with pytest.raises(InputError) as refused:
        extra.require("a picture")
    assert str(refused.value) == line


@pytest.mark.parametrize(
    ("file", "command"),
    [("pipx_metadata.json", "pipx install --force"), ("uv-receipt.toml", "uv tool install")],
)
def test_an_environment_of_pipx_or_uv_is_told_its_own_command(
    tmp_path: Path,
    hide: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    file: str,
    command: str,
) -> None:
    (tmp_path / file).touch()
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    hide("vl_convert")
    assert PAPER.describe_absent("it") == f'it needs vl-convert-python: {command} "headend[paper]"'


def test_an_extra_that_is_there_is_no_obstacle() -> None:
    extras = (PAPER, STUDIES, CLUSTER, MEASUREMENTS)
    assert [extra.describe_absent("it") for extra in extras] == [""] * len(extras)


def test_pictures_that_cannot_be_drawn_are_refused_before_a_folder_is_made(
    home_line: Path, hide: Callable[..., None]
) -> None:
    import headend

    figures = draw_figures([headend.run(home_line)])
    hide("vl_convert")
    line = 'a picture as SVG, PDF or PNG needs vl-convert-python: pip install "headend[paper]"'
    with pytest.raises(InputError) as refused:
        write_figures(figures, Path("figures"), ["svg"])
    assert str(refused.value) == line
    assert not Path("figures").exists()
    Path("one.svg").write_text("<svg/>")
    with pytest.raises(InputError, match="needs vl-convert-python"):
        convert_pictures([Path("one.svg")], Path("figures"), ["png"])
    # Nothing is to be drawn where a picture is copied.
    assert convert_pictures([Path("one.svg")], Path("figures"), ["svg"]) == [
        Path("figures/one.svg")
    ]


@pytest.mark.parametrize(
    ("absent", "packages"),
    [
        (("numpy",), "numpy"),
        (("vl_convert",), "vl-convert-python"),
        (("numpy", "vl_convert"), "numpy and vl-convert-python"),
    ],
)
def test_a_study_says_what_it_needs_before_its_points_are_run(
    study: Path, hide: Callable[..., None], absent: tuple[str, ...], packages: str
) -> None:
    hide(*absent)
    error = conclude(study)
    assert isinstance(error, InputError)
    assert str(error) == f'own: a study needs {packages}: pip install "headend[studies]"'
    assert not Path("out").exists()


def test_a_study_is_run_where_all_is_there(study: Path) -> None:
    assert conclude(study) is None


def test_a_cluster_says_what_it_needs(hide: Callable[..., None]) -> None:
    hide("distributed")
    with pytest.raises(InputError) as refused:
        Connection("tcp://localhost:1", threading.Event())
    assert str(refused.value) == '--scheduler needs dask: pip install "headend[cluster]"'


def test_a_run_without_what_draws_pictures_leaves_the_picture_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("line.toml").write_text(LINE)
    answer = call(
        "run", "line.toml", "--explain", "call@1 s", "--out", "out", absent=["vl_convert"]
    )
    assert answer.returncode == 0, answer.stderr
    assert answer.stderr.splitlines()[-1] == (
        'note: life.svg needs vl-convert-python: pip install "headend[paper]"; it is left out,'
        " the report has the figure"
    )
    assert not Path("out/life.svg").exists()
    assert "Life of a packet of call" in Path("out/report.html").read_text()


def test_the_default_install_runs_compares_sweeps_and_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in {"line.toml": LINE, "sweep.toml": SWEEP}.items():
        Path(name).write_text(text)
    vary = ("--vary", "queue=codel,drop_tail", "--seeds", "2")
    for arguments in (
        ("run", "line.toml", "--out", "run"),
        ("compare", "line.toml", *vary, "--out", "compared"),
        ("sweep", "sweep.toml", "--out", "swept"),
        ("report", "run", "--out", "again.html"),
    ):
        answer = call(*arguments, absent=ABSENT)
        assert answer.returncode == 0, (arguments, answer.stderr)
    for page in ("run/report.html", "compared/report.html", "swept/report.html", "again.html"):
        assert "window.vegaEmbed=" in Path(page).read_text()
    answer = call("figures", "run", absent=ABSENT)
    assert (answer.returncode, answer.stderr.count("\n")) == (2, 1)
    assert 'pip install "headend[paper]"' in answer.stderr
