"""What a figure is: charts with a name, a title and the sentences that explain them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

    from headend.figures.theme import AnyChart

#: More lines than this cannot be told apart, so the rest are left out and the figure says so.
MOST_SERIES = 7


@dataclass(frozen=True)
class Panel:
    """One chart; its title says which flow, queue or value it shows, or is empty when it is alone.

    Its name is for files; by default, what it shows and the figure's name.
    """

    title: str
    chart: AnyChart
    name: str = ""

    def specify(self) -> dict[str, Any]:
        """Give its Vega-Lite specification without an address in it; tests check it against the schema."""
        return dict(self._specification)

    @functools.cached_property
    def _specification(self) -> dict[str, Any]:
        """It is made once, for the file and for the page alike."""
        specification: dict[str, Any] = self.chart.to_dict(validate=False)
        del specification["$schema"], specification["config"]
        return specification


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


Draw = Callable[["pl.DataFrame"], "AnyChart"]


def lay_out(
    frames: Mapping[str, pl.DataFrame], draw: Draw, slots: Mapping[str, int] | None = None
) -> tuple[list[Panel], str]:
    """Make the panels of a figure from rows that have a ``key`` (flow, queue).

    Parameters
    ----------
    frames
        Rows by the label of the run.
    draw
        Draws rows, telling them apart by ``series``, coloured by ``slot``.
    slots
        The place in the palette that a key has in every figure of one run.

    Returns
    -------
    tuple
        The panels, and a sentence about what was left out, or nothing.
    """
    import polars as pl

    filled = {label: frame for label, frame in frames.items() if not frame.is_empty()}
    if not filled:
        return [], ""
    keys = order_labels([key for frame in filled.values() for key in frame["key"]])
    kept, note = keys[:MOST_SERIES], ""
    if len(keys) > len(kept):
        note = f" Drawn are {len(kept)} of {len(keys)}."
    if len(frames) == 1:
        rows = next(iter(filled.values())).filter(pl.col("key").is_in(kept))
        places = _place(kept, slots or {})
        return [Panel("", draw(_mark(rows, pl.col("key"), places)))], note
    panels = []
    for key in kept:
        parts = [
            _mark(frames[label].filter(pl.col("key") == key), pl.lit(label), {label: place})
            for place, label in enumerate(frames)
            if label in filled
        ]
        panels.append(Panel(key, draw(pl.concat([part for part in parts if not part.is_empty()]))))
    return panels, note


def order_labels(labels: Sequence[str]) -> list[str]:
    """Give each label once, in the order first met."""
    return list(dict.fromkeys(labels))


def _mark(rows: pl.DataFrame, series: pl.Expr, places: Mapping[str, int]) -> pl.DataFrame:
    import polars as pl

    return rows.with_columns(series=series).with_columns(
        slot=pl.col("series").replace_strict(dict(places), return_dtype=pl.Int64)
    )


def _place(keys: Sequence[str], slots: Mapping[str, int]) -> dict[str, int]:
    """Keep the known places where no two keys would share one."""
    known = [slots[key] for key in keys if key in slots and slots[key] < MOST_SERIES]
    if len(known) == len(keys) == len(set(known)):
        return {key: slots[key] for key in keys}
    return {key: number for number, key in enumerate(keys)}
