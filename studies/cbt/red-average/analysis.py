"""RED's queue beside its weighted average: Figure 1 of the CBT paper."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, make_chart, mark_across, time_axis
from headend.study.claims import Finding, decide

#: Of the scenario: s between two values, IP bytes of a packet, places in the queue, the thresholds.
INTERVAL, PACKET, PLACES, THRESHOLDS = 0.02, 1000, 60, (15, 30)


def trace(row: dict[str, Any]) -> pl.DataFrame:
    """Give a run over time: the average at the end of each interval, its longest queue, in packets, and its drops."""
    columns = {name: row[name] for name in ("average", "backlog", "dropped")}
    rows = pl.DataFrame(columns, strict=False)
    return rows.with_row_index("number").select(
        "average",
        "dropped",
        time_s=(pl.col("number") + 1) * INTERVAL,
        queue=pl.col("backlog") / PACKET,
    )


def check_large(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Look for queues above the threshold, and not full, under an average below it: nothing forces a drop there."""
    shares = {}
    for row in points.iter_rows(named=True):
        rows = trace(row).filter(pl.col("time_s") > limits["from_s"])
        long = (pl.col("queue") > limits["threshold"]) & (pl.col("queue") < PLACES)
        above = long & (pl.col("average") < limits["threshold"])
        shares[row["transfers"]] = rows.filter(above).height / rows.height
    text = ", ".join(f"{number} transfers {share:.0%}" for number, share in shares.items())
    return Finding(text, decide(min(shares.values()) > 0))


def check_start(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Count the packets that are dropped while the average is at the upper threshold, early and later."""
    texts, only_early = [], []
    for row in points.iter_rows(named=True):
        # From there on every drop is a forced one.
        forced = trace(row).filter(pl.col("average") >= limits["threshold"], pl.col("dropped") > 0)
        is_early = pl.col("time_s") <= limits["until_s"]
        early, late = (forced.filter(part)["dropped"].sum() for part in (is_early, ~is_early))
        texts.append(
            f"{row['transfers']} transfers {early:.0f}, later {late:.0f} of {row['discarded']:.0f}"
        )
        only_early.append(early > 0 and late == 0)
    tried = f"{sum(only_early)} of {points.height} numbers of transfers tried, with one seed each"
    why = f"{tried}. The paper does not give its number of transfers, their distances and their starts"
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
