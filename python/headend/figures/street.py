"""A street as a picture: a square for each home, in the colour of its worst grade."""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

from headend.analysis.grading import Grade
from headend.analysis.street import Home, gather_homes, list_suffering, name_homes
from headend.figures import vegalite as vl
from headend.figures.figure import Figure, Panel
from headend.figures.theme import WIDTH, make_chart
from headend.results.record import Record
from headend.text.wording import list_names

#: Grades from the best to the worst, each with a colour that differs from the other ones and from
#: both backgrounds.
COLOURS = {
    Grade.GOOD: "#4FA061",
    Grade.FAIR: "#AE8A14",
    Grade.POOR: "#D97520",
    Grade.BAD: "#C62F2D",
}

#: Up to this number of homes, the squares of those that suffer have numbers.
MOST_NUMBERED = 200

#: The ratio of a street's width to its height, in homes.
SHAPE = 5

#: Suffering homes that the explanation names at most, the worst first.
MOST_NAMED = 5


def draw_street(results: Sequence[Record]) -> Figure | None:
    """Draw each home of one run, in the street's order; None where there are fewer than ten."""
    homes = gather_homes(results[0]) if len(results) == 1 else ()
    if not homes:
        return None
    what = name_homes(homes)
    return Figure(
        "street",
        f"The {len(homes)} {what}, each by its worst grade",
        f"A square is one of the {what}, in the order of their numbers; its colour is the grade of"
        " what fares worst there. Homes without a call, page, film or the like have no square."
        f"{_describe_worst(results[0])}",
        [Panel("", _draw(homes))],
    )


def _describe_worst(result: Record) -> str:
    """Name the homes that suffer most, as a sentence."""
    suffering = list_suffering(result)
    if not suffering:
        return " Nobody suffers."
    named = [f"{home.label} ({home.worst.flow}: {home.worst.number})" for home in suffering]
    return f" The worst: {list_names(named, MOST_NAMED)}."


def _draw(homes: Sequence[Home]) -> vl.Chart:
    columns = max(10, math.ceil(math.sqrt(SHAPE * len(homes))))
    lines = math.ceil(len(homes) / columns)
    rows = pl.DataFrame(
        {
            "column": [number % columns for number in range(len(homes))],
            "line": [number // columns for number in range(len(homes))],
            "home": [home.label for home in homes],
            "number": [home.label.replace(" ", ".").rpartition(".")[2] for home in homes],
            "grade": [str(home.worst.grade) for home in homes],
            "suffers": [home.worst.suffers for home in homes],
            "people": [
                ", ".join(f"{flow.flow} {flow.word} ({flow.number})" for flow in home.findings)
                for home in homes
            ],
        }
    )
    counts = {grade: sum(home.worst.grade is grade for home in homes) for grade in COLOURS}
    names = {str(grade): f"{count} {grade}" for grade, count in counts.items() if count}
    rows = rows.with_columns(grade=pl.col("grade").replace_strict(names))
    shades = [COLOURS[Grade(grade)] for grade in names]
    axis = {"axis": None, "title": None}
    base = make_chart(rows).encode(
        x=vl.X("column:O", scale=vl.Scale(paddingInner=0.12), **axis),
        y=vl.Y("line:O", scale=vl.Scale(paddingInner=0.12), **axis),
        tooltip=[vl.Tooltip("home:N", title=" "), vl.Tooltip("people:N", title="who is there")],
    )
    squares = base.mark_rect(cornerRadius=2).encode(
        color=vl.Color(
            "grade:N",
            scale=vl.Scale(domain=list(names.values()), range=shades),
            legend=vl.Legend(title=None, orient="top", symbolType="square"),
            sort=list(names.values()),
        )
    )
    # The picture is as wide as there is room for, and as high as makes squares of its homes; on a
    # page, page.js goes by the share.
    share = lines / columns
    size = {"height": round(share * WIDTH), "usermeta": {"heightToWidth": share}}
    if len(homes) > MOST_NUMBERED:
        return squares.properties(**size)
    numbers = (
        base.transform_filter("datum.suffers")
        .mark_text(
            fontSize={"expr": f"max(8, min(13, 0.4 * width / {columns}))"},
            fontWeight="bold",
            color="white",
        )
        .encode(text=vl.Text("number:N"))
    )
    return vl.layer(squares, numbers).properties(**size)
