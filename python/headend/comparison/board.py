"""The tables of a comparison: how flows fared in words, and figures with their differences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from headend.analysis.estimate import Estimate
from headend.analysis.flow_groups import pair_groups
from headend.analysis.grading import Grade
from headend.analysis.lateness import NOT_TRUSTWORTHY, is_open_loop, is_trustworthy
from headend.analysis.queue_state import describe_shared_queue
from headend.comparison.comparison import (
    MetricCell,
    MetricRow,
    Variant,
    compare_figures,
    explain_board,
)
from headend.comparison.grid import Tier, find_grid
from headend.comparison.notes import MissingSeeds, lacks_seeds
from headend.text.quantity import Kind, format_quantity
from headend.wording.flow_tables import write_grade, write_grades
from headend.wording.flows import describe_experience
from headend.wording.table import Cell, Column, Row, Table

if TYPE_CHECKING:
    import polars as pl

    from headend.analysis.flow_groups import FlowGroup
    from headend.analysis.queue_state import QueueState
    from headend.results.record import Record
    from headend.wording.verdict import RunVerdict

#: The name of the table among those of a comparison.
NAME = "figures"

#: The base unit of each kind of quantity, as the table writes it.
UNITS: dict[Kind, str] = {
    "time": "ns",
    "rate": "bit/s",
    "size": "byte",
    "ratio": "1",
    "number": "1",
}


def describe_figures(variants: Sequence[Variant]) -> list[dict[str, Any]]:
    """Give the figures of variants as plain values for JSON, by tier and then by choice."""
    return [
        {
            "tier": tier.label,
            "subject": row.metric.subject,
            "figure": row.metric.name,
            "unit": UNITS[row.metric.kind],
            "more_is_better": row.metric.rising,
            "runs": {
                variant.label: cell and asdict(cell)
                for variant, cell in zip(tier.present, row.cells, strict=True)
            },
        }
        for tier, row in _compare_within_tiers(variants)
    ]


def tabulate_figures(variants: Sequence[Variant]) -> pl.DataFrame:
    """Give the figures of variants as a table, a row for each figure and choice of each tier.

    Parameters
    ----------
    variants
        The settings, each with its runs.

    Returns
    -------
    polars.DataFrame
        ``tier`` (empty where there is only one), ``choice``, ``subject``, ``figure``, ``unit``,
        ``more_is_better``, ``seeds`` (how many), ``mean`` with ``low`` and ``high`` of its 95 %
        interval, ``difference`` to the first choice of the tier with ``difference_low`` and
        ``difference_high``, and ``mark`` (``best``, ``worst`` or null). Numbers are in base units;
        values that need several seeds are null with one seed.
    """
    import polars as pl

    rows = [
        {
            "tier": tier.label,
            "choice": variant.label,
            "subject": row.metric.subject,
            "figure": row.metric.name,
            "unit": UNITS[row.metric.kind],
            "more_is_better": row.metric.rising,
            "seeds": cell.estimate.count,
            **_spread("mean", "", cell.estimate),
            **_spread("difference", "difference_", cell.difference),
            "mark": cell.mark or None,
        }
        for tier, row in _compare_within_tiers(variants)
        for variant, cell in zip(tier.present, row.cells, strict=True)
        if cell
    ]
    text, number = pl.String(), pl.Float64()
    return pl.DataFrame(
        rows,
        schema={
            **dict.fromkeys(("tier", "choice", "subject", "figure", "unit"), text),
            "more_is_better": pl.Boolean(),
            "seeds": pl.UInt64(),
            **dict.fromkeys(("mean", "low", "high"), number),
            **dict.fromkeys(("difference", "difference_low", "difference_high"), number),
            "mark": text,
        },
    )


def _compare_within_tiers(variants: Sequence[Variant]) -> Iterator[tuple[Tier, MetricRow]]:
    for tier in find_grid(variants).tiers:
        for row in compare_figures(tier.present):
            yield tier, row


def _spread(name: str, before: str, estimate: Estimate | None) -> dict[str, float | None]:
    """Give an estimate as cells; unknown values are None."""
    known = (estimate.mean, estimate.low, estimate.high) if estimate else ()
    cells = [None if math.isnan(value) else value for value in known] or [None] * 3
    return dict(zip((name, f"{before}low", f"{before}high"), cells, strict=True))


def tabulate_outcomes(results: Sequence[Record], verdicts: Sequence[RunVerdict]) -> Table:
    """Give a row for each flow and a column for each run, then the bottleneck's queue.

    Parameters
    ----------
    results, verdicts
        The runs, and what was found of each.
    """
    rows = [
        Row(name, tuple(map(_write_outcome, parties)))
        for name, parties in pair_groups([verdict.groups for verdict in verdicts])
    ]
    queues = describe_shared_queue(results)
    if any(queues):
        name = next(queue.queue for queue in queues if queue)
        rows.append(Row(f"queue {name}", tuple(map(_write_queue, queues)), "total"))
    return Table(tuple(map(_name_run, results)), tuple(rows), look="words")


def _name_run(result: Record) -> Column:
    states = ["partial"] if result.is_partial else []
    states += ["open loop"] if is_open_loop(result) else []
    states += [] if is_trustworthy(result) else [NOT_TRUSTWORTHY]
    return Column(f"{result.label} ({', '.join(states)})" if states else result.label)


def _write_outcome(party: FlowGroup | None) -> Cell | None:
    if party is None:
        return None
    if not party.is_group:
        return replace(write_grade(party.worst), text=describe_experience(party.worst))
    middle, worst = party.middle, party.worst
    typical, least = describe_experience(middle), describe_experience(worst)
    text = f"in the middle: {typical}\nworst, {worst.flow}: {least}"
    return replace(write_grades(party), text=text)


def _write_queue(queue: QueueState | None) -> Cell | None:
    if queue is None:
        return None
    p50, p99 = (format_quantity(own, "time") for own in (queue.delay_p50_ns, queue.delay_p99_ns))
    used = format_quantity(queue.utilisation, "ratio")
    return Cell(f"{queue.discipline}\n{p50}, p99 {p99}\n{used} used")


_MARKS = {"best": Grade.GOOD, "worst": Grade.BAD, "": Grade.NONE}


def tabulate_board(
    variants: Sequence[Variant],
    rows: Sequence[MetricRow],
    missing_seeds: MissingSeeds = MappingProxyType({}),
) -> Table:
    """Give a row for each figure, a column for each variant: value, best, worst, difference."""
    told = explain_board(variants, is_stopped=lacks_seeds(variants, missing_seeds))
    columns = tuple(Column(variant.label, is_number=True) for variant in variants)
    drawn: list[Row] = []
    for at, row in enumerate(rows):
        if at == 0 or row.metric.subject != rows[at - 1].metric.subject:
            drawn.append(Row(row.metric.subject, place="heading"))
        cells = tuple(_write_figure(row, cell) if cell else None for cell in row.cells)
        drawn.append(Row(row.heading, cells, "inner"))
    note = f"{told} ↑ more is better; otherwise less."
    return Table(columns, tuple(drawn), "figure", note=note, look="board")


def _write_figure(row: MetricRow, cell: MetricCell) -> Cell:
    note = ""
    if cell.difference:
        note = f"Δ {row.write_difference(cell)}{'*' if cell.difference.is_clear else ''}"
    return Cell(row.write(cell), _MARKS[cell.mark], note=note, value=cell.estimate.mean)
