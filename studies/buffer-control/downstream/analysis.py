"""Section 7.3 of the Buffer Control guideline, untested then: downstream service flows."""

from __future__ import annotations

from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import mark_across, mark_along
from headend.study import ClaimResult, decide

from ..buffers import KIB, draw_over_buffers, find_best, predict_delay

#: Round trip of the downloads, in ms.
ROUND_TRIP_MS = 57


def tabulate(points: pl.DataFrame) -> pl.DataFrame:
    """Average the seeds; times in ms and s, goodput in Mb/s."""
    measures = ("goodput", "used", "longest", "mos", "page_loss", "load")
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


def check_latency(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare longest waits with buffer over rate, and with each other."""
    rows = tabulate(points).filter(pl.col("downloads") == 10).sort("rate_mbps", "buffer_kib")
    packet_ms = limits["packet"] * 8 / (pl.col("rate_mbps") * 1e3)
    beyond = rows.filter(pl.col("longest_ms") > pl.col("full_ms") + packet_ms)
    steps = rows.select(pl.col("longest_ms").diff().over("rate_mbps")).to_series().drop_nulls()
    shares: list[float] = (rows["longest_ms"] / rows["full_ms"]).to_list()
    text = f"{min(shares):.0%} to {max(shares):.0%} of buffer over rate in {rows.height} cases"
    return ClaimResult(text, decide(beyond.is_empty() and bool((steps > 0).all())))


#: Why one download does not fill the line through a large buffer.
OVERSHOOT = (
    "CUBIC overshoots the buffer: at 20 Mb/s with 512 KiB it loses 0.07 % of its packets, several"
    " at a time. With a window that fits (flow.download.tcp.receive_window = 512 KiB) nothing is"
    " lost and the line is used to 100.0 %, as it is by Reno, which loses 0.004 %"
)


def check_rate(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Find the least use of the line beside one download from one product of buffer on."""
    rows = tabulate(points).filter(pl.col("downloads") == 1, pl.col("full_ms") >= limits["rtt_ms"])
    least = rows.sort("used").row(0, named=True)
    text = (
        f"{least['used']:.1%} at the least of {rows.height} cases ({least['rate_mbps']} Mb/s,"
        f" {least['buffer_kib']} KiB)"
    )
    why = "" if least["used"] >= limits["full"] else OVERSHOOT
    return ClaimResult(text, decide(least["used"] >= limits["full"]), why=why)


def check_calls(points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Compare the largest buffer's score with the best."""
    rows = tabulate(points).filter(pl.col("downloads") == 1)
    found, agrees = [], True
    for row in find_best(rows, ["rate_mbps"], "mos").iter_rows(named=True):
        own = rows.filter(pl.col("rate_mbps") == row["rate_mbps"]).sort("buffer_kib")
        last = own.row(-1, named=True)
        found.append(
            f"best with {row['best']} KiB ({row['mos']:.2f}), {last['mos']:.2f} with"
            f" {last['buffer_kib']} KiB, at {row['rate_mbps']} Mb/s"
        )
        agrees &= row["mos"] > last["mos"]
    return ClaimResult("; ".join(found), decide(agrees))


def check_pages(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Find the best buffer for pages beside ten downloads."""
    rows = tabulate(points).filter(pl.col("downloads") == 10)
    best = find_best(rows, ["rate_mbps"], "load_s", highest=False)
    text = "; ".join(
        f"{row['best']} KiB ({row['load_s']:.1f} s) at {row['rate_mbps']} Mb/s"
        for row in best.iter_rows(named=True)
    )
    agrees = bool((best["best"] == limits["best_kib"]).all())
    told = "; ".join(
        f"{rate} Mb/s: "
        + ", ".join(
            f"{row['load_s']:.1f} s and {row['page_loss']:.1%} with {row['buffer_kib']} KiB"
            for row in part.sort("buffer_kib").iter_rows(named=True)
        )
        for (rate,), part in rows.group_by("rate_mbps", maintain_order=True)
    )
    return ClaimResult(
        text,
        decide(agrees),
        why="downstream the page's own data shares the buffer, and a small one drops it. Load time"
        f" and loss of the page's packets: {told}",
    )


def draw_goodput(points: pl.DataFrame) -> list[Panel]:
    """Draw what downloads get over the buffer, a panel for each rate."""
    panels = []
    for (rate,), rows in _colour(tabulate(points)).group_by("rate_mbps", maintain_order=True):
        mbps = int(str(rate))
        lines = draw_over_buffers(rows, "mbps", "goodput (Mbit/s)", domain=(0, mbps))
        product = mbps * 1e3 * ROUND_TRIP_MS / 8 / KIB
        mark = mark_along(product, "bandwidth × delay", "buffer_kib")
        panels.append(Panel(f"{rate} Mb/s", vl.layer(lines, mark), name=f"goodput-{rate}-mbps"))
    return panels


def draw_calls(points: pl.DataFrame) -> list[Panel]:
    """Draw the call's score over the buffer, a panel for each rate."""
    return [
        Panel(
            f"{rate} Mb/s",
            vl.layer(
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
