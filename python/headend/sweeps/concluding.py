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

import functools
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING

from headend.sweeps.conclusion import (
    Best,
    Conclusion,
    Dimension,
    Grid,
    Knee,
    Measured,
    Shape,
    Standing,
    TradeOff,
    find_shortfall,
    judge,
    weigh,
)
from headend.sweeps.definition import Sweep
from headend.sweeps.overall import find_overall, is_chosen
from headend.sweeps.shown import Shown, choose_shown, describe_figure, list_figures
from headend.sweeps.wish import Condition, Term

if TYPE_CHECKING:
    import polars as pl

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
    shown = choose_shown(sweep, table)
    values = _gather(table, {item.measure for item in shown} | set(sweep.named))
    figures = {} if table.is_empty() else list_figures(table)
    about = {name: describe_figure(row) for name, row in figures.items() if name in values}
    measures = {item.measure: Measured(item, values.get(item.measure, {})) for item in shown}
    terms = {
        **measures,
        **{term.text: _measure(term, values, about) for term in sweep.wish.terms},
    }
    settings = range(1, math.prod(len(own.labels) for own in grid.dimensions) + 1)
    done = {setting for own in values.values() for setting in own}
    standings = {
        setting: _stand(sweep.wish.hold, terms, setting) if setting in done else Standing.MISSING
        for setting in settings
    }
    main = _choose_main(sweep, grid)
    free = [number for number, own in enumerate(grid.dimensions) if len(own.labels) > 1]
    conclusion = Conclusion(
        sweep=sweep,
        grid=grid,
        main=main,
        measures=measures,
        terms=terms,
        standings=standings,
        bests=(),
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
    if not sweep.wish:
        return conclusion
    bests = tuple(
        _find_best(conclusion, along, line)
        for along in free or [main]
        for line in grid.list_lines(along)
    )
    concluded = replace(conclusion, bests=bests)
    overall = find_overall(concluded)
    if overall and overall.is_best:
        bests = tuple(best.call_best(overall.option, main) for best in bests)
    return replace(concluded, bests=bests, overall=overall)


def measure_terms(table: pl.DataFrame, terms: Iterable[Term]) -> dict[str, Measured]:
    """Give the values of terms in each setting, by their text; points that failed are left out."""
    asked = list(terms)
    values = _gather(table, {name for term in asked for name in term.measures})
    figures = {} if table.is_empty() else list_figures(table)
    about = {name: describe_figure(row) for name, row in figures.items() if name in values}
    return {term.text: _measure(term, values, about) for term in asked}


def _gather(table: pl.DataFrame, names: set[str]) -> dict[str, dict[int, dict[int, float]]]:
    """Give the values that points have, by measure, setting and seed."""
    import polars as pl

    found: dict[str, dict[int, dict[int, float]]] = {}
    if table.is_empty():
        return found
    rows = table.filter(
        pl.col("measure").is_in(list(names))
        & pl.col("value").is_not_null()
        & pl.col("error").is_null()
    )
    for measure, setting, seed, value in rows.select(
        "measure", "setting", "seed", "value"
    ).iter_rows():
        if math.isfinite(value):
            found.setdefault(measure, {}).setdefault(setting, {})[seed] = value
    return found


def _measure(
    term: Term,
    values: Mapping[str, Mapping[int, Mapping[int, float]]],
    about: Mapping[str, Shown],
) -> Measured:
    """Give a term's values in each setting; a ratio is computed for each seed."""
    first = about.get(term.measures[0]) or Shown(term.text, "number")
    own = values.get(term.measures[0], {})
    if len(term.measures) == 1:
        return Measured(first, own)
    other = values.get(term.measures[1], {})
    ratios = {
        setting: {
            seed: value / other[setting][seed]
            for seed, value in by_seed.items()
            if other.get(setting, {}).get(seed)
        }
        for setting, by_seed in own.items()
    }
    kept = {setting: by_seed for setting, by_seed in ratios.items() if by_seed}
    return Measured(Shown(term.text, "number", first.is_rising), kept)


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
    chosen = [number for number in several if is_chosen(sweep, number)]
    categories = [number for number in chosen if grid.dimensions[number].numbers is None]
    if categories:
        return categories[0]
    return (chosen or several or [len(grid.dimensions) - 1])[-1]


def _stand(
    conditions: Sequence[Condition], terms: Mapping[str, Measured], setting: int
) -> Standing:
    """Give the standing of a setting: the worst one over all conditions."""
    found = [judge(one, terms[one.term.text], setting) for one in conditions]
    for standing in (Standing.FAILS, Standing.UNDECIDED):
        if standing in found:
            return standing
    return Standing.HOLDS


def _find_best(conclusion: Conclusion, along: int, line: tuple[int, ...]) -> Best:
    """Find a line's best setting: of those that hold, else by their means, else the nearest."""
    standings = conclusion.standings
    done = [setting for setting in line if standings[setting] is not Standing.MISSING]
    if not done:
        return Best(along, line, None, (), Standing.MISSING)
    shortfalls = {setting: find_shortfall(conclusion, setting) for setting in done}
    standing = Standing.HOLDS
    able = [setting for setting in done if standings[setting] is standing]
    if not able:
        standing = Standing.UNDECIDED
        able = [setting for setting in done if shortfalls[setting] <= 0]
    if not able:
        measured = [setting for setting in done if math.isfinite(shortfalls[setting])]
        nearest = _find_nearest(conclusion, measured) if measured else None
        return Best(along, line, nearest, (), Standing.FAILS)
    objective = conclusion.objective
    if objective is None:
        first, *others = sorted(able, key=lambda own: shortfalls[own])
        return Best(along, line, first, tuple(sorted(others, key=line.index)), standing)
    able = [setting for setting in able if setting in objective.estimates]
    if not able:
        return Best(along, line, None, (), Standing.MISSING)
    most = max(able, key=functools.partial(weigh, conclusion))
    equal = [own for own in able if own == most or objective.is_tie(own, most)]
    (best,) = conclusion.prefer([(own,) for own in equal])
    ties = tuple(own for own in equal if own != best)
    return Best(along, line, best, ties, standing)


def _find_nearest(conclusion: Conclusion, settings: Sequence[int]) -> int:
    """Find the setting that misses the conditions least; of equals, the better objective."""
    return min(settings, key=lambda own: (find_shortfall(conclusion, own), -weigh(conclusion, own)))


def find_knee(grid: Grid, measured: Measured, along: int, line: Sequence[int]) -> Knee | None:
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
    if numbers is None or measured.about.is_rising is None:
        return None
    known = sorted(
        (own for own in line if own in measured.estimates),
        key=lambda own: numbers[grid.find_place(own)[along]],
    )
    if len(known) < 3:
        return None
    means = [measured.orient(measured.estimates[own].mean) for own in known]
    at = means.index(max(means))
    low = high = at
    while low > 0 and measured.is_tie(known[low - 1], known[at]):
        low -= 1
    while high < len(known) - 1 and measured.is_tie(known[high + 1], known[at]):
        high += 1
    shape = _find_shape(low, high, len(known) - 1)
    name = measured.about.measure
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


def _explain(grid: Grid, measured: Measured) -> tuple[float, ...]:
    """Give the share of a measure's variance by dimension (η²); empty if all settings tie."""
    means = {setting: own.mean for setting, own in measured.estimates.items()}
    if len(means) < 2:
        return ()
    best, worst = (
        choose(means, key=lambda own: measured.orient(means[own])) for choose in (max, min)
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
    measures: Mapping[str, Measured],
    terms: Mapping[str, Measured],
) -> TradeOff | None:
    """Find the two most opposed measures along the main dimension, of a wish's if there is one."""
    wish = sweep.wish
    pairs: Iterator[tuple[str, str]] | list[tuple[str, str]]
    if wish.objective:
        pairs = [(wish.objective.text, one.term.text) for one in wish.hold]
        pairs = [pair for pair in pairs if pair[0] != pair[1]]
    if not wish.objective or not pairs:
        directed = [name for name, own in measures.items() if own.about.is_rising is not None]
        pairs = itertools.combinations(directed, 2)
    rising = {wish.objective.text: wish.is_rising} if wish.objective else {}
    rising.update({one.term.text: one.is_rising for one in wish.hold})
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
    first: tuple[Measured, bool | None],
    second: tuple[Measured, bool | None],
) -> float | None:
    """Give the mean rank correlation of two oriented measures along a dimension's lines."""
    found = []
    for line in grid.list_lines(along):
        both = [own for own in line if all(own in one.estimates for one, _ in (first, second))]
        ranks = [
            _rank([one.orient(one.estimates[own].mean, rising) for own in both])
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
