"""What each of many gets: a point for every member, ordered from the best to the worst."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel, lay_out
from headend.figures.placing import mark_among
from headend.figures.selection import find_flow_groups, order_flows
from headend.figures.theme import colour, fade, highlight, list_numbers, make_chart
from headend.results.record import Record

#: Members drawn of one group; of more, evenly chosen ones, with the best and the worst.
MOST_MEMBERS = 250

#: What to say where members are drawn.
NOTE = (
    " Of many of one kind, each point is a member, from the best on the left to the worst on the"
    " right: its median, and on the thin line what it gets from its 5th to its 95th percentile."
)


def draw_members(
    results: Sequence[Record],
    suffixes: Mapping[str, str],
    factor: float,
    title: str,
    scale: vl.Scale,
    *,
    rising: bool = False,
    marks: Sequence[tuple[float, str]] = (),
) -> tuple[list[Panel], str]:
    """Draw the members of groups by measures, and name what was left out.

    Suffixes tell the measures of a flow apart, the factor leads from their unit to that of the
    title, and ``rising`` says that more is better. Marks are known values with their meanings,
    drawn as lines across; then the scale has a domain.
    """
    frames = {
        result.label: _gather(results, result, suffixes, factor, rising) for result in results
    }

    def draw(rows: pl.DataFrame) -> vl.Chart:
        layers = _draw_layers(rows, title, scale, len(results))
        return vl.layer(*layers, *(mark_among(rows, marks, scale, x="share") if marks else ()))

    panels, left_out = lay_out(frames, draw, partial(order_flows, results))
    if len(results) == 1:
        name = f"{title.split(' (')[0]} of each"
        panels = [Panel("Member by member", panel.chart, name) for panel in panels]
    return panels, left_out


def _gather(
    results: Sequence[Record],
    result: Record,
    suffixes: Mapping[str, str],
    factor: float,
    rising: bool,
) -> pl.DataFrame:
    groups = find_flow_groups(results)
    rows = result.measures.filter(
        pl.col("measure").is_in(list(suffixes)) & pl.col("flow").is_in(list(groups))
    )
    several = rows["measure"].n_unique() > 1
    parts = []
    for group in dict.fromkeys(groups.values()):
        for measure, suffix in suffixes.items():
            is_member = (pl.col("measure") == measure) & pl.col("flow").is_in(group.members)
            members = rows.filter(is_member)
            if members.height:
                key = group.label + (suffix if several else "")
                known = members["flow"].n_unique()
                # Side by side, panels are by name: there it has to be the same in every run.
                if known < len(group.members) and len(results) == 1:
                    key += f", {known} of them measured"
                ordered = _order_members(members, factor, rising)
                parts.append(ordered.with_columns(key=pl.lit(key)))
    # Members of equal rank stand beside each other, not one behind the other.
    beside = [
        part.with_columns(
            share=((pl.col("place") + (number + 0.5) / len(parts)) / pl.col("count")).round(4)
        )
        for number, part in enumerate(parts)
    ]
    return pl.concat(beside).drop("place", "count") if beside else pl.DataFrame()


def _order_members(rows: pl.DataFrame, factor: float, rising: bool) -> pl.DataFrame:
    """Put members in order; who has no value, such as a page that failed, is right, unmarked."""
    count = rows.height
    ordered = rows.filter(pl.col("p50").is_not_nan()).sort("p50", descending=rising)
    place = pl.int_range(pl.len())
    step = -(-count // MOST_MEMBERS)
    values = {"value": "p50", "low": "p5", "high": "p95"}
    return ordered.select(
        place.alias("place"),
        pl.lit(count).alias("count"),
        *(
            (pl.col(column) * factor).round_sig_figs(4).alias(name)
            for name, column in values.items()
        ),
        member="flow",
    ).filter((place % step == 0) | (place == pl.len() - 1))


def _draw_layers(rows: pl.DataFrame, title: str, scale: vl.Scale, runs: int) -> list[vl.Chart]:
    chosen = highlight()
    base = make_chart(
        rows.select("share", "value", "low", "high", "member", "series", "slot")
    ).encode(
        x=vl.X(
            "share:Q",
            title="members, from best to worst",
            axis=vl.Axis(format="~%", grid=False, values=[0, 0.25, 0.5, 0.75, 1]),
            scale=vl.Scale(domain=[0, 1], nice=False),
        ),
    )
    points = (
        base.mark_point(filled=True, size=16, clip=True)
        .encode(
            y=vl.Y("value:Q", title=title, scale=scale),
            color=colour(rows),
            opacity=fade(chosen),
            tooltip=[
                vl.Tooltip("member:N", title=" "),
                vl.Tooltip("series:N", title="of"),
                *list_numbers(value="median", low="5th percentile", high="95th percentile"),
            ],
        )
        .add_params(chosen)
    )
    if runs > 1:  # the thin lines of several runs would hide each other
        return [points]
    spans = base.mark_rule(opacity=0.25, clip=True).encode(
        y=vl.Y("low:Q", title=title, scale=scale), y2="high:Q", color=colour(rows)
    )
    return [spans, points]
