"""The terminal's tables: people on the line, queues, expectations, runs side by side."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from headend.analysis import real_flows
from headend.analysis.bottleneck import gather_queues
from headend.analysis.channels import gather_channels
from headend.analysis.emulation import is_open_loop
from headend.analysis.lateness import NOT_TRUSTWORTHY, is_trustworthy
from headend.analysis.limits import LIMITS_COLUMN, LIMITS_NOTE
from headend.analysis.low_latency import (
    COLUMNS,
    MOST_AGGREGATES,
    choose_aggregates,
    explain_columns,
    write_flow,
)
from headend.analysis.run_answer import WAYS, WAYS_NOTE
from headend.analysis.units import choose_member_units, choose_people_units, choose_queue_units
from headend.analysis.verdict import describe_shared_queue, pair_parties
from headend.cli.terminal import write_line
from headend.scenario.groups import MOST_LISTED
from headend.text.quantity import choose_unit, format_number, format_quantity, name_column
from headend.text.reveal import reveal

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.measure import Measurement
    from rich.table import Column

    from headend.analysis.answer import Cell as AnswerCell
    from headend.analysis.answer import Matrix
    from headend.analysis.channels import ChannelState
    from headend.analysis.emulation import Line
    from headend.analysis.grading import Finding
    from headend.analysis.units import TableUnits
    from headend.analysis.verdict import Party, Verdict
    from headend.comparison.comparison import Cell, Row, Variant
    from headend.engine.vocabulary import Choice
    from headend.recommendation.deciding import Decision
    from headend.results.record import Record
    from headend.study import Judgement, Standing
    from headend.sweeps import Sweep
    from headend.sweeps.outcome import Row as SweepRow
    from headend.text.quantity import Unit

#: Terminals of fewer columns cut tables, or make towers of their cells.
NARROW = 100

#: Stands before a goodput that is the sum of both directions.
BOTH_WAYS = "↕"

_STYLES = {
    "good": "green",
    "fair": "yellow",
    "poor": "dark_orange",
    "bad": "bold red",
    "none": "dim",
}
#: Columns whose cells stay on one line.
_UNBROKEN = ("flow", "grade", "discipline", "claim", "verdict", "name", "parameter")

_SIGNS = {"good": "✓ good", "fair": "~ fair", "poor": "! poor", "bad": "✗ bad", "none": ""}


def draw_matrix(matrix: Matrix, *, stacked: bool = False) -> Table:
    """Draw people by choices: a sign, a word and a number to a cell; stacked, the number below."""
    table = _new_table(matrix.corner, *matrix.choices)
    if stacked:
        for column in table.columns[1:]:
            column.no_wrap = True
        table.pad_edge, table.padding = False, (0, 1, 0, 0)
        table.columns[0].overflow = "fold"
    for row in matrix.rows:
        table.add_row(
            f"{'  ' if row.inner else ''}{row.label}",
            *(_draw_answer(cell, stacked=stacked) for cell in row.cells),
        )
    return table


def _draw_answer(cell: AnswerCell | None, *, stacked: bool) -> Text:
    if cell is None:
        return Text("–")
    sign = _SIGNS[cell.grade].partition(" ")[0]
    word = " ".join(filter(None, [sign, cell.word]))
    between = "\n" if stacked else " "
    style = f"bold {_STYLES[cell.grade]}" if cell.is_chosen else _STYLES[cell.grade]
    text = Text(between.join(filter(None, [word, cell.number])), style=style)
    return text.append(f"\n{cell.note}", style="dim") if cell.note else text


def draw_people(verdict: Verdict) -> Table:
    """Draw a row for each flow, the worst off first; of a group, the middle and worst member."""
    columns = _choose_columns(verdict.findings, choose_people_units(verdict.parties))
    limits = any(finding.limit for finding in verdict.findings)
    table = _new_people(columns, limits=limits)
    for party in verdict.parties:
        if party.is_group:
            middle = party.middle
            experience = f"in the middle: {middle.experience}"
            figures = _write_figures(middle, columns)
            figures += _write_limit(middle, limits=limits)
            table.add_row(party.label, _draw_grades(party), experience, *figures)
        before = "  worst: " if party.is_group else ""
        _add_finding(table, party.worst, columns, before, limits=limits)
    return table


def explain_people(findings: Sequence[Finding]) -> str:
    """Explain the marks in that table; empty where it has none."""
    notes = []
    if any(finding.limit for finding in findings):
        notes.append(LIMITS_NOTE)
    if any(finding.is_both_ways for finding in findings):
        notes.append(f"{BOTH_WAYS} up and down together.")
    if any(finding.path_loss_ratio for finding in findings):
        notes.append("Lost on path: the part of lost that was beyond all links (path.loss).")
    if any(finding.delay_way for finding in findings):
        notes.append(WAYS_NOTE)
    return " ".join(notes)


def _choose_columns(findings: Sequence[Finding], units: TableUnits) -> list[tuple[str, str, Unit]]:
    """Give the columns of numbers of flows: name, attribute and unit.

    What the path lost has a column only where it lost something.
    """
    path = any(finding.path_loss_ratio for finding in findings)
    return [
        ("delay p95", "delay_p95_ns", units.delay),
        ("lost", "loss_ratio", units.share),
        *([("lost on path", "path_loss_ratio", units.share)] if path else []),
        ("goodput", "goodput_bps", units.rate),
    ]


def _new_people(columns: Sequence[tuple[str, str, Unit]], *, limits: bool) -> Table:
    """Begin a table of flows, with a column of what held TCP senders back if known of one."""
    table = _new_table("flow", "grade", "experience")
    for name, _, unit in columns:
        table.add_column(name_column(name, unit), justify="right", no_wrap=True)
    if limits:
        table.add_column(LIMITS_COLUMN)
    return table


def draw_members(party: Party) -> Table:
    """Draw a row for each of the members of a group that suffer most."""
    shown = party.findings[:MOST_LISTED]
    columns = _choose_columns(party.findings, choose_member_units(shown))
    limits = any(finding.limit for finding in shown)
    table = _new_people(columns, limits=limits)
    for finding in shown:
        _add_finding(table, finding, columns, limits=limits)
    return table


def _add_finding(
    table: Table,
    finding: Finding,
    columns: Sequence[tuple[str, str, Unit]],
    before: str = "",
    *,
    limits: bool,
) -> None:
    table.add_row(
        before + finding.flow,
        draw_grade(finding.grade),
        finding.experience,
        *_write_figures(finding, columns),
        *_write_limit(finding, limits=limits),
    )


def _write_limit(finding: Finding, *, limits: bool) -> list[str]:
    return [finding.limit or "–"] if limits else []


def _write_experience(party: Party) -> str:
    if not party.is_group:
        return party.worst.experience
    middle, worst = party.middle, party.worst
    return f"in the middle: {middle.experience}\nworst, {worst.flow}: {worst.experience}"


def _write_figures(finding: Finding, columns: Sequence[tuple[str, str, Unit]]) -> list[str]:
    delay, *figures, rate = (
        format_number(getattr(finding, attribute), unit) for _, attribute, unit in columns
    )
    way = WAYS.get(finding.delay_way, "")
    return [f"{way}{delay}", *figures, f"{BOTH_WAYS} {rate}" if finding.is_both_ways else rate]


def _draw_grades(party: Party) -> Text:
    """Draw how many members have each grade."""
    lines = []
    for grade, count in party.grades.items():
        sign, word = _SIGNS[grade].split()
        lines.append(Text(f"{sign} {count} {word}", style=_STYLES[grade]))
    return Text("\n").join(lines)


def draw_queues(result: Record, bottleneck: str | None, *, detail: bool = False) -> Table:
    """Draw a row for each shared channel and each queue that had packets; of a group, two of them.

    Parameters
    ----------
    bottleneck
        The queue to stand out.
    detail
        Whether the worst of a group get rows of their own too.
    """
    table = _new_table("queue", "discipline")
    marks = bool(result.queues["marked"].sum())
    channels, parties = gather_channels(result), gather_queues(result)
    units = choose_queue_units(parties, channels)
    names = [
        name_column("rate", units.rate),
        *(name_column(name, units.delay) for name in ("delay p50", "delay p99")),
        *(name_column("used", units.share), "dropped", *(["marked"] if marks else [])),
    ]
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    for state in channels:
        label = write_line((f"{state.channel}, the channel", "bold" if state.is_full else ""))
        table.add_row(label, state.sharing, *_write_channel(state, units, marks))
    for party in parties:
        style = "bold" if any(row["queue"] == bottleneck for row in party.rows) else ""
        if party.is_group:
            label = write_line((f"{party.label}, in the middle", style))
            table.add_row(label, party.discipline, *_write_queue(party.middle, units, marks))
        for number, row in enumerate(party.rows[: MOST_LISTED if detail else 1]):
            before = f"  {'' if number else 'worst: '}" if party.is_group else ""
            label = write_line((before + row["queue"], style))
            table.add_row(label, row["discipline"], *_write_queue(row, units, marks))
    return table


def draw_aggregates(result: Record, queue: str | None) -> list[tuple[Table, str]]:
    """Draw the flows of each low-latency aggregate, a row for each; each table with an explanation.

    Parameters
    ----------
    queue
        The queue that the run is judged by.
    """
    tables = []
    chosen = choose_aggregates(result, queue)[:MOST_AGGREGATES]
    for one in (one for one in chosen if one.flows):
        table = _new_table(COLUMNS[0])
        for name in COLUMNS[1:]:
            table.add_column(name, justify="right", no_wrap=True)
        for flow in one.flows:
            table.add_row(*write_flow(flow, is_protected=one.is_protected))
        tables.append((table, explain_columns(one)))
    return tables


def draw_real_flows(result: Record, most: int = real_flows.MOST_LISTED) -> tuple[Table, str] | None:
    """Draw a row for each of the largest flows of real programs, one for the rest; or None."""
    listing = real_flows.list_real_flows(result, most, is_narrow=True)
    if listing is None:
        return None
    table = _new_table(*listing.texts)
    for name in listing.numbers:
        # Names are longer than what stands below them.
        head = name.replace("RTT ", "RTT\n").replace("IP ", "IP\n")
        table.add_column(head, justify="right", no_wrap=True)
    for row in listing.rows:
        table.add_row(*map(write_line, row))
    return table, listing.note


def draw_lines(lines: Sequence[Line]) -> Table:
    """Draw a row for each value of an emulated run."""
    table = _new_table("", "")
    table.show_header = False
    for line in lines:
        table.add_row(line.name, Text(line.value, style="bold red" if line.is_bad else ""))
    return table


def _write_channel(state: ChannelState, units: TableUnits, marks: bool) -> list[str]:
    capacity = format_number(state.capacity_bps, units.rate)
    used = format_number(state.utilisation, units.share)
    return [capacity, "–", "–", used, "–", *(["–"] if marks else [])]


def _write_queue(row: Mapping[str, Any], units: TableUnits, marks: bool) -> list[str]:
    return [
        format_number(row["rate_bps"], units.rate),
        format_number(row["delay_p50_ns"], units.delay),
        format_number(row["delay_p99_ns"], units.delay),
        format_number(row["utilisation"], units.share),
        f"{row['lost']:,}",
        *([f"{row['marked']:,}"] if marks else []),
    ]


def draw_expectations(result: Record) -> Table:
    """Draw the scenario's expectations with their measured values."""
    table = _new_table("", "expected", "measured")
    for outcome in result.expectations:
        sign = Text("✓ met", style="green") if outcome.met else Text("✗ missed", style="bold red")
        table.add_row(sign, write_line(outcome.expected), write_line(outcome.measured_text))
    return table


def draw_comparison(results: Sequence[Record], verdicts: Sequence[Verdict]) -> Table:
    """Draw a row for each flow and a column for each run, then the bottleneck's queue."""
    table = _new_table("")
    for result in results:
        states = ["partial"] if result.is_partial else []
        states += ["open loop"] if is_open_loop(result) else []
        states += [] if is_trustworthy(result) else [NOT_TRUSTWORTHY]
        name = f"{result.label} ({', '.join(states)})" if states else result.label
        table.add_column(write_line(name))
    for name, parties in pair_parties(verdicts):
        table.add_row(write_line((name, "bold")), *map(_draw_fate, parties))
    queues = describe_shared_queue(results)
    if any(queues):
        table.add_section()
        name = next(queue.queue for queue in queues if queue)
        table.add_row(
            write_line((name, "bold")),
            *(
                f"{format_quantity(queue.delay_p50_ns, 'time')}, p99"
                f" {format_quantity(queue.delay_p99_ns, 'time')}\n"
                f"{format_quantity(queue.utilisation, 'ratio')} used"
                if queue
                else "–"
                for queue in queues
            ),
        )
    return table


def draw_sweep(sweep: Sweep, columns: Sequence[str], rows: Sequence[SweepRow]) -> Table:
    """Draw a row for each setting: its place, and each figure with its difference below."""
    table = _new_table()
    for axis in sweep.design.factors:
        table.add_column(write_line(axis.name))
    for name in columns:
        table.add_column(write_line(name), justify="right")
    for row in rows:
        cells = [f"{value}\nΔ {change}" if change else value for value, change in row.cells]
        table.add_row(*(write_line(str(value)) for value in row.place), *cells)
    return table


_STANDINGS = {
    "holds": ("✓ ", "green"),
    "undecided": ("~ ", "yellow"),
    "fails": ("✗ ", "red"),
    "missing": ("– ", "dim"),
}

#: What the signs before settings that were tried say.
STANDINGS_NOTE = "✓ every condition holds, ~ only in the mean, ✗ one fails, – no result."

#: The columns of a quantity's name above its values.
_NAME_COLUMNS = 10


def draw_candidates(decision: Decision, *, narrow: bool = False) -> Table:
    """Draw a row for each setting that was tried in a tier, with a sign of whether it holds.

    Each quantity that was asked for, or that the people's own demands are about, has a column, with
    the interval of its mean; in a narrow table, the name has several lines, and the interval is
    below the mean.
    """
    from headend.comparison.estimate import format_cell

    terms = [decision.conclusion.terms[name] for name in decision.shown]
    units = [
        choose_unit((own.mean for own in term.estimates.values()), term.about.kind)
        for term in terms
    ]
    table = _new_table("setting")
    if narrow:
        table.padding = (0, 1, 0, 0)
    for term, unit in zip(terms, units, strict=True):
        name = name_column(term.about.measure, unit)
        if narrow:
            name = _break_name(name)
        table.add_column(name, justify="right", no_wrap=True)
    for number, candidate in enumerate(decision.candidates, start=1):
        is_chosen = number == decision.recommended
        label = f"{candidate.label}, recommended" if is_chosen else candidate.label
        style = "bold" if is_chosen else ""
        cells = [
            format_cell(term.estimates[number], term.about.kind, unit)
            if number in term.estimates
            else "–"
            for term, unit in zip(terms, units, strict=True)
        ]
        if narrow:
            cells = [cell.replace(" ", "\n", 1) for cell in cells]
        sign = _STANDINGS[decision.conclusion.standings[number]]
        table.add_row(write_line(sign, (label, style)), *cells)
    return table


def _break_name(name: str) -> str:
    """Break the name of a quantity into lines, after points, underscores and spaces.

    Examples
    --------
    >>> _break_name("page.page_load_time.p50 (s)").splitlines()
    ['page.page_', 'load_time.', 'p50 (s)']
    """
    lines = [""]
    for piece in re.findall(r"[^._ ]+[._ ]?", name):
        if lines[-1] and len(lines[-1] + piece.rstrip()) > _NAME_COLUMNS:
            lines.append("")
        lines[-1] += piece
    return "\n".join(line.rstrip() for line in lines)


def draw_board(variants: Sequence[Variant], rows: Sequence[Row]) -> Table:
    """Draw a row for each figure, a column for each variant: value, best, worst, difference."""
    table = _new_table("figure")
    for variant in variants:
        table.add_column(write_line(variant.label), justify="right")
    subject = None
    for row in rows:
        if row.figure.subject != subject:
            subject = row.figure.subject
            table.add_row(write_line((subject, "bold")))
        cells = (_draw_cell(row, cell) for cell in row.cells)
        table.add_row(write_line(f"  {row.heading}"), *cells)
    return table


_MARKS = {"best": ("✓ ", "green"), "worst": ("✗ ", "red"), "": ("", "")}


def _draw_cell(row: Row, cell: Cell | None) -> Text:
    if cell is None:
        return Text("–")
    sign, style = _MARKS[cell.mark]
    text = Text(sign + row.write(cell), style=style)
    if cell.difference:
        star = "*" if cell.difference.is_clear else ""
        text.append(f"\nΔ {row.write_difference(cell)}{star}", style="dim")
    return text


def _draw_fate(party: Party | None) -> Text:
    if party is None:
        return Text("–")
    experience = Text(reveal(_write_experience(party)))
    if not party.grades:
        return experience
    grade = _draw_grades(party) if party.is_group else draw_grade(party.worst.grade)
    return Text.assemble(grade, "\n", experience)


def draw_claims(judgements: Sequence[Judgement]) -> Table:
    """Draw a row for each claim: what was expected, what was measured, the verdict."""
    table = _new_table("claim", "kind", "expected", "measured", "verdict")
    styles = {"reproduced": "green", "differs": "bold red"}
    for judgement in judgements:
        claim, finding = judgement.claim, judgement.finding
        standing = judgement.standing
        verdict = Text(standing, style=styles.get(standing, "yellow"))
        if decision := judgement.tell_decision():
            verdict.append(f"\n{reveal(decision)}", style="dim")
        measured = finding.measured + judgement.tell_interval()
        table.add_row(write_line(claim.id), claim.kind, claim.expected, measured, verdict)
    return table


def draw_totals(of: str, counts: Mapping[str, Mapping[Standing, int]]) -> Table:
    """Draw how many claims have each verdict: a row for each document or kind, and one for all."""
    from headend.study.claims import COUNTED

    table = _new_table(of)
    for standing in COUNTED:
        table.add_column(standing.value, justify="right")
    for name, own in counts.items():
        table.add_row(write_line(name), *(str(own.get(standing, 0)) for standing in COUNTED))
    sums = [sum(own.get(standing, 0) for own in counts.values()) for standing in COUNTED]
    table.add_section()
    table.add_row("all", *map(str, sums))
    return table


def draw_choices(choices: Sequence[Choice]) -> Table:
    """Draw a row for each name that can be chosen: what it is, when to use it, and its source."""
    table = _new_table("name", "about")
    for choice in choices:
        about = Text(choice.description)
        if choice.use:
            about.append(f"\n{choice.use} ")
        if choice.source:
            about.append(f"Source: {choice.source}", style="dim")
        table.add_row(Text(choice.name, style="bold"), about)
    return table


def draw_parameters(choice: Choice) -> Table:
    """Draw a row for each parameter of a choice."""
    table = _new_table("parameter", "value", "default", "meaning")
    for parameter in choice.parameters:
        texts = (parameter.form, parameter.default, parameter.description)
        table.add_row(Text(parameter.name, style="cyan"), *map(Text, texts))
    return table


def draw_grade(grade: str) -> Text:
    """Draw a grade as a sign, a word and a colour, so that none of them is needed alone."""
    return Text(_SIGNS[grade], style=_STYLES[grade])


def fit(console: Console, table: Table) -> RenderableType:
    """Give a table that fits the terminal: on a narrow one, rows are stacked and no text is cut."""
    narrow = console.width < NARROW and _measure(console, table).maximum > console.width
    return _stack(table) if narrow or not fits(console, table) else table


def fits(console: Console, table: Table) -> bool:
    """Say whether a table fits into a terminal with no word of it cut."""
    # Rich reckons with every word on a line of its own, also where a column has to stay on one.
    unbroken = (column for column in table.columns if column.no_wrap)
    options = _free(console)
    widened = sum(_measure_words(console, options, column) for column in unbroken)
    return _measure(console, table).minimum + widened <= console.width


def _measure(console: Console, table: Table) -> Measurement:
    """Measure a table on its own: on a console with an edge it never needs more than there is."""
    return console.measure(table, options=_free(console))


def _free(console: Console) -> ConsoleOptions:
    return console.options.update(max_width=10_000)


def _measure_words(console: Console, options: ConsoleOptions, column: Column) -> int:
    """Give by how much a column is wider on one line than with each word on its own."""
    cells = [console.measure(cell, options=options) for cell in (column.header, *column.cells)]
    return max(cell.maximum for cell in cells) - max(cell.minimum for cell in cells)


def _stack(table: Table) -> RenderableType:
    from rich.console import Group
    from rich.padding import Padding

    columns = [(column.header, list(column.cells)) for column in table.columns]
    parts: list[RenderableType] = []
    for row in range(table.row_count):
        name, *values = ((header, _flatten(cells[row])) for header, cells in columns)
        parts.append(Text.assemble(name[1], style="bold"))
        for header, value in values:
            if value.plain:
                line = Text.assemble((f"{header}: ", "dim"), value)
                parts.append(Padding(line, (0, 0, 0, 2)))
    return Group(*parts, "")


def _flatten(cell: RenderableType) -> Text:
    """Put the lines of a cell behind each other, with commas between those not sentences."""
    text = cell if isinstance(cell, Text) else Text(reveal(str(cell)))
    first, *rest = text.split("\n")
    for line in rest:
        first.rstrip()
        first.append(" " if first.plain.endswith(".") else ", ").append_text(line)
    first.rstrip()
    return first


def _new_table(*columns: str) -> Table:
    from rich import box

    table = Table(box=box.SIMPLE, show_edge=False, pad_edge=False)
    for column in columns:
        table.add_column(column, no_wrap=column in _UNBROKEN)
    return table
