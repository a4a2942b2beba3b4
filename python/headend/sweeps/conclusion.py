"""The conclusion of a sweep: settings, measures, best settings, knees and the trade-off.

`headend.sweeps.concluding` computes it.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from headend.analysis.measures import MeasureValues
from headend.analysis.ranking import Choice, Evaluation, Feasibility
from headend.design.factor import Factor
from headend.sweeps.definition import Sweep


class Shape(StrEnum):
    """The shape of a measure's curve along an axis of numbers, from the smallest to the largest."""

    #: All settings tie.
    FLAT = "flat"
    #: It improves up to the knee, and ties beyond it.
    LEVELS_OFF = "levels off"
    #: It ties up to the knee, and is worse beyond it.
    FALLS_OFF = "falls off"
    #: It is best between two knees.
    PEAKS = "peaks"
    #: It improves up to the last setting: no knee within the range.
    IMPROVES = "improves"
    #: It is worse from the second setting on: no knee within the range.
    WORSENS = "worsens"


@dataclass(frozen=True)
class Dimension:
    """One or several axes that change together.

    Parameters
    ----------
    name
        The name in words.
    labels
        The label of each setting.
    numbers
        The settings as numbers, in one unit; None where they are categories.
    """

    name: str
    labels: tuple[str, ...]
    numbers: tuple[float, ...] | None

    @classmethod
    def of(cls, axes: Sequence[Factor]) -> Dimension:
        """Make a dimension of axes that change together."""
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
        """List the lines along a dimension; a line's settings differ in that dimension only."""
        sizes = [range(len(dimension.labels)) for dimension in self.dimensions]
        others = [[0] if number == along else size for number, size in enumerate(sizes)]
        return [
            tuple(
                self.find_setting((*place[:along], own, *place[along + 1 :]))
                for own in sizes[along]
            )
            for place in itertools.product(*others)
        ]

    def name_place(
        self,
        setting: int,
        without: Sequence[int] = (),
        *,
        whole: bool = False,
        between: str = ", ",
    ) -> str:
        """Name a setting by its place along the dimensions that have several.

        Parameters
        ----------
        setting
            Its number.
        without
            Dimensions to leave out.
        whole
            Whether to write the names of the dimensions too.
        between
            The separator.
        """
        parts = [
            f"{dimension.name} {dimension.labels[own]}" if whole else dimension.labels[own]
            for number, (dimension, own) in enumerate(
                zip(self.dimensions, self.find_place(setting), strict=True)
            )
            if number not in without and len(dimension.labels) > 1
        ]
        return between.join(parts)


@dataclass(frozen=True)
class Best(Choice):
    """The best setting of a line, whose settings differ in one dimension."""

    along: int

    def call_best(self, settings: Sequence[int], along: int) -> Best:
        """Name a tied setting the best instead, if in ``settings`` and the line is ``along``."""
        named = next((tie for tie in self.ties if tie in settings), None)
        if self.along != along or named is None or self.setting is None:
            return self
        others = [own for own in self.among if own == self.setting or own in self.ties]
        return replace(self, setting=named, ties=tuple(own for own in others if own != named))


@dataclass(frozen=True)
class Knee:
    """The curve of a measure along a line of numbers, with its plateau.

    Parameters
    ----------
    measure
        The name of the measure.
    along
        The dimension.
    line
        The settings that have a value, from the least number to the largest.
    best
        The best setting.
    first, last
        The ends of the plateau around it.
    shape
        The shape of the curve.
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
    """Two measures that oppose each other along a dimension: one improves, one gets worse."""

    along: int
    first: str
    second: str


#: The settings of one option, one for each circumstance.
Option = tuple[int, ...]


@dataclass(frozen=True)
class RobustChoice:
    """The option that is best over all circumstances (combinations of given values).

    Parameters
    ----------
    given
        The dimensions whose values make the circumstances.
    option
        Its settings, one for each circumstance.
    ties
        Other options that tie with it in every circumstance.
    losses
        For each circumstance, the objective that the option loses against the best setting that
        holds, as a share of the larger of the two; 0 where they tie.
    """

    given: tuple[int, ...]
    option: Option
    ties: tuple[Option, ...]
    losses: tuple[float, ...]

    @property
    def is_best(self) -> bool:
        """Whether no setting that holds is better in any circumstance."""
        return not any(self.losses)


@dataclass(frozen=True)
class Conclusion(Evaluation):
    """The conclusion of a sweep; its ``terms`` are those of the criteria and the shown measures.

    Parameters
    ----------
    sweep
        The sweep.
    grid
        Its settings.
    main
        The dimension of most interest: that of the compared axis, else of a choice.
    measures
        The measures that are shown, by name.
    bests
        The best setting of every line along every dimension that is chosen; empty without
        criteria.
    knees
        The curves along every dimension of numbers, of the measures that have a better end.
    shares
        For each measure, how much of its variance between settings each dimension explains, from 0
        to 1; the rest is their interaction. A measure is missing where all settings tie.
    trade_off
        The two most opposed measures; None where no two are opposed.
    overall
        The option that is best over all circumstances; None where none holds in all of them.
    is_given
        Whether the main dimension is given, as a rate or a distance is: then nothing is advised.
    is_open
        Whether the sweep was stopped before its end: then nothing is called best, and no curve or
        trade-off is described.
    """

    sweep: Sweep
    grid: Grid
    main: int
    measures: Mapping[str, MeasureValues]
    bests: tuple[Best, ...] = ()
    knees: tuple[Knee, ...] = ()
    shares: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    trade_off: TradeOff | None = None
    overall: RobustChoice | None = None
    is_given: bool = False
    is_open: bool = False

    def leave_open(self) -> Conclusion:
        """Give the conclusion of a sweep that was stopped: values and standings, no verdict."""
        return replace(
            self, bests=(), knees=(), shares={}, trade_off=None, overall=None, is_open=True
        )

    @property
    def main_axis(self) -> Dimension:
        """The dimension of most interest."""
        return self.grid.dimensions[self.main]

    @property
    def nearest(self) -> Best | None:
        """The nearest setting of all main lines on which every mean fails the wish; or None."""
        failing = [own for own in self.list_bests(self.main) if own.standing is Feasibility.FAILS]
        return min(failing, key=lambda own: self.find_shortfall(own.setting or 0), default=None)

    def prefer(self, options: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
        """Choose one of several tied options; each has one setting, or one per circumstance.

        Along one axis of numbers, the smallest value is preferred. Otherwise it is the option with
        the widest margin to the conditions. Without conditions, it is the option with the best
        objective. Margin and objective are those of the option's worst setting.
        """
        grid = self.grid
        varied = [
            number
            for number in range(len(grid.dimensions))
            if len({grid.find_place(option[0])[number] for option in options}) > 1
        ]
        numbers = grid.dimensions[varied[0]].numbers if len(varied) == 1 else None
        if numbers:
            return min(options, key=lambda own: numbers[grid.find_place(own[0])[varied[0]]])
        if self.criteria.constraints:
            return min(options, key=lambda own: max(map(self.find_shortfall, own)))
        return max(options, key=lambda own: min(map(self.weigh, own)))

    def list_bests(self, along: int) -> list[Best]:
        """List the best settings of the lines along one dimension."""
        return [best for best in self.bests if best.along == along]

    def list_knees(self, along: int, measure: str = "") -> list[Knee]:
        """List the knees along one dimension, of one measure or of all."""
        own = (knee for knee in self.knees if knee.along == along)
        return [knee for knee in own if not measure or knee.measure == measure]

    def to_dict(self) -> dict[str, Any]:
        """Give plain values for JSON: settings as labels on all axes, dimensions as axis names."""
        names = [axes[0].name for axes in self.sweep.design.dimensions]

        def tell(setting: int | None) -> dict[str, Any] | None:
            if setting is None:
                return None
            places = zip(self.sweep.design.dimensions, self.grid.find_place(setting), strict=True)
            return {axis.name: axis.labels[at] for axes, at in places for axis in axes}

        return {
            "wish": self.criteria.to_dict(),
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
            "overall": self.overall
            and {
                "settings": list(map(tell, self.overall.option)),
                "as_good": [list(map(tell, option)) for option in self.overall.ties],
                "losses": list(self.overall.losses),
            },
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
        """Give the means of the wish's terms with their intervals, in base units."""
        found = {
            term.text: self.terms[term.text].estimates.get(setting or 0)
            for term in self.criteria.terms
        }
        return {
            name: {"mean": own.mean, "low": own.low, "high": own.high}
            for name, own in found.items()
            if own
        }
