"""Tables of results as files for other programs: CSV, or JSON with an object on each line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headend.errors import InputError, refuse_argument, suggest, take_path
from headend.results.folder import (
    is_results_folder,
    make_folder,
    refuse_below_file,
    write_file,
)

if TYPE_CHECKING:
    import polars as pl

    from headend.results.record import Record

#: What tables can be written as; the word is the ending of the files too.
KINDS = ("csv", "jsonl")


def export_results(
    results: Sequence[Record],
    target: str | Path,
    *,
    kind: str = "csv",
    tables: Sequence[str] | None = None,
    force: bool = False,
    beside: Mapping[str, pl.DataFrame] | None = None,
) -> list[Path]:
    """Write the tables of runs at hand, as `headend.export_tables` writes those of a folder.

    Tables of several runs have ``label`` and ``seed`` in front. Those ``beside`` are of all runs
    together.
    """
    gathered = gather_tables(results) if len(results) > 1 else dict(results[0].tables)
    return write_tables(gathered | dict(beside or {}), target, kind, tables, force=force)


def check_target(
    target: str | Path, names: Sequence[str], *, kind: str = "csv", force: bool = False
) -> Path:
    """Refuse a target before anything is run: no folder, below a file, or with one of the files."""
    target = take_path(target, "target")
    if kind not in KINDS:
        raise InputError(f'no kind of table file is called "{kind}"{suggest(kind, KINDS)}')
    refuse_below_file(target)
    if target.exists() and not target.is_dir():
        raise InputError(f"{target}: expected a folder to write tables to, found a file")
    if is_results_folder(target):
        raise InputError(f"{target}: holds results; choose another folder for the tables")
    refuse_present((target / f"{name}.{kind}" for name in names), force=force)
    return target


def refuse_present(paths: Iterable[Path], *, force: bool) -> None:
    """Refuse to write files that are there, unless they are to be replaced; and folders always."""
    for path in paths:
        if path.is_dir():
            raise InputError(f"{path}: expected a file to replace, found a folder")
        if not force and path.exists():
            raise InputError(
                f"{path}: exists; choose another folder, or replace it with --force (from Python,"
                " force=True)"
            )


def flatten_value(value: Any) -> Any:
    """Give a value that a cell can hold: what holds several is written as JSON."""
    import json

    if isinstance(value, Mapping | list):
        return json.dumps(value, ensure_ascii=False) if value else None
    return value


def gather_tables(results: Sequence[Record]) -> dict[str, pl.DataFrame]:
    """Put the tables of runs one below the other, with the label and the seed of each in front."""
    import polars as pl

    parts: dict[str, list[pl.DataFrame]] = {}
    for result in results:
        seed = pl.lit(result.manifest["seed"], dtype=pl.UInt64)
        for name, table in result.tables.items():
            labelled = table.select(
                pl.lit(result.label).alias("label"), seed.alias("seed"), pl.all()
            )
            parts.setdefault(name, []).append(labelled)
    return {name: pl.concat(frames, how="diagonal") for name, frames in parts.items()}


def write_tables(
    found: Mapping[str, pl.DataFrame],
    target: str | Path,
    kind: str,
    wanted: Sequence[str] | None,
    *,
    force: bool,
    where: str = "",
) -> list[Path]:
    """Write the ``wanted`` of the ``found`` tables; ``where`` begins an absent one's error."""
    if wanted is None:
        wanted = list(found)
    elif isinstance(wanted, str) or not all(isinstance(name, str) for name in wanted):
        raise refuse_argument("tables", "a list of names", wanted)
    for name in wanted:
        if name not in found:
            raise InputError(f'{where}no table is called "{name}"{suggest(name, found)}')
    names = list(dict.fromkeys(wanted))
    target = check_target(target, names, kind=kind, force=force)
    make_folder(target)
    paths = []
    for name in names:
        path = target / f"{name}.{kind}"
        write_file(_encode(found[name], kind), path)
        paths.append(path)
    return paths


def _encode(table: pl.DataFrame, kind: str) -> bytes:
    """Give a table as the bytes of a file; what is not a number is a missing value."""
    import polars as pl
    import polars.selectors as cs

    nested = [name for name, form in table.schema.items() if isinstance(form, pl.List | pl.Struct)]
    table = table.with_columns(
        cs.float().fill_nan(None),
        *(
            pl.Series(name, [flatten_value(value) for value in table[name].to_list()])
            for name in nested
        ),
    )
    return (table.write_csv() if kind == "csv" else table.write_ndjson()).encode()
