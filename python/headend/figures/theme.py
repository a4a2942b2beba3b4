"""How figures look: colours for all eyes, light and dark, and the marks people know."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import polars as pl

from headend.figures import vegalite as vl

#: Colours of flows, runs and settings, in the order in which they are given out. They were chosen
#: to be far from each other for those too who see no red or no green (Machado and others 2009; the
#: nearest of the first six are 23 apart in CIE 1976), far from the colours of grades, which are
#: green, yellow, orange and red, and to stand out from a white and from a dark page (WCAG 2.2,
#: 1.4.11: 3 to 1).
PALETTE = (
    "#0072B2",
    "#9A7B4F",
    "#7C4DFF",
    "#0AA0A0",
    "#5A8CFA",
    "#825A5A",
    "#A05195",
    "#28A0C8",
    "#326E8C",
)

#: Colours of queues, so that none is taken for a flow; their slots begin here.
QUEUES = 1000
QUEUE_TONES = ("#7D8A99", "#5F6B78", "#8592A0", "#6E7A88")

#: Colours of the reasons for which packets are lost, for the same purpose, by the engine's names.
#: Their lightness (L* of CIE 1976) is 5 apart at least, and 13 among those that are met most: a
#: full buffer, an AQM, the retries of a radio, a policer and losses of the path. Some are near to a
#: page's own, so their bars have an outline in the colour of what is in the background.
REASON_TONES = {
    "overlimit": "#DED6CC",
    "congested": "#585149",
    "retry_limit": "#ACA59B",
    "policed": "#7A736A",
    "corrupted": "#2F2921",
    "ack_thinned": "#EFE7DD",
    "forced": "#CDC5BB",
    "flow_limit": "#BDB5AB",
    "service_flow_deleted": "#9C958B",
    "not_registered": "#8C857C",
    "unresponsive": "#6B655C",
    "filtered": "#433D35",
}

#: Reasons whose colour is so dark that what is written on it is white.
DARK_REASONS = ("congested", "policed", "corrupted", "unresponsive", "filtered")
FAINT = "#8C8C8C"

#: Dashes and shapes for those who see no colour at all: one of each goes with each colour.
DASHES = (
    (1, 0),
    (8, 3),
    (2, 2),
    (8, 3, 2, 3),
    (4, 4),
    (14, 3),
    (8, 3, 2, 3, 2, 3),
    (14, 3, 5, 3),
    (1, 4),
)

#: A cross that stands on its feet, as a path within −1 and 1.
SALTIRE = "M-1,-.6L-.6,-1L0,-.4L.6,-1L1,-.6L.4,0L1,.6L.6,1L0,.4L-.6,1L-1,.6L-.4,0Z"

SHAPES = (
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "cross",
    "triangle-down",
    SALTIRE,
    "triangle-left",
    "triangle-right",
)

WIDTH, HEIGHT = 640, 260

#: Of the width of an axis, so much is taken by the label at an end.
ROOM_FOR_LABEL = 0.06

#: A logarithmic axis of up to so many powers of ten is labelled at these steps of each.
MOST_STEPPED, LOG_STEPS = 3, (1, 2, 5)

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"


def configure(*, dark: bool = False) -> dict[str, Any]:
    """Give the Vega-Lite configuration for one background."""
    text = "#d8dee6" if dark else "#24292f"
    faint = "#3a424c" if dark else "#e2e5e9"
    soft = "#9aa5b1" if dark else "#57606a"
    page = "#14181d" if dark else "#ffffff"
    return {
        "background": "transparent" if dark else None,
        "font": FONT,
        "view": {"stroke": None},
        "axis": {
            "labelColor": soft,
            "titleColor": text,
            "gridColor": faint,
            "domainColor": soft,
            "tickColor": soft,
            "titleFontWeight": "normal",
            "labelFontSize": 11,
            "titleFontSize": 12,
            "titlePadding": 8,
        },
        "legend": {
            "labelColor": text,
            "titleColor": text,
            "orient": "top",
            "direction": "horizontal",
            "labelFontSize": 12,
            "symbolStrokeWidth": 3,
            # Shapes that have no colour of their own.
            "symbolBaseFillColor": soft,
            "symbolBaseStrokeColor": soft,
            # Whatever is drawn first may be a pale band.
            "symbolOpacity": 1,
            "title": None,
        },
        "title": {
            "color": text,
            "anchor": "start",
            "fontSize": 14,
            "subtitleColor": soft,
            "subtitleFontSize": 11,
        },
        "rule": {"color": soft},
        "text": {"color": soft, "font": FONT, "fontSize": 11},
        # Keeps what is written on a chart legible over its lines.
        "style": {"halo": {"stroke": page, "strokeWidth": 4, "strokeJoin": "round"}},
    }


def make_chart(rows: pl.DataFrame) -> vl.Chart:
    """Start a chart on rows, held inside it."""
    return vl.Chart(rows)


def list_series(rows: pl.DataFrame) -> list[tuple[str, int]]:
    """Give the series of some rows with their slots (palette places), by slot or ``place``."""
    by = ["place" if "place" in rows.columns else "slot", "series"]
    names = [*dict.fromkeys([*by, "slot"])]
    series = rows.lazy().select(names).unique().sort(by).select("series", "slot").collect()
    return list(series.iter_rows())


def choose_tone(slot: int) -> str:
    """Give the colour of a slot, a place in the palette, or in ``QUEUES`` among those of queues."""
    tones = QUEUE_TONES if slot >= QUEUES else PALETTE
    return tones[slot % QUEUES % len(tones)]


def colour(rows: pl.DataFrame, symbol: Literal["stroke", "circle"] | None = "stroke") -> vl.Color:
    """Tell series apart by colour, the same for a flow or run in every figure.

    Dashes and shapes need not be said: `apart.tell_apart` adds those that go with the colours.
    """
    series = list_series(rows)
    names = [name for name, _ in series]
    return vl.Color(
        "series:N",
        scale=vl.Scale(domain=names, range=[choose_tone(slot) for _, slot in series]),
        legend=make_legend(names, symbol),
        sort=names,
    )


def make_legend(
    names: Sequence[str], symbol: Literal["stroke", "circle"] | None = None
) -> vl.Legend:
    """Make a legend in the order given; it gets as many columns as there is room for."""
    legend = vl.Legend(title=None, values=list(names))
    return legend | ({"symbolType": symbol} if symbol else {})


def time_axis() -> vl.X:
    """Put simulated time along the bottom."""
    return vl.X(
        "time_s:Q",
        title="simulated time (s)",
        axis=vl.Axis(grid=False, tickCount={"expr": "max(2, min(8, floor(width / 60)))"}),
        scale=vl.Scale(nice=False, zero=True),
    )


def share_axis(what: str) -> vl.Y:
    """Put the cumulative share of something up the side, to draw distributions against."""
    return vl.Y(
        "share:Q",
        title=f"share of {what} within",
        scale=vl.Scale(domain=[0, 1]),
        axis=vl.Axis(format="~%"),
    )


def log_axis(domain: tuple[float, float], *, ends: bool = False) -> vl.Axis:
    """Label a logarithmic axis at 1, 2 and 5 of each power of ten, or at powers if many.

    With ``ends``, the ends of the domain are labelled too, and nothing that would run into them.
    """
    low, high = math.floor(math.log10(domain[0])), math.ceil(math.log10(domain[1]))
    steps = LOG_STEPS if high - low <= MOST_STEPPED else (1,)
    values = [step * 10.0**power for power in range(low, high + 1) for step in steps]
    if ends:
        room = (domain[1] / domain[0]) ** ROOM_FOR_LABEL
        between = [value for value in values if domain[0] * room < value < domain[1] / room]
        values = [domain[0], *between, domain[1]]
    # Vega's own words for a logarithmic scale leave out what is further than a few steps from a
    # power of ten.
    return vl.Axis(values=values, labelExpr="format(datum.value, ',~r')", labelSeparation=8)


def log_scale(domain: tuple[float, float]) -> vl.Scale:
    """Give a logarithmic scale from one end of a domain to the other."""
    return vl.Scale(type="log", domain=list(domain), nice=False)


def list_numbers(**titles: str) -> list[vl.Tooltip]:
    """Write numbers of a mark under the pointer, each field with a title."""
    return [vl.Tooltip(f"{field}:Q", title=title, format=".4~g") for field, title in titles.items()]


def hover(**titles: str) -> list[vl.Tooltip]:
    """Write the series of a mark under the pointer, and its numbers by field, with titles."""
    return [vl.Tooltip("series:N", title=" "), *list_numbers(**titles)]


def draw_lines(rows: pl.DataFrame, y: vl.Y) -> vl.Chart:
    """Draw ``value`` over time, a line for each series, which can be chosen in the legend."""
    chosen = highlight()
    return (
        make_chart(rows.select("time_s", "value", "series", "slot"))
        .mark_line(strokeWidth=1.6, clip=True)
        .encode(
            x=time_axis(),
            y=y,
            color=colour(rows),
            tooltip=hover(time_s="s", value=y["title"]),
            opacity=fade(chosen),
        )
        .add_params(chosen)
    )


def draw_band(rows: pl.DataFrame, title: str) -> vl.Chart:
    """Draw the bands of what stands for many, from ``low`` to ``high`` over time."""
    shown = rows.filter(pl.col("low").is_not_null())
    return (
        make_chart(shown.select("time_s", "low", "high", "series", "slot"))
        .mark_area(opacity=0.18, clip=True)
        .encode(
            x=time_axis(),
            y=vl.Y("low:Q", title=title),
            y2="high:Q",
            color=colour(rows),
            tooltip=hover(low="10th percentile", high="90th percentile"),
        )
    )


def highlight() -> vl.Parameter:
    """Make the legend clickable: the chosen series stays, the others fade."""
    return vl.selection_point("chosen", fields=["series"], bind="legend")


def fade(selection: vl.Parameter) -> dict[str, Any]:
    """Fade what is not chosen in the legend."""
    return vl.condition(selection, 1, 0.12)


def mark_across(
    value: float, text: str, *, near_left: bool = False, below: bool | None = None
) -> vl.Chart:
    """Draw a known mark as a horizontal line with its meaning: at the right end, or left below.

    ``below`` says it otherwise; ``placing.mark_among`` chooses both where it knows the curves.
    """
    is_below = near_left if below is None else below
    data = make_chart(pl.DataFrame({"mark": [value], "meaning": [text]}))
    line = data.mark_rule(strokeDash=[4, 3]).encode(y="mark:Q")
    label = data.mark_text(
        style="halo",
        align="left" if near_left else "right",
        dy=8 if is_below else -6,
        dx=0 if near_left else -2,
    ).encode(y="mark:Q", x=vl.value(4 if near_left else "width"), text="meaning:N")
    return vl.layer(line, *_write_over(label))


def mark_across_in_corner(value: float, text: str, *, to_left: bool = False) -> vl.Chart:
    """Draw a known mark as a horizontal line that curves run along, its meaning in a corner.

    The scale has to leave room there, as that of ``leave_headroom`` does.
    """
    data = make_chart(pl.DataFrame({"mark": [value], "meaning": [f"- -  {text}"]}))
    line = data.mark_rule(strokeDash=[4, 3]).encode(y="mark:Q")
    label = data.mark_text(
        align="left" if to_left else "right", baseline="top", dx=4 if to_left else -2
    ).encode(y=vl.value(2), x=vl.value(0 if to_left else "width"), text="meaning:N")
    return vl.layer(line, label)


def leave_headroom(most: float) -> vl.Scale:
    """Give a scale from zero, with room above all curves for a line of text."""
    return vl.Scale(zero=True, domainMax=most * HEIGHT / (HEIGHT - 24), nice=False)


def mark_along(
    value: float, text: str, field: str, *, to_left: bool = False, above: bool = False
) -> vl.Chart:
    """Draw a known mark as a vertical line with its meaning beside it, or above the panel.

    Above, ``to_left`` ends the text at the line, so that another mark has room on its right.
    """
    data = make_chart(pl.DataFrame({field: [value], "meaning": [text]}))
    line = data.mark_rule(strokeDash=[4, 3]).encode(x=f"{field}:Q")
    if above:
        over = data.mark_text(align="right" if to_left else "center", baseline="bottom")
        return vl.layer(line, over.encode(x=f"{field}:Q", y=vl.value(-3), text="meaning:N"))
    align, dx = ("right", -4) if to_left else ("left", 4)
    label = data.mark_text(style="halo", align=align, dx=dx, baseline="top").encode(
        x=f"{field}:Q", y=vl.value(2), text="meaning:N"
    )
    return vl.layer(line, *_write_over(label))


def shade_along(end: float, text: str, field: str, *, is_wide: bool) -> vl.Chart:
    """Shade a chart from its left edge on, and write what that is, inside or on its right."""
    meaning = text if is_wide else f"← {text}"
    data = make_chart(pl.DataFrame({"begin": [0.0], field: [end], "meaning": [meaning]}))
    ground = data.mark_rect(color=FAINT, opacity=0.14).encode(
        x=f"{field}:Q", x2="begin:Q", y=vl.value(0), y2=vl.value("height")
    )
    align, dx = ("right", -4) if is_wide else ("left", 3)
    label = data.mark_text(style="halo", align=align, dx=dx, baseline="top").encode(
        x=f"{field}:Q", y=vl.value(2), text="meaning:N"
    )
    return vl.layer(ground, *_write_over(label))


def _write_over(label: vl.Chart) -> tuple[vl.Chart, vl.Chart]:
    """Write a label on a halo of the page's colour, so that no lines run through it."""
    return label, label.properties(mark={**label.parts["mark"], "style": "text"})
