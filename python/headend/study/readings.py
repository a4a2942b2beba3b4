"""Readings of a document: what its studies run where the document leaves things open."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from headend.design.place import add_line
from headend.errors import InputError, suggest
from headend.study.texts import read_texts

#: The file's name in the folder above those of a document's studies.
READINGS = "readings.toml"

_TEXTS = ("title", "reading", "source", "beside")


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

    def tell(self) -> str:
        """Give it in a sentence or two.

        Examples
        --------
        >>> Reading("pie", "PIE of Section 5", "The law of 2013.", "§6", "choices").tell()
        'Reading: PIE of Section 5. The law of 2013.'
        """
        return f"Reading: {self.title}. {self.reading}"

    def tell_source(self) -> str:
        """Give where it comes from and which studies show other readings.

        Examples
        --------
        >>> Reading("pie", "PIE of Section 5", "The law of 2013.", "§6.", "choices").tell_source()
        'Source: §6. Beside it: choices.'
        """
        return f"Source: {self.source.rstrip('.')}. Beside it: {self.beside.rstrip('.')}."

    def to_dict(self) -> dict[str, str]:
        """Give it as JSON can hold it."""
        return asdict(self)


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
        For what is no list of names, a name that the document's readings have not got, or a mistake
        in these.
    """
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise _refuse(f'readings: expected a list such as ["pie"], found {names!r}', folder)
    if not names:
        return ()
    path = folder.resolve().parent / READINGS
    if not path.is_file():
        raise _refuse(f'readings: names "{names[0]}", and there is no {path}', folder)
    texts = read_texts(path, "reading", _TEXTS)
    known = {name: Reading(name, **own) for name, own in texts.items()}
    for number, name in enumerate(names):
        if name not in known:
            raise _refuse(f'readings: unknown reading "{name}"{suggest(name, known)}', folder)
        if name in names[:number]:
            raise _refuse(f'readings: names "{name}" twice', folder)
    return tuple(known[name] for name in names)


def _refuse(problem: str, folder: Path) -> InputError:
    return InputError(add_line(problem, folder / "study.toml"))
