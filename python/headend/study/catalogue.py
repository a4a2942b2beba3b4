"""A document's figures and numbered tables: names, and the study that draws each anew."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from headend.study.claims import Kind
from headend.study.definition import Study
from headend.study.texts import read_texts

#: The file's name in the folder above those of a document's studies.
EXHIBITS = "exhibits.toml"

#: What a document numbers.
NUMBERED = re.compile(r"\b(Figure|Table|Slide|Equation) (\d+)([a-z]?)\b")


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


def read_catalogue(folder: Path) -> dict[str, Entry]:
    """Read a document's figures and tables, in the page's order; nothing if not written down.

    Parameters
    ----------
    folder
        The document's, above those of its studies.
    """
    path = folder / EXHIBITS
    if not path.is_file():
        return {}
    texts = read_texts(path, "exhibit", ("caption",), ("study", "note"))
    return {name: Entry(name, **own) for name, own in texts.items()}


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
    showing = [own for own in studies if any(entry.name in one.shows for one in own.figures)]
    return max(showing, key=lambda own: rank_study(entry.name, own), default=None)


def rank_study(name: str, study: Study) -> tuple[int, int]:
    """Count a study's published results with a figure or table as source, and all such."""
    own = [claim for claim in study.claims if name in find_all(claim.source, [name])]
    return sum(claim.kind is Kind.RESULT for claim in own), len(own)


def find_all(source: str, known: Iterable[str]) -> list[str]:
    """Find the figures and tables that a source names: by number, or by the document's name.

    Examples
    --------
    >>> find_all("slides One CM and Two CMs", ["One CM", "Two CMs", "One CM", "Three CMs"])
    ['One CM', 'Two CMs']
    """
    unnumbered = [name for name in known if not NUMBERED.fullmatch(name) and name in source]
    return list(dict.fromkeys(find_names(source) + unnumbered))


def find_names(source: str) -> list[str]:
    """Find the numbered figures and tables that a claim's source names.

    Examples
    --------
    >>> find_names("§7.2.3.3, Figure 6 and Table 2")
    ['Figure 6', 'Table 2']
    >>> find_names("§5, Figures 7 to 9")
    ['Figure 7', 'Figure 8', 'Figure 9']
    """
    spread = re.sub(r"\b(Figure|Table|Slide|Equation)s (\d+) (to|and) (\d+)\b", _spread, source)
    return list(
        dict.fromkeys("".join((word, " ", *rest)) for word, *rest in NUMBERED.findall(spread))
    )


def _spread(match: re.Match[str]) -> str:
    """Name each of several."""
    word, first, between, last = match.groups()
    numbers = range(int(first), int(last) + 1) if between == "to" else (int(first), int(last))
    return ", ".join(f"{word} {number}" for number in numbers)
