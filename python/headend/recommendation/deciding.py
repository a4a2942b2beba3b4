"""Decides what a tier shall have: the best candidate of each feature, and the recommended one.

A candidate is recommended only if every condition holds over the whole 95 % interval of its mean.
Of these it is the one with the best objective; of those whose means are as good
(`headend.comparison.ties.find_tie`: within 5 %), the one with the least to set, unless another of
them is clearly better for somebody and clearly worse for nobody. Others whose difference from the
best is within its interval are called as good too, but are not recommended.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from headend.comparison.ties import find_tie
from headend.design.design import Design
from headend.design.factor import Factor
from headend.recommendation.candidate import Candidate
from headend.recommendation.feature import Feature
from headend.recommendation.tier import Tier
from headend.sweeps.concluding import conclude
from headend.sweeps.conclusion import (
    Best,
    Conclusion,
    Measured,
    Standing,
    find_shortfall,
    weigh,
    weigh_miss,
)
from headend.sweeps.definition import Sweep
from headend.sweeps.wish import Wish

if TYPE_CHECKING:
    import polars as pl

#: Settings that miss their worst condition by as much, within this share of its bound, are equally
#: near.
NEAREST = 0.001


@dataclass(frozen=True)
class Decision:
    """What one tier shall have.

    Parameters
    ----------
    tier
        The tier.
    candidates
        What was tried; the setting of number ``n`` in the conclusion is ``candidates[n - 1]``.
    conclusion
        Their measures, and whether the conditions hold.
    bests
        The best candidate of each feature that was tried.
    chosen
        The best of all that can be set: recommended if its standing is ``holds``; else the one that
        comes nearest.
    demands
        What the people's own conditions and objective are, also where others were asked for.
    """

    tier: Tier
    candidates: tuple[Candidate, ...]
    conclusion: Conclusion
    bests: Mapping[Feature, Best]
    chosen: Best
    demands: Wish = field(default_factory=Wish)

    @property
    def watched(self) -> dict[str, bool]:
        """The terms of all that was asked and of people's demands, and whether more is better."""
        return _list_watched(self.conclusion, self.demands)

    @property
    def shown(self) -> list[str]:
        """The terms in a table of all settings: those asked for, then what else people feel."""
        return list(dict.fromkeys([*(term.text for term in self.wish.terms), *self.watched]))

    @property
    def wish(self) -> Wish:
        """What must hold, and what there should be most or least of."""
        return self.conclusion.sweep.wish

    @property
    def recommended(self) -> int | None:
        """The setting that is recommended; None where none holds."""
        return self.chosen.setting if self.chosen.standing is Standing.HOLDS else None

    def find(self, setting: int) -> Candidate:
        """Give the candidate of a setting."""
        return self.candidates[setting - 1]


def decide(
    tier: Tier,
    candidates: Sequence[Candidate],
    table: pl.DataFrame,
    wish: Wish,
    seeds: Sequence[int],
    demands: Wish | None = None,
) -> Decision:
    """Decide what a tier shall have.

    Parameters
    ----------
    tier
        The tier.
    candidates
        What was tried, in the order of preference.
    table
        The tier's rows, whose ``setting`` counts the candidates from 1.
    wish
        What must hold, with absolute bounds.
    seeds
        Which were run.
    demands
        The people's own conditions and objective.
    """
    demands = demands or Wish()
    labels = tuple(own.label for own in candidates)
    axis = Factor("scenario", "setting", labels, labels)
    measures = {name: name for term in demands.terms for name in term.measures}
    sweep = Sweep(tier.name, Design(((axis,),), tuple(seeds)), wish=wish, measures=measures)
    conclusion = conclude(sweep, table)
    watched = _list_watched(conclusion, demands)
    features = dict.fromkeys(own.feature for own in sorted(candidates, key=_order))
    bests = {
        feature: find_best(
            conclusion,
            [number for number, own in _count(candidates) if own.feature is feature],
            watched,
        )
        for feature in features
    }
    settable = [number for number, own in _count(candidates) if own.is_settable]
    chosen = find_best(conclusion, settable, watched)
    if chosen.setting:
        # Being as good is not transitive: the best of its feature alone can be another setting.
        own = bests[candidates[chosen.setting - 1].feature]
        ties = tuple(tie for tie in chosen.ties if tie in own.line)
        bests[candidates[chosen.setting - 1].feature] = replace(chosen, line=own.line, ties=ties)
    return Decision(tier, tuple(candidates), conclusion, bests, chosen, demands)


def find_best(
    conclusion: Conclusion, settings: Sequence[int], watched: Mapping[str, bool] | None = None
) -> Best:
    """Find the best of some settings, which are in the order of preference.

    Those that hold come first, then those whose means meet the conditions; both need a value of the
    objective. Where there are neither, it is the one that misses the conditions least.

    Parameters
    ----------
    conclusion
        The measures of all settings.
    settings
        The settings, in the order of preference.
    watched
        Terms, and whether more of each is better: of settings that are as good, one that is clearly
        worse in one of these than another, and clearly better in none, is not the best.
    """
    line = tuple(settings)
    done = [own for own in line if conclusion.standings[own] is not Standing.MISSING]
    if not done:
        return Best(0, line, None, (), Standing.MISSING)
    shortfalls = {own: find_shortfall(conclusion, own) for own in done}
    objective = conclusion.objective
    standing, able = Standing.HOLDS, [own for own in done if conclusion.is_able(own)]
    if not able:
        standing = Standing.UNDECIDED
        valued = [own for own in done if objective is None or own in objective.estimates]
        able = [own for own in valued if shortfalls[own] <= 0]
    if not able:
        least = min(shortfalls.values())
        nearest = next(own for own in done if shortfalls[own] <= least + NEAREST)
        # A setting that misses nothing is here because the objective has no value in it.
        misses = 0 < shortfalls[nearest] < math.inf
        return Best(0, line, nearest if misses else None, (), Standing.FAILS)
    if objective is None:
        first, *others = able
        return Best(0, line, first, tuple(others), standing)
    most = max(able, key=lambda own: weigh(conclusion, own))
    equal = [own for own in able if _is_close(objective, own, most)]
    close = next(
        (
            own
            for own in equal
            if not any(_is_beaten(conclusion, own, other, watched or {}) for other in equal)
        ),
        equal[0],
    )
    ties = [own for own in able if own != close and (own == most or objective.is_tie(own, most))]
    return Best(0, line, close, tuple(ties), standing)


def _is_close(measured: Measured, setting: int, best: int) -> bool:
    """Say whether a setting's mean is as good as the best one's, whatever the intervals."""
    one, other = (measured.estimates[own].mean for own in (setting, best))
    figure = measured.about.figure
    return abs(one - other) <= find_tie(one, other, figure.kind, figure.range)


def _list_watched(conclusion: Conclusion, demands: Wish) -> dict[str, bool]:
    found: dict[str, bool] = {}
    for wish in (conclusion.sweep.wish, demands):
        rising = [(one.term, one.is_rising) for one in wish.hold]
        if wish.objective:
            rising.append((wish.objective, wish.is_rising))
        for term, is_rising in rising:
            measured = conclusion.terms.get(term.text)
            if measured and measured.estimates:
                found.setdefault(term.text, is_rising)
    return found


def compare(conclusion: Conclusion, term: str, setting: int, other: int, *, is_rising: bool) -> int:
    """Say whether a setting is clearly better in a term (1), clearly worse (-1), or neither (0)."""
    measured = conclusion.terms[term]
    if not {setting, other} <= measured.estimates.keys() or measured.is_tie(setting, other):
        return 0
    mean, base = (
        measured.orient(measured.estimates[own].mean, is_rising) for own in (setting, other)
    )
    return 1 if mean > base else -1


def _is_beaten(
    conclusion: Conclusion, setting: int, other: int, watched: Mapping[str, bool]
) -> bool:
    """Say whether another setting is clearly better for somebody, and clearly worse for nobody."""
    signs = {
        compare(conclusion, term, setting, other, is_rising=is_rising)
        for term, is_rising in watched.items()
    }
    return -1 in signs and 1 not in signs


def find_rival(decision: Decision) -> int | None:
    """Find a setting that more seeds may show to be better: it holds, and leads beyond a tie."""
    conclusion, recommended = decision.conclusion, decision.recommended
    objective = conclusion.objective
    if recommended is None or objective is None:
        return None
    able = [
        own
        for own in decision.chosen.line
        if conclusion.standings[own] is Standing.UNDECIDED
        and own in objective.estimates
        and find_shortfall(conclusion, own) <= 0
        and weigh(conclusion, own) > weigh(conclusion, recommended)
        and not _is_close(objective, own, recommended)
    ]
    return max(able, key=lambda own: weigh(conclusion, own), default=None)


def find_decisive(decision: Decision, setting: int) -> int:
    """Give the place in the wish of the condition that a setting misses most or barely meets."""
    wish, conclusion = decision.wish, decision.conclusion
    misses = [weigh_miss(conclusion, one, setting) for one in wish.hold]
    judged = [conclusion.judge(one, setting) for one in wish.hold]
    open_ = [number for number, own in enumerate(judged) if own is not Standing.HOLDS]
    return max(open_ or range(len(misses)), key=misses.__getitem__)


def _count(candidates: Sequence[Candidate]) -> list[tuple[int, Candidate]]:
    return list(enumerate(candidates, start=1))


def _order(candidate: Candidate) -> int:
    return list(Feature).index(candidate.feature)
