"""Latency of a call, page load times and goodput of downloads, by the queue at the CMTS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import colour, make_chart, share_axis
from headend.study import ClaimResult, ClaimVerdict, decide_over_seeds, join_decisions

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The queues at the CMTS, as figures call them.
QUEUES = {
    "tail-250kB": "drop-tail, 250 KB",
    "tail-250ms": "drop-tail, 250 ms",
    "codel": "CoDel",
    "pie": "PIE",
    "docsis-pie": "DOCSIS-PIE",
    "fq-codel": "FQ-CoDel",
}


def read(points: pl.DataFrame, rate_mbps: int, queue: str, column: str) -> list[float]:
    """Give what was measured with a queue at a rate, seed by seed."""
    rows = points.filter(rate_mbps=rate_mbps, queue=queue).sort("seed")
    return [float(value) for value in rows[column]]


def read_goodput(points: pl.DataFrame, rate_mbps: int, queue: str) -> list[float]:
    """Give the goodput of all downloads, seed by seed, bit/s."""
    return read(points.with_columns(all=pl.col("near") + pl.col("far")), rate_mbps, queue, "all")


def list_rates(points: pl.DataFrame) -> list[int]:
    """Give the rates that were run."""
    return sorted(set(points["rate_mbps"].to_list()))


def find_excess(own: Sequence[float], base: Sequence[float]) -> list[float]:
    """Give by what share one is above the other, seed by seed."""
    return [one / other - 1 for one, other in zip(own, base, strict=True)]


def tell(values: Sequence[float], queue: str, unit: float) -> str:
    """Write a queue's mean over the seeds."""
    return f"{QUEUES[queue]} {np.mean(values) / unit:.3g}"


def compare(points: pl.DataFrame, limits: dict[str, Any], column: str, unit: float) -> ClaimResult:
    """Look whether each queue has less of a delay than the base, at each rate."""
    decisions, found = [], []
    for rate_mbps in list_rates(points):
        base = read(points, rate_mbps, limits["base"], column)
        told = [tell(base, limits["base"], unit)]
        for queue in limits["queues"]:
            if own := read(points, rate_mbps, queue, column):
                decisions.append(decide_over_seeds(find_excess(own, base), high=0.0))
                told.append(tell(own, queue, unit))
        found.append(f"{rate_mbps} Mb/s: {', '.join(told)} {'s' if unit == 1e9 else 'ms'}")
    if not decisions:
        return ClaimResult("not run", ClaimVerdict.UNTESTABLE)
    return join_decisions(decisions, "; ".join(found))


def check_latency(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the call's 90th percentile latency against that with the deep queue."""
    return compare(points, limits, "p90", 1e6)


def check_pages(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the median page load time against that with the deep queue."""
    return compare(points, limits, "page", 1e9)


def check_cost(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the goodput of the downloads against that with the deep queue."""
    decisions, found = [], []
    for rate_mbps in list_rates(points):
        base = read_goodput(points, rate_mbps, limits["base"])
        told = [tell(base, limits["base"], 1e6)]
        for queue in limits["queues"]:
            if own := read_goodput(points, rate_mbps, queue):
                decisions.append(decide_over_seeds(find_excess(own, base), low=-limits["within"]))
                told.append(f"{tell(own, queue, 1e6)} ({np.mean(find_excess(own, base)):+.1%})")
        found.append(f"{rate_mbps} Mb/s: {', '.join(told)} Mb/s")
    if not decisions:
        return ClaimResult("not run", ClaimVerdict.UNTESTABLE)
    return join_decisions(decisions, "; ".join(found))


def check_short(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the short drop-tail queue against the others, in latency and in goodput."""
    rate_mbps = limits["rate_mbps"]
    delays = read(points, rate_mbps, limits["base"], "p90")
    rates = read_goodput(points, rate_mbps, limits["base"])
    if not delays:
        return ClaimResult("not run", ClaimVerdict.UNTESTABLE)
    decisions = []
    found = [f"{tell(delays, limits['base'], 1e6)} ms, {np.mean(rates) / 1e6:.0f} Mb/s"]
    for queue in [*limits["queues"], limits["told"]]:
        own = read(points, rate_mbps, queue, "p90")
        goodputs = read_goodput(points, rate_mbps, queue)
        if not own:
            continue
        found.append(f"{tell(own, queue, 1e6)} ms, {np.mean(goodputs) / 1e6:.0f} Mb/s")
        if queue in limits["queues"]:
            decisions.append(decide_over_seeds(find_excess(delays, own), high=0.0))
            less = find_excess(rates, goodputs)
            decisions.append(decide_over_seeds(less, high=limits["most"] - 1))
    return join_decisions(decisions, "; ".join(found))


def draw_latency(points: pl.DataFrame) -> list[Panel]:
    """Draw the distribution of the call's latency, a panel for each rate."""
    panels = []
    for rate_mbps in list_rates(points):
        frames = []
        for slot, (queue, name) in enumerate(QUEUES.items()):
            rows = points.filter(rate_mbps=rate_mbps, queue=queue)
            if rows.is_empty():
                continue
            delays = np.mean(rows["delays"].to_list(), axis=0) / 1e6
            frame = pl.DataFrame({"delay_ms": delays, "share": np.arange(101) / 100})
            frames.append(frame.with_columns(series=pl.lit(name), slot=pl.lit(slot)))
        curves = pl.concat(frames)
        chart = (
            make_chart(curves)
            .mark_line(strokeWidth=2)
            .encode(
                x=vl.X(
                    "delay_ms:Q",
                    title="one-way delay downstream (ms)",
                    scale=vl.Scale(type="log", nice=False),
                ),
                y=share_axis("packets"),
                order="share:Q",
                color=colour(curves),
                tooltip=["series:N", vl.Tooltip("delay_ms:Q", format=".3~g"), "share:Q"],
            )
        )
        panels.append(Panel(f"{rate_mbps} Mb/s", chart, f"latency-{rate_mbps}-mbps"))
    return panels


def draw_trade(points: pl.DataFrame) -> list[Panel]:
    """Draw page load times beside what the downloads get, a panel for each rate."""
    slots = {queue: slot for slot, queue in enumerate(QUEUES)}
    rows = points.with_columns(
        series=pl.col("queue").replace_strict(QUEUES),
        slot=pl.col("queue").replace_strict(slots),
        page_s=pl.col("page") / 1e9,
        mbps=(pl.col("near") + pl.col("far")) / 1e6,
    ).drop("delays")
    panels = []
    for rate_mbps in list_rates(points):
        own = rows.filter(rate_mbps=rate_mbps)
        chart = (
            make_chart(own)
            .mark_point(filled=True, size=70, opacity=0.8)
            .encode(
                x=vl.X("mbps:Q", title="goodput of the downloads (Mb/s)"),
                y=vl.Y("page_s:Q", title="median page load time (s)"),
                color=colour(own, "circle"),
                tooltip=["series:N", vl.Tooltip("page_s:Q", format=".3~g"), "mbps:Q", "seed:O"],
            )
        )
        panels.append(Panel(f"{rate_mbps} Mb/s", chart, f"trade-{rate_mbps}-mbps"))
    return panels
