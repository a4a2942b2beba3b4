"""Reading ``study.toml``: what a study varies, measures, draws and claims."""

from __future__ import annotations

import itertools
import math
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from headend.design.conflicts import BY_AXIS
from headend.design.design import MOST_POINTS
from headend.design.place import add_line, find_second
from headend.errors import InputError, suggest
from headend.files import parse_toml
from headend.scenario.conflicts import check_shared
from headend.scenario.reach import Reach
from headend.scenario.shipped import list_scenarios
from headend.scenario.source import read_text
from headend.study.analysis import ANALYSIS, find_function, import_analysis
from headend.study.claims import Claim, check_keys, check_texts
from headend.study.readings import Reading, choose_readings
from headend.study.texts import TextsError
from headend.text.wording import write_count

_KEYS = {
    "format", "title", "source", "readings", "question", "description", "scenario",
    "set", "seeds", "grid", "measures", "distributions", "series", "claim", "figure", "quick",
}  # fmt: skip
_NEEDED = ("title", "source", "claim")
#: What a study of runs needs besides; one that only calculates has none of them.
_NEEDED_TO_RUN = ("scenario", "grid", "measures")

Value = int | float | str

#: A text in which ``{}`` stands for a value, or a table from each value to its text.
Text = str | dict[str, str]


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
        Scenario paths and what to write there: a text in which ``{}`` stands for the value, or a
        table from the value to its text. Several paths vary together.
    scenario
        Which scenario each value runs, in the same way; None where the axis leaves that alone.
    each
        What single values write besides: paths and texts by value. Others write nothing more.
    """

    name: str
    values: tuple[Value, ...]
    set: dict[str, Text]
    scenario: Text | None = None
    each: dict[str, dict[str, str]] = field(default_factory=dict)

    @classmethod
    def read(cls, name: str, content: dict[str, Any]) -> Axis:
        """Take an axis from its table in ``study.toml``; ``set`` is optional with other values."""
        scenario, each = content.get("scenario"), content.get("each", {})
        written = content.get("set", {}) if scenario or each else content["set"]
        values = tuple(content["values"])
        for key in each:
            if key not in map(str, values):
                raise InputError(
                    f'grid.{name}.each: "{key}" is none of its'
                    f" values{suggest(key, list(map(str, values)))}"
                )
        return cls(name, values, dict(written), scenario, dict(each))

    def write(self, value: Value) -> list[tuple[str, str]]:
        """Give the overrides that put a value in place."""
        pairs = [(path, _fill(text, value)) for path, text in self.set.items()]
        return pairs + [(path, str(text)) for path, text in self.each.get(str(value), {}).items()]

    def name_scenario(self, value: Value) -> str:
        """Name the scenario that a value runs, or nothing."""
        return "" if self.scenario is None else _fill(self.scenario, value)


@dataclass(frozen=True)
class FigureDefinition:
    """A figure of a study: the function that draws it, its words, and what it shows anew."""

    name: str
    title: str
    explanation: str
    draw: str
    shows: tuple[str, ...] = ()

    @classmethod
    def read(cls, item: dict[str, Any]) -> FigureDefinition:
        """Take a figure from its table in ``study.toml``."""
        texts = ("name", "title", "explanation", "draw")
        where = f"figure {item['name']}"
        check_keys(item, (*texts, "shows"), where)
        check_texts(item, texts, where)
        shows = item.get("shows", [])
        if not isinstance(shows, list) or not all(isinstance(one, str) for one in shows):
            raise InputError(
                f'{where}: shows: expected a list such as ["Figure 3"], found {shows!r}'
            )
        explanation = _join(item["explanation"])
        return cls(item["name"], item["title"], explanation, item["draw"], tuple(shows))


@dataclass(frozen=True)
class Point:
    """One run of a study: its place in the grid, its scenario and its seed."""

    values: dict[str, Value]
    overrides: tuple[tuple[str, str], ...]
    seed: int
    scenario: Path

    @property
    def columns(self) -> dict[str, Value]:
        """Its place as columns of a row."""
        return {**self.values, "seed": self.seed}


@dataclass(frozen=True)
class Study:
    """A study as its file states it.

    A study without a scenario only calculates: it has no points.
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
    #: What it runs where its document leaves that open.
    readings: tuple[Reading, ...] = ()
    #: Files and folders from which may be read besides the study's own folder.
    allowed: tuple[Path, ...] = ()
    quick_settings: dict[str, Any] = field(default_factory=dict, repr=False)
    #: Of a study's quick form, the study itself.
    whole: Study | None = field(default=None, repr=False)

    @property
    def reach(self) -> Reach:
        """From where its points read files: all that it names and sets is of its own folder."""
        return Reach(self.folder, self.folder, allowed=self.allowed)

    def list_points(self) -> list[Point]:
        """List all combinations of all axes and seeds.

        Raises
        ------
        InputError
            For more than a sweep may have, before any of them is made.
        """
        sizes = [len(axis.values) for axis in self.axes]
        total = math.prod(sizes) * len(self.seeds)
        if total > MOST_POINTS:
            product = " × ".join(map(str, sizes))
            raise InputError(
                f"{self.name}: {product} settings × {len(self.seeds)} seeds are {total:,} points,"
                f" more than {MOST_POINTS:,}"
            )
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
            replace(axis, values=tuple(kept.get(axis.name, axis.values))) for axis in self.axes
        )
        overrides = (*self.overrides, *_read_overrides(settings))
        seeds = tuple(settings.get("seeds", self.seeds))
        quick = settings["description"]
        return replace(self, axes=axes, overrides=overrides, seeds=seeds, quick=quick, whole=self)

    def tell_quick(self) -> str:
        """Say of a quick run how little was run: of seeds or else of settings."""
        whole = self.whole or self
        parts = (
            (len(self.seeds), len(whole.seeds), "seed"),
            (self._count_settings(), whole._count_settings(), "setting"),
        )
        few = next((part for part in parts if part[0] < part[1]), None)
        told = f"{few[0]} of {write_count(few[1], few[2])}" if few else "shorter runs"
        return f"This is a quick run: {told}, no verdict."

    def _count_settings(self) -> int:
        return math.prod(len(axis.values) for axis in self.axes)

    def load_analysis(self) -> ModuleType:
        """Import the study's ``analysis.py``, which has all functions that the study names."""
        analysis = import_analysis(self.name, self.folder / ANALYSIS)
        for claim in self.claims:
            find_function(analysis, claim.check, f"claim {claim.id}")
        for figure in self.figures:
            find_function(analysis, figure.draw, f"figure {figure.name}")
        return analysis

    def check_paths(self, queue_path: str = "") -> None:
        """Refuse what is set for all points without effect, since an axis sets it at each.

        Parameters
        ----------
        queue_path
            What ``queue`` stands for in a scenario; nothing where that is not known yet.

        Raises
        ------
        InputError
            With the file and the line.
        """
        axes = [(axis.name, path) for axis in self.axes for path in axis.set]
        file = self.folder / "study.toml"
        try:
            quick = _read_overrides(self.quick_settings)
            check_shared(axes, self.overrides, queue_path, "set.{}", BY_AXIS)
            check_shared(axes, quick, queue_path, "quick.set.{}", BY_AXIS)
        except InputError as error:
            raise InputError(f"{file}: {add_line(str(error), file)}") from error

    def _combine(self) -> Iterator[Point]:
        if self.scenario is None:
            return
        for values in itertools.product(*(axis.values for axis in self.axes)):
            chosen = list(zip(self.axes, values, strict=True))
            pairs = [pair for axis, value in chosen for pair in axis.write(value)]
            names = [name for axis, value in chosen if (name := axis.name_scenario(value))]
            scenario = _find_scenario(self.reach, names[-1]) if names else self.scenario
            place = {axis.name: value for axis, value in chosen}
            for seed in self.seeds:
                yield Point(place, (*self.overrides, *pairs), seed, scenario)


def read_study(name: str, folder: Path, allowed: tuple[Path, ...] = ()) -> Study:
    """Read a study's folder.

    Parameters
    ----------
    name
        What the study is called.
    folder
        Where its ``study.toml`` is.
    allowed
        Files and folders from which may be read besides.
    """
    path = folder / "study.toml"
    text = read_text(path, "study")
    try:
        content = parse_toml(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: not valid TOML: {find_second(text, error) or error}") from error
    for key in content:
        if key not in _KEYS:
            raise InputError(f'{path}: unknown key "{key}"{suggest(key, _KEYS)}')
    try:
        axes = tuple(Axis.read(name, axis) for name, axis in content.get("grid", {}).items())
        chosen = next((axis.name_scenario(axis.values[0]) for axis in axes if axis.scenario), None)
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise InputError(f"{path}: missing or misplaced {error}") from error
    if chosen is not None:
        content.setdefault("scenario", chosen)
    runs = any(key in content for key in _NEEDED_TO_RUN)
    for key in (*_NEEDED, *(_NEEDED_TO_RUN if runs else ())):
        if key not in content:
            raise InputError(f'{path}: missing key "{key}"')
    try:
        study = Study(
            name=name,
            folder=folder,
            title=content["title"],
            source=content["source"],
            question=_join(content.get("question", "")),
            description=_join(content.get("description", "")),
            scenario=_find_scenario(Reach(folder, allowed=allowed), content["scenario"])
            if runs
            else None,
            overrides=_read_overrides(content),
            seeds=tuple(content.get("seeds", [1])),
            axes=axes,
            measures=dict(content.get("measures", {})),
            claims=_read_claims(content["claim"]),
            figures=tuple(FigureDefinition.read(item) for item in content.get("figure", [])),
            distributions=dict(content.get("distributions", {})),
            series=dict(content.get("series", {})),
            quick_settings=content.get("quick", {}),
            readings=choose_readings(content.get("readings", []), folder),
            allowed=allowed,
        )
    except (KeyError, TypeError) as error:
        raise InputError(f"{path}: missing or misplaced {error}") from error
    except TextsError:
        raise
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    study.check_paths()
    return study


def _read_claims(items: list[dict[str, Any]]) -> tuple[Claim, ...]:
    claims = tuple(Claim.read(item) for item in items)
    for name, count in Counter(claim.id for claim in claims).items():
        if count > 1:
            raise InputError(f"claim {name}: {count} claims have this id; expected one")
    return claims


def _read_overrides(content: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((path, str(text)) for path, text in content.get("set", {}).items())


def _fill(text: Text, value: Value) -> str:
    """Put a value into its text, or look its text up."""
    return text[str(value)] if isinstance(text, dict) else text.replace("{}", str(value))


def _find_scenario(reach: Reach, name: str) -> Path:
    """Find a file of the study's folder, or else a scenario that ships by this name."""
    path = reach.scenario / name
    if not path.is_file():
        return list_scenarios().get(name, path)
    try:
        return reach.locate(name)
    except InputError as error:
        raise InputError(f'scenario: "{name}" cannot be read: {error}') from error


def _join(text: str) -> str:
    return " ".join(text.split())
