"""Section 7.2.1.2 of the Buffer Control guideline, left open: large token buckets."""

from __future__ import annotations

from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import make_chart
from headend.study import ClaimResult, decide

from ..buffers import draw_over_buffers, make_buffer_axis, predict_delay

BOOSTS = ("none", "1 MB", "5 MB")

#: The sustained rate, in Mb/s.
SUSTAINED = 5


def tabulate(points: pl.DataFrame) -> pl.DataFrame:
    """Average the seeds; times in s and ms, and the speed of a file in Mb/s."""
    return (
        points.group_by("boost", "buffer_kib", "file_mb", maintain_order=True)
        .agg(
            time_s=pl.col("time").mean() / 1e9,
            longest_ms=pl.col("longest").mean() / 1e6,
        )
        .with_columns(
            speed=pl.col("file_mb") * 8 / pl.col("time_s"),
            rate_mbps=pl.lit(SUSTAINED),
        )
        .with_columns(full_ms=predict_delay())
        .sort("file_mb", "boost", "buffer_kib")
    )


def check_boost(points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Compare small files with and without boost."""
    times = _pivot(points, 2, "time_s")
    ratios = times["none"] / times["5 MB"]
    text = ", ".join(
        f"{ratio:.2f} times as fast with {size} KiB"
        for size, ratio in zip(times["buffer_kib"], ratios, strict=True)
    )
    speeds = ", ".join(f"{16 / time:.1f}" for time in times["none"])
    why = (
        f"without boost a file goes at {speeds} Mbit/s: in the smallest buffers the buffer is the"
        " limit and not the rate, so that a higher rate changes nothing"
    )
    return ClaimResult(text, decide(bool((ratios > 1).all())), why=why)


def check_small(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare what small files take with a small and a large buffer."""
    times = _pivot(points, 2, "time_s")
    ratios = {}
    for boost in ("5 MB", "none"):
        small, large = (
            float(times.filter(pl.col("buffer_kib") == limits[size])[boost].item())
            for size in ("small_kib", "large_kib")
        )
        ratios[boost] = small / large
    text = f"{ratios['5 MB']:.2f} times as long with boost, {ratios['none']:.2f} without"
    return ClaimResult(text, decide(ratios["5 MB"] > max(1, ratios["none"])))


def draw_speed(points: pl.DataFrame) -> list[Panel]:
    """Draw how fast files go, a panel for each size."""
    return [
        Panel(
            f"Files of {size} MB",
            draw_over_buffers(
                _colour(_at(points, size)), "speed", "size over time (Mbit/s)", domain=(0, 20)
            ),
            name=f"speed-{size}-mb",
        )
        for size in (2, 20)
    ]


def draw_latency(points: pl.DataFrame) -> list[Panel]:
    """Draw the longest waits, a panel for each size."""
    panels = []
    for size in (2, 20):
        rows = _colour(_at(points, size))
        lines = draw_over_buffers(
            rows, "longest_ms", "longest wait in the modem (ms)", domain=(5, 500), log=True
        )
        sizes = rows["buffer_kib"].unique().sort().to_list()
        full = (
            make_chart(rows.unique("buffer_kib", keep="first", maintain_order=True))
            .mark_line(color="#8c8c8c", strokeDash=[5, 4])
            .encode(x=make_buffer_axis(sizes), y="full_ms:Q")
        )
        panels.append(Panel(f"Files of {size} MB", vl.layer(full, lines), name=f"wait-{size}-mb"))
    return panels


def _at(points: pl.DataFrame, file_mb: int) -> pl.DataFrame:
    return tabulate(points).filter(pl.col("file_mb") == file_mb)


def _pivot(points: pl.DataFrame, file_mb: int, value: str) -> pl.DataFrame:
    return _at(points, file_mb).pivot("boost", index="buffer_kib", values=value).sort("buffer_kib")


def _colour(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(
        series=pl.when(pl.col("boost") == "none").then(pl.lit("no boost")).otherwise("boost"),
        slot=pl.col("boost").replace_strict(
            {name: place for place, name in enumerate(BOOSTS)}, return_dtype=pl.Int64
        ),
    )
