"""Tables on a terminal: how a `headend.wording.table.Table` is drawn, and fitted to its width."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rich.box
import rich.table
from rich.text import Text

from headend.cli.terminal import write_line
from headend.text.reveal import reveal, reveal_line

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.measure import Measurement
    from rich.table import Column

    from headend.wording.table import Cell, Table

#: Terminals of fewer columns cut tables, or make towers of their cells.
NARROW = 100

_STYLES = {
    "good": "green",
    "fair": "yellow",
    "poor": "dark_orange",
    "bad": "bold red",
    "none": "dim",
}
_SIGNS = {"good": "✓", "fair": "~", "poor": "!", "bad": "✗", "none": ""}

#: What the names of rows are of, if they stay on one line.
_UNBROKEN = ("setting", "flow", "claim", "name", "parameter")


def draw(table: Table, *, stacked: bool = False) -> rich.table.Table:
    """Draw a table: a sign, a word and a text to a cell; stacked, the text stands below the word.

    Columns for which only pages have room are left out.
    """
    table = table.take(at for at, column in enumerate(table.columns) if not column.is_detail)
    drawn = rich.table.Table(box=rich.box.SIMPLE, show_edge=False, pad_edge=False)
    drawn.add_column(write_line(table.corner), no_wrap=table.corner in _UNBROKEN)
    drawn.show_header = any((table.corner, *table.names))
    for column in table.columns:
        name, *more = column.heading.split(" ", 1 if table.look == "brief" else 0)
        drawn.add_column(
            Text("\n").join(map(write_line, (name, *more))),
            justify="right" if column.is_number else "left",
            no_wrap=column.is_unbroken or stacked,
        )
    if stacked:
        drawn.pad_edge, drawn.padding = False, (0, 1, 0, 0)
        drawn.columns[0].overflow = "fold"
    between = "\n" if stacked or table.look == "words" else " "
    for row in table.rows:
        if row.place == "total":
            drawn.add_section()
        label = _draw_cell(row.heading, between)
        if row.place == "inner":
            label = Text("  ").append_text(label)
        if row.place == "heading" or table.look == "words":
            label.stylize("bold")
        cells = (_draw_cell(cell, between, table.look) for cell in row.cells)
        drawn.add_row(label, *cells)
    return drawn


def _draw_cell(cell: Cell | None, between: str, look: str = "") -> Text:
    if cell is None:
        return Text("–")
    style = _STYLES[cell.grade] if look == "matrix" or cell.grade != "none" else ""
    word = " ".join(filter(None, [_SIGNS[cell.grade], reveal_line(cell.word)]))
    # Where a word says the grade, it alone has the colour, but in a matrix.
    is_plain = bool(cell.word) and look != "matrix"
    text = Text(between).join(
        Text(part, style="" if is_plain and part is not word else style)
        for part in (word, reveal(cell.text))
        if part
    )
    for words, grade in reversed(cell.counts):
        line = Text(f"{_SIGNS[grade]} {words}", style=_STYLES[grade])
        text = line.append("\n" if text else "").append_text(text)
    if cell.is_chosen:
        text.stylize("bold")
    return text.append(f"\n{reveal_line(cell.note)}", style="dim") if cell.note else text


def fit(console: Console, table: rich.table.Table) -> RenderableType:
    """Give a table that fits the terminal: on a narrow one, rows are stacked and no text is cut."""
    narrow = console.width < NARROW and _measure(console, table).maximum > console.width
    return _stack(table) if narrow or not fits(console, table) else table


def fits(console: Console, table: rich.table.Table) -> bool:
    """Say whether a table fits into a terminal with no word of it cut."""
    # Rich reckons with every word on a line of its own, also where a column has to stay on one.
    unbroken = (column for column in table.columns if column.no_wrap)
    options = _free(console)
    widened = sum(_measure_words(console, options, column) for column in unbroken)
    return _measure(console, table).minimum + widened <= console.width


def _measure(console: Console, table: rich.table.Table) -> Measurement:
    """Measure a table on its own: on a console with an edge it never needs more than there is."""
    return console.measure(table, options=_free(console))


def _free(console: Console) -> ConsoleOptions:
    return console.options.update(max_width=10_000)


def _measure_words(console: Console, options: ConsoleOptions, column: Column) -> int:
    """Give by how much a column is wider on one line than with each word on its own."""
    cells = [console.measure(cell, options=options) for cell in (column.header, *column.cells)]
    return max(cell.maximum for cell in cells) - max(cell.minimum for cell in cells)


def _stack(table: rich.table.Table) -> RenderableType:
    from rich.console import Group
    from rich.padding import Padding

    columns = [(column.header, list(column.cells)) for column in table.columns]
    parts: list[RenderableType] = []
    for row in range(table.row_count):
        name, *values = ((header, _flatten(cells[row])) for header, cells in columns)
        parts.append(Text.assemble(name[1], style="bold"))
        for header, value in values:
            if value.plain:
                line = Text.assemble((f"{header}: ", "dim"), value)
                parts.append(Padding(line, (0, 0, 0, 2)))
    return Group(*parts, "")


def _flatten(cell: RenderableType) -> Text:
    """Put the lines of a cell behind each other, with commas between those not sentences."""
    text = cell if isinstance(cell, Text) else Text(reveal(str(cell)))
    first, *rest = text.split("\n")
    for line in rest:
        first.rstrip()
        first.append(" " if first.plain.endswith(".") else ", ").append_text(line)
    first.rstrip()
    return first
