"""Results folders appear whole or not at all: written under a temporary name beside, then renamed."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headend.errors import InputError

if TYPE_CHECKING:
    import polars as pl

MANIFEST = "manifest.json"

#: Kinds of results whose finished points are worth keeping: they are gone on with, never replaced.
RESUMABLE = ("sweep", "study")


def choose_folder(name: str, parent: Path = Path("results"), *, force: bool = False) -> Path:
    """Give the first of ``results/NAME``, ``results/NAME-2``, … that does not exist; with ``force`` the first."""
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
    >>> name_folders(["figures"], taken=["figures"])
    ['figures-2']
    """
    names: list[str] = []
    for label in labels:
        stem = re.sub(r"[^\w.]+", "-", label).strip("-.") or "run"
        name, number = stem, 2
        while name in names or name in taken:
            name, number = f"{stem}-{number}", number + 1
        names.append(name)
    return names


def write_table(frame: pl.DataFrame, path: Path) -> None:
    """Write a table as Parquet, whole or as it was."""
    _replace(path, lambda fresh: frame.write_parquet(fresh))


def write_json(content: Mapping[str, Any], path: Path) -> None:
    """Write a document as JSON, whole or as it was."""
    text = json.dumps(content, indent=2, ensure_ascii=False, default=str) + "\n"
    _replace(path, lambda fresh: fresh.write_text(text, encoding="utf-8"))


def _replace(path: Path, write: Callable[[Path], object]) -> None:
    fresh = path.with_name(f".{path.name}.new")
    try:
        write(fresh)
        fresh.replace(path)
    except Exception as error:
        if not is_write_failure(error):
            raise
        raise InputError(f"{path}: cannot be written: {describe(error)}") from error


@contextmanager
def create_folder(target: Path, *, force: bool = False) -> Iterator[Path]:
    """Give a fresh folder to fill; it takes the target's place when the block ends well.

    Parameters
    ----------
    target
        The folder to be.
    force
        Replace what is there, if it is the results of runs; an empty folder is filled in any case.

    Raises
    ------
    InputError
        At once, before any work is done, when the target holds something or cannot be written.
    """
    target = Path(os.path.normpath(target))
    if target.exists():
        _check_replaceable(target, force=force)
    for parent in target.parents:
        if parent.exists() and not parent.is_dir():
            raise InputError(f"{target}: cannot be written: {parent} is a file")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as error:
        raise InputError(f"{target}: cannot be written: {describe(error)}") from error
    try:
        yield fresh
        fresh.chmod(0o777 & ~_current_umask())
        _move(fresh, target)
    except Exception as error:
        if not is_write_failure(error):
            raise
        raise InputError(f"{target}: cannot be written: {describe(error)}") from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def read_own_manifest(path: Path) -> dict[str, Any] | None:
    """Give what headend noted of a folder of results; None where the folder is not headend's."""
    try:
        manifest = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return manifest if isinstance(manifest, dict) and "headend" in manifest else None


def read_kind(path: Path) -> str | None:
    """Say what headend wrote to a folder, such as ``run`` or ``sweep``; None where it is not headend's."""
    manifest = read_own_manifest(path)
    return None if manifest is None else str(manifest.get("kind", "run"))


def is_results_folder(path: Path) -> bool:
    """Say whether headend wrote this folder."""
    return read_kind(path) is not None


def check_kind(folder: Path, own: str) -> None:
    """Refuse a folder with another kind of results than those that are to go there."""
    kind = read_kind(folder)
    if kind not in (None, own):
        raise InputError(f"{folder}: holds the results of a {kind}; choose another folder")


def is_write_failure(error: Exception) -> bool:
    """Say whether the disk is at fault, which Polars tells in errors of its own."""
    if isinstance(error, OSError):
        return True
    polars = sys.modules.get("polars")
    return polars is not None and isinstance(error, polars.exceptions.PolarsError)


def describe(error: Exception) -> str:
    """Say what the system said, in lower case, in one line and without the number."""
    text = (getattr(error, "strerror", None) or str(error)).splitlines()[0].lower()
    # Polars wraps the system's words: "parquet: …: underlying io error: no space left on device (os error 28)".
    return re.sub(r" \(os error \d+\)$", "", re.sub(r"^.*\bio error: ", "", text))


def _check_replaceable(target: Path, *, force: bool) -> None:
    if not target.is_dir():
        raise InputError(f"{target}: expected a folder to write results to, found a file")
    if not any(target.iterdir()):
        return
    if not force:
        raise InputError(
            f"{target}: exists; choose another folder, or replace it with --force (from Python, force=True)"
        )
    kind = read_kind(target)
    if kind is None:
        raise InputError(f"{target}: not a results folder, so it is not replaced")
    if kind in RESUMABLE:
        raise InputError(
            f"{target}: holds the points of a {kind}, so it is not replaced; choose another folder"
        )


def _move(fresh: Path, target: Path) -> None:
    if not target.exists():
        fresh.rename(target)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{target.name}.old.", dir=target.parent))
    target.rename(old / "was")
    fresh.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def _current_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
