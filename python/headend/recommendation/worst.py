"""Every quantity with the sender with which it is worst: what a setting can be relied on for.

A condition must hold with each sender, so that a setting is judged by the one with which it is
farthest from holding: of senders with which it holds, or is undecided, by the bad end of the
interval, and of those with which it fails, by the mean. All else is of the sender with which its
mean is worst.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headend.analysis.criteria import Criteria, Term
from headend.analysis.measures import MeasureValues, measure_terms
from headend.analysis.ranking import Feasibility, find_bad_end, judge
from headend.recommendation.sender import Sender

if TYPE_CHECKING:
    import polars as pl

#: The column of the sender in the table of results.
COLUMN = "sender"

#: Of fewer seeds no interval is given. That of two has one degree of freedom, and is 12.7 standard
#: errors wide to each side (Student's t): of a share, often all from 0 to 100 %.
FEWEST_SEEDS = 3

_ORDER = (Feasibility.HOLDS, Feasibility.UNDECIDED, Feasibility.FAILS)


@dataclass(frozen=True)
class Worst:
    """The values of terms, each with the sender with which it is worst.

    Parameters
    ----------
    terms
        The values by the text of the term.
    sources
        The sender that the value of a term in a setting is of; empty where there is one sender.
    """

    terms: Mapping[str, MeasureValues]
    sources: Mapping[str, Mapping[int, Sender]]


def split_senders(table: pl.DataFrame, senders: Sequence[Sender]) -> dict[Sender, pl.DataFrame]:
    """Give the rows of each sender; of a table without senders, nothing."""
    if COLUMN not in table.columns:
        return {}
    return {own: table.filter(table[COLUMN] == str(own)) for own in senders}


def measure_worst(
    table: pl.DataFrame,
    terms: Iterable[Term],
    senders: Sequence[Sender],
    wishes: Sequence[Criteria],
) -> Worst:
    """Give the values of terms in each setting with the worst sender.

    Parameters
    ----------
    table
        The rows of a tier.
    senders
        Which were tried.
    wishes
        What must hold, which goes first, and what else says whether more of a term is better.
    """
    listed = list(terms)
    rows = split_senders(table, senders)
    if len(rows) < 2:
        return Worst(_measure(table, listed), {})
    by_sender = {own: _measure(part, listed) for own, part in rows.items()}
    settings = sorted(set(table["setting"]))
    found: dict[str, MeasureValues] = {}
    sources: dict[str, dict[int, Sender]] = {}
    for term in listed:
        measured = {own: terms[term.text] for own, terms in by_sender.items()}
        rising = _find_rising(term, wishes, next(iter(measured.values())))
        sources[term.text] = {
            setting: max(
                measured, key=lambda own: _weigh(term, measured[own], setting, wishes[0], rising)
            )
            for setting in settings
        }
        values = {
            setting: measured[own].values[setting]
            for setting, own in sources[term.text].items()
            if setting in measured[own].values
        }
        infos = [own.info for own in measured.values() if own.values]
        first = next(iter(measured.values()))
        found[term.text] = replace(first, info=infos[0] if infos else first.info, values=values)
    return Worst(found, sources)


def _measure(table: pl.DataFrame, terms: Sequence[Term]) -> dict[str, MeasureValues]:
    """Give the values of terms, with intervals where there are enough seeds."""
    found = measure_terms(table, terms)
    return {text: replace(own, fewest=FEWEST_SEEDS) for text, own in found.items()}


def _find_rising(term: Term, wishes: Sequence[Criteria], measured: MeasureValues) -> bool:
    """Say whether more of a term is better: as somebody wishes, or else as is known of it."""
    for wish in wishes:
        for condition in wish.constraints:
            if condition.term.text == term.text:
                return condition.higher_is_better
        if wish.objective and wish.objective.text == term.text:
            return wish.higher_is_better
    return measured.info.higher_is_better is not False


def _weigh(
    term: Term, measured: MeasureValues, setting: int, wish: Criteria, rising: bool
) -> tuple[int, bool, float]:
    """Weigh how bad a term is with a sender: its worst standing, then its value; none is worst."""
    standings = [
        judge(one, measured, setting) for one in wish.constraints if one.term.text == term.text
    ]
    standing = max(standings, key=_ORDER.index, default=Feasibility.HOLDS)
    estimate = measured.estimates.get(setting)
    if estimate is None:
        return _ORDER.index(standing), True, 0.0
    value = estimate.mean
    if standings and standing is not Feasibility.FAILS:
        value = find_bad_end(estimate, higher_is_better=rising)
    return _ORDER.index(standing), False, -value if rising else value
