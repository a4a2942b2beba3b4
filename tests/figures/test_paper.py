"""Pictures for papers: their size in print, their text, and which are written."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path
from typing import Any

import click.testing
import polars as pl
import pytest

import headend
from headend.cli.main import app
from headend.errors import InputError
from headend.figures import Figure, Panel
from headend.figures.catalogue import list_drawings
from headend.figures.paper import UNITS, Paper, read_length
from headend.figures.theme import make_chart
from headend.scenario.shipped import list_studies
from headend.study import read_study
from headend.study.outcome import StudyOutcome

#: A line that an upload fills, with a call and a ping beside it.
LINE: dict[str, Any] = {
    "duration": "8 s",
    "warmup": "2 s",
    "bottleneck": "line.up",
    "link": {"line": {"point_to_point": {"up": {"rate": "2 Mbit/s", "queue": "docsis_pie"}}}},
    "flow": {
        "upload": {"application": "bulk", "direction": "up"},
        "ping": {"application": "ping"},
    },
}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("paper") / "run"
    headend.run(LINE, out=folder, report=False)
    return folder


def call(*arguments: str | Path) -> click.testing.Result:
    return click.testing.CliRunner().invoke(app, ["figures", *map(str, arguments)])


def write(folder: Path, *arguments: str | Path) -> list[Path]:
    answer = call(folder, *arguments, "--json")
    assert answer.exit_code == 0, answer.stderr
    return [Path(path) for path in json.loads(answer.stdout)["figures"]]


def find_plot_width(svg: str) -> float:
    """Give the width of the plot itself, in pixels before the picture is scaled."""
    found = re.search(r'<path class="background"[^>]* d="M[\d.]+,[\d.]+h([\d.]+)v', svg)
    assert found
    return float(found[1])


def test_one_figure_has_the_size_that_was_asked_for(kept: Path, tmp_path: Path) -> None:
    options = ("--only", "delay", "--width", "85mm", "--font-size", "8", "--no-title")
    paths = write(kept, *options, "--format", "svg,pdf,png", "--out", tmp_path)
    assert [path.name for path in paths] == ["delay.svg", "delay.pdf", "delay.png"]
    svg, pdf, png = (path.read_bytes() for path in paths)
    assert b' width="85.000mm"' in svg
    box = re.search(rb"MediaBox \[0 0 ([\d.]+) ", pdf)
    assert box
    assert float(box[1]) == pytest.approx(85 * UNITS["mm"], abs=0.01)
    assert b"/FontFile" in pdf
    assert struct.unpack(">I", png[16:20])[0] == pytest.approx(85 / 25.4 * 300, abs=1)
    assert b"One-way delay" not in svg


def test_letters_have_their_size_in_print(kept: Path, tmp_path: Path) -> None:
    (path,) = write(
        kept, "--only", "ping", "--width", "85mm", "--font-size", "8", "--out", tmp_path
    )
    svg = path.read_text(encoding="utf-8")
    sizes = set(map(float, re.findall(r'font-size="([\d.]+)px"', svg)))
    view = re.search(r'viewBox="[-\d.]+ 0 ([\d.]+) ', svg)
    assert view
    points = 85 * UNITS["mm"] / float(view[1])
    assert {round(size * points, 1) for size in sizes} == {8.0, 8.7}  # the title is larger
    assert "Ping over time" in svg


def test_figures_of_one_width_have_plots_of_one_width(kept: Path, tmp_path: Path) -> None:
    names = ("queue", "rates", "line-rate", "ping", "cwnd", "delay", "queue-delay", "internals")
    only = [part for name in names for part in ("--only", name)]
    paths = write(kept, *only, "--width", "85mm", "--no-title", "--out", tmp_path)
    assert len(paths) > len(names)
    widths = {find_plot_width(path.read_text(encoding="utf-8")) for path in paths}
    assert max(widths) - min(widths) <= 1, widths


def test_a_title_does_not_make_a_plot_narrower(kept: Path, tmp_path: Path) -> None:
    options = ("--only", "rates", "--width", "85mm", "--out", tmp_path)
    titled = [find_plot_width(path.read_text(encoding="utf-8")) for path in write(kept, *options)]
    bare = write(kept, *options, "--no-title")
    assert titled == [find_plot_width(path.read_text(encoding="utf-8")) for path in bare]


def test_a_height_is_that_of_the_whole_picture(kept: Path, tmp_path: Path) -> None:
    options = ("--only", "delay", "--width", "8cm", "--height", "2in", "--out", tmp_path)
    (path,) = write(kept, *options)
    assert ' width="80.000mm" height="50.800mm"' in path.read_text(encoding="utf-8")


def test_a_font_is_named_first(kept: Path, tmp_path: Path) -> None:
    (path,) = write(kept, "--only", "ping", "--font", "DejaVu Serif", "--out", tmp_path)
    svg = path.read_text(encoding="utf-8")
    assert "font-family=\"'DejaVu Serif', " in svg
    assert ' width="180.000mm"' in svg


def test_a_font_that_is_not_installed_is_refused(
    kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headend.figures.fonts.list_fonts", lambda: ("DejaVu Serif", "Nimbus Sans"))
    answer = call(kept, "--font", "DejaVu Serf", "--out", tmp_path)
    message = '--font: no font "DejaVu Serf" is installed; did you mean "DejaVu Serif"?'
    assert (answer.exit_code, answer.stderr) == (2, f"error: {message}\n")
    # Where nothing lists them, nothing is known of them.
    monkeypatch.setattr("headend.figures.fonts.list_fonts", lambda: ())
    assert write(kept, "--only", "ping", "--font", "DejaVu Serf", "--out", tmp_path)


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ({"font_size": 0}, "font_size: expected 4 to 72 pt, found 0 pt"),
        ({"width": "100000mm"},
         "width: expected 52mm to 941mm with letters of 8 pt, found 100000mm"),
        ({"width": "85mm", "font_size": "large"}, 'font_size: expected a length such as "8pt"'),
    ],
)  # fmt: skip
def test_python_names_the_size_that_is_wrong(
    kept: Path, tmp_path: Path, sizes: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError) as raised:
        headend.Result.load(kept).figure("ping").save(tmp_path / "ping.svg", **sizes)
    assert str(raised.value).startswith(words)


def test_a_size_of_letters_alone_makes_a_picture_for_print(kept: Path, tmp_path: Path) -> None:
    plot = headend.Result.load(kept).figure("goodput")
    (path,) = plot.save(tmp_path / "rates.svg", font_size="9pt")
    assert path.name == "rates.svg"
    assert ' width="180.000mm"' in path.read_text(encoding="utf-8")


def test_a_chart_of_a_figure_is_written_alone(kept: Path, tmp_path: Path) -> None:
    paths = write(kept, "--only", "goodput", "--only", "ping", "--out", tmp_path)
    assert [path.name for path in paths] == ["goodput.svg", "ping.svg"]


def test_the_figures_that_there_are_are_listed(kept: Path) -> None:
    lines = call(kept, "--list").stdout.splitlines()
    assert any(re.fullmatch(r"delay +One-way delay of each flow", line) for line in lines)
    assert any(line.split()[0] == "goodput" for line in lines)
    listed = json.loads(call(kept, "--list", "--json").stdout)
    assert {"queue", "rates", "loss"} <= {figure["name"] for figure in listed}
    assert next(one for one in listed if one["name"] == "rates")["charts"] == [
        "throughput",
        "goodput",
    ]
    assert not (kept / "figures").exists()


def test_every_figure_has_the_name_by_which_it_is_drawn(kept: Path) -> None:
    result = headend.Result.load(kept)
    drawn = {name: draw() for name, draw in list_drawings([result]).items()}
    assert {name: figure.name for name, figure in drawn.items() if figure} == {
        name: name for name, figure in drawn.items() if figure
    }
    assert sum(figure is not None for figure in drawn.values()) > 7


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--only", "dealy"), '--only: no figure is called "dealy"; did you mean "delay"?'),
        (("--width", "85 nm"),
         '--width: expected a length such as "85mm" (mm, cm, in, pt, px), found "85 nm"'),
        (("--width", "85"), '--width: expected a length such as "85mm"'),
        (("--width", "5mm"), "--width: expected 52mm to 941mm with letters of 8 pt, found 5mm"),
        (("--height", "1mm"), "--height: expected 31mm to 941mm with letters of 8 pt, found 1mm"),
        (("--font-size", "large"), '--font-size: expected a length such as "8pt"'),
        (("--font-size", "100"), "--font-size: expected 4 to 72 pt, found 100 pt"),
        (("--format", "gif"), 'no figure format is called "gif"'),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_told_in_one_line(
    kept: Path, options: tuple[str, ...], words: str
) -> None:
    answer = call(kept, *options)
    assert answer.exit_code == 2
    assert answer.stderr.startswith(f"error: {words}")
    assert len(answer.stderr.splitlines()) == 1
    assert not (kept / "figures").exists()


def test_lengths_are_read_in_units_of_print() -> None:
    assert read_length("2.54cm", "--width") == pytest.approx(72)
    assert read_length(".5 IN", "--width") == 36
    assert read_length("9", "--font-size", "pt") == 9
    with pytest.raises(InputError):
        read_length("-5mm", "--width")
    with pytest.raises(InputError):
        Paper(width=10.0)


def test_figures_of_a_study_are_drawn_again_for_paper(tmp_path: Path) -> None:
    out = tmp_path / "study"
    arguments = ["study", "run", "buffer-control/sawtooth", "--out", str(out), "--quiet"]
    assert click.testing.CliRunner().invoke(app, arguments).exit_code == 0
    listed = json.loads(call(out, "--list", "--json").stdout)
    paths = write(out, "--only", listed[0]["name"], "--width", "85mm", "--no-title")
    assert [path.stem for path in paths] == listed[0]["charts"]
    assert all(' width="85.000mm"' in path.read_text(encoding="utf-8") for path in paths)


def test_figures_of_a_study_that_is_not_shipped_are_kept_as_they_are(tmp_path: Path) -> None:
    studies = [read_study(name, folder) for name, folder in list_studies().items()]
    study = next(study for study in studies if not (study.distributions or study.series))
    chart = make_chart(pl.DataFrame({"x": [1.0], "y": [1.0]})).mark_point().encode(x="x:Q", y="y:Q")
    out = tmp_path / "study"
    figures = [Figure("delay", "Delay", "Shown.", [Panel("", chart)])]
    object.__setattr__(study, "name", "somebody/else")
    StudyOutcome(study, pl.DataFrame({"a": [1]}), [], figures).write_into(out)
    answer = call(out, "--width", "85mm")
    assert answer.exit_code == 2
    assert '"somebody/else" is no shipped study' in answer.stderr
    assert call(out, "--format", "png", "--out", tmp_path / "made").exit_code == 0
