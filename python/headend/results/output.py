"""A file that a person names, which is written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from headend.errors import InputError, describe_system, refuse_unwritable
from headend.results.scratch import write_whole


def check_output(path: Path, *, force: bool, sources: Iterable[str | Path] = ()) -> None:
    """Refuse a file that cannot be written for a reason that is known in advance.

    Forced, it may be there already, unless it is one of the sources, which are read.
    """
    refuse_unwritable(str(path))
    if path.is_dir():
        raise InputError(f"{path}: expected a file to write, found a directory")
    if any(_is_same(path, Path(source)) for source in sources):
        raise InputError(f"{path}: is the file that is read; give another name")
    if not path.parent.exists():
        raise InputError(f"{path}: cannot be written: no such file or directory")
    if not os.path.lexists(path):
        return
    if not force:
        raise InputError(f"{path}: exists already; --force replaces it")
    if not path.is_file():
        raise InputError(f"{path}: expected a file to replace, found a pipe, a device or a link")


def write_output(path: Path, content: bytes, *, force: bool) -> None:
    """Write a file; one that cannot be written whole is removed."""
    try:
        if force and path.exists():
            write_whole(Path(os.path.realpath(path)), content)
            return
        with path.open("xb") as file:
            try:
                file.write(content)
                file.flush()
            except BaseException:
                path.unlink(missing_ok=True)
                raise
    except FileExistsError as error:
        raise InputError(f"{path}: exists already; --force replaces it") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {describe_system(error)}") from error


def _is_same(path: Path, source: Path) -> bool:
    try:
        return path.samefile(source)
    except OSError:
        return False
