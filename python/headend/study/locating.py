"""Finds the study that draws a document's figure or table anew, by words such as "aqm figure 1"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from headend.scenario import lookup
from headend.scenario.lookup import MOST_FOUND, Finding
from headend.scenario.shipped import list_studies
from headend.study.claims import Kind
from headend.study.definition import Study, read_study
from headend.study.documents import (
    DOCUMENTS,
    NUMBERED,
    Entry,
    find_all,
    name_document,
    place_study,
    read_catalogue,
)
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

    def describe(self) -> str:
        """Name it with its document, its caption, and where no study draws it, the reason."""
        of = name_document(self.study.name)
        text = f'{self.entry.name} of {of}: "{self.entry.caption}"'
        return f"{text}. {self.entry.note.rstrip('.')}" if self.entry.note else text


def find(query: str) -> list[Finding]:
    """Find what headend calls something, and how to use it, best first.

    Parameters
    ----------
    query
        A name or some words: of headend's, of other people, of a command, or a figure or table of a
        document.

    Raises
    ------
    InputError
        For a query without a word.

    Examples
    --------
    >>> [finding.name for finding in find("aqm figure 1")][:1]
    ['aqm-docsis/matrix']
    """
    named = lookup.find(query)
    figures = {}
    if any(letter.isdigit() for letter in query):
        for item in locate(query):
            if NUMBERED.fullmatch(item.entry.name):
                name = item.study.name
                use = f"headend study run {name}"
                figures[name] = Finding(name, "study", f"{item.describe()}.", use)
    others = [item for item in named if item.kind != "study" or item.name not in figures]
    return [*figures.values(), *others][:MOST_FOUND]


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
    located = []
    for document, folder in _list_documents().items():
        entries = read_catalogue(folder).values()
        named = [entry for entry in entries if _names(words, entry, document)]
        if not named:
            continue
        own = {name: at for name, at in list_studies().items() if name.startswith(f"{document}/")}
        studies = [read_study(name, at) for name, at in own.items()]
        for entry in named:
            if study := choose_study(entry, studies):
                located.append(Located(entry, study))
    return located


def choose_study(entry: Entry, studies: Sequence[Study]) -> Study | None:
    """Choose the study of a document that draws a figure or table anew.

    It is the one that its entry names. Where that names none, it is, among those with a figure that
    shows it, the one with the most published results that have it as their source, and of several
    such ones that with the most claims.

    Parameters
    ----------
    entry
        The figure or table.
    studies
        All of its document.
    """
    if entry.study:
        return next((own for own in studies if own.name.rsplit("/", 1)[-1] == entry.study), None)
    showing = [own for own in studies if any(entry.name in figure.shows for figure in own.figures)]
    return max(showing, key=lambda own: rank_study(entry.name, own), default=None)


def rank_study(name: str, study: Study) -> tuple[int, int]:
    """Count a study's published results with a figure or table as source, and all such claims."""
    own = [claim for claim in study.claims if name in find_all(claim.source, [name])]
    return sum(claim.kind is Kind.RESULT for claim in own), len(own)


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
    words = _split(re.sub(r"(?<=[a-z])(?=\d)", " ", query.casefold()))
    words = [(get_close_matches(word, ("figure", "table"), 1, 0.75) or [word])[0] for word in words]
    index = next((at for at, word in enumerate(words) if word in ("figure", "table")), None)
    if index is None or not all(word.isdigit() for word in words[index + 1 : index + 2]):
        return ""
    problem = f'no document has "{reveal_line(query)}"'
    if (mended := " ".join(words)) != query.casefold() and locate(mended):
        return f'{problem}; did you mean "{mended}"?'
    documents = _list_documents()
    meant = [name for name in documents if {*_split(name)}.intersection(words)] or list(documents)
    ranges = {name: _name_ranges(list(read_catalogue(documents[name]))) for name in meant}
    return f"{problem}; {', '.join(f'{name} has {text}' for name, text in ranges.items() if text)}"


def _name_ranges(names: Sequence[str]) -> str:
    """Name the numbered figures and tables of a document by the first and the last."""
    ranges = []
    for word in ("Figure", "Table"):
        matches = (re.fullmatch(rf"{word} (\d+)", name) for name in names)
        numbers = sorted(int(match[1]) for match in matches if match)
        if len(numbers) > 1:
            ranges.append(f"{word}s {numbers[0]} to {numbers[-1]}")
        elif numbers:
            ranges.append(f"{word} {numbers[0]}")
    return " and ".join(ranges)


def _split(text: str) -> list[str]:
    """Split a text into words in small letters.

    Examples
    --------
    >>> _split("Tencon'05, Fig. 4")
    ['tencon', '05', 'figure', '4']
    """
    return [_SHORT.get(word, word) for word in re.findall(r"\w+", text.casefold())]


def _names(words: list[str], entry: Entry, document: str) -> bool:
    """Say whether words name a figure or table, and else only its document."""
    name = _split(entry.name)
    size = len(name)
    title = {*_split(document), *_split(DOCUMENTS.get(document, "")), *_FILLERS}
    return any(
        words[at : at + size] == name and title.issuperset(words[:at] + words[at + size :])
        for at in range(len(words) - size + 1)
    )


def _list_documents() -> dict[str, Path]:
    """Give the shipped documents with their folders, in the order of the page."""
    studies = sorted(list_studies().items(), key=lambda item: place_study(item[0]))
    return {name.split("/")[0]: folder.parent for name, folder in studies if "/" in name}
