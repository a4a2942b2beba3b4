"""Section 5.2.1 of the Buffer Control guideline: a download beside an upload's queue."""

from __future__ import annotations

from typing import Any

import polars as pl

from headend.figures.figure import Panel
from headend.study import ClaimResult, decide

from ..buffers import draw_over_buffers

MODES = {"off": "in the queue", "apart": "apart"}


def tabulate(points: pl.DataFrame) -> pl.DataFrame:
    """Average the seeds: goodput beside an upload, Mb/s, and as a share of that without one."""
    places = ["acknowledgements", "window_kib", "buffer_kib"]
    rows = points.group_by(*places, "uploads", maintain_order=True).agg(pl.col("goodput").mean())
    pairs = rows.pivot("uploads", index=places, values="goodput")
    return pairs.select(*places, mbps=pl.col("1") / 1e6, share=pl.col("1") / pl.col("0")).sort(
        places
    )


def check_throttled(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look what is left of a download whose acknowledgements wait."""
    rows = tabulate(points).filter(
        pl.col("acknowledgements") == "off", pl.col("window_kib") == limits["window_kib"]
    )
    text = ", ".join(
        f"{row['share']:.0%} of it with {row['buffer_kib']} KiB"
        for row in rows.iter_rows(named=True)
    )
    return ClaimResult(text, decide(bool((rows["share"] < 1).all())))


def check_accelerated(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare what is left with acknowledgements apart with what is left with them in the queue."""
    rows = tabulate(points).filter(pl.col("window_kib") == limits["window_kib"])
    pairs = rows.pivot("acknowledgements", index="buffer_kib", values="share")
    text = ", ".join(
        f"{row['apart']:.0%} instead of {row['off']:.0%} with {row['buffer_kib']} KiB"
        for row in pairs.iter_rows(named=True)
    )
    apart, waiting = (float(pairs[name].mean()) for name in ("apart", "off"))  # type: ignore[arg-type]
    return ClaimResult(text, decide(abs(1 - apart) < abs(apart - waiting)))


def draw_goodput(points: pl.DataFrame) -> list[Panel]:
    """Draw what is left of the download over the buffer, a panel for each window."""
    rows = tabulate(points).with_columns(
        series=pl.format("acknowledgements {}", pl.col("acknowledgements").replace_strict(MODES)),
        slot=pl.col("acknowledgements").replace_strict(
            {mode: place for place, mode in enumerate(MODES)}, return_dtype=pl.Int64
        ),
        percent=pl.col("share") * 100,
    )
    title = "goodput (% of that without an upload)"
    return [
        Panel(
            f"Receive window of {window} KiB",
            draw_over_buffers(part, "percent", title, domain=(0, 110)),
            name=f"goodput-{window}-kib",
        )
        for (window,), part in rows.group_by("window_kib", maintain_order=True)
    ]
