"""Losses beside a flood, and how full a queue stands under policies of the CBT paper."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from headend.figures.figure import Panel
from headend.figures.theme import colour, make_chart, mark_across
from headend.study.claims import Finding, decide

if TYPE_CHECKING:
    from headend.figures.theme import AnyChart

#: IP bytes of every packet but acknowledgements, and places in the queue.
PACKET, PLACES = 1000, 60


def sum_losses(points: pl.DataFrame) -> dict[str, tuple[float, float, float]]:
    """Give the shares that the flood and the small senders lose, all seeds together, and the latter's error, by queue."""
    rows = points.filter(pl.col("traffic") == "flood")
    sums = rows.group_by("queue", maintain_order=True).agg(
        flood=pl.col("flood_lost").sum() / pl.col("flood_sent").sum(),
        small=pl.col("small_lost").sum() / pl.col("small_sent").sum(),
        sent=pl.col("small_sent").sum(),
    )
    # As if each packet were lost by itself: five senders' are 16 ms apart on average, a third of what the queue holds.
    return {
        queue: (flood, small, math.sqrt(small * (1 - small) / sent))
        for queue, flood, small, sent in sums.iter_rows()
    }


def average_queues(points: pl.DataFrame) -> dict[tuple[str, str], float]:
    """Give the mean queue in packets, by queue and traffic."""
    means = points.group_by("queue", "traffic", maintain_order=True).agg(
        pl.col("backlog").mean() / PACKET
    )
    return {(queue, traffic): mean for queue, traffic, mean in means.iter_rows()}


def check_lockout(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare the small senders' losses behind drop-tail with the flood's."""
    flood, small, error = sum_losses(points)[limits["queue"]]
    slack = limits["errors"] * error
    is_derived = limits["low"] - slack <= small <= limits["high"] + slack
    text = f"{small:.1%} of the small senders' packets, {flood:.1%} of the flood's"
    return Finding(text, decide(is_derived and flood < limits["flood"]))


def check_spread(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare the same with policies that make room in a full queue."""
    losses = sum_losses(points)
    texts, agrees = [], True
    for queue, own_draw in limits["own_draw"].items():
        flood, small, error = losses[queue]
        slack = limits["errors"] * error
        agrees &= -slack <= small - flood <= own_draw + slack
        texts.append(f"{queue}: {small:.1%} and {flood:.1%}")
    return Finding("; ".join(texts), decide(agrees))


def check_full(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Look at how full the queue is."""
    queues = average_queues(points)
    texts, agrees = [], True
    for queue in limits["queues"]:
        flood, transfers = queues[queue, "flood"], queues[queue, "transfers"]
        agrees &= flood >= limits["flood"] and transfers >= limits["transfers"]
        texts.append(f"{queue}: {flood:.1f} and {transfers:.1f} packets")
    return Finding("; ".join(texts), decide(agrees))


def check_red(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare RED's queue with drop-tail's, and its losses with each other."""
    queues, (flood, small, error) = average_queues(points), sum_losses(points)["red"]
    transfers, under_flood = queues["red", "transfers"], queues["red", "flood"]
    agrees = (
        max(transfers, under_flood) <= limits["threshold"]
        and transfers < queues["drop_tail", "transfers"]
        and abs(small - flood) <= limits["errors"] * error
    )
    text = (
        f"{transfers:.1f} packets under transfers (drop-tail {queues['drop_tail', 'transfers']:.1f}), {under_flood:.1f}"
        f" under the flood; {small:.1%} of the small senders' packets lost, {flood:.1%} of the flood's"
    )
    return Finding(text, decide(agrees))


def draw_losses(points: pl.DataFrame) -> list[Panel]:
    """Draw what the flood and the small senders lose."""
    rows = [
        {"queue": queue, "series": name, "slot": slot, "value": value}
        for queue, (flood, small, _) in sum_losses(points).items()
        for slot, (name, value) in enumerate(
            (("flood of 12 Mbit/s", flood), ("senders of 100 kbit/s", small))
        )
    ]
    y = alt.Y("value:Q", title="share of packets lost", axis=alt.Axis(format="~%"))
    return [Panel("", _draw_bars(pl.DataFrame(rows), y))]


def draw_queues(points: pl.DataFrame) -> list[Panel]:
    """Draw the mean queue under both kinds of traffic."""
    order = points["queue"].unique(maintain_order=True)
    rows = [
        {"queue": queue, "series": name, "slot": slot, "value": average_queues(points)[queue, name]}
        for queue in order
        for slot, name in enumerate(("flood", "transfers"))
    ]
    y = alt.Y("value:Q", title="mean queue (packets)")
    bars = _draw_bars(pl.DataFrame(rows), y)
    return [Panel("", alt.layer(bars, mark_across(PLACES, "full")))]


def _draw_bars(rows: pl.DataFrame, y: alt.Y) -> AnyChart:
    order = rows["queue"].unique(maintain_order=True).to_list()
    bars: AnyChart = (
        make_chart(rows)
        .mark_bar()
        .encode(
            x=alt.X("queue:N", title=None, sort=order, axis=alt.Axis(labelAngle=0)),
            xOffset=alt.XOffset("slot:O"),
            y=y,
            color=colour(rows, "circle"),
            tooltip=["queue:N", "series:N", alt.Tooltip("value:Q", format=".3~g")],
        )
    )
    return bars
