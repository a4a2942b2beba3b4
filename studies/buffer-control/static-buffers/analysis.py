"""Sections 5.2 and 5.2.2 of the Buffer Control guideline: how long a packet waits in a buffer of the maker's choice."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import polars as pl

from headend.figures.figure import Panel
from headend.figures.theme import colour, make_chart, mark_across
from headend.study.buffers import KIB, predict_delay
from headend.study.claims import Finding, decide


def tabulate(points: pl.DataFrame) -> pl.DataFrame:
    """Average the seeds, in ms, beside what buffer over rate predicts."""
    return (
        points.group_by("rate_mbps", "buffer_kib", maintain_order=True)
        .agg(longest_ms=pl.col("longest").mean() / 1e6, mean_ms=pl.col("mean").mean() / 1e6)
        .with_columns(predicted_ms=predict_delay())
        .sort("rate_mbps", "buffer_kib")
    )


def check_second(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Hold the text's example against its order of magnitude."""
    row = (
        tabulate(points)
        .filter(pl.col("rate_mbps") == 2, pl.col("buffer_kib") == 256)
        .row(0, named=True)
    )
    agrees = limits["low_s"] <= row["longest_ms"] / 1e3 <= limits["high_s"]
    text = (
        f"{row['longest_ms'] / 1e3:.2f} s at the longest, {row['mean_ms'] / 1e3:.2f} s on average"
    )
    return Finding(text, decide(agrees), why=f"buffer over rate: {row['predicted_ms']:.1f} ms")


def check_proportional(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare every longest wait with buffer over rate."""
    ratios = tabulate(points).select(pl.col("longest_ms") / pl.col("predicted_ms")).to_series()
    low, high = float(ratios.min()), float(ratios.max())  # type: ignore[arg-type]
    agrees = limits["low"] <= low and high <= limits["high"]
    return Finding(f"{low:.1%} to {high:.1%} of it in {len(ratios)} cases", decide(agrees))


def check_several(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Count the cases in which packets wait for several seconds."""
    rows = tabulate(points)
    several = rows.filter(pl.col("longest_ms") >= limits["several_s"] * 1e3).height
    agrees = several > limits["share"] * rows.height
    text = "; ".join(
        f"{row['buffer_kib']} KiB: {row['longest_ms'] / 1e3:.2f} s at {row['rate_mbps']} Mb/s"
        for row in rows.filter(pl.col("buffer_kib").is_in([60, 300])).iter_rows(named=True)
    )
    why = (
        "The text's own formula gives 0.25 to 2.46 s for these buffers and rates: only the largest at the lowest rate"
        " comes to more than 2 s. Where several seconds were measured, buffers were larger or rates lower than these"
    )
    return Finding(f"{several} of {rows.height} cases; {text}", decide(agrees), why=why)


def check_orders(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare the longest waits with those of the recommended targets."""
    rows = tabulate(points).with_columns(
        ideal_ms=pl.col("rate_mbps").replace_strict(
            {
                int(rate): target * KIB * 8 / (int(rate) * 1e3)
                for rate, target in limits["targets"].items()
            },
            return_dtype=pl.Float64,
        )
    )
    ratios = rows.select(pl.col("longest_ms") / pl.col("ideal_ms")).to_series()
    low, high = float(ratios.min()), float(ratios.max())  # type: ignore[arg-type]
    agrees = {round(math.log10(low)), round(math.log10(high))} <= {1, 2}
    return Finding(f"{low:.1f} to {high:.1f} times", decide(agrees))


def check_sized(_points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Reckon the bandwidth-delay products of the text's highest rates."""
    old, new = (rate * 1e6 * 0.1 / 8 / KIB for rate in (25, 100))
    why = (
        f"For DOCSIS 3.0's 100 Mb/s the same rule gives {new:.0f} KiB, four times what the text says most modems had:"
        " the sizes are those of DOCSIS 2.0"
    )
    agrees = abs(old / 300 - 1) <= limits["within"]
    return Finding(f"{old:.0f} KiB for 25 Mb/s", decide(agrees), why=why)


def draw_latency(points: pl.DataFrame) -> list[Panel]:
    """Draw longest and mean waits over the buffer, a colour for each rate."""
    rows = tabulate(points).with_columns(
        series=pl.format("{} Mb/s", "rate_mbps"),
        slot=pl.col("rate_mbps").rank("dense").cast(pl.Int64) - 1,
    )
    base = make_chart(rows).encode(
        x=alt.X("buffer_kib:Q", title="buffer (KiB)", scale=alt.Scale(domain=[0, 320])),
        color=colour(rows),
    )
    y = alt.Y("longest_ms:Q", title="wait in the modem (ms)", scale=alt.Scale(domain=[0, 2700]))
    predicted = base.mark_line(strokeWidth=1.5).encode(y="predicted_ms:Q")
    longest = base.mark_point(filled=True, size=60).encode(y=y)
    mean = base.mark_line(strokeWidth=1.5, strokeDash=[5, 4]).encode(y="mean_ms:Q")
    marks = [mark_across(400, "400 ms: calls (G.114)", near_left=True)]
    return [Panel("", alt.layer(predicted, mean, longest, *marks))]
