"""The first screen of every page and the first lines of every command: a question, its answer, one matrix, and the figure that shows why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from headend.judging.grading import Grade

#: Sentences that an answer has at most.
MOST_SENTENCES = 2


@dataclass(frozen=True)
class Cell:
    """What one choice does to one of the people: a colour, a word and one number.

    Parameters
    ----------
    grade
        Its colour; ``Grade.NONE`` for what is not graded, such as a transfer's rate.
    word
        Such as ``good`` or ``unusable``; empty where the number says it all.
    number
        With its unit, such as ``MOS 4.4`` or ``9.34 ± 0.02 Mbit/s``.
    note
        Stands small below it: the difference to the first choice, or the worst of a group.
    """

    grade: Grade
    word: str
    number: str
    note: str = ""


@dataclass(frozen=True)
class Row:
    """One of the people, or a group of them, under every choice; None where a choice has not got them.

    A row that is ``inner`` belongs to the last one above it that is not: to its tier.
    """

    label: str
    cells: tuple[Cell | None, ...]
    inner: bool = False


@dataclass(frozen=True)
class Matrix:
    """People by choices.

    Parameters
    ----------
    choices
        What stands above the columns.
    rows
        With a cell for each choice.
    corner
        What stands above the labels of the rows.
    note
        What a reader needs to know to read it, such as what a mark means.
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
        At most two short ones.
    matrix
        None where there are no people and no choices to show.
    why
        The name of the figure that shows why, among those of the page; empty where there is none.
    """

    question: str
    sentences: tuple[str, ...]
    matrix: Matrix | None
    why: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON can hold it."""
        return asdict(self)

    def settle_why(self, names: Sequence[str], instead: Sequence[str] = ()) -> Answer:
        """Let it name a figure that is there.

        Parameters
        ----------
        names
            The figures of the page, in their order.
        instead
            Figures to name where its own could not be drawn, the best first; after them, the first
            of the page.

        Examples
        --------
        >>> answer = Answer("Why?", ("So.",), None, "queue")
        >>> answer.settle_why(["rates", "delay"], ["delay"]).why, answer.settle_why(["rates"]).why
        ('delay', 'rates')
        """
        wanted = [name for name in (self.why, *instead, *names[:1]) if name in names]
        return replace(self, why=wanted[0]) if wanted else self


def ask(title: str, otherwise: str) -> str:
    """Give the headline: a title that is a question is the question.

    Parameters
    ----------
    title
        Of the scenario, sweep or study.
    otherwise
        The question to ask where the title is none.

    Examples
    --------
    >>> ask("Does an upload ruin a call?", "How does the call fare?")
    'Does an upload ruin a call?'
    >>> ask("A home line", "How does the call fare?")
    'How does the call fare?'
    """
    return title if title.rstrip().endswith("?") else otherwise
