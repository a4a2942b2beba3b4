"""The report: self-contained, of any results, with explanations, and small."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import headend
from headend.analysis.measures import MeasureInfo
from headend.figures import draw_figures
from headend.figures import vegalite as vl
from headend.figures.export import write_figures
from headend.figures.figure import Figure, Panel
from headend.figures.theme import PALETTE
from headend.figures.thinning import thin_distributions
from headend.figures.trade_off import name_measure
from headend.pages.charts import embed_json
from headend.pages.comparison import tabulate_differences
from headend.pages.page import bundle_libraries
from headend.running.experiment import compare
from headend.running.result import Result
from vega_lite import check_panel


@pytest.fixture
def kept(fake: Any, home_line: Path) -> Path:
    headend.run(home_line, out="kept")
    return Path("kept")


class Loads(HTMLParser):
    """Collects every address that a page would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("src", "href", "srcset", "data", "action", "poster") and not (
                value or ""
            ).startswith("#"):
                self.found.append(f"<{tag} {name}={value}>")


def read_data(page: str) -> dict[str, Any]:
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert match
    data: dict[str, Any] = json.loads(match[1])
    return data


def test_a_report_fetches_nothing(kept: Path) -> None:
    page = (kept / "report.html").read_text()
    loads = Loads()
    loads.feed(page)
    assert loads.found == []
    assert "default-src 'none'" in page
    own = page.replace(bundle_libraries(), "")
    assert "://" not in own
    assert "@import" not in own
    assert "url(" not in own


@pytest.mark.skipif(not shutil.which("chromium"), reason="chromium is not installed")
def test_a_browser_without_network_draws_every_figure(kept: Path) -> None:
    command = [
        "chromium", "--headless=new", "--no-sandbox", "--disable-gpu",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        "--virtual-time-budget=60000", "--dump-dom", (kept / "report.html").resolve().as_uri(),
    ]  # fmt: skip
    page = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert 'data-drawn="yes"' in page
    charts = len(read_data(page))
    assert charts > 8
    assert page.count("graphics-document") >= charts


def test_a_report_is_remade_from_its_folder_alone(kept: Path, tmp_path: Path) -> None:
    before = (kept / "report.html").read_bytes()
    Result.load(kept).report(tmp_path / "again.html")
    assert (tmp_path / "again.html").read_bytes() == before


def test_a_report_stays_small_beside_its_libraries(fake: Any, home_line: Path) -> None:
    headend.run(home_line, set={"duration": "600 s"}, out="long")
    size = len((Path("long") / "report.html").read_text()) - len(bundle_libraries())
    assert size < 3_000_000


def test_text_of_a_scenario_cannot_become_markup(fake: Any, home_line: Path) -> None:
    bad = "</script><script>alert(1)</script>"
    page = (
        headend.run(home_line, set={"title": bad, f"flow.{'x<b>'}": {"application": "ping"}})
        .report("x.html")
        .read_text()
    )
    assert bad not in page
    assert "<b>" not in page.replace(bundle_libraries(), "")
    assert embed_json({"a": bad}).count("<") == 0


def test_every_figure_has_an_explanation_units_and_a_legend(kept: Path) -> None:
    for figure in draw_figures([Result.load(kept)]):
        assert len(figure.explanation) > 60, figure.name
        for panel in figure.panels:
            specification = json.dumps(panel.chart.to_dict())
            titles = re.findall(r'"title": "([^"]+)"', specification)
            assert any(
                "(" in title or "share" in title or "probability" in title for title in titles
            )


def test_every_figure_obeys_the_schema_of_vega_lite(fake: Any, home_line: Path) -> None:
    comparison = compare(home_line, {"queue": ["drop_tail", "docsis_pie"]})
    for results in (comparison.results, comparison.results[:1]):
        for figure in draw_figures(results):
            for panel in figure.panels:
                check_panel(panel)


def test_the_marks_people_know_are_drawn(kept: Path) -> None:
    text = (kept / "report.html").read_text()
    for mark in ("150 ms", "400 ms", "130 ms: games", "4: users satisfied"):
        assert mark in text


def test_the_mark_of_games_is_drawn_where_pings_come_near_it(fake: Any, home_line: Path) -> None:
    def draw(queue: str) -> str:
        figures = {f.name: f for f in draw_figures([headend.run(home_line, set={"queue": queue})])}
        return json.dumps(figures["ping"].panels[0].specify())

    assert "130 ms: games" in draw("drop_tail")
    assert "130 ms: games" not in draw("docsis_pie")


def test_lost_pings_are_shown_at_the_time_they_were_sent(fake: Any, home_line: Path) -> None:
    import polars as pl

    result = headend.run(home_line, set={"queue": "docsis_pie"})
    lost = pl.col("flow").eq("ping") & pl.col("time_ns").eq(40_000_000_000)
    result.tables["samples"] = result.samples.with_columns(
        value=pl.when(lost).then(float("nan")).otherwise(pl.col("value"))
    )
    figure = next(figure for figure in draw_figures([result]) if figure.name == "ping")
    assert "never answered" in figure.explanation
    specification = figure.panels[0].specify()
    line, crosses = specification["layer"]
    assert line["mark"]["invalid"] == "break-paths-filter-domains"
    drawn = specification["datasets"]
    values = [row["value"] for row in drawn[line["data"]["name"]]]
    assert sum(value is None for value in values) == 1
    assert [row["time_s"] for row in drawn[crosses["data"]["name"]]] == [35.0]


def test_a_run_keeps_its_colour_in_every_panel(fake: Any, home_line: Path) -> None:
    comparison = compare(home_line, {"queue": ["drop_tail", "docsis_pie"]})
    second = f'"{PALETTE[1]}"'
    for figure in draw_figures(comparison.results):
        for panel in figure.panels:
            text = json.dumps(panel.chart.to_dict())
            for domain, colours in re.findall(
                r'"domain": \[("[^]]+)\], "range": \[("#[^]]+)\]', text
            ):
                pairs = dict(zip(domain.split(", "), colours.split(", "), strict=True))
                assert pairs.get('"docsis_pie"', second) == second, figure.name


def test_a_run_that_measured_nothing_still_has_a_report(fake: Any, home_line: Path) -> None:
    result = headend.run(home_line)
    empty = {
        name: table.clear() if name != "summary" else table for name, table in result.tables.items()
    }
    page = Result(empty, result.manifest, "empty").report("empty.html").read_text()
    assert "An upload and a call on a home line" in page


def test_a_thinned_distribution_keeps_its_percentiles(fake: Any, home_line: Path) -> None:
    import polars as pl

    result = headend.run(home_line)
    rows = result.histograms.filter((pl.col("kind") == "queue") & (pl.col("name") == "cable.up"))
    thin = thin_distributions(rows).filter("is_reached")
    assert thin.select("name", "direction").unique().rows() == [("cable.up", "up")]
    stated = result.queues.filter(pl.col("queue") == "cable.up")["delay_p99_ns"][0] / 1e6
    drawn = thin.filter(pl.col("share") == 0.01)["delay_ms"].item()
    assert drawn == pytest.approx(stated, rel=0.02)
    assert thin["share"].is_sorted(descending=True)
    assert thin["delay_ms"].is_sorted()


def test_differences_name_only_what_differs() -> None:
    one = {"seed": 1, "link": {"a": {"queue": "x", "rate": 1}}}
    two = {"seed": 1, "link": {"a": {"queue": {"y": {"target": "5 ms"}}, "rate": 1}}}
    table = tabulate_differences([("a", one), ("b", two)])
    assert table.names == ("a", "b")
    assert [(row.label, [cell and cell.text for cell in row.cells]) for row in table.rows] == [
        ("link.a.queue", ["x", "–"]),
        ("link.a.queue.y.target", ["–", "5 ms"]),
    ]


def test_files_of_both_ways_are_told_apart_by_name(tmp_path: Path) -> None:
    rows = pl.DataFrame({"x": [1.0], "y": [1.0]})
    chart = vl.Chart(rows).mark_point().encode(x="x:Q", y="y:Q")
    figure = Figure("delay", "Delay", "", [Panel("call ↑", chart), Panel("call ↓", chart)])
    names = [path.name for path in write_figures([figure], tmp_path, ["svg"])]
    assert names == ["call-up-delay.svg", "call-down-delay.svg"]


def test_a_sweeps_axis_says_what_it_measures() -> None:
    def name(measure: str, direction: str | None, metric: str, unit: str = "") -> str:
        rows = pl.DataFrame({"subject": ["call"], "direction": [direction], "metric": [metric]})
        return name_measure(rows, MeasureInfo(measure, "number"), unit)

    assert name("quality", None, "mos.mean") == "quality: MOS, mean"
    assert name("call", None, "mos.mean") == "call: MOS, mean"
    assert name("call.mos.mean", None, "mos.mean") == "call: MOS, mean"
    assert name("call.up.goodput", "up", "goodput", "Mbit/s") == "call up: goodput (Mbit/s)"
    assert name("page", None, "page_load_time.p50", "s") == "page: page load time, p50 (s)"


def test_a_known_mark_that_curves_run_along_is_named_off_them(fake: Any, home_line: Path) -> None:
    figures = {figure.name: figure for figure in draw_figures([headend.run(home_line)])}
    text = json.dumps(figures["line-rate"].panels[0].specify(), ensure_ascii=False)
    assert "- -  nominal rate" in text


def test_in_print_no_column_of_a_wide_table_is_behind_a_scrollbar() -> None:
    style = Path(headend.__file__).with_name("pages") / "templates" / "page.css"
    _, _, printed = style.read_text(encoding="utf-8").partition("@media print")
    assert ".scroll { overflow: visible; }" in printed
    assert "white-space: normal !important" in printed


def test_the_columns_of_people_and_queues_have_one_unit_each(fake: Any, home_line: Path) -> None:
    page = headend.run(home_line).report("page.html").read_text(encoding="utf-8")
    heads = re.findall(r"<thead>(.*?)</thead>", page, re.DOTALL)
    people, queues = (
        next(head for head in heads if name in head) for name in (">flow<", ">queue<")
    )
    assert re.search(r"delay p50 \(m?s\)", people)
    assert "lost (%)" in people
    assert re.search(r"goodput \([kM]bit/s\)", people)
    assert "rate (Mbit/s)" in queues
    assert "used (%)" in queues
    rows = re.findall(r'<td class="number">([^<]*)</td>', page)
    assert rows
    assert not [cell for cell in rows if re.search(r"\d (ms|s|%|[kMG]?bit/s)", cell)]


def test_a_comparison_says_on_its_first_screen_what_was_missed(
    fake: Any, home_line: Path, tmp_path: Path
) -> None:
    expected = '[expect]\ncall = "call.mos.p5 > 3.5"\nline = "cable.up.utilisation > 1 %"\n'
    text = re.sub(r"^description = .*\n", "", home_line.read_text(), flags=re.MULTILINE)
    home_line.write_text(text + expected)
    vary = {"queue": ["drop_tail", "docsis_pie"]}
    compared = compare(home_line, vary, out=tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    first, rest = page.split("</header>", 1)
    assert first.count("<strong>Missed") == 1
    assert "<strong>Missed under drop_tail:</strong> call.mos.p5 &gt; 3.5, measured 1." in first
    # On a narrow screen each cell says what it is.
    table = rest.split('<table class="stacked">')[1].split("</table>")[0]
    assert table.count('<span class="head">measured </span>') == 4
    # A scenario without a description has no section of its own.
    assert not compared.results[0].manifest.get("description")
    assert f"<h2>{compared.title}</h2>" not in page


def test_a_page_names_the_grades_of_its_own_people_alone(
    fake: Any, home_line: Path, tmp_path: Path
) -> None:
    headend.run(home_line, out=tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    measured = page.split("How it was measured")[1].split("</details>")[0]
    assert "voice by score in the worst" in measured
    assert "frames late" not in measured
