"""Writes the tables of a results folder of any kind as files."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from headend.comparison.board import NAME as FIGURES
from headend.comparison.board import tabulate_figures
from headend.comparison.comparison import gather_variants
from headend.comparison.notes import describe_unfinished
from headend.errors import InputError, take_path
from headend.evaluation.result import load_evaluation
from headend.results.experiment import RESULTS, SUMMARY
from headend.results.export import flatten_value, gather_tables, write_tables
from headend.results.folder import read_json, read_table
from headend.results.record import read_manifest
from headend.running.comparison import load_results
from headend.running.result import Result
from headend.sweeps.result import load_sweep
from headend.text.quantity import format_quantity
from headend.text.wording import list_names

if TYPE_CHECKING:
    import polars as pl

_LOGGER = logging.getLogger(__name__)

#: Runs that one note names at most.
MOST_NAMED = 6


def export_tables(
    folder: str | Path,
    target: str | Path,
    *,
    kind: str = "csv",
    tables: Sequence[str] | None = None,
    force: bool = False,
) -> list[Path]:
    """Write the tables of a results folder, each as ``NAME.csv`` with a row of column names.

    Numbers have their full precision, and missing values are empty (in JSON, null). Of a run these
    are the tables that ``docs/reference/results.md`` explains. A comparison has the same tables
    over all its runs, with ``label`` and ``seed`` in front, and ``figures``, the means over seeds
    with intervals and differences; a sweep and a recommendation have ``results``, a row for each
    point and measure, and ``summary``, the means over seeds; an evaluation has ``verdicts``
    besides; a study has ``points`` and ``claims``.
    That a run was stopped before its end, or that a comparison lacks some, is logged as a warning
    of the logger ``headend``: the tables look like any others.

    Parameters
    ----------
    folder
        The results of a run, a comparison, a sweep, a recommendation, a capacity, an evaluation, a
        fitted line or a study.
    target
        The folder to write to; it is made if it is not there.
    kind
        ``csv``, or ``jsonl`` for JSON with an object on each line.
    tables
        Only these; all by default.
    force
        Replace files that are there.

    Returns
    -------
    list of Path
        The files that were written.

    Raises
    ------
    InputError
        When the folder is not one of results or is damaged, for a table that it has not, and for a
        file that is there.

    Examples
    --------
    >>> import tempfile
    >>> link = {"line": {"point_to_point": {"up": {"rate": "1 Mbit/s"}}}}
    >>> scenario = {"duration": "1 s", "link": link, "flow": {"ping": {"application": "ping"}}}
    >>> with tempfile.TemporaryDirectory() as place:
    ...     import headend
    ...
    ...     results = headend.run(scenario, out=f"{place}/results", report=False)
    ...     files = export_tables(results.folder, f"{place}/tables", tables=["flows"])
    ...     print([file.name for file in files], files[0].read_text()[:20])
    ['flows.csv'] flow,direction,appli
    """
    folder = take_path(folder, "folder")
    found, notes = _read_tables(folder)
    paths = write_tables(found, target, kind, tables, force=force, where=f"{folder}: ")
    for note in notes:
        _LOGGER.warning("%s: %s", folder, note)
    return paths


def _read_tables(folder: Path) -> tuple[dict[str, pl.DataFrame], list[str]]:
    """Read the tables of a results folder of any kind, with the warnings about them."""
    manifest = read_manifest(folder)
    kind = manifest.get("kind", "run")
    if kind == "run":
        result = Result.load(folder)
        return dict(result.tables), _describe_partial([result])
    if kind == "comparison":
        results = load_results([folder])
        lacking = describe_unfinished([str(name) for name in manifest.get("unfinished", [])])
        notes = [
            *_describe_partial(results),
            *([lacking[0].lower() + lacking[1:-1]] if lacking else []),
        ]
        figures = tabulate_figures(gather_variants(results))
        return {**gather_tables(results), FIGURES: figures}, notes
    if kind == "sweep":
        swept = load_sweep(folder, is_partial_read=True)
        points = f"{swept.count_done()} of {swept.design.count_points()} points"
        notes = [] if swept.complete else [f"partial, stopped before its end ({points})"]
        return {Path(name).stem: read_table(folder, name) for name in (RESULTS, SUMMARY)}, notes
    if kind == "evaluation":
        return load_evaluation(folder).list_tables(), []
    if kind in ("recommendation", "capacity", "line"):
        from headend.loading.loading import load

        load(folder)  # says what is wrong with one that was not run to its end
        return {Path(name).stem: read_table(folder, name) for name in (RESULTS, SUMMARY)}, []
    if kind == "study":
        return _read_study(folder), []
    raise InputError(f"{folder}: expected results with tables, found a {kind}")


def _describe_partial(results: Sequence[Result]) -> list[str]:
    """Say which runs were stopped before their end, and so measured over less time than planned."""
    found = []
    for result in results:
        if result.is_partial:
            times = (result.manifest[key] for key in ("simulated_ns", "duration_ns"))
            own = " of ".join(format_quantity(time, "time") for time in times)
            name = f"{result.label}, seed {result.manifest['seed']}: " if len(results) > 1 else ""
            found.append(f"{name}{own}")
    told = list_names(found, MOST_NAMED, "; ")
    return [f"partial, stopped before its end ({told})"] if found else []


def _read_study(folder: Path) -> dict[str, pl.DataFrame]:
    """Read a study's measurements and the verdicts on its claims."""
    import polars as pl

    from headend.study.outcome import CLAIMS, POINTS

    if not (folder / CLAIMS).is_file():
        raise InputError(f"{folder}: the study was not run to its end; run it again to go on")
    claims = read_json(folder, CLAIMS).get("claims")
    if not isinstance(claims, list) or not all(isinstance(claim, Mapping) for claim in claims):
        raise InputError(f'{folder / CLAIMS}: damaged: expected a list of tables in "claims"')
    rows = [{key: flatten_value(value) for key, value in claim.items()} for claim in claims]
    return {
        Path(POINTS).stem: read_table(folder, POINTS),
        "claims": pl.DataFrame(rows, infer_schema_length=None, strict=False),
    }
