"""Decides what a tier shall have: the best candidate of each feature, and the one that is recommended.

A candidate is recommended only if every condition holds over the whole 95 % interval of its mean. Of these it is the one with
the best objective; of those whose means are as good (`headend.comparing.ties.find_tie`: within 5 %), the one with the least to
set. Others whose difference from the best is within its interval are called as good too, but are not recommended.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headend.comparing.ties import find_tie
from headend.recommending.candidate import Candidate
from headend.recommending.feature import Feature
from headend.recommending.tier import Tier
from headend.sweeps.concluding import conclude
from headend.sweeps.conclusion import (
    Best,
    Conclusion,
    Measured,
    Standing,
    find_shortfall,
    weigh,
)
from headend.sweeps.definition import Axis, Sweep
from headend.sweeps.wish import Wish

if TYPE_CHECKING:
    import polars as pl


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
        The best of all that can be set: recommended if its standing is ``holds``; else the one that comes nearest.
    """

    tier: Tier
    candidates: tuple[Candidate, ...]
    conclusion: Conclusion
    bests: Mapping[Feature, Best]
    chosen: Best

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
    """
    labels = tuple(own.label for own in candidates)
    axis = Axis("scenario", "setting", labels, labels)
    sweep = Sweep(tier.name, None, ((axis,),), tuple(seeds), wish=wish)
    conclusion = conclude(sweep, table)
    features = dict.fromkeys(own.feature for own in sorted(candidates, key=_order))
    bests = {
        feature: find_best(
            conclusion, [number for number, own in _count(candidates) if own.feature is feature]
        )
        for feature in features
    }
    settable = [number for number, own in _count(candidates) if own.is_settable]
    chosen = find_best(conclusion, settable)
    if chosen.setting:
        # Being as good is not transitive: the best of its feature alone can be another setting.
        own = bests[candidates[chosen.setting - 1].feature]
        ties = tuple(tie for tie in chosen.ties if tie in own.line)
        bests[candidates[chosen.setting - 1].feature] = replace(chosen, line=own.line, ties=ties)
    return Decision(tier, tuple(candidates), conclusion, bests, chosen)


def find_best(conclusion: Conclusion, settings: Sequence[int]) -> Best:
    """Find the best of some settings, which are in the order of preference.

    Those that hold come first, then those whose means meet the conditions; both need a value of the objective. Where there are
    neither, it is the one that misses the conditions least.
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
        nearest = min(done, key=lambda own: (shortfalls[own], -weigh(conclusion, own)))
        # A setting that misses nothing is here because the objective has no value in it.
        misses = 0 < shortfalls[nearest] < math.inf
        return Best(0, line, nearest if misses else None, (), Standing.FAILS)
    if objective is None:
        first, *others = able
        return Best(0, line, first, tuple(others), standing)
    most = max(able, key=lambda own: weigh(conclusion, own))
    close = next(own for own in able if _is_close(objective, own, most))
    ties = [own for own in able if own != close and (own == most or objective.is_tie(own, most))]
    return Best(0, line, close, tuple(ties), standing)


def _is_close(measured: Measured, setting: int, best: int) -> bool:
    """Say whether the mean of a setting is as good as that of the best one, whatever the intervals."""
    one, other = (measured.estimates[own].mean for own in (setting, best))
    figure = measured.about.figure
    return abs(one - other) <= find_tie(one, other, figure.kind, figure.range)


def find_decisive(decision: Decision, setting: int) -> int:
    """Give the place in the wish of the condition that a setting misses most, or meets with the least to spare."""
    wish, conclusion = decision.wish, decision.conclusion
    alone = [
        find_shortfall(
            replace(conclusion, sweep=replace(conclusion.sweep, wish=Wish((one,)))), setting
        )
        for one in wish.hold
    ]
    return max(range(len(alone)), key=alone.__getitem__)


def _count(candidates: Sequence[Candidate]) -> list[tuple[int, Candidate]]:
    return list(enumerate(candidates, start=1))


def _order(candidate: Candidate) -> int:
    return list(Feature).index(candidate.feature)
