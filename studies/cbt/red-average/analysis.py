"""RED's queue beside its weighted average: Figure 1 of the CBT paper."""

from __future__ import annotations

from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, make_chart, mark_across, time_axis
from headend.study import ClaimResult, ClaimVerdict

#: Of the scenario: s between two values, IP bytes of a packet, the thresholds.
INTERVAL, PACKET, THRESHOLDS = 0.02, 1000, (15, 30)

#: How the run that is drawn is chosen: as the claim counts.
LIMITS = {"until_s": 10, "within_s": 1, "threshold": 30}


def trace(row: dict[str, Any]) -> pl.DataFrame:
    """Give a run over time: averages at intervals' ends, longest queues in packets, drops."""
    columns = {name: row[name] for name in ("average", "backlog", "dropped")}
    rows = pl.DataFrame(columns, strict=False)
    return rows.with_row_index("number").select(
        "average",
        "dropped",
        time_s=(pl.col("number") + 1) * INTERVAL,
        queue=pl.col("backlog") / PACKET,
    )


def looks_as_published(row: dict[str, Any], limits: dict[str, Any]) -> bool:
    """Whether a run has forced drops in one short early interval, and later a long queue alone."""
    rows, threshold = trace(row), limits["threshold"]
    # At such an average every drop is a forced one.
    times = rows.filter(pl.col("average") >= threshold, pl.col("dropped") > 0)["time_s"].to_list()
    later = rows.filter(pl.col("time_s") > limits["until_s"], pl.col("queue") > threshold)
    return (
        bool(times)
        and times[-1] <= limits["until_s"]
        and times[-1] - times[0] <= limits["within_s"]
        and later.height > 0
    )


def check_start(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Count the runs that look as the figure does."""
    found = [
        {"transfers": row["transfers"], "agrees": looks_as_published(row, limits)}
        for row in points.iter_rows(named=True)
    ]
    counts = (
        pl.DataFrame(found)
        .group_by("transfers", maintain_order=True)
        .agg(pl.col("agrees").sum(), runs=pl.len())
    )
    text = ", ".join(
        f"{transfers} transfers {agreeing} of {runs} runs"
        for transfers, agreeing, runs in counts.sort("transfers").iter_rows()
    )
    return ClaimResult(f"as the figure: {text}", ClaimVerdict.UNTESTABLE)


def draw_queues(points: pl.DataFrame) -> list[Panel]:
    """Draw both queues over time: the first run that looks as the figure does."""
    rows = points.sort("transfers", "seed", maintain_order=True).to_dicts()
    agreeing = [row for row in rows if looks_as_published(row, LIMITS)]
    numbers = [row["transfers"] for row in agreeing]
    row = max(agreeing, key=lambda row: numbers.count(row["transfers"])) if agreeing else rows[0]
    drawn = trace(row).filter(pl.col("time_s") <= 60)
    base = make_chart(drawn).encode(x=time_axis())
    queue = base.mark_line(strokeWidth=0.7, color="#9aa5b1").encode(
        y=vl.Y("queue:Q", title="queue length (packets)", scale=vl.Scale(domain=[0, 60]))
    )
    average = base.mark_line(strokeWidth=2, color=PALETTE[0]).encode(y="average:Q")
    marks = [
        mark_across(value, f"{name} threshold")
        for value, name in zip(THRESHOLDS, ("min", "max"), strict=True)
    ]
    title = f"{row['transfers']} transfers, seed {row['seed']}"
    return [Panel(title, vl.layer(queue, average, *marks))]
