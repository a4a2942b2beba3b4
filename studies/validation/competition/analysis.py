"""The shares that two congestion controls get of one line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import altair as alt
import polars as pl

from headend.figures.figure import Panel
from headend.figures.theme import make_chart
from headend.study.claims import Finding, Verdict, decide

if TYPE_CHECKING:
    from headend.figures.theme import AnyChart

#: Grades the colours of a chart, and what lies in their middle.
Scale = tuple[Literal["linear", "log"], list[float], list[str]]

BLUE, PALE, RED = "#0072B2", "#f2f2f2", "#D55E00"


def average(points: pl.DataFrame) -> pl.DataFrame:
    """Give a row for each pair and queue: means over the seeds, and the 95 % interval of the share."""
    share = pl.col("one") / (pl.col("one") + pl.col("other"))
    rows = points.with_columns(
        control=pl.col("pair").str.split(" + ").list.first(),
        rival=pl.col("pair").str.split(" + ").list.last(),
        share=share,
        larger=pl.max_horizontal(share, 1 - share),
        jain=1 / (2 * (share**2 + (1 - share) ** 2)),
    )
    means = pl.col("share", "larger", "jain", "delay", "loss_one", "utilisation").mean()
    groups = rows.group_by("control", "rival", "queue", maintain_order=True)
    return groups.agg(means, seeds=pl.len(), spread=pl.col("share").std())


def check_share(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Hold a control's share beside CUBIC against its bounds, in each of the queues."""
    rows = average(points).filter(
        pl.col("control") == limits["control"],
        pl.col("rival") == "cubic",
        pl.col("queue").is_in(limits["queues"]),
    )
    if rows.is_empty():
        return Finding("no such run", Verdict.UNTESTABLE)
    inside = pl.col("share").is_between(limits["least"], limits["most"])
    outside = rows.filter(~inside)["queue"].to_list()
    reason = limits.get("why", "no reason is known")
    return Finding(
        ", ".join(f"{row['share']:.0%} ({row['queue']})" for row in rows.iter_rows(named=True)),
        decide(not outside),
        why=f"outside through {', '.join(outside)}: {reason}" if outside else "",
    )


def check_alike(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Look at Jain's index of two flows of the same control."""
    rows = average(points).filter(
        pl.col("control") == pl.col("rival"), pl.col("control").is_in(limits["controls"])
    )
    if rows.is_empty():
        return Finding("no such run", Verdict.UNTESTABLE)
    unlike = rows.filter(pl.col("jain") < limits["least"]).sort("jain")
    named = [
        f"{row['control']} {row['jain']:.2f} ({row['queue']})"
        for row in unlike.iter_rows(named=True)
    ]
    least = rows.sort("jain").row(0, named=True)
    text = (
        f"{rows.height - unlike.height} of {rows.height} cells, the least {least['jain']:.3f}"
        f" ({least['control']}, {least['queue']})"
    )
    return Finding(text, decide(not named), why=", ".join(named))


def draw_shares(points: pl.DataFrame) -> list[Panel]:
    """Draw the shares beside CUBIC and beside the same control."""
    scale: Scale = ("linear", [0.0, 0.5, 1.0], [BLUE, PALE, RED])
    rows = average(points)
    beside, alike = _split(rows)
    return [
        Panel("Beside CUBIC", _draw(beside, "share", ".0%", "share of the goodput", scale)),
        Panel(
            "Beside itself: the larger share",
            _draw(alike, "larger", ".0%", "larger share of the goodput", scale),
        ),
    ]


def draw_delays(points: pl.DataFrame) -> list[Panel]:
    """Draw the median queue delay."""
    scale: Scale = ("log", [0.1, 5.0, 200.0], ["#ffffff", "#9ecae1", BLUE])
    rows = average(points).with_columns(pl.col("delay") / 1e6)
    titles = ("Beside CUBIC", "Beside itself")
    return [
        Panel(title, _draw(part, "delay", ".1f", "median queue delay, ms", scale))
        for title, part in zip(titles, _split(rows), strict=True)
    ]


def draw_losses(points: pl.DataFrame) -> list[Panel]:
    """Draw the first flow's losses."""
    scale: Scale = ("linear", [0.0, 2.0, 10.0], ["#ffffff", "#fdd0a2", RED])
    rows = average(points).with_columns(pl.col("loss_one") * 100)
    titles = ("Beside CUBIC", "Beside itself")
    return [
        Panel(title, _draw(part, "loss_one", ".2f", "packets dropped, %", scale))
        for title, part in zip(titles, _split(rows), strict=True)
    ]


def _split(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    return (
        rows.filter(pl.col("rival") == "cubic"),
        rows.filter(pl.col("control") == pl.col("rival")),
    )


def _draw(rows: pl.DataFrame, column: str, form: str, title: str, scale: Scale) -> AnyChart:
    kind, domain, colours = scale
    queues = rows["queue"].unique(maintain_order=True).to_list()
    floor = rows.with_columns(pl.col(column).clip(domain[0], domain[-1]).alias("shade"))
    base = make_chart(floor).encode(
        x=alt.X("queue:N", title=None, sort=queues, axis=alt.Axis(labelAngle=0)),
        y=alt.Y("control:N", title=None),
    )
    cells = base.mark_rect().encode(
        color=alt.Color(
            "shade:Q",
            title=title,
            scale=alt.Scale(type=kind, domain=domain, range=colours),
            legend=alt.Legend(format=".0%" if form.endswith("%") else "~g"),
        )
    )
    numbers = base.mark_text(color="#24292f").encode(text=alt.Text(f"{column}:Q", format=form))
    return alt.layer(cells, numbers)
