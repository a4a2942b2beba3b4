"""Pages in a real browser: no error, no request, no overflow, and the answer on the first screen.

Chromium is started once, and the pages are made once, by the commands that people type. What a
page's first screen must hold is what headend/wording/answer.py and first_screen.html.j2 say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from headend.cli.main import app

#: Screens that the first screen must fit: a laptop and a telephone.
WIDE, NARROW = (1400, 900), (390, 844)

#: A street that is short enough for a test.
STREET = ("street", "--set", "duration=12 s", "--set", "warmup=4 s")

#: A sweep with a number and a rate for axes, and a wish.
SWEEP = """
format = 1
title = "How large may a modem's buffer be?"
scenario = "upload-and-call"
seeds = 2
[set]
duration = "40 s"
[grid]
link.cable.docsis.upstream.rate = { values = ["5 Mbit/s", "10 Mbit/s"], name = "rate" }
queue.buffer_control.target = { values = ["8 KiB", "32 KiB", "128 KiB"], name = "buffer" }
[measures]
call = "call.mos.mean"
upload = "upload.goodput"
[wish]
hold = "call >= 4.0"
most = "upload"
"""

#: The pages, by the command that makes each.
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "run": ("run", "upload-and-call"),
    "street": ("run", *STREET),
    "wifi": (
        *("run", "home-today", "--set", "duration=8 s", "--set", "warmup=2 s"),
        *("--set", "link.wifi.dot11ax.station.tablet={snr='18 dB'}"),
        *("--set", "flow.print.start=3 s"),
    ),
    "compare": (
        *("compare", "upload-and-call", "--vary"),
        'queue={drop_tail={limit="250 ms"}},{buffer_control={target="32 KiB"}},docsis_pie',
        *("--label", "drop-tail 250 ms", "--label", "Buffer Control 32 KiB"),
        *("--label", "DOCSIS-PIE", "--seeds", "3", "--set", "duration=40 s"),
    ),
    "grid": (
        *("compare", "upload-and-call", "--set", "duration=40 s"),
        *("--vary", "link.cable.docsis.upstream.rate=5 Mbit/s,20 Mbit/s"),
        *("--vary", "queue=drop_tail,docsis_pie"),
    ),
    "sweep": ("sweep", "sweep.toml"),
    "study": ("study", "run", "cbt/full-queues", "--quick"),
}

#: How long a page may take to draw all its charts, ms.
PATIENCE = 60_000

#: When all charts are drawn, and when the first one is.
WHOLE = "document.body.dataset.drawn === 'yes'"
FIRST = "document.querySelector('.chart .role-axis-label text')"

#: A text of a chart may reach this many pixels over the edge: what fonts draw beyond their box.
EDGE = 1.5

#: Measures a page; what is folded has no size and is not looked at.
MEASURE = """() => {
  const box = element => element && (({ left, top, right, bottom }) =>
    ({ left: left + scrollX, top: top + scrollY,
       right: right + scrollX, bottom: bottom + scrollY }))(element.getBoundingClientRect());
  const first = document.querySelector(".first");
  const find = selector => box(first?.querySelector(selector));
  const charts = [...document.querySelectorAll(".chart")].filter(element => element.offsetParent);
  const isIn = (text, svg, edge) => text.left >= svg.left - edge && text.right <= svg.right + edge
    && text.top >= svg.top - edge && text.bottom <= svg.bottom + edge;
  return {
    width: document.documentElement.scrollWidth, room: innerWidth,
    headings: [...document.querySelectorAll("h1")].map(h => h.textContent.trim()),
    question: find("h1"), answer: find(".said"), matrix: find(".matrix"),
    matrixBox: box(first?.querySelector(".matrix")?.closest(".scroll")),
    chart: find(".why .chart"), said: first?.querySelector(".said")?.textContent ?? "",
    homes: [...(first?.querySelectorAll("[data-chart='street-0'] .mark-rect path") ?? [])]
      .map(path => path.getBBox()).map(({ width, height }) => [width, height]),
    fades: Boolean(first?.querySelector(".scroll.more")),
    choices: (first?.querySelectorAll(".matrix thead th").length ?? 1) - 1,
    cells: [...(first?.querySelectorAll("td.cell") ?? [])].map(cell => cell.textContent.trim()),
    why: first?.querySelectorAll(".why").length ?? 0,
    twice: charts.map(c => c.dataset.chart).filter((name, at, all) => all.indexOf(name) < at),
    empty: charts.filter(c => !c.querySelector("svg")).map(c => c.dataset.chart),
    wide: charts
      .filter(c => c.querySelector("svg") && box(c.querySelector("svg")).right > box(c).right + 1)
      .map(c => c.dataset.chart),
    cut: charts.flatMap(c => [...c.querySelectorAll("svg.marks text")]
      .filter(text => text.textContent.trim() && getComputedStyle(text).opacity !== "0"
        && text.getAttribute("opacity") !== "0"
        && !isIn(box(text), box(text.closest("svg")), %s))
      .map(text => `${c.dataset.chart}: ${text.textContent}`)),
    buttons: charts.filter(c => c.querySelector("summary")).length,
    covered: charts.filter(c => c.querySelector("summary") && c.querySelector("svg.marks"))
      .filter(c => box(c.querySelector("summary")).left < box(c.querySelector("svg.marks")).right
        || box(c.querySelector("summary")).right > box(c).right + 1)
      .map(c => c.dataset.chart),
    texts: document.querySelectorAll(".chart svg.marks text").length,
    background: getComputedStyle(document.body).backgroundColor,
    text: getComputedStyle(document.body).color,
    chartText: [...document.querySelectorAll(".chart .role-axis-label text")]
      .map(text => getComputedStyle(text).fill)[0],
  };
}""".replace("%s", str(EDGE))


#: Lists the names of settings that break over two lines within a word, each as it breaks.
BREAKS = r"""() => {
  for (const fold of document.querySelectorAll("main details")) fold.open = true;
  const found = [];
  for (const code of document.querySelectorAll("main code")) {
    let before = null, text = "";
    const walker = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode())
      for (let at = 0; at < node.data.length; at += 1) {
        const range = document.createRange();
        range.setStart(node, at);
        range.setEnd(node, at + 1);
        const box = range.getClientRects()[0];
        if (box?.width && before && box.top > before.top + before.height / 2
          && /[\w]$/.test(text) && !text.endsWith("_")) found.push(`${text}|${code.textContent}`);
        if (box?.width) before = box;
        text += node.data[at];
      }
  }
  return { found, codes: document.querySelectorAll("main code").length };
}"""

#: Puts a chart into a fold of its own, and tells how many pictures it has before and in print, and
#: what comes of the fold.
FOLD = """async () => {
  const fold = document.createElement("details");
  const chart = document.querySelector(".chart").cloneNode();
  fold.append(chart);
  document.querySelector("main").append(fold);
  drawAgain([chart]);
  const before = chart.querySelectorAll("svg.marks").length;
  dispatchEvent(new Event("beforeprint"));
  const open = fold.open;
  for (let turn = 0; turn < 1000; turn += 1) await null;
  const printed = chart.querySelectorAll("svg.marks").length;
  dispatchEvent(new Event("afterprint"));
  return { before, printed, open, after: fold.open };
}"""


@dataclass
class Seen:
    """What a browser saw of a page at one size."""

    height: int
    measures: dict[str, Any]
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Make each page once."""
    made = {}
    folder = tmp_path_factory.mktemp("pages")
    (folder / "sweep.toml").write_text(SWEEP, encoding="utf-8")
    for name, command in COMMANDS.items():
        words = [str(folder / word) if word == "sweep.toml" else word for word in command]
        result = CliRunner().invoke(app, [*words, "--out", str(folder / name), "-q"])
        assert result.exit_code == 0, (name, result.output)
        made[name] = next(path for path in sorted((folder / name).rglob("report.html")))
    return made


@pytest.fixture(scope="module")
def look(browser: Any, pages: Mapping[str, Path]) -> Any:
    """Look at a page at a size in light or dark colours, each once."""
    seen: dict[tuple[str, tuple[int, int], str], Seen] = {}

    def look_once(name: str, size: tuple[int, int], colours: str = "light") -> Seen:
        key = (name, size, colours)
        if key not in seen:
            seen[key] = _look(browser, pages[name], size, colours)
        return seen[key]

    return look_once


def _look(browser: Any, path: Path, size: tuple[int, int], colours: str) -> Seen:
    viewport: Any = {"width": size[0], "height": size[1]}
    page = browser.new_page(viewport=viewport, color_scheme=colours)
    complaints: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: _note(message, complaints))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    # Of dark colours, which are the same in all charts, only the first chart is looked at.
    drawn = WHOLE if colours == "light" else FIRST
    page.wait_for_function(drawn, timeout=PATIENCE)
    measures = page.evaluate(MEASURE)
    page.close()
    return Seen(size[1], measures, complaints, requests)


def _note(message: Any, complaints: list[str]) -> None:
    if message.type in ("error", "warning"):
        complaints.append(message.text)


each_page = pytest.mark.parametrize("name", COMMANDS)
each_size = pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])


@each_page
@each_size
def test_a_page_has_no_error_and_asks_for_nothing(
    look: Any, name: str, size: tuple[int, int]
) -> None:
    seen = look(name, size)
    assert seen.complaints == []
    # The page itself, and what it made of its own data.
    assert [url for url in seen.requests[1:] if not url.startswith(("data:", "blob:"))] == []


@each_page
@each_size
def test_a_page_is_no_wider_than_the_screen(look: Any, name: str, size: tuple[int, int]) -> None:
    measures = look(name, size).measures
    assert measures["room"] == size[0]
    assert measures["width"] <= size[0]


@each_page
@each_size
def test_every_chart_is_drawn_whole(look: Any, name: str, size: tuple[int, int]) -> None:
    measures = look(name, size).measures
    assert measures["empty"] == []
    assert measures["wide"] == []
    assert measures["texts"] > 0
    assert measures["cut"] == []


@each_page
@each_size
def test_the_button_of_a_charts_menu_covers_nothing_of_it(
    look: Any, name: str, size: tuple[int, int]
) -> None:
    measures = look(name, size).measures
    assert measures["buttons"] > 0
    assert measures["covered"] == []


@each_page
@each_size
def test_the_first_screen_holds_question_answer_and_matrix(
    look: Any, name: str, size: tuple[int, int]
) -> None:
    measures = look(name, size).measures
    assert len(measures["headings"]) == 1
    assert measures["question"], "no h1 in the first screen"
    assert measures["said"].strip()
    assert measures["answer"]["bottom"] <= size[1]
    assert measures["matrix"], "no matrix in the first screen"
    assert measures["matrix"]["bottom"] <= size[1]
    assert any(measures["cells"])


@each_page
def test_a_matrix_of_few_choices_is_whole_on_a_narrow_screen(look: Any, name: str) -> None:
    measures = look(name, NARROW).measures
    box, matrix = measures["matrixBox"], measures["matrix"]
    if measures["choices"] <= 3:
        assert matrix["right"] <= box["right"] + 0.5
    # Of more, the edge shows that there is more.
    assert measures["fades"] is (matrix["right"] > box["right"] + 1)


def test_names_of_settings_break_at_dots_and_underscores_on_a_narrow_screen(
    browser: Any, pages: Mapping[str, Path]
) -> None:
    page = browser.new_page(viewport={"width": NARROW[0], "height": NARROW[1]})
    page.goto(pages["wifi"].as_uri())
    page.wait_for_function(WHOLE, timeout=PATIENCE)
    seen = page.evaluate(BREAKS)
    assert seen["codes"] > 5
    assert seen["found"] == []
    # A name without such places breaks within a word, so that the page is no wider.
    remove = "() => document.querySelectorAll('code wbr').forEach(place => place.remove())"
    page.evaluate(remove)
    assert page.evaluate(BREAKS)["found"] != []
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW[0]
    page.close()


def test_what_is_folded_is_drawn_for_print_and_folded_again(
    browser: Any, pages: Mapping[str, Path]
) -> None:
    page = browser.new_page(viewport={"width": WIDE[0], "height": WIDE[1]})
    page.goto(pages["study"].as_uri())
    page.wait_for_function(WHOLE, timeout=PATIENCE)
    folded = page.evaluate(FOLD)
    assert folded == {"before": 0, "printed": 1, "open": True, "after": False}
    page.close()


@each_page
@each_size
def test_the_first_screen_holds_the_chart_that_shows_why(
    look: Any, name: str, size: tuple[int, int]
) -> None:
    measures = look(name, size).measures
    assert measures["why"] == 1
    end = measures["chart"]["bottom" if size == WIDE else "top"]
    assert end <= size[1]
    assert measures["twice"] == []


@each_size
def test_homes_of_a_street_are_squares(look: Any, size: tuple[int, int]) -> None:
    homes = look("street", size).measures["homes"]
    assert len(homes) > 10
    assert all(0.8 < width / height < 1.25 for width, height in homes)


@each_page
def test_dark_colours_are_those_of_page_and_charts(look: Any, name: str) -> None:
    light, dark = (look(name, WIDE, colours).measures for colours in ("light", "dark"))
    for part in ("background", "text", "chartText"):
        assert light[part] != dark[part], part
    assert look(name, WIDE, "dark").complaints == []


#: Draws a chart with a legend of colours and one of dashes, and gives how far its texts reach over
#: its right edge.
LEGENDS = """async () => {
  const names = letter => [1, 2, 3].map(number => `${letter} of a line with the number ${number}`);
  const own = domain => ({ scale: { domain }, legend: { values: domain, title: null } });
  const rows = names("colour")
    .map((colour, place) => ({ colour, dash: names("dash")[place], x: place }));
  data.legends = {
    width: "container", autosize: { type: "fit-x", contains: "padding" },
    data: { values: rows }, mark: "point",
    encoding: {
      x: { field: "x", type: "quantitative" },
      color: { field: "colour", type: "nominal", ...own(names("colour")) },
      shape: { field: "dash", type: "nominal", ...own(names("dash")) },
    },
  };
  const chart = document.createElement("div");
  chart.className = "chart";
  chart.dataset.chart = "legends";
  document.querySelector("main").append(chart);
  await draw(chart);
  const right = element => element.getBoundingClientRect().right;
  return Math.max(...[...chart.querySelectorAll("text")].map(right)) - right(chart);
}"""


def test_legends_of_several_kinds_are_whole_on_a_narrow_screen(
    browser: Any, pages: Mapping[str, Path]
) -> None:
    page = browser.new_page(viewport={"width": NARROW[0], "height": NARROW[1]})
    page.goto(pages["study"].as_uri())
    page.wait_for_function(WHOLE, timeout=PATIENCE)
    assert page.evaluate(LEGENDS) <= EDGE
    page.close()


#: Draws a chart with long names along its side and short ones in its legend, and gives the same.
SIDE = """async () => {
  const cases = [1, 2].map(number => `a case with a long name, number ${number}`);
  const series = ["acknowledged", "not acknowledged"];
  data.side = {
    width: "container", height: 60, autosize: { type: "fit-x", contains: "padding" },
    data: { values: cases.map((own, place) => ({ own, series: series[place], x: place })) },
    mark: "point",
    encoding: {
      x: { field: "x", type: "quantitative" },
      y: { field: "own", type: "nominal", title: null, sort: cases },
      color: { field: "series", type: "nominal", scale: { domain: series }, legend: {} },
    },
  };
  const chart = document.createElement("div");
  chart.className = "chart";
  chart.dataset.chart = "side";
  document.querySelector("main").append(chart);
  await draw(chart);
  const right = element => element.getBoundingClientRect().right;
  const drawn = right(chart.querySelector("svg"));
  return Math.max(...[...chart.querySelectorAll("text")].map(right)) - drawn;
}"""


def test_a_legend_beside_long_names_is_whole_on_a_narrow_screen(
    browser: Any, pages: Mapping[str, Path]
) -> None:
    page = browser.new_page(viewport={"width": NARROW[0], "height": NARROW[1]})
    page.goto(pages["study"].as_uri())
    page.wait_for_function(WHOLE, timeout=PATIENCE)
    assert page.evaluate(SIDE) <= EDGE
    page.close()


#: A page on which everything that is looked at is wrong.
FAULTY = """<!doctype html><body><div style="width: 2000px">wide</div>
<img src="http://127.0.0.1:9/fetched.png"><script>console.error("wrong")</script>
<div class="chart" data-chart="none" style="width: 200px; height: 50px"></div>
<div class="chart" data-chart="wide" style="width: 200px; height: 50px">
<svg class="marks" width="300" height="50"><text x="290" y="20">cut off</text></svg></div>
<script>document.body.dataset.drawn = "yes"</script>"""


def test_what_is_wrong_with_a_page_is_seen(browser: Any, tmp_path: Path) -> None:
    page = tmp_path / "faulty.html"
    page.write_text(FAULTY, encoding="utf-8")
    seen = _look(browser, page, WIDE, "light")
    assert "wrong" in seen.complaints
    assert "http://127.0.0.1:9/fetched.png" in seen.requests
    assert seen.measures["width"] > WIDE[0]
    assert seen.measures["question"] is seen.measures["matrix"] is None
    assert seen.measures["empty"] == ["none"]
    assert seen.measures["wide"] == ["wide"]
    assert seen.measures["cut"] == ["wide: cut off"]
