"""FAST beside Reno: who gets how much of a slow line."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import colour, log_axis, make_chart, mark_across
from headend.study import ClaimResult, ClaimVerdict, decide

from ..alpha import FRAME, PACKET

NAMES = {"docsis": "DOCSIS", "simple": "simple link"}


def average(points: pl.DataFrame) -> pl.DataFrame:
    """Give FAST's mean share and the mean queue in packets, by line, buffer and α."""
    is_docsis = pl.col("line") == "docsis"
    rows = points.with_columns(
        share=pl.col("fast") / (pl.col("fast") + pl.col("reno")),
        queue=pl.when(is_docsis)
        .then(pl.col("cable_backlog") / FRAME)
        .otherwise(pl.col("line_backlog") / PACKET),
    )
    groups = rows.group_by("line", "buffer_ms", "alpha", maintain_order=True)
    return groups.agg(pl.col("share", "queue").mean())


def check_queue(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare FAST's share of the line with its share of the queue."""
    rows = average(points).filter(
        pl.col("line") == "docsis",
        pl.col("buffer_ms") == limits["buffer_ms"],
        pl.col("alpha") <= limits["most_alpha"],
    )
    if rows.is_empty():
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    texts, ratios = [], []
    for row in rows.iter_rows(named=True):
        derived = row["alpha"] / row["queue"]
        ratios.append(row["share"] / derived)
        texts.append(f"α {row['alpha']}: {row['share']:.3f}, derived {derived:.3f}")
    agrees = bool(np.max(np.abs(np.array(ratios) - 1)) <= limits["within"])
    return ClaimResult("; ".join(texts), decide(agrees))


def draw_shares(points: pl.DataFrame) -> list[Panel]:
    """Draw FAST's share over α, a panel for each buffer."""
    rows = points.with_columns(
        share=pl.col("fast") / (pl.col("fast") + pl.col("reno")),
        series=pl.col("line").replace_strict(NAMES),
        slot=pl.col("line").replace_strict({name: at for at, name in enumerate(NAMES)}),
    )
    panels = []
    for buffer in rows["buffer_ms"].unique().sort():
        own = rows.filter(pl.col("buffer_ms") == buffer)
        base = make_chart(own).encode(
            x=vl.X(
                "alpha:Q",
                title="α of FAST (packets)",
                scale=vl.Scale(type="log", domain=[7, 220], nice=False),
                axis=log_axis((10, 200)),
            ),
            color=colour(own),
        )
        y = vl.Y(
            "share:Q",
            title="FAST's share of the throughput",
            scale=vl.Scale(domain=[0, 1]),
            axis=vl.Axis(format="~%"),
        )
        dots = base.mark_point(filled=True, size=35).encode(y=y)
        lines = base.mark_line(strokeWidth=1.5).encode(
            y=vl.Y("share:Q", aggregate="mean", title=None)
        )
        chart = vl.layer(mark_across(0.5, "half"), dots, lines)
        panels.append(Panel(f"CMTS buffer of {buffer} ms", chart))
    return panels
