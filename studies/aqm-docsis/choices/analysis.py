"""What a call and a page feel when one choice that the AQM paper leaves open is made otherwise."""

from __future__ import annotations

import itertools
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from headend.estimate import Estimate, estimate_mean
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, log_axis, make_chart, make_legend
from headend.study.claims import Finding, Verdict, decide
from headend.study.disciplines import DISCIPLINES, SLOTS
from headend.study.pooling import find_percentile, pool

#: What the study calls the choices of aqm-docsis/matrix.
BASE = "matrix"

#: Queues that the matrix does not have, with the sibling whose colour they share.
SIBLINGS = {
    "codel-dt-ns2": ("CoDel-DT, ns-2 code", "codel-dt"),
    "pie-64KiB": ("PIE, 64 KiB", "pie"),
    "pie-token-buckets": ("PIE, token buckets", "pie"),
}

#: How siblings are drawn.
FORMS = {"codel-dt-ns2": "diamond", "pie-64KiB": "square", "pie-token-buckets": "triangle-up"}

CHOICES = {
    "matrix": "as in the matrix",
    "fresh": "fresh connections",
    "cubic": "CUBIC",
    "cubic-fresh": "CUBIC, fresh connections",
    "linux": "Linux senders",
    "window-4": "initial window 4",
    "receive-1M": "receive window 1 MiB",
    "downstream-250ms": "downstream buffer 250 ms",
    "servers-100ms": "web servers at 100 ms",
    "pages-kept": "pages over kept connections",
    "de-jitter-60ms": "de-jitter buffer 60 ms",
    "grants-first": "grants at the start of a MAP",
    "dequeue-burst": "dequeued at the burst",
}


def name_queue(queue: str) -> str:
    """Give a queue's name for people."""
    return SIBLINGS[queue][0] if queue in SIBLINGS else DISCIPLINES[queue]


def estimate_latency(points: pl.DataFrame, choice: str, queue: str) -> Estimate | None:
    """Estimate the 90th percentile latency, ms, all loads together: a value for each seed."""
    rows = points.filter(choice=choice, queue=queue).sort("seed")
    if rows.is_empty():
        return None
    found = []
    for own in rows.partition_by("seed", maintain_order=True):
        parts = [np.asarray(delays, dtype=float)[1:] / 1e6 for delays in own["delays"].to_list()]
        found.append(find_percentile(*pool(parts, own["sent"].to_list()), 90))
    return estimate_mean(found)


def check_less(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Hold a queue's latency against those of others, with the matrix's choices."""
    queues = [limits["less"], *limits["more"]]
    found = [estimate_latency(points, BASE, queue) for queue in queues]
    known = [item for item in found if item is not None]
    if len(known) < len(queues):
        return Finding("not run", Verdict.UNTESTABLE)
    text = ", ".join(
        f"{name_queue(queue)} {item.mean:.1f} ms" for queue, item in zip(queues, known, strict=True)
    )
    agrees = known[0].mean < min(item.mean for item in known[1:])
    why = "the lower target holds for uploads that last, as in load 3; the bursts of load 8's files are over before the law drops"
    return Finding(text, decide(agrees), why="" if agrees else why)


def check_more_loss(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Hold a queue's losses over all choices against those of others."""
    shares = dict(
        points.group_by("queue", maintain_order=True)
        .agg(pl.col("lost").sum() / pl.col("sent").sum())
        .iter_rows()
    )
    queues = [limits["more"], *limits["less"]]
    if not shares.keys() >= set(queues):
        return Finding("not run", Verdict.UNTESTABLE)
    text = ", ".join(f"{name_queue(queue)} {shares[queue]:.2e}" for queue in queues)
    return Finding(text, decide(shares[queues[0]] > max(shares[queue] for queue in queues[1:])))


def draw_latency(points: pl.DataFrame) -> list[Panel]:
    """Draw the 90th percentile latency."""
    rows = []
    for choice, queue in itertools.product(CHOICES, list_queues(points)):
        found = estimate_latency(points, choice, queue)
        if found is not None:
            rows.append({"choice": choice, "queue": queue, "value": found.mean})
    scale = alt.Scale(type="log", domain=[3, 300], nice=False)
    axis = alt.X(
        "value:Q", title="90th percentile latency (ms)", scale=scale, axis=log_axis((3, 300))
    )
    return draw_dots(pl.DataFrame(rows), axis)


def draw_pages(points: pl.DataFrame) -> list[Panel]:
    """Draw the 90th percentile page load time."""
    rows = points.group_by("choice", "queue", maintain_order=True).agg(
        value=pl.col("page").mean() / 1e9
    )
    axis = alt.X("value:Q", title="90th percentile page load time (s)", scale=alt.Scale(zero=False))
    return draw_dots(rows, axis)


def draw_mos(points: pl.DataFrame) -> list[Panel]:
    """Draw the mean score."""
    rows = points.group_by("choice", "queue", maintain_order=True).agg(value=pl.col("mos").mean())
    axis = alt.X("value:Q", title="VoIP MOS", scale=alt.Scale(domain=[1, 4.5]))
    return draw_dots(rows, axis)


def list_queues(points: pl.DataFrame) -> list[str]:
    """Give the queues that were run, in the order of the legend."""
    run = set(points["queue"].to_list())
    return [queue for queue in [*DISCIPLINES, *SIBLINGS] if queue in run]


def draw_dots(rows: pl.DataFrame, axis: alt.X) -> list[Panel]:
    """Draw a row for each choice and a mark for each queue: circles are the matrix's, other forms their siblings."""
    named = rows.with_columns(
        name=pl.col("choice").replace_strict(CHOICES),
        series=pl.col("queue").map_elements(name_queue, return_dtype=pl.String),
    )
    queues = list_queues(rows)
    names = [name_queue(queue) for queue in queues]
    tones = alt.Scale(domain=names, range=[PALETTE[find_slot(queue)] for queue in queues])
    forms = alt.Scale(domain=names, range=[FORMS.get(queue, "circle") for queue in queues])
    legend = make_legend(names)
    chart = (
        make_chart(named)
        .mark_point(size=75, filled=True, opacity=0.85, clip=True)
        .encode(
            x=axis,
            y=alt.Y(
                "name:N",
                title=None,
                sort=list(CHOICES.values()),
                axis=alt.Axis(grid=True, labelLimit=200),
            ),
            color=alt.Color("series:N", scale=tones, legend=legend, sort=names),
            shape=alt.Shape("series:N", scale=forms, legend=legend, sort=names),
            tooltip=["series:N", "name:N", alt.Tooltip("value:Q", format=".3~g")],
        )
    )
    return [Panel("", chart.properties(height=30 * len(CHOICES)))]


def find_slot(queue: str) -> int:
    """Give a queue's place in the palette; a sibling has its own queue's."""
    return SLOTS[SIBLINGS[queue][1] if queue in SIBLINGS else queue]
