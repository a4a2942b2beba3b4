"""Files of a document that hold tables of texts; their mistakes are told with the line."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headend.design.place import add_line, find_second
from headend.errors import InputError, suggest
from headend.files import parse_toml
from headend.scenario.source import read_text


class TextsError(InputError):
    """A mistake in such a file, with its own path and line."""


def read_texts(
    path: Path, what: str, needed: Sequence[str], others: Sequence[str] = ()
) -> dict[str, dict[str, str]]:
    """Read a file in which every table has the same texts.

    Parameters
    ----------
    path
        The file.
    what
        What one table is, for errors: "reading".
    needed, others
        The keys that a table has to have, and those that it may have.

    Returns
    -------
    dict
        Of each table what it has, by its name.

    Raises
    ------
    TextsError
        For anything else, with its line.
    """
    text = read_text(path, f"file of {what}s")
    try:
        content = parse_toml(text)
    except tomllib.TOMLDecodeError as error:
        raise TextsError(f"{path}: not valid TOML: {find_second(text, error) or error}") from error
    try:
        return {name: _read(name, item, what, needed, others) for name, item in content.items()}
    except InputError as error:
        raise TextsError(f"{path}: {add_line(str(error), path)}") from error


def _read(
    name: str, item: Any, what: str, needed: Sequence[str], others: Sequence[str]
) -> dict[str, str]:
    known = (*needed, *others)
    if not isinstance(item, dict):
        raise InputError(f"{name}: expected a table of texts, found {item!r}")
    for key, text in item.items():
        if key not in known:
            raise InputError(f"{name}.{key}: unknown key{suggest(key, known)}")
        if not isinstance(text, str):
            raise InputError(f"{name}.{key}: expected a text, found {text!r}")
    for key in needed:
        if not item.get(key, "").strip():
            raise InputError(f'{name}: missing key "{key}"; a {what} has {", ".join(needed)}')
    return {key: " ".join(text.split()) for key, text in item.items()}
