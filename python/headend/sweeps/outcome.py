"""What a sweep leaves behind: finished points, one table over all, its summary, and a report."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headend.errors import InputError, tell_system
from headend.results.folder import (
    MANIFEST,
    REPORT,
    encode_json,
    encode_table,
    make_folder,
    read_own_manifest,
    write_file,
)
from headend.results.record import RESULT_FORMAT
from headend.results.seal import is_page_of, seal
from headend.results.store import POINT_FOLDER, check_point_folder
from headend.sweeps.definition import Sweep
from headend.sweeps.details import tabulate_bests, tabulate_knees, tabulate_shares
from headend.sweeps.record import SweepRecord
from headend.sweeps.shown import Shown
from headend.text.quantity import Kind, Unit, choose_unit, name_column

if TYPE_CHECKING:
    from headend.comparison.estimate import Estimate
    from headend.figures.figure import Figure

RESULTS = "results.parquet"

SUMMARY = "summary.parquet"


def choose_sweep_folder(name: str) -> Path:
    """Give the folder a sweep's results go to; running it again goes on from what is there."""
    return Path("results") / "sweeps" / name


def open_sweep_folder(folder: Path, sweep: Sweep, *, force: bool = False) -> None:
    """Make the folder before anything is run, or refuse one with other things or not writable.

    Parameters
    ----------
    folder
        Of the results.
    sweep
        Whose they will be.
    force
        Let them take the place of another sweep's.
    """
    check_point_folder(folder, "sweep")
    if not force:
        _check_same(folder, sweep)
    make_folder(folder)
    make_folder(folder / POINT_FOLDER)


def _check_same(folder: Path, sweep: Sweep) -> None:
    """Refuse the results of another sweep: of another name, or over none of the same scenarios."""
    manifest = read_own_manifest(folder)
    if manifest is None:
        return
    name, scenarios = manifest.get("name", sweep.name), manifest.get("scenarios")
    own = sweep.design.list_scenarios()
    # Where a sweep stopped short, or before scenarios were noted, the name alone tells.
    if name == sweep.name and (scenarios is None or set(scenarios) & set(own)):
        return
    found, wanted = ((name, scenarios or []), (sweep.name, own))
    raise InputError(
        f"{folder}: holds the results of another sweep, {_tell_sweep(*found)} and not"
        f" {_tell_sweep(*wanted)}; choose another folder with --out, or replace them with --force"
        " (from Python, out= and force=True)"
    )


def _tell_sweep(name: str, scenarios: Sequence[str]) -> str:
    """Name a sweep with what it is over."""
    over = ", ".join(filter(None, scenarios))
    return f'"{name}" over {over}' if over else f'"{name}"'


def write_outcome(result: SweepRecord, folder: Path, *, report: bool = True) -> None:
    """Write tables, manifest, their seals and the report; each file is whole or as it was."""
    from headend.version import read_version

    manifest = {
        "headend": read_version(),
        "format": RESULT_FORMAT,
        "kind": "sweep",
        "name": result.sweep.name,
        "title": result.sweep.title,
        "scenarios": result.sweep.design.list_scenarios(),
        "complete": result.complete,
        "design": result.sweep.design.to_dict(),
        **describe_drawing(result.sweep),
        "failed": len(result.failures),
        "points": list(result.points),
        "warnings": list(result.notes),
    }
    write_file(encode_table(result.table), folder / RESULTS)
    write_file(encode_table(result.summary), folder / SUMMARY)
    write_file(encode_json(manifest), folder / MANIFEST)
    seal(folder, [RESULTS, SUMMARY, MANIFEST])
    if not result.complete:
        remove_report(folder)
    elif report:
        write_own_report(result, folder)


def describe_drawing(sweep: Sweep) -> dict[str, Any]:
    """Give what the manifest holds besides name, axes and seeds, for figures without the file."""
    return {
        "description": sweep.description,
        "measures": dict(sweep.measures),
        "compare": sweep.compare,
        "wish": sweep.wish.to_dict(),
    }


def write_own_report(result: SweepRecord, folder: Path, path: Path | None = None) -> None:
    """Write the report of a sweep whose tables are in a folder, by default there."""
    write_sweep_report(result, path or folder / REPORT, _fingerprint(result, folder))


def remove_report(folder: Path) -> None:
    """Remove the report of other points than those that are run now: it would look whole."""
    try:
        (folder / REPORT).unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{folder / REPORT}: cannot be removed: {tell_system(error)}") from error


def write_sweep_report(result: SweepRecord, path: Path, fingerprint: str) -> None:
    """Write the self-contained report, unless the one that is there was made of the same."""
    if is_page_of(path, fingerprint):
        return
    from headend.pages.page import render_page, write_page

    conclusion = result.conclusion
    shown = list_shown(result)
    rows = list_rows(result, shown)
    page = render_page(
        "sweep.html.j2",
        draw_sweep_figures(result),
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
        points=count_points(result),
        failed=len(result.failures),
        failures=list_failures(result.failures),
        warnings=result.notes,
        valueless=tell_valueless(result),
        columns=name_columns(result, shown),
        rows=rows,
        differences=has_differences(rows),
    )
    write_page(page, path, fingerprint)


def draw_sweep_figures(result: SweepRecord) -> list[Figure]:
    """Draw the figures of a sweep's report."""
    from headend.sweeps.figure import draw_sweep

    return draw_sweep(result.conclusion, result.summary)


def list_shown(result: SweepRecord) -> list[Shown]:
    """List the figures that a terminal and a report show."""
    return [measured.about for measured in result.conclusion.measures.values()]


def _fingerprint(result: SweepRecord, folder: Path) -> str:
    """Tell what a report is made of: its numbers, words, and drawing."""
    from headend.pages.page import fingerprint_drawing

    words = replace(result.sweep, design=result.sweep.design.as_labelled(), file=None)
    digest = hashlib.sha256(f"{fingerprint_drawing()}\n{words!r}\n{result.notes!r}\n".encode())
    digest.update((folder / RESULTS).read_bytes())
    return digest.hexdigest()


@dataclass(frozen=True)
class Row:
    """A setting with its figures, as text: mean with interval, and difference with its own.

    Where no point of a setting could be run, each figure is "failed".
    """

    place: tuple[Any, ...]
    cells: tuple[tuple[str, str], ...]


def count_points(result: SweepRecord) -> int:
    """Count the points that have a result or a reason."""
    if result.table.is_empty():
        return 0
    return result.table.select("setting", "seed").unique().height


def count_done(result: SweepRecord) -> int:
    """Count the points that have a result."""
    return count_points(result) - len(result.failures)


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


def find_valueless(result: SweepRecord) -> list[str]:
    """Find the measures of which no point that was run has a value."""
    if not count_done(result):
        return []
    found = set(result.table.drop_nulls("value").get_column("measure").to_list())
    return [name for name in result.sweep.named if name not in found]


def tell_valueless(result: SweepRecord) -> list[str]:
    """Say of each measure without any value that it has none."""
    done = count_done(result)
    of = f"any of {done} points" if done > 1 else "the only point"
    return [f"{name}: no value in {of}" for name in find_valueless(result)]


def name_columns(result: SweepRecord, shown: Sequence[Shown]) -> list[str]:
    """Name the columns of the figures that are shown, each with the one unit that it is in."""
    units = _choose_units(result, shown)
    return [name_column(item.measure, unit) for item, unit in zip(shown, units, strict=True)]


def _choose_units(result: SweepRecord, shown: Sequence[Shown]) -> list[Unit]:
    if not shown:
        return []
    means = dict(result.summary.group_by("measure").agg("mean").iter_rows())
    return [choose_unit(means.get(item.measure, []), item.kind) for item in shown]


def list_rows(result: SweepRecord, shown: Sequence[Shown]) -> list[Row]:
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
