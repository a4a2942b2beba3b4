"""Files that appear whole or not at all, from scratch folders locked by living owners.

What an owner that was killed left behind is swept up by the next one: its lock is gone with it.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

#: How the name of a scratch folder begins; eight characters of `tempfile` follow.
PREFIX = ".headend."

_NAME = re.compile(rf"{re.escape(PREFIX)}[a-z0-9_]{{8}}")

#: The file in a scratch folder that says what it is: nothing without it is ever removed.
_MARK = "scratch-of-headend"

#: The folder within a scratch folder for what is moved aside to make room; it may go back.
_ASIDE = "aside"


@contextmanager
def open_scratch(parent: Path) -> Iterator[Path]:
    """Give a fresh folder that nobody else has; it is gone with its content after the block.

    Parameters
    ----------
    parent
        Where it is made; it must exist.
    """
    scratch = Scratch(parent)
    try:
        yield scratch.path
    finally:
        scratch.remove()


class Scratch:
    """A fresh folder that nobody else has, until it is removed.

    Parameters
    ----------
    parent
        Where it is made; it must exist. `sweep_up` removes what killed owners left.
    """

    def __init__(self, parent: Path) -> None:
        self.path, self._lock = _claim(parent)

    def remove(self) -> None:
        """Remove it, with all that is still in it."""
        try:
            _clear(self.path)
        finally:
            os.close(self._lock)


def sweep_up(parent: Path) -> None:
    """Remove scratch folders of killed owners; what they had moved aside goes back."""
    try:
        found = [path for path in parent.iterdir() if _NAME.fullmatch(path.name)]
    except OSError:
        return
    for path in found:
        with suppress(OSError):
            lock = os.open(path, _FOLDER)
            try:
                if os.fstat(lock).st_uid == os.geteuid():
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    if (path / _MARK).is_file():
                        _clear(path)
                    else:
                        path.rmdir()  # if it is empty, it may be one that was not marked yet
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
    """Move a folder to its place; what is there is moved aside, and comes back on failure.

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


def _claim(parent: Path) -> tuple[Path, int]:
    """Make, lock and mark a folder; again, if another process removes it before the lock."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        try:
            lock = os.open(path, _FOLDER)
        except FileNotFoundError:
            continue
        try:
            with suppress(OSError):  # where a file system has no locks, nothing is swept up either
                fcntl.flock(lock, fcntl.LOCK_EX)
            write_bytes(path / _MARK, b"")
        except FileNotFoundError:
            os.close(lock)
        except BaseException:
            os.close(lock)
            shutil.rmtree(path, ignore_errors=True)
            raise
        else:
            return path, lock


def _clear(scratch: Path) -> None:
    """Remove a scratch folder; what was moved aside and not replaced goes back to its place."""
    aside = scratch / _ASIDE
    for path in aside.iterdir() if aside.is_dir() and not aside.is_symlink() else ():
        place = scratch.parent / path.name
        if not place.exists():
            os.rename(path, place)  # noqa: PTH104
    with suppress(OSError):
        for path in scratch.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name != _MARK:
                path.unlink()
        # Last: what could not be removed now is swept up later.
        (scratch / _MARK).unlink(missing_ok=True)
        scratch.rmdir()


#: How a folder is opened to be locked: the folder itself, not what a link leads to.
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
