"""Tables of results as files that spreadsheets and other programs read: CSV, or JSON with an object on each line."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headend.errors import InputError, refuse_argument, suggest, take_path
from headend.results.folder import (
    is_results_folder,
    make_folder,
    read_json,
    read_table,
    refuse_below_file,
    write_file,
)
from headend.results.record import read_manifest
from headend.text.wording import list_names

if TYPE_CHECKING:
    import polars as pl

    from headend.results.record import Record

_LOGGER = logging.getLogger(__name__)

#: What tables can be written as; the word is the ending of the files too.
KINDS = ("csv", "jsonl")

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
    """Write the tables of a results folder, each as one file ``NAME.csv`` with a row of column names.

    Numbers have their full precision, and missing values are empty (in JSON, null). Of a run these are the tables that
    ``docs/reference/results.md`` explains. A comparison has the same tables over all its runs, with ``label`` and ``seed`` in
    front; a sweep has ``results``, a row for each point and measure, and ``summary``, the means over seeds; a study has
    ``points`` and ``claims``. That a run was stopped before its end, or that a comparison lacks some, is logged as a warning
    of the logger ``headend``: the tables look like any others.

    Parameters
    ----------
    folder
        The results of a run, a comparison, a sweep or a study.
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
        When the folder is not one of results or is damaged, for a table that it has not, and for a file that is there.

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
    paths = _write_tables(found, target, kind, tables, force=force, where=f"{folder}: ")
    for note in notes:
        _LOGGER.warning("%s: %s", folder, note)
    return paths


def export_results(
    results: Sequence[Record],
    target: str | Path,
    *,
    kind: str = "csv",
    tables: Sequence[str] | None = None,
    force: bool = False,
) -> list[Path]:
    """Write the tables of runs that are at hand, as `export_tables` writes those of a folder.

    Parameters
    ----------
    results
        One run; or several, whose tables have ``label`` and ``seed`` in front.
    target, kind, tables, force
        As of `export_tables`.
    """
    found = _gather(results) if len(results) > 1 else dict(results[0].tables)
    return _write_tables(found, target, kind, tables, force=force)


def check_target(
    target: str | Path, names: Sequence[str], *, kind: str = "csv", force: bool = False
) -> Path:
    """Refuse a target before anything is run for it: what is no folder or below a file, or holds one of the files.

    Parameters
    ----------
    target
        The folder to write to.
    names
        The tables.
    kind, force
        As of `export_tables`.
    """
    target = take_path(target, "target")
    if kind not in KINDS:
        raise InputError(f'no kind of table file is called "{kind}"{suggest(kind, KINDS)}')
    refuse_below_file(target)
    if target.exists() and not target.is_dir():
        raise InputError(f"{target}: expected a folder to write tables to, found a file")
    if is_results_folder(target):
        raise InputError(f"{target}: holds results; choose another folder for the tables")
    for name in names:
        path = target / f"{name}.{kind}"
        if path.is_dir():
            raise InputError(f"{path}: expected a file to replace, found a folder")
        if not force and path.exists():
            raise InputError(
                f"{path}: exists; choose another folder, or replace it with --force (from Python, force=True)"
            )
    return target


def _read_tables(folder: Path) -> tuple[dict[str, pl.DataFrame], list[str]]:
    """Read the tables of a results folder, whatever was run, and what to know of them."""
    manifest = read_manifest(folder)
    kind = manifest.get("kind", "run")
    if kind == "run":
        from headend.results.record import Record

        result = Record.load(folder)
        return dict(result.tables), _tell_partial([result])
    if kind == "comparison":
        from headend.judging.caveats import tell_unfinished
        from headend.running.comparison import load_results

        results = load_results([folder])
        lacking = tell_unfinished([str(name) for name in manifest.get("unfinished", [])])
        notes = [
            *_tell_partial(results),
            *([lacking[0].lower() + lacking[1:-1]] if lacking else []),
        ]
        return _gather(results), notes
    if kind == "sweep":
        from headend.sweeps.loading import RESULTS, load_sweep
        from headend.sweeps.outcome import SUMMARY

        load_sweep(folder)  # says what is wrong with one that was not run to its end
        return {Path(name).stem: read_table(folder, name) for name in (RESULTS, SUMMARY)}, []
    if kind == "study":
        return _read_study(folder), []
    raise InputError(f"{folder}: expected results with tables, found a {kind}")


def _tell_partial(results: Sequence[Record]) -> list[str]:
    """Say which runs were stopped before their end, and so measured over less time than was asked for."""
    from headend.text.quantity import format_quantity

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
    """Read what a study measured, and what became of its claims."""
    import polars as pl

    from headend.study.outcome import CLAIMS, POINTS

    if not (folder / CLAIMS).is_file():
        raise InputError(f"{folder}: the study was not run to its end; run it again to go on")
    claims = read_json(folder, CLAIMS).get("claims")
    if not isinstance(claims, list) or not all(isinstance(claim, Mapping) for claim in claims):
        raise InputError(f'{folder / CLAIMS}: damaged: expected a list of tables in "claims"')
    rows = [{key: _flatten(value) for key, value in claim.items()} for claim in claims]
    return {
        Path(POINTS).stem: read_table(folder, POINTS),
        "claims": pl.DataFrame(rows, infer_schema_length=None, strict=False),
    }


def _flatten(value: Any) -> Any:
    """Give a value that a cell can hold: what holds several is written as JSON."""
    import json

    if isinstance(value, Mapping | list):
        return json.dumps(value, ensure_ascii=False) if value else None
    return value


def _gather(results: Sequence[Record]) -> dict[str, pl.DataFrame]:
    """Put the tables of runs one below the other, with the label and the seed of each in front."""
    import polars as pl

    found: dict[str, list[pl.DataFrame]] = {}
    for result in results:
        keys = [
            pl.lit(result.label).alias("label"),
            pl.lit(result.manifest["seed"], dtype=pl.UInt64).alias("seed"),
        ]
        for name, table in result.tables.items():
            found.setdefault(name, []).append(table.select(*keys, pl.all()))
    return {name: pl.concat(frames, how="diagonal") for name, frames in found.items()}


def _write_tables(
    found: Mapping[str, pl.DataFrame],
    target: str | Path,
    kind: str,
    wanted: Sequence[str] | None,
    *,
    force: bool,
    where: str = "",
) -> list[Path]:
    names = _choose(found, wanted, where)
    target = check_target(target, names, kind=kind, force=force)
    make_folder(target)
    paths = []
    for name in names:
        path = target / f"{name}.{kind}"
        write_file(_encode(found[name], kind), path)
        paths.append(path)
    return paths


def _choose(
    found: Mapping[str, pl.DataFrame], wanted: Sequence[str] | None, where: str
) -> list[str]:
    """Give the names of the tables that are wanted, and refuse one that is not there."""
    if wanted is None:
        return list(found)
    if isinstance(wanted, str) or not all(isinstance(name, str) for name in wanted):
        raise refuse_argument("tables", "a list of names", wanted)
    for name in wanted:
        if name not in found:
            raise InputError(f'{where}no table is called "{name}"{suggest(name, found)}')
    return list(dict.fromkeys(wanted))


def _encode(table: pl.DataFrame, kind: str) -> bytes:
    """Give a table as the bytes of a file; what is not a number is a missing value."""
    import polars as pl
    import polars.selectors as cs

    nested = [name for name, form in table.schema.items() if isinstance(form, pl.List | pl.Struct)]
    table = table.with_columns(
        cs.float().fill_nan(None),
        *(pl.Series(name, [_flatten(value) for value in table[name].to_list()]) for name in nested),
    )
    return (table.write_csv() if kind == "csv" else table.write_ndjson()).encode()
