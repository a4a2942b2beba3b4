"""Vega-Lite specifications as Python values: charts, rows, choices, and refusals."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import altair
import polars as pl
import pytest

from headend.figures import Panel
from headend.figures import vegalite as vl
from vega_lite import check_panel

ROWS = pl.DataFrame({"time_s": [1.0, 2.0], "delay_ms": [3.0, 4.0], "series": ["a", "b"]})


def make_lines(rows: pl.DataFrame = ROWS) -> vl.Chart:
    return (
        vl.Chart(rows).mark_line(clip=True).encode(x="time_s:Q", y=vl.Y("delay_ms:Q", title="ms"))
    )


def list_units(specification: dict[str, Any]) -> list[dict[str, Any]]:
    """Give the charts of a specification that are not made of others."""
    parts = specification.get("layer", specification.get("vconcat"))
    return [unit for part in parts for unit in list_units(part)] if parts else [specification]


def test_a_chart_is_written_as_it_is_said() -> None:
    chart = make_lines().properties(width=300, title="Delay").transform_filter("datum.time_s > 1")
    assert chart.to_dict() == {
        "mark": {"type": "line", "clip": True},
        "encoding": {
            "x": {"field": "time_s", "type": "quantitative"},
            "y": {"field": "delay_ms", "type": "quantitative", "title": "ms"},
        },
        "width": 300,
        "title": "Delay",
        "transform": [{"filter": "datum.time_s > 1"}],
        "data": {"name": "rows_1"},
        "datasets": {
            "rows_1": [
                {"time_s": 1.0, "delay_ms": 3.0, "series": "a"},
                {"time_s": 2.0, "delay_ms": 4.0, "series": "b"},
            ]
        },
    }
    check_panel(Panel("", chart))


@pytest.mark.parametrize("kind", ["area", "bar", "line", "point", "rect", "rule", "text", "tick"])
def test_every_mark_is_one_of_vega_lite(kind: str) -> None:
    chart: vl.Chart = getattr(vl.Chart(ROWS), f"mark_{kind}")(opacity=0.5).encode(x="time_s:Q")
    assert chart.to_dict()["mark"] == {"type": kind, "opacity": 0.5}
    check_panel(Panel("", chart))


def test_altair_writes_the_same_chart() -> None:
    def draw(library: Any, chosen: Any, opacity: Any) -> dict[str, Any]:
        base = library.Chart(ROWS).encode(
            x=library.X("time_s:Q", axis=library.Axis(grid=False), scale=library.Scale(zero=True)),
            color=library.Color("series:N", legend=library.Legend(title=None), sort=["b", "a"]),
        )
        lines = base.mark_line().encode(y="delay_ms:Q", opacity=opacity).add_params(chosen)
        points = base.mark_point(filled=True).encode(
            y=library.Y("delay_ms:Q", title=None), tooltip=["series:N", library.Tooltip("time_s:O")]
        )
        ruler = base.mark_rule().encode(x2="delay_ms:Q", y=library.value(3))
        drawn: dict[str, Any] = library.layer(lines, points, ruler.properties(height=99)).to_dict()
        return drawn

    theirs = altair.selection_point(name="chosen", fields=["series"], bind="legend")
    faded = altair.condition(theirs, altair.value(1), altair.value(0.1))
    ours = vl.selection_point("chosen", fields=["series"], bind="legend")
    expected, drawn = draw(altair, theirs, faded), draw(vl, ours, vl.condition(ours, 1, 0.1))
    (view,) = expected["params"][0].pop("views")
    assert drawn["params"][0].pop("views") == ["view_1"]
    assert drawn["params"] == expected["params"]
    assert drawn["height"] == expected["height"] == 99
    units = list_units(drawn)
    assert units[0].pop("name") == "view_1"
    assert all(unit.pop("data") == {"name": "rows_1"} for unit in units)
    (values,) = expected["datasets"].values()
    assert drawn["datasets"] == {"rows_1": values}
    for unit, other in zip(units, list_units(expected), strict=True):
        assert {"name": view, **unit} == {"name": view, **other}


def test_methods_leave_a_chart_as_it_was() -> None:
    base = make_lines()
    before = base.to_dict()
    base.encode(color="series:N").mark_point().properties(width=3).transform_filter("true")
    vl.layer(base.properties(height=7), base)
    assert base.to_dict() == before
    assert list(base.encode(color="series:N").to_dict()["encoding"]) == ["x", "y", "color"]


def test_rows_are_written_once_however_often_they_are_drawn() -> None:
    other = ROWS.with_columns(delay_ms=pl.lit(9.0))
    charts = [make_lines(rows) for rows in (ROWS, other, ROWS.clone(), ROWS)]
    specification = vl.vconcat(vl.layer(*charts[:2]), vl.layer(*charts[2:])).to_dict()
    names = [unit["data"]["name"] for unit in list_units(specification)]
    assert names == ["rows_1", "rows_2", "rows_1", "rows_1"]
    assert specification["datasets"]["rows_2"] == other.to_dicts()
    assert len(specification["datasets"]) == 2


def test_what_is_no_finite_number_is_null() -> None:
    rows = pl.DataFrame({"x": [math.nan, math.inf, -math.inf, 2.5, None], "n": [1, 2, 3, None, 5]})
    written = vl.Chart(rows).mark_point().encode(x="x:Q", y="n:Q").to_dict()["datasets"]["rows_1"]
    assert [row["x"] for row in written] == [None, None, None, 2.5, None]
    assert [row["n"] for row in written] == [1, 2, 3, None, 5]
    json.dumps(written, allow_nan=False)


def test_a_choice_knows_all_charts_in_which_it_is_made() -> None:
    chosen = vl.selection_point("chosen", fields=["series"], bind="legend")
    chart = make_lines().encode(opacity=vl.condition(chosen, 1, 0.1)).add_params(chosen)
    specification = vl.vconcat(chart, make_lines(), chart).to_dict()
    names = [unit.get("name") for unit in list_units(specification)]
    assert names == ["view_1", None, "view_2"]
    assert specification["params"] == [
        {
            "name": "chosen",
            "select": {"type": "point", "fields": ["series"]},
            "bind": "legend",
            "views": ["view_1", "view_2"],
        }
    ]
    check_panel(Panel("", vl.layer(chart)))


def test_the_size_of_a_layer_is_that_of_its_charts() -> None:
    wide = make_lines().properties(width=300, height=90)
    specification = vl.layer(make_lines(), wide, make_lines().properties(height=90)).to_dict()
    assert specification["width"] == 300
    assert specification["height"] == 90
    assert not any({"width", "height"} & unit.keys() for unit in list_units(specification))
    with pytest.raises(ValueError, match="layers of one height: expected 90, found 80"):
        vl.layer(wide, make_lines().properties(height=80))


def test_charts_below_each_other_may_have_scales_of_their_own() -> None:
    chart = vl.vconcat(make_lines(), make_lines(), spacing=14, title="Two")
    chart = chart.resolve_scale(color="independent")
    specification = chart.to_dict()
    assert specification["resolve"] == {"scale": {"color": "independent"}}
    assert specification["spacing"] == 14
    check_panel(Panel("", chart))


@pytest.mark.parametrize("field", ["time_s", "time_s:", "time_s:X", ":Q", "quantitative"])
def test_a_field_without_its_type_is_refused(field: str) -> None:
    with pytest.raises(ValueError, match=f'such as "time_s:Q", found "{field}"'):
        vl.Chart(ROWS).mark_line().encode(x=field)
    with pytest.raises(ValueError, match="expected a field with its type"):
        vl.Tooltip(field)


def test_a_type_may_follow_any_name() -> None:
    assert vl.X("a:b:T") == {"field": "a:b", "type": "temporal"}


@pytest.mark.parametrize("channel", ["x2", "tooltip", "y"])
def test_a_field_that_rows_do_not_have_is_refused(channel: str) -> None:
    field = ["lost:Q"] if channel == "tooltip" else "lost:Q"
    chart = vl.layer(make_lines(), make_lines().encode(**{channel: field}))
    message = f'{channel}: expected a column of the rows (time_s, delay_ms, series), found "lost"'
    with pytest.raises(ValueError, match="^" + message.replace("(", r"\(").replace(")", r"\)")):
        chart.to_dict()


def test_a_chart_of_altair_is_a_panel_too() -> None:
    chart: Any = altair.Chart(ROWS).mark_line().encode(x="time_s:Q", y="delay_ms:Q")
    specification = Panel("", chart).specify()
    assert not {"$schema", "config"} & specification.keys()
    check_panel(Panel("", chart))


def test_titles_are_cleaned_in_the_panel_and_not_in_the_chart() -> None:
    chart = make_lines().encode(y=vl.Y("delay_ms:Q", title="a\\b\nc"), tooltip=["series:N"])
    rows = pl.DataFrame({"time_s": [1.0], "delay_ms": [1.0], "title": ["a\\b"], "series": ["a"]})
    panel = Panel("", vl.layer(chart, make_lines(rows)))
    specification = panel.specify()
    assert specification["layer"][0]["encoding"]["y"]["title"] == "a\u29f5b\u240ac"
    assert specification["datasets"]["rows_2"][0]["title"] == "a\\b"
    assert panel.chart.to_dict()["layer"][0]["encoding"]["y"]["title"] == "a\\b\nc"


def test_the_example_of_the_reference_draws_its_chart() -> None:
    text = Path(__file__).parents[2].joinpath("docs/reference/studies.md").read_text("utf-8")
    (program,) = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(program, names)
    (panel,) = names["draw_by_buffer"](pl.DataFrame({"buffer_kib": [8, 16], "ping_ms": [9.0, 20]}))
    assert panel.specify()["mark"] == {"type": "line"}
    check_panel(panel)
