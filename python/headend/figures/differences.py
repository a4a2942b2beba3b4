"""What sets variants apart: figures as multiples of the first variant's, with intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from headend.analysis.estimate import format_difference
from headend.comparison.comparison import MetricRow, Variant
from headend.figures import vegalite as vl
from headend.figures.figure import Figure, Panel
from headend.figures.theme import colour, fade, highlight, log_axis, log_scale, make_chart

#: A figure that becomes less than this of what it was, or more than its inverse, has no point; an
#: interval may reach further.
FURTHEST = 1000.0


def draw_differences(variants: Sequence[Variant], rows: Sequence[MetricRow]) -> Figure | None:
    """Draw figures as multiples of the first variant's, where seeds give an interval."""
    points = [point for row in rows for point in _compare(variants, row)]
    if not points or max(len(variant.results) for variant in variants) < 2:
        return None
    base = variants[0].label
    return Figure(
        "differences",
        f"Differences to {base}",
        f"Each figure as a multiple of what {base} has; the line is the 95 % interval of the paired"
        " difference over seeds. Where it crosses 1, these seeds cannot tell the two apart. ◀ and"
        " ▶ at the edges: it goes on beyond what is drawn, to the left as far as zero or below,"
        " which have no place on this axis. ↑ more is better; otherwise less.",
        [Panel("", _draw(pl.DataFrame(points)))],
    )


def _compare(variants: Sequence[Variant], row: MetricRow) -> Iterator[dict[str, Any]]:
    base = row.cells[0]
    if base is None or not base.estimate.mean > 0:
        return
    level, metric = base.estimate.mean, row.metric
    for slot, (variant, cell) in enumerate(zip(variants, row.cells, strict=True)):
        difference = cell.difference if cell else None
        if difference is None or math.isnan(difference.half):
            continue
        low, middle, high = (
            1 + change / level for change in (difference.low, difference.mean, difference.high)
        )
        yield {
            "figure": f"{metric.subject}: {metric.name}{' ↑' if metric.rising else ''}",
            "series": variant.label,
            "slot": slot,
            "low": low,
            "ratio": middle,
            "high": high,
            "difference": format_difference(difference, metric.kind, row.unit, level),
        }


def _draw(points: pl.DataFrame) -> vl.Chart:
    chosen = highlight()
    figures = points["figure"].unique(maintain_order=True).to_list()
    series = points["series"].unique(maintain_order=True).to_list()
    domain = _choose_domain(points["ratio"].to_list())
    points = _cut(points, domain)
    base = make_chart(points).encode(
        y=vl.Y("figure:N", title=None, sort=figures, axis=vl.Axis(labelLimit=260, grid=True)),
        yOffset=vl.YOffset("series:N", sort=series),
        color=colour(points, "circle"),
        opacity=fade(chosen),
        tooltip=[
            vl.Tooltip("series:N", title=" "),
            vl.Tooltip("figure:N", title="figure"),
            vl.Tooltip("difference:N", title="difference"),
            vl.Tooltip("times:Q", title="times", format=".3~g"),
        ],
    )
    scale = log_scale(domain)
    axis = vl.X("low:Q", title="times the first", scale=scale, axis=log_axis(domain))
    spans = base.mark_rule(strokeWidth=2, clip=True).encode(x=axis, x2="high:Q")
    middles = base.mark_point(filled=True, size=36, clip=True).encode(
        x=vl.X("ratio:Q", scale=scale)
    )
    one = (
        make_chart(pl.DataFrame({"ratio": [1.0]})).mark_rule(strokeDash=[4, 3]).encode(x="ratio:Q")
    )
    edges = [
        base.transform_filter("datum.beyond_low")
        .mark_text(text="◀", align="left", baseline="middle", fontSize=12)
        .encode(x=vl.X("low:Q", scale=scale)),
        base.transform_filter("datum.beyond_high")
        .mark_text(text="▶", align="right", baseline="middle", fontSize=12)
        .encode(x=vl.X("high:Q", scale=scale)),
    ]
    height = len(figures) * max(16, 9 * len(series))
    return vl.layer(one, spans, *edges, middles.add_params(chosen)).properties(height=height)


def _choose_domain(ratios: Sequence[float]) -> tuple[float, float]:
    """Give what is drawn from and to: twice as far as the means on a logarithmic axis."""
    known = [ratio for ratio in ratios if 1 / FURTHEST <= ratio <= FURTHEST]
    return min([ratio / 2 for ratio in known] + [0.5]), max([ratio * 2 for ratio in known] + [2.0])


def _cut(points: pl.DataFrame, domain: tuple[float, float]) -> pl.DataFrame:
    """Cut intervals at the edges and say so; a mean beyond them has no point."""
    first, last = domain
    return points.with_columns(
        pl.col("low", "high").clip(first, last),
        beyond_low=pl.col("low") < first,
        beyond_high=pl.col("high") > last,
        times="ratio",
        ratio=pl.when(pl.col("ratio").is_between(first, last)).then("ratio"),
    )
