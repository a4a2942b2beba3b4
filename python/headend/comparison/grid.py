"""What a comparison varies: one choice between settings, or a grid of tiers and choices.

A comparison with one axis is one tier. With several, one axis is the choice, and every combination
of the others is a tier: settings are set against each other within a tier, never across tiers. The
choice is the last axis whose value somebody can choose (a queue, a target, a congestion control).
What is given rather than chosen (rates, round-trip times, numbers of homes, loads) makes tiers,
wherever it stands (`headend.design.factor`). Where all axes are of one sort, the last one is the
choice.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from headend.design.design import Design
from headend.design.factor import Factor, choose_main, name_path
from headend.design.varying import label_values, shorten_labels
from headend.text.wording import join_names

if TYPE_CHECKING:
    from headend.comparison.comparison import Variant

#: The label of a value that a run did not change from its scenario.
AS_WRITTEN = "as written"


@dataclass(frozen=True)
class Tier:
    """The settings that are compared with each other: one for each choice, None without its run.

    The label is such as ``upstream rate 5 Mbit/s``; it is empty where there is only one tier. With
    several, a setting's label is that of the choice.
    """

    label: str
    variants: tuple[Variant | None, ...]
    #: The value of each factor that is given, by the factor's name.
    place: Mapping[str, str] = field(default_factory=dict)

    @property
    def present(self) -> list[Variant]:
        """The settings that have runs."""
        return [variant for variant in self.variants if variant]


@dataclass(frozen=True, repr=False)
class Grid:
    """All settings of a comparison: columns of the choice's values, tiers of what is given.

    The first of the given factors changes slowest. Nothing is given where there is only one tier.
    """

    choice: Factor
    given: tuple[Factor, ...]
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
    """Find tiers and choices of a comparison: by its design, of loose runs by what was overridden.

    Settings make a grid where no two of them share all values, and more than half of the
    combinations are there: some may be missing because a run was stopped.
    """
    settings = _read_design(variants) or _infer_settings(variants)
    varied = {
        path: labels
        for path in settings[0]
        if len(labels := tuple(dict.fromkeys(own[path] for own in settings))) > 1
    }
    places = [tuple(own[path] for path in varied) for own in settings]
    is_grid = len(set(places)) == len(places) and 2 * len(places) > math.prod(
        map(len, varied.values())
    )
    if len(varied) < 2 or not is_grid:
        (path,) = varied if len(varied) == 1 else ("",)
        labels = tuple(variant.label for variant in variants)
        factor = Factor(path, name_path(path) if path else "setting", labels, labels)
        return Grid(factor, (), (Tier("", tuple(variants)),))
    chosen = choose_main(list(varied))
    factors = {path: Factor(path, name_path(path), own, own) for path, own in varied.items()}
    given = [path for path in varied if path != chosen]
    by_place = dict(zip(places, variants, strict=True))
    tiers = []
    for labels in itertools.product(*(varied[path] for path in given)):
        at = dict(zip(given, labels, strict=True))
        own = [
            replace(variant, label=label) if variant else None
            for label in varied[chosen]
            for variant in [by_place.get(tuple({**at, chosen: label}[path] for path in varied))]
        ]
        if any(own):
            name = ", ".join(f"{factors[path].name} {label}" for path, label in at.items())
            place = {factors[path].name: label for path, label in at.items()}
            tiers.append(Tier(name, tuple(own), place))
    return Grid(factors[chosen], tuple(factors[path] for path in given), tuple(tiers))


def _read_design(variants: Sequence[Variant]) -> list[dict[str, str]]:
    """Give the labels of each setting by path, where all are of one design; else nothing."""
    manifests = [variant.results[0].manifest for variant in variants]
    design = manifests[0].get("design")
    if not design or any(manifest.get("design") != design for manifest in manifests):
        return []
    paths = [factor.path for factor in Design.from_dict(design).factors]
    return [dict(zip(paths, map(str, manifest["place"]), strict=True)) for manifest in manifests]


def _infer_settings(variants: Sequence[Variant]) -> list[dict[str, str]]:
    """Give what was overridden in each setting as labels by path, of runs that no design has."""
    settings = [
        {
            path: value
            for path, value in variant.results[0].manifest.get("overrides", [])
            # What is written of a run sets no run apart from another.
            if not path.startswith("results.")
        }
        for variant in variants
    ]
    columns = {
        path: shorten_labels([own.get(path, "") for own in settings])
        for path in dict.fromkeys(path for own in settings for path in own)
    }
    return [
        {path: labels[number] or AS_WRITTEN for path, labels in columns.items()}
        for number in range(len(settings))
    ]


def name_choices(grid: Grid, names: Sequence[str]) -> None:
    """Rename the values of a grid's choice, in its runs and so wherever they are shown."""
    called = dict(zip(grid.choice.labels, names, strict=True))
    variants = [variant for tier in grid.tiers for variant in tier.present]
    settings = _read_design(variants) or _infer_settings(variants)
    renamed = replace(grid.choice, labels=tuple(names))
    factors = {factor.path: factor for factor in (*grid.given, renamed)}
    paths = [path for path in settings[0] if path in factors]
    seeds = dict.fromkeys(seed for variant in variants for seed in variant.seeds)
    design = Design(tuple((factors[path],) for path in paths), tuple(seeds)).to_dict()
    for variant, setting in zip(variants, settings, strict=True):
        place = {**setting, grid.choice.path: called[variant.label]}
        for result in variant.results:
            result.manifest |= {"design": design, "place": [place[path] for path in paths]}
            result.label = label_values([(path, place[path]) for path in paths])


def name_factors(factors: Sequence[Factor]) -> str:
    """Name some factors; a beginning that all names share is written once.

    Examples
    --------
    >>> paths = ("flow.near.tcp.congestion", "flow.far.tcp.congestion")
    >>> name_factors([Factor(path, name_path(path), (), ()) for path in paths])
    'congestion control of near and far'
    """
    parted = [factor.name.partition(" of ") for factor in factors]
    firsts = {first for first, _, of in parted if of}
    if len(factors) > 1 and len(firsts) == 1 and all(of for _, _, of in parted):
        return f"{firsts.pop()} of {join_names([of for _, _, of in parted])}"
    return join_names([factor.name for factor in factors])
