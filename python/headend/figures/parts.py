"""The parts of a Vega-Lite specification, its channels with legends, and the values in its data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

#: What holds charts.
PARTS = ("layer", "vconcat", "hconcat", "concat")

#: Channels that have legends.
LEGENDS = ("color", "fill", "opacity", "shape", "size", "stroke", "strokeDash")

#: Types of fields that hold names.
NAMES = ("nominal", "ordinal")


def list_own_parts(part: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Give the charts that a chart is made of."""
    for name in PARTS:
        yield from part.get(name, ())


def list_parts(part: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Give a chart, and all that it is made of at any depth."""
    yield part
    for own in list_own_parts(part):
        yield from list_parts(own)


def list_values(rows: Any, field: str) -> list[Any]:
    """Give the values of a field in a data set of rows or of columns by name, in their order.

    Examples
    --------
    >>> list_values([{"flow": "call"}, {"flow": "page"}], "flow")
    ['call', 'page']
    >>> list_values({"flow": ["call", "page"]}, "flow")
    ['call', 'page']
    """
    if isinstance(rows, Mapping):
        return list(rows.get(field, ()))
    return [row.get(field) for row in rows]
