"""Reading ``study.toml``: what a study varies, measures, draws and claims."""

from __future__ import annotations

import importlib.util
import itertools
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from headend.errors import InputError, suggest
from headend.study.claims import Claim

_KEYS = {
    "format", "title", "source", "question", "description", "scenario",
    "seeds", "grid", "measures", "distributions", "series", "claim", "figure", "quick",
}  # fmt: skip
_NEEDED = ("title", "source", "claim")
#: What a study of runs needs besides; one that only calculates has none of them.
_NEEDED_TO_RUN = ("scenario", "grid", "measures")

Value = int | float | str


@dataclass(frozen=True)
class Axis:
    """One thing a study varies.

    Parameters
    ----------
    name
        Its column among the points.
    values
        The values it takes.
    set
        Scenario paths and what to write there: a text in which ``{}`` stands for the value, or a table from the value
        to its text. Several paths vary together.
    """

    name: str
    values: tuple[Value, ...]
    set: dict[str, str | dict[str, str]]

    def write(self, value: Value) -> list[tuple[str, str]]:
        """Give the overrides that put a value in place."""
        return [
            (path, text[str(value)] if isinstance(text, dict) else text.replace("{}", str(value)))
            for path, text in self.set.items()
        ]


@dataclass(frozen=True)
class FigureDefinition:
    """A figure of a study: the function of ``analysis.py`` that draws it, and its words."""

    name: str
    title: str
    explanation: str
    draw: str


@dataclass(frozen=True)
class Point:
    """One run of a study: its place in the grid and its seed."""

    values: dict[str, Value]
    overrides: tuple[tuple[str, str], ...]
    seed: int

    @property
    def columns(self) -> dict[str, Value]:
        """Its place as columns of a row."""
        return {**self.values, "seed": self.seed}


@dataclass(frozen=True)
class Study:
    """A study as its file states it.

    A study without a scenario only calculates: it has no points, and its ``analysis.py`` needs none.
    """

    name: str
    folder: Path
    title: str
    source: str
    question: str
    description: str
    scenario: Path | None
    seeds: tuple[int, ...]
    axes: tuple[Axis, ...]
    measures: dict[str, str]
    claims: tuple[Claim, ...]
    figures: tuple[FigureDefinition, ...]
    distributions: dict[str, str] = field(default_factory=dict)
    series: dict[str, str] = field(default_factory=dict)
    overrides: tuple[tuple[str, str], ...] = ()
    quick: str = ""
    quick_settings: dict[str, Any] = field(default_factory=dict, repr=False)

    def list_points(self) -> list[Point]:
        """List all combinations of all axes and seeds."""
        return list(self._combine())

    def make_quick(self) -> Study:
        """Give the study with fewer points and shorter runs, and the words that say so."""
        if self.scenario is None:
            return self
        settings = self.quick_settings
        if not settings:
            raise InputError(f"{self.name}: this study has no quick form")
        kept = settings.get("grid", {})
        axes = tuple(
            Axis(axis.name, tuple(kept.get(axis.name, axis.values)), axis.set) for axis in self.axes
        )
        overrides = tuple((path, str(text)) for path, text in settings.get("set", {}).items())
        seeds = tuple(settings.get("seeds", self.seeds))
        quick = settings["description"]
        return replace(self, axes=axes, overrides=overrides, seeds=seeds, quick=quick)

    def load_analysis(self) -> ModuleType:
        """Import the study's ``analysis.py``."""
        path = self.folder / "analysis.py"
        specification = importlib.util.spec_from_file_location(
            f"headend_study_{self.name.replace('/', '_').replace('-', '_')}", path
        )
        if specification is None or specification.loader is None or not path.is_file():
            raise InputError(f"{path}: no such file; a study needs one")
        module = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(module)
        return module

    def _combine(self) -> Iterator[Point]:
        if self.scenario is None:
            return
        for values in itertools.product(*(axis.values for axis in self.axes)):
            pairs = [
                pair
                for axis, value in zip(self.axes, values, strict=True)
                for pair in axis.write(value)
            ]
            place = {axis.name: value for axis, value in zip(self.axes, values, strict=True)}
            for seed in self.seeds:
                yield Point(place, (*self.overrides, *pairs), seed)


def read_study(name: str, folder: Path) -> Study:
    """Read a study's folder.

    Parameters
    ----------
    name
        What the study is called.
    folder
        Where its ``study.toml`` is.
    """
    path = folder / "study.toml"
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{path}: {error}") from error
    for key in content:
        if key not in _KEYS:
            raise InputError(f'{path}: unknown key "{key}"{suggest(key, _KEYS)}')
    runs = any(key in content for key in _NEEDED_TO_RUN)
    for key in (*_NEEDED, *(_NEEDED_TO_RUN if runs else ())):
        if key not in content:
            raise InputError(f'{path}: missing key "{key}"')
    try:
        return Study(
            name=name,
            folder=folder,
            title=content["title"],
            source=content["source"],
            question=_join(content.get("question", "")),
            description=_join(content.get("description", "")),
            scenario=folder / content["scenario"] if runs else None,
            seeds=tuple(content.get("seeds", [1])),
            axes=tuple(
                Axis(key, tuple(axis["values"]), dict(axis["set"]))
                for key, axis in content.get("grid", {}).items()
            ),
            measures=dict(content.get("measures", {})),
            claims=tuple(Claim.read(item) for item in content["claim"]),
            figures=tuple(
                FigureDefinition(
                    item["name"], item["title"], _join(item["explanation"]), item["draw"]
                )
                for item in content.get("figure", [])
            ),
            distributions=dict(content.get("distributions", {})),
            series=dict(content.get("series", {})),
            quick_settings=content.get("quick", {}),
        )
    except (KeyError, TypeError) as error:
        raise InputError(f"{path}: missing or misplaced {error}") from error


def _join(text: str) -> str:
    return " ".join(text.split())
