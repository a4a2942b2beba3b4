"""The arrangement of §7.2.3.2 of the guideline beside the tested one: via the adapter."""

from __future__ import annotations

from typing import Any

import polars as pl

from headend.figures.figure import Panel
from headend.study import ClaimResult, decide

from ..buffers import draw_over_buffers

#: What stands between the home's hosts and the modem.
ARRANGEMENTS = {"switch": "Behind a switch", "adapter": "Behind the adapter"}


def tabulate(points: pl.DataFrame) -> pl.DataFrame:
    """Average the seeds, with rate and arrangement apart."""
    return (
        points.with_columns(
            rate_mbps=pl.col("line").str.extract(r"^(\d+)").cast(pl.Int64),
            arrangement=pl.col("line").str.extract(r"(\w+)$"),
        )
        .group_by("rate_mbps", "arrangement", "buffer_kib", maintain_order=True)
        .agg(pl.col("mos").mean(), mbps=pl.col("goodput").mean() / 1e6)
        .with_columns(share=pl.col("mbps") / pl.col("rate_mbps") * 100)
        .sort("rate_mbps", "arrangement", "buffer_kib")
    )


def check_impact(points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Compare how far apart the scores of all buffers are."""
    rows = tabulate(points).group_by("rate_mbps", "arrangement", maintain_order=True)
    spread = rows.agg(apart=pl.col("mos").max() - pl.col("mos").min(), least=pl.col("mos").min())
    found, agrees = [], True
    for row in (
        spread.pivot("arrangement", index="rate_mbps", values=["apart", "least"], sort_columns=True)
        .sort("rate_mbps")
        .iter_rows(named=True)
    ):
        found.append(
            f"{row['apart_adapter']:.2f} apart (switch {row['apart_switch']:.2f}),"
            f" {row['least_adapter']:.2f} at the least, at {row['rate_mbps']} Mb/s"
        )
        agrees &= row["apart_adapter"] < row["apart_switch"]
    return ClaimResult("; ".join(found), decide(agrees))


def draw_scores(points: pl.DataFrame) -> list[Panel]:
    """Draw the scores, a panel for each arrangement."""
    return _draw(points, "mos", "mean opinion score", (1, 5))


def draw_goodput(points: pl.DataFrame) -> list[Panel]:
    """Draw the goodput, a panel for each arrangement."""
    return _draw(points, "share", "goodput (% of the modem's rate)", (0, 100))


def _draw(points: pl.DataFrame, value: str, title: str, domain: tuple[float, float]) -> list[Panel]:
    rows = tabulate(points).with_columns(
        series=pl.format("{} Mb/s", "rate_mbps"),
        slot=pl.col("rate_mbps").rank("dense").cast(pl.Int64) - 1,
    )
    return [
        Panel(
            title_of,
            draw_over_buffers(
                rows.filter(pl.col("arrangement") == name), value, title, domain=domain
            ),
            name=f"{value}-{name}",
        )
        for name, title_of in ARRANGEMENTS.items()
    ]
