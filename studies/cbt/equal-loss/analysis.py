"""What RED, FRED and drop-tail take of a large and of a tiny flow."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import colour, make_chart
from headend.study import ClaimResult, ClaimVerdict, decide, decide_over_seeds

NAMES = {"large": "10 Mbit/s", "little": "1 kbit/s"}

#: FRED otherwise than the paper words it.
LIN = "Lin and Morris"


def sum_flows(points: pl.DataFrame, queue: str) -> dict[str, tuple[float, float, float]]:
    """Give share lost, packets sent, and mean rate in bit/s of both flows, all seeds together."""
    rows = points.filter(pl.col("queue") == queue)
    sums = rows.select(pl.all().exclude("queue").cast(pl.Float64).sum()).row(0, named=True)
    return {
        name: (
            sums[f"{name}_lost"] / sums[f"{name}_sent"],
            sums[f"{name}_sent"],
            sums[f"{name}_rate"] / rows.height,
        )
        for name in NAMES
    }


def check_equal(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare what is left of both flows with the paper's example."""
    flows = sum_flows(points, limits["queue"])
    rows = points.filter(pl.col("queue") == limits["queue"]).sort("seed")
    # The large flow's rate is what others leave of the line; the small one's is in question.
    decision = decide_over_seeds(rows["little_rate"].to_list(), *limits["little"])
    low, high = limits["large"]
    if not low <= flows["large"][2] <= high:
        decision = replace(decision, verdict=ClaimVerdict.DIFFERS)
    text = (
        f"{flows['large'][2] / 1e6:.2f} Mbit/s and {flows['little'][2] / 1e3:.3f} kbit/s:"
        f" {flows['large'][0]:.2%} and {flows['little'][0]:.2%} of the packets dropped"
    )
    return decision.tell(text)


def check_fred(points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Look at whom FRED drops."""
    text, is_spared = describe_losses(points, "fred")
    if is_spared:
        return ClaimResult(text, decide(agrees=True))
    why = (
        "at an average queue of its upper threshold and above FRED drops every arrival, whosever it"
        " is: all packets that the small flow loses are dropped so. With Lin and Morris's extension"
        " (`many_flows`), which then lets a flow with less than two packets in, it loses none"
    )
    if LIN in points["queue"].unique():
        why += f". By Lin and Morris's rules {describe_losses(points, LIN)[0]}"
    return ClaimResult(text, decide(agrees=False), why=why)


def describe_losses(points: pl.DataFrame, queue: str) -> tuple[str, bool]:
    """Say what both flows lose, and whether the large one alone does."""
    flows = sum_flows(points, queue)
    large, little = flows["large"][0], flows["little"][0]
    text = f"{little:.2%} of the small flow's, {large:.2%} of the large flow's"
    return text, little == 0 < large


def draw_losses(points: pl.DataFrame) -> list[Panel]:
    """Draw the shares lost by queue and flow."""
    order = points["queue"].unique(maintain_order=True).to_list()
    rows = pl.DataFrame(
        [
            {
                "queue": queue,
                "series": text,
                "slot": slot,
                "value": sum_flows(points, queue)[name][0],
            }
            for queue in order
            for slot, (name, text) in enumerate(NAMES.items())
        ]
    )
    bars = (
        make_chart(rows)
        .mark_bar()
        .encode(
            x=vl.X("queue:N", title=None, sort=order, axis=vl.Axis(labelAngle=0)),
            xOffset=vl.XOffset("slot:O"),
            y=vl.Y("value:Q", title="share of packets lost", axis=vl.Axis(format="~%")),
            color=colour(rows, "circle"),
            tooltip=["queue:N", "series:N", vl.Tooltip("value:Q", format=".2%")],
        )
    )
    return [Panel("", bars)]
