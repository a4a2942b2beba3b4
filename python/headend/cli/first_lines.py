"""The first lines of a command: question, answer in at most two sentences, and matrix."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING

from headend.cli.tables import draw, fit, fits
from headend.cli.terminal import make_output, print_sentence, write_line

if TYPE_CHECKING:
    import rich.table
    from rich.console import Console, RenderableType

    from headend.wording.answer import Answer
    from headend.wording.table import Table

#: The most lines of a matrix with its cells' notes; a longer one leaves the notes out.
MOST_LINES = 14


def print_answer(
    answer: Answer,
    title: str = "",
    aside: str = "",
    most_rows: int | None = None,
    *,
    is_grid: bool = False,
) -> None:
    """Print the first screen of a page without its chart.

    Parameters
    ----------
    answer
        The question, its answer and the matrix.
    title
        The scenario's title, printed above the question where the two differ.
    aside
        A text after the title, such as the seed.
    most_rows
        The most rows of the matrix; by default all.
    is_grid
        Whether the matrix is a table as long as no word of it is cut, even if that takes more lines
        than other forms.
    """
    console = make_output()
    console.print()
    is_question = title in ("", answer.question)
    first = (answer.question, "bold") if is_question else title
    console.print(write_line(first, "  " if aside else "", (aside, "dim")))
    if not is_question:
        print_sentence(console, answer.question, "bold")
    for sentence in answer.sentences:
        print_sentence(console, sentence)
    if answer.matrix:
        console.print()
        rows = answer.matrix.rows[:most_rows]
        matrix = replace(answer.matrix, rows=rows)
        grid = _draw_grid(console, matrix) if is_grid else None
        console.print(grid or _fit_matrix(console, matrix))
        if more := len(answer.matrix.rows) - len(rows):
            console.print(write_line((f"{more} more with --full.", "dim")))
        if answer.matrix.note:
            print_sentence(console, answer.matrix.note, "dim")


def _draw_grid(console: Console, matrix: Table) -> rich.table.Table | None:
    """Draw a matrix as a table whose cells may have several lines; None where a word is cut."""
    wide = draw(matrix)
    if fit(console, wide) is wide:
        return wide
    for is_broken in (False, True):
        narrow = draw(matrix, stacked=True)
        narrow.show_lines = len(matrix.rows) > 1
        for column in narrow.columns if is_broken else ():
            column.no_wrap = False
        if fits(console, narrow) and _is_whole(console, narrow, matrix):
            return narrow
    return None


def _fit_matrix(console: Console, matrix: Table) -> RenderableType:
    """Draw a matrix in as few lines as possible; a long one without the notes of its cells."""
    whole = fit(console, draw(matrix))
    if _count_lines(console, whole) <= MOST_LINES:
        return whole
    table = draw(matrix, stacked=True)
    is_whole = fits(console, table) and _is_whole(console, table, matrix)
    if is_whole and _count_lines(console, table) <= MOST_LINES:
        return table
    rows = tuple(
        replace(row, cells=tuple(cell and replace(cell, note="") for cell in row.cells))
        for row in matrix.rows
    )
    bare = replace(matrix, rows=rows)
    shapes = [fit(console, draw(bare))]
    for stacked in (True, False):
        table = draw(bare, stacked=stacked)
        if fits(console, table) and _is_whole(console, table, bare):
            shapes.append(table)
    if split := _split(console, bare):
        shapes.append(split)
    return min(shapes, key=lambda shape: _count_lines(console, shape))


def _split(console: Console, matrix: Table) -> RenderableType | None:
    """Draw a matrix as tables one below the other, each of some choices, all with the row labels.

    None where one choice alone does not fit.
    """
    from rich.console import Group

    number = len(matrix.columns)
    for each in range(number - 1, 0, -1):
        parts = [
            matrix.take(range(first, min(first + each, number))) for first in range(0, number, each)
        ]
        tables = [draw(part, stacked=True) for part in parts]
        if all(map(functools.partial(_is_whole, console), tables, parts)):
            apart = [part for table in tables for part in ("", table)]
            return Group(*apart[1:])
    return None


def _is_whole(console: Console, table: rich.table.Table, matrix: Table) -> bool:
    """Say whether a table shows every word of a matrix; Rich cuts words in narrow columns."""
    lines = console.render_lines(table, pad=False)
    shown = {word for line in lines for word in "".join(part.text for part in line).split()}
    texts = [*matrix.names]
    for row in matrix.rows:
        cells = (row.heading, *row.cells)
        texts += [f"{cell.word} {cell.text}" for cell in cells if cell]
    return all(word in shown for text in texts for word in text.split())


def _count_lines(console: Console, shape: RenderableType) -> int:
    return len(console.render_lines(shape, pad=False))
