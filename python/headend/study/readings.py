"""Readings of a document: what its studies run where the document leaves something open, written once for all of them."""

from __future__ import annotations

import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from headend.errors import InputError, suggest
from headend.files import parse_toml
from headend.scenario.source import read_text
from headend.sweeps.place import add_line, find_second

#: The file's name in the folder above those of a document's studies.
READINGS = "readings.toml"

_TEXTS = ("title", "reading", "source", "beside")


class ReadingsError(InputError):
    """A mistake in a document's readings, with their own file and line."""


@dataclass(frozen=True)
class Reading:
    """One reading of a document.

    Parameters
    ----------
    name
        What studies call it.
    title
        Its name on pages.
    reading
        What is run, in one or two sentences.
    source
        Where the document says it or leaves it open, and other sources.
    beside
        Which studies show other readings, and what those change.
    """

    name: str
    title: str
    reading: str
    source: str
    beside: str

    @classmethod
    def read(cls, name: str, item: Any) -> Reading:
        """Take a reading from its table in ``readings.toml``."""
        if not isinstance(item, dict):
            raise InputError(f"{name}: expected a table, found {item!r}")
        for key in item:
            if key not in _TEXTS:
                raise InputError(f"{name}.{key}: unknown key{suggest(key, _TEXTS)}")
        for key in _TEXTS:
            if not isinstance(item.get(key, ""), str):
                raise InputError(f"{name}.{key}: expected a text, found {item[key]!r}")
            if not item.get(key, "").strip():
                raise InputError(f'{name}: missing key "{key}"; a reading has {", ".join(_TEXTS)}')
        return cls(name, **{key: " ".join(item[key].split()) for key in _TEXTS})

    def tell(self) -> str:
        """Give it in a sentence or two.

        Examples
        --------
        >>> Reading("pie", "PIE of Section 5", "The law of 2013.", "§6", "choices").tell()
        'Reading: PIE of Section 5: The law of 2013.'
        """
        return f"Reading: {self.title}: {self.reading}"

    def to_dict(self) -> dict[str, str]:
        """Give it as JSON can hold it."""
        return asdict(self)


def read_readings(path: Path) -> dict[str, Reading]:
    """Read the readings of a document.

    Raises
    ------
    ReadingsError
        For a mistake in the file, with its line.
    """
    text = read_text(path, "file of readings")
    try:
        content = parse_toml(text)
    except tomllib.TOMLDecodeError as error:
        told = find_second(text, error) or error
        raise ReadingsError(f"{path}: not valid TOML: {told}") from error
    try:
        return {name: Reading.read(name, item) for name, item in content.items()}
    except InputError as error:
        raise ReadingsError(f"{path}: {add_line(str(error), path)}") from error


def choose_readings(names: Any, folder: Path) -> tuple[Reading, ...]:
    """Give the readings that a study names, in its order.

    Parameters
    ----------
    names
        What stands in ``study.toml``.
    folder
        The study's; the readings are in the folder above it.

    Raises
    ------
    InputError
        For what is no list of names, or a name that the document's readings have not got.
    """
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise _refuse(f'readings: expected a list such as ["pie"], found {names!r}', folder)
    if not names:
        return ()
    path = folder.resolve().parent / READINGS
    if not path.is_file():
        raise _refuse(f'readings: names "{names[0]}", and there is no {path}', folder)
    known = read_readings(path)
    for number, name in enumerate(names):
        if name not in known:
            raise _refuse(f'readings: unknown reading "{name}"{suggest(name, known)}', folder)
        if name in names[:number]:
            raise _refuse(f'readings: names "{name}" twice', folder)
    return tuple(known[name] for name in names)


def _refuse(problem: str, folder: Path) -> InputError:
    return InputError(add_line(problem, folder / "study.toml"))
