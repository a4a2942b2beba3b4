"""What RED, FRED and drop-tail take of a large and of a tiny flow."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import polars as pl

from headend.figures.figure import Panel
from headend.figures.theme import colour, make_chart
from headend.study.claims import Finding, decide

NAMES = {"large": "10 Mbit/s", "little": "1 kbit/s"}


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


def check_equal(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare the shares of both flows that are lost."""
    flows = sum_flows(points, limits["queue"])
    large, little, sent = flows["large"][0], flows["little"][0], flows["little"][1]
    # The small flow's losses are as good as independent: hundreds of others lie between two of its packets.
    error = math.sqrt(large * (1 - large) / sent)
    text = f"{little:.2%} of the small flow's, {large:.2%} of the large flow's packets"
    interval = (little - 1.96 * error, little + 1.96 * error)
    return Finding(text, decide(abs(little - large) <= limits["errors"] * error), interval)


def check_rates(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare what is left of both flows with the paper's example."""
    flows = sum_flows(points, limits["queue"])
    rates = {name: flows[name][2] for name in NAMES}
    agrees = all(abs(rates[name] / limits[name] - 1) <= limits["within"] for name in NAMES)
    text = f"{rates['large'] / 1e6:.3f} Mbit/s and {rates['little'] / 1e3:.3f} kbit/s"
    return Finding(text, decide(agrees))


def check_fred(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Look at whom FRED drops."""
    flows = sum_flows(points, "fred")
    large, little = flows["large"][0], flows["little"][0]
    agrees = little == 0 and limits["low"] <= large <= limits["high"]
    return Finding(
        f"{little:.2%} of the small flow's, {large:.2%} of the large flow's", decide(agrees)
    )


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
            x=alt.X("queue:N", title=None, sort=order, axis=alt.Axis(labelAngle=0)),
            xOffset=alt.XOffset("slot:O"),
            y=alt.Y("value:Q", title="share of packets lost", axis=alt.Axis(format="~%")),
            color=colour(rows, "circle"),
            tooltip=["queue:N", "series:N", alt.Tooltip("value:Q", format=".2%")],
        )
    )
    return [Panel("", bars)]
