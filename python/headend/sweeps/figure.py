"""A sweep's figures: two measures against each other, and each against the main axis.

What else is varied is told apart by colour and panel. Categories stand side by side in the order
given, numbers along an axis that goes by how they are spaced.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import MOST_NAMED, MOST_SERIES, Figure, Panel
from headend.figures.placing import mark_among
from headend.figures.spacing import MOST_TICKS, space_values
from headend.figures.theme import (
    PALETTE,
    SHAPES,
    colour,
    fade,
    highlight,
    make_chart,
    make_legend,
    mark_along,
)
from headend.figures.trade_off import (
    MOST_PANELS,
    Drawn,
    add_unit,
    choose_axis,
    draw_halo,
    draw_intervals,
    encode,
    list_tooltips,
    make_room,
    read_ends,
    scale_columns,
)
from headend.text.wording import capitalise, list_names

if TYPE_CHECKING:
    from headend.analysis.measures import MeasureValues
    from headend.design.factor import Factor
    from headend.sweeps.conclusion import Conclusion


def draw_sweep(conclusion: Conclusion, summary: pl.DataFrame) -> list[Figure]:
    """Draw the trade-off, and each measure that is shown; bars are 95 % intervals over seeds.

    Parameters
    ----------
    conclusion
        What follows from the sweep.
    summary
        Its means, as `summarise` gives them.
    """
    if summary.is_empty():
        return []
    figures = []
    if conclusion.trade_off:
        figures.append(draw_trade_off(conclusion))
    sweep = conclusion.sweep
    along, apart, panels = _arrange(conclusion)
    several = len(sweep.design.seeds) > 1
    for number, measured in enumerate(conclusion.measures.values()):
        item = measured.info
        rows = summary.filter(pl.col("measure") == item.name).drop_nulls("mean")
        if rows.is_empty():
            continue
        words = [f"Along the bottom, {along.words}"]
        if apart:
            words.append(f"by colour, {apart.words}")
        if panels:
            words.append(f"by panel, {' and '.join(axis.words for axis in panels)}")
        interval = " The bars are 95 % intervals over seeds." if several else ""
        drawn, note = _draw_panels(conclusion, rows, measured, along, apart, panels)
        name, text = f"measure-{number + 1}", f"{'; '.join(words)}.{interval}{note}"
        title = capitalise(f"{item.name} by {along.words}")
        figures.append(Figure(name, title, text, drawn, note))
    return figures


def _arrange(conclusion: Conclusion) -> tuple[Factor, Factor | None, list[Factor]]:
    """Choose what goes along the bottom, what is coloured, and what gets panels."""
    leading = [dimension[0] for dimension in conclusion.sweep.design.dimensions]
    main = leading[conclusion.main]
    along = max(leading, key=lambda axis: (axis.scale is not None, axis is main, len(axis.labels)))
    rest = sorted(
        (axis for axis in leading if axis is not along and len(axis.labels) > 1),
        key=lambda axis: len(axis.labels) > len(PALETTE),
    )
    return along, rest[0] if rest else None, rest[1:]


def _draw_panels(
    conclusion: Conclusion,
    rows: pl.DataFrame,
    measured: MeasureValues,
    along: Factor,
    apart: Factor | None,
    panels: Sequence[Factor],
) -> tuple[list[Panel], str]:
    """Draw the panels, all on one scale, and name what was left out."""
    item = measured.info
    drawn = choose_axis(rows, item)
    drawn, marks, beyond = make_room(drawn, _list_bounds(conclusion, item.name, drawn))
    best = {own.setting for own in conclusion.list_bests(conclusion.main)}

    def draw(own: pl.DataFrame) -> vl.Chart:
        return _draw(own, drawn, along, apart, marks, best)

    if not panels:
        return [Panel("", draw(rows), item.name)], beyond
    names = [axis.name for axis in panels]
    words = [axis.words for axis in panels]
    shown: list[Panel] = []
    left: list[str] = []
    for key, own in rows.group_by(names, maintain_order=True):
        title = ", ".join(f"{name} {value}" for name, value in zip(words, key, strict=True))
        if len(shown) < MOST_PANELS:
            place = {name: str(value) for name, value in zip(words, key, strict=True)}
            shown.append(Panel(title, draw(own), f"{item.name} {title}", place))
        else:
            left.append(title)
    named = list_names(left, MOST_NAMED, "; ")
    more = f" Not drawn, as there is room for {MOST_PANELS} panels: {named}."
    return shown, beyond + (more if left else "")


def _list_bounds(conclusion: Conclusion, measure: str, drawn: Drawn) -> list[tuple[float, str]]:
    """Give the bounds that the wish sets to a measure, in the unit in which it is drawn."""
    found = []
    for condition in conclusion.sweep.criteria.constraints:
        if condition.term.measures == (measure,):
            bound = condition.read_bound(conclusion.terms[measure].info.kind)
            sign = condition.operator.replace(">=", "≥").replace("<=", "≤")
            found.append((bound / drawn.base, f"{sign} {condition.limit}"))
    return found


def _draw(
    rows: pl.DataFrame,
    drawn: Drawn,
    along: Factor,
    apart: Factor | None,
    marks: Sequence[tuple[float, str]],
    best: set[int | None],
) -> vl.Chart:
    scale = along.scale
    labels = list(along.labels)
    places: list[Any] = scale[0] if scale else [str(label) for label in labels]
    title = along.words
    series = [str(label) for label in apart.labels] if apart else [title]
    slots = {name: number for number, name in enumerate(series)}
    points = pl.DataFrame(
        {
            "x": [places[labels.index(value)] for value in rows[along.name]],
            "series": rows[apart.name].cast(pl.String).to_list() if apart else series * rows.height,
            "mean": rows["mean"] / drawn.base,
            "low": (rows["low"] / drawn.base).clip(lower_bound=drawn.least),
            "high": rows["high"] / drawn.base,
            "best": rows["setting"].is_in([own for own in best if own is not None]),
        }
    ).with_columns(slot=pl.col("series").replace_strict(slots, return_dtype=pl.Int64))
    chosen = highlight()
    place = "x:Q" if scale else "x:N"
    legend = colour(points, "circle")
    if not apart:
        legend = vl.Color(**_without_legend(legend))
    base = make_chart(points).encode(
        x=vl.X(place, title=name_axis(along), sort=None, **choose_scale(along)),
        color=legend,
        opacity=fade(chosen),
        tooltip=[
            *([vl.Tooltip("series:N", title=apart.words)] if apart else []),
            vl.Tooltip(place, title=name_axis(along)),
            vl.Tooltip("mean:Q", title=drawn.title, format=".4~g"),
        ],
    )
    y = encode(vl.Y, "mean", drawn)
    dots = base.mark_point(filled=True, size=45).encode(y=y)
    layers = [base.mark_rule().encode(y=encode(vl.Y, "low", drawn), y2="high:Q")]
    if scale:
        layers.insert(0, base.mark_line().encode(y=y))
    layers.append(dots.add_params(chosen))
    if points["best"].any():
        ring = base.mark_point(shape="circle", filled=False, size=190, strokeWidth=2)
        layers.append(ring.encode(y=y).transform_filter("datum.best"))
    numbered = (
        points if scale else points.with_columns(x=pl.col("x").replace_strict(_number(places)))
    )
    layers += _mark(numbered, marks, drawn, along, y="mean")
    return vl.layer(*layers)


def _number(places: Sequence[str]) -> dict[str, float]:
    """Give categories their places side by side, as numbers."""
    return {name: float(number) for number, name in enumerate(places)}


def _mark(
    points: pl.DataFrame,
    marks: Sequence[tuple[float, str]],
    drawn: Drawn,
    along: Factor | None,
    *,
    y: str,
) -> list[vl.Chart]:
    """Draw bounds across a chart, their words off its curves."""
    if along and choose_scale(along).get("scale", {}).get("type") == "log":
        points = points.with_columns(x=pl.col("x").cast(pl.Float64).log())
    return mark_among(points, marks, drawn.scale, x="x", y=y) if marks else []


def _without_legend(channel: vl.Color) -> dict[str, Any]:
    return {
        "shorthand": f"{channel['field']}:N",
        "scale": channel["scale"],
        "sort": channel["sort"],
        "legend": None,
    }


def name_axis(axis: Factor) -> str:
    """Name an axis in words, with the unit of its numbers."""
    scale = axis.scale
    return add_unit(axis.words, scale[1] if scale else "")


def choose_scale(axis: Factor) -> dict[str, Any]:
    """Choose an axis's scale and ticks: categories side by side, numbers as `space_values` does."""
    scale = axis.scale
    if scale is None:
        return {"axis": vl.Axis(labelAngle=0 if _is_short(axis) else -25, grid=False)}
    return space_values(scale[0])


def _is_short(axis: Factor) -> bool:
    """Say whether the names of categories stand beside each other on a narrow panel."""
    return sum(len(str(label)) + 2 for label in axis.labels) <= 48


# The trade-off.


def draw_trade_off(conclusion: Conclusion) -> Figure:
    """Draw the two measures that are most opposed against each other, a point for each setting.

    A line joins the settings along an axis of numbers; categories have a colour each.
    """
    trade_off = conclusion.trade_off
    if trade_off is None:
        raise ValueError("no two measures are opposed")
    grid, main = conclusion.grid, conclusion.grid.dimensions[trade_off.along]
    first, second = (conclusion.terms[name] for name in (trade_off.first, trade_off.second))
    lines = [
        [own for own in line if own in first.estimates and own in second.estimates]
        for line in grid.list_lines(trade_off.along)
    ]
    lines = [line for line in lines if line]
    is_joined = main.numbers is not None
    others = [
        own.name
        for number, own in enumerate(grid.dimensions)
        if number != trade_off.along and len(own.labels) > 1
    ]
    note = ""
    if is_joined and len(lines) > MOST_SERIES:
        step = (len(lines) - 1) / (MOST_SERIES - 1)
        kept = [lines[round(number * step)] for number in range(MOST_SERIES)]
        left = [grid.name_place(line[0], [trade_off.along]) for line in lines if line not in kept]
        note = (
            f" Not drawn, as there is room for {MOST_SERIES}: {list_names(left, MOST_NAMED, '; ')}."
        )
        lines = kept
    best = {own.setting for own in conclusion.list_bests(trade_off.along)}
    rows = []
    for line in lines:
        named = set(line) & best or {line[0], line[-1]}
        if len(lines) == 1 and len(line) <= MOST_TICKS:
            named = set(line)
        for setting in line:
            place = grid.find_place(setting)[trade_off.along]
            group = grid.name_place(setting, [trade_off.along])
            label = main.labels[place]
            rows.append(
                {
                    "series": (group or main.name) if is_joined else label,
                    "slot": lines.index(line) if is_joined else place,
                    "setting": ", ".join(filter(None, [label, group])),
                    "place": main.numbers[place] if main.numbers else place,
                    "group": group,
                    "label": label if is_joined and setting in named else "",
                    "best": setting in best,
                    **(read_ends("x", first, setting) or {}),
                    **(read_ends("y", second, setting) or {}),
                }
            )
    several = len({row["series"] for row in rows}) > 1
    groups = [] if is_joined else list(dict.fromkeys(str(row["group"]) for row in rows))
    chart, beyond = _draw_against(
        conclusion, pl.DataFrame(rows), first, second, several=several, groups=groups
    )
    note += beyond
    told = f"Each point is a setting of {main.name}"
    if others:
        of = " and ".join(others)
        told += f", each line of one {of}" if is_joined else f", each shape of one {of}"
    if best - {None}:
        told += "; a ring marks the best"
    interval = (
        " The bars are 95 % intervals over seeds." if len(conclusion.sweep.design.seeds) > 1 else ""
    )
    name = f"{trade_off.first} against {trade_off.second}"
    return Figure(
        "trade-off",
        capitalise(f"{name}, by {main.name}"),
        f"{told}.{interval}{note}",
        [Panel("", chart, "trade-off")],
        note,
    )


def _draw_against(
    conclusion: Conclusion,
    rows: pl.DataFrame,
    first: MeasureValues,
    second: MeasureValues,
    *,
    several: bool,
    groups: Sequence[str],
) -> tuple[vl.Chart, str]:
    """Draw the points, and give a sentence for the bounds for which there is no room."""
    axes, marks, beyond = {}, {}, ""
    for name, measured in (("x", first), ("y", second)):
        ends = {"low": pl.col(f"{name}_low"), "high": pl.col(f"{name}_high")}
        own = rows.select(mean=pl.col(name), **ends)
        drawn = choose_axis(own, measured.info, from_zero=False)
        bounds = _list_bounds(conclusion, measured.info.name, drawn)
        axes[name], marks[name], left = make_room(drawn, bounds)
        beyond += left.replace(" The bound", f" The bound {measured.info.name}")
    x, y = axes["x"], axes["y"]
    points = scale_columns(scale_columns(rows, "x", x), "y", y).rename({"place": "step"})
    chosen = highlight()
    legend = colour(points, "circle")
    base = make_chart(points).encode(
        x=encode(vl.X, "x", x),
        y=encode(vl.Y, "y", y),
        color=legend if several else vl.Color(**_without_legend(legend)),
        opacity=fade(chosen),
        tooltip=[
            vl.Tooltip("setting:N", title=" "),
            *list_tooltips(x, y),
        ],
    )
    dots = base.mark_point(filled=True, size=60 if len(groups) > 1 else 45)
    if len(groups) > 1:
        forms = vl.Scale(
            domain=groups, range=[SHAPES[own % len(SHAPES)] for own in range(len(groups))]
        )
        # Below the chart: beside the colours' there is no room on a narrow page.
        legend_of_groups = vl.Legend(**make_legend(groups), orient="bottom")
        dots = dots.encode(shape=vl.Shape("group:N", scale=forms, legend=legend_of_groups))
    layers = []
    if conclusion.main_axis.numbers:
        layers.append(base.mark_line(strokeWidth=1.5).encode(order=vl.Order("step:Q")))
    layers += [*draw_intervals(base, x, y), dots.add_params(chosen)]
    if points["best"].any():
        ring = base.mark_point(shape="circle", filled=False, size=190, strokeWidth=2)
        layers.append(ring.transform_filter("datum.best"))
    text = base.mark_text(align="left", baseline="bottom", dx=7, dy=-3, style="halo")
    named = text.encode(text="label:N").transform_filter("datum.label != ''")
    layers += draw_halo(named)
    told = [(value, f"{second.info.name} {words}") for value, words in marks["y"]]
    layers += _mark(points, told, y, None, y="y")
    layers += [mark_along(value, f"{first.info.name} {words}", "x") for value, words in marks["x"]]
    return vl.layer(*layers), beyond
