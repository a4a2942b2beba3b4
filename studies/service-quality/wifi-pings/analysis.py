"""What small packets take from a download in an 802.11b cell, and what their time on the air says they take."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, make_chart
from headend.study.airtime import CELL, CELL_TRANSFER, DOCUMENT_TRANSFER, IP_HEADER_BYTES
from headend.study.claims import Finding, Verdict, decide

#: The document's times of a ping and its answer by size, as printed (Table 2), and of a segment and its acknowledgement (Table 1), µs.
PUBLISHED_PINGS = {64: 2416.2, 128: 2509.2, 256: 2695.4}
PUBLISHED_EXCHANGE = 3443.0


def find_stolen(row: dict[str, Any]) -> float:
    """Give the goodput in bit/s that the time of the pings would have carried, by this cell's times."""
    pings_us = 2 * CELL.exchange_us(row["size"] + IP_HEADER_BYTES) * row["per_second"]
    return CELL_TRANSFER.find_rate_bps(CELL, pings_us)


def find_published(row: dict[str, Any]) -> float:
    """Give the same by the document's tables."""
    time = PUBLISHED_PINGS[row["size"]] * row["per_second"]
    return float(time / PUBLISHED_EXCHANGE * DOCUMENT_TRANSFER.counted_bytes * 8)


def average(points: pl.DataFrame) -> pl.DataFrame:
    """Give a row for each rate and size of pings: means over the seeds."""
    groups = points.group_by("interval_ms", "size", maintain_order=True)
    rows = groups.agg(pl.col("goodput").mean())
    return rows.with_columns(per_second=1000 / pl.col("interval_ms"))


def read(rows: pl.DataFrame, interval_ms: int, size: int) -> float | None:
    """Give the goodput of one cell in Mb/s, if it was run."""
    chosen = rows.filter(interval_ms=interval_ms, size=size)
    return float(chosen["goodput"][0]) / 1e6 if chosen.height else None


def check_goodput(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Hold the goodput beside rare pings against its range."""
    mbps = read(average(points), limits["interval_ms"], limits["size"])
    if mbps is None:
        return Finding("no such run", Verdict.UNTESTABLE)
    agrees = limits["least"] <= mbps <= limits["most"]
    return Finding(f"{mbps:.2f} Mb/s", decide(agrees), why="" if agrees else limits["why"])


def check_halved(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Hold the goodput beside dense pings against that beside rare ones."""
    rows = average(points)
    rare = read(rows, 100, limits["size"])
    dense = read(rows, limits["interval_ms"], limits["size"])
    if rare is None or dense is None:
        return Finding("no such run", Verdict.UNTESTABLE)
    share = dense / rare
    agrees = abs(share / limits["share"] - 1) <= limits["within"]
    return Finding(f"{dense:.2f} Mb/s, {share:.0%}", decide(agrees))


def check_sum(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """See whether what is left and what is stolen add up to the same at every rate."""
    rows = average(points).filter(size=limits["size"])
    sums = [row["goodput"] + find_stolen(row) for row in rows.iter_rows(named=True)]
    agrees = max(sums) / min(sums) - 1 <= limits["within"]
    return Finding(f"{min(sums) / 1e6:.2f} to {max(sums) / 1e6:.2f} Mb/s", decide(agrees))


def check_size(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare what small and large pings take."""
    rows = average(points)
    small, large = (read(rows, limits["interval_ms"], size) for size in limits["sizes"])
    alone = read(rows, 100, limits["sizes"][0])
    if small is None or large is None or alone is None:
        return Finding("no such run", Verdict.UNTESTABLE)
    ratio = (alone - large) / (alone - small)
    text = f"{alone - small:.2f} and {alone - large:.2f} Mb/s, {ratio:.2f} times"
    return Finding(text, decide(ratio <= limits["most"]))


def draw_left(points: pl.DataFrame) -> list[Panel]:
    """Draw the goodput against the rate of the pings."""
    rows = average(points).with_columns(
        mbps=pl.col("goodput") / 1e6, message=pl.format("{} B", "size")
    )
    sizes = rows["message"].unique(maintain_order=True).to_list()
    chart = (
        make_chart(rows)
        .mark_line(point=True)
        .encode(
            x=alt.X("per_second:Q", title="pings per second"),
            y=alt.Y("mbps:Q", title="goodput of the download, Mbit/s"),
            color=alt.Color(
                "message:N", title=None, scale=alt.Scale(domain=sizes, range=list(PALETTE[:3]))
            ),
        )
    )
    return [Panel("", chart)]


def draw_sum(points: pl.DataFrame) -> list[Panel]:
    """Draw what is left, and what it is with what was stolen."""
    rows = []
    for row in average(points).filter(size=64).iter_rows(named=True):
        left = row["goodput"]
        for name, value in (
            ("left", left),
            ("and stolen, by this cell's times", left + find_stolen(row)),
            ("and stolen, by the document's times", left + find_published(row)),
        ):
            rows.append({"per_second": row["per_second"], "what": name, "mbps": value / 1e6})
    frame = pl.DataFrame(rows)
    names = frame["what"].unique(maintain_order=True).to_list()
    chart = (
        make_chart(frame)
        .mark_line(point=True)
        .encode(
            x=alt.X("per_second:Q", title="pings of 64 B per second"),
            y=alt.Y("mbps:Q", title="Mbit/s"),
            color=alt.Color(
                "what:N", title=None, scale=alt.Scale(domain=names, range=list(PALETTE[:3]))
            ),
        )
    )
    return [Panel("", chart)]
