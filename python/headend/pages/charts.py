"""Charts as a page holds them: specifications with data in columns, made rows by page.js."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headend.text.reveal import picture_in_json

if TYPE_CHECKING:
    from headend.figures import Figure, Panel


def embed_charts(figures: Sequence[Figure]) -> str:
    """Write the specifications of all charts, by name; one at a time, to save memory."""
    charts = (
        f"{embed_json(f'{figure.name}-{number}')}:{embed_json(shape_for_page(panel))}"
        for figure in figures
        for number, panel in enumerate(figure.panels)
    )
    return f"{{{','.join(charts)}}}"


def embed_json(content: Any) -> str:
    """Write JSON that cannot end the script element it is put in."""
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=False)
    return picture_in_json(text).replace("<", "\\u003c")


def shape_for_page(panel: Panel) -> dict[str, Any]:
    """Give a panel's Vega-Lite specification, as wide as the page allows; heights may be free.

    Its data sets are packed: ``{"count": rows, "columns": {name: column}}``.
    """
    specification = panel.specify(packed=True)
    specification["width"] = "container"
    specification["autosize"] = {"type": "fit-x", "contains": "padding"}
    columns = specification.pop("datasets", {})
    specification["datasets"] = {name: pack_rows(rows) for name, rows in columns.items()}
    return specification


def pack_rows(columns: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """Pack the columns of a data set.

    Examples
    --------
    >>> pack_rows({"series": ["a", "a", "a"], "x": [1.0, 2.5, 3.0]})
    {'count': 3, 'columns': {'series': {'block': ['a'], 'times': 3}, 'x': [1, 2.5, 3]}}
    """
    count = len(next(iter(columns.values()), ()))
    return {
        "count": count,
        "columns": {name: _pack_column(column) for name, column in columns.items()},
    }


def _pack_column(column: Sequence[Any]) -> Any:
    """Write a column in the shortest of three ways: values, runs of one value, repeated block."""
    values = [_shorten(value) for value in column]
    runs: list[list[Any]] = []
    for value in values:
        if runs and runs[-1][0] == value and type(runs[-1][0]) is type(value):
            runs[-1][1] += 1
        else:
            runs.append([value, 1])
    if 3 * len(runs) < len(values):
        return {"runs": runs}
    try:
        length = values.index(values[0], 1)
    except (ValueError, IndexError):
        return values
    times, rest = divmod(len(values), length)
    if not rest and values == values[:length] * times:
        return {"block": values[:length], "times": times}
    return values


def _shorten(value: Any) -> Any:
    """Write a whole number without a fraction."""
    return int(value) if type(value) is float and value.is_integer() else value
