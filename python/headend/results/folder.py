"""Results folders appear whole or not at all, and sealed: filled in a scratch folder beside."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headend.errors import InputError, describe_system
from headend.results.replacing import PAGE, find_foreign, name_some
from headend.results.scratch import open_scratch, put_in_place, sweep_up, write_whole
from headend.results.seal import SEALS, read_sealed, seal

if TYPE_CHECKING:
    import polars as pl

MANIFEST = "manifest.json"
REPORT = PAGE

#: Bytes that a folder's name is cut to; file systems take 255, and an ending comes after.
LONGEST_NAME = 160

#: How much of a file is looked at to tell one of ours, in bytes.
HEAD_BYTES = 256

#: Kinds of results whose finished points are worth keeping: they are gone on with, never replaced.
RESUMABLE = ("sweep", "study", "recommendation", "capacity", "evaluation", "line")


def choose_folder(name: str, parent: Path = Path("results"), *, force: bool = False) -> Path:
    """Give the first free of ``results/NAME``, ``results/NAME-2``, …; with ``force`` the first."""
    candidate, number = parent / name, 2
    while not force and candidate.exists():
        candidate, number = parent / f"{name}-{number}", number + 1
    return candidate


def name_folders(labels: Sequence[str], taken: Sequence[str] = ()) -> list[str]:
    """Give each label a folder name of its own, which is none of those that are taken.

    Examples
    --------
    >>> name_folders(["drop tail, 1 s", "drop tail; 1 s"])
    ['drop-tail-1-s', 'drop-tail-1-s-2']
    >>> name_folders(["Codel", "codel"])
    ['Codel', 'codel-2']
    >>> name_folders(["figures"], taken=["figures"])
    ['figures-2']
    >>> [len(name) for name in name_folders(["x" * 300, "x" * 301])]
    [160, 162]
    """
    names: list[str] = []
    # Some file systems take names that differ only in case for one.
    used = {name.casefold() for name in taken}
    for label in labels:
        stem = re.sub(r"[^\w.]+", "-", label).strip("-.") or "run"
        stem = stem.encode()[:LONGEST_NAME].decode(errors="ignore").rstrip("-.")
        name, number = stem, 2
        while name.casefold() in used:
            name, number = f"{stem}-{number}", number + 1
        used.add(name.casefold())
        names.append(name)
    return names


def encode_table(frame: pl.DataFrame) -> bytes:
    """Give a table as the bytes of a Parquet file."""
    content = io.BytesIO()
    frame.write_parquet(content, compression="zstd", statistics=False)
    return content.getvalue()


def encode_json(content: Mapping[str, Any]) -> bytes:
    """Give a document as the bytes of a JSON file."""
    return (json.dumps(content, indent=2, ensure_ascii=False, default=str) + "\n").encode()


def make_folder(folder: Path) -> None:
    """Make a folder, with those above it, if absent; what a killed run left is removed.

    Raises
    ------
    InputError
        When it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {describe_system(error)}") from error
    sweep_up(folder)


def refuse_link(folder: Path) -> None:
    """Refuse a folder of results that is a link: what is written there would be elsewhere.

    Raises
    ------
    InputError
        For a link.
    """
    if folder.is_symlink():
        raise InputError(f"{folder}: expected a folder of the results, found a link")


def write_file(content: bytes, path: Path) -> None:
    """Write a file, whole or as it was.

    Raises
    ------
    InputError
        When it cannot be written.
    """
    try:
        write_whole(path, content)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {describe_system(error)}") from error


def read_table(folder: Path, name: str) -> pl.DataFrame:
    """Read a table of a results folder; nothing is decoded that is not what was written.

    Raises
    ------
    InputError
        When it is not there, or damaged.
    """
    return decode_table(read_sealed(folder, name), folder / name)


def decode_table(content: bytes, path: Path) -> pl.DataFrame:
    """Read the bytes of a Parquet file, whose path an error names."""
    import polars as pl

    try:
        return pl.read_parquet(io.BytesIO(content))
    except pl.exceptions.PolarsError as error:
        raise InputError(f"{path}: damaged: {str(error).splitlines()[0]}") from error


def read_json(folder: Path, name: str) -> dict[str, Any]:
    """Read a document of a results folder, which is what was written.

    Raises
    ------
    InputError
        When it is not there, or damaged.
    """
    text = read_sealed(folder, name)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{folder / name}: damaged: not JSON; run it again") from error
    if not isinstance(content, dict):
        raise InputError(f"{folder / name}: damaged: expected an object, found something else")
    return content


@contextmanager
def create_folder(target: Path, *, force: bool = False) -> Iterator[Path]:
    """Give a fresh folder to fill; it takes the target's place when the block ends well.

    Parameters
    ----------
    target
        The folder to be.
    force
        Replace what is there, if it is the results of runs and nothing besides; an empty folder is
        filled in any case.

    Raises
    ------
    InputError
        At once, before any work is done, when the target holds something or cannot be written.
    """
    # Of a link, what it leads to is replaced, and not the link.
    target = Path(os.path.realpath(target) if target.is_symlink() else os.path.normpath(target))
    if target.exists():
        _check_replaceable(target, force=force)
    refuse_below_file(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        sweep_up(target.parent)
        with open_scratch(target.parent) as scratch:
            fresh = scratch / target.name
            fresh.mkdir()
            yield fresh
            _seal_tree(fresh)
            if force and _is_replaceable(target):
                put_in_place(fresh, target, scratch)
            else:
                _put_where_free(fresh, target)
    except OSError as error:
        raise InputError(f"{target}: cannot be written: {describe_system(error)}") from error


def _is_replaceable(target: Path) -> bool:
    """Say whether a place is free or holds results alone, now that the run is over."""
    if not target.exists():
        return True
    try:
        _check_replaceable(target, force=True)
    except InputError:
        return False
    return True


def _put_where_free(fresh: Path, target: Path) -> None:
    """Move a folder to its place, or beside it with an error if something has come there."""
    if not target.exists() or not any(target.iterdir()):
        os.rename(fresh, target)  # noqa: PTH104
        return
    beside = choose_folder(target.name, target.parent)
    os.rename(fresh, beside)  # noqa: PTH104
    raise InputError(
        f"{target}: something else was written there in the meantime; the results of this run are"
        f" in {beside}"
    )


def _seal_tree(folder: Path) -> None:
    """Seal all files of a folder just filled; results folders in it have their own seals."""
    inner = {path.parent for path in folder.rglob(MANIFEST)} - {folder}
    for inner_folder in inner:
        _seal_tree(inner_folder)
    files = (path for path in folder.rglob("*") if path.is_file())
    seal(
        folder,
        [
            path.relative_to(folder).as_posix()
            for path in files
            # Of a folder within, its seals stand for the rest.
            if path.name == SEALS or inner.isdisjoint(path.parents)
        ],
    )


def read_own_manifest(path: Path) -> dict[str, Any] | None:
    """Give what headend noted of a folder of results; None where the folder is not headend's."""
    try:
        manifest = (
            json.loads((path / MANIFEST).read_bytes()) if (path / MANIFEST).is_file() else None
        )
    except (OSError, ValueError, RecursionError):
        return None
    return manifest if isinstance(manifest, dict) and "headend" in manifest else None


def read_kind(path: Path) -> str | None:
    """Say what headend wrote to a folder, such as ``run`` or ``sweep``; None if not its own."""
    manifest = read_own_manifest(path)
    return None if manifest is None else str(manifest.get("kind", "run"))


def refuse_below_file(path: Path) -> None:
    """Refuse a path that leads through a file."""
    for parent in path.parents:
        if parent.exists() and not parent.is_dir():
            raise InputError(f"{path}: cannot be written: {parent} is a file")


def refuse_foreign(
    path: Path, what: str, head: re.Pattern[bytes], way_out: str, *, force: bool = False
) -> None:
    """Refuse to write a file over anything but an empty file or one of ours.

    Parameters
    ----------
    what
        What is to be written, such as ``JUnit XML``.
    head
        How every such file of ours begins, within `HEAD_BYTES`.
    way_out
        What to do instead, in the imperative.
    force
        Whether any file may be written over.

    Raises
    ------
    InputError
        For such a file, a folder, a pipe, a device, and a path that leads through a file.
    """
    refuse_below_file(path)
    if path.is_dir():
        raise InputError(f"{path}: expected a file to write {what} to, found a folder")
    if not path.exists():
        return
    if not path.is_file():
        # Opened, a pipe would wait for somebody to write to it.
        raise InputError(f"{path}: expected a file to write {what} to, found a pipe or a device")
    if force:
        return
    with path.open("rb") as file:
        found = file.read(HEAD_BYTES)
    if found and not head.match(found):
        raise InputError(f"{path}: exists, and is no {what} of headend; {way_out}")


def is_results_folder(path: Path) -> bool:
    """Say whether headend wrote this folder."""
    return read_kind(path) is not None


def check_kind(folder: Path, expected: str) -> None:
    """Refuse a folder that holds results of another kind than the expected one."""
    kind = read_kind(folder)
    if kind not in (None, expected):
        raise InputError(f"{folder}: holds the results of a {kind}; choose another folder")


def _check_replaceable(target: Path, *, force: bool) -> None:
    """Refuse to write where something is, unless it is to be replaced and is only results."""
    if not target.is_dir():
        raise InputError(f"{target}: expected a folder to write results to, found a file")
    if not any(target.iterdir()):
        return
    kind = read_kind(target)
    if kind is None:
        raise InputError(
            f"{target}: not a results folder, so it is not replaced; choose another folder"
        )
    if kind in RESUMABLE:
        raise InputError(
            f"{target}: holds the points of a {kind}, so it is not replaced; choose another folder"
        )
    try:
        foreign = find_foreign(target)
    except InputError as error:
        raise InputError(
            f"{target}: not replaced, since nobody can tell what in it the results wrote; choose"
            f" another folder, or delete it ({str(error).removesuffix('; run it again')})"
        ) from error
    if foreign:
        raise InputError(
            f"{target}: not replaced, since it also holds what its results did not write:"
            f" {name_some(foreign)}; move that elsewhere, or choose another folder"
        )
    if not force:
        raise InputError(
            f"{target}: exists; choose another folder, or replace it with --force (from Python,"
            " force=True)"
        )
