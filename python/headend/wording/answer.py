"""The first screen of pages and commands: a question, its answer, one matrix and one figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from headend.wording.table import Table

#: Sentences that an answer has at most, without those on whether its numbers can be believed.
MOST_SENTENCES = 2


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
    matrix: Table | None
    why: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Give the answer as plain values for JSON."""
        return {
            "question": self.question,
            "sentences": list(self.sentences),
            "matrix": self.matrix and self.matrix.to_dict(),
            "why": self.why,
        }

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
