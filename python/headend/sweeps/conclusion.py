"""What follows from a sweep: the best setting along each axis under its wish, knees, the trade-off, and which axis matters for what.

Two settings tie in a measure by the rule of `headend.judging.ties.is_tie`: the difference between them, paired by seed, is
not beyond its 95 % interval, or is at most 5 % of the larger one (0.1 of a MOS). Everything here rests on that rule:

- the best setting is, of those that hold the wish, the one with the most (or least) of the objective; those that tie with
  it are as good;
- the knee of a curve is the end of the plateau around its best point: beyond it, a measure gains or loses more than a tie.

A condition holds where the whole interval of the mean meets it, fails where no part of the interval does, and is undecided
between; with one seed, which gives no interval, the value decides.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean
from typing import TYPE_CHECKING, Any

from headend.judging.estimate import Estimate, estimate_mean
from headend.judging.ties import is_tie
from headend.sweeps.definition import Axis, Sweep
from headend.sweeps.shown import Shown, choose_shown, describe_figure, list_figures
from headend.sweeps.wish import Condition, Term

if TYPE_CHECKING:
    import polars as pl

#: Values that span this factor are compared by their logarithm.
WIDE = 10.0

#: Two measures are a trade-off where the ranks of their settings are as opposed as this, or more.
OPPOSED = -0.3


class Standing(StrEnum):
    """How a setting stands with what must hold."""

    HOLDS = "holds"
    UNDECIDED = "undecided"
    FAILS = "fails"
    #: No point of it has a result.
    MISSING = "missing"


class Shape(StrEnum):
    """What a measure does along an axis of numbers, from the least to the largest."""

    #: All settings tie.
    FLAT = "flat"
    #: It improves up to the knee, and beyond it is as good.
    LEVELS_OFF = "levels off"
    #: It is as good up to the knee, and worse beyond it.
    FALLS_OFF = "falls off"
    #: It is best between two knees.
    PEAKS = "peaks"
    #: It improves up to the last setting: no knee within the range.
    IMPROVES = "improves"
    #: It is worse from the second setting on: no knee within the range.
    WORSENS = "worsens"


@dataclass(frozen=True)
class Dimension:
    """Axes that change together, as one.

    Parameters
    ----------
    name
        In words.
    labels
        What each of its settings is called.
    numbers
        The settings as numbers, in one unit; None where they are categories.
    """

    name: str
    labels: tuple[str, ...]
    numbers: tuple[float, ...] | None

    @classmethod
    def of(cls, axes: Sequence[Axis]) -> Dimension:
        """Make one of axes that change together."""
        scale = axes[0].scale
        labels = [
            " / ".join(dict.fromkeys(map(str, together)))
            for together in zip(*(axis.labels for axis in axes), strict=True)
        ]
        name = " and ".join(dict.fromkeys(axis.words for axis in axes))
        return cls(name, tuple(labels), tuple(scale[0]) if scale else None)


@dataclass(frozen=True)
class Grid:
    """The settings of a sweep, numbered from 1; the first dimension changes slowest."""

    dimensions: tuple[Dimension, ...]

    def find_place(self, setting: int) -> tuple[int, ...]:
        """Give the place of a setting along each dimension."""
        left, place = setting - 1, []
        for dimension in reversed(self.dimensions):
            left, own = divmod(left, len(dimension.labels))
            place.append(own)
        return tuple(reversed(place))

    def find_setting(self, place: Sequence[int]) -> int:
        """Give the number of the setting at a place."""
        number = 0
        for dimension, own in zip(self.dimensions, place, strict=True):
            number = number * len(dimension.labels) + own
        return number + 1

    def list_lines(self, along: int) -> list[tuple[int, ...]]:
        """List the lines along a dimension: the settings that differ in nothing else, in its order."""
        sizes = [range(len(dimension.labels)) for dimension in self.dimensions]
        others = [[0] if number == along else size for number, size in enumerate(sizes)]
        return [
            tuple(
                self.find_setting((*place[:along], own, *place[along + 1 :]))
                for own in sizes[along]
            )
            for place in itertools.product(*others)
        ]

    def name_place(self, setting: int, without: Sequence[int] = (), *, whole: bool = False) -> str:
        """Name a setting by its place along the dimensions that have several.

        Parameters
        ----------
        setting
            Its number.
        without
            Dimensions to leave out.
        whole
            Whether to name the dimensions too.
        """
        parts = [
            f"{dimension.name} {dimension.labels[own]}" if whole else dimension.labels[own]
            for number, (dimension, own) in enumerate(
                zip(self.dimensions, self.find_place(setting), strict=True)
            )
            if number not in without and len(dimension.labels) > 1
        ]
        return ", ".join(parts)


@dataclass(frozen=True)
class Measured:
    """A measure, or the ratio of two, in all settings.

    Parameters
    ----------
    about
        What it measures.
    values
        By setting and seed, in base units.
    """

    about: Shown
    values: Mapping[int, Mapping[int, float]]

    @functools.cached_property
    def estimates(self) -> dict[int, Estimate]:
        """The mean of each setting that has a value, with its interval."""
        bounds = self.about.figure.bounds
        return {
            setting: estimate_mean(list(own.values()), bounds)
            for setting, own in self.values.items()
        }

    @functools.cached_property
    def largest(self) -> float:
        """The largest of all means, whatever its sign; 1 where all are 0."""
        return max((abs(own.mean) for own in self.estimates.values()), default=0.0) or 1.0

    def orient(self, value: float, is_rising: bool | None = None) -> float:
        """Give a value such that more is better."""
        rising = self.about.is_rising if is_rising is None else is_rising
        return value if rising is not False else -value

    def is_tie(self, setting: int, best: int) -> bool:
        """Say whether a setting is as good as a better one, as `headend.judging.ties.is_tie` has it."""
        figure = self.about.figure
        return is_tie(self.values[setting], self.values[best], figure.kind, figure.range)


@dataclass(frozen=True)
class Best:
    """The best setting of a line.

    Parameters
    ----------
    along
        The dimension.
    line
        The settings, in its order.
    setting
        The best of those that hold; where none does, of those whose means meet all conditions; else the nearest. None
        where no setting has a result, or where none has a value of every condition.
    ties
        Settings that are as good, in the order of the line.
    standing
        Whether it holds, whether that is undecided, or whether its mean fails.
    """

    along: int
    line: tuple[int, ...]
    setting: int | None
    ties: tuple[int, ...]
    standing: Standing


@dataclass(frozen=True)
class Knee:
    """What a measure does along a line of numbers, and where that ends.

    Parameters
    ----------
    measure
        Its name.
    along
        The dimension.
    line
        The settings that have a value, from the least number to the largest.
    best
        The best setting.
    first, last
        The ends of the plateau around it.
    shape
        What the measure does.
    """

    measure: str
    along: int
    line: tuple[int, ...]
    best: int
    first: int
    last: int
    shape: Shape

    @property
    def setting(self) -> int | None:
        """The knee; None where the curve has none within the range, or two."""
        return {Shape.LEVELS_OFF: self.first, Shape.FALLS_OFF: self.last}.get(self.shape)


@dataclass(frozen=True)
class TradeOff:
    """Two measures of which one gets worse as the other gets better, along a dimension."""

    along: int
    first: str
    second: str


@dataclass(frozen=True)
class Conclusion:
    """What follows from a sweep.

    Parameters
    ----------
    sweep
        Which.
    grid
        Its settings.
    main
        The dimension of most interest: that of the compared axis, or else the last.
    measures
        What is shown, by name.
    terms
        What the wish is about, by its text; measures that are shown are among them under their names.
    standings
        Of every setting.
    bests
        Of every line along every dimension, under the wish; nothing without one.
    knees
        Of every measure of which it is known whether more is better, along every dimension of numbers.
    shares
        For each measure, how much of its variance between settings each dimension explains, from 0 to 1; the rest is
        what dimensions do together. Nothing where all settings tie.
    trade_off
        None where no two measures are opposed.
    """

    sweep: Sweep
    grid: Grid
    main: int
    measures: Mapping[str, Measured]
    terms: Mapping[str, Measured]
    standings: Mapping[int, Standing]
    bests: tuple[Best, ...]
    knees: tuple[Knee, ...]
    shares: Mapping[str, tuple[float, ...]]
    trade_off: TradeOff | None

    @property
    def nearest(self) -> Best | None:
        """Of the lines along the main dimension on which no mean meets the wish, the best setting of the one that falls least short."""
        failing = [own for own in self.list_bests(self.main) if own.standing is Standing.FAILS]
        return min(failing, key=lambda own: find_shortfall(self, own.setting or 0), default=None)

    @property
    def objective(self) -> Measured | None:
        """What there should be most or least of."""
        term = self.sweep.wish.objective
        return self.terms[term.text] if term else None

    def judge(self, condition: Condition, setting: int) -> Standing:
        """Say whether a condition holds in a setting; what was not measured fails it."""
        return _judge(condition, self.terms[condition.term.text], setting)

    def list_bests(self, along: int) -> list[Best]:
        """List the best settings of the lines along one dimension."""
        return [best for best in self.bests if best.along == along]

    def list_knees(self, along: int, measure: str = "") -> list[Knee]:
        """List the knees along one dimension, of one measure or of all."""
        own = (knee for knee in self.knees if knee.along == along)
        return [knee for knee in own if not measure or knee.measure == measure]

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON can hold it: a setting by its labels on all axes, a dimension by the name of its first axis."""
        names = [axes[0].name for axes in self.sweep.dimensions]

        def tell(setting: int | None) -> dict[str, Any] | None:
            if setting is None:
                return None
            places = zip(self.sweep.dimensions, self.grid.find_place(setting), strict=True)
            return {axis.name: axis.labels[at] for axes, at in places for axis in axes}

        return {
            "wish": self.sweep.wish.to_dict(),
            "best": [
                {
                    "along": names[best.along],
                    "setting": tell(best.setting),
                    "as_good": [tell(tie) for tie in best.ties],
                    "standing": best.standing,
                    "values": self._list_values(best.setting),
                }
                for best in self.bests
            ],
            "knees": [
                {
                    "measure": knee.measure,
                    "along": names[knee.along],
                    "shape": knee.shape,
                    "best": tell(knee.best),
                    "plateau": [tell(knee.first), tell(knee.last)],
                    "knee": tell(knee.setting),
                }
                for knee in self.knees
            ],
            "explained": {
                measure: dict(zip(names, own, strict=True)) for measure, own in self.shares.items()
            },
            "trade_off": self.trade_off
            and {
                "along": names[self.trade_off.along],
                "measures": [self.trade_off.first, self.trade_off.second],
            },
        }

    def _list_values(self, setting: int | None) -> dict[str, Any]:
        """Give the means of what the wish is about, with their intervals, in base units."""
        found = {
            term.text: self.terms[term.text].estimates.get(setting or 0)
            for term in self.sweep.wish.terms
        }
        return {
            name: {"mean": own.mean, "low": own.low, "high": own.high}
            for name, own in found.items()
            if own
        }


def conclude(sweep: Sweep, table: pl.DataFrame) -> Conclusion:
    """Conclude from a sweep's results.

    Parameters
    ----------
    sweep
        What was asked.
    table
        As `SweepResult.table` has it; points that failed or are missing are left out.
    """
    grid = Grid(tuple(Dimension.of(axes) for axes in sweep.dimensions))
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
    return Conclusion(**{**vars(conclusion), "bests": bests})


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
    """Give what a term has in each setting; a ratio is taken seed by seed."""
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
    """Choose the dimension of most interest: that of the axis that is compared, or else the last with several settings.

    Scenarios are what is varied, and not what is chosen, unless the file compares them.
    """
    several = [number for number, own in enumerate(grid.dimensions) if len(own.labels) > 1]
    compared = sweep.compared
    for number, axes in enumerate(sweep.dimensions):
        is_chosen = compared in axes and (sweep.compare or not axes[0].chooses_scenario)
        if is_chosen and (number in several or sweep.compare):
            return number
    return several[-1] if several else len(grid.dimensions) - 1


def _stand(
    conditions: Sequence[Condition], terms: Mapping[str, Measured], setting: int
) -> Standing:
    """Say how a setting stands with all conditions: as with the worst."""
    found = [_judge(one, terms[one.term.text], setting) for one in conditions]
    for standing in (Standing.FAILS, Standing.UNDECIDED):
        if standing in found:
            return standing
    return Standing.HOLDS


def _judge(condition: Condition, measured: Measured, setting: int) -> Standing:
    estimate = measured.estimates.get(setting)
    if estimate is None:
        return Standing.FAILS
    bound = condition.read_bound(measured.about.kind)
    ends = (estimate.mean,) if math.isnan(estimate.low) else (estimate.low, estimate.high)
    met = [_meets(end, condition.operator, bound) for end in ends]
    if all(met):
        return Standing.HOLDS
    return Standing.UNDECIDED if any(met) else Standing.FAILS


def _meets(value: float, operator: str, bound: float) -> bool:
    return {
        ">=": value >= bound,
        ">": value > bound,
        "<=": value <= bound,
        "<": value < bound,
    }[operator]


def _find_best(conclusion: Conclusion, along: int, line: tuple[int, ...]) -> Best:
    """Find the best setting of a line: of those that hold, else of those whose means would, else the nearest."""
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
    best = max(able, key=functools.partial(_weigh, conclusion))
    ties = tuple(own for own in able if own != best and objective.is_tie(own, best))
    return Best(along, line, best, ties, standing)


def _weigh(conclusion: Conclusion, setting: int) -> float:
    """Give what a setting has of the objective, such that more is better."""
    objective = conclusion.objective
    if objective is None or setting not in objective.estimates:
        return -math.inf
    mean = objective.estimates[setting].mean
    return objective.orient(mean, conclusion.sweep.wish.is_rising)


def _find_nearest(conclusion: Conclusion, settings: Sequence[int]) -> int:
    """Find the setting that falls least short of what must hold; of equals, the one with the better objective."""
    return min(
        settings, key=lambda own: (find_shortfall(conclusion, own), -_weigh(conclusion, own))
    )


def find_shortfall(conclusion: Conclusion, setting: int) -> float:
    """Give by how much a setting falls short of the worst condition, as a share of its bound; below zero, what is to spare."""
    shares = []
    for condition in conclusion.sweep.wish.hold:
        measured = conclusion.terms[condition.term.text]
        estimate = measured.estimates.get(setting)
        if estimate is None:
            return math.inf
        bound = condition.read_bound(measured.about.kind)
        short = bound - estimate.mean if condition.is_rising else estimate.mean - bound
        shares.append(short / (abs(bound) or measured.largest))
    return max(shares, default=0.0)


def find_knee(grid: Grid, measured: Measured, along: int, line: Sequence[int]) -> Knee | None:
    """Find the plateau around the best point of a curve, and so its knee; None with fewer than three points.

    Parameters
    ----------
    grid
        The settings.
    measured
        A measure of which it is known whether more is better; of any other there is no knee.
    along
        The dimension; its settings are numbers.
    line
        The settings along it.
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
    """Name a curve by the ends of its plateau, and the last place of the line."""
    if low == 0:
        if high == end:
            return Shape.FLAT
        return Shape.FALLS_OFF if high else Shape.WORSENS
    if high == end:
        return Shape.LEVELS_OFF if low < end else Shape.IMPROVES
    return Shape.PEAKS


def _explain(grid: Grid, measured: Measured) -> tuple[float, ...]:
    """Give how much of a measure's variance between settings each dimension explains (η²); nothing where all settings tie."""
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
    """Find the two measures that are most opposed along the main dimension: of a wish, what must hold and the objective."""
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
    """Give the rank correlation of two measures along a dimension, in the mean over its lines, where more is better of both."""
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
    """Give the ranks of values; equal ones share theirs.

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
