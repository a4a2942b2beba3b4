"""Section 7.2.1.2 of the Buffer Control guideline, left open by its authors: buffers and large token buckets."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from headend.figures.figure import Panel
from headend.figures.theme import make_chart
from headend.study.buffers import draw_over_buffers, make_buffer_axis, predict_delay
from headend.study.claims import Finding, decide

BOOSTS = ("none", "1 MB", "5 MB", "5 MB behind the adapter")

#: The sustained rate, in Mb/s.
SUSTAINED = 5


#: Why the rule asks for more than is needed.
LESS = (
    "CUBIC, which keeps 70 % of its window at a loss, needs less than a bandwidth-delay product of the peak rate: twice the"
    " recommended buffer gives the boost, for twice its wait"
)


def tabulate(points: pl.DataFrame) -> pl.DataFrame:
    """Average the seeds; times in s and ms, and the speed of a file in Mb/s."""
    return (
        points.group_by("boost", "buffer_kib", "file_mb", maintain_order=True)
        .agg(
            time_s=pl.col("time").mean() / 1e9,
            longest_ms=pl.col("longest").mean() / 1e6,
            ping_ms=pl.col("ping").mean() / 1e6,
        )
        .with_columns(
            speed=pl.col("file_mb") * 8 / pl.col("time_s"),
            rate_mbps=pl.lit(SUSTAINED),
        )
        .with_columns(full_ms=predict_delay())
        .sort("file_mb", "boost", "buffer_kib")
    )


def check_boost(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare small files with and without boost, with buffers large enough for the peak rate."""
    times = _pivot(points, 2, "time_s").filter(pl.col("buffer_kib") >= limits["least_kib"])
    ratio = float((times["none"] / times["5 MB"]).min())  # type: ignore[arg-type]
    return Finding(f"{ratio:.2f} times as fast at the least", decide(ratio >= limits["times"]))


def check_small(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare what small files take with a small and a large buffer."""
    times = _pivot(points, 2, "time_s")
    ratios = {}
    for boost in ("5 MB", "none"):
        small, large = (
            float(times.filter(pl.col("buffer_kib") == limits[size])[boost].item())
            for size in ("small_kib", "large_kib")
        )
        ratios[boost] = small / large
    text = f"{ratios['5 MB']:.3f} times as long with boost, {ratios['none']:.3f} without"
    agrees = ratios["5 MB"] >= limits["times"] > ratios["none"]
    return Finding(text, decide(agrees), why="" if agrees else LESS)


def check_latency(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare the longest waits of large files with and without boost."""
    waits = _pivot(points, 20, "longest_ms")
    ratios = pl.concat([waits[boost] / waits["none"] for boost in ("1 MB", "5 MB")])
    odd = waits.filter(~(waits["5 MB"] / waits["none"]).is_between(limits["low"], limits["high"]))
    why = "; ".join(
        f"with {row['buffer_kib']} KiB {row['5 MB']:.0f} ms instead of {row['none']:.0f} ms: bursts overflow so small a buffer,"
        " and the upload never fills it for long"
        for row in odd.iter_rows(named=True)
    )
    low, high = float(ratios.min()), float(ratios.max())  # type: ignore[arg-type]
    agrees = limits["low"] <= low and high <= limits["high"]
    text = f"{low:.0%} to {high:.0%} of it in {len(ratios)} cases"
    return Finding(text, decide(agrees), why=why)


def check_short(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare the longest waits of small files with buffer over sustained rate."""
    rows = _at(points, 2).filter(
        pl.col("boost") == "5 MB", pl.col("buffer_kib") >= limits["least_kib"]
    )
    shares = rows["longest_ms"] / rows["full_ms"]
    text = ", ".join(
        f"{share:.0%} with {size} KiB"
        for size, share in zip(rows["buffer_kib"], shares, strict=True)
    )
    return Finding(text, decide(float(shares.max()) <= limits["share"]))  # type: ignore[arg-type]


def check_trade(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Find the buffer that gives the boost, and what it costs a long file's packets."""
    fast = _at(points, 2).filter(pl.col("boost") == "5 MB").sort("buffer_kib")
    best = float(fast["time_s"].min())  # type: ignore[arg-type]
    enough = fast.filter(pl.col("time_s") <= best * (1 + limits["within"]))
    needed = int(enough.row(0, named=True)["buffer_kib"])
    waits = _pivot(points, 20, "longest_ms")
    there, recommended = (
        float(waits.filter(pl.col("buffer_kib") == size)["5 MB"].item())
        for size in (needed, limits["recommended_kib"])
    )
    text = f"{needed} KiB: a wait of up to {there:.0f} ms instead of {recommended:.0f} ms"
    agrees = there >= limits["times"] * recommended
    return Finding(text, decide(agrees), why="" if agrees else LESS)


def check_long(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Look for long files that a large bucket makes slower."""
    times = _pivot(points, 20, "time_s")
    slower = times.filter(pl.col("5 MB") > pl.col("none") * (1 + limits["within"]))
    why = "; ".join(
        f"{row['5 MB']:.0f} s instead of {row['none']:.0f} s with {row['buffer_kib']} KiB"
        for row in slower.iter_rows(named=True)
    )
    if why:
        why += ": what goes out as a burst comes back as a burst of acknowledgements, and its answer overflows the small buffer"
    text = f"{times.height - slower.height} of {times.height} buffers"
    return Finding(text, decide(slower.is_empty()), why=why)


def check_adapter(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare small files behind the adapter with those that have no boost."""
    times = _pivot(points, 2, "time_s").filter(pl.col("buffer_kib") >= limits["least_kib"])
    pairs = zip(times["buffer_kib"], times[BOOSTS[3]], times["none"], strict=True)
    text = ", ".join(
        f"{adapter:.2f} and {none:.2f} s with {size} KiB" for size, adapter, none in pairs
    )
    return Finding(text, decide(bool((times[BOOSTS[3]] >= times["none"]).all())))


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
        panels.append(Panel(f"Files of {size} MB", alt.layer(full, lines), name=f"wait-{size}-mb"))
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
