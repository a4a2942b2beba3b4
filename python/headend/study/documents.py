"""Documents whose results studies reproduce: their order, readings, figures and tables."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from headend.design.place import add_line, find_second
from headend.errors import InputError, suggest
from headend.files import parse_toml
from headend.scenario.source import read_text

#: The documents, in the order of the page; a study's name begins with its document's.
DOCUMENTS = {
    "buffer-control": "Cable Modem Buffer Control (CableLabs, 2011)",
    "aqm-docsis": "Active Queue Management in DOCSIS 3.x Cable Modems (CableLabs, 2014)",
    "fast-docsis": "FAST TCP over low-speed DOCSIS links",
    "service-quality": "Quantitative Assessment of IP Service Quality in 802.11b and DOCSIS"
    " Networks (2004)",
    "cbt": "Lightweight Active Router-Queue Management for Multimedia Networking (1999)",
    "cable-plant": "The cable plant: request, grant and contention",
    "low-latency": "Low Latency DOCSIS and L4S",
    "wifi": "Ending the Anomaly: Achieving Low Latency and Airtime Fairness in WiFi (2017)",
    "recommend": "What `headend recommend` says, beside what documents recommend",
    "evaluation": "What the IETF says should be tested of queues and of congestion controls",
    "validation": "Models beside their closed forms and beside each other",
}

#: Those whose published results the headline counts; others stand below it.
FIVE = ("buffer-control", "aqm-docsis", "fast-docsis", "service-quality", "cbt")

#: Files in the folder of a document, above those of its studies.
READINGS, EXHIBITS = "readings.toml", "exhibits.toml"

#: What a document numbers.
NUMBERED = re.compile(r"\b(Figure|Table|Slide|Equation) (\d+)([a-z]?)\b")


class Group(StrEnum):
    """Documents whose published results are counted together."""

    FIVE = "the five documents"
    OTHERS = "other documents"


def find_group(study: str) -> Group:
    """Say to which documents that of a study belongs.

    Examples
    --------
    >>> find_group("aqm-docsis/matrix"), find_group("low-latency/prague")
    (<Group.FIVE: 'the five documents'>, <Group.OTHERS: 'other documents'>)
    """
    return Group.FIVE if study.split("/")[0] in FIVE else Group.OTHERS


def name_document(study: str) -> str:
    """Give the title of the document that a study belongs to.

    Examples
    --------
    >>> name_document("cable-plant/contention")
    'The cable plant: request, grant and contention'
    """
    document = study.split("/")[0]
    return DOCUMENTS.get(document, document)


def place_study(study: str) -> int:
    """Give the place of a study's document among all; what is of none comes last.

    Examples
    --------
    >>> place_study("aqm-docsis/matrix"), place_study("mine")
    (1, 11)
    """
    return [*DOCUMENTS, study.split("/")[0]].index(study.split("/")[0])


@dataclass(frozen=True)
class Reading:
    """What the studies of a document run where it leaves something open.

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

    def describe(self) -> str:
        """Give it in a sentence or two.

        Examples
        --------
        >>> Reading("pie", "PIE of Section 5", "The law of 2013.", "§6", "choices").describe()
        'Reading: PIE of Section 5. The law of 2013.'
        """
        return f"Reading: {self.title}. {self.reading}"

    def describe_source(self) -> str:
        """Say where it comes from and which studies show other readings.

        Examples
        --------
        >>> Reading("pie", "PIE", "The law of 2013.", "§6.", "choices").describe_source()
        'Source: §6. Beside it: choices.'
        """
        return f"Source: {self.source.rstrip('.')}. Beside it: {self.beside.rstrip('.')}."

    def to_dict(self) -> dict[str, str]:
        """Give it as JSON can hold it."""
        return asdict(self)


@dataclass(frozen=True)
class Entry:
    """A figure or table of a document.

    Parameters
    ----------
    name
        As the document calls it: "Figure 6".
    caption
        The document's own.
    study
        The last part of the name of the study that draws it, where several do, or that runs what a
        diagram shows.
    note
        Why no study draws it.
    """

    name: str
    caption: str = ""
    study: str = ""
    note: str = ""


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

    def refuse(problem: str) -> InputError:
        return InputError(add_line(f"readings: {problem}", folder / "study.toml"))

    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise refuse(f'expected a list such as ["pie"], found {names!r}')
    if not names:
        return ()
    path = folder.resolve().parent / READINGS
    if not path.is_file():
        raise refuse(f'names "{names[0]}", and there is no {path}')
    texts = _read_texts(path, "reading", ("title", "reading", "source", "beside"))
    known = {name: Reading(name, **own) for name, own in texts.items()}
    for number, name in enumerate(names):
        if name not in known:
            raise refuse(f'unknown reading "{name}"{suggest(name, known)}')
        if name in names[:number]:
            raise refuse(f'names "{name}" twice')
    return tuple(known[name] for name in names)


def read_catalogue(folder: Path) -> dict[str, Entry]:
    """Read a document's figures and tables from its folder, in the page's order; none if unlisted.

    Raises
    ------
    DocumentError
        For a mistake in the file.
    """
    path = folder / EXHIBITS
    if not path.is_file():
        return {}
    texts = _read_texts(path, "exhibit", ("caption",), ("study", "note"))
    return {name: Entry(name, **own) for name, own in texts.items()}


def find_all(source: str, known: Iterable[str]) -> list[str]:
    """Find the figures and tables that a source names: by number, or by the document's name.

    Examples
    --------
    >>> find_all("slides One CM and Two CMs", ["One CM", "Two CMs", "One CM", "Three CMs"])
    ['One CM', 'Two CMs']
    >>> find_all("§7.2.3.3, Figure 6 and Table 2", [])
    ['Figure 6', 'Table 2']
    >>> find_all("§5, Figures 7 to 9", [])
    ['Figure 7', 'Figure 8', 'Figure 9']
    """

    def spread(match: re.Match[str]) -> str:
        word, first, between, last = match.groups()
        numbers = range(int(first), int(last) + 1) if between == "to" else (int(first), int(last))
        return ", ".join(f"{word} {number}" for number in numbers)

    singly = re.sub(r"\b(Figure|Table|Slide|Equation)s (\d+) (to|and) (\d+)\b", spread, source)
    numbered = [match[0] for match in NUMBERED.finditer(singly)]
    unnumbered = [name for name in known if not NUMBERED.fullmatch(name) and name in source]
    return list(dict.fromkeys(numbered + unnumbered))


class DocumentError(InputError):
    """A mistake in a document's own file, with its path and line."""


def _read_texts(
    path: Path, what: str, needed: Sequence[str], others: Sequence[str] = ()
) -> dict[str, dict[str, str]]:
    """Read a file in which every table has the same texts, of which ``others`` may be left out."""
    text = read_text(path, f"file of {what}s")
    try:
        content = parse_toml(text)
    except tomllib.TOMLDecodeError as error:
        why = find_second(text, error) or error
        raise DocumentError(f"{path}: not valid TOML: {why}") from error

    def read(name: str, item: Any) -> dict[str, str]:
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

    try:
        return {name: read(name, item) for name, item in content.items()}
    except InputError as error:
        raise DocumentError(f"{path}: {add_line(str(error), path)}") from error
