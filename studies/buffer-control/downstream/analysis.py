"""Section 7.3 of the Buffer Control guideline, untested then: Buffer Control on downstream service flows."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from headend.figures.figure import Panel
from headend.figures.theme import mark_across, mark_along
from headend.study.buffers import KIB, draw_over_buffers, find_best, predict_delay
from headend.study.claims import Finding, decide

#: Round trip of the downloads, in ms.
ROUND_TRIP_MS = 57


def tabulate(points: pl.DataFrame) -> pl.DataFrame:
    """Average the seeds; times in ms and s, goodput in Mb/s."""
    measures = ("goodput", "used", "longest", "mos", "mos_up", "loss", "load")
    return (
        points.group_by("rate_mbps", "downloads", "buffer_kib", maintain_order=True)
        .agg(pl.col(name).mean() for name in measures)
        .with_columns(
            mbps=pl.col("goodput") / 1e6,
            longest_ms=pl.col("longest") / 1e6,
            load_s=pl.col("load") / 1e9,
            full_ms=predict_delay(),
        )
        .sort("rate_mbps", "downloads", "buffer_kib")
    )


def check_latency(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare longest waits with buffer over rate."""
    rows = tabulate(points).filter(pl.col("downloads") == 10)
    packet_ms = limits["packet"] * 8 / (pl.col("rate_mbps") * 1e3)
    rows = rows.with_columns(beyond=(pl.col("longest_ms") - pl.col("full_ms")) / packet_ms)
    low, high = float(rows["beyond"].min()), float(rows["beyond"].max())  # type: ignore[arg-type]
    text = f"{low:+.2f} to {high:+.2f} packets beyond it in {rows.height} cases"
    return Finding(text, decide(max(-low, high) <= 1))


def check_rate(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Find the least use of the line beside one download from a buffer of one bandwidth-delay product on."""
    rows = tabulate(points).filter(pl.col("downloads") == 1, pl.col("full_ms") >= limits["rtt_ms"])
    least = rows.sort("used").row(0, named=True)
    text = f"{least['used']:.1%} at the least of {rows.height} cases ({least['rate_mbps']} Mb/s, {least['buffer_kib']} KiB)"
    return Finding(text, decide(least["used"] >= limits["full"]))


def check_calls(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare the largest buffer's score with the best, and find where that is."""
    rows = tabulate(points).filter(pl.col("downloads") == 1)
    best = find_best(rows, ["rate_mbps"], "mos")
    found, agrees = [], True
    for row in best.iter_rows(named=True):
        own = rows.filter(pl.col("rate_mbps") == row["rate_mbps"]).sort("buffer_kib")
        last = own.row(-1, named=True)
        full_ms = float(own.filter(pl.col("buffer_kib") == row["best"])["full_ms"].item())
        found.append(
            f"best with {row['best']} KiB, {full_ms:.0f} ms ({row['mos']:.2f}); {last['mos']:.2f} with"
            f" {last['buffer_kib']} KiB, at {row['rate_mbps']} Mb/s"
        )
        agrees &= row["mos"] - last["mos"] >= limits["drop"] and full_ms <= limits["most_ms"]
    return Finding("; ".join(found), decide(agrees))


def check_pages(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Find the best buffer for pages beside ten downloads."""
    rows = tabulate(points).filter(pl.col("downloads") == 10)
    best = find_best(rows, ["rate_mbps"], "load_s", highest=False)
    text = "; ".join(
        f"{row['best']} KiB ({row['load_s']:.1f} s) at {row['rate_mbps']} Mb/s"
        for row in best.iter_rows(named=True)
    )
    agrees = bool((best["best"] == limits["best_kib"]).all())
    why = (
        ""
        if agrees
        else (
            "downstream the page's own data shares the buffer: what a small one drops has to be sent again, after a timeout"
            " where a connection has too little in flight to notice. Upstream only requests and acknowledgements do"
        )
    )
    times = "; ".join(
        f"{rate} Mb/s: " + ", ".join(f"{load:.2f}" for load in part["load_s"])
        for (rate,), part in rows.group_by("rate_mbps", maintain_order=True)
    )
    return Finding(
        text, decide(agrees), why=f"{why}{'. ' if why else ''}Seconds by buffer at {times}"
    )


def check_other_way(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare upstream scores over the downstream buffers."""
    scores = tabulate(points)["mos_up"]
    low, high = float(scores.min()), float(scores.max())  # type: ignore[arg-type]
    return Finding(f"{low:.2f} to {high:.2f}", decide(high - low <= limits["within"]))


def draw_goodput(points: pl.DataFrame) -> list[Panel]:
    """Draw what downloads get over the buffer, a panel for each rate."""
    panels = []
    for (rate,), rows in _colour(tabulate(points)).group_by("rate_mbps", maintain_order=True):
        mbps = int(str(rate))
        lines = draw_over_buffers(rows, "mbps", "goodput (Mbit/s)", domain=(0, mbps))
        product = mbps * 1e3 * ROUND_TRIP_MS / 8 / KIB
        mark = mark_along(product, "bandwidth × delay", "buffer_kib")
        panels.append(Panel(f"{rate} Mb/s", alt.layer(lines, mark), name=f"goodput-{rate}-mbps"))
    return panels


def draw_calls(points: pl.DataFrame) -> list[Panel]:
    """Draw the call's score over the buffer, a panel for each rate."""
    return [
        Panel(
            f"{rate} Mb/s",
            alt.layer(
                draw_over_buffers(rows, "mos", "mean opinion score", domain=(1, 5)),
                mark_across(4, "toll quality"),
            ),
            name=f"mos-{rate}-mbps",
        )
        for (rate,), rows in _colour(tabulate(points)).group_by("rate_mbps", maintain_order=True)
    ]


def draw_pages(points: pl.DataFrame) -> list[Panel]:
    """Draw page load times over the buffer, a panel for each rate."""
    title = "page load time, median (s)"
    return [
        Panel(
            f"{rate} Mb/s",
            draw_over_buffers(rows, "load_s", title, domain=(1, 100), log=True),
            name=f"load-{rate}-mbps",
        )
        for (rate,), rows in _colour(tabulate(points)).group_by("rate_mbps", maintain_order=True)
    ]


def _colour(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(
        series=pl.when(pl.col("downloads") == 1)
        .then(pl.lit("1 download"))
        .otherwise(pl.format("{} downloads", "downloads")),
        slot=pl.col("downloads").rank("dense").cast(pl.Int64) - 1,
    )
