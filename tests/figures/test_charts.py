"""Charts as a page holds them: rows packed as columns, unpacked by the page's script."""

from __future__ import annotations

import json
import math
from typing import Any

import polars as pl
import pytest

from headend.figures import Figure, Panel
from headend.figures import vegalite as vl
from headend.pages.charts import embed_charts, pack_rows


def unpack(packed: dict[str, Any]) -> list[dict[str, Any]]:
    """Make rows of packed columns, as page.js does."""
    columns = {}
    for name, column in packed["columns"].items():
        if isinstance(column, list):
            columns[name] = column
        elif "runs" in column:
            columns[name] = [value for value, count in column["runs"] for _ in range(count)]
        else:
            columns[name] = column["block"] * column["times"]
    return [
        {name: column[place] for name, column in columns.items()}
        for place in range(packed["count"])
    ]


@pytest.mark.parametrize(
    "columns",
    [
        {"series": ["a"] * 9 + ["b"] * 9, "x": [float(n % 9) for n in range(18)]},
        {"x": [1.5, 1.5, 2.5], "y": [None, 1.0, None]},
        {"flag": [True, 1, 1.0, True, True, True, True, True]},
        {"x": [2.0]},
        {},
    ],
)
def test_packed_rows_are_the_same_rows(columns: dict[str, list[Any]]) -> None:
    packed = json.loads(json.dumps(pack_rows(columns)))
    count = len(next(iter(columns.values()), []))
    expected = [{name: columns[name][place] for name in columns} for place in range(count)]
    assert unpack(packed) == expected


def test_what_repeats_is_written_once() -> None:
    packed = pack_rows({"time": [1.5, 2.5, 3.5] * 4, "series": ["a"] * 6 + ["b"] * 6})
    assert packed["columns"]["time"] == {"block": [1.5, 2.5, 3.5], "times": 4}
    assert packed["columns"]["series"] == {"runs": [["a", 6], ["b", 6]]}


class Other:
    """A chart of another library, which has rows."""

    def to_dict(self) -> dict[str, Any]:
        """Give its specification."""
        return {"mark": "point", "datasets": {"d": [{"x": 1.0}, {"x": 2.0, "y": "a"}]}}


def test_a_page_holds_charts_of_ours_and_of_others_packed() -> None:
    rows = pl.DataFrame({"x": [1.0, math.nan, math.inf], "y": ["a", "b", "c"]})
    ours = Panel("", vl.Chart(rows).mark_point().encode(x="x:Q", y="y:N"))
    theirs = Panel("", Other())  # type: ignore[arg-type]
    data = json.loads(embed_charts([Figure("f", "F", "Shown.", [ours, theirs])]))
    assert unpack(data["f-0"]["datasets"]["rows_1"]) == [
        {"x": 1, "y": "a"}, {"x": None, "y": "b"}, {"x": None, "y": "c"}
    ]  # fmt: skip
    assert unpack(data["f-1"]["datasets"]["d"]) == [{"x": 1, "y": None}, {"x": 2, "y": "a"}]
    assert data["f-0"]["width"] == "container"
