"""What the Buffer Control guideline's ping test leaves open: sender and buffer counts."""

from __future__ import annotations

from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import colour, make_chart
from headend.study import ClaimResult, decide

from ..buffers import predict_delay
from ..fitting import Slope, fit_slope

#: The bench's own round trip, which the guideline holds as the intercept, in ms, and its slope.
INTERCEPT_MS, PUBLISHED_SLOPE = 17.0, 0.8462

SENDERS = {"cubic": "CUBIC", "reno": "Reno"}


def tabulate(points: pl.DataFrame) -> pl.DataFrame:
    """Average the seeds; the mean ping and the predicted buffer latency in ms."""
    return (
        points.group_by("counts", "congestion", "rate_mbps", "buffer_kib", maintain_order=True)
        .agg(ping_ms=pl.col("ping").mean() / 1e6)
        .with_columns(predicted_ms=predict_delay())
    )


def fit(points: pl.DataFrame, counts: str, congestion: str) -> Slope:
    """Fit the slope of one way of counting and one sender, through the bench's own round trip."""
    rows = tabulate(points).filter(pl.col("counts") == counts, pl.col("congestion") == congestion)
    return fit_slope(rows["predicted_ms"], rows["ping_ms"], intercept=INTERCEPT_MS)


def check_slope(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the slope of one choice against the published one."""
    slope = fit(points, limits["counts"], limits["congestion"])
    agrees = limits["low"] <= slope.value <= limits["high"]
    reno = fit(points, limits["counts"], "reno")
    by_rate = ", ".join(
        f"{fit(part, limits['counts'], limits['congestion']).value:.3f} at {rate} Mb/s"
        for (rate,), part in points.group_by("rate_mbps", maintain_order=True)
    )
    why = f"by rate {by_rate}; Reno: {reno.value:.4f}"
    return ClaimResult(f"{slope.value:.4f}", decide(agrees), why=why)


def draw_slopes(points: pl.DataFrame) -> list[Panel]:
    """Draw the pings over the prediction, a panel for each way of counting."""
    rows = tabulate(points).with_columns(
        series=pl.col("congestion").replace_strict(SENDERS),
        slot=pl.col("congestion").rank("dense").cast(pl.Int64) - 1,
    )
    longest = float(rows["predicted_ms"].max())  # type: ignore[arg-type]
    line = pl.DataFrame({"predicted_ms": [0.0, longest]}).with_columns(
        ping_ms=INTERCEPT_MS + PUBLISHED_SLOPE * pl.col("predicted_ms")
    )
    x = vl.X("predicted_ms:Q", title="predicted buffer latency: buffer / rate (ms)")
    y = vl.Y("ping_ms:Q", title="mean ping (ms)")
    published = make_chart(line).mark_line(color="#8c8c8c").encode(x=x, y=y)
    panels = []
    for (counts,), part in rows.group_by("counts", maintain_order=True):
        dots = (
            make_chart(part).mark_point(filled=True, size=45).encode(x=x, y=y, color=colour(part))
        )
        name = f"slopes-{str(counts).replace(' ', '-').lower()}"
        panels.append(Panel(f"Counted in {counts}", vl.layer(published, dots), name=name))
    return panels
