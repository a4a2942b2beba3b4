"""The first screen of pages and commands: a question, its answer, one matrix and one figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from headend.analysis.grading import Grade

#: Sentences that an answer has at most, without those on whether its numbers can be believed.
MOST_SENTENCES = 2


@dataclass(frozen=True)
class Cell:
    """How one choice suits one flow or group: a colour, a word and one number.

    Parameters
    ----------
    grade
        The colour of the cell; ``Grade.NONE`` where nothing is graded, such as a transfer's rate.
    word
        The grade in words, such as ``good`` or ``unusable``; empty where the number is enough.
    number
        A number with its unit, such as ``MOS 4.4`` or ``9.34 ± 0.02 Mbit/s``.
    note
        A small text below the number: the difference to the first choice, or the worst of a group.
    is_chosen
        Whether it is the one cell of its row that is recommended, which a page marks with a frame.
    """

    grade: Grade
    word: str
    number: str
    note: str = ""
    is_chosen: bool = False


@dataclass(frozen=True)
class Row:
    """One flow or group under every choice; a cell is None where a choice does not have it.

    An ``inner`` row belongs to a tier: the nearest row above it that is not ``inner``.
    """

    label: str
    cells: tuple[Cell | None, ...]
    inner: bool = False


@dataclass(frozen=True)
class Matrix:
    """A table with a row for each flow or group and a column for each choice.

    Parameters
    ----------
    choices
        The headings of the columns.
    rows
        The rows, each with one cell for each choice.
    corner
        The heading above the labels of the rows.
    note
        A sentence that explains the cells, such as the meaning of a mark.
    """

    choices: tuple[str, ...]
    rows: tuple[Row, ...]
    corner: str = ""
    note: str = ""


@dataclass(frozen=True)
class Answer:
    """What a page or command says first.

    Parameters
    ----------
    question
        The headline.
    sentences
        At most two short ones, after those that say why its numbers may not be believed, such as of
        a run that fell behind real time.
    matrix
        The matrix; None where there is no flow to show.
    why
        The name of the page's figure that shows why; empty where the page has none.
    """

    question: str
    sentences: tuple[str, ...]
    matrix: Matrix | None
    why: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Give the answer as plain values for JSON."""
        return asdict(self)

    def settle_why(self, names: Sequence[str], instead: Sequence[str] = ()) -> Answer:
        """Give the same answer, naming a figure that the page has.

        Parameters
        ----------
        names
            The figures of the page, in their order.
        instead
            Figures to name where the answer's own could not be drawn, the best first. The page's
            first figure comes last.

        Examples
        --------
        >>> answer = Answer("Why?", ("So.",), None, "queue")
        >>> answer.settle_why(["rates", "delay"], ["delay"]).why, answer.settle_why(["rates"]).why
        ('delay', 'rates')
        """
        wanted = [name for name in (self.why, *instead, *names[:1]) if name in names]
        return replace(self, why=wanted[0]) if wanted else self


def ask(title: str, otherwise: str) -> str:
    """Choose the headline: the title where it is a question, else another question.

    Parameters
    ----------
    title
        The title of the scenario, sweep or study.
    otherwise
        The question to use where the title is not a question.

    Examples
    --------
    >>> ask("Does an upload ruin a call?", "How does the call fare?")
    'Does an upload ruin a call?'
    >>> ask("A home line", "How does the call fare?")
    'How does the call fare?'
    """
    return title if title.rstrip().endswith("?") else otherwise
