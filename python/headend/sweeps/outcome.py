"""The report of a sweep: its answer, its tables, and every setting."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headend.pages.experiment import write_experiment_page
from headend.sweeps.details import tabulate_bests, tabulate_knees, tabulate_shares
from headend.sweeps.result import SweepResult
from headend.sweeps.shown import Shown
from headend.text.quantity import Kind, Unit, choose_unit, name_column

if TYPE_CHECKING:
    from headend.comparison.estimate import Estimate


def render_sweep(result: SweepResult) -> str:
    """Write a sweep's report as HTML."""
    from headend.pages.page import render_page

    conclusion = result.conclusion
    shown = list_shown(result)
    rows = list_rows(result, shown)
    return render_page(
        "sweep.html.j2",
        result.draw_figures(),
        title=result.sweep.title or result.sweep.name,
        answer=result.answer,
        tables=[
            table
            for table in (
                tabulate_bests(conclusion),
                tabulate_knees(conclusion),
                tabulate_shares(conclusion),
            )
            if table
        ],
        sweep=result.sweep,
        points=result.count_points(),
        failed=len(result.failures),
        failures=list_failures(result.failures),
        warnings=result.notes,
        valueless=tell_valueless(result),
        columns=name_columns(result, shown),
        rows=rows,
        differences=has_differences(rows),
    )


def list_shown(result: SweepResult) -> list[Shown]:
    """List the figures that a terminal and a report show."""
    return [measured.about for measured in result.conclusion.measures.values()]


@dataclass(frozen=True)
class Row:
    """A setting with its figures, as text: mean with interval, and difference with its own.

    Where no point of a setting could be run, each figure is "failed".
    """

    place: tuple[Any, ...]
    cells: tuple[tuple[str, str], ...]


def write_sweep_page(result: SweepResult, path: Path | None = None) -> Path:
    """Write a sweep's report, by default to its folder, unless it is there."""
    return write_experiment_page(result, lambda: render_sweep(result), path)


def list_failures(failures: Mapping[tuple[Any, ...], str]) -> list[tuple[int, str]]:
    """Give each reason once, with the number of points that failed for it and the first of them.

    Parameters
    ----------
    failures
        Why points failed, by their place and seed.
    """
    places: dict[str, list[tuple[Any, ...]]] = {}
    for place, reason in failures.items():
        places.setdefault(reason, []).append(place)
    told = []
    for reason, own in places.items():
        first = f"{', '.join(map(str, own[0][:-1]))}, seed {own[0][-1]}"
        where = first if len(own) == 1 else f"{len(own)} points, the first {first}"
        told.append((len(own), f"{where}: {reason}"))
    return told


def find_valueless(result: SweepResult) -> list[str]:
    """Find the measures of which no point that was run has a value."""
    if not result.count_done():
        return []
    found = set(result.table.drop_nulls("value").get_column("measure").to_list())
    return [name for name in result.sweep.named if name not in found]


def tell_valueless(result: SweepResult) -> list[str]:
    """Say of each measure without any value that it has none."""
    done = result.count_done()
    of = f"any of {done} points" if done > 1 else "the only point"
    return [f"{name}: no value in {of}" for name in find_valueless(result)]


def name_columns(result: SweepResult, shown: Sequence[Shown]) -> list[str]:
    """Name the columns of the figures that are shown, each with the one unit that it is in."""
    units = _choose_units(result, shown)
    return [name_column(item.measure, unit) for item, unit in zip(shown, units, strict=True)]


def _choose_units(result: SweepResult, shown: Sequence[Shown]) -> list[Unit]:
    if not shown:
        return []
    means = dict(result.summary.group_by("measure").agg("mean").iter_rows())
    return [choose_unit(means.get(item.measure, []), item.kind) for item in shown]


def list_rows(result: SweepResult, shown: Sequence[Shown]) -> list[Row]:
    """Write the settings with the figures shown, each column in one unit and without it."""
    columns = list(zip(shown, _choose_units(result, shown), strict=True))
    names, summary = result.sweep.design.names, result.summary
    if result.table.is_empty():
        return []
    found: dict[int, dict[str, dict[str, Any]]] = {}
    for row in summary.iter_rows(named=True):
        found.setdefault(row["setting"], {})[row["measure"]] = row
    rows = []
    for setting, *place in (
        result.table.select("setting", *names).unique(maintain_order=True).rows()
    ):
        if own := found.get(setting):
            cells = [_write_cell(own.get(item.measure), item.kind, unit) for item, unit in columns]
        else:
            cells = [("failed", "") for _ in shown]
        rows.append(Row(tuple(place), tuple(cells)))
    return rows


def has_differences(rows: Iterable[Row]) -> bool:
    """Say whether any row has a difference to the setting that the others are compared with."""
    return any(difference for row in rows for _, difference in row.cells)


def _write_cell(row: dict[str, Any] | None, kind: Kind, unit: Unit) -> tuple[str, str]:
    from headend.comparison.estimate import format_cell, format_difference, format_difference_cell

    if row is None or row["mean"] is None:
        return "–", ""
    mean = row["mean"]
    text = format_cell(_read_estimate(row, mean, ""), kind, unit)
    if row.get("difference") is None:
        return text, ""
    difference = _read_estimate(row, row["difference"], "difference_")
    if kind == "ratio":
        return text, format_difference(difference, kind, level=mean)
    return text, format_difference_cell(difference, kind, unit, mean)


def _read_estimate(row: dict[str, Any], mean: float, prefix: str) -> Estimate:
    from headend.comparison.estimate import Estimate

    ends = (row[f"{prefix}low"], row[f"{prefix}high"])
    low, high = (math.nan if end is None else end for end in ends)
    return Estimate(mean, low, high, row["count"])
