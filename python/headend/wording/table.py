"""One table for terminal, page, notebook and JSON: who draws one adds nothing but its layout.

A terminal draws it in ``cli/tables.py``, pages and notebooks in ``pages/templates/table.html.j2``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from headend.analysis.grading import Grade
from headend.text.quantity import Unit, format_number, name_column


@dataclass(frozen=True)
class Column:
    """What a column's cells are of.

    Parameters
    ----------
    name
        What stands above it, without the unit.
    unit
        The one unit of its numbers.
    is_number
        Whether it has numbers, which stand at its right edge.
    is_unbroken
        Whether each of its cells stays on one line, also on a narrow terminal.
    is_detail
        Whether only pages have room for it.
    note
        A small text below the name, such as the bound that the values must keep.
    explanation
        What is meant, which a page shows to who points at the name.
    """

    name: str
    unit: Unit | None = None
    is_number: bool = False
    is_unbroken: bool = False
    is_detail: bool = False
    note: str = ""
    explanation: str = ""

    @classmethod
    def of(cls, name: str, unit: Unit | None = None, **more: Any) -> Column:
        """Make a column of numbers in one unit."""
        return cls(name, unit, is_number=True, is_unbroken=True, **more)

    @property
    def heading(self) -> str:
        """The name with the unit."""
        return name_column(self.name, self.unit) if self.unit else self.name


@dataclass(frozen=True)
class Cell:
    """A text, with a grade that gives it a colour, a sign on a terminal, and often a word.

    Parameters
    ----------
    text
        Such as ``MOS 4.4``, or a number whose unit the column has.
    grade
        ``Grade.NONE`` where nothing is graded, such as a transfer's rate.
    word
        The grade in words, such as ``good``, ``unusable`` or ``met``, which stands before the text.
    note
        A small text below: the difference to the first choice, the worst of a group, a source.
    value
        The number that the text writes, in the base unit of its kind.
    is_chosen
        Whether it stands out: the one of its row that is recommended, or the bottleneck.
    tag
        What makes it stand out, in a word, which pages write behind the text.
    counts
        Words with their grades, a line each, above the text: ``4 good`` and ``1 bad`` of a group.
    """

    text: str = ""
    grade: Grade = Grade.NONE
    word: str = ""
    note: str = ""
    value: float | None = None
    is_chosen: bool = False
    tag: str = ""
    counts: tuple[tuple[str, Grade], ...] = ()

    @classmethod
    def of(cls, value: float | None, unit: Unit, before: str = "") -> Cell:
        """Write a number in the unit of its column."""
        return cls(before + format_number(value, unit), value=value)


#: A row that is none of these has the empty place. An ``inner`` row belongs to the nearest one
#: above that is not inner; a ``first`` one begins a part of the table, a ``heading`` has the name
#: of the part and no cells, and a ``total`` sums up the rows above it.
Place = Literal["", "inner", "first", "heading", "total"]


@dataclass(frozen=True)
class Row:
    """A name, and a cell for each column; a cell is None where there is nothing of its kind."""

    label: str | Cell
    cells: tuple[Cell | None, ...] = ()
    place: Place = ""

    @property
    def heading(self) -> Cell:
        """The name as a cell."""
        return self.label if isinstance(self.label, Cell) else Cell(self.label)


@dataclass(frozen=True)
class Table:
    """Columns, and rows with a name and a cell for each column.

    Parameters
    ----------
    columns
        The columns right of that of the names.
    rows
        The rows.
    corner
        What stands above the names of the rows.
    title
        The heading above the table.
    note
        How it is to be read, or what a mark in it means.
    look
        How a page lays it out: a class of its style, such as ``matrix``, whose cells have the
        colours of their grades.
    """

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    corner: str = ""
    title: str = ""
    note: str = ""
    look: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """What stands above each column, with its unit."""
        return tuple(column.heading for column in self.columns)

    def take(self, columns: Iterable[int]) -> Table:
        """Give the table with only the columns of some numbers."""
        kept = list(columns)
        return replace(
            self,
            columns=tuple(self.columns[at] for at in kept),
            rows=tuple(
                replace(row, cells=tuple(row.cells[at] for at in kept if row.cells))
                for row in self.rows
            ),
        )

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain values for JSON, without what is only for the eye."""
        return {
            "choices": list(self.names),
            "rows": [
                {
                    "label": row.heading.text,
                    "cells": [cell and _describe_cell(cell) for cell in row.cells],
                    "inner": row.place == "inner",
                }
                for row in self.rows
            ],
            "corner": self.corner,
            "note": self.note,
        }


def _describe_cell(cell: Cell) -> dict[str, Any]:
    return {
        "grade": cell.grade,
        "word": cell.word,
        "number": cell.text,
        "note": cell.note,
        "is_chosen": cell.is_chosen,
    }


def make_matrix(
    choices: Iterable[str], rows: Iterable[Row], corner: str = "", note: str = ""
) -> Table:
    """Make the table of an answer: a row for each flow or group, a column for each choice."""
    columns = tuple(map(Column, choices))
    return Table(columns, tuple(rows), corner, note=note, look="matrix")


def make_table(
    corner: str,
    columns: Iterable[str | Column],
    rows: Iterable[Iterable[str | Cell | None]],
    **more: Any,
) -> Table:
    """Make a table of texts: the first of each row is its name."""
    heads = tuple(Column(own) if isinstance(own, str) else own for own in columns)
    filled = tuple(
        Row(first or "", tuple(Cell(own) if isinstance(own, str) else own for own in texts))
        for first, *texts in rows
    )
    return Table(heads, filled, corner, **more)
