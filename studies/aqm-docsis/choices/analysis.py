"""What a call and a page feel when one choice that the AQM paper leaves open is made otherwise."""

from __future__ import annotations

import itertools
from statistics import fmean
from typing import Any

import numpy as np
import polars as pl

from headend.analysis.estimate import Estimate, estimate_mean
from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, log_axis, make_chart, make_legend
from headend.study import ClaimResult, ClaimVerdict, decide, decide_over_seeds, join_decisions

from ..disciplines import DISCIPLINES, DRAFTS, SLOTS
from ..pooling import find_percentile, pool

#: What the study calls the choices of aqm-docsis/matrix.
BASE = "matrix"

#: What a difference is more than, s or a share: equal is not less.
LEAST = 1e-12

CHOICES = {
    "matrix": "as in the matrix",
    "today": "windows of today",
    "scripts": "CUBIC for files (scripts)",
    "fresh": "fresh connections",
    "linux": "Linux senders",
    "receive-1M": "receive window 1 MiB",
    "downstream-250ms": "downstream buffer 250 ms",
    "servers-60ms": "web servers at 60 ms",
    "servers-100ms": "web servers at 100 ms",
    "pages-kept": "pages over kept connections",
    "de-jitter-40ms": "de-jitter buffer 40 ms",
    "grants-first": "grants at the beginning of a MAP",
    "dequeue-burst": "dequeued at the burst",
    "dequeue-request": "dequeued at the request",
}


def split(points: pl.DataFrame, choice: str, queue: str) -> list[pl.DataFrame]:
    """Give the runs of a choice and a queue, seed by seed."""
    rows = points.filter(choice=choice, queue=queue).sort("seed")
    return rows.partition_by("seed", maintain_order=True) if rows.height else []


def list_pages(points: pl.DataFrame, choice: str, queue: str) -> list[float]:
    """Give the 90th percentile page load time, s, mean of the loads: a value for each seed."""
    return [fmean(own["page"].to_list()) / 1e9 for own in split(points, choice, queue)]


def list_losses(points: pl.DataFrame, choice: str, queue: str) -> list[float]:
    """Give the share of the call's packets that was lost: a value for each seed."""
    return [
        float(own["lost"].sum()) / float(own["sent"].sum()) for own in split(points, choice, queue)
    ]


def list_latencies(points: pl.DataFrame, choice: str, queue: str) -> list[float]:
    """Give the 90th percentile latency, ms, all loads together: a value for each seed."""
    found = []
    for own in split(points, choice, queue):
        parts = [np.asarray(delays, dtype=float)[1:] / 1e6 for delays in own["delays"].to_list()]
        found.append(find_percentile(*pool(parts, own["sent"].to_list()), 90))
    return found


def estimate_latency(points: pl.DataFrame, choice: str, queue: str) -> Estimate | None:
    """Estimate the 90th percentile latency, ms, all loads together."""
    found = list_latencies(points, choice, queue)
    return estimate_mean(found) if found else None


def check_longer(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look whether each queue's latency under a choice is longer than the matrix's."""
    decisions, found, shorter = [], [], []
    for queue in list_queues(points):
        base, other, told = (
            list_latencies(points, choice, queue)
            for choice in (BASE, limits["choice"], limits["told"])
        )
        if not base or not other:
            return ClaimResult("not run", ClaimVerdict.UNTESTABLE)
        pairs = zip(other, base, strict=True)
        decisions.append(decide_over_seeds([own - before for own, before in pairs], low=LEAST))
        if decisions[-1].verdict is not ClaimVerdict.REPRODUCED:
            low, high = decisions[-1].interval or (float("nan"), float("nan"))
            shorter.append(f"{DISCIPLINES[queue]} ({low:+.1f} to {high:+.1f} ms)")
        beside = f" ({fmean(told):.1f})" if told else ""
        found.append(
            f"{DISCIPLINES[queue]} {fmean(other):.1f} instead of {fmean(base):.1f} ms{beside}"
        )
    text = f"{', '.join(found)}; in brackets {CHOICES[limits['told']]}"
    if shorter:
        text += f". Not clearly longer behind {', '.join(shorter)}"
    return join_decisions(decisions, text, "no cause was found")


def check_windows(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look whether a choice makes pages faster behind every queue."""
    decisions, found = [], []
    for queue in list_queues(points):
        base, other = (list_pages(points, choice, queue) for choice in (BASE, limits["choice"]))
        if not base or not other:
            return ClaimResult("not run", ClaimVerdict.UNTESTABLE)
        pairs = zip(base, other, strict=True)
        decisions.append(decide_over_seeds([slow - fast for slow, fast in pairs], low=LEAST))
        found.append(f"{DISCIPLINES[queue]} {fmean(other):.2f} instead of {fmean(base):.2f} s")
    return join_decisions(decisions, ", ".join(found))


def check_draft(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the loss under one reading of a queue against another's; tell all the latencies."""
    queues = [limits["queue"], limits["other"]]
    own, other = (list_losses(points, limits["choice"], queue) for queue in queues)
    if not own or not other:
        return ClaimResult("not run", ClaimVerdict.UNTESTABLE)
    told = [
        f"{CHOICES[choice]}: lost "
        + ", ".join(
            f"{DISCIPLINES[queue]} {fmean(list_losses(points, choice, queue)):.1e}"
            for queue in queues
        )
        for choice in (limits["choice"], BASE)
        if list_losses(points, choice, queues[0])
    ]
    latencies = {queue: estimate_latency(points, BASE, queue) for queue in limits["told"]}
    told.append(
        "latency "
        + ", ".join(
            f"{DISCIPLINES[queue]} {found.mean:.1f} ms"
            for queue, found in latencies.items()
            if found
        )
    )
    text = "; ".join(told)
    if not any([*own, *other]):
        return ClaimResult(f"no packet lost: {text}", ClaimVerdict.UNTESTABLE)
    pairs = zip(other, own, strict=True)
    decision = decide_over_seeds([more - less for more, less in pairs], low=LEAST)
    return join_decisions([decision], text)


def check_scores(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look whether a choice lowers the score with some queues; tell those of all."""
    agrees, found = True, []
    for queue in list_queues(points):
        base, other = (
            points.filter(choice=choice, queue=queue)["mos"].drop_nulls().to_list()
            for choice in (BASE, limits["choice"])
        )
        if not base or not other:
            return ClaimResult("not run", ClaimVerdict.UNTESTABLE)
        agrees &= queue not in limits["queues"] or fmean(other) < fmean(base)
        found.append(f"{DISCIPLINES[queue]} {fmean(other):.2f} instead of {fmean(base):.2f}")
    return ClaimResult(", ".join(found), decide(agrees))


def check_servers(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look for a distance of the servers with which all pages take as long as published."""
    agrees, found = False, []
    for choice in limits["choices"]:
        pages = dict(
            points.filter(choice=choice)
            .group_by("queue", maintain_order=True)
            .agg(pl.col("page").mean() / 1e9)
            .iter_rows()
        )
        if not {"buffer-control", "bufferbloat", *limits["queues"]} <= set(pages):
            return ClaimResult("not run", ClaimVerdict.UNTESTABLE)
        drops = {queue: pages[queue] for queue in ("buffer-control", "bufferbloat")}
        aqms = [pages[queue] for queue in limits["queues"]]
        ranges = {"aqm": (min(aqms), max(aqms))}
        ranges |= {queue: (page, page) for queue, page in drops.items()}
        agrees |= all(
            limits[name][0] <= low and high <= limits[name][1]
            for name, (low, high) in ranges.items()
        )
        low, high = ranges["aqm"]
        found.append(
            f"{CHOICES[choice]}: AQM {low:.2f} to {high:.2f} s, Buffer Control"
            f" {drops['buffer-control']:.2f} s, Buffer Bloat {drops['bufferbloat']:.2f} s"
        )
    why = "none of the distances tried gives all three"
    return ClaimResult("; ".join(found), decide(agrees), why="" if agrees else why)


def draw_latency(points: pl.DataFrame) -> list[Panel]:
    """Draw the 90th percentile latency."""
    rows = []
    for choice, queue in itertools.product(CHOICES, list_queues(points)):
        found = estimate_latency(points, choice, queue)
        if found is not None:
            rows.append({"choice": choice, "queue": queue, "value": found.mean})
    scale = vl.Scale(type="log", domain=[3, 300], nice=False)
    axis = vl.X(
        "value:Q", title="90th percentile latency (ms)", scale=scale, axis=log_axis((3, 300))
    )
    return draw_dots(pl.DataFrame(rows), axis)


def draw_pages(points: pl.DataFrame) -> list[Panel]:
    """Draw the 90th percentile page load time."""
    rows = points.group_by("choice", "queue", maintain_order=True).agg(
        value=pl.col("page").mean() / 1e9
    )
    axis = vl.X("value:Q", title="90th percentile page load time (s)", scale=vl.Scale(zero=False))
    return draw_dots(rows, axis)


def draw_mos(points: pl.DataFrame) -> list[Panel]:
    """Draw the mean score."""
    rows = points.group_by("choice", "queue", maintain_order=True).agg(value=pl.col("mos").mean())
    axis = vl.X("value:Q", title="VoIP MOS", scale=vl.Scale(domain=[1, 4.5]))
    return draw_dots(rows, axis)


def list_queues(points: pl.DataFrame) -> list[str]:
    """Give the queues that were run, in the order of the legend."""
    run = set(points["queue"].to_list())
    return [queue for queue in DISCIPLINES if queue in run]


def draw_dots(rows: pl.DataFrame, axis: vl.X) -> list[Panel]:
    """Draw a row for each choice and a mark for each queue."""
    named = rows.with_columns(
        name=pl.col("choice").replace_strict(CHOICES),
        series=pl.col("queue").replace_strict(DISCIPLINES),
    )
    queues = list_queues(rows)
    names = [DISCIPLINES[queue] for queue in queues]
    tones = vl.Scale(domain=names, range=[PALETTE[SLOTS[queue]] for queue in queues])
    forms = ["triangle-up" if queue in DRAFTS else "circle" for queue in queues]
    shapes = vl.Scale(domain=names, range=forms)
    chart = (
        make_chart(named)
        .mark_point(size=75, filled=True, opacity=0.85, clip=True)
        .encode(
            x=axis,
            y=vl.Y(
                "name:N",
                title=None,
                sort=list(CHOICES.values()),
                axis=vl.Axis(grid=True, labelLimit=200),
            ),
            color=vl.Color("series:N", scale=tones, legend=make_legend(names), sort=names),
            shape=vl.Shape("series:N", scale=shapes, legend=make_legend(names), sort=names),
            tooltip=["series:N", "name:N", vl.Tooltip("value:Q", format=".3~g")],
        )
    )
    return [Panel("", chart.properties(height=30 * len(CHOICES)))]
