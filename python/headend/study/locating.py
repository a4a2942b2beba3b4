"""Finds the study that draws a document's figure or table anew, by words such as "aqm figure 1"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from headend.scenario.shipped import list_studies
from headend.study.catalogue import Entry, choose_study, read_catalogue
from headend.study.definition import Study, read_study
from headend.study.documents import DOCUMENTS, name_document, place_study
from headend.text.reveal import reveal_line

#: Words that say nothing of which document is meant.
_FILLERS = frozenset(("a", "from", "in", "of", "paper", "s", "study", "the"))

#: Short forms of what documents number.
_SHORT = {"fig": "figure", "figures": "figure", "tab": "table", "tables": "table"}


@dataclass(frozen=True)
class Located:
    """A figure or table of a document, and the study that draws it or runs what it shows."""

    entry: Entry
    study: Study

    def tell(self) -> str:
        """Name it with its document, its caption, and where no study draws it, the reason."""
        of = name_document(self.study.name)
        told = f'{self.entry.name} of {of}: "{self.entry.caption}"'
        return f"{told}. {self.entry.note.rstrip('.')}" if self.entry.note else told


def locate(query: str) -> list[Located]:
    """Find the figures and tables that a query names, in the order of the documents.

    Parameters
    ----------
    query
        A figure or table as its document calls it, perhaps with words of the document's name or
        title: "table 2", "aqm figure 1". Other words make it no such query.

    Examples
    --------
    >>> [found.study.name for found in locate("AQM fig. 1")]
    ['aqm-docsis/matrix']
    >>> locate("figure of speech 4"), locate("4")
    ([], [])
    """
    words = _split(query)
    found = []
    for document, folder in _list_documents().items():
        named = [
            entry for entry in read_catalogue(folder).values() if _names(words, entry, document)
        ]
        if not named:
            continue
        studies = list(_read_studies(document))
        for entry in named:
            if study := choose_study(entry, studies):
                found.append(Located(entry, study))
    return found


def explain_nothing(query: str) -> str:
    """Say what there is of a document's figures or tables, if a query seems to mean another.

    Nothing where it seems to mean something else.

    Examples
    --------
    >>> explain_nothing("aqm figure 44")
    'no document has "aqm figure 44"; aqm-docsis has Figures 1 to 16 and Table 1'
    >>> explain_nothing("figur 4")
    'no document has "figur 4"; did you mean "figure 4"?'
    >>> explain_nothing("codel"), explain_nothing("figure of merit 4")
    ('', '')
    """
    words = [_mend(word) for word in _split(re.sub(r"(?<=[a-z])(?=\d)", " ", query.casefold()))]
    place = next((at for at, word in enumerate(words) if word in ("figure", "table")), None)
    if place is None or not all(word.isdigit() for word in words[place + 1 : place + 2]):
        return ""
    said = f'no document has "{reveal_line(query)}"'
    if (mended := " ".join(words)) != query.casefold() and locate(mended):
        return f'{said}; did you mean "{mended}"?'
    documents = _list_documents()
    meant = [name for name in documents if {*_split(name)}.intersection(words)] or list(documents)
    numbers = {name: _tell_numbers(read_catalogue(documents[name])) for name in meant}
    return f"{said}; {', '.join(f'{name} has {told}' for name, told in numbers.items() if told)}"


def _mend(word: str) -> str:
    """Give the word for what documents number that a word is nearly."""
    near = get_close_matches(word, ("figure", "table"), 1, 0.75)
    return near[0] if near else word


def _tell_numbers(catalogue: Iterable[str]) -> str:
    """Name the numbered figures and tables of a document by the first and the last."""
    told = []
    for word in ("Figure", "Table"):
        found = (re.fullmatch(rf"{word} (\d+)", name) for name in catalogue)
        numbers = sorted(int(one[1]) for one in found if one)
        if len(numbers) > 1:
            told.append(f"{word}s {numbers[0]} to {numbers[-1]}")
        elif numbers:
            told.append(f"{word} {numbers[0]}")
    return " and ".join(told)


def _split(text: str) -> list[str]:
    """Split a text into words in small letters.

    Examples
    --------
    >>> _split("Tencon'05, Fig. 4")
    ['tencon', '05', 'figure', '4']
    """
    words = re.findall(r"\w+", text.casefold())
    return [_SHORT.get(word, word) for word in words]


def _names(words: list[str], entry: Entry, document: str) -> bool:
    """Say whether words name a figure or table, and else only its document."""
    name = _split(entry.name)
    size = len(name)
    title = {*_split(document), *_split(DOCUMENTS.get(document, "")), *_FILLERS}
    return any(
        words[at : at + size] == name and title.issuperset(words[:at] + words[at + size :])
        for at in range(len(words) - size + 1)
    )


def _list_documents() -> Mapping[str, Path]:
    """Give the shipped documents with their folders, in the order of the page."""
    studies = sorted(list_studies().items(), key=lambda item: place_study(item[0]))
    return {name.split("/")[0]: folder.parent for name, folder in studies if "/" in name}


def _read_studies(document: str) -> Iterator[Study]:
    for name, folder in list_studies().items():
        if name.startswith(f"{document}/"):
            yield read_study(name, folder)
