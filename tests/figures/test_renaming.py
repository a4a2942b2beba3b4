"""Texts in place of names that figures show, from the command line and from Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click.testing
import polars as pl
import pytest

import headend
from headend.cli.main import app
from headend.errors import InputError
from headend.figures import Figure, Panel
from headend.figures import vegalite as vl
from headend.figures.export import draw_picture, name_panels
from headend.figures.renaming import list_names_of, read_renames, rename_figures
from headend.figures.theme import colour, make_chart
from vega_lite import check_panel

LINE: dict[str, Any] = {
    "duration": "4 s",
    "bottleneck": "line.up",
    "link": {"line": {"point_to_point": {"up": {"rate": "2 Mbit/s"}}}},
    "flow": {
        "upload": {"application": "bulk", "direction": "up"},
        "ping": {"application": "ping"},
    },
}

ROWS = pl.DataFrame(
    {
        "x": [1.0, 2.0, 1.0, 2.0],
        "series": ["a=b", "a=b", "c", "c"],
        "slot": [0, 0, 1, 1],
        "at": ["near", "far", "near", "far"],
    }
)


def make_figure(title: str = "") -> Figure:
    """Draw two series over two places, with an expression that names one of them."""
    chart = (
        make_chart(ROWS)
        .mark_point()
        .transform_filter('datum.series !== "none" && datum.series !== "c d"')
        .encode(
            x=vl.X("x:Q", title="call: MOS, p5"),
            y=vl.Y("at:N", title=None, sort=["near", "far"]),
            color=colour(ROWS),
            opacity=vl.condition('datum.series === "c"', 1, 0.5),
        )
    )
    return Figure("f", "F", "Shown.", [Panel(title, chart)])


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("renaming") / "run"
    headend.run(LINE, out=folder, report=False)
    return folder


def call(*arguments: str | Path) -> click.testing.Result:
    return click.testing.CliRunner().invoke(app, ["figures", *map(str, arguments)])


def test_what_a_figure_shows_is_listed() -> None:
    assert list_names_of(make_figure("Panel")) == [
        "Panel", "call: MOS, p5", "near", "far", "a=b", "c"
    ]  # fmt: skip


def test_a_text_stands_wherever_its_name_stood() -> None:
    names = {"call: MOS, p5": "Voice quality (MOS)", "c": "CoDel", "far": "over 2 km"}
    (renamed,) = rename_figures([make_figure("c")], names, "--rename")
    (panel,) = renamed.panels
    assert panel.title == "CoDel"
    specification = panel.specify()
    check_panel(panel)
    encoding = specification["encoding"]
    assert encoding["x"]["title"] == "Voice quality (MOS)"
    assert encoding["y"]["sort"] == ["near", "over 2 km"]
    for channel in (encoding["color"], encoding["shape"]):
        assert channel["scale"]["domain"] == channel["sort"] == ["a=b", "CoDel"]
        assert channel["legend"]["values"] == ["a=b", "CoDel"]
    assert encoding["opacity"]["condition"]["test"] == 'datum.series === "CoDel"'
    assert specification["transform"][0]["filter"].endswith('!== "c d"')
    (rows,) = specification["datasets"].values()
    assert [row["series"] for row in rows] == ["a=b", "a=b", "CoDel", "CoDel"]
    assert [row["at"] for row in rows] == ["near", "over 2 km"] * 2
    svg = draw_picture(panel, "").decode()
    assert all(svg.count(f">{text}<") == 1 for text in names.values())
    assert ">c<" not in svg


def test_packed_rows_have_the_texts_too() -> None:
    (renamed,) = rename_figures([make_figure()], {"c": "CoDel"}, "rename")
    (columns,) = renamed.panels[0].specify(packed=True)["datasets"].values()
    assert columns["series"] == ["a=b", "a=b", "CoDel", "CoDel"]


def test_a_figure_stays_as_it_was_and_its_files_keep_their_names() -> None:
    figure = make_figure("c")
    before = figure.panels[0].specify()
    (renamed,) = rename_figures([figure], {"c": "C"}, "rename")
    assert name_panels(renamed) == name_panels(figure)
    assert figure.panels[0].specify() == before
    assert rename_figures([figure], {}, "rename") == [figure]


def test_two_names_can_be_exchanged_and_not_be_made_one() -> None:
    (renamed,) = rename_figures([make_figure()], {"a=b": "c", "c": "a=b"}, "rename")
    assert renamed.panels[0].specify()["encoding"]["color"]["sort"] == ["c", "a=b"]
    with pytest.raises(InputError) as raised:
        rename_figures([make_figure()], {"c": "a=b"}, "rename")
    assert str(raised.value) == 'rename: "a=b" and "c" would all be called "a=b"'


def test_a_name_with_an_equals_sign_is_found() -> None:
    figures = [make_figure()]
    texts = ["a=b=DOCSIS-PIE (target=10 ms)", "call: MOS, p5 = Voice quality (MOS)"]
    assert read_renames(texts, figures, "--rename") == {
        "a=b": "DOCSIS-PIE (target=10 ms)",
        "call: MOS, p5": "Voice quality (MOS)",
    }


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (["round trp (ms)=RTT"],
         'no axis, series or panel is called "round trp (ms)"; did you mean "round trip (ms)"?'
         ' There are "simulated time (s)", "round trip (ms)", "ping"'),
        (["delays=RTT"], 'no axis, series or panel is called "delays". There are "simulated time'),
        (["ping"], 'expected NAME=TEXT, such as "queue delay (ms)=Delay (ms)", found "ping"'),
        (["ping="], 'expected NAME=TEXT, such as "queue delay (ms)=Delay (ms)", found "ping="'),
        (["ping=A", "ping=B"], '"ping" has two texts, "A" and "B"'),
    ],
)  # fmt: skip
def test_what_cannot_be_renamed_is_told_in_one_line(
    kept: Path, typed: list[str], words: str
) -> None:
    answer = call(kept, "--only", "ping", *(part for one in typed for part in ("--rename", one)))
    assert answer.exit_code == 2
    assert answer.stderr.startswith(f"error: --rename: {words}")
    assert len(answer.stderr.splitlines()) == 1
    assert not (kept / "figures").exists()


def test_the_command_writes_the_texts(kept: Path, tmp_path: Path) -> None:
    options: list[str | Path] = [
        "--rename",
        "round trip (ms)=RTT (ms)",
        "--rename",
        "ping=Probe",
        "--out",
        tmp_path,
    ]
    answer = call(kept, "--only", "ping", *options, "--json")
    assert answer.exit_code == 0, answer.stderr
    (path,) = map(Path, json.loads(answer.stdout)["figures"])
    assert path.name == "ping.svg"
    svg = path.read_text(encoding="utf-8")
    assert ">RTT (ms)<" in svg
    assert ">Probe<" in svg
    assert ">ping<" not in svg


def test_one_figure_is_enough_for_a_name(kept: Path, tmp_path: Path) -> None:
    options = ("--only", "delay", "--only", "ping", "--rename", "round trip (ms)=RTT")
    assert call(kept, *options, "--out", tmp_path).exit_code == 0


def test_names_are_listed_as_json(kept: Path) -> None:
    listed = json.loads(call(kept, "--only", "ping", "--list", "--json").stdout)
    assert listed[0]["names"] == ["simulated time (s)", "round trip (ms)", "ping"]


def test_python_takes_a_dictionary(kept: Path, tmp_path: Path) -> None:
    plot = headend.Result.load(kept).figure("ping")
    (path,) = plot.save(tmp_path / "ping.svg", rename={"ping": "Probe"})
    assert ">Probe<" in path.read_text(encoding="utf-8")
    (path,) = plot.save(tmp_path / "ping.json", rename={"ping": "Probe"})
    assert '"Probe"' in path.read_text(encoding="utf-8")
    with pytest.raises(InputError) as raised:
        plot.save(tmp_path / "ping.svg", rename={"pong": "Probe"})
    assert str(raised.value).startswith('rename: no axis, series or panel is called "pong"; did')
    wrong: Any
    for wrong in ("ping=Probe", {"ping": 3}, {"ping": " "}):
        with pytest.raises(InputError, match="rename: expected a dictionary of texts by name"):
            plot.save(tmp_path / "ping.svg", rename=wrong)
