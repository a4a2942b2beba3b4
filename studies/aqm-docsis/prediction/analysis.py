"""What laws believe of the delay behind a cable modem, and what a call feels of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from headend.analysis.estimate import estimate_mean
from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, make_chart
from headend.study import ClaimResult, ClaimVerdict, Decision, decide_over_seeds, join_decisions

from ..pooling import Values, find_percentile, pool

NAMES = {
    "codel": "CoDel",
    "codel-dt": "CoDel-DT",
    "codel-dt-token-buckets": "CoDel-DT, token buckets",
    "codel-dt-offset": "CoDel-DT, 6 ms lower",
    "codel-dt-ns2": "CoDel-DT, ns-2 code",
    "pie": "PIE",
    "pie-64KiB": "PIE, 64 KiB",
    "pie-token-buckets": "PIE, token buckets",
}

#: Where the grants stand, and what the figures call it; the first is the matrix's.
PLACES = {"random": "grants anywhere in a MAP", "first": "grants at the beginning of a MAP"}
PLACE = "random"

#: Why the offset does not tell on both loads together.
WHY_OFFSET = (
    "with long uploads alone (load 3) CoDel-DT with the offset waits the least, with ten short ones"
    " (load 8) it does not. No cause of the latter was found"
)

#: What a difference is more than, ms or a share: equal is not above.
LEAST = 1e-12

#: Of the study: s between two values of the series, and of warm-up.
STEP, WARMUP = 0.016, 10.0


def list_latencies(points: pl.DataFrame, queue: str, placement: str = PLACE) -> list[float]:
    """Give the 90th percentile latency, ms, all loads together: a value for each seed."""
    rows = points.filter(queue=queue, placement=placement).sort("seed")
    found = []
    for own in rows.partition_by("seed", maintain_order=True):
        parts = [np.asarray(delays, dtype=float)[1:] / 1e6 for delays in own["delays"].to_list()]
        found.append(find_percentile(*pool(parts, own["sent"].to_list()), 90))
    return found


def list_losses(points: pl.DataFrame, queue: str, placement: str = PLACE) -> list[float]:
    """Give the share of the call's packets lost, all loads together: a value for each seed."""
    rows = points.filter(queue=queue, placement=placement).sort("seed")
    parts = rows.partition_by("seed", maintain_order=True)
    return [float(own["lost"].sum()) / float(own["sent"].sum()) for own in parts]


def take_estimates(row: dict[str, Any]) -> Values:
    """Give the estimates of a run after the warm-up, over the mean rate that departed then."""
    first = round(WARMUP / STEP)
    estimates = np.asarray(row["estimate"][first:], dtype=float)
    return np.asarray(estimates[np.isfinite(estimates)] / np.mean(row["departed"][first:]))


def exceed(values: list[float], base: list[float]) -> Decision:
    """Decide whether some numbers are above others, seed by seed."""
    return decide_over_seeds(
        [own - other for own, other in zip(values, base, strict=True)], low=LEAST
    )


def check_offset(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold a queue's latency and loss against those of others."""
    own, others = limits["queue"], limits["others"]
    if not set(points["queue"].to_list()) >= {own, *others}:
        return ClaimResult("not run", ClaimVerdict.UNTESTABLE)
    less = [exceed(list_latencies(points, queue), list_latencies(points, own)) for queue in others]
    more = [exceed(list_losses(points, own), list_losses(points, queue)) for queue in others]
    text = ", ".join(
        (
            f"{NAMES[queue]} {tell(list_latencies(points, queue))} ms and"
            f" {np.mean(list_losses(points, queue)):.1e} lost"
        )
        for queue in (own, limits["told"], "codel-dt", *others)
        if queue in set(points["queue"].to_list())
    )
    for load in sorted(set(points["load"].to_list())):
        own_load = points.filter(load=load)
        text += f"; load {load}: " + ", ".join(
            f"{NAMES[queue]} {np.mean(list_latencies(own_load, queue)):.1f} ms"
            for queue in (own, *others)
        )
    return join_decisions([*less, *more], text, WHY_OFFSET)


def check_true_rate(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the median estimate of the departure rate against the true rate."""
    decisions, found = [], []
    for placement, place in PLACES.items():
        rows = points.filter(queue=limits["queue"], load=limits["load"], placement=placement)
        ratios = [take_estimates(row) for row in rows.sort("seed").to_dicts()]
        medians = [float(np.median(own)) for own in ratios]
        low, high = np.percentile(np.concatenate(ratios), [5, 95])
        within = limits["within"]
        decisions.append(decide_over_seeds(medians, 1 - within, 1 + within))
        found.append(f"{place}: {tell(medians, 3)}, nine tenths from {low:.2f} to {high:.2f}")
    return join_decisions(decisions, "; ".join(found))


def check_placement(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the latency with grants anywhere against that with early grants; tell other laws."""
    rows = points.filter(load=limits["load"])
    known = [queue for queue in NAMES if queue in set(rows["queue"].to_list())]
    decisions, found = [], []
    for queue in known:
        anywhere, first = (list_latencies(rows, queue, placement) for placement in PLACES)
        if queue in limits["queues"]:
            decisions.append(exceed(anywhere, first))
        found.append(f"{NAMES[queue]} {tell(anywhere)} instead of {tell(first)} ms")
    return join_decisions(decisions, ", ".join(found))


def tell(values: list[float], digits: int = 1) -> str:
    """Write a mean over the seeds, with its interval where there is one."""
    found = estimate_mean(values)
    half = "" if np.isnan(found.half) else f" ± {found.half:.{digits}f}"
    return f"{found.mean:.{digits}f}{half}"


def draw_latency(points: pl.DataFrame) -> list[Panel]:
    """Draw each seed's 90th percentile latency, a panel for each place of the grants."""
    panels = []
    for placement, place in PLACES.items():
        rows = pl.DataFrame(
            [
                {"name": NAMES[queue], "value": value}
                for queue in NAMES
                if queue in set(points["queue"].to_list())
                for value in list_latencies(points, queue, placement)
            ]
        )
        chart = (
            make_chart(rows)
            .mark_point(filled=True, size=60, opacity=0.8, color=PALETTE[0])
            .encode(
                x=vl.X(
                    "value:Q",
                    title="90th percentile latency (ms)",
                    scale=vl.Scale(domain=[0, 50], nice=False, clamp=True),
                ),
                y=vl.Y("name:N", title=None, sort=list(NAMES.values())),
                tooltip=["name:N", vl.Tooltip("value:Q", format=".1f")],
            )
        )
        panels.append(Panel(place, chart.properties(height=180)))
    return panels


def draw_estimate(points: pl.DataFrame) -> list[Panel]:
    """Draw the middle half of the estimates over the true rate, a panel per place of grants."""
    panels = []
    load, seed = points["load"].min(), points["seed"].min()
    for placement, place in PLACES.items():
        rows = []
        for row in points.filter(load=load, seed=seed, placement=placement).to_dicts():
            ratios = take_estimates(row)
            if len(ratios):
                low, middle, high = np.percentile(ratios, [25, 50, 75])
                rows.append(
                    {"name": NAMES[row["queue"]], "low": low, "middle": middle, "high": high}
                )
        frame = pl.DataFrame(rows)
        base = make_chart(frame).encode(y=vl.Y("name:N", title=None, sort=list(NAMES.values())))
        x = vl.X("low:Q", title="estimated / true rate", scale=vl.Scale(domain=[0.6, 1.6]))
        bars = base.mark_rule(strokeWidth=4, color=PALETTE[0], opacity=0.5).encode(x=x, x2="high:Q")
        dots = base.mark_point(filled=True, size=70, color=PALETTE[0]).encode(x="middle:Q")
        panels.append(Panel(place, vl.layer(bars, dots).properties(height=120)))
    return panels
