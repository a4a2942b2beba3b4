"""Which choices of a tier hurt which flows, which choices are best, and what they cost.

The best choices have the lowest sum of grades over all flows and groups. As everywhere, a grade
counts only if the whole 95 % interval has it (`FlowOutcome.assured`). Where these sums are equal,
those of the means decide, and the choice is the best in the mean only (`is_best_by_means`). Of
equal sums, a choice is best if no other choice gives a transfer more, and of these, if under no
other the round trips of a real program are shorter. Choices that are still equal are a tie.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter, itemgetter

from headend.analysis.ties import average, compare_seeds
from headend.comparison.outcomes import FlowOutcome, TierOutcome
from headend.text.quantity import Kind

#: Sums of badness that differ by no more than this are equal: groups' are fractions.
SAME_BADNESS = 0.15

#: A transfer's loss or gain below this share of its rate does not count as a cost.
NO_COST = 0.005

#: What all transfers get together, among the names of transfers.
TOGETHER = "+"

#: How one flow or group fared under each choice; None where a choice does not have it.
Fates = Sequence[FlowOutcome | None]


def pick(fates: Fates, places: Sequence[int]) -> list[FlowOutcome]:
    """Give the fates under some choices, without the missing ones."""
    return [fate for at in places if (fate := fates[at])]


def pick_all(fates: Fates) -> list[FlowOutcome]:
    """Give the fates under all choices, without the missing ones."""
    return [fate for fate in fates if fate]


def changes(fates: Fates) -> bool:
    """Say whether somebody fares better under some choice than under another."""
    known = pick_all(fates)
    if len(known) < 2:
        return False
    if any(fate.is_count for fate in known):
        ordered = sorted(known, key=lambda fate: fate.badness)
        return ordered[-1].differs(ordered[0])
    return len({fate.grade for fate in known}) > 1


def suffers_always(fates: Fates) -> bool:
    """Say whether somebody suffers under every choice."""
    return all(fate.suffers for fate in pick_all(fates))


def find_main(tiers: Sequence[TierOutcome]) -> str | None:
    """Find the flow or group that the choice changes most, over some tiers; None if none.

    A flow that suffers under some choices and not under others comes first; of several whose
    grades change alike, the first, or one with a number of its kind that changes more.
    """
    ranks: dict[str, tuple[int, float]] = {}
    for tier in tiers:
        for name, fates in tier.people.items():
            if changes(fates):
                known = pick_all(fates)
                costs = [fate.badness for fate in known]
                is_helped = any(fate.suffers for fate in known) and not suffers_always(fates)
                times, span = ranks.get(name, (0, 0.0))
                ranks[name] = times + is_helped, span + max(costs) - min(costs)
    if not ranks:
        return None
    most = max(ranks.values())
    spans = {name: _find_span(tiers, name) for name, rank in ranks.items() if rank == most}
    kind, _ = next(iter(spans.values()))
    alike = {name: span for name, (own, span) in spans.items() if own == kind}
    return max(alike, key=lambda name: alike[name])


def _find_span(tiers: Sequence[TierOutcome], name: str) -> tuple[tuple[Kind, bool], float]:
    """Give what the number of a flow or group measures, and its largest change in a tier."""
    spans, kinds = [0.0], []
    for tier in tiers:
        known = pick_all(tier.people.get(name, ()))
        kinds += [(fate.kind, fate.is_count) for fate in known]
        means = [fate.estimate.mean for fate in known if fate.estimate]
        spans += [max(means) - min(means)] if means else []
    return kinds[0], max(spans)


def find_hurt(fates: Fates) -> list[int]:
    """Find the choices under which a flow suffers; if all or none, those with its worst grade."""
    suffering = [at for at, fate in enumerate(fates) if fate and fate.suffers]
    if suffering and not suffers_always(fates):
        return suffering
    most = max((fate.badness for fate in pick_all(fates)), default=0.0)
    least = most - SAME_BADNESS / 3
    return [at for at, fate in enumerate(fates) if fate and fate.badness >= least]


def _find_least(tier: TierOutcome, among: Sequence[int], badness: str) -> list[int]:
    """Find the choices with the lowest sum of grades over all people: of some of them.

    Parameters
    ----------
    badness
        The property of a `FlowOutcome` that is added: ``badness`` or ``assured``.
    """
    totals = {
        at: sum(getattr(fate, badness) for fates in tier.people.values() if (fate := fates[at]))
        for at in among
    }
    least = min(totals.values())
    return [at for at, total in totals.items() if total <= least + SAME_BADNESS]


def _list_run(tier: TierOutcome) -> list[int]:
    """List the choices that were run."""
    return [at for at, result in enumerate(tier.results) if result]


def has_even_grades(tier: TierOutcome) -> bool:
    """Say whether all choices have equal sums of grades, so that only transfers decide."""
    known = _list_run(tier)
    return _find_least(tier, known, "badness") == known


def is_best_by_means(tier: TierOutcome) -> bool:
    """Say whether the best choices are those of the means: no whole interval tells them apart."""
    sure = _find_least(tier, _list_run(tier), "assured")
    return _find_least(tier, sure, "badness") != sure


def find_best(tier: TierOutcome) -> list[int]:
    """Find the choices with the lowest sum of grades; of equals, high rates, short round trips."""
    sure = _find_least(tier, _list_run(tier), "assured")
    best = _find_least(tier, sure, "badness")
    for is_counted in (attrgetter("is_transfer"), attrgetter("is_round_trip")):
        for fates in tier.people.values():
            known = {
                at: (fate, fate.estimate.mean)
                for at in best
                if (fate := fates[at]) and is_counted(fate) and fate.estimate
            }
            if len(known) > 1:
                pick_end = max if next(iter(known.values()))[0].higher_is_better else min
                most, _ = pick_end(known.values(), key=itemgetter(1))
                best = [at for at in best if at not in known or not known[at][0].differs(most)]
    return best


@dataclass(frozen=True)
class Gap:
    """How a flow's or group's number differs between two choices.

    Parameters
    ----------
    ratio
        The difference as a share of the larger number; of shares in points, as tables have it, and
        of those who suffer as a share of all.
    """

    name: str
    better: int
    worse: int
    ratio: float


def find_gaps(tier: TierOutcome) -> list[Gap]:
    """Find the gap between best and worst number of each flow and group, widest first."""
    found = []
    for name, fates in tier.people.items():
        known = [
            (fate.estimate.mean, at, fate)
            for at, fate in enumerate(fates)
            if fate and fate.estimate
        ]
        if len(known) < 2:
            continue
        low = min(known, key=lambda one: one[0])
        high = max(known, key=lambda one: one[0])
        if not high[2].differs(low[2]):
            continue
        better, worse = (high, low) if high[2].higher_is_better else (low, high)
        found.append(Gap(name, better[1], worse[1], _find_ratio(high[2], high[0], low[0])))
    return sorted(found, key=lambda gap: -gap.ratio)


def find_losers(tier: TierOutcome, choice: int) -> list[Gap]:
    """Find the flows and groups for which another choice is better, the widest gap first."""
    found = []
    for gap in find_gaps(tier):
        fate, best = tier.people[gap.name][choice], tier.people[gap.name][gap.better]
        if fate is None or best is None or not fate.estimate or not best.estimate:
            continue
        if fate.differs(best):
            ratio = _find_ratio(fate, fate.estimate.mean, best.estimate.mean)
            found.append(Gap(gap.name, gap.better, choice, ratio))
    return sorted(found, key=lambda gap: -gap.ratio)


def _find_ratio(fate: FlowOutcome, one: float, other: float) -> float:
    """Give the difference of two numbers of a fate as `Gap.ratio` has it."""
    if fate.is_count:
        return abs(one - other) / len(fate.party.findings)
    # Beside 0 %, any share would be the greatest difference of all.
    return abs(one - other) / (1.0 if fate.kind == "ratio" else max(abs(one), abs(other)))


def find_worsened(
    tier: TierOutcome, base: int, best: Sequence[int]
) -> dict[str, list[FlowOutcome]]:
    """Find graded flows and groups worse off under some of the best choices than under a base.

    The fate under the base is the first, those under the choices with a worse number follow.
    """
    found: dict[str, list[FlowOutcome]] = {}
    for name, fates in tier.people.items():
        before = fates[base]
        if before is None or before.is_transfer or not before.estimate:
            continue
        worse = [
            fate
            for fate in pick(fates, best)
            if fate.estimate
            and fate.differs(before)
            and (fate.estimate.mean < before.estimate.mean) == fate.higher_is_better
        ]
        if worse:
            found[name] = [before, *worse]
    return found


@dataclass(frozen=True)
class FoundCosts:
    """The changes of each transfer's rate under the best choices, as shares of its rate.

    Where a tier has several transfers, what they get together is under `TOGETHER`.

    Parameters
    ----------
    clear
        Those beyond their intervals, and those of one seed, which have none; of `TOGETHER` 0 for a
        change within its interval.
    unclear
        Those within their intervals.
    """

    clear: dict[str, list[float]]
    unclear: dict[str, list[float]]


def find_costs(
    tiers: Sequence[tuple[TierOutcome, Sequence[int], Sequence[int]]],
) -> FoundCosts | None:
    """Find the changes of each transfer's rate under the best choices; None without a transfer.

    Parameters
    ----------
    tiers
        Each tier with the choices that hurt, the first the base, and the best choices.
    """
    found = FoundCosts({}, {})
    has_transfers = False
    for tier, hurt, best in tiers:
        transfers = [
            fates
            for fates in tier.people.values()
            if hurt and (base := fates[hurt[0]]) and base.is_transfer and base.estimate
        ]
        has_transfers = has_transfers or bool(transfers)
        if len(transfers) > 1:
            for at in best:
                sums = [_add_rates(transfers, place) for place in (hurt[0], at)]
                change = _find_change(sums[1], sums[0])
                _add_change(found, TOGETHER, change)
                if change and not change[1]:
                    found.clear.setdefault(TOGETHER, []).append(0.0)
        for name, fates in tier.people.items():
            base = fates[hurt[0]] if hurt else None
            if base and base.is_transfer and base.estimate:
                for fate in pick(fates, best):
                    if fate.is_comparable(base):
                        _add_change(found, name, _find_change(fate.values, base.values))
    return found if has_transfers else None


def _add_change(found: FoundCosts, name: str, change: tuple[float, bool] | None) -> None:
    if change is not None:
        share, is_clear = change
        (found.clear if is_clear else found.unclear).setdefault(name, []).append(share)


def _find_change(
    values: Mapping[int, float], base: Mapping[int, float]
) -> tuple[float, bool] | None:
    """Give the change of a rate to a base, as a share of it, and whether it is beyond its interval.

    None where no seed has both, or where the base is nothing.
    """
    difference, level = compare_seeds(values, base), average(base)
    if difference is None or math.isnan(level) or not level:
        return None
    return difference.mean / level, difference.count < 2 or difference.is_clear


def _add_rates(transfers: Sequence[Fates], at: int) -> dict[int, float]:
    """Add what transfers get under a choice, by seed; a seed that lacks one of them is left out."""
    found = [fate.values for fates in transfers if (fate := fates[at])]
    if len(found) < len(transfers):
        return {}
    sums = {seed: sum(own.get(seed, math.nan) for own in found) for seed in found[0]}
    return {seed: total for seed, total in sums.items() if not math.isnan(total)}
