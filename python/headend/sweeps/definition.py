"""Reading a sweep's file: its scenario, grid, seeds, and what is measured."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from headend.analysis.criteria import Criteria, read_criteria
from headend.design.conflicts import check_paths
from headend.design.design import Design
from headend.design.factor import Factor
from headend.design.place import add_line, read_toml
from headend.design.reading import read_factor, refuse_unknown, show_value
from headend.design.seeds import choose_seeds
from headend.errors import InputError, suggest
from headend.scenario.file_access import FileAccess
from headend.scenario.library import find_sweep
from headend.scenario.modems import find_named
from headend.scenario.shipped import list_scenarios
from headend.scenario.source import Source, write_overrides

_KEYS = {
    "format", "title", "description", "scenario", "seeds", "set", "grid", "zip", "measures",
    "compare", "wish",
}  # fmt: skip

#: What results have for every point; an axis has another name.
COLUMNS = ("setting", "seed", "measure", "subject", "direction", "metric", "value", "unit", "error")


@dataclass(frozen=True)
class Sweep:
    """A scenario over a grid and several seeds.

    Parameters
    ----------
    name
        What its results are called.
    design
        What is varied, and with which seeds.
    measures
        Quantities to keep, by name; without any, every figure of every flow and queue is kept.
    compare
        The axis along which differences are taken, against its first value.
    file
        Where it was read from.
    allowed
        Files and folders from which traces and captures may be read besides.
    wish
        What must hold of a setting, and what there should be most or least of.
    """

    name: str
    design: Design
    measures: Mapping[str, str] = field(default_factory=dict)
    compare: str = ""
    title: str = ""
    description: str = ""
    file: Path | None = None
    allowed: tuple[Path, ...] = ()
    criteria: Criteria = field(default_factory=Criteria)

    @property
    def named(self) -> dict[str, str]:
        """The quantities measured by name: those of its measures, then those of its wish."""
        return {**self.measures, **self.criteria.list_paths(self.measures)}

    @property
    def access(self) -> FileAccess:
        """From where its points read files: its own file's folder; additions, the current one."""
        folder = self.file.parent if self.file else Path()
        return FileAccess(
            scenario=folder,
            writer=folder,
            typed=frozenset(f"{path}={value}" for path, value in self.design.added),
            allowed=self.allowed,
            named=find_named(self.design.added),
            person_writes=self.file is None,
        )

    @property
    def compared(self) -> Factor | None:
        """The axis along which differences are taken: a named one, or the first not of numbers."""
        if self.compare:
            return next(axis for axis in self.design.factors if axis.name == self.compare)
        return next((axis for axis in self.design.factors if axis.scale is None), None)


def read_sweep(path: str | Path) -> Sweep:
    """Read a sweep's file.

    Parameters
    ----------
    path
        A TOML file, or the name of a shipped sweep; a scenario that it names by a relative path
        lies beside it, or ships with headend.

    Raises
    ------
    InputError
        With the path and the key, in one line.
    """
    path = find_sweep(path)
    content = read_toml(path, "sweep", _explain)
    if "link" in content or "flow" in content:
        raise InputError(
            f"{path}: this is a scenario; a sweep's file names one (scenario = …) and a [grid]"
        )
    try:
        return replace(make_sweep(content, path.stem, path.parent), file=path)
    except InputError as error:
        raise InputError(f"{path}: {add_line(str(error), path)}") from error


def _explain(error: tomllib.TOMLDecodeError) -> str:
    """Say what to write where one path lies below another, unlike TOML's own error."""
    if not str(error).startswith(("Cannot mutate immutable", "Cannot overwrite")):
        return ""
    return (
        "; one path is below another: in [set], quote the longer one; in [grid],"
        ' write tables among the values, such as queue = ["drop_tail", { codel = { target = "10 ms"'
        " } }]"
    )


def make_sweep(content: Mapping[str, Any], name: str, folder: Path | None = None) -> Sweep:
    """Understand what a sweep's file says.

    Parameters
    ----------
    content
        Its keys.
    name
        What to call the results.
    folder
        Where relative paths of scenarios begin; without one, where the program runs.
    """
    refuse_unknown(content, _KEYS)
    if content.get("format", 1) != 1:
        raise InputError(f"format: expected 1, found {show_value(content['format'])}")
    grid = _expect_table(content, "grid")
    zipped = content.get("zip", [])
    if not isinstance(zipped, list) or not all(isinstance(item, Mapping) for item in zipped):
        raise InputError("zip: expected tables [[zip]] of axes that change together")
    dimensions: list[tuple[Factor, ...]] = [
        (read_factor(f"grid.{path}", path, values),) for path, values in grid.items()
    ]
    for number, table in enumerate(zipped, start=1):
        dimensions.append(_read_zip(f"zip {number}", _flatten(table, f"zip {number}: ")))
    chosen = content.get("scenario")
    if isinstance(chosen, list):
        dimensions.insert(0, (read_factor("scenario", "scenario", chosen),))
        chosen = None
    if not dimensions:
        raise InputError(
            'missing [grid]: what to vary, such as queue = ["drop_tail", "docsis_pie"]'
        )
    measures = _read_measures(content)
    sweep = Sweep(
        name=name,
        design=Design(
            tuple(_place_scenarios(dimension, folder) for dimension in dimensions),
            choose_seeds(content.get("seeds", 1)),
            None if chosen is None else _find_scenario(chosen, folder),
            tuple(write_overrides(_expect_table(content, "set"))),
        ),
        measures=measures,
        criteria=read_criteria(_expect_table(content, "wish"), measures),
        compare=_expect_text(content, "compare"),
        title=_expect_text(content, "title"),
        description=" ".join(_expect_text(content, "description").split()),
    )
    _check(sweep)
    return sweep


def _read_zip(where: str, table: Mapping[str, Any]) -> tuple[Factor, ...]:
    axes = tuple(read_factor(f"{where}: {path}", path, values) for path, values in table.items())
    if len({len(axis.values) for axis in axes}) > 1:
        sizes = ", ".join(f"{axis.path} has {len(axis.values)}" for axis in axes)
        raise InputError(f"{where}: axes that change together need equally many values: {sizes}")
    if not axes:
        raise InputError(f"{where}: expected axes, found none")
    return axes


def _find_scenario(source: Any, folder: Path | None) -> Source:
    """Give a scenario that ships, or one beside the sweep's file."""
    if isinstance(source, Mapping):
        return source
    if not isinstance(source, str):
        raise InputError(
            f"scenario: expected the name or path of a scenario, found {show_value(source)}"
        )
    beside = (folder or Path()) / source
    if source in list_scenarios() and not beside.is_file():
        return source
    return str(beside) if beside.exists() or "/" in source or source.endswith(".toml") else source


def _place_scenarios(dimension: tuple[Factor, ...], folder: Path | None) -> tuple[Factor, ...]:
    return tuple(
        replace(axis, values=tuple(_find_scenario(value, folder) for value in axis.values))
        if axis.chooses_scenario
        else axis
        for axis in dimension
    )


def _check(sweep: Sweep) -> None:
    """Refuse what would be called one thing and run as another, and what would never end."""
    design = sweep.design
    axes = design.factors
    if design.scenario is None and not any(axis.chooses_scenario for axis in axes):
        raise InputError('missing key "scenario": the name of a shipped scenario, or a path')
    check_paths([axis.path for axis in axes], design.overrides, design.added)
    names = design.names
    for name in names:
        if names.count(name) > 1:
            raise InputError(f'two axes are called "{name}"')
        if name in COLUMNS:
            raise InputError(f'an axis cannot be called "{name}": results have such a column')
        if name in sweep.measures:
            raise InputError(f"measures.{name}: an axis has the same name; choose another one")
    if sweep.compare and sweep.compare not in names:
        raise InputError(
            f'compare: no axis is called "{sweep.compare}"{suggest(sweep.compare, names)}'
        )
    design.check_size()


def _read_measures(content: Mapping[str, Any]) -> dict[str, str]:
    measures = _expect_table(content, "measures")
    for name, text in measures.items():
        if not isinstance(text, str):
            raise InputError(
                f'measures.{name}: expected a quantity such as "call.mos.mean", found'
                f" {show_value(text)}"
            )
    return dict(measures)


def _expect_table(content: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    table = content.get(key, {})
    if not isinstance(table, Mapping):
        raise InputError(f"{key}: expected a table [{key}], found {show_value(table)}")
    return _flatten(table, f"{key}.") if key not in ("measures", "wish") else table


def _flatten(table: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Give paths for tables in tables: ``flow.call.rtt = …`` may be written without quotes."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        found = {key: value}
        if isinstance(value, Mapping) and value and not _is_axis(value):
            inner = _flatten(value, f"{where}{key}.")
            found = {f"{key}.{path}": item for path, item in inner.items()}
        if twice := next((path for path in found if path in flat), None):
            raise InputError(f"{where}{twice}: written twice, once with quotes and once without")
        flat |= found
    return flat


def _is_axis(table: Mapping[str, Any]) -> bool:
    """Say whether a table says what an axis takes, not what is below a path, by its keys."""
    written = any(isinstance(table.get(key), str) for key in ("name", "scale"))
    return written or not table.keys().isdisjoint({"values", "from", "to", "labels"})


def _expect_text(content: Mapping[str, Any], key: str) -> str:
    text = content.get(key, "")
    if not isinstance(text, str):
        raise InputError(f"{key}: expected text, found {show_value(text)}")
    return text
