"""The page of a sweep: the answer, tables of best settings and knees, and every setting."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headend.analysis.estimate import (
    Estimate,
    format_cell,
    format_difference,
    format_difference_cell,
)
from headend.pages.experiment import write_experiment_page
from headend.pages.section import Page, Section, fold_long, text
from headend.running.execution import remove_time
from headend.sweeps.details import tabulate_bests, tabulate_knees, tabulate_shares
from headend.sweeps.result import SweepResult
from headend.text.quantity import choose_unit
from headend.wording.table import Cell, Column, Row, Table

if TYPE_CHECKING:
    from headend.text.quantity import Kind, Unit

#: Rows of a table that is not folded.
MOST_OPEN = 12


def render_sweep(result: SweepResult) -> str:
    """Write the page of a sweep as HTML."""
    from headend.pages.page import render_page

    return render_page(describe_sweep(result))


def describe_sweep(result: SweepResult) -> Page:
    """Make the page of a sweep."""
    sweep, conclusion = result.sweep, result.conclusion
    failures = [told for _, told in list_failures(result.failures)]
    count = len(sweep.design.seeds)
    seeds = f", each setting with {count} seeds" if count > 1 else ""
    failed = f" {len(result.failures)} failed." if result.failures else ""
    sections = [text(sweep.description)] if sweep.description else []
    sections.append(text(f"{result.count_points()} points{seeds}.{failed}", style="soft"))
    for table in (
        tabulate_bests(conclusion),
        tabulate_knees(conclusion),
        tabulate_shares(conclusion),
    ):
        if table:
            own = fold_long(table, MOST_OPEN, "rows")
            sections.append(Section("sections", [own], table.title))
    settings = tabulate_settings(result)
    delta = f"; {describe_difference(result)}" if describe_difference(result) else ""
    told = (
        "Means over seeds with their 95 % intervals, as ± half the width or (from–to)"
        f"{delta}. Everything is in results.parquet (a row for each point, flow and metric) and"
        " summary.parquet."
    )
    notes = text(told, *(f"{line}." for line in describe_valueless(result)), style="note")
    every = [notes, fold_long(settings, MOST_OPEN, "settings")]
    return Page(
        sweep.title or sweep.name,
        result.answer,
        result.draw_figures(),
        sections,
        [Section("sections", every, "Every setting")],
        warnings=result.notes,
        failures=failures,
        columns="choices long",
    )


def tabulate_settings(result: SweepResult) -> Table:
    """Give a row for each setting: its place, and each figure with its difference below.

    Where no point of a setting could be run, each figure is "failed".
    """
    names = result.design.names
    shown = [measured.info for measured in result.conclusion.measures.values()]
    found: dict[int, dict[str, dict[str, Any]]] = {}
    for row in result.summary.iter_rows(named=True):
        found.setdefault(row["setting"], {})[row["measure"]] = row
    units = [
        choose_unit(
            [own[item.name]["mean"] for own in found.values() if item.name in own], item.kind
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
            _write_cell(own.get(item.name), item.kind, unit) if own else Cell("failed")
            for item, unit in zip(shown, units, strict=True)
        ]
        rows.append(Row(str(first), (*(Cell(str(value)) for value in others), *cells)))
    columns = [Column(name) for name in names[1:]]
    columns += [
        Column(item.name, unit, is_number=True) for item, unit in zip(shown, units, strict=True)
    ]
    return Table(tuple(columns), tuple(rows), names[0])


def describe_difference(result: SweepResult) -> str:
    """Say what differences between settings are to; empty where there are none."""
    compared = result.sweep.compared
    if not compared or result.summary.is_empty():
        return ""
    if result.summary["difference"].is_null().all():
        return ""
    return f"Δ is the difference to {compared.name} = {compared.labels[0]}, paired by seed"


def write_sweep_page(result: SweepResult, path: Path | None = None) -> Path:
    """Write a sweep's report, by default to its folder, unless it is there."""
    return write_experiment_page(result, lambda: render_sweep(result), path)


def list_failures(failures: Mapping[tuple[Any, ...], str]) -> list[tuple[int, str]]:
    """Give each reason once, with the number of points that failed for it and the first of them.

    The simulated time of an error in code of the user's own does not tell reasons apart.

    Parameters
    ----------
    failures
        Why points failed, by their place and seed.
    """
    places: dict[str, list[tuple[Any, ...]]] = {}
    reasons: dict[str, str] = {}
    for place, reason in failures.items():
        what = remove_time(reason)
        reasons.setdefault(what, reason)
        places.setdefault(what, []).append(place)
    told = []
    for what, own in places.items():
        reason, labels = reasons[what], filter(None, map(str, own[0][:-1]))
        first = f"{', '.join(labels)}, seed {own[0][-1]}"
        where = first if len(own) == 1 else f"{len(own)} points, the first {first}"
        told.append((len(own), f"{where}: {reason}"))
    return told


def find_valueless(result: SweepResult) -> list[str]:
    """Find the measures of which no point that was run has a value."""
    if not result.count_done():
        return []
    found = set(result.table.drop_nulls("value").get_column("measure").to_list())
    return [name for name in result.sweep.named if name not in found]


def describe_valueless(result: SweepResult) -> list[str]:
    """Say of each measure without any value that it has none."""
    done = result.count_done()
    of = f"any of {done} points" if done > 1 else "the only point"
    return [f"{name}: no value in {of}" for name in find_valueless(result)]


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
