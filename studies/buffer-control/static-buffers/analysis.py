"""Sections 5.2 and 5.2.2 of the Buffer Control guideline: delays in makers' buffers."""

from __future__ import annotations

import math
from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import colour, make_chart, mark_across
from headend.study import ClaimResult, decide

from ..buffers import KIB, predict_delay


def tabulate(points: pl.DataFrame) -> pl.DataFrame:
    """Average the seeds, in ms, beside what buffer over rate predicts."""
    return (
        points.group_by("rate_mbps", "buffer_kib", maintain_order=True)
        .agg(longest_ms=pl.col("longest").mean() / 1e6, mean_ms=pl.col("mean").mean() / 1e6)
        .with_columns(predicted_ms=predict_delay())
        .sort("rate_mbps", "buffer_kib")
    )


def check_proportional(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare every longest wait with buffer over rate."""
    rows = tabulate(points).with_columns(
        packet_ms=limits["packet"] * 8 / (pl.col("rate_mbps") * 1e3),
    )
    beyond: list[float] = (
        rows.select((pl.col("longest_ms") - pl.col("predicted_ms")) / pl.col("packet_ms"))
        .to_series()
        .to_list()
    )
    example = rows.filter(pl.col("rate_mbps") == 2, pl.col("buffer_kib") == 256)["longest_ms"]
    text = f"{min(beyond):+.2f} to {max(beyond):+.2f} packets beyond it in {rows.height} cases"
    text += "".join(f"; {wait / 1e3:.2f} s with 256 KiB at 2 Mb/s" for wait in example)
    return ClaimResult(text, decide(max(map(abs, beyond)) <= 1))


def check_several(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Count the cases in which packets wait for several seconds."""
    rows = tabulate(points)
    several = rows.filter(pl.col("longest_ms") >= limits["several_s"] * 1e3).height
    waits: list[float] = (rows["longest_ms"] / 1e3).to_list()
    predicted: list[float] = (rows["predicted_ms"] / 1e3).to_list()
    text = f"{several} of {rows.height} cases; {min(waits):.2f} to {max(waits):.2f} s"
    why = (
        f"buffer over rate is {min(predicted):.2f} to {max(predicted):.2f} s, and the longest waits"
        " are as long"
    )
    return ClaimResult(text, decide(several > rows.height / 2), why=why)


def check_orders(_points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare usual buffers with the recommended targets."""
    ratios = [size / target for size in limits["buffers_kib"] for target in limits["targets_kib"]]
    agrees = {round(math.log10(ratio)) for ratio in ratios} <= {1, 2}
    return ClaimResult(f"{min(ratios):.1f} to {max(ratios):.1f} times", decide(agrees))


def check_sized(_points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Reckon the bandwidth-delay products of the text's highest rate of DOCSIS 2.0."""
    low, high = (rate * 1e6 * 0.1 / 8 / KIB for rate in limits["mbps"])
    agrees = low <= limits["largest_kib"] <= high
    return ClaimResult(f"{low:.0f} to {high:.0f} KiB", decide(agrees))


def draw_latency(points: pl.DataFrame) -> list[Panel]:
    """Draw longest and mean waits over the buffer, a colour for each rate."""
    rows = tabulate(points).with_columns(
        series=pl.format("{} Mb/s", "rate_mbps"),
        slot=pl.col("rate_mbps").rank("dense").cast(pl.Int64) - 1,
    )
    base = make_chart(rows).encode(
        x=vl.X("buffer_kib:Q", title="buffer (KiB)", scale=vl.Scale(domain=[0, 320])),
        color=colour(rows),
    )
    y = vl.Y("longest_ms:Q", title="wait in the modem (ms)", scale=vl.Scale(domain=[0, 2700]))
    predicted = base.mark_line(strokeWidth=1.5).encode(y="predicted_ms:Q")
    longest = base.mark_point(filled=True, size=60).encode(y=y)
    mean = base.mark_line(
        point={"filled": True, "size": 25}, strokeWidth=1.5, strokeDash=[5, 4]
    ).encode(y="mean_ms:Q")
    marks = [mark_across(400, "400 ms: calls (G.114)", near_left=True)]
    return [Panel("", vl.layer(predicted, mean, longest, *marks))]
