"""The shares that two congestion controls get of one line."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any, Literal

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import make_chart
from headend.study import ClaimResult, ClaimVerdict, Decision, decide_over_seeds, join_decisions

#: Grades the colours of a chart, and what lies in their middle.
Scale = tuple[Literal["linear", "log"], list[float], list[str]]

BLUE, PALE, RED = "#0072B2", "#f2f2f2", "#D55E00"


def place(points: pl.DataFrame) -> pl.DataFrame:
    """Give a row for each run: the first flow's share of goodput, and Jain's evenness."""
    share = pl.col("one") / (pl.col("one") + pl.col("other"))
    return points.with_columns(
        control=pl.col("pair").str.split(" + ").list.first(),
        rival=pl.col("pair").str.split(" + ").list.last(),
        share=share,
        larger=pl.max_horizontal(share, 1 - share),
        jain=1 / (2 * (share**2 + (1 - share) ** 2)),
    )


def average(points: pl.DataFrame) -> pl.DataFrame:
    """Give a row for each pair and queue: means over the seeds."""
    means = pl.col("share", "larger", "jain", "delay", "loss_one").mean()
    return place(points).group_by("control", "rival", "queue", maintain_order=True).agg(means)


def take(points: pl.DataFrame, name: str, *pair: str, queue: str) -> list[float]:
    """Give a number of each seed for a pair in a queue."""
    control, rival = pair
    rows = place(points).filter(control=control, rival=rival, queue=queue).sort("seed")
    return rows[name].to_list()


def check_share(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold what a control has beside others against its bounds, in each of the queues."""
    low, high = give_bounds(limits)
    found = {}
    for rival, queue in itertools.product(limits.get("rivals", ["cubic"]), limits["queues"]):
        if values := take(points, "share", limits["control"], rival, queue=queue):
            found[f"{queue}, beside {rival}"] = decide_over_seeds(values, low, high)
    return describe_decisions(found)


def give_bounds(limits: dict[str, Any]) -> tuple[float, float]:
    """Give the bounds of a share; with a factor, of two rates within it of each other."""
    if factor := limits.get("factor"):
        return 1 / (1 + factor), factor / (1 + factor)
    return limits.get("least", -math.inf), limits.get("most", math.inf)


def check_falling(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold a control's share against its bound in each queue, and in the next longer one."""
    found = {}
    for rival in limits["rivals"]:
        shares = [
            take(points, "share", limits["control"], rival, queue=queue)
            for queue in limits["queues"]
        ]
        if not all(shares):
            continue
        for queue, own in zip(limits["queues"], shares, strict=True):
            found[f"{queue}, beside {rival}"] = decide_over_seeds(own, high=limits["most"])
        for longer, (short, long) in zip(
            limits["queues"][1:], itertools.pairwise(shares), strict=True
        ):
            falls = [before - after for before, after in zip(short, long, strict=True)]
            found[f"less through {longer}, beside {rival}"] = decide_over_seeds(falls, low=0.0)
    return describe_decisions(found)


def check_alike(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look at Jain's index of two flows of the same control."""
    rows = place(points).filter(
        pl.col("control") == pl.col("rival"), pl.col("control").is_in(limits["controls"])
    )
    if rows.is_empty():
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    found = {
        f"{control}, {queue}": decide_over_seeds(own["jain"].to_list(), low=limits["least"])
        for (control, queue), own in rows.group_by("control", "queue", maintain_order=True)
    }
    least = min(found, key=lambda name: found[name].mean)
    agreeing = sum(cell.verdict is ClaimVerdict.REPRODUCED for cell in found.values())
    text = f"{agreeing} of {len(found)} cells, the least {found[least].mean:.3f} ({least})"
    return dataclasses.replace(describe_decisions(found), measured=text)


def describe_decisions(found: dict[str, Decision]) -> ClaimResult:
    """Make one finding of several decisions: differing if one is, or undecided if one is.

    Parameters
    ----------
    found
        The decisions by what they are about.
    """
    if not found:
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    named = {
        verdict: [name for name, own in found.items() if own.verdict is verdict]
        for verdict in (ClaimVerdict.DIFFERS, ClaimVerdict.UNDECIDED)
    }
    text = ", ".join(f"{own.mean:.0%} ({name})" for name, own in found.items())
    why = "; ".join(
        f"{verdict.value}: {', '.join(names)}" for verdict, names in named.items() if names
    )
    return join_decisions(found.values(), text, why)


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


def _draw(rows: pl.DataFrame, column: str, form: str, title: str, scale: Scale) -> vl.Chart:
    kind, domain, colours = scale
    queues = rows["queue"].unique(maintain_order=True).to_list()
    floor = rows.with_columns(pl.col(column).clip(domain[0], domain[-1]).alias("shade"))
    base = make_chart(floor).encode(
        x=vl.X("queue:N", title=None, sort=queues, axis=vl.Axis(labelAngle=0)),
        y=vl.Y("control:N", title=None),
    )
    cells = base.mark_rect().encode(
        color=vl.Color(
            "shade:Q",
            title=title,
            scale=vl.Scale(type=kind, domain=domain, range=colours),
            legend=vl.Legend(format=".0%" if form.endswith("%") else "~g"),
        )
    )
    numbers = base.mark_text(color="#24292f").encode(text=vl.Text(f"{column}:Q", format=form))
    return vl.layer(cells, numbers)
