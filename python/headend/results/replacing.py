"""Finds files in a results folder that headend did not write; with some, ``--force`` refuses."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from headend.results.scratch import sweep_up
from headend.results.seal import SEALS, read_seals

#: The page of a results folder. It is not sealed, since it can be made again from the other files.
PAGE = "report.html"

#: Folders that commands write into a results folder unless they are told otherwise, each with the
#: endings of their files.
WRITTEN_LATER = {
    "figures": (".svg", ".pdf", ".png"),
    "tables": (".csv", ".jsonl"),
    "qlog": (".sqlog",),
    "flent": (".gz",),
}

#: Names that an error lists at most.
MOST_NAMED = 3


def find_foreign(folder: Path) -> list[str]:
    """Find files in a results folder that are not of its results, such as notes.

    Sealed files, the page, pictures in the folder ``figures``, and tables made of the results
    belong to them. Tables may be in any folder, since ``--csv`` may name one. Paths start at the
    folder and are sorted. A folder that holds nothing of the results is named alone, with ``/``
    behind; empty ones do not count. Without seals that can be read, an InputError is raised.
    """
    sweep_up(folder)
    sealed = set(_list_sealed(folder, PurePosixPath()))
    own_folders = {parent for path in sealed for parent in path.parents}
    tables = {path.stem for path in sealed if path.suffix == ".parquet"}
    foreign = set()
    for path in _list_files(folder):
        if path in sealed or _is_written_later(path, own_folders, tables):
            continue
        # The topmost folder without a file of the results stands for all its files.
        above = [
            parent
            for parent in path.parents
            if parent not in own_folders
            and not (parent.name in WRITTEN_LATER and parent.parent in own_folders)
        ]
        foreign.add(f"{above[-1]}/" if above else str(path))
    return sorted(foreign)


def name_some(names: list[str]) -> str:
    """Name the first of several names, and say how many more there are.

    Examples
    --------
    >>> name_some(["bad/", "mine/", "notes.txt", "x"])
    'bad/, mine/, notes.txt and 1 more'
    """
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _list_sealed(folder: Path, within: PurePosixPath) -> Iterator[PurePosixPath]:
    """Give the files that seals name, with those that the seals of inner results name."""
    yield within / SEALS
    for name in read_seals(folder / within):
        path = PurePosixPath(name)
        # headend writes no seals that name themselves or a folder outside.
        if path.name == SEALS and path.parent.parts and ".." not in path.parts:
            yield from _list_sealed(folder, within / path.parent)
        else:
            yield within / path


def _list_files(folder: Path) -> Iterator[PurePosixPath]:
    """Give all files and links in a folder and below it; links are not followed."""
    for parent, folders, files in os.walk(folder):
        links = [name for name in folders if (Path(parent) / name).is_symlink()]
        for name in (*files, *links):
            yield PurePosixPath((Path(parent) / name).relative_to(folder).as_posix())


def _is_written_later(
    path: PurePosixPath, own_folders: set[PurePosixPath], tables: set[str]
) -> bool:
    """Say whether a command wrote a file into finished results: a page, picture or table."""
    if path.parent in own_folders and path.name == PAGE:
        return True
    if path.suffix in WRITTEN_LATER["tables"] and path.stem in tables:
        return True
    is_beside = path.parent.parent in own_folders and path.parent != path.parent.parent
    return is_beside and path.suffix in WRITTEN_LATER.get(path.parent.name, ())
