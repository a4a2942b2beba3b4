"""The answer of a fitted line in the language of who owns it."""

from __future__ import annotations

from headend.fitting.estimates import QueueKind
from headend.fitting.finding import Found
from headend.fitting.sentences import (
    QUEUES,
    WORDS,
    describe_bound,
    describe_interval,
    describe_line,
    list_rows,
)
from headend.measurement.record import Direction
from headend.wording.answer import Answer
from headend.wording.table import Cell, Column, Row, Table

#: What the page asks.
QUESTION = "What is my line like?"


def answer_fit(found: Found) -> Answer:
    """Give the answer with which its page begins: the line, its queues, and the estimates."""
    return Answer(
        QUESTION,
        (describe_line(found.estimates), _describe_queues(found)),
        tabulate_estimates(found),
        "delay",
    )


def _describe_queues(found: Found) -> str:
    """Say in one sentence what waits where."""
    parts = []
    for way in (Direction.DOWN, Direction.UP):
        guess = found.guesses.get(way)
        if guess is None:
            continue
        if guess.kind is QueueKind.UNKNOWN:
            parts.append(f"which queue the {WORDS[way]} has cannot be told")
        else:
            sure = "has" if guess.is_sure else "probably has"
            parts.append(f"the {WORDS[way]} {sure} {QUEUES[guess.kind]}")
    text = " and ".join(parts) or "nothing tells which queues it has"
    return f"{text[0].upper()}{text[1:]}."


def tabulate_estimates(found: Found) -> Table:
    """Make the table of all estimates."""
    rows = [
        Row(
            row.name,
            (
                Cell(f"{describe_bound(row.estimate)}{row.value}"),
                Cell(describe_interval(row)),
                Cell(f"{row.estimate.basis}"),
            ),
        )
        for row in list_rows(found.estimates)
    ]
    columns = (Column("estimate"), Column("90 % interval"), Column("rests on"))
    return Table(columns, tuple(rows), note="")


def advise_next(file: str) -> str:
    """Say what to do next."""
    return (
        f"What would help this line, and what it does to people on it: headend recommend {file};"
        f" headend run {file}"
    )
