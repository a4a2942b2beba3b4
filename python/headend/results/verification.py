"""Whether results are what was written: sealed files, points and pages of any folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from headend.errors import InputError, take_path
from headend.results.folder import MANIFEST, REPORT, read_own_manifest
from headend.results.record import OtherFormatError, check_format
from headend.results.scratch import PREFIX
from headend.results.seal import SEALS, find_damage, find_page_damage, is_sealed_page, read_seals
from headend.results.store import POINT_FOLDER, PointStore, is_point

#: Files that results of a kind have beside the manifest; those of a run are its tables.
NEEDED = {
    "sweep": ("results.parquet", "summary.parquet"),
    "recommendation": ("results.parquet", "summary.parquet"),
    "capacity": ("results.parquet", "summary.parquet"),
    "line": ("results.parquet", "summary.parquet"),
    "study": ("points.parquet", "claims.json"),
}


@dataclass(frozen=True)
class Verification:
    """How many folders and files were looked at, and a line for each that is damaged.

    Finished points and pages count among the files. Results of another format are not damaged, but
    cannot be checked: ``other_formats`` has a line for each of their folders.
    """

    folders: int
    files: int
    damage: list[str]
    other_formats: list[str]

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON can hold it."""
        return asdict(self)


def verify(folder: str | Path) -> Verification:
    """Check all results in a folder and below it.

    Parameters
    ----------
    folder
        Of a run, a comparison, a sweep, a recommendation or a study, or of several such folders.

    Raises
    ------
    InputError
        When there are no results.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     verify(place)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    headend.errors.InputError: ...: no results are here (nothing below has a manifest.json)
    """
    folder = take_path(folder, "folder")
    if not folder.is_dir():
        found = "a file" if folder.exists() else "nothing"
        raise InputError(f"{folder}: expected a results folder, found {found}")
    folders = sorted(_find_results(folder))
    if not folders:
        raise InputError(f"{folder}: no results are here (nothing below has a {MANIFEST})")
    damage: list[str] = []
    other_formats: list[str] = []
    for checked in folders:
        try:
            damage += _check(checked)
        except OtherFormatError as error:
            other_formats.append(str(error))  # the rest is of other forms too
    return Verification(len(folders), sum(map(_count, folders)), damage, other_formats)


def _find_results(folder: Path) -> set[Path]:
    """Find the folders of results, also of unfinished sweeps; scratch folders are none."""
    folders = set()
    for path in folder.rglob("*"):
        is_results = path.name in (MANIFEST, SEALS) or is_point(path)
        is_page = path.name == REPORT and path.is_file() and is_sealed_page(path)
        below = path.relative_to(folder).parts
        if (is_results or is_page) and not any(part.startswith(PREFIX) for part in below):
            folders.add(path.parent.parent if is_point(path) else path.parent)
    return folders


def _count(folder: Path) -> int:
    try:
        sealed = len(read_seals(folder))
    except InputError:
        sealed = 0
    return sealed + PointStore(folder / POINT_FOLDER).count() + (folder / REPORT).is_file()


def _check(folder: Path) -> Iterator[str]:
    """Say what is wrong with one folder's own files.

    Raises
    ------
    OtherFormatError
        When the results are of another format.
    """
    if (folder / MANIFEST).exists() or (folder / SEALS).exists():
        named: Path | None = None
        try:
            check_format(folder)
        except OtherFormatError:
            raise
        except InputError as error:
            yield str(error)
            named = folder / MANIFEST
        try:
            for line in find_damage(folder):
                if named is None or not line.startswith(f"{named}:"):
                    yield line
            yield from _find_unlisted(folder)
        except InputError as error:
            yield str(error)
    store = PointStore(folder / POINT_FOLDER)
    yield from store.find_damage()
    is_readable = store.folder.is_dir() or not os.path.lexists(store.folder)
    # What the manifest says of finished points: the first digits of each one's key.
    points = (read_own_manifest(folder) or {}).get("points")
    keys = list(map(str, points)) if isinstance(points, list) else []
    if is_readable and (gone := store.count_gone(keys)):
        yield (
            f"{store.folder}: of the results' points {gone} {'is' if gone == 1 else 'are'} gone;"
            " run it again"
        )
    if os.path.lexists(folder / REPORT) and (damage := find_page_damage(folder / REPORT)):
        yield damage


def _find_unlisted(folder: Path) -> Iterator[str]:
    """Name files of the results that no seal is of: nothing reads them, but they look whole."""
    manifest = read_own_manifest(folder)
    if manifest is None:
        return  # which is damage of its own
    kind = manifest.get("kind", "run")
    if not isinstance(kind, str):
        yield f"{folder / MANIFEST}: damaged: kind is no text"
        return
    expected = {MANIFEST, *NEEDED.get(kind, ()), *(path.name for path in folder.glob("*.parquet"))}
    if kind == "run":
        from headend.engine.columns import TABLES

        expected |= {f"{name}.parquet" for name in TABLES}
    runs = manifest.get("runs")
    if isinstance(runs, list):
        expected |= {f"{name}/{SEALS}" for name in runs}
    for name in sorted(expected - set(read_seals(folder))):
        yield f"{folder / name}: not listed in {SEALS}; run it again"
