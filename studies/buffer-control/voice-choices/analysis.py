"""What the Buffer Control guideline's voice test leaves open: how buffers are counted, and the de-jitter buffer."""

from __future__ import annotations

from typing import Any

import polars as pl

from headend.figures.figure import Panel
from headend.quantity import format_quantity
from headend.study.buffers import draw_over_buffers, find_best
from headend.study.claims import Finding, decide


def tabulate(points: pl.DataFrame) -> pl.DataFrame:
    """Average the seeds, with size and way of counting apart."""
    return (
        points.with_columns(
            buffer_kib=pl.col("buffer").str.extract(r"^(\d+)").cast(pl.Int64),
            counted=pl.col("buffer").str.extract(r"(\w+)$"),
        )
        .group_by("rate_mbps", "buffer_kib", "counted", "de_jitter", maintain_order=True)
        .agg(pl.col("mos", "loss").mean())
        .sort("counted", "de_jitter", "rate_mbps", "buffer_kib")
    )


def check_near(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Find the best buffer at each rate with each de-jitter buffer, and count those near the published."""
    rows = tabulate(points).filter(pl.col("counted") == limits["counted"])
    best = find_best(rows, ["de_jitter", "rate_mbps"], "mos")
    near = 0
    found: dict[str, list[str]] = {}
    for row in best.iter_rows(named=True):
        published = limits["best_kib"][str(row["rate_mbps"])]
        near += published[0] / 2 <= row["best"] <= published[-1] * 2
        found.setdefault(row["de_jitter"], []).append(str(row["best"]))
    text = "; ".join(f"{', '.join(sizes)} KiB ({name})" for name, sizes in found.items())
    rates = ", ".join(str(rate) for rate in rows["rate_mbps"].unique().sort())
    return Finding(
        f"{near} of {best.height}: {text}", decide(near == best.height), why=f"at {rates} Mb/s"
    )


def check_loss(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare the loss in a small buffer with that in the one that was best at 5 Mb/s."""
    rows = _lose(points).filter(pl.col("counted") == limits["counted"])
    found, agrees = [], True
    for rate in limits["rates"]:
        own = rows.filter(pl.col("rate_mbps") == rate)
        if own.is_empty():
            continue
        small, large = (
            float(own.filter(pl.col("buffer_kib") == size)["loss"].item()) for size in (8, 32)
        )
        told = [format_quantity(loss, "ratio") for loss in (small, large)]
        found.append(f"{told[0]} and {told[1]} at {rate} Mb/s")
        agrees &= small > large
    why = "" if agrees else FITS
    return Finding("with 8 and 32 KiB: " + ", ".join(found), decide(agrees), why=why)


def draw_choices(points: pl.DataFrame) -> list[Panel]:
    """Draw the scores over the buffer, a panel for each choice."""
    panels = []
    for (counted, depth), rows in _colour(tabulate(points)).group_by(
        "counted", "de_jitter", maintain_order=True
    ):
        title = f"Counted in {counted}, de-jitter buffer {depth}"
        chart = draw_over_buffers(rows, "mos", "mean opinion score", domain=(1, 5))
        name = f"mos-{counted}-{str(depth).replace(' ', '-')}"
        panels.append(Panel(title, chart, name=name))
    return panels


def draw_loss(points: pl.DataFrame) -> list[Panel]:
    """Draw the loss over the buffer, a panel for each way of counting."""
    rows = _colour(_lose(points).with_columns(pl.col("loss") * 100))
    return [
        Panel(
            f"Counted in {counted}",
            draw_over_buffers(part, "loss", "packets dropped (%)", domain=(0, 5)),
            name=f"loss-{counted}",
        )
        for (counted,), part in rows.group_by("counted", maintain_order=True)
    ]


#: Why nothing is lost in a small buffer that is counted in bytes.
FITS = (
    "a packet of 218 B finds room in what full packets of 1518 B leave of the buffer, 600 B of 8 KiB, so that only a packet of"
    " the upload is dropped. What the guideline saw needs a modem that has no room for a small packet where it has none for a large one"
)


def _lose(points: pl.DataFrame) -> pl.DataFrame:
    rows = tabulate(points).group_by("counted", "rate_mbps", "buffer_kib", maintain_order=True)
    return rows.agg(pl.col("loss").mean())


def _colour(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(
        series=pl.format("{} Mb/s", "rate_mbps"),
        slot=pl.col("rate_mbps").rank("dense").cast(pl.Int64) - 1,
    )
