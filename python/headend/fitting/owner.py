"""The answer of a fitted line in the language of who owns it."""

from __future__ import annotations

from headend.fitting.estimates import QueueGuess, QueueKind
from headend.fitting.finding import Found
from headend.fitting.fitted_line import Medium
from headend.fitting.sentences import (
    QUEUES,
    WORDS,
    EstimateRow,
    describe_bound,
    describe_interval,
    describe_line,
    list_rows,
)
from headend.measurement.record import Direction
from headend.text.quantity import format_quantity
from headend.wording.answer import Answer
from headend.wording.table import Cell, Column, Row, Table, make_matrix

#: What the page asks.
QUESTION = "What is my line like?"


def answer_fit(found: Found) -> Answer:
    """Give the answer with which its page begins: the line, its queues, and the estimates."""
    return Answer(
        QUESTION,
        (describe_line(found.estimates), _describe_queues(found)),
        tabulate_line(found),
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


def tabulate_line(found: Found) -> Table:
    """Make the table of what a person asks first: the two directions beside each other."""
    own = found.estimates
    both = [way for way in (Direction.DOWN, Direction.UP) if way in own.directions]
    # A direction that nothing filled has no column.
    ways = [way for way in both if own.directions[way].rate is not None] or both
    by_name = {(row.way, row.field): row for row in list_rows(own)}
    rows = []
    if base := by_name.get((None, "base_delay")):
        rows.append(Row("delay without load", tuple(_write(base) for _ in ways)))
    for field, name in _FIRST.items():
        cells = tuple(_write(by_name.get((way, field))) for way in ways)
        if any(cell.text != _NOTHING for cell in cells):
            rows.append(Row(name, cells))
    queues = tuple(_write_queue(found.guesses.get(way)) for way in ways)
    if any(cell.text != _NOTHING for cell in queues):
        rows.append(Row("queue", queues))
    return make_matrix([WORDS[way] for way in ways], rows, note="With 90 % intervals.")


#: What a person asks first, by the name of the estimate.
_FIRST = {
    "rate": "rate",
    "loaded_delay": "delay that it adds",
    "buffer": "buffer",
    "loss": "lost under load",
}

_NOTHING = "–"


def _write(row: EstimateRow | None) -> Cell:
    if row is None:
        return Cell(_NOTHING)
    note = describe_interval(row) if row.estimate.bound is None else ""
    return Cell(f"{describe_bound(row.estimate)}{row.value}", note=note)


def _write_queue(guess: QueueGuess | None) -> Cell:
    if guess is None:
        return Cell(_NOTHING)
    share = format_quantity(guess.likelihoods[guess.kind], "ratio")
    return Cell(str(guess.kind), note="" if guess.kind is QueueKind.UNKNOWN else share)


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


def list_next(file: str, medium: str = Medium.PLAIN) -> list[str]:
    """Say what to do next with the scenario of the line.

    Parameters
    ----------
    file
        Of the scenario.
    medium
        What the line is written as: with a cell before it, it is not one line any more.
    """
    run = (
        f"What it does to people now: `headend run {file}` lets one call, play and read pages on it"
        " beside an upload."
    )
    if medium == Medium.WIFI:
        advice = (
            "What would help the line behind the Wi-Fi is known when it is measured over Ethernet;"
            " `headend recommend` takes a line without a cell, as `--line plain` writes it."
        )
        return [run, advice]
    return [
        f"What would help: `headend recommend {file}` says what you can do yourself, and what to"
        " ask your provider for.",
        run,
    ]


def describe_grade(found: Found) -> str:
    """Say how well the simulated line agrees with the measurement."""
    if not found.grade:
        return "Nothing that was measured can be laid beside a simulation, so the fit has no grade."
    return f"Simulated, the line agrees with the measurement by grade {found.grade} (A to D)."
