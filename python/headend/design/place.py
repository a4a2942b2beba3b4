"""Where in a TOML file something is written: its reader keeps no lines."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headend.errors import InputError
from headend.files import parse_toml
from headend.scenario.source import read_text

#: In files with more lines nothing is looked for: the search reads the file once for each of them.
MOST_LINES = 1000

#: How the reader begins where a key is there twice, or one path is below another.
_TWICE = ("Cannot declare", "Cannot mutate", "Cannot overwrite", "Duplicate inline")

#: A key that nobody writes, to see in which table a line stands.
_PROBE = "headend-probe"


def read_toml(
    path: Path, kind: str, explain: Callable[[tomllib.TOMLDecodeError], str] = lambda _: ""
) -> dict[str, Any]:
    """Read a file of an experiment, whose errors name what is there twice.

    Parameters
    ----------
    path
        Of the file.
    kind
        What it is, such as ``sweep``.
    explain
        What to say besides of what is no TOML.
    """
    text = read_text(path, kind)
    try:
        return parse_toml(text)
    except tomllib.TOMLDecodeError as error:
        reason = find_second(text, error) or f"{error}{explain(error)}"
        raise InputError(f"{path}: not valid TOML: {reason}") from error


def find_line(text: str, path: str) -> int | None:
    r"""Give the line on which a value is written, or None.

    Parameters
    ----------
    text
        The whole file; it is valid.
    path
        The value's, dotted, whether or not the file has quotes around parts of it; ``zip 2.PATH``
        is in the second ``[[zip]]``.

    Examples
    --------
    >>> find_line("seeds = 3\n\n[set]\nflow.call.rtt = 3", "set.flow.call.rtt")
    4
    """
    lines = text.split("\n")
    if len(lines) > MOST_LINES:
        return None
    before = 0
    for number in range(1, len(lines) + 1):
        try:
            content = parse_toml("\n".join(lines[:number]))
        except tomllib.TOMLDecodeError:
            continue  # a value of several lines, or a text with its end still to come
        if _holds(content, path):
            return before + 1
        before = number
    return None


def find_second(text: str, error: tomllib.TOMLDecodeError) -> str | None:
    r"""Say which key is there twice and where, if that is the error; otherwise None.

    Parameters
    ----------
    text
        The whole file.
    error
        What its reader says.

    Examples
    --------
    >>> text = "[set]\nseed = 3\n\nseed = 4"
    >>> try:
    ...     tomllib.loads(text)
    ... except tomllib.TOMLDecodeError as error:
    ...     find_second(text, error)
    'set.seed is there twice (lines 2 and 4)'
    """
    lines = text.split("\n")
    if not str(error).startswith(_TWICE) or len(lines) > MOST_LINES:
        return None
    at = re.search(r"at line (\d+)", str(error))
    # The reader stands at the end of what it refuses: without that, the lines before make a file.
    end = int(at[1]) if at else len(lines)
    starts = (number for number in reversed(range(end)) if _read(lines[:number]) is not None)
    start = next(starts, 0)
    before, refused = lines[:start], lines[start]
    if refused.lstrip().startswith("["):
        path = _find_probe(_read([refused, f"{_PROBE} = 0"]))
    else:
        key = refused.partition("=")[0]
        table = _find_probe(_read([*before, f"{_PROBE} = 0"]))
        below = _find_probe(_read([f"{key}.{_PROBE} = 0"]))
        if table is None or below is None:
            return None
        path = f"{table}.{below}".removeprefix(".")
        if _read(lines[start:end]) is None:
            named = ".".join(re.findall(r"'([^']*)'", str(error)))
            return (
                f'{path} has "{named}" twice, or a path below it, in its braces (line {start + 1})'
            )
        # A table that dotted keys made can be added to: there one path is below another.
        if _read([*before, f"{key}.{_PROBE} = 0"]) is not None:
            return None
    first = find_line("\n".join(before), path) if path else None
    return f"{path} is there twice (lines {first} and {start + 1})" if first else None


def add_line(message: str, file: Path | None) -> str:
    """Add the line of what a message begins with, such as ``grid.queue: …``, if found."""
    if file is None:
        return message
    parts = message.split(": ")
    quoted = re.match(r'unknown key "(.+?)"', message)
    # "zip 1: PATH: …" names a place in two parts.
    names = [quoted[1]] if quoted else [".".join(parts[:2]), parts[0]]
    for name in names:
        if line := locate(file, name):
            return f"{message} (line {line})"
    return message


def locate(file: Path, path: str) -> int | None:
    """Give the line of a value in a file, or None where either cannot be found."""
    try:
        return find_line(file.read_text(encoding="utf-8"), path)
    except (OSError, UnicodeDecodeError):
        return None


def _holds(content: Any, path: str) -> bool:
    """Say whether nested tables hold a dotted path."""
    if not isinstance(content, dict):
        return False
    for key, value in content.items():
        named = (
            [(f"{key} {number}", item) for number, item in enumerate(value, start=1)]
            if isinstance(value, list)
            else []
        )
        for name, inner in [(key, value), *named]:
            if path == name:
                return True
            if path.startswith(f"{name}.") and _holds(inner, path.removeprefix(f"{name}.")):
                return True
    return False


def _read(lines: list[str]) -> dict[str, Any] | None:
    """Read lines as a file; None where they are none."""
    try:
        return parse_toml("\n".join(lines))
    except tomllib.TOMLDecodeError:
        return None


def _find_probe(content: Any) -> str | None:
    """Give the path of the table with the probe, in the form that ``find_line`` takes."""
    if not isinstance(content, dict):
        return None
    if _PROBE in content:
        return ""
    for name, value in content.items():
        tables = {name: value}
        if isinstance(value, list):  # the last is written to
            tables = {f"{name} {len(value)}": item for item in value[-1:]}
        for path, table in tables.items():
            if (below := _find_probe(table)) is not None:
                return f"{path}.{below}".removesuffix(".")
    return None
