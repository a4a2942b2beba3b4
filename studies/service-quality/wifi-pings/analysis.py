"""What small packets take from a download in an 802.11b cell, by their air time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, make_chart
from headend.study import ClaimResult, ClaimVerdict, decide_over_seeds, join_decisions
from headend.study.airtime import CELL, CELL_TRANSFER, DOCUMENT_TRANSFER, IP_HEADER_BYTES

#: The document's times of a ping and its answer by size, as printed (Table 2), and of a segment and
#: its acknowledgement (Table 1), µs.
PUBLISHED_PINGS = {64: 2416.2, 128: 2509.2, 256: 2695.4}
PUBLISHED_EXCHANGE = 3443.0

#: The download of this cell: as the engine's, with an acknowledgement for each segment.
TRANSFER = replace(CELL_TRANSFER, acknowledgements=1.0)


def find_stolen(row: dict[str, Any]) -> float:
    """Give the goodput in bit/s that the pings' time would have carried, by this cell's."""
    pings_us = 2 * CELL.exchange_us(row["size"] + IP_HEADER_BYTES) * row["per_second"]
    return TRANSFER.find_rate_bps(CELL, pings_us)


def find_published(row: dict[str, Any]) -> float:
    """Give the same by the document's tables."""
    time = PUBLISHED_PINGS[row["size"]] * row["per_second"]
    return float(time / PUBLISHED_EXCHANGE * DOCUMENT_TRANSFER.counted_bytes * 8)


def average(points: pl.DataFrame) -> pl.DataFrame:
    """Give a row for each rate and size of pings: means over the seeds."""
    groups = points.group_by("interval_ms", "size", maintain_order=True)
    rows = groups.agg(pl.col("goodput").mean())
    return rows.with_columns(per_second=1000 / pl.col("interval_ms"))


def list_goodputs(points: pl.DataFrame, interval_ms: int, size: int) -> list[float]:
    """Give the goodput of a cell of the grid in Mb/s, by seed; nothing if not run."""
    chosen = points.filter(interval_ms=interval_ms, size=size).sort("seed")
    return (chosen["goodput"] / 1e6).to_list()


def list_sums(points: pl.DataFrame, interval_ms: int, size: int) -> list[float]:
    """Give what is left and what is stolen by the document's times, Mb/s, by seed."""
    stolen = find_published({"size": size, "per_second": 1000 / interval_ms}) / 1e6
    return [left + stolen for left in list_goodputs(points, interval_ms, size)]


def subtract(values: Sequence[float], others: Sequence[float]) -> list[float]:
    """Give differences seed by seed."""
    return [value - other for value, other in zip(values, others, strict=True)]


def check_alone(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the goodput beside rare pings against its range."""
    mbps = list_goodputs(points, limits["interval_ms"], limits["size"])
    if not mbps:
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    found = decide_over_seeds(mbps, limits["least"], limits["most"])
    why = "" if found.verdict is ClaimVerdict.REPRODUCED else limits["why"]
    return found.tell(f"{found.mean:.2f} Mb/s", why)


def check_halved(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the goodput beside dense pings against its range, and against that beside rare ones."""
    rare = list_goodputs(points, 100, limits["size"])
    dense = list_goodputs(points, limits["interval_ms"], limits["size"])
    if not rare or not dense:
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    shares = [few / many for few, many in zip(dense, rare, strict=True)]
    left = decide_over_seeds(dense, *limits["mbps"])
    share = decide_over_seeds(shares, *limits["share"])
    return join_decisions([left, share], f"{left.mean:.2f} Mb/s, {share.mean:.0%}")


def check_sum(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """See whether what is left and what is stolen add up to the download alone at every rate."""
    size = limits["size"]
    alone = list_goodputs(points, 100, size)
    ratios = []
    for interval in points.filter(size=size)["interval_ms"].unique(maintain_order=True):
        sums = list_sums(points, interval, size)
        ratios.append([total / one for total, one in zip(sums, alone, strict=True)])
    bounds = 1 - limits["within"], 1 + limits["within"]
    decisions = [decide_over_seeds(ratio, *bounds) for ratio in ratios]
    if not decisions:
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    means = [decision.mean - 1 for decision in decisions]
    mean = sum(alone) / len(alone)
    return join_decisions(decisions, f"{min(means):+.1%} to {max(means):+.1%} of {mean:.2f} Mb/s")


def check_drift(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """See whether the sum grows with the rate of the pings."""
    few, many = (list_sums(points, interval, limits["size"]) for interval in limits["intervals_ms"])
    if not few or not many:
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    found = decide_over_seeds(subtract(many, few), low=0.0)
    ends = [sum(sums) / len(sums) for sums in (few, many)]
    return found.tell(f"{found.mean:+.2f} Mb/s, from {ends[0]:.2f} to {ends[1]:.2f}")


def check_size(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare what small pings take with what their larger size takes besides."""
    small, large = limits["sizes"]
    alone = list_goodputs(points, 100, small)
    decisions, texts = [], []
    for interval in limits["intervals_ms"]:
        left = [list_goodputs(points, interval, size) for size in (small, large)]
        if not all(left):
            continue
        act, size = subtract(alone, left[0]), subtract(left[0], left[1])
        decisions.append(decide_over_seeds(subtract(act, size), low=0.0))
        means = [sum(values) / len(values) for values in (act, size)]
        texts.append(f"{means[0]:.2f} and {means[1]:.2f} Mb/s at {1000 / interval:.0f} a second")
    if not decisions:
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    return join_decisions(decisions, "; ".join(texts))


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
            x=vl.X("per_second:Q", title="pings per second"),
            y=vl.Y("mbps:Q", title="goodput of the download, Mbit/s"),
            color=vl.Color(
                "message:N", title=None, scale=vl.Scale(domain=sizes, range=list(PALETTE[:3]))
            ),
        )
    )
    published = pl.DataFrame({"per_second": [10.0, 1000 / 3], "mbps": [4.0, 2.0]})
    dots = (
        make_chart(published)
        .mark_point(filled=True, size=60, color="#24292f", shape="diamond")
        .encode(x="per_second:Q", y="mbps:Q")
    )
    return [Panel("", vl.layer(chart, dots))]


def draw_sum(points: pl.DataFrame) -> list[Panel]:
    """Draw what is left, and what it is with what was stolen."""
    rows = []
    for row in average(points).filter(size=64).iter_rows(named=True):
        left = row["goodput"]
        for name, value in (
            ("left", left),
            ("plus stolen, by the cell", left + find_stolen(row)),
            ("plus stolen, by the text", left + find_published(row)),
        ):
            rows.append({"per_second": row["per_second"], "what": name, "mbps": value / 1e6})
    frame = pl.DataFrame(rows)
    names = frame["what"].unique(maintain_order=True).to_list()
    chart = (
        make_chart(frame)
        .mark_line(point=True)
        .encode(
            x=vl.X("per_second:Q", title="pings of 64 B per second"),
            y=vl.Y("mbps:Q", title="Mbit/s"),
            color=vl.Color(
                "what:N", title=None, scale=vl.Scale(domain=names, range=list(PALETTE[:3]))
            ),
        )
    )
    return [Panel("", chart)]
