"""CoDel-DT with a prediction that comes true, beside CoDel."""

from __future__ import annotations

from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, make_chart
from headend.study import ClaimResult, ClaimVerdict, decide

#: What is to be the same to the bit, or to the nanosecond.
SAME = ("goodput", "upload_mean", "upload_p99", "call_mean", "call_p99")


def pair_with_codel(points: pl.DataFrame, law: str) -> pl.DataFrame:
    """Give the runs of a law beside those of CoDel with the same traffic."""
    own, codel = (points.filter(pl.col("law") == name) for name in (law, "codel"))
    return own.join(codel, on=["uploads", "seed"], suffix="_codel")


def check_identical(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare what each run measured under CoDel-DT and under CoDel."""
    rows = pair_with_codel(points, "omniscient")
    if rows.is_empty():
        return ClaimResult("not run", ClaimVerdict.UNTESTABLE)
    same = rows.select(
        pl.all_horizontal(pl.col(name) == pl.col(f"{name}_codel") for name in SAME)
    ).to_series()
    apart = int((rows["lost"].cast(pl.Int64) - rows["lost_codel"].cast(pl.Int64)).abs().max() or 0)  # type: ignore[arg-type]
    dropped = int(rows["lost_codel"].sum())
    text = (
        f"{int(same.sum())} of {rows.height} runs the same; of {dropped} drops at most {apart}"
        f" apart in a run; {_describe_others(points)}"
    )
    agrees = bool(same.all()) and apart <= limits["drops"]
    why = "" if agrees else _describe_differences(rows.filter(~same))
    return ClaimResult(text, decide(agrees), why=why)


def _describe_others(points: pl.DataFrame) -> str:
    """Give the median delay of the queue under each law, on average over the runs."""
    means = points.group_by("law", maintain_order=True).agg(pl.col("queue_p50").mean() / 1e6)
    told = ", ".join(f"{law} {mean:.2f} ms" for law, mean in means.iter_rows())
    return f"median queue delay: {told}"


def _describe_differences(rows: pl.DataFrame) -> str:
    """Say in which runs the two differ, and by how much of the goodput."""
    told = ", ".join(
        (
            f"{row['uploads']} uploads, seed {row['seed']}: goodput"
            f" {row['goodput'] / row['goodput_codel'] - 1:+.3%}"
        )
        for row in rows.sort("uploads", "seed").iter_rows(named=True)
    )
    return (
        f"not the same with {told}. CoDel spares a packet behind which not more than one other"
        " waits when it leaves; no prediction of a delay tells that"
    )


def draw_delays(points: pl.DataFrame) -> list[Panel]:
    """Draw the median delay of the queue by law, a panel for each number of uploads."""
    order = points["law"].unique(maintain_order=True).to_list()
    panels = []
    for (uploads,), rows in points.sort("uploads").group_by("uploads", maintain_order=True):
        own = rows.select("law", "seed", delay=pl.col("queue_p50") / 1e6)
        chart = (
            make_chart(own)
            .mark_point(filled=True, size=60, color=PALETTE[0], opacity=0.8)
            .encode(
                x=vl.X("delay:Q", title="median queue delay (ms)", scale=vl.Scale(zero=True)),
                y=vl.Y("law:N", title=None, sort=order),
                tooltip=["law:N", "seed:Q", vl.Tooltip("delay:Q", format=".4f")],
            )
        )
        panels.append(Panel(f"{uploads} upload{'s' if uploads != 1 else ''}", chart))
    return panels
