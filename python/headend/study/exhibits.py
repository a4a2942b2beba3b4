"""A document's figures and tables: our picture of each, what was published and found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headend.study.catalogue import NUMBERED, Entry, choose_study, find_all, read_catalogue
from headend.study.claims import Judgement, Kind, Standing
from headend.study.gathering import Drawing, Gathered, Picture

#: Claims beside a figure or table of which no published result is judged.
_BESIDE = (Kind.EXPECTATION, Kind.ARITHMETIC, Kind.SETTING)


@dataclass(frozen=True)
class Exhibit:
    """A figure or table of a document.

    Parameters
    ----------
    entry
        What the document calls it.
    study
        The study that draws it anew, or runs what a diagram shows, else the first with a claim.
    picture
        Our picture of it; None where no study draws it, or its study was not run.
    judgements
        The published results that have it as their source, or if none, other claims.
    is_run
        Whether the study was run.
    """

    entry: Entry
    study: str
    picture: Picture | None
    judgements: tuple[Judgement, ...]
    is_run: bool = True

    @property
    def name(self) -> str:
        """As the document calls it."""
        return self.entry.name

    @property
    def marks(self) -> list[tuple[Standing, int]]:
        """How many of its claims have each verdict."""
        found = [judgement.standing for judgement in self.judgements]
        return [(standing, found.count(standing)) for standing in Standing if standing in found]

    def tell_nothing(self) -> str:
        """Say why there is no claim beside it."""
        if self.entry.note:
            return self.entry.note
        if self.study and not self.is_run:
            return f"`{self.study}` was not run."
        by = f"; `{self.study}` draws it" if self.study else ""
        return f"No published result is judged{by}."


def list_exhibits(gathered: Iterable[Gathered]) -> list[Exhibit]:
    """List a document's figures and tables in the order of the page.

    Parameters
    ----------
    gathered
        The studies of the document. Where it has no list of its figures and tables, they are those
        that published results have as their source.
    """
    items = list(gathered)
    catalogue = read_catalogue(items[0].study.folder.parent) if items else {}
    shown = {name for item in items for one in item.study.figures for name in one.shows}
    judged = _group_by_source(items, [*catalogue, *shown])
    if not catalogue:
        results = [name for name in judged if judged[name][0][1].claim.kind is Kind.RESULT]
        order = {name: _place(name, number) for number, name in enumerate(results)}
        catalogue = {name: Entry(name) for name in sorted(results, key=lambda name: order[name])}
    return [_show(entry, judged.get(entry.name, ()), items) for entry in catalogue.values()]


def _show(
    entry: Entry, judged: Sequence[tuple[str, Judgement]], items: Sequence[Gathered]
) -> Exhibit:
    """Put what there is of a figure or table together."""
    drawer = choose_study(entry, [item.study for item in items])
    name = drawer.name if drawer else next((study for study, _ in judged), "")
    outcome = next((item.outcome for item in items if item.study.name == name), None)
    drawings = outcome.drawings if outcome and not entry.note else ()
    pictures = [pair for drawing in drawings for pair in _assign(drawing)]
    picture = next((picture for shown, picture in pictures if shown == entry.name), None)
    own = tuple(judgement for _, judgement in judged)
    return Exhibit(entry, name, picture, own, outcome is not None or not name)


def _group_by_source(
    items: Sequence[Gathered], known: Sequence[str]
) -> dict[str, list[tuple[str, Judgement]]]:
    """Give the claims of each figure and table with their studies, published results first."""
    results: dict[str, list[tuple[str, Judgement]]] = {}
    others: dict[str, list[tuple[str, Judgement]]] = {}
    for item in items:
        for judgement in item.judgements:
            kind = judgement.claim.kind
            found = results if kind is Kind.RESULT else others
            if kind is Kind.RESULT or kind in _BESIDE:
                for name in find_all(judgement.claim.source, known):
                    found.setdefault(name, []).append((item.study.name, judgement))
    return {**others, **results}


def _assign(drawing: Drawing) -> list[tuple[str, Picture]]:
    """Give each name that a drawing shows its panel: its own, or else the first."""
    each = len(drawing.shows) == len(drawing.pictures)
    return [
        (name, drawing.pictures[number if each else 0]) for number, name in enumerate(drawing.shows)
    ]


def _place(name: str, number: int) -> tuple[str, int, str]:
    """Give the place of a name among others: by number, or after those, in the claims' order."""
    found = NUMBERED.fullmatch(name)
    if not found:
        return "~", number, ""
    word, own, letter = found.groups()
    return word, int(own), letter
