"""Reading a modem's file, or the text of one, from a path or, as ``-``, from standard input.

Whatever cannot be read is an `InputError` in one line: nothing there, too large, another form.
"""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from headend.errors import InputError, find_near
from headend.files import (
    LARGEST_MODEM_FILE_BYTES,
    STANDARD_INPUT,
    STANDARD_INPUT_SHOWN,
    read_bytes,
    read_standard_input,
)

#: The most bytes of a text. In the text of the largest file a TLV of two bytes takes a line of
#: TOML, or several lines of JSON.
LARGEST_TEXT_BYTES = 32 * 2**20

#: The line by which the text of a file without MICs says that it is to have none; the engine
#: refuses the key elsewhere.
_UNSIGNED = re.compile(r"^\s*unsigned\s*=\s*true\b", re.MULTILINE)

#: Files of a directory that may be meant by a name that no file has.
MOST_BESIDE = 1000

#: Characters below a space that a text has.
_WHITESPACE = frozenset("\t\n\r\f")


@dataclass(frozen=True)
class ModemFile:
    """The bytes of a modem's file, and its name in errors.

    Parameters
    ----------
    shown_as
        The path as it was given, or ``standard input``.
    content
        The bytes.
    """

    shown_as: str
    content: bytes


def read_modem_file(source: str) -> ModemFile:
    """Read a modem's file; its text is refused."""
    content = _read(source, LARGEST_MODEM_FILE_BYTES)
    shown_as = show_source(source)
    if is_text(content):
        raise InputError(
            f"{shown_as}: expected a modem's file, which is binary, found a text; headend config"
            f" encode {_quote(source)} makes the binary file of TOML or JSON"
        )
    return ModemFile(shown_as, content)


def read_any_form(source: str) -> ModemFile:
    """Read a modem's file, or its TOML or JSON, which is turned into the bytes of the file."""
    content = _read(source, LARGEST_MODEM_FILE_BYTES)
    shown_as = show_source(source)
    if is_text(content):
        try:
            content = read_text_form(content.decode("utf-8"), shown_as)
        except InputError as error:
            if (reason := _find_syntax_fault(error)) is None:
                raise
            raise InputError(
                f"{shown_as}: expected a modem's file, binary or as TOML or JSON, found another"
                f" text: {reason}"
            ) from error
    return ModemFile(shown_as, content)


def _find_syntax_fault(error: InputError) -> str | None:
    """Say why a text is no TOML or JSON; None where it is one."""
    cause = error.__cause__
    _, mark, reason = str(cause).partition("not readable: ")
    line = getattr(cause, "line", None)
    return f"{reason} in line {line}" if mark and line else reason or None


def read_text(source: str) -> str:
    """Read the text of a modem's file."""
    content = _read(source, LARGEST_TEXT_BYTES)
    if not is_text(content):
        raise InputError(
            f"{show_source(source)}: expected TOML or JSON, found a binary file; headend config"
            f" decode {_quote(source)} shows it as TOML"
        )
    return content.decode("utf-8")


def read_text_form(text: str, shown_as: str) -> bytes:
    """Give the bytes that the TOML or JSON of a modem's file stands for.

    ``shown_as`` names the text in errors, which give the line or the path of what is wrong.
    """
    from headend import _engine

    try:
        return _engine.config_from_text(text)
    except _engine.ConfigError as error:
        raise InputError(f"{shown_as}: {error}") from error


def wants_signing(text: str) -> bool:
    r"""Say whether a text's file is signed where there is a secret: no ``unsigned = true``.

    JSON is what ``headend config decode --json`` wrote of a file, so that it stays as it is.

    Examples
    --------
    >>> wants_signing("max_cpe = 1\n"), wants_signing("unsigned = true # no MICs\n"), wants_signing(
    ...     '{"tlvs": []}'
    ... )
    (True, False, False)
    """
    is_json = text.removeprefix("\ufeff").lstrip().startswith("{")
    return not is_json and not _UNSIGNED.search(text)


def show_source(source: str) -> str:
    """Write the name of a source in errors."""
    return STANDARD_INPUT_SHOWN if source == STANDARD_INPUT else source


def _read(source: str, most: int) -> bytes:
    what = "configuration file"
    if source == STANDARD_INPUT:
        content = read_standard_input(most, what)
    else:
        if not source.strip():
            raise InputError('"": expected the path of a configuration file, found nothing')
        content = _read_path(Path(source), most, what)
    if not content:
        raise InputError(f"{show_source(source)}: expected a configuration file, found no bytes")
    return content


def _read_path(path: Path, most: int, what: str) -> bytes:
    """Read a file; where there is none, the error names the file beside it that may be meant."""
    try:
        return read_bytes(path, most, what)
    except InputError as error:
        if not isinstance(error.__cause__, FileNotFoundError):
            raise
        near = find_near(path.name, _list_beside(path))
        if near is None:
            raise
        raise InputError(f'{error}; did you mean "{path.parent / near}"?') from error


def _list_beside(path: Path) -> list[str]:
    """Give the names of files in the directory of a path, of many the first."""
    try:
        with os.scandir(path.parent) as entries:
            return [one.name for one in islice(entries, MOST_BESIDE) if one.is_file()]
    except OSError:
        return []


def is_text(content: bytes) -> bool:
    r"""Say whether bytes are a text: a modem's file has bytes below that of a space.

    Examples
    --------
    >>> is_text(b"network_access = 1\n"), is_text(bytes([3, 1, 1])), is_text(b"\xff ")
    (True, False, False)
    """
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return all(character >= " " or character in _WHITESPACE for character in text)


def _quote(source: str) -> str:
    """Write a source quoted, so that a shell reads it as one word."""
    return shlex.quote(source if source == STANDARD_INPUT or source[:1] != "-" else f"./{source}")
