"""Whether results are what was written: every sealed file, finished point and page in a folder of any kind and below it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headend.errors import InputError, take_path
from headend.folder import MANIFEST
from headend.result import check_format
from headend.seal import SEALS, find_damage, find_page_damage, read_seals
from headend.sweeps.store import POINT_FOLDER, PointStore

_PAGE = "report.html"


@dataclass(frozen=True)
class Verification:
    """What was looked at, and what is wrong.

    Parameters
    ----------
    folders
        Results folders.
    files
        Files in them, finished points and pages included.
    damage
        A line for each that is not what was written.
    """

    folders: int
    files: int
    damage: list[str]

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON can hold it."""
        return {"folders": self.folders, "files": self.files, "damage": self.damage}


def verify(folder: str | Path) -> Verification:
    """Check all results in a folder and below it.

    Parameters
    ----------
    folder
        Of a run, a comparison, a sweep or a study, or of several such folders.

    Raises
    ------
    InputError
        When there are no results.
    """
    folder = take_path(folder, "folder")
    if not folder.is_dir():
        found = "a file" if folder.exists() else "nothing"
        raise InputError(f"{folder}: expected a results folder, found {found}")
    names = (MANIFEST, SEALS, POINT_FOLDER, _PAGE)
    folders = sorted({path.parent for name in names for path in folder.rglob(name)})
    if not folders:
        raise InputError(f"{folder}: no results are here (nothing below has a {MANIFEST})")
    files = sum(_count(one) for one in folders)
    return Verification(len(folders), files, [line for one in folders for line in _check(one)])


def _count(folder: Path) -> int:
    try:
        sealed = len(read_seals(folder))
    except InputError:
        sealed = 0
    return sealed + PointStore(folder / POINT_FOLDER).count() + (folder / _PAGE).is_file()


def _check(folder: Path) -> Iterator[str]:
    """Say what is wrong with one folder's own files."""
    if (folder / MANIFEST).exists() or (folder / SEALS).exists():
        try:
            check_format(folder)
        except InputError as error:
            yield str(error)
            return
        try:
            yield from find_damage(folder)
        except InputError as error:
            yield str(error)
    yield from PointStore(folder / POINT_FOLDER).find_damage()
    if (folder / _PAGE).is_file() and (damage := find_page_damage(folder / _PAGE)):
        yield damage
