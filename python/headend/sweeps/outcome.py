"""What a sweep leaves behind: finished points, one table over all, its summary, and a report."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headend.errors import InputError
from headend.folder import MANIFEST, describe, is_results_folder, write_json, write_table
from headend.quantity import Kind
from headend.result import RESULT_FORMAT
from headend.sweeps.experiment import POINTS, SweepResult
from headend.sweeps.measuring import BASE_UNITS

if TYPE_CHECKING:
    import polars as pl

RESULTS = "results.parquet"
SUMMARY = "summary.parquet"

#: Figures that a terminal and a report show when the sweep's file names none.
MOST_SHOWN = 8


def choose_sweep_folder(name: str) -> Path:
    """Give the folder a sweep's results go to; running it again goes on from what is there."""
    return Path("results") / "sweeps" / name


def open_sweep_folder(folder: Path) -> None:
    """Make the folder before anything is run, or refuse it: what holds something else, what cannot be written."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: expected a folder to write results to, found a file")
    own = not folder.is_dir() or (folder / POINTS).is_dir()
    if not own and any(not path.name.startswith(".") for path in folder.iterdir()):
        other = "another kind of results" if is_results_folder(folder) else "something else"
        raise InputError(f"{folder}: holds {other}; give another --out")
    try:
        (folder / POINTS).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {describe(error)}") from error


def write_outcome(result: SweepResult, folder: Path) -> None:
    """Write tables, manifest and report; each file is whole or as it was."""
    from headend import __version__

    manifest = {
        "headend": __version__,
        "format": RESULT_FORMAT,
        "kind": "sweep",
        "name": result.sweep.name,
        "title": result.sweep.title,
        "complete": result.complete,
        "axes": {axis.name: axis.path for axis in result.sweep.axes},
        "seeds": list(result.sweep.seeds),
        "failed": len(result.failures),
    }
    write_table(result.table, folder / RESULTS)
    write_table(result.summary, folder / SUMMARY)
    write_json(manifest, folder / MANIFEST)
    if result.complete:
        write_sweep_report(result, folder / "report.html")


def write_sweep_report(result: SweepResult, path: Path) -> None:
    """Write the self-contained report."""
    from headend.figures.sweep import draw_sweep
    from headend.report import render_page, write_page

    shown = choose_shown(result)
    page = render_page(
        "sweep.html.j2",
        draw_sweep(result.sweep, result.summary, shown),
        title=result.sweep.title or result.sweep.name,
        sweep=result.sweep,
        points=count_points(result),
        failures=list(result.failures.items()),
        shown=shown,
        rows=list_rows(result, shown),
    )
    write_page(page, path)


@dataclass(frozen=True)
class Shown:
    """A figure that is shown.

    Parameters
    ----------
    measure
        As the table calls it.
    kind
        What it measures.
    """

    measure: str
    kind: Kind


@dataclass(frozen=True)
class Row:
    """A setting with its figures, as text: the mean with its interval, and the difference with its own."""

    place: tuple[Any, ...]
    cells: tuple[tuple[str, str], ...]


def count_points(result: SweepResult) -> int:
    """Count the points that have a result or a reason."""
    if result.table.is_empty():
        return 0
    return result.table.select("setting", "seed").unique().height


def choose_shown(result: SweepResult) -> list[Shown]:
    """Choose the figures to show: those that the file names, or of each flow the one people would ask for first."""
    summary = result.summary
    if summary.is_empty():
        return []
    kinds: dict[str, Kind] = {unit: kind for kind, unit in BASE_UNITS.items()}
    kinds["1"] = "number"
    found = summary.select("measure", "subject", "metric", "unit").unique(maintain_order=True)
    if result.sweep.measures:
        chosen = [(row["measure"], row) for row in found.iter_rows(named=True)]
    else:
        chosen = _choose_first(found)
    return [Shown(name, _find_kind(row, kinds)) for name, row in chosen[:MOST_SHOWN]]


def _find_kind(row: dict[str, Any], kinds: dict[str, Kind]) -> Kind:
    """Say what a figure measures; shares and plain numbers have the same unit."""
    from headend.expect import FLOW_METRICS, MEASURES, QUEUE_METRICS

    words = row["metric"].split(".")
    known = FLOW_METRICS | MEASURES | QUEUE_METRICS
    metric = next((known[word] for word in words if word in known), None)
    if row["unit"] == "1" and metric and metric.kind == "ratio" and "count" not in words:
        return "ratio"
    return kinds[row["unit"]]


def _choose_first(found: pl.DataFrame) -> list[tuple[str, dict[str, Any]]]:
    """Give for each flow or group what its application reports first, or its goodput."""
    from headend.expect import MEASURES
    from headend.groups import name_group

    order = {f"{name}.mean": number for number, name in enumerate(MEASURES)}
    goodputs: dict[str, tuple[str, dict[str, Any]]] = {}
    reports: dict[str, tuple[str, dict[str, Any]]] = {}
    for row in found.iter_rows(named=True):
        subject, metric = row["subject"], row["metric"]
        if name_group(subject):
            continue
        if metric == "goodput":
            goodputs.setdefault(subject, (row["measure"], row))
        before = reports.get(subject)
        if metric in order and (before is None or order[metric] < order[before[1]["metric"]]):
            reports[subject] = (row["measure"], row)
    return list((goodputs | reports).values())


def list_rows(result: SweepResult, shown: list[Shown]) -> list[Row]:
    """Write the settings with the figures that are shown."""
    import polars as pl

    names, summary = [axis.name for axis in result.sweep.axes], result.summary
    rows: list[Row] = []
    if summary.is_empty():
        return rows
    wanted = summary.filter(pl.col("measure").is_in([item.measure for item in shown]))
    for key, own in wanted.group_by(["setting", *names], maintain_order=True):
        by_measure = {row["measure"]: row for row in own.iter_rows(named=True)}
        cells = tuple(_write_cell(by_measure.get(item.measure), item.kind) for item in shown)
        rows.append(Row(tuple(key[1:]), cells))
    return rows


def _write_cell(row: dict[str, Any] | None, kind: Kind) -> tuple[str, str]:
    from headend.estimate import Estimate, format_estimate

    if row is None:
        return "–", ""

    def write(mean: float | None, low: float | None, *, signed: bool) -> str:
        if mean is None:
            return ""
        half = math.nan if low is None else mean - low
        return format_estimate(Estimate(mean, half, row["count"]), kind, signed=signed)

    return (
        write(row["mean"], row["low"], signed=False),
        write(row.get("difference"), row.get("difference_low"), signed=True),
    )
