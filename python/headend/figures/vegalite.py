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


class Scale(dict[str, Any]):
    """How values become places, colours or shapes."""


class Axis(dict[str, Any]):
    """How a scale along an edge is labelled."""


class Legend(dict[str, Any]):
    """How a scale of colours, dashes or shapes is labelled."""


class Channel(dict[str, Any]):
    """What of the rows is shown, and how.

    Parameters
    ----------
    shorthand
        A field with the letter of its type.
    options
        Vega-Lite's; what is None is null there.

    Raises
    ------
    ValueError
        When the field has no type.

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


class X(Channel):
    """The place along the bottom."""


class Y(Channel):
    """The place up the side."""


class XOffset(Channel):
    """The place beside others of the same one along the bottom."""


class YOffset(Channel):
    """The place beside others of the same one up the side."""


class Color(Channel):
    """The colour."""


class Opacity(Channel):
    """How opaque it is."""


class Shape(Channel):
    """The shape of a point."""


class StrokeDash(Channel):
    """The dashes of a line."""


class Order(Channel):
    """What comes first along a line, or on top."""


class Text(Channel):
    """What is written."""


class Tooltip(Channel):
    """What is told of a mark under the pointer."""


@dataclass(frozen=True)
class Parameter:
    """What a reader can choose in a chart.

    Parameters
    ----------
    name
        By which conditions refer to it. In one specification, parameters of one name are one.
    definition
        Vega-Lite's.
    """

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


@dataclass(frozen=True)
class Chart:
    """A chart, or several in layers or below each other; immutable: methods give new charts.

    Parameters
    ----------
    rows
        What is drawn; None where each of several charts has its own.
    parts
        What Vega-Lite calls a specification's properties: mark, encoding, width and so on.
    parameters
        What can be chosen in it.
    charts
        What it is made of.
    arrangement
        How those are put together.
    """

    rows: pl.DataFrame | None = None
    parts: Mapping[str, Any] = field(default_factory=dict)
    parameters: tuple[Parameter, ...] = ()
    charts: tuple[Chart, ...] = ()
    arrangement: Literal["layer", "vconcat"] = "layer"

    def mark_area(self, **options: Any) -> Chart:
        """Draw the area below a line, or between two."""
        return self._mark("area", options)

    def mark_bar(self, **options: Any) -> Chart:
        """Draw bars."""
        return self._mark("bar", options)

    def mark_line(self, **options: Any) -> Chart:
        """Draw a line through all rows of one colour and dash."""
        return self._mark("line", options)

    def mark_point(self, **options: Any) -> Chart:
        """Draw points."""
        return self._mark("point", options)

    def mark_rect(self, **options: Any) -> Chart:
        """Draw rectangles."""
        return self._mark("rect", options)

    def mark_rule(self, **options: Any) -> Chart:
        """Draw a straight line for each row."""
        return self._mark("rule", options)

    def mark_text(self, **options: Any) -> Chart:
        """Write a text for each row."""
        return self._mark("text", options)

    def mark_tick(self, **options: Any) -> Chart:
        """Draw a short line for each row, across its axis."""
        return self._mark("tick", options)

    def encode(self, **channels: str | Mapping[str, Any] | Sequence[str | Channel]) -> Chart:
        """Say what of the rows is shown how, besides what was said before.

        Raises
        ------
        ValueError
            When a field has no type.
        """
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

        Parameters
        ----------
        as_columns
            Whether data sets are columns by name, which Vega-Lite does not read, instead of rows.

        Raises
        ------
        ValueError
            When rows have no such field.
        """
        return _Specification(_list_columns if as_columns else _list_rows).write(self)

    def _mark(self, kind: str, options: Mapping[str, Any]) -> Chart:
        return self.properties(mark={"type": kind, **options})


def layer(*charts: Chart) -> Chart:
    """Draw charts over each other, the first at the bottom, in the size that any of them has.

    Raises
    ------
    ValueError
        When they have different sizes.
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
        names = (_name_rows(number) for number in range(len(self.frames)))
        written["datasets"] = dict(zip(names, map(self.write_rows, self.frames), strict=True))
        return written

    def _write_part(self, chart: Chart) -> dict[str, Any]:
        written = dict(chart.parts)
        if chart.rows is not None:
            made = [step["as"] for step in chart.parts.get("transform", []) if "as" in step]
            _check_fields(chart, [*chart.rows.columns, *made])
            written["data"] = {"name": _name_rows(self._find_place(chart.rows))}
        if chart.parameters:
            self.views += 1
            written["name"] = f"view_{self.views}"
        for parameter in chart.parameters:
            choice = {"name": parameter.name, **parameter.definition, "views": []}
            self.choices.setdefault(parameter.name, choice)["views"].append(written["name"])
        if chart.charts:
            written[chart.arrangement] = [self._write_part(part) for part in chart.charts]
        return written

    def _find_place(self, rows: pl.DataFrame) -> int:
        """Give the place of rows among those that are written; equal ones have the same."""
        for place, frame in enumerate(self.frames):
            if frame is rows or (frame.columns == rows.columns and frame.equals(rows)):
                return place
        self.frames.append(rows)
        return len(self.frames) - 1


def _name_rows(place: int) -> str:
    return f"rows_{place + 1}"


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
