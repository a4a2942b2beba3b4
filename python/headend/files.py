"""Reads files and standard input up to a limit; never pipes and devices, which may wait."""

from __future__ import annotations

import stat
import sys
import tomllib
from pathlib import Path
from typing import Any

from headend.errors import InputError, describe_system, refuse_unwritable

#: The path that stands for standard input or output.
STANDARD_INPUT = "-"

#: A modem accepts a configuration file of 8192 B at least. Certificates and digit maps make files
#: of some tens of KiB.
LARGEST_MODEM_FILE_BYTES = 128 * 2**10

#: The name of standard input in errors.
STANDARD_INPUT_SHOWN = "standard input"


class TomlError(tomllib.TOMLDecodeError):
    """A text that Python's reader cannot read as TOML, though it does not say so itself."""

    def __init__(self, message: str) -> None:
        ValueError.__init__(self, message)


def parse_toml(text: str) -> dict[str, Any]:
    """Read a text as TOML.

    Raises
    ------
    tomllib.TOMLDecodeError
        Also for numbers of more digits, and tables of more levels, than Python reads.

    Examples
    --------
    >>> parse_toml("a = 1"), len(parse_toml("a = [[1]]"))
    ({'a': 1}, 1)
    >>> parse_toml(f"a = {'1' * 5000}")
    Traceback (most recent call last):
    ...
    headend.files.TomlError: a number of too many digits
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError as error:
        raise TomlError("nested too deeply") from error
    except ValueError as error:
        raise TomlError("a number of too many digits") from error


def read_bytes(path: Path, most: int, what: str) -> bytes:
    """Read a file up to a limit. A pipe or device, which may wait or never end, is not opened.

    Parameters
    ----------
    path
        The file.
    most
        The most bytes that it may have.
    what
        The name of the expected content, for the error of a file that is larger.

    Raises
    ------
    InputError
        In one line that begins with the path.
    """
    refuse_unwritable(str(path))
    try:
        kind = path.stat().st_mode
        if stat.S_ISDIR(kind):
            raise InputError(f"{path}: expected a file, found a directory")
        if not stat.S_ISREG(kind):
            raise InputError(f"{path}: expected a file, found a pipe or a device")
        with path.open("rb") as file:
            content = file.read(most + 1)
        if len(content) > most:
            found = _write_size(max(path.stat().st_size, len(content)))
            raise InputError(
                f"{path}: {found} is too large for a {what} (at most {_write_size(most)})"
            )
        return content
    except OSError as error:
        raise InputError(f"{path}: {(error.strerror or str(error)).lower()}") from error


def read_standard_input(most: int, what: str) -> bytes:
    """Read standard input to its end, up to a limit.

    Parameters
    ----------
    most
        The most bytes that are read.
    what
        The name of the expected content, for the error of an input that is larger.

    Raises
    ------
    InputError
        In one line, where there is more, or where it cannot be read.
    """
    shown_as = STANDARD_INPUT_SHOWN
    try:
        stream = getattr(sys.stdin, "buffer", sys.stdin)
        content = stream.read(most + 1) if stream else b""
    except (OSError, ValueError) as error:  # a ValueError where it is closed
        raise InputError(
            f"{shown_as}: cannot be read: {describe_system(error).rstrip('.')}"
        ) from error
    if len(content) > most:
        raise InputError(f"{shown_as}: too large for a {what} (more than {_write_size(most)})")
    return content.encode() if isinstance(content, str) else content


def _write_size(size: int) -> str:
    """Write a size in MiB, whole KiB or bytes, never reading like a limit that it exceeds.

    Examples
    --------
    >>> _write_size(2**30), _write_size(2**20 + 1), _write_size(128 * 2**10), _write_size(100)
    ('1024 MiB', '1048577 B', '128 KiB', '100 B')
    """
    mebi = size / 2**20
    if mebi < 1 and size and size % 2**10 == 0:
        return f"{size // 2**10} KiB"
    if mebi < 1 or (mebi < 2 and size % 2**20):
        return f"{size} B"
    return f"{mebi:.0f} MiB"
