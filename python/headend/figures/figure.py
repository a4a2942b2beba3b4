"""What a figure is: charts with a name, a title and the sentences that explain them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

#: More lines than this cannot be told apart, so the rest are left out and the figure says so.
MOST_SERIES = 7

Chart = "alt.Chart | alt.LayerChart"


@dataclass(frozen=True)
class Panel:
    """One chart; its title says which flow, queue or value it shows, or is empty when it is alone."""

    title: str
    chart: alt.Chart | alt.LayerChart


@dataclass(frozen=True)
class Figure:
    """Charts that answer one question.

    Parameters
    ----------
    name
        For file names and links.
    title
        What it shows.
    explanation
        What to look at, and what good looks like.
    """

    name: str
    title: str
    explanation: str
    panels: list[Panel] = field(default_factory=list)


Draw = Callable[["pl.DataFrame"], "alt.Chart | alt.LayerChart"]


def lay_out(frames: Mapping[str, pl.DataFrame], draw: Draw) -> tuple[list[Panel], str]:
    """Make the panels of a figure from rows that have a ``key`` (flow, queue).

    Parameters
    ----------
    frames
        Rows by the label of the run.
    draw
        Draws rows, telling them apart by ``series``.

    Returns
    -------
    tuple
        The panels, and a sentence about what was left out, or nothing.
    """
    import polars as pl

    filled = {label: frame for label, frame in frames.items() if not frame.is_empty()}
    keys = list(dict.fromkeys(key for frame in filled.values() for key in frame["key"].unique(maintain_order=True)))
    kept, note = keys[:MOST_SERIES], ""
    if len(keys) > len(kept):
        note = f" Drawn are {len(kept)} of {len(keys)}, those with most data."
    if not filled:
        return [], ""
    if len(frames) == 1:
        rows = next(iter(filled.values())).filter(pl.col("key").is_in(kept))
        return [Panel("", draw(rows.with_columns(series=pl.col("key"))))], note
    panels = []
    for key in kept:
        parts = [
            frame.filter(pl.col("key") == key).with_columns(series=pl.lit(label))
            for label, frame in filled.items()
        ]
        panels.append(Panel(key, draw(pl.concat([part for part in parts if not part.is_empty()]))))
    return panels, note


def order_labels(labels: Sequence[str]) -> list[str]:
    """Give each label once, in the order first met."""
    return list(dict.fromkeys(labels))
