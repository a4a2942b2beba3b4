"""What the Buffer Control guideline's voice test leaves open: counting and de-jitter."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean
from typing import Any

import polars as pl

from headend.figures.figure import Panel
from headend.study import ClaimResult, ClaimVerdict, decide, decide_over_seeds, join_decisions
from headend.text.quantity import format_quantity

from ..buffers import draw_over_buffers

#: Choices that differ in how the modem counts alone.
COUNTS = ("packets", "bytes", "blocks")

#: A difference of two losses that is more than none.
MORE = 1e-9


def find_best(points: pl.DataFrame) -> list[int]:
    """Give the best buffer and those within a standard error, as buffer-control/voice, KiB."""
    scores = points.pivot("buffer_kib", index="seed", values="mos").drop("seed")
    means = {int(name): float(scores[name].mean()) for name in scores.columns}  # type: ignore[arg-type]
    top = scores[str(max(means, key=lambda size: (means[size], -size)))]
    leads = {size: top - scores[str(size)] for size in sorted(means)}
    return [size for size, lead in leads.items() if lead.mean() <= (lead.std() or 0)]  # type: ignore[operator]


def check_peaks(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Find the best buffers at each rate under a choice."""
    rows = points.filter(pl.col("choice") == limits["choice"])
    found, near = [], []
    for rate, part in _split(rows, "rate_mbps"):
        best = find_best(part)
        near.append(not set(best).isdisjoint(limits["best_kib"][str(rate)]))
        found.append(f"{' = '.join(map(str, best))} KiB at {rate} Mb/s")
    text = f"{sum(near)} of {len(near)}: {', '.join(found)}"
    why = (
        ""
        if all(near)
        else f"losses with each buffer, where the published is not best: {_tell_losses(rows, near)}"
    )
    return ClaimResult(text, decide(all(near)), why=why)


def check_same(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare the best buffers under two choices at each rate."""
    rows = points.filter(pl.col("choice").is_in(limits["choices"]))
    found, same = [], []
    for rate, part in _split(rows, "rate_mbps"):
        best = [find_best(own) for _, own in _split(part, "choice")]
        same.append(not set(best[0]).isdisjoint(best[1]))
        told = " and ".join(f"{' = '.join(map(str, sizes))} KiB" for sizes in best)
        found.append(f"{told} at {rate} Mb/s")
    return ClaimResult(f"{sum(same)} of {len(same)}: {'; '.join(found)}", decide(all(same)))


def check_loss(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare the calls' loss in a small buffer with that in a larger one."""
    rows = points.filter(
        pl.col("rate_mbps") == limits["rate_mbps"], pl.col("choice") == limits["choice"]
    )
    losses = rows.pivot("buffer_kib", index="seed", values="loss")
    small, large = (losses[str(limits[name])] for name in ("small_kib", "large_kib"))
    told = [format_quantity(float(loss.mean()), "ratio") for loss in (small, large)]  # type: ignore[arg-type]
    decision = decide_over_seeds((small - large).to_list(), low=MORE)
    text = f"{told[0]} with {limits['small_kib']} KiB, {told[1]} with {limits['large_kib']} KiB"
    return decision.tell(text, FITS if limits["choice"] == "bytes" else "")


def check_fallen(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold one buffer's scores under two choices against a level between them."""
    rows = points.filter(
        pl.col("rate_mbps") == limits["rate_mbps"], pl.col("buffer_kib") == limits["buffer_kib"]
    )
    if rows.is_empty():
        return ClaimResult("not run there", ClaimVerdict.UNTESTABLE)
    low, high = (
        rows.filter(pl.col("choice") == limits[name])["mos"].to_list() for name in ("low", "high")
    )
    decisions = [
        decide_over_seeds([-score for score in low], low=-limits["good"] + MORE),
        decide_over_seeds(high, low=limits["good"]),
    ]
    text = f"{fmean(low):.2f} ({limits['low']}), {fmean(high):.2f} ({limits['high']})"
    return join_decisions(decisions, text)


def draw_choices(points: pl.DataFrame) -> list[Panel]:
    """Draw the scores over the buffer, a panel for each choice."""
    panels = []
    for place, (choice, rows) in enumerate(_split(_average(points), "choice")):
        chart = draw_over_buffers(rows, "mos", "mean opinion score", domain=(1, 5))
        panels.append(Panel(f"Counted in {choice}", chart, name=f"mos-{place}"))
    return panels


def draw_loss(points: pl.DataFrame) -> list[Panel]:
    """Draw the loss over the buffer, a panel for each way of counting."""
    rows = _average(points).filter(pl.col("choice").is_in(COUNTS))
    return [
        Panel(
            f"Counted in {choice}",
            draw_over_buffers(part, "loss", "packets dropped (%)", domain=(0, 5)),
            name=f"loss-{choice}",
        )
        for choice, part in _split(rows, "choice")
    ]


#: Why next to nothing is lost in a small buffer that is counted in bytes.
FITS = (
    "counted in bytes, a call's packet of 218 B finds room in what full packets of 1518 B leave"
    " of the buffer, 602 B of 8 KiB, so that nearly all that is dropped are packets of the upload"
)


def _tell_losses(points: pl.DataFrame, near: list[bool]) -> str:
    """List the calls' losses at the rates whose peaks are not the published ones."""
    rows = points.group_by("rate_mbps", "buffer_kib", maintain_order=True).agg(
        pl.col("loss").mean()
    )
    told = []
    for (rate, part), good in zip(_split(rows, "rate_mbps"), near, strict=True):
        if not good:
            losses = ", ".join(
                f"{row['loss']:.1%} with {row['buffer_kib']} KiB"
                for row in part.sort("buffer_kib").iter_rows(named=True)
            )
            told.append(f"{losses} at {rate} Mb/s")
    return "; ".join(told)


def _average(points: pl.DataFrame) -> pl.DataFrame:
    """Average the seeds, with a colour for each rate; losses in %."""
    return (
        points.group_by("choice", "rate_mbps", "buffer_kib", maintain_order=True)
        .agg(pl.col("mos").mean(), loss=pl.col("loss").mean() * 100)
        .sort(pl.col("choice").str.len_chars(), "choice", "rate_mbps", "buffer_kib")
        .with_columns(
            series=pl.format("{} Mb/s", "rate_mbps"),
            slot=pl.col("rate_mbps").rank("dense").cast(pl.Int64) - 1,
        )
    )


def _split(rows: pl.DataFrame, column: str) -> Iterator[tuple[object, pl.DataFrame]]:
    for (value,), part in rows.group_by(column, maintain_order=True):
        yield value, part
