"""Computes the conclusion of a sweep: best settings, knees, trade-off, explained variance.

Two settings tie in a measure by the rule of `headend.analysis.ties.is_tie`: the difference
between them, paired by seed, is not beyond its 95 % interval, or is at most 5 % of the larger one
(0.1 of a MOS). Everything here rests on that rule:

- of the settings that meet the conditions, the one with the best objective and those that tie with
  it are equally good. `Conclusion.prefer` chooses which of them is called the best; pages call the
  others as good;
- the knee of a curve is the end of the plateau around its best point: points beyond it do not tie
  with the best one.

A condition holds where both ends of the mean's interval meet it, fails where neither does, and is
undecided otherwise. One seed gives no interval: then the value decides.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING

from headend.analysis.criteria import Term
from headend.analysis.grading import ORDER
from headend.analysis.measures import (
    MeasureValues,
    find_worst_grade,
    list_figures,
    measure_terms,
)
from headend.analysis.ranking import Policy, evaluate, rank
from headend.engine.metrics import list_measures
from headend.scenario.groups import name_group
from headend.sweeps.conclusion import (
    Best,
    Conclusion,
    Dimension,
    Grid,
    Knee,
    Option,
    RobustChoice,
    Shape,
    TradeOff,
)
from headend.sweeps.definition import Sweep

if TYPE_CHECKING:
    import polars as pl

#: Measures that a terminal and a report show when the sweep's file names none.
MOST_SHOWN = 8

#: From this ratio of the largest to the smallest value on, logarithms are used.
WIDE = 10.0

#: Two measures are a trade-off up to this rank correlation of their settings.
OPPOSED = -0.3


def conclude(sweep: Sweep, table: pl.DataFrame) -> Conclusion:
    """Conclude from a sweep's results.

    Parameters
    ----------
    sweep
        The sweep.
    table
        The results as in `SweepResult.table`; points that failed or are missing are left out.
    """
    grid = Grid(tuple(Dimension.of(axes) for axes in sweep.design.dimensions))
    shown = [Term(name, (name,)) for name in choose_shown(sweep, table)]
    criteria = sweep.criteria
    terms = measure_terms(table, [*shown, *criteria.terms])
    measures = {term.text: terms[term.text] for term in shown}
    main = _choose_main(sweep, grid)
    free = [number for number, own in enumerate(grid.dimensions) if len(own.labels) > 1]
    evaluation = evaluate(
        criteria,
        terms,
        range(1, math.prod(len(own.labels) for own in grid.dimensions) + 1),
        _find_done(table, {*measures, *sweep.named}),
    )
    conclusion = Conclusion(
        criteria,
        terms,
        evaluation.standings,
        sweep=sweep,
        grid=grid,
        main=main,
        is_given=not _is_chosen(sweep, main),
        measures=measures,
        knees=tuple(
            knee
            for along in free
            if grid.dimensions[along].numbers
            for measured in measures.values()
            for line in grid.list_lines(along)
            if (knee := find_knee(grid, measured, along, line))
        ),
        shares={
            name: shares
            for name, measured in measures.items()
            if (shares := _explain(grid, measured))
        },
        trade_off=_find_trade_off(sweep, grid, main, measures, terms),
    )
    if not criteria:
        return conclusion
    # Nobody chooses what is given, so that nothing along it is best.
    bests = tuple(
        _find_best(conclusion, along, line)
        for along in free or [main]
        if _is_chosen(sweep, along)
        for line in grid.list_lines(along)
    )
    concluded = replace(conclusion, bests=bests)
    overall = _find_overall(concluded)
    if overall and overall.is_best:
        bests = tuple(best.call_best(overall.option, main) for best in bests)
    return replace(concluded, bests=bests, overall=overall)


def choose_shown(sweep: Sweep, table: pl.DataFrame) -> list[str]:
    """Choose the measures to show: those that the file names, else one of each application."""
    found = list_figures(table)
    named = [name for name in sweep.named if name in found]
    if not sweep.measures:
        named += [name for name in _choose_worst(found, table) if name not in sweep.named]
    return named[:MOST_SHOWN]


def _choose_worst(found: Mapping[str, Mapping[str, str]], table: pl.DataFrame) -> list[str]:
    """Give a measure of each flow's application, or its goodput where it reports none.

    That is the one by which the flow fares worst under any setting; of those that have no grade,
    and of equals, the application's first.
    """
    order = {f"{name}.mean": number for number, name in enumerate(list_measures())}
    listed = [name for name, row in found.items() if row["metric"] in order]
    measured = measure_terms(table, [Term(name, (name,)) for name in listed])
    goodputs: dict[str, str] = {}
    reports: dict[str, tuple[int, int, str]] = {}
    for name, row in found.items():
        subject, metric = row["subject"], row["metric"]
        if subject is None or name_group(subject):
            continue
        if metric == "goodput":
            goodputs.setdefault(subject, name)
        if metric in order:
            own = (-ORDER.index(find_worst_grade(measured[name])), order[metric], name)
            reports[subject] = min(reports.get(subject, own), own)
    return list((goodputs | {subject: own[-1] for subject, own in reports.items()}).values())


def _find_done(table: pl.DataFrame, names: set[str]) -> set[int]:
    """Find the settings in which any of some measures has a value."""
    if table.is_empty():
        return set()
    rows = table.drop_nulls("value")
    rows = rows.filter(
        rows["error"].is_null() & rows["value"].is_finite() & rows["measure"].is_in(list(names))
    )
    return set(rows["setting"])


def _choose_main(sweep: Sweep, grid: Grid) -> int:
    """Choose the main dimension: the compared axis's, else one whose values are a choice.

    Of several choices it is the first one of categories, else the last one. Where nothing is a
    choice, it is the last dimension with several settings. Scenarios are a choice only if the file
    compares them.
    """
    several = [number for number, own in enumerate(grid.dimensions) if len(own.labels) > 1]
    if sweep.compare:
        compared = sweep.compared
        return next(
            number for number, axes in enumerate(sweep.design.dimensions) if compared in axes
        )
    chosen = [number for number in several if _is_chosen(sweep, number)]
    categories = [number for number in chosen if grid.dimensions[number].numbers is None]
    if categories:
        return categories[0]
    return (chosen or several or [len(grid.dimensions) - 1])[-1]


def _find_best(conclusion: Conclusion, along: int, line: tuple[int, ...]) -> Best:
    """Find a line's best setting: of those that hold, else by their means, else the nearest."""

    def prefer(settings: Sequence[int]) -> int:
        if conclusion.objective is None:
            return min(settings, key=conclusion.find_shortfall)
        return conclusion.prefer([(own,) for own in settings])[0]

    def choose_nearest(shortfalls: Mapping[int, float]) -> int:
        return min(shortfalls, key=lambda own: (shortfalls[own], -conclusion.weigh(own)))

    policy = Policy(MeasureValues.is_tie, prefer, choose_nearest)
    return Best(**vars(rank(conclusion, line, policy)), along=along)


def _find_choices(sweep: Sweep, grid: Grid, main: int) -> tuple[int, ...]:
    """List the dimensions that somebody chooses, the main one always, without single values."""
    chosen = {
        number
        for number in range(len(grid.dimensions))
        if len(grid.dimensions[number].labels) > 1 and _is_chosen(sweep, number)
    }
    return tuple(sorted(chosen | {main}))


def _is_chosen(sweep: Sweep, dimension: int) -> bool:
    """Say whether a dimension is a choice: whether one of its axes is."""
    return any(axis.role == "choice" for axis in sweep.design.dimensions[dimension])


def _find_overall(conclusion: Conclusion) -> RobustChoice | None:
    """Find the option that is best over all circumstances.

    Of the options that hold in every circumstance, it is the one with the smallest largest loss.
    `Conclusion.prefer` chooses between equal ones.

    Returns
    -------
    RobustChoice or None
        None without a wish, with only one line, and where no option holds in every circumstance.
    """
    grid = conclusion.grid
    if not conclusion.criteria or len(conclusion.list_bests(conclusion.main)) < 2:
        return None
    choices = _find_choices(conclusion.sweep, grid, conclusion.main)
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
    ties = tuple(
        own for own in able if own != option and _is_as_good(conclusion, own, option, losses)
    )
    return RobustChoice(given, option, ties, losses[option])


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
    objective = conclusion.objective
    if objective is None:
        return (0.0,) * len(option)
    losses = []
    for own, row in zip(option, rows, strict=True):
        means = {one: conclusion.weigh(one) for one in row if conclusion.is_able(one)}
        best = max(means, key=means.__getitem__)
        is_equal = own == best or objective.is_tie(own, best)
        size = max(abs(means[best]), abs(means[own]))
        losses.append(0.0 if is_equal or not size else (means[best] - means[own]) / size)
    return tuple(losses)


def _is_as_good(
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


def find_knee(grid: Grid, measured: MeasureValues, along: int, line: Sequence[int]) -> Knee | None:
    """Find the plateau around the best point of a curve; None with fewer than three points.

    Parameters
    ----------
    grid
        The settings.
    measured
        The measure; one without a better end has no knee.
    along
        The dimension; its settings are numbers.
    line
        The settings along the dimension.
    """
    numbers = grid.dimensions[along].numbers
    if numbers is None or measured.info.higher_is_better is None:
        return None
    known = sorted(
        (own for own in line if own in measured.estimates),
        key=lambda own: numbers[grid.find_place(own)[along]],
    )
    if len(known) < 3:
        return None
    means = [measured.as_gain(measured.estimates[own].mean) for own in known]
    at = means.index(max(means))
    low = high = at
    while low > 0 and measured.is_tie(known[low - 1], known[at]):
        low -= 1
    while high < len(known) - 1 and measured.is_tie(known[high + 1], known[at]):
        high += 1
    shape = _find_shape(low, high, len(known) - 1)
    name = measured.info.name
    return Knee(name, along, tuple(known), known[at], known[low], known[high], shape)


def _find_shape(low: int, high: int, end: int) -> Shape:
    """Name the shape of a curve by the places of its plateau's ends and of the line's end."""
    if low == 0:
        if high == end:
            return Shape.FLAT
        return Shape.FALLS_OFF if high else Shape.WORSENS
    if high == end:
        return Shape.LEVELS_OFF if low < end else Shape.IMPROVES
    return Shape.PEAKS


def _explain(grid: Grid, measured: MeasureValues) -> tuple[float, ...]:
    """Give the share of a measure's variance by dimension (η²); empty if all settings tie."""
    means = {setting: own.mean for setting, own in measured.estimates.items()}
    if len(means) < 2:
        return ()
    best, worst = (
        choose(means, key=lambda own: measured.as_gain(means[own])) for choose in (max, min)
    )
    if measured.is_tie(worst, best):
        return ()
    scaled = _scale(means)
    middle = fmean(scaled.values())
    total = math.fsum((value - middle) ** 2 for value in scaled.values())
    shares = []
    for along in range(len(grid.dimensions)):
        groups: dict[int, list[float]] = {}
        for setting, value in scaled.items():
            groups.setdefault(grid.find_place(setting)[along], []).append(value)
        between = math.fsum(len(own) * (fmean(own) - middle) ** 2 for own in groups.values())
        shares.append(between / total if total else 0.0)
    return tuple(shares)


def _scale(means: Mapping[int, float]) -> dict[int, float]:
    """Take logarithms where values span a factor of ten or more."""
    low, high = min(means.values()), max(means.values())
    if low > 0 and high / low >= WIDE:
        return {setting: math.log(value) for setting, value in means.items()}
    return dict(means)


def _find_trade_off(
    sweep: Sweep,
    grid: Grid,
    main: int,
    measures: Mapping[str, MeasureValues],
    terms: Mapping[str, MeasureValues],
) -> TradeOff | None:
    """Find the two most opposed measures along the main dimension, of a wish's if there is one."""
    criteria = sweep.criteria
    pairs: Iterator[tuple[str, str]] | list[tuple[str, str]]
    if criteria.objective:
        pairs = [(criteria.objective.text, one.term.text) for one in criteria.constraints]
        pairs = [pair for pair in pairs if pair[0] != pair[1]]
    if not criteria.objective or not pairs:
        directed = [name for name, own in measures.items() if own.info.higher_is_better is not None]
        pairs = itertools.combinations(directed, 2)
    rising = {criteria.objective.text: criteria.higher_is_better} if criteria.objective else {}
    rising.update({one.term.text: one.higher_is_better for one in criteria.constraints})
    found = [
        (opposition, pair)
        for pair in pairs
        if (opposition := _oppose(grid, main, *((terms[name], rising.get(name)) for name in pair)))
        is not None
    ]
    least = min(found, default=None)
    if least is None or least[0] > OPPOSED:
        return None
    return TradeOff(main, *least[1])


def _oppose(
    grid: Grid,
    along: int,
    first: tuple[MeasureValues, bool | None],
    second: tuple[MeasureValues, bool | None],
) -> float | None:
    """Give the mean rank correlation of two oriented measures along a dimension's lines."""
    found = []
    for line in grid.list_lines(along):
        both = [own for own in line if all(own in one.estimates for one, _ in (first, second))]
        ranks = [
            _rank([one.as_gain(one.estimates[own].mean, rising) for own in both])
            for one, rising in (first, second)
        ]
        correlation = _correlate(*ranks)
        if correlation is not None:
            found.append(correlation)
    return fmean(found) if found else None


def _rank(values: Sequence[float]) -> list[float]:
    """Give the ranks of values; equal values share their mean rank.

    Examples
    --------
    >>> _rank([3.0, 1.0, 3.0])
    [1.5, 0.0, 1.5]
    """
    places: dict[float, list[int]] = {}
    for place, value in enumerate(sorted(values)):
        places.setdefault(value, []).append(place)
    return [fmean(places[value]) for value in values]


def _correlate(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Give the correlation of two rows of numbers; None where one of them does not vary."""
    if len(first) < 2:
        return None
    middles = fmean(first), fmean(second)
    own, other = (
        [value - middle for value in values]
        for values, middle in zip((first, second), middles, strict=True)
    )
    size = math.sqrt(math.fsum(one**2 for one in own) * math.fsum(one**2 for one in other))
    return math.fsum(a * b for a, b in zip(own, other, strict=True)) / size if size else None
