"""Decides what a tier shall have: the best candidate of each feature, and the recommended one.

A candidate is recommended only if every condition holds over the whole 95 % interval of its mean
(of fewer than three seeds, which have none, in the mean), with each sender; each quantity is that
of the sender with which it is worst.
Of these it is the one with the best objective; of those whose means are as good
(`headend.analysis.ties.find_tie`: within 5 %), the one with the least to set, unless another of
them is clearly better for somebody and clearly worse for nobody. Others whose difference from the
best is within its interval are called as good too, but are not recommended.

Where none holds with each sender, the nearest is the one that holds with the most of them; of
these, the one that misses its worst condition by the least. What each sender alone would decide is
a `Decision` of its own.

All that sentences, tables and figures say of a tier is a fact of its `Decision`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from headend.analysis.criteria import Condition, Criteria
from headend.analysis.measures import MeasureValues
from headend.analysis.ranking import Choice, Evaluation, Feasibility, Policy, evaluate, rank
from headend.recommendation.candidate import Candidate, Feature
from headend.recommendation.router import Router
from headend.recommendation.sender import Sender
from headend.recommendation.tier import Tier
from headend.recommendation.worst import FEWEST_SEEDS, measure_worst, split_senders

if TYPE_CHECKING:
    import polars as pl

#: Settings that miss their worst condition by as much, within this share of its bound, are equally
#: near.
NEAREST = 0.001

#: So many of people's own demands are shown, also where others are asked for.
MOST_DEMANDS = 8


@dataclass(frozen=True, kw_only=True)
class Decision(Evaluation):
    """What one tier shall have, and what is known of all its settings.

    Parameters
    ----------
    tier
        The tier.
    candidates
        What was tried; the setting of number ``n`` is ``candidates[n - 1]``.
    demands
        The people's own conditions and objective, also where others were asked for.
    seeds
        How many were run.
    senders
        With which every setting was tried; empty where all uploads are as they are.
    sources
        The sender with which a term is worst in a setting; empty where there is one.
    alone
        What would be decided if each of several senders were the only one.
    failed
        How many points failed.
    failure
        Why the first of them failed; empty where none did.
    dropped
        The terms of people's own conditions that have no value on somebody's line as it is: nothing
        is asked of them.
    preferred
        What is chosen for another reason than the objective; of a line of one's own, by who can do
        it.
    """

    tier: Tier
    candidates: tuple[Candidate, ...]
    demands: Criteria
    seeds: int
    senders: tuple[Sender, ...] = ()
    sources: Mapping[str, Mapping[int, Sender]] = field(default_factory=dict)
    alone: Mapping[Sender, Decision] = field(default_factory=dict)
    failed: int = 0
    failure: str = ""
    dropped: tuple[str, ...] = ()
    preferred: int | None = None

    @property
    def has_intervals(self) -> bool:
        """Whether there are enough seeds for intervals; otherwise the means decide."""
        return self.seeds >= FEWEST_SEEDS

    def find(self, setting: int) -> Candidate:
        """Give the candidate of a setting."""
        return self.candidates[setting - 1]

    def find_sender(self, term: str, setting: int) -> Sender | None:
        """Give the sender with which a term is worst in a setting; None where there is one."""
        return self.sources.get(term, {}).get(setting)

    @property
    def by_sender(self) -> dict[Sender, Mapping[int, Feasibility]]:
        """The feasibility of every setting with each of several senders."""
        return {sender: own.standings for sender, own in self.alone.items()}

    def list_senders(self, setting: int, standing: Feasibility) -> list[Sender]:
        """List those of several senders with which a setting has a standing."""
        found = self.by_sender.items()
        return [sender for sender, standings in found if standings[setting] is standing]

    # Which setting is chosen.

    @functools.cached_property
    def chosen(self) -> Choice:
        """The best of all that can be set: recommended if it holds, else the nearest."""
        settings = range(1, len(self.candidates) + 1)
        able = [own for own in settings if self.find(own).is_settable]
        if self.preferred:
            return Choice(tuple(able), self.preferred, (), self.standings[self.preferred])
        return self.choose(able)

    @functools.cached_property
    def bests(self) -> Mapping[Feature, Choice]:
        """The best setting of each feature that was tried."""
        groups: dict[Feature, list[int]] = {own: [] for own in Feature}
        for number, own in enumerate(self.candidates, start=1):
            groups[own.feature].append(number)
        if not groups[Feature.DELIVERED] and self.delivered:
            groups[Feature.DELIVERED] = [self.delivered]
        bests = {feature: self.choose(among) for feature, among in groups.items() if among}
        if self.chosen.setting:
            # Being as good is not transitive: the best of its feature alone can be another setting.
            feature = self.find(self.chosen.setting).feature
            among = bests[feature].among
            ties = tuple(tie for tie in self.chosen.ties if tie in among)
            bests[feature] = replace(self.chosen, among=among, ties=ties)
        return bests

    @property
    def recommended(self) -> int | None:
        """The setting that is recommended; None where none holds."""
        return self.chosen.setting if self.chosen.standing is Feasibility.HOLDS else None

    @property
    def top(self) -> int | None:
        """The setting that holds with the best objective; None where there is none."""
        return max(self.holding, key=self.weigh, default=None) if self.objective else None

    @property
    def is_top(self) -> bool:
        """Whether no setting that holds has a better objective than the recommended one."""
        top, setting = self.top, self.recommended
        return top is None or setting is None or self.weigh(setting) >= self.weigh(top)

    def choose(self, settings: Sequence[int]) -> Choice:
        """Find the best of some settings, which are in the order of preference.

        Of settings that are as good, one that is clearly worse than another in a watched term, and
        clearly better in none, is not the best.
        """

        def prefer(equal: Sequence[int]) -> int:
            fine = (own for own in equal if not any(self._is_beaten(own, one) for one in equal))
            return next(fine, equal[0])

        def choose_nearest(shortfalls: Mapping[int, float]) -> int:
            held = {own: len(self.list_senders(own, Feasibility.HOLDS)) for own in shortfalls}
            most = max(held.values())
            near = {own: miss for own, miss in shortfalls.items() if held[own] == most}
            return next(own for own, miss in near.items() if miss <= min(near.values()) + NEAREST)

        return rank(self, settings, Policy(MeasureValues.is_close, prefer, choose_nearest))

    def _is_beaten(self, setting: int, other: int) -> bool:
        """Say whether another setting is clearly better for somebody, and worse for nobody."""
        better, worse = self.list_changes(setting, other)
        return self.objective is not None and bool(worse) and not better

    def find_decisive(self, setting: int) -> Condition:
        """Give the condition that a setting misses most, or meets with the least to spare.

        What a condition that holds has to spare is that of the interval's bad end.
        """
        if missed := self.list_missed(setting):
            return max(missed, key=lambda own: self.weigh_miss(own, setting))
        return min(self.criteria.constraints, key=lambda own: self.weigh_spare(own, setting))

    # What else is to be known of the choice.

    @functools.cached_property
    def watched(self) -> Mapping[str, bool]:
        """The terms of all that was asked and of people's demands, and whether more is better."""
        found: dict[str, bool] = {}
        for wish in (self.criteria, self.demands):
            rising = [(one.term, one.higher_is_better) for one in wish.constraints]
            rising += [(wish.objective, wish.higher_is_better)] if wish.objective else []
            for term, higher_is_better in rising:
                if term.text in self.terms and self.terms[term.text].estimates:
                    found.setdefault(term.text, higher_is_better)
        return found

    @property
    def shown(self) -> list[str]:
        """The terms in a table of all settings: those asked for, then what else people feel."""
        return list(dict.fromkeys([*(term.text for term in self.criteria.terms), *self.watched]))

    def list_changes(self, setting: int, other: int) -> tuple[list[str], list[str]]:
        """List the watched terms that are clearly better in a setting than in another, or worse."""
        better: list[str] = []
        worse: list[str] = []
        for term, higher_is_better in self.watched.items():
            measured = self.terms[term]
            known = {setting, other} <= measured.estimates.keys()
            if known and not measured.is_tie(setting, other):
                mean, base = (
                    measured.as_gain(measured.estimates[own].mean, higher_is_better)
                    for own in (setting, other)
                )
                (better if mean > base else worse).append(term)
        return better, worse

    def list_mended(self, setting: int, other: int) -> list[str]:
        """List the conditions that another setting misses in the mean, and this one holds for sure.

        They do even if the interval of their difference includes zero.
        """
        return [
            one.term.text
            for one in self.criteria.constraints
            if self.judge(one, setting) is Feasibility.HOLDS
            and self.judge(one, other) is not Feasibility.HOLDS
            and ((miss := self.find_miss(one, other)) is None or miss > 0)
        ]

    @property
    def holding(self) -> list[int]:
        """The settings that can be set and meet all conditions."""
        return [own for own in self.chosen.among if self.is_able(own)]

    @property
    def undecided(self) -> list[int]:
        """The settings that can be set and meet all conditions over a part of an interval only."""
        return [own for own in self.chosen.among if self.standings[own] is Feasibility.UNDECIDED]

    @property
    def today(self) -> int | None:
        """What the tier has today; None where only rates are known."""
        return self._find_first(lambda one: one.feature is Feature.TODAY)

    @property
    def delivered(self) -> int | None:
        """What a modem has as delivered."""
        if self.tier.is_own:  # what it has today is known
            return None
        own = self._find_first(lambda one: one.feature is Feature.DELIVERED)
        is_pie = self.tier.is_docsis31
        return own or (self._find_first(lambda one: one.is_pie_by_default) if is_pie else None)

    @property
    def aqm_off(self) -> int | None:
        """The buffer of a modem as delivered without its AQM, where that is something else."""
        return self._find_first(lambda one: one.feature is Feature.AQM_OFF)

    @property
    def baselines(self) -> dict[Feature, int]:
        """What gains are told against, in this order: settings by their features.

        What is as good as the tier is today, for everybody, is left out.
        """
        named = (
            (Feature.TODAY, self.today),
            (Feature.DELIVERED, self.delivered),
            (Feature.AQM_OFF, self.aqm_off),
        )
        today = self.today
        return {
            feature: setting
            for feature, setting in named
            if setting and (setting == today or not today or self._differ(setting, today))
        }

    def _differ(self, setting: int, other: int) -> bool:
        """Say whether somebody is clearly better or worse off with a setting than with another."""
        better, worse = self.list_changes(setting, other)
        return bool(better or worse)

    def _find_first(self, is_meant: Callable[[Candidate], bool]) -> int | None:
        numbers = (number for number, own in enumerate(self.candidates, start=1) if is_meant(own))
        return next(numbers, None)

    @property
    def is_lax(self) -> bool:
        """Whether every setting meets all conditions, which then tell none apart."""
        return bool(self.criteria.constraints) and set(self.standings.values()) == {
            Feasibility.HOLDS
        }

    @property
    def rival(self) -> int | None:
        """A setting that more seeds may show to be better: its mean leads beyond a tie."""
        recommended = self.recommended
        if recommended is None or self.objective is None:
            return None
        able = [
            own
            for own in self.undecided
            if own in self.objective.estimates
            and self.find_shortfall(own) <= 0
            and self.weigh(own) > self.weigh(recommended)
            and not self.objective.is_close(own, recommended)
        ]
        return max(able, key=self.weigh, default=None)

    @property
    def alternative(self) -> int | None:
        """The best setting of all other features; None unless it holds, and is not as good."""
        if self.recommended is None or self.objective is None:
            return None
        feature = self.find(self.recommended).feature
        best = self.choose([own for own in self.chosen.among if self.find(own).feature != feature])
        is_other = best.standing is Feasibility.HOLDS and best.setting not in self.chosen.ties
        return best.setting if is_other else None

    @property
    def passed_over(self) -> tuple[int, int] | None:
        """A setting as good, with less to set than the recommended one, and one that is better.

        The second is better for somebody and worse for nobody: the recommended one where it is.
        None where nothing that is as good has less to set.
        """
        setting, top, objective = self.recommended, self.top, self.objective
        if setting is None or top is None or objective is None:
            return None
        equal = [own for own in self.holding if own == top or objective.is_close(own, top)]
        if not equal or equal[0] == setting:
            return None
        better = [own for own in (setting, *equal) if self._is_beaten(equal[0], own)]
        return (equal[0], better[0]) if better else None

    @property
    def too_large(self) -> int | None:
        """The next larger buffer than the recommended one, if that fails."""
        if self.recommended is None:
            return None
        if self.find(self.recommended).feature is not Feature.BUFFER_CONTROL:
            return None
        buffers = self.bests[Feature.BUFFER_CONTROL].among
        larger = next((own for own in buffers if own > (self.recommended or 0)), None)
        return larger if larger and self.standings[larger] is Feasibility.FAILS else None

    @property
    def router(self) -> Router | None:
        """The router that is recommended, or comes nearest."""
        setting = self.chosen.setting
        return self.find(setting).router if setting else None

    @property
    def edges(self) -> list[int]:
        """The routers that leave too little of the line's rate, and have a result."""
        return [
            number
            for number, own in enumerate(self.candidates, start=1)
            if own.feature is Feature.ROUTER
            and own.router
            and own.router.is_edge
            and self.standings.get(number, Feasibility.MISSING) is not Feasibility.MISSING
        ]

    @property
    def unasked(self) -> list[str]:
        """The terms of people's demands that no condition asks for and the chosen setting fails."""
        asked = {one.term.text for one in self.criteria.constraints}
        return [
            one.term.text
            for one in self.demands.constraints
            if one.term.text not in asked
            and one.term.text in self.terms
            and self.judge(one, self.chosen.setting or 0) is Feasibility.FAILS
        ]

    @property
    def unmeasured(self) -> list[str]:
        """The terms of what was asked that have no value in any setting."""
        return [one.text for one in self.criteria.terms if not self.terms[one.text].estimates]

    @property
    def out_of_reach(self) -> list[tuple[Condition, int]]:
        """The conditions that no setting meets, each with the setting that comes nearest to it."""
        found = []
        for condition in self.criteria.constraints:
            measured, among = self.terms[condition.term.text], self.chosen.among
            known = [own for own in among if own in measured.estimates]
            if known and not any(self.judge(condition, own) is Feasibility.HOLDS for own in among):
                means = {own: measured.estimates[own].mean for own in known}
                best = max if condition.higher_is_better else min
                found.append((condition, best(means, key=means.__getitem__)))
        return found


def decide(
    tier: Tier,
    candidates: Sequence[Candidate],
    table: pl.DataFrame,
    criteria: Criteria,
    seeds: Sequence[int],
    demands: Criteria | None = None,
    senders: Sequence[Sender] = (),
) -> Decision:
    """Decide what a tier shall have.

    Parameters
    ----------
    candidates
        What was tried, in the order of preference.
    table
        The tier's rows, whose ``setting`` counts the candidates from 1.
    criteria
        What must hold, with absolute bounds.
    seeds
        Which were run.
    demands
        The people's own conditions and objective.
    senders
        Which were tried, if the table has a column of them.
    """
    demands = demands or Criteria()
    known = set() if table.is_empty() else set(table["measure"])
    felt = [term for term in demands.terms if term.text in known][:MOST_DEMANDS]
    worst = measure_worst(table, [*felt, *criteria.terms], senders, (criteria, demands))
    asked = {name for term in (*demands.terms, *criteria.terms) for name in term.measures}

    def list_done(rows: pl.DataFrame) -> set[int]:
        if rows.is_empty():
            return set()
        rows = rows.drop_nulls("value")
        rows = rows.filter(rows["error"].is_null() & rows["value"].is_finite())
        if demands:  # without any, whatever was measured counts
            rows = rows.filter(rows["measure"].is_in(list(asked)))
        return set(rows["setting"])

    settings = range(1, len(candidates) + 1)
    rows = split_senders(table, senders)
    alone = {
        own: decide(tier, candidates, part, criteria, seeds, demands, (own,))
        for own, part in rows.items()
        if len(rows) > 1
    }
    dropped = _list_unvalued(tier, candidates, worst.terms, criteria, demands)
    kept = tuple(own for own in criteria.constraints if own.term.text not in dropped)
    criteria = replace(criteria, constraints=kept)
    errors = [] if table.is_empty() else table["error"].drop_nulls().to_list()
    # A setting has a result if it has one with each sender.
    whole = set.intersection(*map(list_done, rows.values())) if rows else list_done(table)
    return Decision(
        **vars(evaluate(criteria, worst.terms, settings, whole)),
        tier=tier,
        candidates=tuple(candidates),
        demands=demands,
        seeds=len(seeds),
        senders=tuple(senders),
        sources=worst.sources,
        alone=alone,
        failed=len(errors),
        failure=errors[0] if errors else "",
        dropped=dropped,
    )


def _list_unvalued(
    tier: Tier,
    candidates: Sequence[Candidate],
    terms: Mapping[str, MeasureValues],
    criteria: Criteria,
    demands: Criteria,
) -> tuple[str, ...]:
    """List the terms of people's own conditions without a value on somebody's line as it is.

    What no run of that line measures tells nothing of what helps it: the time until a film began
    before what is measured. What was asked for by name stays, and so do all where none would.
    """
    numbers = (at for at, one in enumerate(candidates, 1) if one.feature is Feature.TODAY)
    today = next(numbers, None)
    if not tier.is_own or today is None:
        return ()
    asked = [one.term.text for one in criteria.constraints]
    valued = {text for text in asked if today in terms[text].estimates}
    if not valued:
        return ()
    peoples = {one.term.text for one in demands.constraints}
    return tuple(text for text in asked if text in peoples - valued)
