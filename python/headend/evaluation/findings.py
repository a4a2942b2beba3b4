"""What was found: a verdict on each criterion, for each name, over all conditions and seeds."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headend.analysis.estimate import BOUNDS, Estimate, estimate_mean
from headend.analysis.ranking import Feasibility, judge_estimate
from headend.evaluation.case import Bottleneck, Case
from headend.evaluation.criterion import Criterion, Read, Values
from headend.evaluation.request import FACTORS, Request
from headend.text.wording import write_count

if TYPE_CHECKING:
    import polars as pl

#: Worst first.
_ORDER = (Feasibility.FAILS, Feasibility.UNDECIDED, Feasibility.HOLDS, Feasibility.MISSING)


@dataclass(frozen=True)
class Condition:
    """A condition of a case: its variant, and its bottleneck."""

    variant: str
    bottleneck: Bottleneck

    def __str__(self) -> str:
        """Name it."""
        return ", ".join(filter(None, (self.variant, str(self.bottleneck))))


@dataclass(frozen=True)
class Finding:
    """A criterion at one condition.

    Parameters
    ----------
    standing
        Whether it holds there.
    own
        The number over the seeds; None where no run gave it.
    baseline
        The baseline's number; None where it was not measured.
    limit
        The bound, mean over the seeds; None where it needs a baseline that was not measured.
    excess
        By how much the number is beyond the bound, as a share of the bound; below 0 within it, and
        0 where it is not known.
    missing
        How many runs lack the number, and why, in a clause; empty where none does. What is left
        may be the runs that went well, so the criterion is undecided then.
    """

    condition: Condition
    standing: Feasibility
    own: Estimate | None
    baseline: Estimate | None
    limit: float | None
    excess: float
    missing: str = ""


@dataclass(frozen=True)
class Verdict:
    """A criterion over all conditions, for one name; the worst condition comes first."""

    case: Case
    criterion: Criterion
    name: str
    findings: tuple[Finding, ...]

    @property
    def standing(self) -> Feasibility:
        """Whether it holds everywhere, fails anywhere, or is undecided."""
        return self.findings[0].standing if self.findings else Feasibility.MISSING

    @property
    def worst(self) -> Finding | None:
        """The condition with the worst standing, and of these the one furthest beyond the bound."""
        return self.findings[0] if self.findings else None

    @property
    def section(self) -> str:
        """Where the RFC has it."""
        return self.criterion.section or self.case.section

    def count(self, standing: Feasibility) -> int:
        """Count the conditions of a standing."""
        return sum(own.standing is standing for own in self.findings)


@dataclass(frozen=True)
class Findings:
    """All verdicts.

    Parameters
    ----------
    request
        What was asked.
    table
        A row for each point and measure.
    """

    request: Request
    table: pl.DataFrame

    @functools.cached_property
    def values(self) -> dict[tuple[str, ...], dict[int, Values]]:
        """What was measured, by the labels of a setting and the seed."""
        found: dict[tuple[str, ...], dict[int, dict[str, float]]] = {}
        if self.table.is_empty():
            return {}
        rows = self.table.filter(self.table["error"].is_null() & self.table["value"].is_not_null())
        names = ("case", "variant", "rate", "rtt", "buffer", "name", "seed", "measure", "value")
        for *labels, seed, measure, value in rows.select(names).iter_rows():
            if not math.isnan(value):
                found.setdefault(tuple(labels), {}).setdefault(seed, {})[measure] = value
        return found  # type: ignore[return-value]

    @functools.cached_property
    def failed(self) -> set[tuple[str, ...]]:
        """The labels of settings with their seeds, of the runs that failed."""
        if self.table.is_empty():
            return set()
        rows = self.table.filter(self.table["error"].is_not_null())
        return {(*map(str, row),) for row in rows.select(*FACTORS, "seed").iter_rows()}

    @functools.cached_property
    def cases(self) -> list[Case]:
        """The cases that were run."""
        return [case for case in self.request.family.cases if case.id in self.request.cases]

    def list_conditions(self, case: Case) -> list[Condition]:
        """List the conditions of a case."""
        bottlenecks = self.request.list_bottlenecks(case.extent)
        return [
            Condition(variant, bottleneck)
            for variant in case.variants
            for bottleneck in bottlenecks
        ]

    def list_runs(self, case: Case, condition: Condition, name: str) -> Mapping[int, Values]:
        """Give what was measured of all runs of a condition and a name, by seed."""
        return self.values.get((case.id, condition.variant, *condition.bottleneck.labels, name), {})

    @functools.cached_property
    def has_one_bottleneck(self) -> bool:
        """Whether everything is run at one bottleneck, which then need not be named."""
        conditions = [condition for case in self.cases for condition in self.list_conditions(case)]
        return len({condition.bottleneck for condition in conditions}) == 1

    def name_condition(self, condition: Condition) -> str:
        """Name a condition; nothing where there is no other."""
        return condition.variant if self.has_one_bottleneck else str(condition)

    def read(self, case: Case, condition: Condition, name: str, read: Read) -> dict[int, float]:
        """Read a number of all runs of a condition and a name, by seed."""
        by_seed = self.list_runs(case, condition, name)
        numbers = {seed: read(values) for seed, values in by_seed.items()}
        return {seed: own for seed, own in numbers.items() if own is not None}

    def estimate(
        self, case: Case, condition: Condition, name: str, criterion: Criterion
    ) -> Estimate | None:
        """Estimate a criterion's number over the seeds; None where it was not measured."""
        values = list(self.read(case, condition, name, criterion.read).values())
        return estimate_mean(values, BOUNDS.get(criterion.kind)) if values else None

    @functools.cached_property
    def verdicts(self) -> list[Verdict]:
        """The verdict on each criterion for each name, in the order of the document."""
        return [
            self.judge(case, criterion, name)
            for case in self.cases
            for criterion in case.criteria
            for name in self.request.every
        ]

    def find(self, name: str, case: Case, criterion: Criterion) -> Verdict:
        """Give one verdict."""
        return next(
            own
            for own in self.verdicts
            if (own.name, own.case.id, own.criterion.id) == (name, case.id, criterion.id)
        )

    def judge(self, case: Case, criterion: Criterion, name: str) -> Verdict:
        """Judge a criterion for a name at all conditions; a baseline is not held against itself."""
        found = list(self._judge_conditions(case, criterion, name))
        found.sort(key=lambda own: (_ORDER.index(own.standing), not own.missing, -own.excess))
        return Verdict(case, criterion, name, tuple(found))

    def _judge_conditions(self, case: Case, criterion: Criterion, name: str) -> Iterator[Finding]:
        baseline = self.request.family.baseline
        is_relative = criterion.bound.factor is not None
        if is_relative and name == baseline:
            return
        for condition in self.list_conditions(case):
            if not _is_kept(case, condition.variant, criterion):
                continue
            own = self.read(case, condition, name, criterion.read)
            base = self.read(case, condition, baseline, criterion.read) if baseline else {}
            runs = self.list_runs(case, condition, name)
            # A run that is not there may have been one that is judged.
            judged = [
                seed
                for seed in self.request.seeds
                if seed not in runs or criterion.applies(runs[seed])
            ]
            limits = {
                seed: limit
                for seed in judged
                if seed in own
                and (limit := criterion.bound.find(base.get(seed), at_most=criterion.at_most))
                is not None
            }
            told = [self._count_missing(case, condition, name, judged, own)]
            if is_relative:
                told.append(self._count_missing(case, condition, baseline, judged, base))
            if judged:
                missing = "; ".join(filter(None, told))
                yield _judge(criterion, condition, own, base, limits, missing)

    def _count_missing(
        self,
        case: Case,
        condition: Condition,
        name: str,
        seeds: Sequence[int],
        found: Mapping[int, float],
    ) -> str:
        """Say how many runs of some seeds have no number, and why; nothing where all have one."""
        labels = (case.id, condition.variant, *condition.bottleneck.labels, name)
        runs = self.list_runs(case, condition, name)
        lacking = [seed for seed in seeds if seed not in found]
        failed = sum((*labels, str(seed)) in self.failed for seed in lacking)
        without = sum(seed in runs for seed in lacking)
        counts = (
            (failed, "failed"),
            (without, "gave no number"),
            (len(lacking) - failed - without, "did not finish"),
        )
        of = f"of {write_count(len(self.request.seeds), 'run')} of {name}"
        return ", ".join(f"{count} {of} {what}" for count, what in counts if count)

    def count(self, name: str, cases: Sequence[Case] | None = None) -> dict[Feasibility, int]:
        """Count a name's verdicts by standing, of some cases or of all."""
        wanted = {case.id for case in cases} if cases is not None else None
        counts = dict.fromkeys(_ORDER, 0)
        for verdict in self.verdicts:
            if verdict.name == name and (wanted is None or verdict.case.id in wanted):
                counts[verdict.standing] += 1
        return counts


def _judge(
    criterion: Criterion,
    condition: Condition,
    own: dict[int, float],
    base: dict[int, float],
    limits: dict[int, float],
    missing: str,
) -> Finding:
    """Judge what the numbers are beyond the bounds of their seeds: what seeds share cancels."""
    known = BOUNDS.get(criterion.kind)
    baseline = estimate_mean(list(base.values()), known) if base else None
    if not limits:
        measured = estimate_mean(list(own.values()), known) if own else None
        bound = criterion.bound.find(None, at_most=criterion.at_most)
        return Finding(condition, Feasibility.UNDECIDED, measured, baseline, bound, 0.0, missing)
    sign = 1 if criterion.at_most else -1
    beyond = estimate_mean([sign * (own[seed] - limit) for seed, limit in limits.items()])
    limit = sum(limits.values()) / len(limits)
    standing = judge_estimate(beyond, lambda excess: excess <= 0)
    return Finding(
        condition,
        Feasibility.UNDECIDED if missing else standing,
        estimate_mean([own[seed] for seed in limits], known),
        baseline,
        limit,
        beyond.mean / abs(limit) if limit else (math.inf if beyond.mean > 0 else 0.0),
        missing,
    )


def _is_kept(case: Case, variant: str, criterion: Criterion) -> bool:
    """Say whether a variant's runs keep what a criterion reads."""
    names = (*case.list_measures(variant), *case.spans)
    return criterion.read(dict.fromkeys(names, 1.0)) is not None


def rank_verdict(verdict: Verdict) -> tuple[int, bool, float]:
    """Give a verdict's place among others: the worst is first, and what lacks runs before others.

    The three are the standing, whether all runs have a number, and how far it is within the bound.
    """
    worst = verdict.worst
    if worst is None:
        return _ORDER.index(verdict.standing), True, 0.0
    return _ORDER.index(verdict.standing), not worst.missing, -worst.excess
