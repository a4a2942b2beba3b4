"""Reading ``study.toml``: what a study varies, measures, draws and claims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from headend.design.conflicts import BY_AXIS
from headend.design.design import Design, Point
from headend.design.factor import Factor, Role, Value
from headend.design.place import add_line, read_toml
from headend.design.reading import refuse_unknown
from headend.errors import InputError, suggest
from headend.evaluation.request import SEEDS, Request
from headend.scenario.conflicts import check_shared
from headend.scenario.file_access import FileAccess
from headend.scenario.shipped import list_scenarios
from headend.scenario.source import Overrides, write_value
from headend.study.analysis import ANALYSIS, find_function, import_analysis
from headend.study.claims import Claim, check_table
from headend.study.documents import DocumentError, Reading, choose_readings
from headend.study.evaluated import read_request
from headend.text.wording import write_count

_KEYS = {
    "format", "title", "source", "readings", "question", "description", "scenario",
    "set", "seeds", "grid", "measures", "distributions", "series", "claim", "figure", "quick",
    "evaluation",
}  # fmt: skip
_NEEDED = ("title", "source", "claim")
#: What a study of runs needs besides; one that only calculates has none of them.
_NEEDED_TO_RUN = ("scenario", "grid", "measures")
#: Keys that a study with an evaluation must not have: its cases say what is run and kept.
_NOT_OF_EVALUATIONS = (*_NEEDED_TO_RUN, "set", "distributions", "series")


@dataclass(frozen=True)
class FigureDefinition:
    """A figure of a study: the function that draws it, its words, and what it shows anew."""

    name: str
    title: str
    explanation: str
    draw: str
    shows: tuple[str, ...] = ()
    #: Runs that a browser takes seconds for: one for all that it shows, or one for each.
    runs: tuple[Mapping[str, Any], ...] = ()

    @classmethod
    def read(cls, item: dict[str, Any]) -> FigureDefinition:
        """Take a figure from its table in ``study.toml``."""
        texts = ("name", "title", "explanation", "draw")
        where = f"figure {item['name']}"
        check_table(item, texts, ("shows", "run"), where)
        shows = item.get("shows", [])
        if not isinstance(shows, list) or not all(isinstance(one, str) for one in shows):
            raise InputError(
                f'{where}: shows: expected a list such as ["Figure 3"], found {shows!r}'
            )
        runs = item.get("run", [])
        runs = [runs] if isinstance(runs, dict) else runs
        is_list = isinstance(runs, list) and all(isinstance(one, dict) for one in runs)
        if not is_list or len(runs) not in (0, 1, len(shows)):
            raise InputError(
                f"{where}: run: expected a table of axes and values, or a list of one for each that"
                f" it shows, found {item['run']!r}"
            )
        explanation = _join(item["explanation"])
        return cls(
            item["name"], item["title"], explanation, item["draw"], tuple(shows), tuple(runs)
        )


@dataclass(frozen=True)
class Study:
    """A study as its file states it.

    A study without a scenario has an evaluation, whose cases are its points, or only calculates and
    has none.
    """

    name: str
    folder: Path
    title: str
    source: str
    question: str
    description: str
    design: Design
    measures: dict[str, str]
    claims: tuple[Claim, ...]
    figures: tuple[FigureDefinition, ...]
    distributions: dict[str, str] = field(default_factory=dict)
    series: dict[str, str] = field(default_factory=dict)
    #: What is evaluated, in place of a scenario.
    request: Request | None = None
    quick: str = ""
    #: What it runs where its document leaves that open.
    readings: tuple[Reading, ...] = ()
    #: Files and folders from which may be read besides the study's own folder.
    allowed: tuple[Path, ...] = ()
    #: What its file holds.
    content: Mapping[str, Any] = field(default_factory=dict, repr=False)
    #: Of a study's quick form, the study itself.
    whole: Study | None = field(default=None, repr=False)

    @property
    def access(self) -> FileAccess:
        """From where its points read files: all that it names and sets is of its own folder."""
        return FileAccess(self.folder, self.folder, allowed=self.allowed)

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of every setting."""
        return self.design.seeds

    @property
    def has_runs(self) -> bool:
        """Whether it has points, and does not only calculate."""
        return self.design.scenario is not None or self.request is not None

    def with_seeds(self, seeds: tuple[int, ...]) -> Study:
        """Give it with other seeds."""
        if self.request is not None:
            return self._with_request(replace(self.request, seeds=seeds))
        return replace(self, design=replace(self.design, seeds=seeds))

    def _with_request(self, request: Request) -> Study:
        """Give it with another evaluation."""
        return replace(self, request=request, design=request.make_design())

    def list_points(self) -> list[Point]:
        """List all settings with all seeds.

        Raises
        ------
        InputError
            For more than an experiment may have, before any of them is made.
        """
        if not self.has_runs:
            return []
        try:
            return self.design.list_points()
        except InputError as error:
            raise InputError(f"{self.name}: {error}") from error

    def list_places(self) -> list[dict[str, Any]]:
        """Give the columns that name each point: its value on every axis, and its seed."""
        return [
            {**dict(zip(self.design.names, point.factor_labels, strict=True)), "seed": point.seed}
            for point in self.list_points()
        ]

    def make_quick(self) -> Study:
        """Give the study with fewer points and shorter runs, and the words that say so."""
        if not self.has_runs:
            return self
        quick = self.content.get("quick", {})
        if not quick:
            raise InputError(f"{self.name}: this study has no quick form")
        if self.request is not None:
            asked = {**self.content["evaluation"], **quick.get("evaluation", {})}
            request = read_request(asked, quick.get("seeds", self.seeds))
            return replace(self._with_request(request), quick=quick["description"], whole=self)
        grid = self.content["grid"]
        factors = [
            _read_axis(name, grid[name], self.access, quick.get("grid", {})) for name in grid
        ]
        design = replace(
            self.design,
            dimensions=tuple((factor,) for factor in factors),
            seeds=tuple(quick.get("seeds", self.seeds)),
            overrides=(*self.design.overrides, *_read_overrides(quick)),
        )
        return replace(self, design=design, quick=quick["description"], whole=self)

    def describe_quick(self) -> str:
        """Say of a quick run how little was run: of seeds or else of settings."""
        own, whole = self.design, (self.whole or self).design
        parts = (
            (len(own.seeds), len(whole.seeds), "seed"),
            (len(own.list_settings()), len(whole.list_settings()), "setting"),
        )
        few = next((part for part in parts if part[0] < part[1]), None)
        text = f"{few[0]} of {write_count(few[1], few[2])}" if few else "shorter runs"
        return f"This is a quick run: {text}, no verdict."

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
        grid = self.content.get("grid", {})
        axes = [(name, path) for name, axis in grid.items() for path in axis.get("set", {})]
        file = self.folder / "study.toml"
        try:
            quick = _read_overrides(self.content.get("quick", {}))
            check_shared(axes, self.design.overrides, queue_path, "set.{}", BY_AXIS)
            check_shared(axes, quick, queue_path, "quick.set.{}", BY_AXIS)
        except InputError as error:
            raise InputError(f"{file}: {add_line(str(error), file)}") from error


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
    content = read_toml(path, "study")
    refuse_unknown(content, _KEYS, f"{path}: ")
    runs = any(key in content for key in _NEEDED_TO_RUN)
    try:
        request = _read_evaluation(content)
        design = (
            request.make_design()
            if request
            else _read_design(content, FileAccess(folder, allowed=allowed))
        )
        for key in (*_NEEDED, *(_NEEDED_TO_RUN if runs else ())):
            if key not in content and not (key == "scenario" and design.scenario):
                raise InputError(f'missing key "{key}"')
        _check_columns(content)
        study = Study(
            name=name,
            folder=folder,
            title=content["title"],
            source=content["source"],
            question=_join(content.get("question", "")),
            description=_join(content.get("description", "")),
            design=design,
            measures=dict(content.get("measures", {})),
            claims=_read_claims(content["claim"]),
            figures=tuple(FigureDefinition.read(item) for item in content.get("figure", [])),
            distributions=dict(content.get("distributions", {})),
            series=dict(content.get("series", {})),
            request=request,
            readings=choose_readings(content.get("readings", []), folder),
            allowed=allowed,
            content=content,
        )
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise InputError(f"{path}: missing or misplaced {error}") from error
    except DocumentError:
        raise
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    study.check_paths()
    return study


def _check_columns(content: Mapping[str, Any]) -> None:
    """Refuse a name that two columns of the points would have."""
    taken = {"seed": "the seed"} | {name: f"[grid.{name}]" for name in content.get("grid", {})}
    for table in ("measures", "distributions", "series"):
        for name in content.get(table, {}):
            if name in taken:
                raise InputError(
                    f"{table}.{name}: expected a name of its own among the columns of the points,"
                    f" found that of {taken[name]}"
                )
            taken[name] = f"{table}.{name}"


def _read_evaluation(content: Mapping[str, Any]) -> Request | None:
    """Read what is evaluated; None of a study that has no evaluation."""
    if "evaluation" not in content:
        return None
    for key in _NOT_OF_EVALUATIONS:
        if key in content:
            problem = "a study with [evaluation] has none: what is run is what the RFC says"
            raise InputError(f"{key}: {problem}")
    for key in ("set", "grid"):
        if key in content.get("quick", {}):
            problem = "a study with [evaluation] has none; evaluation = { … } has what changes"
            raise InputError(f"quick.{key}: {problem}")
    return read_request(content["evaluation"], content.get("seeds", SEEDS))


def _read_design(content: Mapping[str, Any], access: FileAccess) -> Design:
    """Read what is varied; the scenario may be chosen by an axis."""
    factors = [_read_axis(name, axis, access) for name, axis in content.get("grid", {}).items()]
    chosen = [factor.scenarios[0] for factor in factors if factor.scenarios]
    scenario = next(iter(chosen), None)
    if "scenario" in content:
        scenario = _find_scenario(access, content["scenario"])
    return Design(
        tuple((factor,) for factor in factors),
        tuple(content.get("seeds", [1])),
        scenario,
        _read_overrides(content),
    )


def _read_axis(
    name: str, axis: Mapping[str, Any], access: FileAccess, kept: Mapping[str, Any] | None = None
) -> Factor:
    """Read an axis of ``study.toml``.

    Parameters
    ----------
    name
        Its column among the points.
    axis
        Its ``values``; ``set``, scenario paths and what to write there: a text in which ``{}``
        stands for the value, or a table from the value to its text; ``scenario``, which scenario
        each value runs, in the same way; and ``each``, what single values write besides. The first
        may be left out where one of the others is there.
    access
        From where scenarios are read.
    kept
        Values that are taken instead, by the name of their axis.
    """
    scenario, each = axis.get("scenario"), axis.get("each", {})
    written = axis.get("set", {}) if scenario or each else axis["set"]
    names = [str(value) for value in axis["values"]]
    for key in each:
        if key not in names:
            raise InputError(
                f'grid.{name}.each: "{key}" is none of its values{suggest(key, names)}'
            )
    values = tuple((kept or {}).get(name, axis["values"]))

    def fill(text: Any, value: Value) -> str:
        if isinstance(text, Mapping):
            text = text[str(value)]
        elif isinstance(text, str):
            text = text.replace("{}", str(value))
        return text if isinstance(text, str) else write_value(text, f"grid.{name}.set")

    writes = tuple(
        (
            *((path, fill(text, value)) for path, text in written.items()),
            *((path, str(text)) for path, text in each.get(str(value), {}).items()),
        )
        for value in values
    )
    names = [] if scenario is None else [fill(scenario, value) for value in values]
    scenarios = tuple(_find_scenario(access, own) for own in names)
    path = next(iter(written)) if len(written) == 1 and not each else ""
    role: Role | None = "scenario" if scenarios and not written else None
    return Factor(path, name, values, values, role, writes=writes, scenarios=scenarios)


def _read_claims(items: list[dict[str, Any]]) -> tuple[Claim, ...]:
    claims = tuple(Claim.read(item) for item in items)
    for name, count in Counter(claim.id for claim in claims).items():
        if count > 1:
            raise InputError(f"claim {name}: {count} claims have this id; expected one")
    return claims


def _read_overrides(content: Mapping[str, Any]) -> Overrides:
    return tuple((path, str(text)) for path, text in content.get("set", {}).items())


def _find_scenario(access: FileAccess, name: str) -> Path:
    """Find a file of the study's folder, or else a scenario that ships by this name."""
    path = access.scenario / name
    if not path.is_file():
        return list_scenarios().get(name, path)
    try:
        return access.locate(name)
    except InputError as error:
        raise InputError(f'scenario: "{name}" cannot be read: {error}') from error


def _join(text: str) -> str:
    return " ".join(text.split())
