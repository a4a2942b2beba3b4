"""What Python and notebooks show of results: first screen, figures, tables as files."""

from __future__ import annotations

import base64
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import altair
import polars as pl
import pytest

import headend
from headend.errors import InputError
from headend.figures import draw_figures
from headend.figures.export import choose_figures, name_panels
from headend.figures.plot import VEGALITE
from headend.pages import notebook

LINE: dict[str, Any] = {
    "title": "Does an upload <ruin> a call?",
    "duration": "32 s",
    "warmup": "2 s",
    "bottleneck": "line.up",
    "link": {
        "line": {"point_to_point": {"up": {"rate": "2 Mbit/s"}, "down": {"rate": "9 Mbit/s"}}}
    },
    "flow": {
        "call": {"application": "voice"},
        "upload": {"application": "bulk", "direction": "up"},
    },
}
VARY = {"queue": ["drop_tail", "docsis_pie"]}
NO_PAPER = 'the chart needs vl-convert-python: pip install "headend[paper]"'


@pytest.fixture(scope="module")
def result() -> headend.Result:
    return headend.run(LINE)


@pytest.fixture(scope="module")
def comparison() -> Any:
    return headend.compare(LINE, VARY, seeds=2)


@pytest.fixture(scope="module")
def swept() -> Any:
    measures = {"call": "call.mos.p5", "upload": "upload.goodput"}
    return headend.sweep({"scenario": LINE, "grid": VARY, "seeds": 2, "measures": measures})


class Outline(HTMLParser):
    """Collects the elements and the text of a page, and that each element is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in ("img", "br", "wbr"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words += data


def read_outline(shown: str) -> Outline:
    return Outline(shown)


@pytest.mark.parametrize("name", ["result", "comparison", "swept"])
def test_a_notebook_shows_the_first_screen(name: str, request: pytest.FixtureRequest) -> None:
    shown = request.getfixturevalue(name)
    html = shown._repr_html_()
    outline = read_outline(html)
    words = " ".join(outline.words.split())
    assert shown.answer.question in words
    for sentence in shown.answer.sentences:
        assert sentence.replace("`", "") in words
    for row in shown.answer.matrix.rows:
        assert row.label in words
    (picture,) = [attributes for tag, attributes in outline.seen if tag == "img"]
    assert (picture["src"] or "").startswith("data:image/")
    # Ten of them make a small notebook, and none meets another or asks the network for anything.
    assert len(html) < 250_000
    assert not [attributes for _, attributes in outline.seen if "id" in attributes]
    assert "<script" not in html
    assert not re.search(r'(?:src|href)="(?!data:)', html)
    assert not re.search(r"url\(|@import", html)
    assert all(
        ".headend-first" in selector
        for selector in re.findall(r"(?:^|[}{;])\s*([.\[a-z][^{};:]*)\{", html.split("</style>")[0])
    )


def test_what_others_wrote_is_text_in_a_notebook(result: headend.Result) -> None:
    html = result._repr_html_()
    assert "&lt;ruin&gt;" in html
    assert "<ruin>" not in html


def test_a_notebook_without_what_draws_pictures_says_what_to_install(
    result: headend.Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headend.extras._is_installed", lambda module: module != "vl_convert")
    html = result._repr_html_()
    assert "<img" not in html
    assert NO_PAPER in read_outline(html).words
    assert set(result.figure("queue")._repr_mimebundle_()) == {"text/plain", VEGALITE}
    with pytest.raises(InputError, match=r"needs vl-convert-python: pip install"):
        result.figure("mos").save("never.pdf")


def test_a_large_chart_is_an_image_of_points(
    result: headend.Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notebook, "MOST_SVG", 1)
    found = re.search(r'src="data:image/png;base64,([^"]+)"', result._repr_html_())
    assert found
    assert base64.b64decode(found[1]).startswith(b"\x89PNG")


def test_figures_have_the_names_of_the_page(result: headend.Result, tmp_path: Path) -> None:
    page = result.report(tmp_path / "page.html").read_text(encoding="utf-8")
    names = result.figures
    assert "mos" in names
    assert "queue" in names
    for name in names:
        assert f'id="{name}"' in page
        assert result.figure(name).name == name
    assert result.answer.why in names


def test_a_chart_of_a_figure_has_the_name_that_the_command_lists(
    result: headend.Result, tmp_path: Path
) -> None:
    figures = draw_figures([result])
    figure = next(own for own in figures if len(own.panels) > 1)
    for name, panel in zip(name_panels(figure), figure.panels, strict=True):
        plot = result.figure(name)
        assert plot.name == name
        assert choose_figures(figures, [name])[0].panels == [panel]
        assert "vconcat" not in plot.spec
    assert "vconcat" in result.figure(figure.name).spec
    files = result.figure(name_panels(figure)[0]).save(tmp_path / "one.json")
    assert [file.name for file in files] == ["one.json"]


@pytest.mark.parametrize(
    ("name", "end"), [("quue", '; did you mean "queue"?'), ("zzz", "; there are mos, ")]
)
def test_a_figure_that_is_not_there_is_refused_with_those_that_are(
    result: headend.Result, name: str, end: str
) -> None:
    with pytest.raises(InputError) as caught:
        result.figure(name)
    assert str(caught.value).startswith(f'no figure is called "{name}"{end}')
    assert "queue" in str(caught.value)


@pytest.mark.parametrize("name", ["mos", "queue"])
def test_a_figure_is_a_chart_that_other_programs_read(result: headend.Result, name: str) -> None:
    plot = result.figure(name)
    chart = altair.Chart.from_dict(plot.spec)
    chart.to_dict(validate=True)
    bundle = plot._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "image/svg+xml", VEGALITE}
    assert bundle[VEGALITE]["$schema"].endswith("/v5.json")
    assert bundle["image/svg+xml"].startswith("<svg")
    assert json.loads(json.dumps(bundle)) == bundle
    assert plot.title in repr(plot)
    assert plot.explanation
    # Each panel has its own data: a queue's delay is not its backlog.
    panels = plot.spec.get("vconcat", [])
    assert len({json.dumps(rows) for rows in plot.spec["datasets"].values()}) >= len(panels)
    names = re.findall(r'"data": \{"name": "([^"]+)"', json.dumps(plot.spec))
    assert set(names) == set(plot.spec["datasets"])


def test_a_figure_is_saved_for_a_paper(
    result: headend.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plot = result.figure("mos")
    for kind, beginning in (
        ("pdf", b"%PDF"),
        ("png", b"\x89PNG"),
        ("svg", b"<svg"),
        ("json", b"{"),
    ):
        (file,) = plot.save(f"figures/call.{kind}")
        assert file == Path(f"figures/call.{kind}")
        assert file.read_bytes().startswith(beginning)
    (file,) = plot.save("narrow.svg", width="85mm", font_size="7pt", title=False)
    assert 'width="85.000mm"' in file.read_text(encoding="utf-8")
    assert plot.title not in file.read_text(encoding="utf-8")
    several = result.figure("queue")
    files = several.save("queue.svg")
    assert len(files) == len({file.name for file in files}) == 2
    assert all(file.is_file() and file.name.startswith("queue-") for file in files)


@pytest.mark.parametrize(
    ("path", "options", "message"),
    [
        ("x", {}, "x: expected a file that ends in .svg, .pdf, .png, .json"),
        ("x.pfd", {}, '.json; did you mean "pdf"?'),
        ("x.pdf", {"width": "wide"}, 'width: expected a length such as "85mm"'),
        ("x.pdf", {"width": "1mm"}, "width: expected "),
        (3, {}, "path: expected a path, found 3"),
    ],
)
def test_what_cannot_be_saved_is_refused(
    result: headend.Result, tmp_path: Path, path: Any, options: dict[str, Any], message: str
) -> None:
    path = tmp_path / path if isinstance(path, str) else path
    with pytest.raises(InputError) as caught:
        result.figure("mos").save(path, **options)
    assert message in str(caught.value)


def test_tables_are_files_of_their_own(
    result: headend.Result, comparison: Any, swept: Any, tmp_path: Path
) -> None:
    files = result.to_csv(tmp_path / "run")
    assert {file.stem for file in files} == set(result.tables)
    assert (
        pl.read_csv(tmp_path / "run" / "flows.csv")["flow"].to_list()
        == result.flows["flow"].to_list()
    )
    with pytest.raises(InputError, match=r"flows\.csv: exists; .* force=True"):
        result.to_csv(tmp_path / "run")
    assert result.to_csv(tmp_path / "run", tables=["flows"], force=True) == [files[0]]
    with pytest.raises(InputError, match='no table is called "flow"; did you mean "flows"'):
        result.to_csv(tmp_path / "other", tables=["flow"])
    comparison.to_csv(tmp_path / "comparison", tables=["flows"])
    rows = pl.read_csv(tmp_path / "comparison" / "flows.csv")
    assert rows.columns[:2] == ["label", "seed"]
    assert set(rows["label"]) == {"drop_tail", "docsis_pie"}
    files = swept.to_csv(tmp_path / "sweep")
    assert [file.name for file in files] == ["results.csv", "summary.csv"]
    assert pl.read_csv(files[0]).height == swept.table.height


def test_results_say_what_they_are_in_a_line(comparison: Any, swept: Any) -> None:
    title = LINE["title"]
    assert repr(comparison) == f"<Comparison {title!r}: drop_tail, docsis_pie; 2 seeds>"
    assert repr(swept) == "<SweepResult 'sweep': 2 × queue; 2 seeds>"


def test_a_result_that_is_read_back_shows_the_same(result: headend.Result, tmp_path: Path) -> None:
    folder = headend.run(LINE, out=tmp_path / "out", report=False).folder
    assert folder
    kept = headend.Result.load(folder)
    assert kept.answer == result.answer
    shown = [read_outline(one._repr_html_()).words for one in (kept, result)]
    assert shown[0] == shown[1]


def test_any_results_are_read_back_as_what_they_were(comparison: Any, tmp_path: Path) -> None:
    folder = comparison.save(tmp_path / "comparison", report=False)
    kept = headend.load(folder)
    assert repr(kept) == repr(comparison)
    assert kept.answer == comparison.answer
    measures = {"call": "call.mos.p5"}
    swept = headend.sweep(
        {"scenario": LINE, "grid": VARY, "measures": measures}, out=tmp_path / "sweep", report=False
    )
    again = headend.load(tmp_path / "sweep")
    assert isinstance(again, headend.SweepResult)
    assert again.table.equals(swept.table)
    with pytest.raises(InputError, match="no such results folder"):
        headend.load(tmp_path / "nothing")
    with pytest.raises(InputError, match="folder: expected a path, found 3"):
        headend.load(3)  # type: ignore[arg-type]
