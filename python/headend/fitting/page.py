"""The page of a fitted line: the line, its estimates, its queues, measured beside simulated."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from headend.fitting.fitted_line import Medium
from headend.fitting.line_scenario import FILE, NAMES
from headend.fitting.owner import describe_grade, describe_source, list_next, tabulate_estimates
from headend.fitting.sentences import (
    LOADS,
    advise_flag,
    describe_agreement,
    describe_flag,
    list_guesses,
)
from headend.measurement.record import Load, Trip
from headend.pages.experiment import write_experiment_page
from headend.pages.section import Page, Section, fold, text
from headend.sweeps.page import list_failures
from headend.text.quantity import MINUS, format_quantity
from headend.wording.table import Cell, Column, Row, Table

if TYPE_CHECKING:
    from headend.fitting.agreement import Agreement, Side
    from headend.fitting.finding import Found
    from headend.fitting.result import LineFit

#: The heading above flags.
UNTOLD = "What this measurement cannot tell"


def render_fit(result: LineFit) -> str:
    """Write the page as HTML."""
    from headend.pages.page import render_page

    answer, figures = result.present()
    found = result.found
    sections = list(_list_sections(found))
    closing = [fold("The scenario of the line", Section("pre", found.scenario))]
    return render_page(
        Page(
            result.name,
            answer,
            figures,
            sections,
            closing,
            remarks=[f"{describe_source(found)} {describe_grade(found)}"],
            warnings=result.notes,
            failures=[told for _, told in list_failures(result.failures)],
            is_titled=True,
        )
    )


def _list_sections(found: Found) -> Iterator[Section]:
    steps = [
        own
        for what, command in list_next(FILE, found.medium)
        for own in (text(what), *([Section("pre", command)] if command else []))
    ]
    yield Section("sections", [text("In the folder of this page:"), *steps], "What next")
    for title, reasons in list_guesses(found.guesses):
        yield text(*reasons, title=title)
    yield fold("What was estimated", tabulate_estimates(found))
    if flags := list_flags(found):
        yield Section("list", flags, UNTOLD)
    if found.agreements:
        table = tabulate_agreement(found)
        told = text(*filter(None, map(describe_agreement, found.agreements)))
        yield Section("sections", [told, Section("table", table)], table.title)
    soft = [f"The line is written as {NAMES[Medium(found.medium)]}: {found.why}.", *found.notes]
    yield text(*soft, style="soft")
    if found.dropped:
        dropped = ", ".join(found.dropped)
        yield text(f"Private fields that were left out on reading: {dropped}.", style="soft")


def list_flags(found: Found) -> list[str]:
    """Say what cannot be told, why, and how to measure it."""
    return [
        f"{describe_flag(flag)}. {reason.rstrip('.')}. To know more, {advise_flag(flag)}."
        for flag, reason in found.estimates.flags.items()
    ]


def tabulate_agreement(found: Found) -> Table:
    """Make the table of the simulated line beside the measurement."""
    rows = [row for own in found.agreements for row in _list_rows(own)]
    grade = f"Fit: {found.grade}. " if found.grade else "No grade: nothing can be compared. "
    note = (
        f"{grade}The distance of delays is that of their distributions (1-Wasserstein), the"
        " difference of shares the largest between them (Kolmogorov-Smirnov). A is as near as the"
        " line is estimated (5 % of the rate, 15 % of the delays), B twice and C four times as far,"
        " D farther; the worst of all is the grade."
    )
    return Table(
        (Column("measured"), Column("simulated")),
        tuple(rows),
        title="Measured and simulated",
        note=note,
    )


def _list_rows(own: Agreement) -> Iterator[Row]:
    trip = "" if own.trip is Trip.ROUND else f" (packets {own.trip.value})"
    if own.measured.p50 is not None or own.load is not Load.BOTH:
        yield Row(f"{LOADS[own.load].capitalize()}{trip}", place="heading")
    rate = f"rate of the data {own.direction}" if own.load is Load.BOTH else "rate of the data"
    names = {
        "rate": (rate, "rate", 1.0),
        "p50": ("added delay, median", "time", 1e6),
        "p90": ("90th percentile", "time", 1e6),
        "p99": ("99th percentile", "time", 1e6),
        "loss": ("lost probes", "ratio", 1.0),
        "echo": ("correlation over 1 s", "number", 1.0),
    }
    for name, (words, kind, factor) in names.items():
        sides = [_write(side, name, kind, factor) for side in (own.measured, own.simulated)]
        if any(sides):
            yield Row(words, tuple(Cell(side or "–") for side in sides))
    if own.wasserstein is not None and own.kolmogorov is not None:
        apart = format_quantity(round(own.wasserstein, 2) * 1e6, "time")
        yield Row("distance of delays", (Cell(""), Cell(apart)))
        yield Row("difference of shares", (Cell(""), Cell(f"{own.kolmogorov:.2f}")))
    if own.grade:
        name = "grade" if own.measured.p50 is not None else "grade of the rate"
        yield Row(name, (Cell(""), Cell(own.grade)))


def _write(side: Side, name: str, kind: str, factor: float) -> str:
    value = getattr(side, name)
    if value is None:
        return ""
    if kind == "number":
        return f"{value:.2f}".replace("-", MINUS)
    return format_quantity(round(value * factor, 6), kind)  # type: ignore[arg-type]


def write_fit_page(result: LineFit, path: Path | None = None) -> Path:
    """Write the page, by default to the folder of the results, unless it is there."""
    return write_experiment_page(result, lambda: render_fit(result), path)
