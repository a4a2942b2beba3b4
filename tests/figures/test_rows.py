"""Panels of a figure in one picture: in rows by a factor, or so many rows."""

from __future__ import annotations

import json
import re
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
from headend.figures.paper import UNITS, Paper
from headend.figures.rows import (
    Rows,
    _specify,
    check_rows,
    draw_rows,
    is_laid_out,
    join_tiers,
    list_factors,
    read_rows,
)
from headend.figures.theme import colour, draw_lines, make_chart
from headend.sweeps import sweep as run_sweep

PAPER = Paper(180 * UNITS["mm"])
RATE = "link.line.point_to_point.up.rate"

LINE: dict[str, Any] = {
    "duration": "3 s",
    "bottleneck": "line.up",
    "link": {"line": {"point_to_point": {"up": {"rate": "2 Mbit/s"}}}},
    "flow": {
        "upload": {"application": "bulk", "direction": "up"},
        "ping": {"application": {"ping": {"interval": "500 ms"}}},
    },
}


def make_panel(rate: str, flow: str, series: tuple[str, ...] = ("codel", "pie")) -> Panel:
    rows = pl.DataFrame(
        {
            "time_s": [0.0, 1.0] * len(series),
            "value": [1.0, 2.0] * len(series),
            "series": [name for name in series for _ in range(2)],
            "slot": [0 if name == "codel" else 1 for name in series for _ in range(2)],
        }
    )
    chart = draw_lines(rows, vl.Y("value:Q", title="delay (ms)"))
    return Panel(f"{flow}, {rate}", chart, place={"rate": rate, "flow": flow})


def make_figure(*more: Panel) -> Figure:
    panels = [make_panel(rate, flow) for flow in ("call", "ping", "page") for rate in ("1", "2")]
    return Figure("delay", "Delay of each", "Shown.", [*panels, *more], " One is missing.")


def list_titles(rows: list[list[Panel]]) -> list[list[str]]:
    return [[panel.title for panel in row] for row in rows]


def specify(figure: Figure, rows: Rows) -> dict[str, Any]:
    return _specify(rows.arrange(figure.panels, 4), figure, PAPER, 150, 100)


def list_panels(specification: dict[str, Any]) -> list[list[dict[str, Any]]]:
    return [row["hconcat"] for row in specification["vconcat"]]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rows") / "grid"
    vary = {"queue": ["codel", "drop_tail"], RATE: ["1 Mbit/s", "2 Mbit/s"]}
    headend.compare(LINE, vary=vary, out=folder, report=False)
    return folder


def call(*arguments: str | Path) -> click.testing.Result:
    return click.testing.CliRunner().invoke(app, ["figures", *map(str, arguments)])


def write(folder: Path, *arguments: str | Path) -> list[Path]:
    answer = call(folder, *arguments, "--json")
    assert answer.exit_code == 0, answer.stderr
    return [Path(path) for path in json.loads(answer.stdout)["figures"]]


def test_each_value_of_a_factor_has_a_row() -> None:
    panels = make_figure().panels
    assert list_titles(Rows("rate").arrange(panels, 4)) == [
        ["call, 1", "ping, 1", "page, 1"],
        ["call, 2", "ping, 2", "page, 2"],
    ]
    assert list_titles(Rows("flow").arrange(panels, 4)) == [
        ["call, 1", "call, 2"],
        ["ping, 1", "ping, 2"],
        ["page, 1", "page, 2"],
    ]


def test_a_row_that_is_too_long_becomes_several_of_nearly_equal_length() -> None:
    more = [make_panel("1", f"other {number}") for number in range(2)]
    rows = Rows("rate").arrange(make_figure(*more).panels, 3)
    assert [len(row) for row in rows] == [3, 2, 3]


def test_so_many_rows_keep_the_order() -> None:
    panels = make_figure().panels
    assert [len(row) for row in Rows(2).arrange(panels, 4)] == [3, 3]
    assert [len(row) for row in Rows(4).arrange(panels, 4)] == [2, 2, 2]
    assert list_titles(Rows(2).arrange(panels, 4))[0] == ["call, 1", "call, 2", "ping, 1"]
    # Where that would be too wide, there are more.
    assert [len(row) for row in Rows(1).arrange(panels, 4)] == [3, 3]


def test_what_all_have_is_written_once() -> None:
    specification = specify(make_figure(make_panel("1", "film", ("pie",))), Rows("rate"))
    assert set(specification["resolve"]["legend"].values()) == {"shared"}
    rows = list_panels(specification)
    assert [len(row) for row in rows] == [4, 3]
    for row, panels in enumerate(rows):
        for column, panel in enumerate(panels):
            encoding = panel["encoding"]
            assert encoding["y"]["title"] == (None if column else "delay (ms)")
            is_last = row == 1 or column == 3
            assert encoding["x"]["title"] == ("simulated time (s)" if is_last else None)
            # A series that one panel lacks looks there as in the others.
            assert encoding["color"]["scale"]["domain"] == ["codel", "pie"]
            assert encoding["color"] == rows[0][0]["encoding"]["color"]
    titles = [[" ".join(panel["title"]["text"]) for panel in row] for row in rows]
    assert titles[0] == ["call, 1", "ping, 1", "page, 1", "film, 1"]


def test_other_axes_and_other_series_keep_their_own() -> None:
    rows = pl.DataFrame({"x": [1.0], "series": ["codel"], "slot": [1]})
    chart = make_chart(rows).mark_point().encode(x="x:Q", color=colour(rows))
    other = Panel("other", chart.encode(y=vl.Y("x:Q", title="loss")), place={"rate": "1"})
    specification = specify(make_figure(other), Rows("rate"))
    assert set(specification["resolve"]["legend"].values()) == {"independent"}
    assert list_panels(specification)[0][3]["encoding"]["y"]["title"] == "loss"


def test_nothing_is_left_of_what_a_reader_can_choose() -> None:
    specification = specify(make_figure(), Rows("rate"))
    text = json.dumps(specification)
    assert "param" not in text
    assert '"opacity": {"value": 1}' in text
    # The width of a panel among others has no name in Vega's expressions.
    assert "floor(150 / 60)" in text
    assert "floor(width" not in text
    names = [panel["data"]["name"] for row in list_panels(specification) for panel in row]
    assert len(set(names)) == len(names) == len(specification["datasets"])


def test_categories_without_room_are_turned() -> None:
    names = ["upstream 5 Mbit/s", "upstream 10 Mbit/s"]
    rows = pl.DataFrame({"at": names, "y": [1.0, 2.0]})
    x = vl.X("at:N", sort=names, axis=vl.Axis(labelAngle=0))
    chart = make_chart(rows).mark_point().encode(x=x, y="y:Q")
    figure = Figure("f", "F", "Shown.", [Panel("a", chart), Panel("b", chart)])

    def find_angles(plot: float) -> list[float]:
        specification = _specify(Rows(1).arrange(figure.panels, 4), figure, PAPER, plot, 100)
        (row,) = list_panels(specification)
        return [panel["encoding"]["x"]["axis"]["labelAngle"] for panel in row]

    assert find_angles(150) == [-40, -40]
    assert find_angles(400) == [0, 0]


def find_size(svg: str) -> tuple[float, float]:
    found = re.search(r' width="([\d.]+)" height="([\d.]+)"', svg)
    assert found
    return float(found[1]) * PAPER.scale, float(found[2]) * PAPER.scale


def test_a_picture_of_rows_has_its_size_and_one_legend() -> None:
    for height in (None, 120 * UNITS["mm"]):
        paper = Paper(180 * UNITS["mm"], height)
        svg = draw_rows(make_figure(), Rows("flow"), paper)
        width, found = find_size(svg)
        assert width == pytest.approx(180 * UNITS["mm"])
        assert height is None or found == pytest.approx(height)
        assert svg.count(">codel<") == 1
        assert svg.count(">delay (ms)<") == 3
        assert svg.count(">simulated time (s)<") == 2
        assert ">Delay of each<" in svg
        assert ">One is missing.<" in svg
        plots = re.findall(r'class="background"[^>]* d="M[\d.]+,[\d.]+h([\d.]+)v([\d.]+)', svg)
        # Legends have backgrounds too, one line high.
        assert len({size for size in plots if float(size[1]) > 30}) == 1


def test_a_picture_without_a_title_has_none() -> None:
    svg = draw_rows(make_figure(), Rows(2), Paper(180 * UNITS["mm"], has_title=False))
    assert "Delay of each" not in svg
    assert "One is missing" not in svg
    assert ">call, 1<" in svg


def test_a_size_that_leaves_no_room_is_refused() -> None:
    paper = Paper(180 * UNITS["mm"], 40 * UNITS["mm"])
    with pytest.raises(InputError) as raised:
        draw_rows(make_figure(), Rows("flow"), paper)
    assert str(raised.value) == (
        "--height: expected more for 3 rows of up to 2 panels with letters of 8 pt, found 40mm"
    )


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (0, "rows: expected 1 row or more, found 0"),
        ("-2", "rows: expected 1 row or more, found -2"),
        (" ", 'rows: expected the name of a factor or a number, found ""'),
        (1.5, 'rows: expected the name of a factor or a number, found "1.5"'),
        (True, 'rows: expected the name of a factor or a number, found "True"'),
    ],
)
def test_what_are_no_rows_is_refused(typed: Any, words: str) -> None:
    with pytest.raises(InputError) as raised:
        read_rows(typed, is_typed=False)
    assert str(raised.value) == words


def test_rows_are_a_factor_or_a_number() -> None:
    assert read_rows(None, is_typed=True) is None
    assert read_rows("upstream rate", is_typed=True) == Rows("upstream rate")
    assert read_rows("2", is_typed=True) == Rows(2)
    assert read_rows(2, is_typed=False) == Rows(2, is_typed=False)


def test_a_factor_that_no_panels_differ_by_is_refused() -> None:
    figures = [make_figure()]
    assert list_factors(figures) == ["rate", "flow"]
    check_rows(Rows("flow"), figures)
    with pytest.raises(InputError) as raised:
        check_rows(Rows("flows"), figures)
    assert str(raised.value) == (
        '--rows: no panels differ by "flows"; did you mean "flow"? There are rate, flow'
    )
    alone = Figure("f", "F", "Shown.", figures[0].panels[:1])
    with pytest.raises(InputError, match=r'no panels differ by "rate"\. There is none'):
        check_rows(Rows("rate"), [alone])
    assert not is_laid_out(alone, Rows(1))
    assert not is_laid_out(figures[0], Rows("tier"))


def test_a_grid_has_a_picture_of_all_tiers(kept: Path, tmp_path: Path) -> None:
    options = ("--only", "delay", "--rows", "upstream rate", "--out", tmp_path)
    (path,) = write(kept, *options)
    assert path.name == "delay.svg"
    svg = path.read_text(encoding="utf-8").replace("\N{NO-BREAK SPACE}", " ")
    assert ' width="180.000mm"' in svg
    assert ">One-way delay of each flow<" in svg
    for flow in ("upload", "ping ↑", "ping ↓"):
        for rate in ("1 Mbit/s", "2 Mbit/s"):
            assert f"{flow}, upstream rate {rate}" in re.sub(r"<[^>]*>", " ", svg).replace(
                "  ", " "
            )
    assert svg.count(">codel<") == 1


def test_a_figure_of_one_tier_can_be_named_too(kept: Path, tmp_path: Path) -> None:
    (path,) = write(
        kept, "--only", "delay-upstream-rate-1-Mbit-s", "--rows", "flow", "--out", tmp_path
    )
    assert path.name == "delay-upstream-rate-1-Mbit-s.svg"


def test_figures_that_do_not_differ_by_the_factor_are_written_as_before(
    kept: Path, tmp_path: Path
) -> None:
    before = {path.name for path in write(kept, "--out", tmp_path / "before")}
    after = {path.name for path in write(kept, "--rows", "flow", "--out", tmp_path / "after")}
    assert {"delay.svg", "grid.svg"} <= after - before
    assert "line.up-line-rate-upstream-rate-1-Mbit-s.svg" in after & before
    # What is in rows is in one file, and everything else has the name that it had.
    assert not {name for name in after - before if re.search(r"Mbit-s", name)}


def test_tiers_are_joined_by_what_they_show() -> None:
    figures = [
        Figure(f"delay-{rate}", f"Delay, {rate}", "Shown.", [make_panel(rate, "call")],
               group=rate, base_name="delay", base_title="Delay")
        for rate in ("1", "2")
    ]  # fmt: skip
    alone = Figure("grid", "Grid", "Shown.", make_figure().panels)
    joined = join_tiers([alone, *figures])
    assert joined[0] == alone
    assert (joined[1].name, joined[1].title, joined[1].group) == ("delay", "Delay", "")
    assert len(joined[1].panels) == 2


def test_a_sweep_has_rows_by_what_makes_its_panels(tmp_path: Path) -> None:
    sweep = {
        "title": "Swept",
        "scenario": LINE,
        "grid": {
            "queue": ["drop_tail", "codel"],
            "flow.upload.rtt": {"values": ["10 ms", "20 ms", "40 ms"], "name": "rtt"},
            RATE: {"values": ["1 Mbit/s", "2 Mbit/s"], "name": "rate"},
        },
        "measures": {"wait": "line.up.delay.mean"},
    }
    run_sweep(sweep, out=tmp_path / "out")
    (path,) = write(tmp_path / "out", "--only", "measure-1", "--rows", "rate", "--width", "85mm")
    assert path.name == "measure-1.svg"
    assert ' width="85.000mm"' in path.read_text(encoding="utf-8")
    answer = call(tmp_path / "out", "--rows", "rat")
    assert answer.exit_code == 2
    assert '--rows: no panels differ by "rat"' in answer.stderr


def test_python_takes_rows(kept: Path, tmp_path: Path) -> None:
    runs = [headend.Result.load(kept / name) for name in sorted(
        str(path.parent.relative_to(kept)) for path in kept.glob("**/manifest.json")
        if path.parent != kept
    )]  # fmt: skip
    plot = runs[0].figure("rates")
    (path,) = plot.save(tmp_path / "rates.svg", rows=1, width="160mm")
    assert path == tmp_path / "rates.svg"
    assert ' width="160.000mm"' in path.read_text(encoding="utf-8")
    (path,) = plot.save(tmp_path / "rates.pdf", rows="measure")
    assert path.read_bytes().startswith(b"%PDF")
    with pytest.raises(InputError, match=r'rows: no panels differ by "flow"\. There are'):
        plot.save(tmp_path / "rates.svg", rows="flow")
