"""Finds the study that draws a document's figure or table anew, by words such as "aqm figure 1"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from headend.scenario.shipped import list_studies
from headend.study.catalogue import Entry, choose_study, read_catalogue
from headend.study.definition import Study, read_study
from headend.study.documents import DOCUMENTS, name_document, place_study

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
        """Name it with its document and its caption."""
        of = name_document(self.study.name)
        return f'{self.entry.name} of {of}: "{self.entry.caption}"'


def locate(query: str) -> list[Located]:
    """Find the figures and tables that a query names, in the order of the documents.

    Parameters
    ----------
    query
        A figure or table as its document calls it, perhaps with words of the document's name or title: "table 2", "aqm
        figure 1". Other words make it no such query.

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
