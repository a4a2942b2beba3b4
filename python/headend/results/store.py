"""The store of finished points: a Parquet file each, named by content's key and seal."""

from __future__ import annotations

import functools
import hashlib
import logging
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from headend.errors import InputError, describe_system
from headend.results.folder import check_kind, decode_table, encode_table, refuse_link
from headend.results.scratch import sweep_up, write_whole

if TYPE_CHECKING:
    import polars as pl

#: The folder of finished points in the results of a sweep or a study.
POINT_FOLDER = "points"

#: Where nobody has configured logging, a warning is a line on standard error.
_LOGGER = logging.getLogger(__name__)

_NAME = re.compile(r"([0-9a-f]{64})\.([0-9a-f]{64})\.parquet")


class PointStore:
    """The points that are done.

    A point's file is called by its key and by the SHA-256 of key and content together. So nothing
    is decoded that is not what was written, and nothing is taken for another point, whatever was
    copied over it.

    Parameters
    ----------
    folder
        Where they are; it need not exist.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def find(self, keys: Iterable[str]) -> set[str]:
        """Give the points kept whole; damaged ones are removed with a note, to be run again."""
        refuse_link(self.folder)
        sweep_up(self.folder)
        kept, damaged = set(), []
        for key in keys:
            path = self._paths.get(key)
            if path is None:
                continue
            if _read(path) is None:
                damaged.append(path)
            else:
                kept.add(key)
        for path in damaged:
            self._remove(path)
        if damaged:
            count = f"{len(damaged)} damaged points" if len(damaged) > 1 else "a damaged point"
            _LOGGER.warning("%s: %s: run again", self.folder, count)
        return kept

    def add(self, key: str, frame: pl.DataFrame) -> None:
        """Keep a point, at once.

        Raises
        ------
        InputError
            When it cannot be written; what was kept before is not touched.
        """
        content = encode_table(frame)
        path = self.folder / f"{key}.{_seal(key, content)}.parquet"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_whole(path, content)
        except OSError as error:
            raise InputError(
                f"{self.folder}: cannot be written: {describe_system(error)}"
            ) from error
        self._paths[key] = path

    def read(self, key: str) -> pl.DataFrame:
        """Give what was kept of a point.

        Raises
        ------
        InputError
            When it was damaged since it was found.
        """
        path = self._paths[key]
        content = _read(path)
        if content is None:
            raise InputError(f"{path}: damaged: it is not what was written; run again to go on")
        return decode_table(content, path)

    def find_damage(self) -> Iterator[str]:
        """Describe the fault of each changed point, and count the points without a seal."""
        if self.folder.is_symlink() or (self.folder.exists() and not self.folder.is_dir()):
            yield f"{self.folder}: expected a folder of the results, found a link or a file"
            return
        try:
            next(self.folder.iterdir(), None)
        except FileNotFoundError:
            return
        except OSError as error:
            yield f"{self.folder}: {describe_system(error)}"
            return
        unsealed = 0
        for path in sorted(self.folder.glob("*.parquet")):
            if not _NAME.fullmatch(path.name):
                unsealed += 1
                continue
            try:
                if _read(path) is None:
                    yield (
                        f"{path}: not what was written under this name (its SHA-256 is another);"
                        " run it again, or delete it"
                    )
            except InputError as error:
                yield str(error)
        if unsealed:
            yield (
                f"{self.folder}: points without a seal, as an older headend wrote them: {unsealed};"
                " they are not used, and can be deleted"
            )

    def count_gone(self, points: Iterable[str]) -> int:
        """Count the points that are not there, of those that `list_points` listed."""
        return len(set(points) - set(list_points(self._paths)))

    def count(self) -> int:
        """Count the points that are there, whole or not."""
        return len(self._paths)

    @functools.cached_property
    def _paths(self) -> dict[str, Path]:
        """The files by key."""
        names = (_NAME.fullmatch(path.name) for path in self.folder.glob("*.parquet"))
        return {name[1]: self.folder / name[0] for name in names if name}

    def _remove(self, path: Path) -> None:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise InputError(
                f"{path}: damaged, and cannot be removed: {describe_system(error)}"
            ) from error


def list_points(keys: Iterable[str]) -> list[str]:
    """List points for a manifest: the first 16 digits of each one's key, sorted."""
    return sorted({key[:16] for key in keys})


def check_point_folder(folder: Path, kind: str) -> None:
    """Refuse a folder that holds something else than the results of a kind, such as ``sweep``."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: expected a folder to write results to, found a file")
    is_own = not folder.is_dir() or (folder / POINT_FOLDER).is_dir()
    check_kind(folder, kind)
    if not is_own and any(not path.name.startswith(".") for path in folder.iterdir()):
        raise InputError(
            f"{folder}: holds something other than a {kind}'s results; choose another folder"
        )


def is_point(path: Path) -> bool:
    """Say whether a file has the name of a finished point, whatever its content."""
    return path.parent.name == POINT_FOLDER and _NAME.fullmatch(path.name) is not None


def _read(path: Path) -> bytes | None:
    """Give the content of a point's file; None where it was changed since it was written."""
    name = _NAME.fullmatch(path.name)
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return None
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:  # perhaps for the moment only: a point is not given up for that
        raise InputError(f"{path}: cannot be read: {describe_system(error)}") from error
    return content if name and _seal(name[1], content) == name[2] else None


def _seal(key: str, content: bytes) -> str:
    """Give the SHA-256 of a key and what is kept under it."""
    digest = hashlib.sha256(f"{key}\n".encode())
    digest.update(content)
    return digest.hexdigest()
