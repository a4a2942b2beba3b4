"""The two sentences of a comparison: who suffers when and why, and the best choice's cost."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from headend.analysis.grading import ORDER, UNUSABLE
from headend.analysis.key_figure import FEW_DECIMALS, write_value
from headend.comparison.choosing import (
    NO_COST,
    TOGETHER,
    Gap,
    changes,
    find_best,
    find_gaps,
    find_hurt,
    find_losers,
    find_main,
    find_worsened,
    has_even_grades,
    is_best_by_means,
    pick,
    pick_all,
    suffers_always,
)
from headend.comparison.facts import (
    Costs,
    SharedCause,
    find_full_channels,
    find_queue_gap,
    find_shared_cause,
    weigh_costs,
)
from headend.comparison.grid import Grid
from headend.comparison.outcomes import FlowOutcome, TierOutcome
from headend.text.quantity import Kind, choose_unit, format_number, format_quantity
from headend.text.wording import capitalise, join_names, list_names

#: Choices or tiers named in a sentence.
MOST_NAMED = 4

#: Costs named in a sentence; further ones are counted.
MOST_COSTS = 2

#: A number with its unit.
WITH_UNIT = re.compile(r"[\d.]+ ?[A-Za-z%µ][A-Za-z/]*")

#: What is said of a best choice that the means have decided.
_MORE_SEEDS = "only the means say so, and more seeds may change it"


def describe_tier(grid: Grid, tier: TierOutcome) -> tuple[str, ...]:
    """Write the sentences of a comparison with one tier."""
    choices = grid.choice.values
    main = find_main([tier])
    if main is None:
        return _describe_alike(grid, tier)
    fates = tier.people[main]
    hurt = find_hurt(fates)
    fate = capitalise(_write_fate(main, pick(fates, hurt)))
    cause = _describe_cause(grid, find_shared_cause(tier, main, hurt))
    first = f"{fate} under {_name(choices, hurt)}{cause}."
    if grid.choice.role == "given":  # nobody can choose it, so that none is best
        return first, _describe_given(grid, tier, main, hurt)
    best = find_best(tier)
    if set(best) & set(hurt):
        return first, _describe_trade_off(grid, tier, main)
    return first, _describe_best(grid, tier, main, best)


def describe_grid(grid: Grid, tiers: Sequence[TierOutcome]) -> tuple[str, ...]:
    """Say where the most affected flow suffers, and which choices are best at which tiers."""
    main = find_main(tiers)
    if main is None:
        return _describe_grid_alike(grid, tiers)
    hurt = [
        find_hurt(fates) if changes(fates) or (pick_all(fates) and suffers_always(fates)) else []
        for tier in tiers
        for fates in [tier.people.get(main, ())]
    ]
    # Choices that hurt in the same tiers share one clause.
    together: dict[tuple[int, ...], list[int]] = {}
    for at in range(len(grid.choice.values)):
        where = tuple(number for number, own in enumerate(hurt) if at in own)
        if where:
            together.setdefault(where, []).append(at)
    ordered = sorted(together.items(), key=lambda item: -len(item[0]))
    told = [
        f"under {_name(grid.choice.values, own)} {_name_tiers(grid, tiers, where)}"
        for where, own in ordered[:2]
    ]
    fates = [
        fate
        for tier, own in zip(tiers, hurt, strict=True)
        for fate in pick(tier.people.get(main, ()), own)
    ]
    more = " and elsewhere" if len(ordered) > 2 else ""
    first = f"{capitalise(_write_fate(main, fates))} {join_names(told)}{more}."
    if grid.choice.role == "given":
        name = capitalise(grid.choice.name)
        return first, f"{name} is given, not chosen: none is called the best."
    return first, _describe_best_of_grid(grid, tiers, main, hurt)


def count_seeds(tier: TierOutcome) -> int:
    """Count the seeds of the choice that was run with most of them."""
    fates = [fate for own in tier.people.values() for fate in pick_all(own)]
    return max((len(fate.values) for fate in fates), default=1)


def _describe_alike(grid: Grid, tier: TierOutcome) -> tuple[str, ...]:
    """Say that no choice changes a grade, and which number differs nevertheless."""
    choices = grid.choice.values
    helpless = [name for name, fates in tier.people.items() if suffers_always(fates)]
    if helpless:
        fate = _write_fate(helpless[0], pick_all(tier.people[helpless[0]]))
        others = join_names(helpless[1:]) if len(helpless) > 1 else ""
        also = f", and {others} suffer{'s' if len(helpless) == 2 else ''} too" if others else ""
        channels = find_full_channels(tier)
        are = "is" if len(channels) == 1 else "are"
        full = f": the {join_names(channels)} {are} full with each" if channels else ""
        first = f"{capitalise(fate)} under every {grid.choice.name}{also}{full}."
    elif any(fate.is_graded or not fate.is_real for own in _list_people([tier]) for fate in own):
        first = f"Nobody suffers under any {grid.choice.name}."
    else:
        first = "Real programs get no grade."
    gaps = find_gaps(tier)
    if not gaps:
        if queue := _describe_queues(grid, tier):
            return first, queue
        seeds = count_seeds(tier)
        shows = "One seed shows" if seeds < 2 else f"These {seeds} seeds show"
        beyond = "5 %" if seeds < 2 else "their intervals and 5 %"
        return first, f"{shows} no difference between them beyond {beyond}."
    widest = gaps[0]
    numbers = [
        _write_span(pick(tier.people[widest.name], [at])) for at in (widest.better, widest.worse)
    ]
    return (
        first,
        f"What differs most is {widest.name}: {numbers[0]} under {choices[widest.better]},"
        f" {numbers[1]} under {choices[widest.worse]}{_name_losers(grid, tier, widest.better)}.",
    )


def _name_losers(grid: Grid, tier: TierOutcome, choice: int, of: int = MOST_COSTS) -> str:
    """Name the flows that fare worse under a choice than another, as the end of a sentence."""
    losers = find_losers(tier, choice)
    told = []
    for loser in losers[:of]:
        fate, best = (pick(tier.people[loser.name], [at]) for at in (choice, loser.better))
        if fate[0].is_transfer:
            change = f"gets {_write_shares([loser.ratio])} less"
        else:
            change = f"is worse ({_write_span(fate)}, not {_write_span(best)})"
        told.append(
            f"{loser.name} {change} under {grid.choice.values[choice]} than under"
            f" {grid.choice.values[loser.better]}"
        )
    if not told:
        return ""
    more = _count_more(losers) if of == MOST_COSTS else []
    return f", but {join_names([*told, *more])}"


def _count_more(costs: Sequence[object]) -> list[str]:
    """Say how many further costs there are."""
    more = len(costs) - MOST_COSTS
    return [f"{more} more {'loses' if more == 1 else 'lose'} too"] if more > 0 else []


def _describe_queues(grid: Grid, tier: TierOutcome) -> str:
    """Say how the queue's delay differs between choices, where no flow's number does."""
    told = [
        f"{format_quantity(delay, 'time')} under {grid.choice.values[at]}"
        for delay, at in find_queue_gap(tier)
    ]
    return (
        f"What differs is the delay in the queue {tier.queue}: {', '.join(told)}." if told else ""
    )


def _describe_given(grid: Grid, tier: TierOutcome, main: str, hurt: Sequence[int]) -> str:
    """Say how the most affected flow fares under the other circumstances, which are no advice."""
    fates = tier.people[main]
    rest = [at for at, fate in enumerate(fates) if fate and at not in hurt]
    if not rest:
        return f"{capitalise(grid.choice.name)} is given here: nothing was tried against it."
    fate = _write_fate("it", pick(fates, rest))
    others = [
        name
        for name, own in tier.people.items()
        if name != main and any(one.suffers for one in pick(own, rest))
    ]
    still = f", and {join_names(others)} suffer{'s' if len(others) == 1 else ''}" if others else ""
    return f"Under {_name(grid.choice.values, rest)} {fate}{still}."


def _describe_trade_off(grid: Grid, tier: TierOutcome, main: str) -> str:
    """Name a flow that suffers where the most affected flow does not."""
    hurt = set(find_hurt(tier.people[main]))
    for name, fates in tier.people.items():
        if name != main and changes(fates) and not hurt & set(own := find_hurt(fates)):
            suffers = (
                f"{_write_fate(name, pick(fates, own))} under {_name(grid.choice.values, own)}"
            )
            return f"No {grid.choice.name} is best for all: {suffers}."
    return f"No {grid.choice.name} is best for everybody."


def _describe_best(grid: Grid, tier: TierOutcome, main: str, best: Sequence[int]) -> str:
    """Name the best choices, how the most affected flow fares under them, and what they cost."""
    names = _name(grid.choice.values, best)
    fates = pick(tier.people[main], best)
    fate = _write_fate("it", fates) if fates else "it is missing"
    left = [
        name for name, own in tier.people.items() if any(one.suffers for one in pick(own, best))
    ]
    others = [name for name in left if name != main]
    judged = [own for own in tier.people.values() if any(one.is_graded for one in pick_all(own))]
    rest = ""
    if others:
        rest = f", but {join_names(others)} still suffer{'s' if len(others) == 1 else ''}"
    elif not left and len(judged) > 1:
        rest = " and nobody suffers"
    hurt = find_hurt(tier.people[main])
    # Where the table sets all against another choice, the shares differ from its own.
    base = grid.choice.values[hurt[0]] if len(hurt) > 1 or hurt[0] else ""
    cost = _describe_cost(weigh_costs([(tier, hurt, best)]), base)
    worsened = _describe_worsened(tier, hurt[0], best, {main, *left})
    unsure = f"; {_MORE_SEEDS}" if is_best_by_means(tier) else ""
    return f"Under {names} {fate}{rest}{cost}{worsened}{unsure}."


def _describe_cause(grid: Grid, cause: SharedCause | None) -> str:
    """Say why a flow suffers, as the end of a sentence."""
    if cause is None:
        return ""
    under = "" if cause.under is None else f" under {grid.choice.values[cause.under]}"
    if cause.is_lost:
        return f": {_span(cause.values, 'ratio')} of its packets are lost{under}"
    return f": packets wait {_span(cause.values, 'time')} in the queue{under}"


def _describe_cost(costs: Costs | None, base: str = "") -> str:
    """Say what transfers lose or gain under the best choices, as the end of a sentence.

    Parameters
    ----------
    base
        The choice that they are compared with, where the sentence does not name it yet.
    """
    if costs is None:
        return ""
    than = f" than under {base}" if base else ""
    if costs.together is not None:
        return _describe_sum(costs, costs.together, than)
    if costs.losses:
        told = [_write_loss(name, own) for name, own in costs.losses.items()][:MOST_COSTS]
        return f", for {join_names([*told, *_count_more(list(costs.losses))])}{than}"
    if costs.gain:
        name, shares = costs.gain
        return f", with {_write_shares(shares)} more {name}{than}"
    return _describe_no_cost(costs)


def _describe_no_cost(costs: Costs) -> str:
    """Say that transfers lose nothing; with what they lose within an interval, where it counts."""
    if costs.unclear is None:
        return ", at no cost to transfers" if costs.is_even else ""
    name, change = costs.unclear
    of = "of all transfers together" if name == TOGETHER else name
    return f", at no cost to transfers beyond the interval ({_write_shares([-change])} less {of})"


def _describe_sum(costs: Costs, together: Sequence[float], than: str) -> str:
    """Say what several transfers lose or gain together, and which of them does so most.

    Who gains is named beside those that lose.
    """
    changes = ""
    if min(together) <= -NO_COST:
        changes = f", for {_write_loss('of all transfers together', together)}{than}"
    elif max(together) >= NO_COST:
        changes = f", with {_write_shares(together)} more of all transfers together{than}"
    told = [_write_loss(name, own) for name, own in costs.losses.items()][:MOST_COSTS]
    told += _count_more(list(costs.losses))
    if told and costs.gain:
        name, shares = costs.gain
        told = [f"{_write_shares(shares)} more {name}", *told]
    if told and not changes:
        return f", with as much of all transfers together but {join_names(told)}{than}"
    if told:
        return f"{changes} ({join_names(told)})"
    return changes or _describe_no_cost(replace(costs, is_even=True))


def _write_loss(name: str, changes: Sequence[float]) -> str:
    """Write a transfer's loss; where it gains at some tiers, its largest loss."""
    if max(changes) > 0:
        return f"up to {_write_shares([-min(changes)])} less {name}"
    return f"{_write_shares([-change for change in changes])} less {name}"


def _describe_worsened(tier: TierOutcome, base: int, best: Sequence[int], named: set[str]) -> str:
    """Name other flows that are worse off under the best choices, as the end of a sentence."""
    found = {
        name: own for name, own in find_worsened(tier, base, best).items() if name not in named
    }
    told = [
        f"{name} is worse ({_write_span(own[1:])}, not {_write_span(own[:1])})"
        for name, own in list(found.items())[:MOST_COSTS]
    ]
    return f"; {join_names([*told, *_count_more(list(found))])}" if told else ""


def _write_shares(shares: Sequence[float]) -> str:
    """Write the least and the largest of some shares, with the digits that tables have."""
    return _span([max(share, 0.0) for share in shares], "ratio")


def _describe_grid_alike(grid: Grid, tiers: Sequence[TierOutcome]) -> tuple[str, ...]:
    if not any(fate.is_graded for own in _list_people(tiers) for fate in own):
        return _describe_grid_of_transfers(grid, tiers)
    where = join_names([axis.name for axis in grid.given])
    second = (
        f"At the same {where}, no {grid.choice.name} changes anybody's"
        f" grade{_describe_widest(grid, tiers)}."
    )
    helpless: dict[str, list[int]] = {}
    for number, tier in enumerate(tiers):
        for name, fates in tier.people.items():
            if suffers_always(fates):
                helpless.setdefault(name, []).append(number)
    if not helpless:
        return "Nobody suffers anywhere.", second
    name = max(helpless, key=lambda name: len(helpless[name]))
    suffering = [fate for at in helpless[name] for fate in pick_all(tiers[at].people[name])]
    where = _name_tiers(grid, tiers, helpless[name])
    return (
        f"{capitalise(_write_fate(name, suffering))} under every {grid.choice.name} {where}.",
        second,
    )


def _list_people(tiers: Sequence[TierOutcome]) -> list[list[FlowOutcome]]:
    """List the fates of each flow and group in each tier."""
    return [pick_all(fates) for tier in tiers for fates in tier.people.values()]


def _describe_grid_of_transfers(grid: Grid, tiers: Sequence[TierOutcome]) -> tuple[str, ...]:
    """Say what the most affected transfers get, where nothing is graded."""
    widest: dict[str, Gap] = {}
    for tier in tiers:
        for gap in find_gaps(tier):
            widest[gap.name] = max(gap, widest.get(gap.name, gap), key=lambda own: own.ratio)
    if not widest:
        where = join_names([axis.name for axis in grid.given])
        return (f"At the same {where}, no {grid.choice.name} changes what anybody gets.",)
    told = []
    for gap in sorted(widest.values(), key=lambda own: -own.ratio)[:MOST_COSTS]:
        numbers = [
            _write_span(
                [fate for tier in tiers for fate in pick(tier.people.get(gap.name, ()), [at])]
            )
            for at in (gap.better, gap.worse)
        ]
        better, worse = (grid.choice.values[at] for at in (gap.better, gap.worse))
        told.append((gap.name, f"{numbers[0]} under {better}, {numbers[1]} under {worse}."))
    (name, numbers_told), *others = told
    first = f"The {grid.choice.name} changes {name} most: {numbers_told}"
    return first, *(f"{capitalise(other)}: {own}" for other, own in others)


def _describe_widest(grid: Grid, tiers: Sequence[TierOutcome]) -> str:
    """Name the number that differs most between choices of one tier, as the end of a sentence."""
    found = [(gap, number) for number, tier in enumerate(tiers) for gap in find_gaps(tier)[:1]]
    if not found:
        return ""
    gap, number = max(found, key=lambda own: own[0].ratio)
    told = [
        f"{_write_span(pick(tiers[number].people[gap.name], [at]))} under {grid.choice.values[at]}"
        for at in (gap.better, gap.worse)
    ]
    where = _name_tiers(grid, tiers, [number])
    return f"; what differs most is {gap.name} {where}: {', '.join(told)}"


def _describe_best_of_grid(
    grid: Grid, tiers: Sequence[TierOutcome], main: str, hurt: Sequence[Sequence[int]]
) -> str:
    best = [find_best(tier) for tier in tiers]
    tiers_alike = [has_even_grades(tier) for tier in tiers]
    common = [at for at in range(len(grid.choice.values)) if all(at in own for own in best)]
    if common:
        cost = _describe_cost(
            weigh_costs([(tier, own, common) for tier, own in zip(tiers, hurt, strict=True)])
        )
        where = _name_tiers(grid, tiers, range(len(tiers)))
        unsure = f"; {_MORE_SEEDS}" if any(map(is_best_by_means, tiers)) else ""
        tie = " (a tie)" if len(common) > 1 else ""
        left = [
            number
            for number, tier in enumerate(tiers)
            if any(fate.suffers for fate in pick(tier.people.get(main, ()), common))
        ]
        still = f", but {main} still suffers {_name_tiers(grid, tiers, left)}" if left else ""
        best_of_all = f"{_name(grid.choice.values, common)}{tie}{still}{cost}"
        return f"Best {where}: {best_of_all}{unsure}."
    parts: dict[tuple[int, ...], list[int]] = {}
    for number, own in enumerate(best):
        parts.setdefault(tuple(own), []).append(number)
    # Where the sums of grades are equal, only transfers decided, so the sentence gives their rates.
    by_rate = [where for where in parts.values() if all(map(tiers_alike.__getitem__, where))]
    told = [
        f"{_name_any(grid, own)} {_name_tiers(grid, tiers, where)}"
        for own, where in parts.items()
        if where not in by_rate
    ]
    judged = [at for at in range(len(tiers)) if not tiers_alike[at]]
    cost = _describe_cost(weigh_costs([(tiers[at], hurt[at], best[at]) for at in judged]))
    sentence = f"Best: {list_names(told, MOST_NAMED, '; ')}{cost}" if told else ""
    if by_rate:
        # The cost is added where the sentence has room for it.
        is_alone = len(by_rate) == 1 and len(told) < MOST_COSTS
        more = [
            _name_most(grid, tiers, best[where[0]], where, is_alone=is_alone) for where in by_rate
        ]
        sentence = "; ".join(filter(None, [sentence, *more]))
    by_means = [at for at in judged if is_best_by_means(tiers[at])]
    if by_means:
        sentence += f"; {_name_tiers(grid, tiers, by_means)} {_MORE_SEEDS}"
    return f"{capitalise(sentence)}."


def _name_most(
    grid: Grid,
    tiers: Sequence[TierOutcome],
    best: Sequence[int],
    where: Sequence[int],
    *,
    is_alone: bool,
) -> str:
    """Name the choices that give transfers most, where sums of grades are equal, and who loses."""
    at = _name_tiers(grid, tiers, where)
    if len(best) == len(grid.choice.values):
        return f"{at} all are graded alike"
    own = [tiers[number] for number in where]
    names = dict.fromkeys(name for tier in own for name in tier.people)
    transfers = {
        name: fates
        for name in names
        if (fates := [fate for tier in own for fate in pick(tier.people.get(name, ()), best)])
        and fates[0].is_transfer
    }
    most = [f"{name} ({_write_span(fates)})" for name, fates in transfers.items()][:1]
    paid = (
        _name_losers(grid, own[0], best[0], of=1) if is_alone and len(own) == len(best) == 1 else ""
    )
    return f"{at} grades are alike, and {_name_any(grid, best)} gives most {join_names(most)}{paid}"


def _name_any(grid: Grid, places: Sequence[int]) -> str:
    if len(places) == len(grid.choice.values):
        return f"any {grid.choice.name}"
    return " or ".join(grid.choice.values[at] for at in places)


def _name_tiers(grid: Grid, tiers: Sequence[TierOutcome], places: Sequence[int]) -> str:
    """Name tiers: ``at 5 Mbit/s and 10 Mbit/s``, or ``at every`` axis for all of them."""
    axes = grid.given
    if len(places) == len(tiers):
        return f"at every {join_names([axis.name for axis in axes])}"
    if len(axes) > 1:
        names = [tiers[at].tier.label for at in places]
        return f"with {list_names(names, MOST_NAMED, '; ')}"
    values = [axes[0].values[at] for at in places]
    # A value with a unit needs no name of its axis.
    has_unit = all(WITH_UNIT.fullmatch(value) for value in values)
    named = join_names(values) if len(values) <= MOST_NAMED else list_names(values, MOST_NAMED - 1)
    return f"at {named}" if has_unit else f"with {axes[0].name} {named}"


def _write_fate(name: str, fates: Sequence[FlowOutcome]) -> str:
    """Say how a flow or group fares under some choices: the range of words and numbers."""
    number, first = _write_span(fates), fates[0]
    if first.is_count:
        return number if name == "it" else f"{name}: {number}"
    ordered = sorted(fates, key=lambda fate: (ORDER.index(fate.grade), fate.word == UNUSABLE))
    words = list(dict.fromkeys(fate.word for fate in ordered if fate.word))
    if not words:
        verb = "gets" if first.kind == "rate" else "has"
        return f"{name} {verb if first.estimate else 'is'} {number}"
    shown = f" ({number})" if number else ""
    return f"{name} is {' to '.join([*words[:1], *words[1:][-1:]])}{shown}"


def _write_span(fates: Sequence[FlowOutcome]) -> str:
    """Write the numbers of some fates as one, from the least to the most, without intervals."""
    first = max(fates, key=lambda fate: fate.badness)
    # Only numbers with one meaning make a range.
    alike = [fate for fate in fates if fate.key_figure.about == first.key_figure.about]
    known = [fate.estimate.mean for fate in alike if fate.estimate]
    if not known:
        return first.key_figure.told
    if first.is_count:
        ends = list(dict.fromkeys(f"{value:.0f}" for value in (min(known), max(known))))
        many = "none" if ends == ["0"] else "–".join(ends)
        return f"{many} of {len(first.party.findings)} {'suffers' if ends == ['1'] else 'suffer'}"
    return first.key_figure.surround(_span(known, first.kind))


def _span(values: Sequence[float], kind: Kind) -> str:
    """Write the least and the largest of some values in one unit; equal texts are written once."""
    ends = min(values), max(values)
    if kind == "number" and ends[1] < FEW_DECIMALS:
        return "–".join(dict.fromkeys(write_value(end, kind) for end in ends))
    unit = choose_unit(ends, kind)
    numbers = dict.fromkeys(format_number(end, unit) for end in ends)
    return f"{'–'.join(numbers)} {unit.name}".strip()


def _name(choices: Sequence[str], places: Sequence[int]) -> str:
    """Name some of the choices, or say ``every one``."""
    if len(places) == len(choices) > 2:
        return "every one"
    names = [choices[at] for at in places]
    return join_names(names) if len(names) <= MOST_NAMED else list_names(names, MOST_NAMED - 1)
