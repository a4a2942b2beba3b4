"""RED's queue beside its weighted average: Figure 1 of the CBT paper."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, make_chart, mark_across, time_axis
from headend.study.claims import Finding, decide

#: Of the scenario: s between two values, IP bytes of a packet, the thresholds.
INTERVAL, PACKET, THRESHOLDS = 0.02, 1000, (15, 30)


def trace(row: dict[str, Any]) -> pl.DataFrame:
    """Give a run over time: the average, and the longest queue of each interval, in packets."""
    rows = pl.DataFrame({"average": row["average"], "backlog": row["backlog"]}, strict=False)
    return rows.with_row_index("number").select(
        "average",
        time_s=(pl.col("number") + 1) * INTERVAL,
        queue=pl.col("backlog") / PACKET,
    )


def check_large(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Look for queues above the threshold under an average below it."""
    shares = {}
    for row in points.iter_rows(named=True):
        rows = trace(row).filter(pl.col("time_s") > limits["from_s"])
        above = (pl.col("queue") > limits["threshold"]) & (pl.col("average") < limits["threshold"])
        shares[row["transfers"]] = rows.filter(above).height / rows.height
    text = ", ".join(f"{number} transfers {share:.0%}" for number, share in shares.items())
    return Finding(text, decide(min(shares.values()) >= limits["least"]))


def check_start(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Look for when the average reaches the upper threshold."""
    texts, only_early = [], []
    for row in points.iter_rows(named=True):
        reached = trace(row).filter(pl.col("average") >= limits["threshold"])["time_s"]
        early = int((reached <= limits["until_s"]).sum())
        late = reached.len() - early
        texts.append(f"{row['transfers']} transfers {early} intervals, later {late}")
        only_early.append(early > 0 and late == 0)
    why = (
        ""
        if any(only_early)
        else (
            "With few transfers the average does not reach it, with many it comes back at random. The paper's number of"
            " transfers, their distances and their starts are not given"
        )
    )
    return Finding("; ".join(texts), decide(any(only_early)), why=why)


def check_lag(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare how far both queues swing."""
    ratios = {}
    for row in points.iter_rows(named=True):
        rows = trace(row).filter(pl.col("time_s") > limits["from_s"])
        spreads = rows.select(pl.col("average").std(), pl.col("queue").std()).row(0)
        ratios[row["transfers"]] = spreads[0] / spreads[1]
    text = ", ".join(f"{number} transfers {ratio:.2f}" for number, ratio in ratios.items())
    return Finding(text, decide(max(ratios.values()) <= limits["most"]))


def draw_queues(points: pl.DataFrame) -> list[Panel]:
    """Draw both queues over time, a panel for each number of transfers."""
    panels = []
    for row in points.iter_rows(named=True):
        rows = trace(row).filter(pl.col("time_s") <= 60)
        base = make_chart(rows).encode(x=time_axis())
        queue = base.mark_line(strokeWidth=0.7, color="#9aa5b1").encode(
            y=alt.Y("queue:Q", title="queue length (packets)", scale=alt.Scale(domain=[0, 60]))
        )
        average = base.mark_line(strokeWidth=2, color=PALETTE[0]).encode(y="average:Q")
        marks = [
            mark_across(value, f"{name} threshold")
            for value, name in zip(THRESHOLDS, ("min", "max"), strict=True)
        ]
        panels.append(Panel(f"{row['transfers']} transfers", alt.layer(queue, average, *marks)))
    return panels
