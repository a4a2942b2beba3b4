"""The answer of a fitted line in the language of who owns it."""

from __future__ import annotations

from headend.fitting.estimates import Bound, QueueGuess, QueueKind
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
from headend.measurement.by_hand import TOOL
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
    kinds = {guess.kind for guess in found.guesses.values()}
    if len(found.guesses) > 1 and kinds == {QueueKind.UNKNOWN}:
        return "Which queue each direction has cannot be told."
    alike = _list_alike(found)
    if len(alike) > 1 and len(set(alike)) == 1:
        return f"Both directions {alike[0]}."
    text = " and ".join(parts) or "nothing tells which queues it has"
    return f"{text[0].upper()}{text[1:]}."


def _list_alike(found: Found) -> list[str]:
    """List what each direction has, without its name."""
    return [
        f"{'have' if guess.is_sure else 'probably have'} {QUEUES[guess.kind]}"
        for guess in found.guesses.values()
    ]


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
    return make_matrix([WORDS[way] for way in ways], rows, note=_NOTE)


#: Below the table.
_NOTE = (
    "With 90 % intervals. Rates are those of the line: they count the headers of packets, which"
    " tests leave out."
)

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
    estimate = row.estimate
    note = describe_interval(row) if estimate.bound is None else ""
    if estimate.bound is Bound.AT_MOST and estimate.value == 0:
        # At most nothing would say too much, as the interval is wider.
        more = f" (up to {row.write(estimate.high)})" if estimate.high > 0 else ""
        return Cell(f"{row.value}{more}")
    return Cell(f"{describe_bound(estimate)}{row.value}", note=note)


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
                Cell(_write(row).text),
                Cell(describe_interval(row)),
                Cell(f"{row.estimate.basis}"),
            ),
        )
        for row in list_rows(found.estimates)
    ]
    columns = (Column("estimate"), Column("90 % interval"), Column("rests on"))
    return Table(columns, tuple(rows), note="")


def list_next(file: str, medium: str = Medium.PLAIN) -> list[tuple[str, str]]:
    """Say what to do next with the scenario of the line: what for, and the command.

    Parameters
    ----------
    file
        Of the scenario.
    medium
        What the line is written as: with a cell before it, it is not one line any more.
    """
    run = (
        "What it does to people now: a call, a game and pages beside an upload.",
        f"headend run {file}",
    )
    if medium == Medium.WIFI:
        advice = (
            "What would help the line behind the Wi-Fi is known when it is measured over Ethernet;"
            " headend recommend takes such a line without a cell, as --line plain writes it."
        )
        return [run, (advice, "")]
    return [
        (
            "What would help: what you can do yourself, and what to ask your provider for.",
            f"headend recommend {file}",
        ),
        run,
    ]


def describe_source(found: Found) -> str:
    """Say what the line was measured with."""
    if found.tools == (TOOL,):
        return "The numbers were typed by hand."
    return f"Measured with {found.source}."


def describe_grade(found: Found) -> str:
    """Say how well the simulated line agrees with the measurement."""
    if not found.grade:
        return "The fit has no grade: nothing that was measured can be laid beside a simulation."
    return f"Simulated, the line agrees with the measurement by grade {found.grade} (A to D)."
