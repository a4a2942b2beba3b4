"""Reading a sweep's file: its scenario, grid, seeds, and what is measured."""

from __future__ import annotations

import itertools
import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from headend.errors import InputError, suggest
from headend.files import parse_toml
from headend.running.experiment import choose_seeds
from headend.scenario.library import find_sweep
from headend.scenario.modems import find_named
from headend.scenario.reach import Reach
from headend.scenario.shipped import list_scenarios
from headend.scenario.source import Overrides, Source, read_text, write_overrides, write_value
from headend.sweeps.conflicts import check_paths
from headend.sweeps.place import add_line, find_second
from headend.sweeps.wish import Wish, read_wish
from headend.text.quantity import UNITS, Kind, parse_quantity, shorten_value

_KEYS = {
    "format", "title", "description", "scenario", "seeds", "set", "grid", "zip", "measures",
    "compare", "wish",
}  # fmt: skip
_AXIS_KEYS = {"name", "values", "labels", "from", "to", "step", "count", "scale"}

#: What results have for every point; an axis has another name.
COLUMNS = ("setting", "seed", "measure", "subject", "direction", "metric", "value", "unit", "error")

#: The largest sweep.
MOST_POINTS = 100_000

#: Words of paths that are written in capitals.
_ACRONYMS = {"rtt": "RTT", "mtu": "MTU", "ecn": "ECN", "mss": "MSS"}

Value = int | float | str | bool

_NUMBER = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*(\S.*)?")


@dataclass(frozen=True)
class Axis:
    """One thing that is varied.

    Parameters
    ----------
    path
        Of the scenario; ``scenario`` for the scenario itself.
    name
        What its column is called; by default the path.
    values
        The values, as they are written.
    labels
        What the column holds for each.
    spaced
        Whether the values are so many (``count``) between two ends, maybe written by nobody.
    """

    path: str
    name: str
    values: tuple[Any, ...]
    labels: tuple[Value, ...]
    spaced: bool = False

    @property
    def chooses_scenario(self) -> bool:
        """Whether its values are scenarios."""
        return self.path == "scenario"

    @property
    def words(self) -> str:
        """What it is called in texts: its name, or a path's last words, such as "upstream rate"."""
        if self.name != self.path:
            return self.name
        parts = [part.replace("_", " ") for part in self.path.split(".")]
        return " ".join(_ACRONYMS.get(part, part) for part in parts[-2:])

    @property
    def scale(self) -> tuple[list[float], str] | None:
        """Its labels as numbers, and their unit; None where they are names."""
        if all(isinstance(label, int | float) for label in self.labels):
            return [float(label) for label in self.labels], ""
        kinds: tuple[Kind, ...] = ("time", "rate", "size")
        for kind in kinds:
            try:
                values = [parse_quantity(str(label), kind).value for label in self.labels]
            except ValueError:
                continue
            match = _NUMBER.fullmatch(str(self.labels[0]))
            unit = (match and match[2]) or ""
            return [value / UNITS[kind][unit] for value in values], unit
        return None


@dataclass(frozen=True)
class Point:
    """One run of a sweep: its place in the grid, and what it takes to run it."""

    setting: int
    place: tuple[Value, ...]
    scenario: Source
    overrides: Overrides
    seed: int


@dataclass(frozen=True)
class Sweep:
    """A scenario over a grid and several seeds.

    Parameters
    ----------
    name
        What its results are called.
    scenario
        What is varied.
    dimensions
        Axes; those of one dimension change together, and dimensions are combined with each other.
    seeds
        Which.
    overrides
        What all points share by the sweep's file.
    added
        What they share besides, from outside of it.
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
    scenario: Source | None
    dimensions: tuple[tuple[Axis, ...], ...]
    seeds: tuple[int, ...] = (1,)
    overrides: Overrides = ()
    measures: Mapping[str, str] = field(default_factory=dict)
    compare: str = ""
    title: str = ""
    description: str = ""
    added: Overrides = ()
    file: Path | None = None
    allowed: tuple[Path, ...] = ()
    wish: Wish = field(default_factory=Wish)

    @property
    def named(self) -> dict[str, str]:
        """The quantities measured by name: those of its measures, then those of its wish."""
        return {**self.measures, **self.wish.list_paths(self.measures)}

    @property
    def reach(self) -> Reach:
        """From where its points read files: its own file's folder; additions, the current one."""
        folder = self.file.parent if self.file else Path()
        return Reach(
            scenario=folder,
            writer=folder,
            typed=frozenset(f"{path}={value}" for path, value in self.added),
            allowed=self.allowed,
            named=find_named(self.added),
        )

    @property
    def axes(self) -> list[Axis]:
        """All axes, in the order of the columns."""
        return [axis for dimension in self.dimensions for axis in dimension]

    @property
    def compared(self) -> Axis | None:
        """The axis along which differences are taken: a named one, or the first not of numbers."""
        if self.compare:
            return next(axis for axis in self.axes if axis.name == self.compare)
        return next((axis for axis in self.axes if axis.scale is None), None)

    def list_scenarios(self) -> list[str]:
        """List what its scenarios are called: files by name, dictionaries by their title."""
        axis = next((axis for axis in self.axes if axis.chooses_scenario), None)
        sources = axis.values if axis else (self.scenario,)
        return [
            str(source.get("title", "")) if isinstance(source, Mapping) else Path(str(source)).stem
            for source in sources
            if source is not None
        ]

    def list_points(self) -> list[Point]:
        """List all combinations of all dimensions with all seeds; the first changes slowest."""
        self.check_size()
        return list(self._combine())

    def check_size(self) -> None:
        """Refuse more points than a sweep may have, before any of them is made."""
        sizes = [len(dimension[0].values) for dimension in self.dimensions]
        total = math.prod(sizes) * len(self.seeds)
        if total > MOST_POINTS:
            product = " × ".join(map(str, sizes))
            raise InputError(
                f"{product} settings × {len(self.seeds)} seeds are {total:,} points; a sweep has at"
                f" most {MOST_POINTS:,}"
            )

    def _combine(self) -> Iterator[Point]:
        rows = [range(len(dimension[0].values)) for dimension in self.dimensions]
        for setting, chosen in enumerate(itertools.product(*rows), start=1):
            places: list[Value] = []
            values: dict[str, Any] = {}
            scenario = self.scenario
            for dimension, number in zip(self.dimensions, chosen, strict=True):
                for axis in dimension:
                    places.append(axis.labels[number])
                    if axis.chooses_scenario:
                        scenario = axis.values[number]
                    else:
                        values[axis.path] = axis.values[number]
            if scenario is None:
                raise InputError(f'{self.name}: missing key "scenario"')
            overrides = [*self.overrides, *self.added, *write_overrides(values)]
            for seed in self.seeds:
                yield Point(setting, tuple(places), scenario, overrides, seed)


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
    text = read_text(path, "sweep")
    try:
        content = parse_toml(text)
    except tomllib.TOMLDecodeError as error:
        told = find_second(text, error) or f"{error}{_explain(error)}"
        raise InputError(f"{path}: not valid TOML: {told}") from error
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
    for key in content:
        if key not in _KEYS:
            raise InputError(f'unknown key "{key}"{suggest(key, _KEYS)}')
    if content.get("format", 1) != 1:
        raise InputError(f"format: expected 1, found {_show(content['format'])}")
    grid = _expect_table(content, "grid")
    zipped = content.get("zip", [])
    if not isinstance(zipped, list) or not all(isinstance(item, Mapping) for item in zipped):
        raise InputError("zip: expected tables [[zip]] of axes that change together")
    dimensions: list[tuple[Axis, ...]] = [
        (_read_axis(f"grid.{path}", path, values),) for path, values in grid.items()
    ]
    for number, table in enumerate(zipped, start=1):
        dimensions.append(_read_zip(f"zip {number}", _flatten(table, f"zip {number}: ")))
    chosen = content.get("scenario")
    if isinstance(chosen, list):
        dimensions.insert(0, (_read_axis("scenario", "scenario", chosen),))
        chosen = None
    if not dimensions:
        raise InputError(
            'missing [grid]: what to vary, such as queue = ["drop_tail", "docsis_pie"]'
        )
    measures = _read_measures(content)
    sweep = Sweep(
        name=name,
        scenario=None if chosen is None else _find_scenario(chosen, folder),
        dimensions=tuple(_place_scenarios(dimension, folder) for dimension in dimensions),
        seeds=list_seeds(content.get("seeds", 1)),
        overrides=tuple(write_overrides(_expect_table(content, "set"))),
        measures=measures,
        wish=read_wish(_expect_table(content, "wish"), measures),
        compare=_expect_text(content, "compare"),
        title=_expect_text(content, "title"),
        description=" ".join(_expect_text(content, "description").split()),
    )
    _check(sweep)
    return sweep


def list_seeds(wanted: int | Sequence[int]) -> tuple[int, ...]:
    """Give the seeds 1, 2, … of a number, or those that are listed.

    Examples
    --------
    >>> list_seeds(3), list_seeds([4, 2])
    ((1, 2, 3), (4, 2))
    """
    return tuple(choose_seeds(wanted, first=1))


def _read_zip(where: str, table: Mapping[str, Any]) -> tuple[Axis, ...]:
    axes = tuple(_read_axis(f"{where}: {path}", path, values) for path, values in table.items())
    if len({len(axis.values) for axis in axes}) > 1:
        sizes = ", ".join(f"{axis.path} has {len(axis.values)}" for axis in axes)
        raise InputError(f"{where}: axes that change together need equally many values: {sizes}")
    if not axes:
        raise InputError(f"{where}: expected axes, found none")
    return axes


def _read_axis(where: str, path: str, content: Any) -> Axis:
    """Read a list of values, a range, or a table of values with labels."""
    if path == "seed":
        raise InputError(
            f"{where}: a seed is not a setting; seeds = 4 or seeds = [1, 5] runs every point with"
            " each of these seeds"
        )
    settings = dict(content) if isinstance(content, Mapping) else {"values": content}
    for key in settings:
        if key not in _AXIS_KEYS:
            raise InputError(f'{where}: unknown key "{key}"{suggest(key, _AXIS_KEYS)}')
    if "values" in settings:
        values = settings["values"]
        if surplus := [key for key in ("from", "to", "step", "count", "scale") if key in settings]:
            raise InputError(f"{where}: values and {surplus[0]} exclude each other")
    else:
        values = _read_range(where, settings)
    if values == [] and isinstance(content, Mapping):
        raise InputError(f"{where}: values is empty")
    if not isinstance(values, list) or not values:
        raise InputError(f"{where}: expected a list of values, or a range, found {_show(values)}")
    labels = settings.get("labels") or [_label(where, value) for value in values]
    if not isinstance(labels, list) or len(labels) != len(values):
        raise InputError(f"{where}: {len(values)} values need as many labels")
    if twice := next((label for label, count in Counter(labels).items() if count > 1), None):
        raise InputError(f'{where}: two values would both be called "{twice}"')
    if len({isinstance(label, str) for label in labels}) > 1:
        labels = [str(label) for label in labels]
    name = str(settings.get("name", path))
    return Axis(path, name, tuple(values), tuple(labels), spaced="count" in settings)


def _read_range(where: str, settings: Mapping[str, Any]) -> list[Value]:
    """Give the values of ``{from, to, step}`` or ``{from, to, count, scale}``, with units."""
    for key in ("from", "to"):
        if key not in settings:
            raise InputError(f'{where}: a range needs "{key}"')
    (first, unit), (last, other) = (_split(where, settings[key]) for key in ("from", "to"))
    if unit != other:
        raise InputError(f'{where}: from is in "{unit}" and to in "{other}"; expected one unit')
    if ("step" in settings) == ("count" in settings):
        raise InputError(f"{where}: a range needs either step or count")
    if "step" in settings:
        if "scale" in settings:
            raise InputError(
                f"{where}: scale needs count: the steps of a range with step are equal"
            )
        step, of_step = _split(where, settings["step"])
        if of_step not in ("", unit):
            raise InputError(f'{where}: step is in "{of_step}" and from in "{unit}"')
        if step <= 0 or last < first:
            raise InputError(f"{where}: expected from ≤ to and a step above 0")
        steps = (last - first) / step
        if steps >= MOST_POINTS:
            # Of an absurd range not even the number is written out.
            found = f"{int(steps) + 1:,}" if steps < 10**18 else f"{steps:.3g}"
            raise InputError(f"{where}: {found} values; a sweep has at most {MOST_POINTS:,} points")
        many = int(steps) + 1
        numbers = [first + step * number for number in range(many)]
    else:
        numbers = _space(where, first, last, settings)
    return [_join(number, unit) for number in numbers]


def _space(where: str, first: Decimal, last: Decimal, settings: Mapping[str, Any]) -> list[Decimal]:
    """Give numbers at equal distances or, on a logarithmic scale, ratios, with four digits."""
    count, scale = settings["count"], settings.get("scale", "linear")
    if isinstance(count, bool) or not isinstance(count, int) or not 2 <= count <= MOST_POINTS:
        raise InputError(f"{where}: expected a count of 2 to {MOST_POINTS}, found {_show(count)}")
    if scale not in ("linear", "log"):
        raise InputError(f'{where}: scale is "linear" or "log", found {_show(scale)}')
    shares = [Decimal(number) / (count - 1) for number in range(count)]
    if scale == "linear":
        return [first + (last - first) * share for share in shares]
    if first <= 0 or last <= 0:
        raise InputError(f"{where}: a logarithmic range needs ends above 0")
    inner = [
        Decimal(
            f"{math.exp(math.log(first) * float(1 - share) + math.log(last) * float(share)):.4g}"
        )
        for share in shares[1:-1]
    ]
    return [first, *inner, last]


def _split(where: str, value: Any) -> tuple[Decimal, str]:
    match = _NUMBER.fullmatch(str(value).strip())
    if isinstance(value, bool) or match is None:
        raise InputError(
            f'{where}: expected a number, or a number with a unit such as "2 Mbit/s", found'
            f" {_show(value)}"
        )
    number = Decimal(match[1])
    # What a computer's numbers cannot hold, no scenario takes.
    if not math.isfinite(float(number)) or (number and not float(number)):
        raise InputError(f"{where}: too large or too small a number: {_show(value)}")
    return number, match[2] or ""


def _join(number: Decimal, unit: str) -> Value:
    if not unit:
        return int(number) if number == number.to_integral_value() else float(number)
    return f"{float(number):.10g} {unit}"


def _label(where: str, value: Any) -> Value:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return value
    return shorten_value(write_value(value, where))


def _find_scenario(source: Any, folder: Path | None) -> Source:
    """Give a scenario that ships, or one beside the sweep's file."""
    if isinstance(source, Mapping):
        return source
    if not isinstance(source, str):
        raise InputError(
            f"scenario: expected the name or path of a scenario, found {_show(source)}"
        )
    beside = (folder or Path()) / source
    if source in list_scenarios() and not beside.is_file():
        return source
    return str(beside) if beside.exists() or "/" in source or source.endswith(".toml") else source


def _place_scenarios(dimension: tuple[Axis, ...], folder: Path | None) -> tuple[Axis, ...]:
    return tuple(
        replace(axis, values=tuple(_find_scenario(value, folder) for value in axis.values))
        if axis.chooses_scenario
        else axis
        for axis in dimension
    )


def _check(sweep: Sweep) -> None:
    """Refuse what would be called one thing and run as another, and what would never end."""
    axes = sweep.axes
    if sweep.scenario is None and not any(axis.chooses_scenario for axis in axes):
        raise InputError('missing key "scenario": the name of a shipped scenario, or a path')
    check_paths([axis.path for axis in sweep.axes], sweep.overrides, sweep.added)
    names = [axis.name for axis in axes]
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
    sweep.check_size()


def _read_measures(content: Mapping[str, Any]) -> dict[str, str]:
    measures = _expect_table(content, "measures")
    for name, text in measures.items():
        if not isinstance(text, str):
            raise InputError(
                f'measures.{name}: expected a quantity such as "call.mos.mean", found {_show(text)}'
            )
    return dict(measures)


def _expect_table(content: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    table = content.get(key, {})
    if not isinstance(table, Mapping):
        raise InputError(f"{key}: expected a table [{key}], found {_show(table)}")
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


def _show(value: Any) -> str:
    """Write what was found as a sweep's file has it."""
    if value == []:
        return "an empty list"
    try:
        return write_value(value, "")
    except InputError:  # a date, or what only Python has
        return str(value)


def _expect_text(content: Mapping[str, Any], key: str) -> str:
    text = content.get(key, "")
    if not isinstance(text, str):
        raise InputError(f"{key}: expected text, found {_show(text)}")
    return text
