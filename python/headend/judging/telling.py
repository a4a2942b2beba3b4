"""What a comparison says in two sentences: whom the choice hurts and why, and what is best at what cost."""

from __future__ import annotations

from collections.abc import Sequence

from headend.judging.choosing import (
    NO_COST,
    changes,
    find_best,
    find_costs,
    find_hurt,
    find_largest_difference,
    find_main,
    pick,
    pick_all,
    suffers_always,
)
from headend.judging.fates import Fate, TierFates
from headend.judging.grid import Grid
from headend.judging.headline import write_value
from headend.text.quantity import format_quantity
from headend.text.wording import join_names, list_names

#: Choices or tiers named in a sentence.
MOST_NAMED = 4

#: Packets that wait for longer than under the best choice, by this much, are why somebody suffers, ns.
FELT = 20e6

#: Shares from this one on are written without decimals, in per cent.
WHOLE = 1.5


def tell_tier(grid: Grid, tier: TierFates) -> tuple[str, ...]:
    """Say what the choice does where there is one tier alone."""
    choices = grid.choice.values
    main = find_main([tier])
    if main is None:
        return _tell_alike(grid, tier)
    fates = tier.people[main]
    hurt = find_hurt(fates)
    worst = max(hurt, key=lambda at: max(fate.badness for fate in pick(fates, [at])))
    cause = _tell_cause(tier, main, worst)
    first = f"{_capitalise(_tell_fate(main, pick(fates, [worst])))} under {_name(choices, hurt)}{cause}."
    best = find_best(tier)
    if set(best) & set(hurt):
        return first, _tell_trade_off(grid, tier, main)
    return first, _tell_best(grid, tier, main, best)


def tell_alone(tier: TierFates) -> tuple[str, ...]:
    """Say who suffers where there is one setting alone, over its seeds."""
    fates = {name: own[0] for name, own in tier.people.items() if own[0]}
    suffering = [name for name, fate in fates.items() if fate.suffers]
    if not suffering:
        return ("Nobody suffers.",)
    first = suffering[0]
    others = join_names(suffering[1:]) if len(suffering) > 1 else ""
    also = f", and {others} suffer{'s' if len(suffering) == 2 else ''} too" if others else ""
    return (f"{_capitalise(_tell_fate(first, [fates[first]]))}{also}.",)


def tell_grid(grid: Grid, tiers: Sequence[TierFates]) -> tuple[str, ...]:
    """Say where the one suffers whom the choice changes most, and which choices are best where."""
    main = find_main(tiers)
    if main is None:
        return _tell_grid_alike(grid, tiers)
    hurt = [
        find_hurt(fates) if changes(fates) or (pick_all(fates) and suffers_always(fates)) else []
        for tier in tiers
        for fates in [tier.people.get(main, ())]
    ]
    # Choices that hurt in the same tiers are told of together.
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
    first = f"{_capitalise(_tell_fate(main, fates))} {join_names(told)}{more}."
    return first, _tell_best_of_grid(grid, tiers, main, hurt)


def count_seeds(tier: TierFates) -> int:
    """Count the seeds of the choice that was run with most of them."""
    fates = [fate for own in tier.people.values() for fate in pick_all(own)]
    return max((len(fate.values) for fate in fates), default=1)


def _tell_alike(grid: Grid, tier: TierFates) -> tuple[str, ...]:
    """Say that no choice changes how anybody fares, and what differs all the same."""
    choices = grid.choice.values
    helpless = [name for name, fates in tier.people.items() if suffers_always(fates)]
    if helpless:
        fate = _tell_fate(helpless[0], pick_all(tier.people[helpless[0]]))
        others = join_names(helpless[1:]) if len(helpless) > 1 else ""
        also = f", and {others} suffer{'s' if len(helpless) == 2 else ''} too" if others else ""
        first = f"{_capitalise(fate)} under every {grid.choice.name}{also}."
    else:
        first = f"Nobody suffers under any {grid.choice.name}."
    found = find_largest_difference(tier)
    if found is None:
        if queue := _tell_queues(grid, tier):
            return first, queue
        seeds = count_seeds(tier)
        shows = "One seed shows" if seeds < 2 else f"These {seeds} seeds show"
        beyond = "5 %" if seeds < 2 else "their intervals and 5 %"
        return first, f"{shows} no difference between them beyond {beyond}."
    name, better, worse = found
    numbers = [_write_span(pick(tier.people[name], [at])) for at in (better, worse)]
    return (
        first,
        f"What differs most is {name}: {numbers[0]} under {choices[better]},"
        f" {numbers[1]} under {choices[worse]}.",
    )


def _tell_queues(grid: Grid, tier: TierFates) -> str:
    """Say how the delay in the queue differs between choices, where nobody's number does."""
    known = [
        (queue.delay.mean, at) for at, queue in enumerate(tier.queues) if queue and queue.delay
    ]
    if not known or max(known)[0] - min(known)[0] < FELT:
        return ""
    told = [
        f"{format_quantity(delay, 'time')} under {grid.choice.values[at]}"
        for delay, at in (min(known), max(known))
    ]
    return f"What differs is the delay in the queue {tier.queue}: {', '.join(told)}."


def _tell_trade_off(grid: Grid, tier: TierFates, main: str) -> str:
    """Say who is worse off where the one is better off whom the choice changes most."""
    hurt = set(find_hurt(tier.people[main]))
    for name, fates in tier.people.items():
        if name != main and changes(fates) and not hurt & set(own := find_hurt(fates)):
            return (
                f"No {grid.choice.name} is best for all: {_tell_fate(name, pick(fates, own))} under"
                f" {_name(grid.choice.values, own)}."
            )
    return f"In all, no {grid.choice.name} is best for everybody."


def _tell_best(grid: Grid, tier: TierFates, main: str, best: Sequence[int]) -> str:
    """Say which choices are best, what the one who changes most gets there, and what that costs."""
    names = _name(grid.choice.values, best)
    fates = pick(tier.people[main], best)
    fate = _tell_fate("it", fates) if fates else "it is missing"
    left = [
        name for name, own in tier.people.items() if any(one.suffers for one in pick(own, best))
    ]
    others = [name for name in left if name != main]
    judged = [
        own for own in tier.people.values() if any(not one.is_transfer for one in pick_all(own))
    ]
    rest = ""
    if others:
        rest = f", but {join_names(others)} still suffer{'s' if len(others) == 1 else ''}"
    elif not left and len(judged) > 1:
        rest = " and nobody suffers"
    cost = _tell_cost([(tier, find_hurt(tier.people[main]))], best)
    return f"Under {names} {fate}{rest}{cost}."


def _tell_cause(tier: TierFates, main: str, at: int) -> str:
    """Say why somebody suffers, where the queue that the runs are compared by is why."""
    fate, queue = tier.people[main][at], tier.queues[at]
    if fate is None or queue is None or not fate.suffers:
        return ""
    worst = fate.party.worst
    if worst.harm == "lost":
        lost = worst.loss_ratio
        return f": {format_quantity(lost, 'ratio')} of its packets are lost" if lost else ""
    delays = [own.delay.mean for own in tier.queues if own and own.delay]
    if queue.delay is None or queue.delay.mean - min(delays) < FELT:
        return ""
    return f": packets wait {format_quantity(queue.delay.mean, 'time')} in the queue"


def _tell_cost(tiers: Sequence[tuple[TierFates, Sequence[int]]], best: Sequence[int]) -> str:
    found = find_costs(tiers, best)
    if found is None:
        return ""
    losses = {name: own for name, own in found.items() if max(own) < 0 and min(own) <= -NO_COST}
    gains = {name: own for name, own in found.items() if min(own) >= NO_COST}
    if losses:
        name = min(losses, key=lambda name: min(losses[name]))
        return f", for {_write_shares([-change for change in losses[name]])} less {name}"
    if gains:
        name = max(gains, key=lambda name: max(gains[name]))
        return f", with {_write_shares(gains[name])} more {name}"
    is_even = all(min(own) > -NO_COST for own in found.values())
    return ", at no cost to transfers" if is_even else ""


def _write_shares(shares: Sequence[float]) -> str:
    ends = [100 * max(share, 0.0) for share in (min(shares), max(shares))]
    texts = list(dict.fromkeys(f"{end:.0f}" if end >= WHOLE else f"{end:.1f}" for end in ends))
    return f"{'–'.join(texts)} %"


def _tell_grid_alike(grid: Grid, tiers: Sequence[TierFates]) -> tuple[str, ...]:
    second = f"No {grid.choice.name} changes how anybody fares within a tier."
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
        f"{_capitalise(_tell_fate(name, suffering))} under every {grid.choice.name} {where}.",
        second,
    )


def _tell_best_of_grid(
    grid: Grid, tiers: Sequence[TierFates], main: str, hurt: Sequence[Sequence[int]]
) -> str:
    best = [find_best(tier) for tier in tiers]
    common = [at for at in range(len(grid.choice.values)) if all(at in own for own in best)]
    if common:
        cost = _tell_cost([own for own in zip(tiers, hurt, strict=True) if own[1]], common)
        where = _name_tiers(grid, tiers, range(len(tiers)))
        tie = " (a tie)" if len(common) > 1 else ""
        left = [
            number
            for number, tier in enumerate(tiers)
            if any(fate.suffers for fate in pick(tier.people.get(main, ()), common))
        ]
        still = f", but {main} still suffers {_name_tiers(grid, tiers, left)}" if left else ""
        return f"Best {where}: {_name(grid.choice.values, common)}{tie}{still}{cost}."
    parts: dict[tuple[int, ...], list[int]] = {}
    for number, own in enumerate(best):
        parts.setdefault(tuple(own), []).append(number)
    told = [
        f"{_name_any(grid, own)} {_name_tiers(grid, tiers, where)}" for own, where in parts.items()
    ]
    return f"Best: {list_names(told, MOST_NAMED, '; ')}."


def _name_any(grid: Grid, places: Sequence[int]) -> str:
    if len(places) == len(grid.choice.values):
        return f"any {grid.choice.name}"
    return " or ".join(grid.choice.values[at] for at in places)


def _name_tiers(grid: Grid, tiers: Sequence[TierFates], places: Sequence[int]) -> str:
    """Say where: ``at 5 Mbit/s and 10 Mbit/s``, or at every value of the axes."""
    axes = grid.given
    if len(places) == len(tiers):
        return f"at every {join_names([axis.name for axis in axes])}"
    if len(axes) > 1:
        names = [tiers[at].tier.label for at in places]
        return f"with {list_names(names, MOST_NAMED, '; ')}"
    values = [axes[0].values[at] for at in places]
    # A value with a unit says of itself what it is.
    has_unit = all(" " in value and value[0].isdigit() for value in values)
    named = join_names(values) if len(values) <= MOST_NAMED else list_names(values, MOST_NAMED - 1)
    return f"at {named}" if has_unit else f"with {axes[0].name} {named}"


def _tell_fate(name: str, fates: Sequence[Fate]) -> str:
    """Say how somebody fares under some choices, with the span of its numbers."""
    number = _write_span(fates)
    if fates[0].is_count:
        return number if name == "it" else f"{name}: {number}"
    words = list(dict.fromkeys(fate.word for fate in fates if fate.word))
    shown = f" ({number})" if number else ""
    return f"{name} is {' or '.join(words)}{shown}"


def _write_span(fates: Sequence[Fate]) -> str:
    """Write the numbers of some fates as one, from the least to the most, without intervals."""
    first = fates[0]
    # What is graded by another number is told by its word alone.
    alike = [fate for fate in fates if fate.headline.about == first.headline.about]
    known = sorted(fate.estimate.mean for fate in alike if fate.estimate)
    if not known:
        return first.headline.told
    if first.is_count:
        ends = list(dict.fromkeys(f"{value:.0f}" for value in (known[0], known[-1])))
        return f"{'–'.join(ends)} of {len(first.party.findings)} suffer"
    ends = list(dict.fromkeys(write_value(end, first.kind) for end in (known[0], known[-1])))
    units = {end.partition(" ")[2] for end in ends}
    if len(ends) > 1 and len(units) == 1:
        numbers = "–".join(end.partition(" ")[0] for end in ends)
        return first.headline.surround(f"{numbers} {units.pop()}".strip())
    return first.headline.surround(" to ".join(ends))


def _name(choices: Sequence[str], places: Sequence[int]) -> str:
    """Name some of the choices, or say that it is all of them."""
    if len(places) == len(choices) > 2:
        return "every one"
    names = [choices[at] for at in places]
    return join_names(names) if len(names) <= MOST_NAMED else list_names(names, MOST_NAMED - 1)


def _capitalise(text: str) -> str:
    return text[:1].upper() + text[1:]
