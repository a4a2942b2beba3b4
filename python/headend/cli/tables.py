"""The terminal's tables: people on the line, queues, expectations, runs side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from headend.quantity import format_quantity
from headend.verdict import describe_shared_queue

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from headend.result import Result
    from headend.study import Judgement
    from headend.verdict import Verdict
    from headend.vocabulary import Choice

#: Terminals of fewer columns cut tables, or make towers of their cells.
NARROW = 100

_STYLES = {
    "good": "green",
    "fair": "yellow",
    "poor": "dark_orange",
    "bad": "bold red",
    "none": "dim",
}
#: Columns whose cells stay on one line.
_UNBROKEN = ("flow", "grade", "queue", "discipline", "claim", "verdict", "name", "parameter")

_SIGNS = {"good": "✓ good", "fair": "~ fair", "poor": "! poor", "bad": "✗ bad", "none": ""}


def draw_people(verdict: Verdict) -> Table:
    """Draw a row for each flow, those who suffer most first."""
    table = _new_table("flow", "grade", "experience")
    for name in ("delay p95", "lost", "goodput"):
        table.add_column(name, justify="right", no_wrap=True)
    for finding in verdict.findings:
        table.add_row(
            finding.flow,
            draw_grade(finding.grade),
            finding.experience,
            format_quantity(finding.delay_p95_ns, "time"),
            format_quantity(finding.loss_ratio, "ratio"),
            format_quantity(finding.goodput_bps, "rate"),
        )
    return table


def draw_queues(result: Result, bottleneck: str | None) -> Table:
    """Draw a row for each queue that carried packets."""
    import polars as pl

    table = _new_table("queue", "discipline")
    rows = result.queues.filter(
        (pl.col("packets_enqueued") > 0) | (pl.col("discarded_overlimit") > 0)
    )
    marks = bool(rows["marked"].sum())
    for name in (
        "rate",
        "delay p50",
        "delay p99",
        "used",
        "dropped",
        *(["marked"] if marks else []),
    ):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows.iter_rows(named=True):
        dropped = sum(value for name, value in row.items() if name.startswith("discarded_"))
        label = Text(row["queue"], style="bold" if row["queue"] == bottleneck else "")
        table.add_row(
            label,
            row["discipline"],
            format_quantity(row["rate_bps"], "rate"),
            format_quantity(row["delay_p50_ns"], "time"),
            format_quantity(row["delay_p99_ns"], "time"),
            format_quantity(row["utilisation"], "ratio"),
            f"{dropped:,}",
            *([f"{row['marked']:,}"] if marks else []),
        )
    return table


def draw_expectations(result: Result) -> Table:
    """Draw what the scenario asked of itself and what was found."""
    table = _new_table("", "expected", "measured")
    for outcome in result.expectations:
        sign = Text("✓ met", style="green") if outcome.met else Text("✗ missed", style="bold red")
        table.add_row(sign, outcome.expected, outcome.measured_text)
    return table


def draw_comparison(results: Sequence[Result], verdicts: Sequence[Verdict]) -> Table:
    """Draw a row for each flow and a column for each run, then the bottleneck's queue."""
    table = _new_table("")
    for result in results:
        table.add_column(Text(f"{result.label} (partial)" if result.is_partial else result.label))
    flows = list(dict.fromkeys(f.flow for verdict in verdicts for f in verdict.findings))
    for flow in flows:
        cells = []
        for verdict in verdicts:
            finding = next((f for f in verdict.findings if f.flow == flow), None)
            text = Text(finding.experience if finding else "–")
            if finding and finding.grade != "none":
                text = Text.assemble(draw_grade(finding.grade), "\n", text)
            cells.append(text)
        table.add_row(Text(flow, style="bold"), *cells)
    queues = describe_shared_queue(results)
    if any(queues):
        table.add_section()
        name = next(queue.queue for queue in queues if queue)
        table.add_row(
            Text(name, style="bold"),
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


def draw_claims(judgements: Sequence[Judgement]) -> Table:
    """Draw a row for each claim: what was expected, what was measured, the verdict."""
    table = _new_table("claim", "expected", "measured", "verdict")
    styles = {"reproduced": "green", "differs": "bold red", "cannot be tested": "yellow"}
    for judgement in judgements:
        claim, finding = judgement.claim, judgement.finding
        measured = finding.measured
        if finding.interval:
            measured += f" ({finding.interval[0]:.3g} to {finding.interval[1]:.3g})"
        verdict = Text(finding.verdict, style=styles[finding.verdict])
        table.add_row(claim.id, claim.expected, measured, verdict)
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
    """Give a table as it is where it fits, and on a narrow terminal its rows one below the other, so that nothing is cut."""
    # On a console without an edge: measured on its own, a table never needs more than there is.
    needed = console.measure(table, options=console.options.update(max_width=10_000))
    narrow = console.width < NARROW and needed.maximum > console.width
    return _stack(table) if narrow or needed.minimum > console.width else table


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
    text = cell if isinstance(cell, Text) else Text(str(cell))
    return Text(", ").join(text.split("\n"))


def _new_table(*columns: str) -> Table:
    from rich import box

    table = Table(box=box.SIMPLE, show_edge=False, pad_edge=False)
    for column in columns:
        table.add_column(column, no_wrap=column in _UNBROKEN)
    return table
