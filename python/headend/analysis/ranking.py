"""Which of several settings is best under criteria: conditions first, then the objective.

Settings that hold come first, then those whose means meet the conditions, then the nearest. What
a setting meets, in recommendations, sweeps and comparisons, is decided by `judge_estimate`. What
counts as equal to the best one, and which of the equal ones is named, is a `Policy`: kinds of
experiments differ in that on purpose.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from headend.analysis.criteria import Condition, Criteria
from headend.analysis.estimate import Estimate
from headend.analysis.grading import Grade
from headend.analysis.measures import MeasureValues


class Feasibility(StrEnum):
    """Whether a setting meets the conditions."""

    HOLDS = "holds"
    UNDECIDED = "undecided"
    FAILS = "fails"
    #: No point of it has a result.
    MISSING = "missing"

    @property
    def grade(self) -> Grade:
        """The grade whose colour it has in tables."""
        return {
            Feasibility.HOLDS: Grade.GOOD,
            Feasibility.UNDECIDED: Grade.FAIR,
            Feasibility.FAILS: Grade.BAD,
            Feasibility.MISSING: Grade.NONE,
        }[self]


@dataclass(frozen=True)
class Choice:
    """The best of some settings.

    Parameters
    ----------
    among
        The settings, in their order.
    setting
        The preferred one of the best settings that hold. Where none holds, it is of those whose
        means meet all conditions, and where there are none of these, the nearest. None where no
        setting has a result, or a value of every condition.
    ties
        Other settings that are as good, in their order.
    standing
        Whether it holds, is undecided, or fails.
    """

    among: tuple[int, ...]
    setting: int | None
    ties: tuple[int, ...]
    standing: Feasibility


@dataclass(frozen=True)
class Evaluation:
    """How settings meet criteria.

    Parameters
    ----------
    criteria
        What must hold, and what there should be most or least of.
    terms
        The values of its terms, and maybe of others, by their text.
    standings
        The feasibility of every setting.
    """

    criteria: Criteria
    terms: Mapping[str, MeasureValues]
    standings: Mapping[int, Feasibility]

    @property
    def objective(self) -> MeasureValues | None:
        """The term to maximise or minimise; None where there is none."""
        term = self.criteria.objective
        return self.terms[term.text] if term else None

    def judge(self, condition: Condition, setting: int) -> Feasibility:
        """Say whether a condition holds in a setting; a setting without a value fails."""
        return judge(condition, self.terms[condition.term.text], setting)

    def is_able(self, setting: int) -> bool:
        """Say whether a setting meets the conditions and has a value of the objective."""
        is_known = self.objective is None or setting in self.objective.estimates
        return self.standings[setting] is Feasibility.HOLDS and is_known

    def list_missed(self, setting: int) -> list[Condition]:
        """List the conditions that do not hold in a setting."""
        conditions = self.criteria.constraints
        return [
            condition
            for condition in conditions
            if self.judge(condition, setting) is not Feasibility.HOLDS
        ]

    def weigh(self, setting: int) -> float:
        """Give a setting's mean objective, with its sign such that a larger one is better."""
        if self.objective is None or setting not in self.objective.estimates:
            return -math.inf
        mean = self.objective.estimates[setting].mean
        return self.objective.as_gain(mean, self.criteria.higher_is_better)

    def find_miss(self, condition: Condition, setting: int) -> float | None:
        """Give by how much a mean misses a bound, in base units; a margin is negative.

        None where the setting has no value.
        """
        measured = self.terms[condition.term.text]
        estimate = measured.estimates.get(setting)
        if estimate is None:
            return None
        bound = condition.read_bound(measured.info.kind)
        return bound - estimate.mean if condition.higher_is_better else estimate.mean - bound

    def weigh_miss(self, condition: Condition, setting: int) -> float:
        """Give a miss as a share of the bound; infinite without a value."""
        miss, measured = self.find_miss(condition, setting), self.terms[condition.term.text]
        if miss is None:
            return math.inf
        return miss / (abs(condition.read_bound(measured.info.kind)) or measured.largest)

    def weigh_spare(self, condition: Condition, setting: int) -> float:
        """Give what a condition has to spare, as a share of the bound; a miss is negative.

        It is that of the interval's bad end, by which a condition is judged.
        """
        measured = self.terms[condition.term.text]
        estimate = measured.estimates.get(setting)
        if estimate is None:
            return -math.inf
        bound = condition.read_bound(measured.info.kind)
        spare = find_bad_end(estimate, higher_is_better=condition.higher_is_better) - bound
        spare = spare if condition.higher_is_better else -spare
        return spare / (abs(bound) or measured.largest)

    def find_shortfall(self, setting: int) -> float:
        """Give the miss of the worst condition, as a share of the bound; a margin is negative."""
        conditions = self.criteria.constraints
        return max((self.weigh_miss(condition, setting) for condition in conditions), default=0.0)


@dataclass(frozen=True)
class Policy:
    """What a kind of experiment calls as good as the best, and which of these it names.

    Parameters
    ----------
    is_equal
        Whether a setting may be named in place of the one with the best objective.
    prefer
        Names one of the equal settings.
    choose_nearest
        Names the nearest of settings that all fail, each with its shortfall.
    """

    is_equal: Callable[[MeasureValues, int, int], bool]
    prefer: Callable[[Sequence[int]], int]
    choose_nearest: Callable[[Mapping[int, float]], int]


def evaluate(
    criteria: Criteria,
    terms: Mapping[str, MeasureValues],
    settings: Iterable[int],
    done: set[int],
) -> Evaluation:
    """Hold settings against criteria; those that are not done are missing."""
    standings = {}
    for setting in settings:
        judged = {
            judge(condition, terms[condition.term.text], setting)
            for condition in criteria.constraints
        }
        order = (Feasibility.FAILS, Feasibility.UNDECIDED)
        worst = next((standing for standing in order if standing in judged), Feasibility.HOLDS)
        standings[setting] = worst if setting in done else Feasibility.MISSING
    return Evaluation(criteria, terms, standings)


def rank(evaluation: Evaluation, settings: Sequence[int], policy: Policy) -> Choice:
    """Find the best of some settings, which are in their order."""
    among = tuple(settings)
    done = [
        setting for setting in among if evaluation.standings[setting] is not Feasibility.MISSING
    ]
    if not done:
        return Choice(among, None, (), Feasibility.MISSING)
    shortfalls = {setting: evaluation.find_shortfall(setting) for setting in done}
    objective = evaluation.objective
    valued = [setting for setting in done if objective is None or setting in objective.estimates]
    standing = Feasibility.HOLDS
    able = [setting for setting in valued if evaluation.standings[setting] is standing]
    if not able:
        standing = Feasibility.UNDECIDED
        able = [setting for setting in valued if shortfalls[setting] <= 0]
    if not able:
        if any(shortfall <= 0 for shortfall in shortfalls.values()):
            # A setting that holds has no value of the objective.
            return Choice(among, None, (), Feasibility.MISSING)
        finite = {setting: miss for setting, miss in shortfalls.items() if math.isfinite(miss)}
        nearest = policy.choose_nearest(finite) if finite else None
        return Choice(among, nearest, (), Feasibility.FAILS)
    if objective is None:
        best = policy.prefer(able)
        return Choice(among, best, tuple(setting for setting in able if setting != best), standing)
    top = max(able, key=evaluation.weigh)
    best = policy.prefer(
        [setting for setting in able if setting == top or policy.is_equal(objective, setting, top)]
    )
    ties = (setting for setting in able if setting == top or objective.is_tie(setting, top))
    return Choice(among, best, tuple(setting for setting in ties if setting != best), standing)


def judge(condition: Condition, measured: MeasureValues, setting: int) -> Feasibility:
    """Say by the mean's interval whether a condition holds in a setting; no value fails."""
    estimate = measured.estimates.get(setting)
    if estimate is None:
        return Feasibility.FAILS
    bound = condition.read_bound(measured.info.kind)
    return judge_estimate(estimate, lambda value: condition.is_met(value, bound))


def find_bad_end(estimate: Estimate, *, higher_is_better: bool) -> float:
    """Give the end of an interval that meets a bound last; of a single value, the value.

    Examples
    --------
    >>> find_bad_end(Estimate(4.1, 3.9, 4.3, 5), higher_is_better=True)
    3.9
    """
    if math.isnan(estimate.low):
        return estimate.mean
    return estimate.low if higher_is_better else estimate.high


def judge_estimate(estimate: Estimate, is_met: Callable[[float], bool]) -> Feasibility:
    """Say whether a mean meets a bound: it holds only if the whole 95 % interval does.

    Of a single value, which has no interval, the value decides.

    Examples
    --------
    >>> judge_estimate(Estimate(4.1, 3.9, 4.3, 5), lambda mos: mos >= 4.0)
    <Feasibility.UNDECIDED: 'undecided'>
    """
    ends = (estimate.mean,) if math.isnan(estimate.low) else (estimate.low, estimate.high)
    met = [is_met(end) for end in ends]
    if all(met):
        return Feasibility.HOLDS
    return Feasibility.UNDECIDED if any(met) else Feasibility.FAILS
