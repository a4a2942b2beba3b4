"""An experiment: a design, the table of its points, why some failed, and the folder of it all."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from headend.design.design import Design
from headend.errors import InputError, describe_system, take_path
from headend.results.export import write_tables
from headend.results.folder import (
    MANIFEST,
    REPORT,
    encode_json,
    encode_table,
    make_folder,
    read_own_manifest,
    read_table,
    write_file,
)
from headend.results.record import RESULT_FORMAT, read_manifest
from headend.results.seal import SEALS, read_seals, seal
from headend.results.store import POINT_FOLDER, check_point_folder

if TYPE_CHECKING:
    import polars as pl

RESULTS = "results.parquet"

SUMMARY = "summary.parquet"

#: The tables of an experiment, by the names of their files without ending.
TABLES = ("results", "summary")

#: What results have for every point besides the names of the factors.
COLUMNS = ("setting", "seed", "measure", "subject", "direction", "metric", "value", "unit", "error")


@dataclass(frozen=True, kw_only=True, repr=False)
class Experiment(ABC):
    """The results of an experiment.

    Parameters
    ----------
    table
        A row for each point, flow or queue, and metric: the factors, ``seed``, ``measure`` (its
        whole name, or the one that its file gives), ``subject``, ``direction``, ``metric``,
        ``value`` in the base unit ``unit`` (ns, bit/s, B, or 1). A point that failed is one row
        that says why in ``error``.
    complete
        Whether all points were run; a stopped experiment has the finished ones.
    folder
        Where it is kept, if it is.
    notes
        Sentences to read before the results are trusted: warnings about the scenarios, and keys
        that are set in place of the scenarios' own values.
    """

    kind: ClassVar[str]

    table: pl.DataFrame
    complete: bool
    folder: Path | None = None
    notes: tuple[str, ...] = ()
    #: What the manifest lists of the points that are kept.
    points: tuple[str, ...] = ()

    @property
    @abstractmethod
    def name(self) -> str:
        """What its results are called."""

    @property
    @abstractmethod
    def title(self) -> str:
        """Its title, or nothing."""

    @property
    @abstractmethod
    def design(self) -> Design:
        """What was run."""

    @property
    @abstractmethod
    def summary(self) -> pl.DataFrame:
        """Means over seeds with intervals."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Give what its manifest keeps besides what all experiments have."""

    def list_files(self) -> dict[str, bytes]:
        """Give what its folder has besides tables, manifest and page, by name."""
        return {}

    @functools.cached_property
    def failures(self) -> dict[tuple[Any, ...], str]:
        """Why points failed, by their place and seed."""
        if self.table.is_empty():
            return {}
        rows = self.table.filter(self.table["error"].is_not_null())
        found = rows.select(*self.design.names, "seed", "error").iter_rows()
        return {tuple(row[:-1]): str(row[-1]) for row in found}

    def count_done(self) -> int:
        """Count the points that have a result."""
        return self.count_points() - len(self.failures)

    def count_points(self) -> int:
        """Count the points that have a result or failed."""
        if self.table.is_empty():
            return 0
        return self.table.select(*self.design.names, "seed").unique().height

    def to_csv(
        self, folder: str | Path, *, tables: Sequence[str] | None = None, force: bool = False
    ) -> list[Path]:
        """Write its tables: a row for each point and measure, the means, and others that it has.

        Parameters
        ----------
        folder, tables, force
            As of ``Result.to_csv``.

        Returns
        -------
        list of Path
            The files that were written.
        """
        target = take_path(folder, "folder")
        return write_tables(self.list_tables(), target, "csv", tables, force=force)

    def list_tables(self) -> dict[str, pl.DataFrame]:
        """Give its tables by name."""
        return dict(zip(TABLES, (self.table, self.summary), strict=True))

    def write(self, folder: Path) -> None:
        """Write tables, manifest, further files and seals; each file is whole or as it was.

        Files that it had before and has no more are removed; so is the page of a stopped one.
        """
        from headend.version import read_version

        manifest = {
            "headend": read_version(),
            "format": RESULT_FORMAT,
            "kind": self.kind,
            "name": self.name,
            "title": self.title,
            "complete": self.complete,
            "design": self.design.to_dict(),
            **self.describe(),
            "failed": len(self.failures),
            "points": list(self.points),
            "warnings": list(self.notes),
        }
        files = {
            RESULTS: encode_table(self.table),
            SUMMARY: encode_table(self.summary),
            MANIFEST: encode_json(manifest),
            **self.list_files(),
        }
        before = _list_sealed(folder)
        for name, content in files.items():
            write_file(content, folder / name)
        seal(folder, files)
        for name in before - set(files):
            _remove(folder / name)
        if not self.complete:
            remove_page(folder)


def open_experiment(
    folder: Path,
    kind: str,
    tell_apart: Callable[[Mapping[str, Any]], tuple[str, str] | None],
    *,
    force: bool = False,
) -> None:
    """Make the folder before anything is run, or refuse one with other things or not writable.

    Parameters
    ----------
    folder
        Of the results.
    kind
        Their kind, such as ``sweep``.
    tell_apart
        Gives of a manifest what its results are of, and what the new ones are of, if these are two
        experiments; None if they are one.
    force
        Let them take the place of another one's.
    """
    check_point_folder(folder, kind)
    manifest = None if force else read_own_manifest(folder)
    if manifest and (other := tell_apart(manifest)):
        raise InputError(
            f"{folder}: holds the results of another {kind}, {other[0]} and not {other[1]}; choose"
            " another folder with --out, or replace them with --force (from Python, out= and"
            " force=True)"
        )
    make_folder(folder)
    make_folder(folder / POINT_FOLDER)


def open_named(folder: Path, kind: str, name: str, *, force: bool = False) -> None:
    """Make the folder of an experiment that its name tells from others, as `open_experiment`."""

    def tell_apart(manifest: Mapping[str, Any]) -> tuple[str, str] | None:
        found = str(manifest.get("name", name))
        return None if found == name else (f"of {found}", f"of {name}")

    open_experiment(folder, kind, tell_apart, force=force)


def read_experiment(
    folder: Path, kind: str, *, is_partial_read: bool = False
) -> tuple[dict[str, Any], pl.DataFrame]:
    """Read manifest and table of an experiment.

    Parameters
    ----------
    folder
        Of its results.
    kind
        What it must be, such as ``sweep``.
    is_partial_read
        Whether one that was stopped is read too, if it has a finished point.

    Raises
    ------
    InputError
        When it was not run to its end, when it is of another kind or damaged, or when an older
        headend wrote it.
    """
    manifest = read_manifest(folder)
    found = manifest.get("kind", "run")
    if found != kind:
        raise InputError(f"{folder}: expected the results of a {kind}, found those of a {found}")
    if not manifest.get("complete", False) and not (is_partial_read and manifest.get("points")):
        raise InputError(f"{folder}: the {kind} was not run to its end; run it again to go on")
    return manifest, read_table(folder, RESULTS)


def check_fit(design: Design, table: pl.DataFrame, folder: Path) -> None:
    """Refuse a manifest and a table that do not speak of one experiment."""
    if table.is_empty():
        return
    for name in (*design.names, *COLUMNS):
        if name not in table.columns:
            raise InputError(f'{folder / RESULTS}: damaged: it has no column "{name}"')
    for factor in design.factors:
        for value in table[factor.name].unique().to_list():
            if value not in factor.labels:
                raise InputError(
                    f"{folder / RESULTS}: damaged: {factor.name} is {value!r}, which is none of the"
                    f" values in {MANIFEST}"
                )


def remove_page(folder: Path) -> None:
    """Remove the page of other points than those that are run now: it would look whole."""
    _remove(folder / REPORT)


def _list_sealed(folder: Path) -> set[str]:
    """List the files that an experiment wrote to its folder before."""
    if not (folder / SEALS).is_file():
        return set()
    try:
        return {name for name in read_seals(folder) if "/" not in name}
    except InputError:
        return set()


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{path}: cannot be removed: {describe_system(error)}") from error
