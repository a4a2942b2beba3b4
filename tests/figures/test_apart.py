"""Series that are told apart without colour, in charts of every kind, and their legends."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

import altair
import polars as pl
import pytest

import headend
from headend.figures import Figure, Panel, draw_figures
from headend.figures import vegalite as vl
from headend.figures.apart import SYMBOLS, tell_apart
from headend.figures.export import draw_picture
from headend.figures.theme import DASHES, PALETTE, QUEUE_TONES, SHAPES, colour, make_chart
from headend.sweeps import sweep as run_sweep
from vega_lite import check_panel


def make_rows(count: int, slots: list[int] | None = None) -> pl.DataFrame:
    """Give two rows for each of some series."""
    rows = [
        {"x": x, "y": slot + x, "series": f"s{slot:02}", "slot": slot}
        for slot in slots or range(count)
        for x in (1.0, 2.0)
    ]
    return pl.DataFrame(rows)


def make_base(rows: pl.DataFrame) -> vl.Chart:
    return make_chart(rows).encode(x="x:Q", y="y:Q", color=colour(rows))


def list_units(part: dict[str, Any]) -> list[dict[str, Any]]:
    inner = [unit for own in part.get("layer", ()) for unit in list_units(own)]
    return inner or [part]


def test_a_line_has_dashes_and_the_legend_shows_them() -> None:
    panel = Panel("", make_base(make_rows(3)).mark_line())
    encoding = panel.specify()["encoding"]
    assert encoding["strokeDash"]["scale"] == {
        "domain": ["s00", "s01", "s02"],
        "range": [list(dashes) for dashes in DASHES[:3]],
    }
    assert encoding["strokeDash"]["legend"] == encoding["color"]["legend"]
    assert encoding["color"]["legend"].items() >= SYMBOLS.items()
    check_panel(panel)
    svg = draw_picture(panel, "").decode()
    for dashes in DASHES[1:3]:
        written = f'stroke-dasharray="{",".join(map(str, dashes))}"'
        assert svg.count(written) == 2, written  # the line and the legend


def test_a_point_has_a_shape_and_the_legend_shows_it() -> None:
    panel = Panel("", make_base(make_rows(3)).mark_point(filled=True))
    encoding = panel.specify()["encoding"]
    assert encoding["shape"]["scale"]["range"] == list(SHAPES[:3])
    assert encoding["shape"]["legend"] == encoding["color"]["legend"]
    assert "symbolType" not in encoding["shape"]["legend"]
    assert "strokeDash" not in encoding
    check_panel(panel)


@pytest.mark.parametrize("is_layered", [True, False])
def test_a_line_with_points_has_both_and_its_legend_the_shapes(is_layered: bool) -> None:
    base = make_base(make_rows(3))
    layers = vl.layer(base.mark_line(), base.mark_point(filled=True))
    panel = Panel("", layers if is_layered else base.mark_line(point={"filled": True}))
    check_panel(panel)
    units = list_units(panel.specify())
    line, points = units[0]["encoding"], units[-1]["encoding"]
    assert points["shape"]["scale"]["range"] == list(SHAPES[:3])
    assert [own["value"] for own in line["strokeDash"]["condition"]] == [
        list(dashes) for dashes in DASHES[:3]
    ]
    assert "scale" not in line["strokeDash"]
    svg = draw_picture(panel, "").decode()
    written = f'stroke-dasharray="{",".join(map(str, DASHES[2]))}"'
    assert written in svg
    # Shapes with a dashed outline could not be recognised.
    assert written not in svg[svg.index("role-legend-symbol") :]


def test_a_chart_keeps_its_own_dashes_and_shapes() -> None:
    base = make_base(make_rows(2))
    predicted = base.mark_line(strokeDash=[5, 4])
    measured = base.mark_line(point=True)
    first, second = list_units(Panel("", vl.layer(predicted, measured)).specify())
    assert "strokeDash" not in first["encoding"]
    # There, dashes say what is predicted.
    assert "strokeDash" not in second["encoding"]
    assert "shape" in second["encoding"]
    ring = Panel("", base.mark_point(shape="circle", filled=False)).specify()
    assert "shape" not in ring["encoding"]
    own = vl.StrokeDash("series:N", scale={"range": [[1, 1], [9, 1]]})
    kept = Panel("", base.mark_line().encode(strokeDash=own)).specify()
    assert kept["encoding"]["strokeDash"] == own


@pytest.mark.parametrize("mark", ["bar", "area", "rule", "text"])
def test_what_is_no_line_and_no_point_stays_as_it_is(mark: str) -> None:
    chart: vl.Chart = getattr(make_base(make_rows(2)), f"mark_{mark}")()
    before = chart.to_dict()
    assert Panel("", chart).specify() == before


def test_values_that_are_colours_or_numbers_have_no_forms() -> None:
    rows = pl.DataFrame({"x": [1.0, 2.0], "tone": ["#888", "#999"]})
    base = make_chart(rows).mark_point().encode(x="x:Q")
    for channel in (vl.Color("tone:N", scale=None), vl.Color("x:Q")):
        assert "shape" not in Panel("", base.encode(color=channel)).specify()["encoding"]


def test_a_form_goes_with_its_colour() -> None:
    first, second = (
        Panel("", make_base(make_rows(0, slots)).mark_point()).specify()["encoding"]
        for slots in ([0, 4, 5], [4, 8])
    )
    forms = [
        dict(zip(own["color"]["scale"]["range"], own["shape"]["scale"]["range"], strict=True))
        for own in (first, second)
    ]
    assert forms[0][PALETTE[4]] == forms[1][PALETTE[4]] == SHAPES[4]


def test_no_two_of_many_series_look_alike() -> None:
    for slots in (list(range(28)), [0, 9, 18, 1], [1000, 1001, 1002, 1003, 1004], [0, 1000]):
        rows = make_rows(0, slots)
        for chart, form in (
            (make_base(rows).mark_line(), "strokeDash"),
            (make_base(rows).mark_point(), "shape"),
        ):
            encoding = Panel("", chart).specify()["encoding"]
            forms = [json.dumps(own) for own in encoding[form]["scale"]["range"]]
            tones = encoding["color"]["scale"]["range"]
            assert len(set(zip(tones, forms, strict=True))) == len(slots)
            # As long as there are forms, no two series have the same one.
            assert len(set(forms)) == min(len(slots), len(DASHES))


def test_there_is_a_form_for_each_colour() -> None:
    assert len(DASHES) == len(set(DASHES)) == len(SHAPES) == len(set(SHAPES)) == len(PALETTE)
    assert len(QUEUE_TONES) < len(PALETTE)
    # A stroke has nothing that could be filled.
    assert "stroke" not in SHAPES


def test_charts_with_colours_of_their_own_have_forms_of_their_own() -> None:
    charts = [make_base(make_rows(0, slots)).mark_line() for slots in ([0, 1], [0, 3])]
    stacked = vl.vconcat(*charts).resolve_scale(color="independent")
    specification = Panel("", stacked).specify()
    assert specification["resolve"]["scale"] == {
        "color": "independent", "strokeDash": "independent", "shape": "independent"
    }  # fmt: skip
    kept = Panel("", stacked.resolve_scale(color="independent", shape="shared")).specify()
    assert kept["resolve"]["scale"]["shape"] == "shared"
    assert "resolve" not in Panel("", charts[0]).specify()


def test_names_come_from_the_rows_where_the_scale_has_none() -> None:
    chart = make_chart(make_rows(2)).mark_point().encode(x="x:Q", color=vl.Color("series:N"))
    for packed in (False, True):
        encoding = Panel("", chart).specify(packed=packed)["encoding"]
        assert encoding["shape"]["scale"]["domain"] == ["s00", "s01"]


def test_a_chart_of_altair_has_forms_too() -> None:
    base = altair.Chart(make_rows(2)).encode(x="x:Q", color="series:N")
    drawn = altair.layer(base.mark_line(), base.mark_point())
    specification = drawn.to_dict()
    tell_apart(specification)
    line, points = specification["layer"]
    assert points["encoding"]["shape"]["scale"]["domain"] == ["s00", "s01"]
    assert len(line["encoding"]["strokeDash"]["condition"]) == 2


#: A line with an upload and pings, long enough for every figure over time.
LINE: dict[str, Any] = {
    "duration": "6 s",
    "bottleneck": "line.up",
    "link": {"line": {"point_to_point": {"up": {"rate": "2 Mbit/s", "queue": "codel"}}}},
    "flow": {
        "upload": {"application": "bulk", "direction": "up"},
        "page": {"application": {"web": {"page": "200 kB", "pause": "1 s"}}},
        "call": {"application": "voice"},
        "ping": {"application": {"ping": {"interval": "500 ms"}}},
    },
}


def list_figures(folder: Path) -> list[Figure]:
    """Draw the figures of a run, of runs side by side with seeds, of a grid, and of a sweep."""
    rate = "link.line.point_to_point.up.rate"
    alone = [headend.run(LINE)]
    beside = headend.compare(LINE, vary={"queue": ["codel", "pie"]}, seeds=2).results
    sweep = {
        "title": "Swept",
        "scenario": LINE,
        "grid": {"queue": ["codel", "pie"], rate: ["1 Mbit/s", "2 Mbit/s", "4 Mbit/s"]},
        "measures": {"rate": "upload.up.goodput", "wait": "line.up.delay.p99"},
    }
    swept = run_sweep(sweep, out=folder / "sweep")
    return [*draw_figures(alone), *draw_figures(beside), *swept.draw_figures()]


def test_no_figure_tells_lines_or_points_apart_by_colour_alone(tmp_path: Path) -> None:
    found: dict[str, set[str]] = {}
    for figure in list_figures(tmp_path):
        for panel in figure.panels:
            for unit in list_units(panel.specify()):
                mark, encoding = unit["mark"], unit.get("encoding", {})
                named = encoding.get("color", {}).get("scale", {}).get("domain")
                if mark["type"] not in ("line", "point") or not named:
                    continue
                if mark.get("shape") == "circle":  # a ring around a point that has a shape
                    assert mark["filled"] is False
                    continue
                forms = [
                    own["scale"]["range"]
                    for form in ("shape", "strokeDash")
                    if "scale" in (own := encoding.get(form, {}))
                ] + [
                    [rule["value"] for rule in own["condition"]]
                    for form in ("strokeDash",)
                    if "condition" in (own := encoding.get(form, {}))
                ]
                assert forms, figure.name
                for looks in forms:
                    assert all(one != two for one, two in itertools.combinations(looks, 2))
                found.setdefault(mark["type"], set()).add(figure.name)
    assert {"delay", "queue", "rates", "cwnd", "queue-delay", "measure-1"} <= found["line"]
    assert {"differences", "pages", "trade-off"} <= found["point"]


def test_a_printed_legend_has_room_for_its_lines() -> None:
    rows = make_rows(3).with_columns(series=pl.col("series") + "-" * 20)
    svg = draw_picture(Panel("", make_base(rows).mark_line()), "").decode()
    widths = [float(own) for own in re.findall(r'd="M-([\d.]+),0L', svg)]
    assert widths
    assert 2 * max(widths) == 26
    assert SYMBOLS["symbolSize"] == 26**2
