"""One table for terminal, page and JSON: the same cells, each drawn its own way."""

from __future__ import annotations

import io

from rich.console import Console

from headend.analysis.grading import Grade
from headend.cli.tables import draw
from headend.pages.page import render_fragment, render_page
from headend.pages.section import Page, Section, fold, text
from headend.text.quantity import Unit
from headend.wording.answer import Answer
from headend.wording.table import Cell, Column, Row, Table, make_matrix

MS = Unit("ms", 1e6)

TABLE = Table(
    (
        Column("grade", is_unbroken=True),
        Column.of("delay p50", MS, is_detail=True),
        Column.of("delay p95", MS),
    ),
    (
        Row(
            Cell("call", is_chosen=True, tag="worst"),
            (Cell("", Grade.BAD, "bad"), Cell.of(8e6, MS), Cell.of(263e6, MS, "↑ ")),
        ),
        Row("web", (None, None, Cell.of(None, MS)), "inner"),
        Row("all", (Cell(counts=(("1 bad", Grade.BAD), ("2 good", Grade.GOOD))),) * 3, "total"),
    ),
    "flow",
    note="↑ up.",
)


def print_table(table: Table) -> str:
    console = Console(file=io.StringIO(), width=100)
    console.print(draw(table))
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def draw_on_page(table: Table) -> str:
    page = Page("A page", Answer("Why?", ("So.",), None), [], [Section("table", table)])
    return render_page(page)


def test_numbers_have_their_unit_in_the_heading() -> None:
    assert TABLE.names == ("grade", "delay p50 (ms)", "delay p95 (ms)")
    cells = TABLE.rows[0].cells
    assert [(cell.text, cell.value) for cell in cells[1:] if cell] == [("8", 8e6), ("↑ 263", 263e6)]


def test_a_terminal_has_signs_and_leaves_out_what_only_pages_have_room_for() -> None:
    lines = print_table(TABLE).splitlines()
    assert "delay p95 (ms)" in lines[0]
    assert "delay p50" not in lines[0]
    assert lines[2].split() == ["call", "✗", "bad", "↑", "263"]
    assert lines[3].split() == ["web", "–", "–"]
    assert lines[3].startswith("  web")
    assert "✗ 1 bad" in lines[5]


def test_a_page_has_colours_words_and_every_column() -> None:
    page = draw_on_page(TABLE)
    assert "delay p50" in page
    assert '<span class="grade bad">bad</span>' in page
    assert 'call <span class="mark">worst</span>' in page
    assert '<th class="inner">web</th>' in page
    assert '<p class="note">↑ up.</p>' in page


def test_json_has_the_texts_of_a_matrix() -> None:
    cell = Cell("MOS 4.4", Grade.GOOD, "good", "Δ +1", is_chosen=True)
    matrix = make_matrix(["codel"], [Row("call", (cell,)), Row("page", (None,), "inner")], "flow")
    assert matrix.to_dict() == {
        "choices": ["codel"],
        "rows": [
            {
                "label": "call",
                "cells": [
                    {
                        "grade": "good",
                        "word": "good",
                        "number": "MOS 4.4",
                        "note": "Δ +1",
                        "is_chosen": True,
                    }
                ],
                "inner": False,
            },
            {"label": "page", "cells": [None], "inner": True},
        ],
        "corner": "flow",
        "note": "",
    }


def test_a_notebook_has_the_same_matrix() -> None:
    matrix = make_matrix(["codel"], [Row("call", (Cell("MOS 4.4", Grade.GOOD, "good"),))])
    answer = Answer("Why?", ("So.",), matrix)
    shown = render_fragment("notebook.html.j2", answer=answer, why=None, picture="", hint="")
    assert '<td class="cell good"><span class="word">good</span>' in shown


def test_sections_are_text_lists_tables_and_folds() -> None:
    page = render_page(
        Page(
            "A page",
            Answer("Why?", ("So.",), None),
            [],
            [
                text("try `headend run`", (("Bold.", "strong"), " and <not> markup"), title="Text"),
                fold("Folded", TABLE, Section("list", ["one"]), anchor="here", is_open=True),
            ],
            notices=[("see ", ("there", "#here"))],
            warnings=["it rains"],
        )
    )
    assert "<code>headend run</code>" in page
    assert "<strong>Bold.</strong> and &lt;not&gt; markup" in page
    assert '<details open id="here"><summary><h2>Folded</h2></summary>' in page
    assert "<li>one</li>" in page
    assert 'see <a href="#here">there</a>' in page
    assert "1 warning</a> to read" in page
