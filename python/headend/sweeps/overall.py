"""One choice for all circumstances: it holds the wish everywhere and loses least.

Axes that somebody chooses (a queue, a buffer) make the options; axes that are given (rates,
round-trip times, numbers of flows) make the circumstances, by their
role.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from headend.sweeps.conclusion import Conclusion, Grid, Option, Overall
from headend.sweeps.definition import Sweep


def find_choices(sweep: Sweep, grid: Grid, main: int) -> tuple[int, ...]:
    """List the dimensions that somebody chooses, the main one always, without single values."""
    chosen = {
        number
        for number in range(len(grid.dimensions))
        if len(grid.dimensions[number].labels) > 1 and is_chosen(sweep, number)
    }
    return tuple(sorted(chosen | {main}))


def is_chosen(sweep: Sweep, dimension: int) -> bool:
    """Say whether a dimension is a choice: whether one of its axes is."""
    return any(axis.role == "choice" for axis in sweep.design.dimensions[dimension])


def find_overall(conclusion: Conclusion) -> Overall | None:
    """Find the option that is best over all circumstances.

    Of the options that hold in every circumstance, it is the one with the smallest largest loss.
    `Conclusion.prefer` chooses between equal ones.

    Returns
    -------
    Overall or None
        None without a wish, with only one line, and where no option holds in every circumstance.
    """
    grid = conclusion.grid
    if not conclusion.sweep.wish or len(conclusion.list_bests(conclusion.main)) < 2:
        return None
    choices = find_choices(conclusion.sweep, grid, conclusion.main)
    given = tuple(
        number
        for number, dimension in enumerate(grid.dimensions)
        if number not in choices and len(dimension.labels) > 1
    )
    options = _list_options(grid, choices)
    able = [option for option in options if all(map(conclusion.is_able, option))]
    if not able:
        return None
    rows = list(zip(*options, strict=True))
    losses = {option: _find_losses(conclusion, option, rows) for option in able}
    least = min(max(own) for own in losses.values())
    equal = [option for option in able if max(losses[option]) <= least]
    option = conclusion.prefer(equal)
    ties = tuple(own for own in able if own != option and _is_tie(conclusion, own, option, losses))
    return Overall(given, option, ties, losses[option])


def _list_options(grid: Grid, choices: Sequence[int]) -> list[Option]:
    """List the options, each by its settings in the order of the circumstances."""
    sizes = [range(len(dimension.labels)) for dimension in grid.dimensions]
    others = [number for number in range(len(sizes)) if number not in choices]
    options = []
    for chosen in itertools.product(*(sizes[number] for number in choices)):
        settings = []
        for place in itertools.product(*(sizes[number] for number in others)):
            at = dict(zip((*choices, *others), (*chosen, *place), strict=True))
            settings.append(grid.find_setting([at[number] for number in range(len(sizes))]))
        options.append(tuple(settings))
    return options


def _find_losses(
    conclusion: Conclusion, option: Option, rows: Sequence[Sequence[int]]
) -> tuple[float, ...]:
    """Give an option's loss of objective against the best setting, for each circumstance."""
    objective, rising = conclusion.objective, conclusion.sweep.wish.is_rising
    if objective is None:
        return (0.0,) * len(option)
    losses = []
    for own, row in zip(option, rows, strict=True):
        means = {
            one: objective.orient(objective.estimates[one].mean, rising)
            for one in row
            if conclusion.is_able(one)
        }
        best = max(means, key=means.__getitem__)
        is_equal = own == best or objective.is_tie(own, best)
        size = max(abs(means[best]), abs(means[own]))
        losses.append(0.0 if is_equal or not size else (means[best] - means[own]) / size)
    return tuple(losses)


def _is_tie(
    conclusion: Conclusion,
    option: Option,
    best: Option,
    losses: dict[Option, tuple[float, ...]],
) -> bool:
    """Say whether an option is as good as the best one in every circumstance."""
    objective = conclusion.objective
    if objective is None or not any(losses[best]):
        return not any(losses[option])
    return all(objective.is_tie(one, other) for one, other in zip(option, best, strict=True))
