"""What figures of settings share: a measure's axis, its bounds, its bars and its labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from headend.engine.description import describe
from headend.figures import vegalite as vl
from headend.figures.theme import log_axis
from headend.text.quantity import choose_unit
from headend.text.wording import join_names

if TYPE_CHECKING:
    from headend.analysis.measures import MeasureInfo, MeasureValues

#: More panels than this are no figure.
MOST_PANELS = 12

#: Means that span this factor stand along a logarithm.
WIDE_UP = 20

#: Of the length of an axis, so much is left beyond a bound for its text.
ROOM_FOR_BOUND = 0.1


@dataclass(frozen=True)
class Drawn:
    """A measure as it is drawn: its title with the unit, its base units, and its scale.

    Parameters
    ----------
    title
        Of the axis.
    base
        What one unit is in base units.
    scale
        Vega-Lite's, over all values with their intervals.
    least
        Below it nothing can be drawn, in the unit; 0 on a linear scale.
    """

    title: str
    base: float
    scale: vl.Scale
    least: float = -math.inf


def choose_axis(rows: pl.DataFrame, item: MeasureInfo, *, from_zero: bool = True) -> Drawn:
    """Choose the unit, the title and the scale for all values of a measure, with their intervals.

    Where the rows say of whom it is measured, the title says what it is in words, and else what it
    is called. An axis that is not from zero begins at the least value.
    """
    columns = ["mean", "low", "high"]
    least = rows.select(pl.min_horizontal(columns).min()).item()
    most = rows.select(pl.max_horizontal(columns).max()).item()
    unit = choose_unit([most], item.kind)
    base = unit.size
    if "subject" in rows.columns:
        title = name_measure(rows, item, unit.name)
    else:
        known = describe().measures.get(item.metric)
        title = add_unit(item.name, unit.name or (known.scale if known else ""))
    if item.range and item.range[0] > 0:
        # A scale that does not begin at zero, such as that of MOS, is shown from end to end.
        return Drawn(title, base, vl.Scale(domain=[end / base for end in item.range], nice=False))
    means = rows["mean"]
    low, high = float(means.min() or 0), float(means.max() or 0)  # type: ignore[arg-type]
    if low > 0 and high / low >= WIDE_UP:
        ends = [max(least, low / 2) / base, most / base]
        return Drawn(title, base, vl.Scale(type="log", domain=ends, nice=True), ends[0])
    ends = [min(least, 0) / base, (max(most, 0) or base) / base]
    if not from_zero and least < most:
        ends = [least / base, most / base]
    return Drawn(title, base, vl.Scale(domain=ends, nice=True))


def name_measure(rows: pl.DataFrame, item: MeasureInfo, unit: str) -> str:
    """Give what a measure is called, what it is in words, and its unit."""
    subject, direction, metric = rows.select("subject", "direction", "metric").row(0)
    parts = [part for part in (subject, direction) if part]
    is_path = bool(subject) and item.name.startswith(f"{subject}.")
    name = " ".join(parts) if is_path else item.name
    # Shares of fairness and counts have no unit.
    scales = {own: kind.scale for kind in describe().measures.values() for own in kind.names}
    words = str(metric).removeprefix(f"{direction}.").split(".")
    scale = "" if unit else scales.get(words[0], "")
    told = [words[0].replace("_", " "), *words[1:]] if subject else [str(metric)]
    if scale:
        told = [scale, *told[1:]]
    if name in (told[0], ""):
        # What it is called is said once.
        name, told = "", told if len(told) > 1 else [item.name]
    title = ": ".join(filter(None, [name, ", ".join(told)]))
    return add_unit(title, unit)


def add_unit(title: str, unit: str) -> str:
    """Write a unit behind a title, where there is one."""
    return f"{title} ({unit})" if unit else title


def make_room(
    drawn: Drawn, bounds: Sequence[tuple[float, str]]
) -> tuple[Drawn, list[tuple[float, str]], str]:
    """Extend an axis to a wish's bounds if the values keep at least half of its length.

    Parameters
    ----------
    drawn
        The measure as its values alone need it.
    bounds
        Each in the unit in which it is drawn, with its text.

    Returns
    -------
    tuple of Drawn, list of tuple, and str
        The measure as it is drawn; the bounds that are; and a sentence for the others, which begins
        with a space.
    """
    is_log = drawn.scale.get("type") == "log"

    def place(value: float) -> float:
        return math.log(value) if is_log else value

    low, high = drawn.scale["domain"]
    shown, beyond = [], []
    for value, text in bounds:
        side = "above" if value > high else "below"
        if is_log and value <= 0:
            beyond.append(f"{text} is {side} the axis")
            continue
        ends = min(place(low), place(value)), max(place(high), place(value))
        if 2 * (place(high) - place(low)) < ends[1] - ends[0]:
            beyond.append(f"{text} is {side} the axis")
            continue
        # Some more, so that the text stands inside.
        more = ROOM_FOR_BOUND * (ends[1] - ends[0]) if value > high else 0.0
        ends = ends[0], ends[1] + more
        low, high = (math.exp(ends[0]), math.exp(ends[1])) if is_log else ends
        shown.append((value, text))
    scale = vl.Scale({**drawn.scale, "domain": [low, high]})
    told = f" The bound {join_names(beyond)}." if beyond else ""
    return replace(drawn, scale=scale, least=low if is_log else drawn.least), shown, told


def read_ends(name: str, measured: MeasureValues, setting: int) -> dict[str, float] | None:
    """Give a setting's mean and interval as columns; None where it has no value."""
    own = measured.estimates.get(setting)
    if own is None:
        return None
    ends = (own.mean, own.mean) if math.isnan(own.low) else (own.low, own.high)
    return {name: own.mean, f"{name}_low": ends[0], f"{name}_high": ends[1]}


def scale_columns(rows: pl.DataFrame, name: str, drawn: Drawn) -> pl.DataFrame:
    """Give the columns of a measure in the unit in which it is drawn."""
    return rows.with_columns(
        (pl.col(f"{name}{end}") / drawn.base).clip(lower_bound=drawn.least)
        for end in ("", "_low", "_high")
    )


def encode(channel: type[vl.X | vl.Y], field: str, drawn: Drawn) -> vl.Channel:
    """Draw a column along a measure's axis."""
    options: dict[str, Any] = {"title": drawn.title, "scale": drawn.scale}
    if drawn.scale.get("type") == "log":
        low, high = drawn.scale["domain"]
        options["axis"] = log_axis((low, high))
    return channel(f"{field}:Q", **options)


def draw_intervals(base: vl.Chart, x: Drawn, y: Drawn) -> list[vl.Chart]:
    """Draw the intervals of points of one measure against another."""
    return [
        base.mark_rule().encode(x=encode(vl.X, "x_low", x), x2="x_high:Q"),
        base.mark_rule().encode(y=encode(vl.Y, "y_low", y), y2="y_high:Q"),
    ]


def list_tooltips(x: Drawn, y: Drawn) -> list[vl.Tooltip]:
    """Say what a point of one measure against another tells of them."""
    return [
        vl.Tooltip("x:Q", title=x.title, format=".4~g"),
        vl.Tooltip("y:Q", title=y.title, format=".4~g"),
    ]


def draw_halo(text: vl.Chart) -> list[vl.Chart]:
    """Draw a text over its halo."""
    return [text, text.properties(mark={**text.parts["mark"], "style": "text"})]
