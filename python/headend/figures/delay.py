"""Figures of delays: one-way and queue delay, and latency histograms of service flows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import polars as pl
import polars.selectors as cs

from headend.analysis.bottleneck import find_shared_bottleneck
from headend.analysis.mib import find_histograms
from headend.figures import vegalite as vl
from headend.figures.figure import Figure, lay_out, make_figure
from headend.figures.selection import (
    choose_queues,
    find_flow_groups,
    find_queue_groups,
    join_keys,
    name_flow_keys,
    number_queues,
    order_flows,
)
from headend.figures.theme import (
    colour,
    fade,
    highlight,
    hover,
    list_series,
    log_axis,
    log_scale,
    make_chart,
    mark_along,
)
from headend.figures.thinning import NOTE, merge_distributions, thin_distributions
from headend.results.record import Record
from headend.scenario.groups import Group, label_member

#: Conversation is easy up to the one, ms, and hard from the other (ITU-T G.114).
LATEST_EASY_MS, EARLIEST_HARD_MS = 150, 400

#: The axis of a chart with these marks begins and ends at these multiples of its ends, and at this
#: delay at the least, ms.
ROOM = (0.9, 1.5)
LEAST_MS = 1e-3


def draw_flow_delay(results: Sequence[Record]) -> Figure | None:
    """Draw how many packets of each flow took longer than a given delay, host to host."""
    groups = find_flow_groups(results)
    frames = {
        result.label: _gather(result, "flow", name_flow_keys(result, groups), groups)
        for result in results
    }
    panels, note = lay_out(
        frames,
        lambda rows: _draw_tail(rows, "one-way delay (ms)", marks=True),
        partial(order_flows, results),
    )
    return make_figure(
        "delay",
        "One-way delay of each flow",
        "The share of packets that took longer than a delay, host to host: the 99th percentile is"
        " where a curve crosses 1 %. Further left is better; conversation is easy below"
        f" {LATEST_EASY_MS} ms and hard above {EARLIEST_HARD_MS} ms (ITU-T G.114)."
        f"{_note_groups(frames)}",
        panels,
        note,
    )


def draw_queue_delay(results: Sequence[Record]) -> Figure | None:
    """Draw how many packets waited longer than a given time in a queue."""
    groups = find_queue_groups(results)
    first = find_shared_bottleneck(results) if len(results) > 1 else None
    frames = {
        result.label: _gather(result, "queue", _name_queue_keys(result, groups, first), groups)
        for result in results
    }
    panels, note = lay_out(
        frames, lambda rows: _draw_tail(rows, "queue delay (ms)", marks=False), number_queues
    )
    return make_figure(
        "queue-delay",
        "Delay in the queue",
        "The share of packets that waited in a queue for longer than a delay; on a cable upstream"
        " that includes request and grant. A curve that stays near 100 % and falls late is a"
        f" standing queue.{_note_groups(frames)}",
        panels,
        note,
    )


def draw_latency_histogram(results: Sequence[Record]) -> Figure | None:
    """Draw the latency histograms of service flows that have one, in their own bins."""
    frames = {result.label: _gather_bins(result) for result in results}
    panels, note = lay_out(frames, _draw_bins, number_queues)
    return make_figure(
        "latency-histogram",
        "Latency histograms of service flows",
        "The share of packets by their time in the queue, in the bins that the service flow is"
        " configured with: what a modem and a CMTS show by SNMP (DOCS-QOS3-MIB), but of every"
        " packet. Bars further left are better; the last bin has no upper edge.",
        panels,
        note,
    )


#: The columns of the rows that a latency histogram is drawn from.
_BINS = {
    "key": pl.String(),
    "bin": pl.String(),
    "lower": pl.Int64(),
    "is_last": pl.Boolean(),
    "count": pl.Int64(),
    "share": pl.Float64(),
}


def _gather_bins(result: Record) -> pl.DataFrame:
    """Give each bin of each service flow: label, place among all bins, packets and share."""
    rows = [
        {
            "key": histogram.queue,
            # The edges in ms.
            "bin": f"{lower / 1e3:g}–{upper / 1e3:g}" if upper else f">{lower / 1e3:g}",
            "lower": lower,
            "is_last": upper is None,
            "count": packets,
            "share": packets / max(sum(histogram.packets), 1),
        }
        for histogram in find_histograms(result)
        for lower, upper, packets in histogram.list_bins()
    ]
    return pl.DataFrame(rows, schema=_BINS)


def _draw_bins(rows: pl.DataFrame) -> vl.Chart:
    ordered = rows.sort("is_last", "lower", maintain_order=True)
    names = ordered["bin"].unique(maintain_order=True).to_list()
    series = [name for name, _ in list_series(rows)]
    return (
        make_chart(rows.select("bin", "count", "share", "series", "slot", "place"))
        .mark_bar()
        .encode(
            x=vl.X(
                "bin:N",
                title="time in the queue (ms)",
                sort=names,
                scale=vl.Scale(domain=names),
                axis=vl.Axis(labelAngle=-40),
            ),
            xOffset={"field": "series", "type": "nominal", "sort": series},
            y=vl.Y("share:Q", title="share of packets", axis=vl.Axis(format="~%")),
            color=colour(rows, None),
            tooltip=[
                vl.Tooltip("series:N", title=" "),
                vl.Tooltip("bin:N", title="ms"),
                vl.Tooltip("count:Q", title="packets", format=","),
                vl.Tooltip("share:Q", format=".3~%"),
            ],
        )
    )


def _name_queue_keys(
    result: Record, groups: Mapping[str, Group], first: str | None
) -> dict[tuple[str, str], str]:
    """Name the queues that had packets: the one to compare runs by, then what did harm."""
    ways = dict(result.queues.select("queue", "direction").iter_rows())
    names = sorted(choose_queues(result), key=lambda name: name != first)
    return {(name, ways[name]): label_member(name, groups) for name in names}


def _gather(
    result: Record, kind: str, keys: Mapping[tuple[str, str], str], groups: Mapping[str, Group]
) -> pl.DataFrame:
    """Give the distribution of each key, and those of a group's members as one."""
    tails = thin_distributions(result.histograms.filter(pl.col("kind") == kind))
    named, many = join_keys(tails.rename({"name": "flow"}), keys, groups)
    is_many = pl.col("key").is_in(list(many))
    curves = merge_distributions(named).with_columns(cs.float().round_sig_figs(4))
    return curves.with_columns(pl.when(is_many).then(pl.col("low_ms", "high_ms")))


def _note_groups(frames: Mapping[str, pl.DataFrame]) -> str:
    drawn = any(len(rows) and rows["low_ms"].is_not_null().any() for rows in frames.values())
    return NOTE if drawn else ""


def _draw_tail(rows: pl.DataFrame, title: str, *, marks: bool) -> vl.Chart:
    chosen = highlight()
    lowest = float(rows["delay_ms"].min())  # type: ignore[arg-type]
    highest = float(rows.select(pl.max_horizontal("delay_ms", "high_ms").max()).item())
    if marks:
        lowest, highest = min(lowest, LATEST_EASY_MS), max(highest, EARLIEST_HARD_MS)
    else:
        highest = max(highest, lowest * 10)
    domain = (max(lowest * ROOM[0], LEAST_MS), highest * (ROOM[1] if marks else 1.15))
    curves = (
        make_chart(rows)
        .mark_line(strokeWidth=2.2, clip=True)
        .encode(
            x=vl.X(
                "delay_ms:Q",
                title=title,
                axis=log_axis(domain),
                scale=log_scale(domain),
            ),
            y=vl.Y(
                "share:Q",
                title="share of packets above",
                scale=vl.Scale(type="log", domain=[1e-4, 1]),
                axis=vl.Axis(values=[1, 0.1, 0.01, 1e-3, 1e-4], format="~%"),
            ),
            # Where many shares have one delay, the line falls straight down; by delay alone their
            # order would be open.
            order=vl.Order("share:Q", sort="descending"),
            color=colour(rows),
            opacity=fade(chosen),
            tooltip=[
                *hover(delay_ms="ms"),
                vl.Tooltip("share:Q", title="above", format=".3~%"),
            ],
        )
        .add_params(chosen)
    )
    shown = rows.filter(pl.col("low_ms").is_not_null())
    # Where most of the members of each group are, at each share.
    band = (
        make_chart(shown.select("low_ms", "high_ms", "share", "series", "slot"))
        .mark_area(opacity=0.18, clip=True, orient="horizontal")
        .encode(x="low_ms:Q", x2="high_ms:Q", y="share:Q", color=colour(rows))
    )
    layers = [curves] if shown.is_empty() else [band, curves]
    if marks:
        # Curves begin along the upper edge: what the marks mean stands outside of it.
        layers += [
            mark_along(ms, f"{ms} ms", "delay_ms", above=True, to_left=ms == LATEST_EASY_MS)
            for ms in (LATEST_EASY_MS, EARLIEST_HARD_MS)
        ]
    return vl.layer(*layers) if len(layers) > 1 else curves
