"""Vega-Lite specifications as Python values: charts, their channels, and the dictionary.

The names are Vega-Lite's own, and so are the options of marks, channels, scales, axes and legends,
which are written into the specification as they are given. Nothing is inferred: a field says of
which type it is, as in ``"delay_ms:Q"``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import polars as pl

#: The types of fields by the letter that stands for each behind a field's name.
TYPES = {"Q": "quantitative", "N": "nominal", "O": "ordinal", "T": "temporal"}

#: Channels that have the type of another one, and so none of their own.
SECONDARY = ("x2", "y2")

#: Properties of a layer, not of the charts in it.
SIZES = ("width", "height")


#: How values become places, colours or shapes.
Scale = dict[str, Any]

#: How a scale along an edge is labelled, and one of colours, dashes or shapes.
Axis = dict[str, Any]
Legend = dict[str, Any]


class Channel(dict[str, Any]):
    """What of the rows is shown, and how: a field with its type, and options of Vega-Lite.

    A ValueError is raised where the field has no type.

    Examples
    --------
    >>> Channel("delay_ms:Q", title=None)
    {'field': 'delay_ms', 'type': 'quantitative', 'title': None}
    """

    def __init__(self, shorthand: str, **options: Any) -> None:
        name, _, letter = shorthand.rpartition(":")
        if not name or letter not in TYPES:
            letters = ", ".join(f":{letter}" for letter in TYPES)
            raise ValueError(
                f'expected a field with its type ({letters}), such as "time_s:Q", found'
                f' "{shorthand}"'
            )
        super().__init__(field=name, type=TYPES[letter], **options)


# What of the rows is shown in which way; an offset is the place beside others of the same one.
X = Channel
Y = Channel
XOffset = Channel
YOffset = Channel
Color = Channel
Opacity = Channel
Shape = Channel
StrokeDash = Channel
Order = Channel
Text = Channel
Tooltip = Channel


@dataclass(frozen=True)
class Parameter:
    """What a reader can choose in a chart; in a specification, those of one name are one."""

    name: str
    definition: Mapping[str, Any]


def selection_point(name: str, *, fields: Sequence[str], bind: str) -> Parameter:
    """Let one or several values of some fields be chosen."""
    return Parameter(name, {"select": {"type": "point", "fields": list(fields)}, "bind": bind})


def value(constant: str | float) -> dict[str, Any]:
    """Show a constant, in the channel's own unit."""
    return {"value": constant}


def condition(test: str | Parameter, then: str | float, otherwise: str | float) -> dict[str, Any]:
    """Show one constant where an expression of Vega holds, or what was chosen, else another.

    Examples
    --------
    >>> condition("datum.size > 3", 5, 2.5)
    {'condition': {'test': 'datum.size > 3', 'value': 5}, 'value': 2.5}
    """
    when = {"param": test.name} if isinstance(test, Parameter) else {"test": test}
    return {"condition": {**when, "value": then}, "value": otherwise}


def _mark(kind: str) -> Callable[..., Chart]:
    """Give the method that says what is drawn for the rows, with Vega-Lite's options."""

    def mark(chart: Chart, **options: Any) -> Chart:
        return chart.properties(mark={"type": kind, **options})

    return mark


@dataclass(frozen=True)
class Chart:
    """A chart, or several in layers or below each other; immutable: methods give new charts.

    Its ``parts`` are what Vega-Lite calls properties: mark, encoding, width and so on. Several
    charts each have rows of their own.
    """

    rows: pl.DataFrame | None = None
    parts: Mapping[str, Any] = field(default_factory=dict)
    parameters: tuple[Parameter, ...] = ()
    charts: tuple[Chart, ...] = ()
    arrangement: Literal["layer", "vconcat"] = "layer"

    mark_area = _mark("area")
    mark_bar = _mark("bar")
    mark_line = _mark("line")
    mark_point = _mark("point")
    mark_rect = _mark("rect")
    mark_rule = _mark("rule")
    mark_text = _mark("text")
    mark_tick = _mark("tick")

    def encode(self, **channels: str | Mapping[str, Any] | Sequence[str | Channel]) -> Chart:
        """Say what of the rows is shown how, besides what was said before."""
        encoded = {name: _encode(name, channel) for name, channel in channels.items()}
        return self.properties(encoding={**self.parts.get("encoding", {}), **encoded})

    def transform_filter(self, expression: str) -> Chart:
        """Draw only the rows of which an expression of Vega holds."""
        return self.properties(transform=[*self.parts.get("transform", []), {"filter": expression}])

    def transform_calculate(self, field: str, expression: str) -> Chart:
        """Give each row a new field with the value of an expression of Vega."""
        step = {"calculate": expression, "as": field}
        return self.properties(transform=[*self.parts.get("transform", []), step])

    def add_params(self, *parameters: Parameter) -> Chart:
        """Let readers choose in it."""
        return replace(self, parameters=(*self.parameters, *parameters))

    def resolve_scale(self, **channels: Literal["shared", "independent"]) -> Chart:
        """Say whether its charts have one scale each for a channel, or all the same."""
        return self.properties(resolve={"scale": channels})

    def properties(self, **parts: Any) -> Chart:
        """Set parts of the specification, such as ``width``, ``height`` and ``title``."""
        return replace(self, parts={**self.parts, **parts})

    def to_dict(self, *, as_columns: bool = False) -> dict[str, Any]:
        """Give the specification; rows that several charts share are in it once.

        With ``as_columns``, data sets are columns by name, which Vega-Lite does not read. A
        ValueError is raised where the rows do not have a field.
        """
        return _Specification(_list_columns if as_columns else _list_rows).write(self)


def layer(*charts: Chart) -> Chart:
    """Draw charts over each other, the first at the bottom, in the one size that any of them has.

    A ValueError is raised where they have different sizes.
    """
    sizes: dict[str, Any] = {}
    for chart in charts:
        for name in SIZES:
            size = chart.parts.get(name)
            if size is not None and sizes.setdefault(name, size) != size:
                raise ValueError(f"layers of one {name}: expected {sizes[name]}, found {size}")
    bare = (
        replace(
            chart, parts={name: part for name, part in chart.parts.items() if name not in SIZES}
        )
        for chart in charts
    )
    return Chart(parts=sizes, charts=tuple(bare))


def vconcat(*charts: Chart, **parts: Any) -> Chart:
    """Draw charts below each other, the first on top."""
    return Chart(parts=parts, charts=charts, arrangement="vconcat")


def _encode(name: str, channel: str | Mapping[str, Any] | Sequence[str | Channel]) -> Any:
    if name in SECONDARY and isinstance(channel, str):
        return {"field": Channel(channel)["field"]}
    if isinstance(channel, str):
        return Channel(channel)
    if isinstance(channel, Mapping):
        return channel
    return [Channel(item) if isinstance(item, str) else item for item in channel]


class _Specification:
    """A specification while it is written: its rows, and what can be chosen with views."""

    def __init__(self, write_rows: Callable[[pl.DataFrame], Any]) -> None:
        self.write_rows = write_rows
        self.frames: list[pl.DataFrame] = []
        self.choices: dict[str, dict[str, Any]] = {}
        self.views = 0

    def write(self, chart: Chart) -> dict[str, Any]:
        written = self._write_part(chart)
        if self.choices:
            written["params"] = list(self.choices.values())
        written["datasets"] = {
            f"rows_{number}": self.write_rows(frame)
            for number, frame in enumerate(self.frames, start=1)
        }
        return written

    def _write_part(self, chart: Chart) -> dict[str, Any]:
        written = dict(chart.parts)
        if chart.rows is not None:
            made = [step["as"] for step in chart.parts.get("transform", []) if "as" in step]
            _check_fields(chart, [*chart.rows.columns, *made])
            written["data"] = {"name": f"rows_{self._number(chart.rows)}"}
        if chart.parameters:
            self.views += 1
            written["name"] = f"view_{self.views}"
        for parameter in chart.parameters:
            choice = {"name": parameter.name, **parameter.definition, "views": []}
            self.choices.setdefault(parameter.name, choice)["views"].append(written["name"])
        if chart.charts:
            written[chart.arrangement] = [self._write_part(part) for part in chart.charts]
        return written

    def _number(self, rows: pl.DataFrame) -> int:
        """Count the rows that are written from 1; equal ones have the same number."""
        for number, frame in enumerate(self.frames, start=1):
            if frame is rows or (frame.columns == rows.columns and frame.equals(rows)):
                return number
        self.frames.append(rows)
        return len(self.frames)


def _list_rows(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """Give rows as JSON can hold them: it has neither infinity nor what is not a number."""
    numbers = [pl.col(name) for name, kind in frame.schema.items() if kind.is_float()]
    finite = [pl.when(number.is_finite()).then(number) for number in numbers]
    return frame.with_columns(finite).to_dicts()


def _list_columns(frame: pl.DataFrame) -> dict[str, list[Any]]:
    """Give columns as JSON can hold them."""
    columns = frame.to_dict(as_series=False)
    for name, kind in frame.schema.items():
        if kind.is_float():
            columns[name] = [
                value if value is not None and math.isfinite(value) else None
                for value in columns[name]
            ]
    return columns


def _check_fields(chart: Chart, columns: Sequence[str]) -> None:
    """Refuse a field that the rows do not have: without a word, nothing would be drawn for it."""
    for name, encoded in chart.parts.get("encoding", {}).items():
        for channel in encoded if isinstance(encoded, list) else [encoded]:
            if "field" in channel and channel["field"] not in columns:
                raise ValueError(
                    f"{name}: expected a column of the rows ({', '.join(columns)}), found"
                    f' "{channel["field"]}"'
                )
