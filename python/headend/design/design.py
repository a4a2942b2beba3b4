"""A design: all settings of an experiment, as a grid of factors or one by one, and its seeds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from headend.design.factor import Factor, Value
from headend.errors import InputError
from headend.scenario.source import Overrides, Source

#: The largest experiment.
MOST_POINTS = 100_000


@dataclass(frozen=True)
class Setting:
    """One setting: its number from 1 on, its label for each factor, its scenario and overrides."""

    number: int
    factor_labels: tuple[Value, ...]
    scenario: Source = ""
    overrides: Overrides = ()


@dataclass(frozen=True)
class Point:
    """One run: a setting with a seed."""

    setting: Setting
    seed: int

    @property
    def factor_labels(self) -> tuple[Value, ...]:
        """Its setting's label for each factor."""
        return self.setting.factor_labels

    def to_columns(self, names: Sequence[str]) -> dict[str, Value]:
        """Give the leading columns of its rows in a table; the factors have these names."""
        labels = zip(names, self.factor_labels, strict=True)
        return {"setting": self.setting.number, **dict(labels), "seed": self.seed}


@dataclass(frozen=True)
class Design:
    """What an experiment runs.

    Parameters
    ----------
    dimensions
        Factors; those of one dimension change together, and dimensions are combined with each
        other.
    seeds
        The seeds that every setting runs with.
    scenario
        The scenario of all settings, unless a factor chooses one.
    overrides
        The overrides of all points that the experiment's file has.
    added
        Further overrides of all points, from the command line or from Python.
    settings
        The settings one by one, where they are not all combinations of the factors' values. The
        factors then only name the columns.
    """

    dimensions: tuple[tuple[Factor, ...], ...]
    seeds: tuple[int, ...] = (1,)
    scenario: Source | None = None
    overrides: Overrides = ()
    added: Overrides = ()
    settings: tuple[Setting, ...] = ()

    @property
    def factors(self) -> list[Factor]:
        """All factors, in the order of the columns."""
        return [factor for dimension in self.dimensions for factor in dimension]

    @property
    def names(self) -> list[str]:
        """The names of all factors, which are columns of the table of results."""
        return [factor.name for factor in self.factors]

    @property
    def sizes(self) -> list[int]:
        """How many values each dimension has."""
        return [len(dimension[0].values) for dimension in self.dimensions]

    @property
    def shared(self) -> Overrides:
        """The overrides of all points."""
        return (*self.overrides, *self.added)

    def count_points(self) -> int:
        """Count all settings with all seeds."""
        sizes = [len(self.settings)] if self.settings else self.sizes
        return math.prod(sizes) * len(self.seeds)

    def check_size(self) -> None:
        """Refuse more points than an experiment may have, before any of them is made."""
        if (total := self.count_points()) > MOST_POINTS:
            product = " × ".join(map(str, [len(self.settings)] if self.settings else self.sizes))
            raise InputError(
                f"{product} settings × {len(self.seeds)} seeds are {total:,} points; a sweep has at"
                f" most {MOST_POINTS:,}"
            )

    def list_settings(self) -> list[Setting]:
        """List all settings; of a grid all combinations, of which the first factor changes slowest.

        Raises
        ------
        InputError
            For too many points, and where no scenario is named.
        """
        self.check_size()
        return list(self.settings or self._combine())

    def list_points(self) -> list[Point]:
        """List all settings with all seeds."""
        return [Point(setting, seed) for setting in self.list_settings() for seed in self.seeds]

    def list_scenarios(self) -> list[str]:
        """List what its scenarios are called: files by name, dictionaries by their title."""
        chooser = next((factor for factor in self.factors if factor.chooses_scenario), None)
        sources = chooser.values if chooser else (self.scenario,)
        return [
            str(source.get("title", "")) if isinstance(source, Mapping) else Path(str(source)).stem
            for source in sources
            if source is not None
        ]

    def as_labelled(self) -> Design:
        """Give what a results folder keeps of it: names, labels and seeds."""
        return Design(
            tuple(
                tuple(factor.as_labelled() for factor in dimension) for dimension in self.dimensions
            ),
            self.seeds,
            settings=tuple(
                replace(setting, scenario="", overrides=()) for setting in self.settings
            ),
        )

    def to_dict(self) -> dict[str, Any]:
        """Give what a manifest keeps of it."""
        return {
            "dimensions": [
                [
                    {
                        "path": factor.path,
                        "name": factor.name,
                        "role": factor.role,
                        "labels": list(factor.labels),
                    }
                    for factor in dimension
                ]
                for dimension in self.dimensions
            ],
            "seeds": list(self.seeds),
            **(
                {"settings": [list(setting.factor_labels) for setting in self.settings]}
                if self.settings
                else {}
            ),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Design:
        """Read what `to_dict` gave; what was simulated is not part of it.

        Raises
        ------
        KeyError, TypeError, AttributeError, ValueError
            For something else.
        """
        dimensions = tuple(
            tuple(
                Factor(
                    factor["path"],
                    factor["name"],
                    tuple(factor["labels"]),
                    tuple(factor["labels"]),
                    factor["role"],
                )
                for factor in dimension
            )
            for dimension in content["dimensions"]
        )
        rows = content.get("settings", ())
        return cls(dimensions, tuple(content["seeds"]), settings=make_settings(rows))

    def _combine(self) -> Iterator[Setting]:
        rows = [range(size) for size in self.sizes]
        for number, indices in enumerate(itertools.product(*rows), start=1):
            labels: list[Value] = []
            overrides = list(self.shared)
            scenario = self.scenario
            for dimension, index in zip(self.dimensions, indices, strict=True):
                for factor in dimension:
                    labels.append(factor.labels[index])
                    overrides += factor.write(index)
                    scenario = factor.find_scenario(index) or scenario
            if scenario is None:
                raise InputError('missing key "scenario"')
            yield Setting(number, tuple(labels), scenario, tuple(overrides))


def make_settings(rows: Iterable[Iterable[Value]]) -> tuple[Setting, ...]:
    """Give settings of which only the labels are known, from a row of labels for each."""
    return tuple(Setting(number, tuple(labels)) for number, labels in enumerate(rows, start=1))
