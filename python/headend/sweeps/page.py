"""The page of a sweep: the answer, tables of best settings and knees, and every setting."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headend.comparison.estimate import (
    Estimate,
    format_cell,
    format_difference,
    format_difference_cell,
)
from headend.pages.section import Page, Section, fold_long, text
from headend.sweeps.details import tabulate_bests, tabulate_knees, tabulate_shares
from headend.text.quantity import choose_unit
from headend.wording.table import Cell, Column, Row, Table

if TYPE_CHECKING:
    from headend.sweeps.record import SweepRecord
    from headend.text.quantity import Kind, Unit

#: Rows of a table that is not folded.
MOST_OPEN = 12


def describe_sweep(result: SweepRecord) -> Page:
    """Make the page of a sweep."""
    from headend.sweeps.outcome import (
        count_points,
        draw_sweep_figures,
        list_failures,
        tell_valueless,
    )

    sweep, conclusion = result.sweep, result.conclusion
    failures = [told for _, told in list_failures(result.failures)]
    seeds = f", each setting with {len(sweep.seeds)} seeds" if len(sweep.seeds) > 1 else ""
    failed = f" {len(result.failures)} failed." if result.failures else ""
    sections = [text(sweep.description)] if sweep.description else []
    sections.append(text(f"{count_points(result)} points{seeds}.{failed}", style="soft"))
    for table in (
        tabulate_bests(conclusion),
        tabulate_knees(conclusion),
        tabulate_shares(conclusion),
    ):
        if table:
            own = fold_long(table, MOST_OPEN, "rows")
            sections.append(Section("sections", [own], table.title))
    settings = tabulate_settings(result)
    delta = f"; {tell_difference(result)}" if tell_difference(result) else ""
    told = (
        "Means over seeds with their 95 % intervals, as ± half the width or (from–to)"
        f"{delta}. Everything is in results.parquet (a row for each point, flow and metric) and"
        " summary.parquet."
    )
    notes = text(told, *(f"{line}." for line in tell_valueless(result)), style="note")
    every = [notes, fold_long(settings, MOST_OPEN, "settings")]
    return Page(
        sweep.title or sweep.name,
        result.answer,
        draw_sweep_figures(result),
        sections,
        [Section("sections", every, "Every setting")],
        warnings=result.notes,
        failures=failures,
        columns="choices long",
    )


def tabulate_settings(result: SweepRecord) -> Table:
    """Give a row for each setting: its place, and each figure with its difference below.

    Where no point of a setting could be run, each figure is "failed".
    """
    names = [axis.name for axis in result.sweep.axes]
    shown = [measured.about for measured in result.conclusion.measures.values()]
    found: dict[int, dict[str, dict[str, Any]]] = {}
    for row in result.summary.iter_rows(named=True):
        found.setdefault(row["setting"], {})[row["measure"]] = row
    units = [
        choose_unit(
            [own[item.measure]["mean"] for own in found.values() if item.measure in own], item.kind
        )
        for item in shown
    ]
    rows = []
    table = result.table
    kept = (
        table if table.is_empty() else table.select("setting", *names).unique(maintain_order=True)
    )
    for setting, first, *others in kept.iter_rows():
        own = found.get(setting)
        cells = [
            _write_cell(own.get(item.measure), item.kind, unit) if own else Cell("failed")
            for item, unit in zip(shown, units, strict=True)
        ]
        rows.append(Row(str(first), (*(Cell(str(value)) for value in others), *cells)))
    columns = [Column(name) for name in names[1:]]
    columns += [
        Column(item.measure, unit, is_number=True) for item, unit in zip(shown, units, strict=True)
    ]
    return Table(tuple(columns), tuple(rows), names[0])


def tell_difference(result: SweepRecord) -> str:
    """Say what differences between settings are to; empty where there are none."""
    compared = result.sweep.compared
    if not compared or result.summary.is_empty():
        return ""
    if result.summary["difference"].is_null().all():
        return ""
    return f"Δ is the difference to {compared.name} = {compared.labels[0]}, paired by seed"


def _write_cell(row: Mapping[str, Any] | None, kind: Kind, unit: Unit) -> Cell:
    if row is None or row["mean"] is None:
        return Cell("–")
    mean = row["mean"]
    text = format_cell(_read_estimate(row, mean, ""), kind, unit)
    if row.get("difference") is None:
        return Cell(text, value=mean)
    difference = _read_estimate(row, row["difference"], "difference_")
    told = (
        format_difference(difference, kind, level=mean)
        if kind == "ratio"
        else format_difference_cell(difference, kind, unit, mean)
    )
    return Cell(text, note=f"Δ {told}", value=mean)


def _read_estimate(row: Mapping[str, Any], mean: float, prefix: str) -> Estimate:
    ends = (row[f"{prefix}low"], row[f"{prefix}high"])
    low, high = (math.nan if end is None else end for end in ends)
    return Estimate(mean, low, high, row["count"])
