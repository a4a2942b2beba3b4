"""What a page is made of: the first screen, and sections that each kind of experiment adds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from headend.wording.table import Table

if TYPE_CHECKING:
    from headend.figures import Figure
    from headend.wording.answer import Answer

#: A line of text, or its parts, some with a class, ``strong``, or ``#`` and what it leads to. What
#: stands between backticks is shown as code.
Line = str | tuple[str | tuple[str, str], ...]


@dataclass(frozen=True)
class Section:
    """A part of a page.

    Parameters
    ----------
    kind
        How it is drawn: ``text`` and ``list`` (of lines), ``table``, ``heading``, ``pre`` (a text
        as it is), ``links`` (names and addresses), ``sections``, or the name of a template
        in ``pages/templates`` that has a macro ``draw``.
    content
        What is drawn.
    title
        Its heading; empty for none.
    fold
        Whether it can be folded, and is.
    anchor
        Its address within the page.
    style
        A class of its paragraphs or of itself, such as ``soft``.
    is_minor
        Whether the title of a fold is plain text.
    """

    kind: str
    content: Any
    title: str = ""
    fold: Literal["", "open", "closed"] = ""
    anchor: str = ""
    style: str = ""
    is_minor: bool = False


def text(*lines: Line, title: str = "", style: str = "") -> Section:
    """Make a section of paragraphs."""
    return Section("text", lines, title, style=style)


def fold(
    title: str,
    *parts: Section | Table,
    anchor: str = "",
    is_open: bool = False,
    is_minor: bool = False,
) -> Section:
    """Make a section that can be folded."""
    sections = [Section("table", part) if isinstance(part, Table) else part for part in parts]
    return Section(
        "sections", sections, title, "open" if is_open else "closed", anchor, "", is_minor
    )


def fold_long(table: Table, most: int, noun: str) -> Section:
    """Make a section of a table, folded if it has more rows than that."""
    if len(table.rows) <= most:
        return Section("table", table)
    return fold(f"{len(table.rows)} {noun}", table, is_minor=True)


@dataclass(frozen=True)
class Page:
    """A page: what its first screen has, and the sections above and below its figures.

    Parameters
    ----------
    title
        The name of the page.
    answer
        Its question and answer, and the matrix.
    figures
        The figures; the one that the answer names stands in the first screen.
    sections, closing
        What stands above and below the figures.
    notices
        Lines of the first screen below the answer: what is missing, or was missed.
    remarks
        Lines of the first screen above these, in a soft colour.
    warnings
        What is to be known before the numbers are trusted.
    failures
        Why points failed.
    columns
        How the matrix is laid out: ``choices`` are equally wide; of ``people``, a narrow screen
        shows the first column only; the claims of a study are ``of-claims``.
    is_titled
        Whether the title stands above a question that is another.
    """

    title: str
    answer: Answer
    figures: Sequence[Figure]
    sections: Sequence[Section] = ()
    closing: Sequence[Section] = ()
    notices: Sequence[Line] = ()
    remarks: Sequence[Line] = ()
    warnings: Sequence[str] = ()
    failures: Sequence[str] = ()
    columns: str = ""
    is_titled: bool = False


def capitalise_first(texts: Iterable[str]) -> list[str]:
    """Begin each text that is not empty with a capital."""
    return [text[0].upper() + text[1:] for text in texts if text]
