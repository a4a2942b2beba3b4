"""What figures show where there is no room for all, and what their axes, names and exported files say of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import headend
from headend.figures import draw_figures
from headend.figures.export import write_figures
from headend.figures.figure import MOST_SERIES, Figure, Order, choose_keys, lay_out
from headend.figures.over_time import FEWEST_TIMES, _choose_end, draw_windows
from headend.figures.selection import order_flows
from headend.figures.theme import make_chart
from headend.result import Result

#: A line that an upload fills, with more series than are drawn: eight of data alone.
CROWDED: dict[str, Any] = {
    "duration": "80 s",
    "warmup": "2 s",
    "bottleneck": "cable.up",
    "link": {
        "cable": {
            "docsis": {
                "preset": "docsis30",
                "upstream": {"rate": "2 Mbit/s", "queue": "drop_tail"},
                "downstream": {"rate": "20 Mbit/s"},
            }
        }
    },
    "flow": {
        "upload": {"application": "bulk", "direction": "up", "start": "3 s"},
        "download": {
            "application": {"bulk": {"size": "4 MB", "pause": "3 s"}},
            "direction": "down",
        },
        "call": {"application": "voice"},
        "page": {"application": {"web": {"page": "1 MB", "pause": "5 s"}}},
        "ping": {"application": "ping"},
    },
}


@pytest.fixture(scope="module")
def crowded() -> Result:
    return headend.run(CROWDED)


def find_series(figure: Figure, panel: int = 0) -> dict[str, str]:
    """Give the colour of each series of a panel, in the order of its legend."""
    text = json.dumps(figure.panels[panel].specify())
    position = text.index('"color": {"field": "series"')
    scale = json.JSONDecoder().raw_decode(text, text.index("{", position))[0]["scale"]
    return dict(zip(scale["domain"], scale["range"], strict=True))


def test_what_loads_the_line_is_drawn_and_a_probe_gives_way(crowded: Result) -> None:
    figures = {figure.name: figure for figure in draw_figures([crowded])}
    for name in ("delay", "rates"):
        series = find_series(figures[name])
        assert len(series) == MOST_SERIES
        assert {"upload", "download", "call ↑", "call ↓", "page ↓"} <= set(series), name
        assert "Not drawn, as there is room for 7: ping ↓." in figures[name].explanation


def replace_connections(result: Result, rows: pl.DataFrame) -> Result:
    return Result({**result.tables, "connection_series": rows}, result.manifest, result.label)


def test_windows_show_the_flow_that_fills_the_line(crowded: Result) -> None:
    figure = draw_windows([crowded])
    assert figure is not None
    assert "upload" in find_series(figure)
    rows = crowded.connection_series
    brief = rows.filter(pl.col("flow") == "page", pl.col("time_ns") < 600_000_000)
    assert brief["connection"].n_unique() == 8
    figure = draw_windows(
        [replace_connections(crowded, pl.concat([brief, rows.filter(pl.col("flow") == "upload")]))]
    )
    assert figure is not None
    assert list(find_series(figure)) == ["upload"]
    assert figure.note == " Not drawn, as a line so brief is not seen: connections of page (8)."
    assert figure.explanation.endswith(figure.note)


def test_of_many_connections_one_of_each_flow_comes_first(crowded: Result) -> None:
    rows = crowded.connection_series.filter(pl.col("flow").is_in(["upload"]))
    many = [
        rows.with_columns(flow=pl.lit("download"), connection=pl.lit(number, pl.Int64))
        for number in range(8)
    ]
    figure = draw_windows([replace_connections(crowded, pl.concat([*many, rows]))])
    assert figure is not None
    assert "upload" in find_series(figure)
    assert "Not drawn, as there is room for 7: download #7, download #8." in figure.note


def test_brief_connections_alone_make_no_figure(crowded: Result) -> None:
    brief = crowded.connection_series.filter(pl.col("flow") == "upload").head(FEWEST_TIMES - 1)
    assert draw_windows([replace_connections(crowded, brief)]) is None


def test_of_two_ends_the_one_that_sends_is_drawn() -> None:
    rows = pl.DataFrame(
        {
            "time_ns": [1, 1, 2, 2],
            "flow": ["page"] * 4,
            "connection": [0] * 4,
            "cwnd_bytes": [14_480, 2_896, 14_480, 5_792],
            "in_flight_bytes": [300, 2_896, 0, 5_792],
        }
    )
    assert _choose_end(rows)["cwnd_bytes"].to_list() == [2_896, 5_792]


def test_a_flow_has_one_colour_in_all_figures_of_a_report(crowded: Result) -> None:
    colours: dict[str, set[str]] = {}
    for figure in draw_figures([crowded]):
        if figure.name in ("delay", "rates", "cwnd", "ping", "mos", "pages"):
            for name, colour in find_series(figure).items():
                colours.setdefault(name, set()).add(colour)
    assert len(colours["upload"]) == len(colours["call ↑"]) == len(colours["page ↓"]) == 1
    slots = order_flows([crowded]).slots
    assert slots["page"] == slots["page ↓"]


def test_panels_side_by_side_keep_what_harms(crowded: Result) -> None:
    other = Result(crowded.tables, crowded.manifest, "other")
    figures = {figure.name: figure for figure in draw_figures([crowded, other])}
    assert "upload" in [panel.title for panel in figures["delay"].panels]


def test_exported_files_name_what_is_not_drawn(crowded: Result, tmp_path: Path) -> None:
    figures = [figure for figure in draw_figures([crowded]) if figure.name == "delay"]
    (path,) = write_figures(figures, tmp_path, ["svg"])
    assert "Not drawn, as there is room for 7: ping ↓." in path.read_text(encoding="utf-8")


def test_a_long_list_of_names_is_cut() -> None:
    _, note = choose_keys([f"q{number}" for number in range(40)], {})
    assert note.endswith("q18 and 21 more.")


def test_a_key_without_a_colour_gets_a_free_one() -> None:
    rows = pl.DataFrame({"key": ["a", "b", "c"], "value": [1.0, 2.0, 3.0]})
    seen: dict[str, int] = {}

    def draw(marked: pl.DataFrame) -> Any:
        seen.update(marked.select("series", "slot").iter_rows())
        return make_chart(marked).mark_point()

    lay_out({"run": rows}, draw, Order(slots={"a": 1, "b": 1, "c": 40}))
    assert seen == {"a": 1, "b": 0, "c": 2}
