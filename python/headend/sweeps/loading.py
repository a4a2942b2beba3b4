"""A sweep's results, read back from their folder: what reports and figures are remade from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headend.design.design import Design
from headend.design.factor import Factor
from headend.errors import InputError
from headend.results.folder import MANIFEST, REPORT, read_table
from headend.results.record import read_manifest
from headend.sweeps.definition import COLUMNS, Sweep
from headend.sweeps.outcome import RESULTS, write_own_report
from headend.sweeps.result import SweepResult
from headend.sweeps.wish import read_wish

if TYPE_CHECKING:
    import polars as pl


def load_sweep(folder: str | Path) -> SweepResult:
    """Read the results of a sweep that was run to its end.

    Raises
    ------
    InputError
        When it was not, when it is damaged, or when an older headend wrote it; then running it
        again mends that.
    """
    folder = Path(folder)
    manifest = read_manifest(folder)
    if not manifest.get("complete", False):
        raise InputError(f"{folder}: the sweep was not run to its end; run it again to go on")
    if "design" not in manifest and "dimensions" not in manifest:
        raise InputError(
            f"{folder}: written by an older headend; run the sweep again: its finished points are"
            " kept"
        )
    try:
        sweep = Sweep(
            name=manifest["name"],
            design=_read_design(manifest),
            measures=manifest["measures"],
            compare=manifest["compare"],
            title=manifest["title"],
            description=manifest["description"],
            wish=read_wish(manifest.get("wish", {}), manifest["measures"]),
        )
        notes = tuple(map(str, manifest.get("warnings", ())))
        points = tuple(map(str, manifest.get("points", ())))
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{folder / MANIFEST}: damaged: {error}") from error
    table = read_table(folder, RESULTS)
    _check_fit(sweep, table, folder)
    failed = table.filter(table["error"].is_not_null())
    names = sweep.design.names
    failures = {
        tuple(row[:-1]): str(row[-1]) for row in failed.select(*names, "seed", "error").iter_rows()
    }
    return SweepResult(
        sweep, table, failures, complete=True, folder=folder, notes=notes, points=points
    )


def _read_design(manifest: Mapping[str, Any]) -> Design:
    """Read the design, also of a manifest that holds its parts one by one."""
    if "design" in manifest:
        return Design.from_dict(manifest["design"])
    paths = manifest["axes"]
    return Design(
        tuple(
            tuple(
                Factor(paths[name], name, tuple(labels), tuple(labels))
                for name, labels in dimension.items()
            )
            for dimension in manifest["dimensions"]
        ),
        tuple(manifest["seeds"]),
    )


def rewrite_sweep_report(folder: Path, path: Path | None = None) -> Path:
    """Write the report of a sweep again from its folder alone."""
    path = path or folder / REPORT
    write_own_report(load_sweep(folder), folder, path)
    return path


def _check_fit(sweep: Sweep, table: pl.DataFrame, folder: Path) -> None:
    """Refuse a manifest and a table that do not speak of one sweep."""
    names = sweep.design.names
    if sweep.compare and sweep.compare not in names:
        raise InputError(f'{folder / MANIFEST}: damaged: no axis is called "{sweep.compare}"')
    if table.is_empty():
        return
    for name in (*names, *COLUMNS):
        if name not in table.columns:
            raise InputError(f'{folder / RESULTS}: damaged: it has no column "{name}"')
    for axis in sweep.design.factors:
        for value in table[axis.name].unique().to_list():
            if value not in axis.labels:
                raise InputError(
                    f"{folder / RESULTS}: damaged: {axis.name} is {value!r}, which is none of the"
                    f" values in {MANIFEST}"
                )
