"""Losses beside a flood, and how full a queue stands under policies of the CBT paper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import colour, make_chart, mark_across
from headend.study import ClaimResult, Decision, decide_over_seeds, join_decisions

if TYPE_CHECKING:
    import numpy as np

    Values = np.ndarray[Any, np.dtype[np.float64]]

#: IP bytes of every packet but acknowledgements, and places in the queue.
PACKET, PLACES = 1000, 60


def list_losses(points: pl.DataFrame, queue: str) -> tuple[Values, Values]:
    """Give the shares that the flood and the small senders lose behind a queue, by seed."""
    rows = points.filter(pl.col("traffic") == "flood", pl.col("queue") == queue).sort("seed")
    flood, small = (
        (rows[f"{name}_lost"] / rows[f"{name}_sent"]).to_numpy() for name in ("flood", "small")
    )
    return flood, small


def list_backlogs(points: pl.DataFrame, queue: str, traffic: str) -> Values:
    """Give a queue's mean length in packets under a traffic, by seed."""
    rows = points.filter(pl.col("traffic") == traffic, pl.col("queue") == queue).sort("seed")
    return (rows["backlog"].cast(pl.Float64) / PACKET).to_numpy()


def check_lockout(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare the small senders' losses with the flood's."""
    flood, small = list_losses(points, limits["queue"])
    decision = decide_over_seeds((small - flood).tolist(), low=0)
    return decision.tell(_tell_losses(flood, small))


def check_spread(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare policies that make room in a full queue with drop-tail."""
    flood, small = list_losses(points, "drop_tail")
    texts, decisions = [f"drop_tail: {_tell_losses(flood, small)}"], []
    for queue in limits["queues"]:
        own_flood, own_small = list_losses(points, queue)
        decisions += [_exceed(small, own_small), _exceed(own_flood, flood)]
        texts.append(f"{queue}: {_tell_losses(own_flood, own_small)}")
    return join_decisions(decisions, "; ".join(texts))


def check_full(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look at how full the queue is under transfers."""
    found = {queue: list_backlogs(points, queue, "transfers") for queue in limits["queues"]}
    decisions = [decide_over_seeds(own.tolist(), low=limits["least"]) for own in found.values()]
    text = ", ".join(f"{queue} {own.mean():.1f}" for queue, own in found.items())
    return join_decisions(decisions, f"{text} packets")


def check_red(points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Compare RED's queue and the small senders' losses with drop-tail's."""
    texts, decisions = [], []
    for traffic in ("flood", "transfers"):
        red, tail = (list_backlogs(points, queue, traffic) for queue in ("red", "drop_tail"))
        decisions.append(_exceed(tail, red))
        texts.append(f"{traffic}: {red.mean():.1f} packets, drop-tail {tail.mean():.1f}")
    (flood, small), (_, locked_out) = (list_losses(points, queue) for queue in ("red", "drop_tail"))
    decisions.append(_exceed(locked_out, small))
    return join_decisions(decisions, f"{'; '.join(texts)}; {_tell_losses(flood, small)}")


def _exceed(more: Values, less: Values) -> Decision:
    """Decide whether a measure is larger than another of the same seeds."""
    return decide_over_seeds((more - less).tolist(), low=0)


def _tell_losses(flood: Values, small: Values) -> str:
    return (
        f"{small.mean():.1%} of the small senders' packets lost, {flood.mean():.1%} of the flood's"
    )


def draw_losses(points: pl.DataFrame) -> list[Panel]:
    """Draw what the flood and the small senders lose."""
    rows = [
        {"queue": queue, "series": name, "slot": slot, "value": value}
        for queue in points["queue"].unique(maintain_order=True)
        for slot, (name, value) in enumerate(
            zip(
                ("flood of 12 Mbit/s", "senders of 100 kbit/s"),
                (float(own.mean()) for own in list_losses(points, queue)),
                strict=True,
            )
        )
    ]
    y = vl.Y("value:Q", title="share of packets lost", axis=vl.Axis(format="~%"))
    return [Panel("", _draw_bars(pl.DataFrame(rows), y))]


def draw_queues(points: pl.DataFrame) -> list[Panel]:
    """Draw the mean queue under both kinds of traffic."""
    order = points["queue"].unique(maintain_order=True)
    rows = [
        {
            "queue": queue,
            "series": name,
            "slot": slot,
            "value": float(list_backlogs(points, queue, name).mean()),
        }
        for queue in order
        for slot, name in enumerate(("flood", "transfers"))
    ]
    y = vl.Y("value:Q", title="mean queue (packets)")
    bars = _draw_bars(pl.DataFrame(rows), y)
    return [Panel("", vl.layer(bars, mark_across(PLACES, "full")))]


def _draw_bars(rows: pl.DataFrame, y: vl.Y) -> vl.Chart:
    order = rows["queue"].unique(maintain_order=True).to_list()
    return (
        make_chart(rows)
        .mark_bar()
        .encode(
            x=vl.X("queue:N", title=None, sort=order, axis=vl.Axis(labelAngle=0)),
            xOffset=vl.XOffset("slot:O"),
            y=y,
            color=colour(rows, "circle"),
            tooltip=["queue:N", "series:N", vl.Tooltip("value:Q", format=".3~g")],
        )
    )
