"""Files that appear whole or not at all, by way of scratch folders that are locked while their owner lives.

What an owner that was killed left behind is swept up by the next one: its lock is gone with it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

#: How the name of a scratch folder begins.
PREFIX = ".headend."

#: The folder within a scratch folder for what is moved aside to make room; it goes back if the room stays empty.
_ASIDE = "aside"


@contextmanager
def open_scratch(parent: Path, prefix: str = PREFIX) -> Iterator[Path]:
    """Give a fresh folder that nobody else has; it is gone, with all that is still in it, when the block ends.

    Parameters
    ----------
    parent
        Where it is made; it must exist.
    prefix
        How its name begins.
    """
    path, lock = _claim(parent, prefix)
    try:
        yield path
    finally:
        try:
            _clear(path)
        finally:
            os.close(lock)


def keep_scratch(parent: Path, prefix: str) -> Path:
    """Give a fresh folder that stays until this process ends or removes it."""
    path, _ = _claim(parent, prefix)
    return path


def sweep_up(parent: Path, prefix: str = PREFIX) -> None:
    """Remove the scratch folders whose owners were killed; what one of them had moved aside goes back."""
    try:
        found = [path for path in parent.iterdir() if path.name.startswith(prefix)]
    except OSError:
        return
    for path in found:
        with suppress(OSError):
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _clear(path)
            finally:
                os.close(lock)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file in the place of the one that is there, or leave that as it is."""
    with open_scratch(path.parent) as scratch:
        fresh = scratch / path.name
        write_bytes(fresh, content)
        os.replace(fresh, path)  # noqa: PTH105 - the calls on the disk are os's, where tests let them fail


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file into a folder that nobody else sees yet."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
    finally:
        os.close(descriptor)


def put_in_place(fresh: Path, target: Path, scratch: Path) -> None:
    """Move a folder to its place; what is there is moved aside, and comes back if that fails or is cut short.

    Parameters
    ----------
    fresh
        The folder.
    target
        Its place, beside the scratch folder.
    scratch
        A scratch folder beside the place.
    """
    if target.exists():
        os.mkdir(scratch / _ASIDE)  # noqa: PTH102
        os.rename(target, scratch / _ASIDE / target.name)  # noqa: PTH104
    os.rename(fresh, target)  # noqa: PTH104


def _claim(parent: Path, prefix: str) -> tuple[Path, int]:
    """Make and lock a folder. Until it is locked, another one may sweep it up: then it is made again."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        try:
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            continue
        with suppress(OSError):  # where a file system has no locks, nothing is swept up either
            fcntl.flock(lock, fcntl.LOCK_EX)
        if path.exists():
            return path, lock
        os.close(lock)


def _clear(scratch: Path) -> None:
    """Remove a scratch folder; what was moved aside and not replaced goes back to its place."""
    aside = scratch / _ASIDE
    for path in aside.iterdir() if aside.is_dir() else ():
        place = scratch.parent / path.name
        if not place.exists():
            os.rename(path, place)  # noqa: PTH104
    shutil.rmtree(scratch, ignore_errors=True)
