"""Throughput of 802.11ax cells beside ns-3's."""

from __future__ import annotations

from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, make_chart
from headend.study import ClaimResult, ClaimVerdict, decide

#: The pixels that a cell's name takes in the figure.
ROW = 15

#: What ns-3 carried, Mbit/s of IP packets, mean of three seeds: the limits of all claims.
NS3 = {
    "mcs0": 33.38,
    "mcs4": 193.08,
    "mcs11": 469.63,
    "mcs11-alone": 53.19,
    "mcs11-rts": 434.07,
    "mcs11-alone-rts": 38.25,
    "mcs11-256": 559.83,
    "mcs9-two-streams": 875.13,
    "small": 7.55,
    "middle": 377.23,
    "two": 58.02,
    "five": 59.76,
    "ten": 58.04,
    "five-aggregated": 348.58,
    "ten-aggregated": 321.1,
    "ten-rts": 374.0,
    "one-down": 390.52,
    "two-down": 390.51,
    "five-down": 390.51,
    "one-both": 369.47,
    "mixed": 36.73,
    "mixed-aggregated": 111.1,
    "mixed-down": 98.1,
}


def tabulate(points: pl.DataFrame) -> pl.DataFrame:
    """Give what each cell carried over what ns-3's carried, mean of the seeds, by case."""
    means = points.group_by("case", maintain_order=True).agg(pl.col("carried").mean() / 1e6)
    reference = pl.DataFrame({"case": list(NS3), "ns3": list(NS3.values())})
    rows = means.with_columns(pl.col("case").cast(pl.String)).join(
        reference, on="case", maintain_order="left"
    )
    return rows.with_columns(ratio=pl.col("carried") / pl.col("ns3"))


def check_beside(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold what some cells carried against ns-3's."""
    rows = tabulate(points).filter(pl.col("case").is_in(limits["cases"]))
    if rows.is_empty():
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    text = ", ".join(f"{row['ratio']:.3f} ({row['case']})" for row in rows.to_dicts())
    agrees = bool(((rows["ratio"] - 1).abs() <= limits["within"]).all())
    return ClaimResult(f"of ns-3's: {text}", decide(agrees))


def draw_cells(points: pl.DataFrame) -> list[Panel]:
    """Draw the ratio to ns-3's by cell, with lines at 5 % more and less."""
    rows = tabulate(points)
    dots = (
        make_chart(rows)
        .mark_point(filled=True, size=55, color=PALETTE[0])
        .encode(
            x=vl.X("ratio:Q", title="throughput over ns-3's", scale=vl.Scale(zero=False)),
            y=vl.Y("case:N", title=None, sort=list(NS3)),
        )
    )
    bounds = make_chart(pl.DataFrame({"ratio": [0.95, 1.05]})).mark_rule(strokeDash=[4, 3])
    chart = vl.layer(bounds.encode(x="ratio:Q"), dots).properties(height=ROW * len(NS3))
    return [Panel("", chart)]
