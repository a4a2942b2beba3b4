"""`find`: documents' figures and tables by study, then all that headend calls something."""

from __future__ import annotations

from collections.abc import Iterator

from headend.scenario import lookup
from headend.scenario.lookup import MOST_FOUND, Finding


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
    figures = {finding.name: finding for finding in _find_figures(query)}
    others = [one for one in named if one.kind != "study" or one.name not in figures]
    return [*figures.values(), *others][:MOST_FOUND]


def _find_figures(query: str) -> Iterator[Finding]:
    """Give the studies that draw a numbered figure or table of a document."""
    if not any(letter.isdigit() for letter in query):
        return
    from headend.study.catalogue import NUMBERED
    from headend.study.locating import locate

    for found in locate(query):
        if NUMBERED.fullmatch(found.entry.name):
            name = found.study.name
            yield Finding(name, "study", f"{found.tell()}.", f"headend study run {name}")
