"""How each flow and group fared under each choice, over all seeds, and how choices differ.

A flow's grade and words are those of the means over the seeds (``comparison/pooling.py``); its
number is the mean over the seeds with its interval. Of a group of flows, the number is how many of
its members suffer, counted in each seed. Differences are paired by seed, and what differs is no tie
by the rule of ``analysis/ties.py``; a group differs where more than one of its members, and more
than 5 % of them, fare otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headend.analysis.bottleneck import find_shared_bottleneck
from headend.analysis.estimate import (
    BOUNDS,
    Bounds,
    Estimate,
    estimate_mean,
    format_estimate,
)
from headend.analysis.flow_groups import FlowGroup, gather_groups
from headend.analysis.grading import ORDER, Grade, find_mark
from headend.analysis.key_figure import FEW_DECIMALS, KeyFigure, write_value
from headend.analysis.quality import FlowQuality, judge_flows
from headend.analysis.queues import weigh_queues
from headend.analysis.ranking import Feasibility, judge_estimate
from headend.analysis.ties import TIE, average, compare_seeds, is_tie
from headend.comparison.comparison import Variant, is_uneven
from headend.comparison.grid import Grid, Tier, find_grid
from headend.comparison.pooling import list_runs
from headend.engine.description import REAL, list_applications
from headend.text.quantity import Kind, Unit

if TYPE_CHECKING:
    from headend.results.record import Record

#: The least and the largest MOS that G.107 gives.
SCORES = (1.0, 4.5)

#: Share of a group that suffers, up to which its cell is fair, and up to which it is poor.
FEW_SUFFER, MANY_SUFFER = 0.1, 0.5


@dataclass(frozen=True)
class FlowOutcome:
    """How a flow or a group of flows fared under one choice.

    Parameters
    ----------
    party
        The flow or group, with the means over the seeds.
    grade
        The grade; of a group, by the share of its members who suffer.
    key_figure
        The number by which it is graded; of a group, that of its worst member.
    values
        The number of each seed, by seed; of a group, how many of its members suffer; NaN where
        nothing was measured.
    """

    party: FlowGroup
    grade: Grade
    key_figure: KeyFigure
    values: Mapping[int, float]

    @property
    def is_transfer(self) -> bool:
        """Whether it has no grade, only a rate."""
        return self.grade is Grade.NONE and not self.is_round_trip

    @property
    def is_round_trip(self) -> bool:
        """Whether it is a real program's round trips, beside its rate and without a grade."""
        is_trip = self.key_figure.kind == "time" and bool(self.key_figure.about)
        return self.is_real and not self.is_graded and is_trip

    @property
    def only_watches(self) -> bool:
        """Whether it is a probe without a grade: nobody's traffic."""
        return not self.is_graded and self.party.worst.application in list_applications("probe")

    @property
    def is_real(self) -> bool:
        """Whether it is of real programs."""
        return self.party.worst.application == REAL

    @property
    def is_graded(self) -> bool:
        """Whether it has a grade."""
        return self.grade is not Grade.NONE

    @property
    def is_count(self) -> bool:
        """Whether its number counts those who suffer in a group."""
        return self.party.is_group and self.is_graded

    @property
    def higher_is_better(self) -> bool:
        """Whether a larger number is better."""
        return self.key_figure.higher_is_better and not self.is_count

    @property
    def suffers(self) -> bool:
        """Whether its grade is poor or bad; of a group, whether more than a few members suffer."""
        return self.grade in (Grade.POOR, Grade.BAD)

    @property
    def badness(self) -> float:
        """The grade from 0 (good) to 3 (bad); of a group, 3 times the share who suffer."""
        if self.is_count:
            suffering = self.estimate
            return 3 * suffering.mean / len(self.party.findings) if suffering else 0.0
        return float(max(0, ORDER.index(self.grade) - 1))

    @property
    def assured(self) -> float:
        """The badness that it is credited with: that of the best grade of the whole interval.

        A grade that only a part of the 95 % interval has makes no choice the best.
        """
        found = self.estimate
        if found is None or not self.is_graded:
            return self.badness
        if self.is_count:
            worst = found.mean if math.isnan(found.high) else found.high
            return 3 * worst / len(self.party.findings)
        mark = find_mark(self.party.worst.application, self.key_figure.about)
        if mark is None:
            return self.badness

        def holds(grade: Grade) -> bool:
            judged = judge_estimate(found, lambda value: mark.is_met(value, grade))
            return judged is Feasibility.HOLDS

        reached = next(place for place, grade in enumerate(ORDER[1:]) if holds(grade))
        return max(self.badness, float(reached))

    @property
    def estimate(self) -> Estimate | None:
        """Its number over the seeds; None where nothing was measured."""
        known = self._known
        return estimate_mean(list(known.values()), self.bounds) if known else None

    @property
    def _known(self) -> dict[int, float]:
        """The values of the seeds in which it was measured."""
        return {seed: value for seed, value in self.values.items() if not math.isnan(value)}

    @property
    def bounds(self) -> Bounds | None:
        """The least and the largest value that its number can have."""
        if self.is_count:
            return 0, len(self.party.findings)
        return SCORES if self.key_figure.before == "MOS" else BOUNDS.get(self.key_figure.kind)

    @property
    def word(self) -> str:
        """The grade in a word; empty for a transfer, and for a group, whose number is enough."""
        return self.party.worst.word if self.is_graded and not self.is_count else ""

    @property
    def kind(self) -> Kind:
        """What its number measures."""
        return "number" if self.is_count else self.key_figure.kind

    def write_number(self, unit: Unit | None = None) -> str:
        """Write its number with unit and interval; empty where none was measured.

        Parameters
        ----------
        unit
            The unit of the matrix row; by default the one that suits the number.
        """
        found = self.estimate
        if found is None:
            return "" if self.is_count else self.key_figure.told
        if self.is_count:
            return f"{format_estimate(found, 'number')} of {len(self.party.findings)} suffer"
        is_exact = math.isnan(found.half) or not found.half
        if is_exact and self.kind == "number" and abs(found.mean) < FEW_DECIMALS:
            return self.key_figure.surround(write_value(found.mean, self.kind))
        return self.key_figure.surround(format_estimate(found, self.kind, unit))

    def is_comparable(self, base: FlowOutcome) -> bool:
        """Say whether its number is of the same thing as that of a base."""
        if (self.kind, self.is_count) != (base.kind, base.is_count):
            return False
        return self.is_count or self.key_figure.about == base.key_figure.about

    def compare(self, base: FlowOutcome) -> Estimate | None:
        """Give the difference of its number to a base's, paired by seed; None if none is common."""
        return compare_seeds(self.values, base.values) if self.is_comparable(base) else None

    def differs(self, base: FlowOutcome) -> bool:
        """Say whether its number and that of a base do not tie."""
        if not self.is_comparable(base):
            return False
        own, other = self._known, base._known
        if not own or not other or is_tie(own, other, self.kind, self.bounds):
            return False
        if not self.is_count:
            return True
        step = abs(average(own) - average(other))
        return step > max(1.0, TIE * len(self.party.findings))


@dataclass(frozen=True)
class QueueOutcome:
    """A queue under one choice, over all seeds.

    Parameters
    ----------
    delay
        The median delay, ns; None where the queue held no packet.
    used
        The share of its rate that was used; None where that is not known.
    rate_bps
        Its rate, bit/s.
    """

    delay: Estimate | None
    used: Estimate | None
    rate_bps: float


@dataclass(frozen=True)
class TierOutcome:
    """How each flow and group fared under each choice of a tier, and the queue.

    Parameters
    ----------
    tier
        The settings.
    people
        The fates under each choice, by flow or group label; None where a choice lacks it.
    queue
        The queue that the runs are compared by; empty where there is none.
    queues
        That queue under each choice.
    results
        The result of each choice over its seeds; None where its run is missing.
    is_uneven
        Whether runs were stopped before their end, so that they are not set against each other.
    """

    tier: Tier
    people: Mapping[str, tuple[FlowOutcome | None, ...]]
    queue: str
    queues: tuple[QueueOutcome | None, ...]
    results: tuple[Record | None, ...]
    is_uneven: bool = False


def judge_grid(variants: Sequence[Variant]) -> tuple[Grid, list[TierOutcome]]:
    """Judge every flow and group under every setting of a comparison."""
    grid = find_grid(variants)
    return grid, [judge_tier(tier) for tier in grid.tiers]


def judge_tier(tier: Tier) -> TierOutcome:
    """Judge every flow and group under each choice of a tier."""
    pooled = tuple(variant.pool() if variant else None for variant in tier.variants)
    flows = [[own.flow for own in judge_flows(result)] for result in pooled if result]
    found = [_judge_result(result, flows) if result else {} for result in pooled]
    names = dict.fromkeys(name for own in found for name in own)
    queue = find_shared_bottleneck([result for result in pooled if result]) or ""
    return TierOutcome(
        tier,
        {_label(name, found): tuple(own.get(name) for own in found) for name in names},
        queue,
        tuple(_describe_queue(result, queue) if result else None for result in pooled),
        pooled,
        is_uneven(tier.present),
    )


def _label(name: str, found: Sequence[Mapping[str, FlowOutcome]]) -> str:
    labels = {own[name].party.label for own in found if name in own}
    return labels.pop() if len(labels) == 1 else name


def _judge_result(result: Record, flows: Sequence[Sequence[str]]) -> dict[str, FlowOutcome]:
    """Give the fate of each flow or group by its name, in the order of the tables.

    Parameters
    ----------
    flows
        The flows of all results that are compared.
    """

    def gather(run: Record) -> list[FlowGroup]:
        return gather_groups(judge_flows(run), beside=flows)

    by_seed = {
        run.manifest["seed"]: {party.name: party for party in gather(run)}
        for run in list_runs(result)
    }
    fates = {}
    for party in gather(result):
        seeds = {seed: own.get(party.name) for seed, own in by_seed.items()}
        fates[party.name] = _find_fate(party, seeds)
        if trips := _find_round_trips(party, seeds):
            fates[trips.party.name] = trips
    return fates


def _find_round_trips(
    party: FlowGroup, by_seed: Mapping[int, FlowGroup | None]
) -> FlowOutcome | None:
    """Give a real program's round trips as a fate of their own, beside its rate; or None."""
    finding = party.worst
    if finding.application != REAL or party.is_group or len(finding.key_figures) < 2:
        return None
    key_figure = finding.key_figures[1]
    values = {
        seed: _read(own.worst, key_figure) if own else math.nan for seed, own in by_seed.items()
    }
    called = f"{party.label} RTT"
    return FlowOutcome(
        replace(party, name=called, label=called),
        Grade.NONE,
        replace(key_figure, before=""),
        values,
    )


def _find_fate(party: FlowGroup, by_seed: Mapping[int, FlowGroup | None]) -> FlowOutcome:
    key_figure = _choose_headline(party.worst)
    if not party.grades and party.is_group:
        rates = {seed: own.goodput_bps if own else math.nan for seed, own in by_seed.items()}
        goodput = KeyFigure("goodput of all", party.goodput_bps, "rate", higher_is_better=True)
        return FlowOutcome(party, Grade.NONE, goodput, rates)
    if party.is_group:
        counts = {
            seed: float(sum(one.suffers for one in own.findings)) if own else math.nan
            for seed, own in by_seed.items()
        }
        known = [count for count in counts.values() if not math.isnan(count)]
        share = sum(known) / max(len(known), 1) / len(party.findings)
        return FlowOutcome(party, _grade_group(party, share), key_figure, counts)
    values = {
        seed: _read(own.worst, key_figure) if own else math.nan for seed, own in by_seed.items()
    }
    return FlowOutcome(party, party.worst.grade, key_figure, values)


def _choose_headline(finding: FlowQuality) -> KeyFigure:
    """Choose the number to show: the first that was measured."""
    known = (own for own in finding.key_figures if own.value is not None)
    return next(known, finding.key_figures[0])


def _read(finding: FlowQuality, key_figure: KeyFigure) -> float:
    """Give a number's value in the run of one seed; NaN where it was not measured."""
    own = next((one for one in finding.key_figures if one.about == key_figure.about), None)
    return math.nan if own is None or own.value is None else own.value


def _grade_group(party: FlowGroup, share: float) -> Grade:
    """Grade a group by the share who suffer; if nobody does, as its member in the middle."""
    if not share:
        return Grade.GOOD if party.middle.grade in (Grade.GOOD, Grade.NONE) else Grade.FAIR
    if share <= FEW_SUFFER:
        return Grade.FAIR
    return Grade.POOR if share <= MANY_SUFFER else Grade.BAD


def _describe_queue(result: Record, queue: str) -> QueueOutcome | None:
    rows = [row for run in list_runs(result) for row in weigh_queues(run) if row["queue"] == queue]
    if not rows:
        return None
    delays, used = (
        [row[column] for row in rows if row[column] is not None and not math.isnan(row[column])]
        for column in ("delay_p50_ns", "utilisation")
    )
    return QueueOutcome(
        estimate_mean(delays) if delays else None,
        estimate_mean(used) if used else None,
        float(rows[0]["rate_bps"]),
    )
