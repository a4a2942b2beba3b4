"""What a comparison varies: one choice between settings, or a grid of tiers and choices.

A comparison with one axis is one tier. With several, one axis is the choice, and every combination
of the others is a tier: settings are set against each other within a tier, never across tiers. The
choice is the last axis whose value somebody can choose (a queue, a target, a congestion control).
What is given rather than chosen (rates, round-trip times, numbers of homes, loads) makes tiers,
wherever it stands (`headend.design.factor`). Where all axes are of one sort, the last one is the
choice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headend.comparison.comparison import label_values
from headend.design.factor import choose_main, name_path
from headend.text.quantity import shorten_value
from headend.text.wording import join_names

if TYPE_CHECKING:
    from headend.comparison.comparison import Variant

#: The manifest's key for the name that a user gave to the run's value of the choice.
CALLED = "choice"

#: The label of a value that a run did not change from its scenario.
AS_WRITTEN = "as written"


@dataclass(frozen=True)
class Axis:
    """One axis of a comparison: what is varied.

    Parameters
    ----------
    path
        As ``--vary`` takes it; empty where runs differ in more than one way.
    name
        What sentences call it, such as ``queue`` or ``upstream rate``.
    values
        The values as labels, in order.
    """

    path: str
    name: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Tier:
    """The settings that are compared with each other.

    Parameters
    ----------
    label
        The tier's name, such as ``upstream rate 5 Mbit/s``; empty where there is only one tier.
    variants
        One setting for each choice, None where its run is missing. With several tiers, its label is
        that of the choice.
    """

    label: str
    variants: tuple[Variant | None, ...]

    @property
    def present(self) -> list[Variant]:
        """The settings that have runs."""
        return [variant for variant in self.variants if variant]


@dataclass(frozen=True, repr=False)
class Grid:
    """All settings of a comparison in their order.

    Parameters
    ----------
    choice
        The axis whose values are the columns.
    given
        The axes whose combinations are the tiers; empty where there is only one tier.
    tiers
        The tiers in the order of their axes' values; the first axis changes slowest.
    """

    choice: Axis
    given: tuple[Axis, ...]
    tiers: tuple[Tier, ...]

    def __repr__(self) -> str:
        """Say what was varied; the settings are in ``tiers``."""
        axes = [f"{axis.name} ({', '.join(axis.values)})" for axis in (self.choice, *self.given)]
        return f"<Grid: {' at each '.join([axes[0], ', '.join(axes[1:])] if self.given else axes)}>"

    @property
    def is_several(self) -> bool:
        """Whether there are several tiers."""
        return len(self.tiers) > 1


def find_grid(variants: Sequence[Variant]) -> Grid:
    """Find the axes of a comparison in the settings of its runs.

    Settings make a grid where no two of them share all values, and more than half of the
    combinations are there: some may be missing because a run was stopped.
    """
    settings = [
        {
            path: value
            for path, value in variant.results[0].manifest.get("overrides", [])
            # What is written of a run sets no run apart from another.
            if not path.startswith("results.")
        }
        for variant in variants
    ]
    paths = list(dict.fromkeys(path for own in settings for path in own))
    varied = {
        path: tuple(dict.fromkeys(own.get(path, "") for own in settings))
        for path in paths
        if len({own.get(path, "") for own in settings}) > 1
    }
    labels = tuple(variant.label for variant in variants)
    places = [tuple(own.get(path, "") for path in varied) for own in settings]
    combinations = math.prod(map(len, varied.values()))
    is_grid = len(set(places)) == len(places) and 2 * len(places) > combinations
    if len(varied) < 2 or not is_grid:
        (path,) = varied if len(varied) == 1 else ("",)
        axis = Axis(path, name_path(path) if path else "setting", labels)
        return Grid(axis, (), (Tier("", tuple(variants)),))
    chosen = choose_main(list(varied))
    axes = {
        path: Axis(path, name_path(path), tuple(_label(value) for value in values))
        for path, values in varied.items()
    }
    names = _name_choices(variants, chosen, varied[chosen])
    axes[chosen] = replace(axes[chosen], values=tuple(names.values()))
    given = [path for path in varied if path != chosen]
    order = list(varied)
    found: dict[tuple[str, ...], dict[str, Variant]] = {}
    for place, variant in zip(places, variants, strict=True):
        tier = tuple(place[order.index(path)] for path in given)
        found.setdefault(tier, {})[place[order.index(chosen)]] = variant
    ranked = sorted(
        found, key=lambda tier: [varied[path].index(tier[at]) for at, path in enumerate(given)]
    )
    tiers = (
        Tier(
            ", ".join(
                f"{axes[path].name} {_label(value)}"
                for path, value in zip(given, tier, strict=True)
            ),
            tuple(
                replace(own, label=names[value]) if (own := found[tier].get(value)) else None
                for value in varied[chosen]
            ),
        )
        for tier in ranked
    )
    return Grid(axes[chosen], tuple(axes[path] for path in given), tuple(tiers))


def _name_choices(variants: Sequence[Variant], path: str, values: Sequence[str]) -> dict[str, str]:
    """Name the values of the choice by a user's names for all of them, else as written."""
    called: dict[str, str] = {}
    for variant in variants:
        manifest = variant.results[0].manifest
        if name := manifest.get(CALLED):
            called.setdefault(dict(manifest.get("overrides", [])).get(path, ""), str(name))
    names = {value: called.get(value) or _label(value) for value in values}
    is_distinct = len(set(names.values())) == len(names)
    return names if is_distinct else {value: _label(value) for value in values}


def name_choices(grid: Grid, names: Sequence[str]) -> None:
    """Rename the values of a grid's choice, in its runs and so wherever they are shown.

    Parameters
    ----------
    grid
        With several tiers.
    names
        One for each value, in order.
    """
    called = dict(zip(grid.choice.values, names, strict=True))
    for tier in grid.tiers:
        for own in tier.present:
            for result in own.results:
                result.manifest[CALLED] = called[own.label]
                setting = dict(result.manifest.get("overrides", []))
                varied = [axis.path for axis in (*grid.given, grid.choice)]
                result.label = label_values(
                    [
                        (path, called[own.label] if path == grid.choice.path else setting[path])
                        for path in setting
                        if path in varied
                    ]
                )


def name_axes(axes: Sequence[Axis]) -> str:
    """Name some axes; a beginning that all names share is written once.

    Examples
    --------
    >>> paths = ("flow.near.tcp.congestion", "flow.far.tcp.congestion")
    >>> name_axes([Axis(path, name_path(path), ()) for path in paths])
    'congestion control of near and far'
    """
    parted = [axis.name.partition(" of ") for axis in axes]
    firsts = {first for first, _, of in parted if of}
    if len(axes) > 1 and len(firsts) == 1 and all(of for _, _, of in parted):
        return f"{firsts.pop()} of {join_names([of for _, _, of in parted])}"
    return join_names([axis.name for axis in axes])


def _label(value: str) -> str:
    return shorten_value(value) or AS_WRITTEN
