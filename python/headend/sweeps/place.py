"""Where in a TOML file something is written: its reader keeps no lines."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

#: In files with more lines nothing is looked for: the search reads the file once for each of them.
MOST_LINES = 1000


def find_line(text: str, path: str) -> int | None:
    r"""Give the line on which a value is written, or None.

    Parameters
    ----------
    text
        The whole file; it is valid.
    path
        The value's, dotted, whether or not the file has quotes around parts of it; ``zip 2.PATH`` is in the second ``[[zip]]``.

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
            content = tomllib.loads("\n".join(lines[:number]))
        except tomllib.TOMLDecodeError:
            continue  # a value of several lines, or a text with its end still to come
        if _holds(content, path):
            return before + 1
        before = number
    return None


def add_line(message: str, file: Path | None) -> str:
    """Add the line of what a message begins with, such as ``grid.queue: …``, where the file has it."""
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
