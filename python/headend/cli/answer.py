"""How the terminal shows an answer: question, sentences, matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headend.cli.tables import draw_matrix, fit
from headend.cli.terminal import make_output, write_line

if TYPE_CHECKING:
    from headend.judging.answer import Answer


def print_answer(answer: Answer, title: str, aside: str = "") -> None:
    """Print what a command says first.

    Parameters
    ----------
    answer
        The question, its answer and the matrix.
    title
        Of the scenario or sweep; stands above a question that is another.
    aside
        What stands behind the title, such as the seed.
    """
    console = make_output()
    console.print()
    style = "bold" if title == answer.question else ""
    console.print(write_line((title, style), "  ", (aside, "dim")))
    if title != answer.question:
        console.print(write_line((answer.question, "bold")))
    for sentence in answer.sentences:
        console.print(write_line(sentence))
    console.print()
    if answer.matrix:
        console.print(fit(console, draw_matrix(answer.matrix)))
        if answer.matrix.note:
            console.print(write_line((answer.matrix.note, "dim")))
