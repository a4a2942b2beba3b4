"""A document's figures and tables: the picture that shows each anew, what was published there, and what was found."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from headend.study.claims import Judgement, Kind, Standing
from headend.study.gathering import Drawing, Gathered, Picture

#: What a document numbers.
_NUMBERED = re.compile(r"\b(Figure|Table|Slide|Equation) (\d+)([a-z]?)\b")


@dataclass(frozen=True)
class Exhibit:
    """A figure or table of a document.

    Parameters
    ----------
    name
        As the document calls it: "Figure 6".
    study
        The study that redraws it, or else the first that has a claim of it.
    picture
        Our picture of it; None where no study redraws it.
    judgements
        The claims that name it as their source and were published results.
    """

    name: str
    study: str
    picture: Picture | None
    judgements: tuple[Judgement, ...]

    @property
    def marks(self) -> list[tuple[Standing, int]]:
        """How many of its claims have each verdict."""
        found = [judgement.standing for judgement in self.judgements]
        return [(standing, found.count(standing)) for standing in Standing if standing in found]


def list_exhibits(gathered: Iterable[Gathered]) -> list[Exhibit]:
    """List what of a document's figures and tables its studies hold something against, figures first, in their order.

    Parameters
    ----------
    gathered
        The studies of the document that were run.
    """
    run = [(item.study.name, item.outcome) for item in gathered if item.outcome]
    shown: dict[str, tuple[str, Picture]] = {}
    for study, outcome in run:
        for drawing in outcome.drawings:
            for name, picture in _assign(drawing):
                shown.setdefault(name, (study, picture))
    judged: dict[str, list[Judgement]] = {}
    studies: dict[str, str] = {}
    for study, outcome in run:
        for judgement in outcome.judgements:
            if judgement.claim.kind is Kind.RESULT:
                for name in _find_all(judgement.claim.source, shown):
                    judged.setdefault(name, []).append(judgement)
                    studies.setdefault(name, study)
    order = {name: _place(name, number) for number, name in enumerate(judged)}
    exhibits = []
    for name in sorted(judged, key=lambda name: order[name]):
        study, ours = shown[name] if name in shown else (studies[name], None)
        exhibits.append(Exhibit(name, study, ours, tuple(judged[name])))
    return exhibits


def _find_all(source: str, shown: Iterable[str]) -> list[str]:
    """Find the figures and tables that a source names: by their numbers, or where a document numbers none, as ours call them."""
    unnumbered = [name for name in shown if not _NUMBERED.fullmatch(name) and name in source]
    return find_names(source) + unnumbered


def find_names(source: str) -> list[str]:
    """Find the figures and tables that a claim's source names.

    Examples
    --------
    >>> find_names("§7.2.3.3, Figure 6 and Table 2")
    ['Figure 6', 'Table 2']
    >>> find_names("§5, Figures 7 to 9")
    ['Figure 7', 'Figure 8', 'Figure 9']
    """
    spread = re.sub(r"\b(Figure|Table|Slide|Equation)s (\d+) (to|and) (\d+)\b", _spread, source)
    return list(
        dict.fromkeys("".join((word, " ", *rest)) for word, *rest in _NUMBERED.findall(spread))
    )


def _spread(match: re.Match[str]) -> str:
    """Name each of several."""
    word, first, between, last = match.groups()
    numbers = range(int(first), int(last) + 1) if between == "to" else (int(first), int(last))
    return ", ".join(f"{word} {number}" for number in numbers)


def _assign(drawing: Drawing) -> list[tuple[str, Picture]]:
    """Give each name that a drawing shows the panel that shows it: its own where there are as many, else the first."""
    each = len(drawing.shows) == len(drawing.pictures)
    return [
        (name, drawing.pictures[number if each else 0]) for number, name in enumerate(drawing.shows)
    ]


def _place(name: str, number: int) -> tuple[str, int, str]:
    """Give the place of a name among others: by its number, or behind those that have one, in the order of the claims."""
    found = _NUMBERED.fullmatch(name)
    if not found:
        return "~", number, ""
    word, own, letter = found.groups()
    return word, int(own), letter
