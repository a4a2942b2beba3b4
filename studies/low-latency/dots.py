"""A chart of one dot for each case of a study, in series."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headend.figures import vegalite as vl
from headend.figures.theme import PALETTE, make_chart

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl


def draw_dots(
    table: pl.DataFrame, x: vl.X, series: str, names: list[str], cases: Sequence[str]
) -> vl.Chart:
    """Draw a dot for each case, coloured and shaped by series.

    Parameters
    ----------
    table
        A row for each dot, with its case in the column ``case``.
    x
        The horizontal axis.
    series
        The column that names the series of a dot.
    names
        All series, in the order of their colours.
    cases
        All cases, from the top down.
    """
    return (
        make_chart(table)
        .mark_point(filled=True, size=80)
        .encode(
            x=x,
            y=vl.Y("case:N", title=None, sort=list(cases), axis=vl.Axis(labelLimit=280)),
            color=vl.Color(
                f"{series}:N",
                title=None,
                scale=vl.Scale(domain=names, range=list(PALETTE[: len(names)])),
            ),
            shape=vl.Shape(f"{series}:N", title=None, scale=vl.Scale(domain=names)),
        )
    )
