"""Values over simulated time: goodput, line, queue and internals, congestion windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import polars as pl

from headend.analysis.bottleneck import find_shared_bottleneck
from headend.analysis.queues import name_pair
from headend.engine.description import REAL, list_applications
from headend.figures import vegalite as vl
from headend.figures.figure import MOST_NAMED, Figure, Order, Panel, lay_out, make_figure
from headend.figures.remarks import Course, read_course, remark_on_queue, remark_on_rate
from headend.figures.selection import (
    find_flow_groups,
    find_queue_groups,
    join_keys,
    name_flow_keys,
    number_queues,
    order_flows,
)
from headend.figures.theme import (
    choose_tone,
    draw_band,
    draw_lines,
    leave_headroom,
    make_chart,
    mark_across_in_corner,
    shade_along,
    time_axis,
)
from headend.figures.thinning import (
    has_band,
    merge_members,
    merge_runs,
    note_bands,
    note_seeds,
    thin_series,
)
from headend.results.record import Record
from headend.scenario.groups import Group, label_member, name_group
from headend.text.wording import list_names

#: What a discipline may tell of itself: column, title, factor to the unit in the title.
INTERNALS = (
    ("drop_probability", "drop probability", 1.0),
    ("tokens_bytes", "tokens of the sustained rate (KiB)", 1 / 1024),
    ("burst_allowance_ns", "burst allowance (ms)", 1e-6),
    ("target_delay_ns", "delay as the law estimates it (ms)", 1e-6),
    ("rate_estimate_bps", "estimated rate (Mbit/s)", 1e-6),
    ("average_packets", "average queue (packets)", 1.0),
    ("average_bytes", "average queue (KiB)", 1 / 1024),
    ("queues_active", "queues in use (number)", 1.0),
    ("hash_collisions", "hash collisions so far (packets)", 1.0),
)

#: A connection of which fewer values were taken is a dot on an axis of some hundreds of them.
FEWEST_TIMES = 8

#: The share of a run from which on its warm-up is wide enough for its name.
WIDE_WARMUP = 1 / 4

#: What is drawn of the queue's series: title, columns of the mean of an interval and of its worst,
#: factor to the unit in the title.
TOPS = (
    ("queue delay (ms)", "delay_mean_ns", "delay_max_ns", 1e-6),
    ("backlog (KiB)", "backlog_bytes", "backlog_max_bytes", 1 / 1024),
)


def draw_rates(results: Sequence[Record]) -> Figure | None:
    """Draw what each flow takes of the line over time, and in one run what its program reads."""
    panels, bands, left_out = _draw_flow_rates(results, "throughput_bps", "throughput (Mbit/s)")
    text = "How the line is shared. Flows of one kind should get equal shares."
    if panels and len(results) == 1:
        taken = thin_series(results[0].flow_series, ["flow", "direction"], ["throughput_bps"])
        most = float(taken["throughput_bps"].max() or 0) / 1e6  # type: ignore[arg-type]
        read = _draw_flow_rates(results, "goodput_bps", "goodput (Mbit/s)", most=most)[0]
        panels = [
            Panel(
                "Throughput: all that was delivered",
                panels[0].chart,
                "throughput",
                {"measure": "throughput"},
            ),
            Panel(
                "Goodput: what applications read",
                read[0].chart,
                "goodput",
                {"measure": "goodput"},
            ),
        ]
        text += (
            " Goodput falls behind a loss; once the loss is repaired, what waited is read at once,"
            " faster than the line (cut off here)."
        )
    return make_figure("rates", "Rates over time", text + bands, panels, left_out)


def draw_class_rates(results: Sequence[Record]) -> Figure | None:
    """Draw what the members of each flow take together over time, where flows have several."""
    frames: dict[str, pl.DataFrame] = {}
    for result in results:
        kinds = {
            flow: name_group(flow) or flow
            for flow in result.flows["flow"].unique(maintain_order=True)
        }
        if not 1 < len(set(kinds.values())) < len(kinds):
            continue
        kind = pl.col("flow").replace_strict(kinds, return_dtype=pl.String)

        def shape(run: Record, kind: pl.Expr = kind) -> pl.DataFrame:
            together = run.flow_series.group_by("time_ns", kind=kind, maintain_order=True).agg(
                pl.col("throughput_bps").sum()
            )
            rows = thin_series(together.sort("kind", "time_ns"), ["kind"], ["throughput_bps"])
            return rows.select("time_s", key="kind", value=_scaled("throughput_bps", 1e-6))

        frames |= merge_runs([result], shape)
    panels, note = lay_out(
        frames,
        lambda rows: _draw_lines(rows, "throughput of all (Mbit/s)", results),
        partial(order_flows, results),
    )
    return make_figure(
        "class-rates",
        "Rates of whole groups over time",
        "What the members of each group take together, in both directions: which kind of traffic"
        " has the line. How evenly they share it is Jain's index within the group.",
        panels,
        note,
    )


def draw_line_rate(results: Sequence[Record]) -> Figure | None:
    """Draw what left the bottleneck over time, against its nominal rate."""
    queue = find_shared_bottleneck(results)

    def shape(run: Record) -> pl.DataFrame:
        rows = thin_series(_aggregate_rows(run, queue), ["queue"], ["rate_bps"])
        return rows.select("time_s", key="queue", value=_scaled("rate_bps", 1e-6))

    frames = merge_runs(results, shape)
    nominal = _nominal_rates(results, queue)

    def draw(rows: pl.DataFrame) -> vl.Chart:
        title = "leaving the queue (Mbit/s)"
        if len(nominal) != 1:
            return _draw_lines(rows, title, results)
        rate = next(iter(nominal)) / 1e6
        room = leave_headroom(max(rate, float(rows["value"].max() or 0)))  # type: ignore[arg-type]
        chart = _draw_lines(rows, title, results, room)
        return vl.layer(chart, mark_across_in_corner(rate, "nominal rate"))

    panels, _ = lay_out(frames, draw, number_queues)
    drawn = (
        "the classic queue and the low-latency queue, which share the nominal rate"
        if _has_both(results, queue)
        else "the bottleneck's queue"
    )
    courses = _read_courses(results, queue)
    remark = remark_on_rate(courses, min(nominal)) if len(nominal) == 1 else ""
    return make_figure(
        "line-rate",
        "The bottleneck's rate over time",
        f"What left {drawn}. An overloaded line should stay at its nominal rate."
        f"{remark}{note_bands(results, frames)}",
        panels,
    )


def _has_both(results: Sequence[Record], queue: str | None) -> bool:
    """Say whether a queue is of an aggregate with low latency in one of the runs."""
    names = set(_name_drawn(queue))
    return bool(names) and any(names <= set(result.queues["queue"]) for result in results)


def draw_queue_over_time(results: Sequence[Record]) -> Figure | None:
    """Draw delay and backlog of the bottleneck's queue over time."""
    queue = find_shared_bottleneck(results)
    group = find_queue_groups(results).get(queue or "") if len(results) == 1 else None
    chosen = group.members if group else _name_drawn(queue)

    def shape(run: Record, mean: str, top: str, factor: float) -> pl.DataFrame:
        series = run.queue_series.filter(pl.col("queue").is_in(chosen))
        rows = thin_series(series, ["queue"], [mean], [top])
        shaped = rows.select(
            "time_s", "queue", value=_scaled(mean, factor), top=_scaled(top, factor)
        )
        return _beside_its_like(shaped, queue, group)

    panels = []
    for title, mean, top, factor in TOPS:
        frames = merge_runs(results, partial(shape, mean=mean, top=top, factor=factor))
        drawn, _ = lay_out(
            frames, partial(_draw_with_top, title=title, results=results), number_queues
        )
        shown = title.split(" (")[0]
        panels += [
            Panel(
                f"{panel.title} {shown}".strip(),
                panel.chart,
                f"{queue} {shown} over time",
                {**panel.place, "measure": shown},
            )
            for panel in drawn
        ]
    if group:
        lines = (
            "Lines: the mean of each interval, in the worst queue and at the median over those like"
            " it; shade: from the 10th to the 90th percentile of those."
        )
    elif _has_both(results, queue):
        lines = (
            "Lines: the mean of each interval, in the classic queue and in the low-latency queue"
            " beside it."
        )
    elif note_seeds(results):
        lines = "Line: the mean of each interval."
    else:
        lines = "Line: the mean of each interval; shade (one run): the worst packet in it."
    nominal = _nominal_rates(results, queue)
    courses = _read_courses(results, queue) if len(results) == 1 else []
    remark = remark_on_queue(courses[0][1], min(nominal)) if courses and nominal else ""
    return make_figure(
        "queue",
        "The bottleneck's queue over time",
        f"{lines} A good queue fills for a burst and is empty again soon after; one that never"
        f" empties delays everything.{remark}{note_seeds(results)}",
        panels,
    )


def _read_courses(results: Sequence[Record], queue: str | None) -> list[tuple[str, Course]]:
    """Read the course of the queue in each run; of several seeds no single course is drawn."""
    if note_seeds(results):
        return []
    courses = ((result.label, read_course(result, queue)) for result in results)
    return [(label, course) for label, course in courses if course]


def _beside_its_like(rows: pl.DataFrame, queue: str | None, group: Group | None) -> pl.DataFrame:
    """Give the rows of a queue, and where it is one of many, beside them those of all as one."""
    if group is None:
        return rows.rename({"queue": "key"})
    single = rows.filter(pl.col("queue") == pl.lit(queue))
    like = merge_members(rows.select("time_s", "value", key=pl.lit(group.label)), {group.label})
    worst = single.select("time_s", "value", key=pl.lit(f"the worst, {queue}"))
    return pl.concat([worst, like], how="diagonal")


def draw_internals(results: Sequence[Record]) -> Figure | None:
    """Draw what the bottleneck's discipline knows: drop probability, tokens, allowance."""
    panels, queue = [], find_shared_bottleneck(results)
    for column, title, factor in INTERNALS:

        def shape(run: Record, column: str = column, factor: float = factor) -> pl.DataFrame:
            rows = _aggregate_rows(run, queue).filter(pl.col(column).is_not_nan())
            return thin_series(rows, ["queue"], [column]).select(
                "time_s", key="queue", value=_scaled(column, factor)
            )

        frames = merge_runs(results, shape)
        draw = partial(_draw_lines, title=title, results=results)
        drawn, _ = lay_out(frames, draw, number_queues)
        shown = title.split(" (")[0]
        panels += [
            Panel(shown, panel.chart, f"{queue} {shown}", {**panel.place, "measure": shown})
            for panel in drawn
        ]
    if not panels:
        return None
    is_queue = pl.col("queue") == pl.lit(queue)
    above_one = any(
        (result.queue_series.filter(is_queue)["drop_probability"].fill_nan(0) > 1).any()
        for result in results
    )
    scaled = (
        " DOCSIS-PIE's drop probability may be above 1: it is one per 1024 bytes, and a packet's"
        " own is in proportion to its size, 0.85 at most (RFC 8034)."
    )
    return Figure(
        "internals",
        "Inside the queue",
        "What the bottleneck's discipline knows of itself. A drop probability should settle and not"
        " swing; where the tokens are at zero, the sustained rate limits the"
        f" line.{scaled if above_one else ''}{note_seeds(results)}",
        panels,
    )


def draw_windows(results: Sequence[Record]) -> Figure | None:
    """Draw the congestion windows of the flows' connections."""
    groups = find_flow_groups(results)
    names = [flow for result in results for flow, _ in name_flow_keys(result, groups)]
    order = {name: number for number, name in enumerate(dict.fromkeys(names))}
    brief: dict[str, int] = {}

    def shape(run: Record) -> pl.DataFrame:
        rows = _choose_end(run.connection_series.filter(pl.col("flow").is_in(list(order))))
        if len(results) > 1:
            rows = rows.filter(pl.col("connection") == 0)
        rows, short = _part_brief(rows)
        for flow in short:
            name = label_member(flow, groups)
            brief[name] = max(brief.get(name, 0), short.count(flow))
        thin = thin_series(rows, ["flow", "connection"], ["cwnd_bytes"])
        several = set(thin.filter(pl.col("connection") > 0)["flow"]) - set(groups)
        labels = {
            flow: label_member(flow, groups) for flow in thin["flow"].unique(maintain_order=True)
        }
        label = pl.col("flow").replace_strict(labels, return_dtype=pl.String)
        key = (
            pl.when(pl.col("flow").is_in(list(several)))
            .then(pl.col("flow") + " #" + (pl.col("connection") + 1).cast(pl.String))
            .otherwise(label)
        )
        ordered = thin.sort(
            pl.col("flow").replace_strict(order, default=99, return_dtype=pl.Int64),
            "connection",
            "time_s",
            maintain_order=True,
        )
        return ordered.select("time_s", key=key, value=_scaled("cwnd_bytes", 1 / 1024))

    frames = merge_runs(results, shape, {group.label for group in groups.values()})
    panels, note = lay_out(
        frames,
        lambda rows: _draw_lines(rows, "congestion window (KiB)", results),
        lambda: _order_connections(frames, order_flows(results)),
    )
    if brief:
        counts = list_names([f"{count} of {name}" for name, count in brief.items()], MOST_NAMED)
        note += f" Short connections are not drawn: {counts}."
    return make_figure(
        "cwnd",
        "Congestion windows",
        "How much each TCP connection may have in flight: it grows until a packet is lost or"
        " marked, then falls. After a deep fall a short queue is empty, and the line"
        f" idle.{note_bands(results, frames)}",
        panels,
        note,
    )


def _choose_end(rows: pl.DataFrame) -> pl.DataFrame:
    """Keep of each connection the end with more in flight: both ends have a window."""
    connection = ["flow", "connection"]
    ends = rows.with_columns(end=pl.int_range(pl.len()).over(*connection, "time_ns"))
    sent = ends.group_by(*connection, "end").agg(pl.col("in_flight_bytes").sum())
    chosen = (
        sent.sort(pl.col("in_flight_bytes"), descending=True)
        .group_by(connection, maintain_order=True)
        .agg(pl.col("end").first())
    )
    return ends.join(chosen, on=[*connection, "end"], how="semi").drop("end")


def _part_brief(rows: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Give the rows of connections long enough to be seen, and the flows of the others."""
    connection = ["flow", "connection"]
    lasting = pl.len().over(connection) >= FEWEST_TIMES
    short = rows.filter(~lasting).select(connection).unique(maintain_order=True)
    return rows.filter(lasting), short["flow"].to_list()


def _order_connections(frames: Mapping[str, pl.DataFrame], flows: Order) -> Order:
    """Let the longest connection of each flow stand for it, in its colour; then the others."""
    lives = pl.concat([rows.select("key") for rows in frames.values()])["key"]
    slots, ranks, drawn = dict(flows.slots), dict(flows.ranks), dict[str, int]()
    for key, _ in (
        lives.value_counts().sort(pl.col("count"), "key", descending=[True, False]).rows()
    ):
        flow = key.rpartition(" #")[0] or key
        before = drawn.get(flow, 0)
        drawn[flow] = before + 1
        ranks[key] = before * len(flows.ranks) + flows.ranks.get(flow, len(flows.ranks))
        if not before and flow in flows.slots:
            slots[key] = flows.slots[flow]
    return Order(slots, ranks)


def _draw_flow_rates(
    results: Sequence[Record], column: str, title: str, *, most: float | None = None
) -> tuple[list[Panel], str, str]:
    """Give the panels, and what the explanation ends with: on bands, and what is not drawn."""
    frames: dict[str, pl.DataFrame] = {}
    groups = find_flow_groups(results)
    steady: dict[str, None] = {}
    for result in results:
        keys = name_flow_keys(result, groups)
        is_adaptive = pl.col("application").is_in(list_applications("adaptive"))
        # What real programs do is not known.
        may_vary = (pl.col("transport") == "tcp") | is_adaptive | (pl.col("application") == REAL)
        varying = set(result.flows.filter(may_vary)["flow"])
        if len(results) > 1 and varying:
            steady |= {label_member(flow, groups): None for flow, _ in keys if flow not in varying}
            keys = {pair: key for pair, key in keys.items() if pair[0] in varying}

        def shape(run: Record, keys: Mapping[tuple[str, str], str] = keys) -> pl.DataFrame:
            rows = thin_series(run.flow_series, ["flow", "direction"], [column])
            joined, _ = join_keys(rows, keys, groups)
            return joined.select("time_s", "key", value=_scaled(column, 1e-6))

        many = {key for (flow, _), key in keys.items() if flow in groups}
        frames |= merge_runs([result], shape, many)
    scale = vl.Scale(domain=[0, most]) if most else None
    panels, left_out = lay_out(
        frames,
        lambda rows: _draw_lines(rows, title, results, scale),
        partial(order_flows, results),
    )
    if steady:
        names = list_names(list(steady), MOST_NAMED)
        left_out += f" Not drawn, as they send at a rate of their own: {names}."
    return panels, note_bands(results, frames), left_out


def _name_drawn(queue: str | None) -> Sequence[str]:
    """Name the queues that are drawn for one: both queues of an aggregate, where it has one."""
    return name_pair(queue) if queue else ()


def _aggregate_rows(result: Record, queue: str | None) -> pl.DataFrame:
    """Give the rows of a queue, and of the one beside it in an aggregate with low latency."""
    return result.queue_series.filter(pl.col("queue").is_in(_name_drawn(queue)))


def _nominal_rates(results: Sequence[Record], queue: str | None) -> set[float]:
    return {
        rate
        for result in results
        for rate in result.queues.filter(pl.col("queue") == pl.lit(queue))["rate_bps"]
    }


def _scaled(column: str, factor: float) -> pl.Expr:
    return (pl.col(column) * factor).round_sig_figs(4)


def _draw_lines(
    rows: pl.DataFrame, title: str, results: Sequence[Record], scale: vl.Scale | None = None
) -> vl.Chart:
    chart = draw_lines(rows, vl.Y("value:Q", title=title, scale=scale or vl.Scale(zero=True)))
    if has_band(rows):
        chart = vl.layer(draw_band(rows, title), chart)
    # The warm-up, where all runs have the same.
    ends = {result.manifest.get("warmup_ns", 0) / 1e9 for result in results}
    if len(ends) > 1 or not max(ends):
        return chart
    end = max(ends)
    last = max(result.manifest["simulated_ns"] for result in results) / 1e9
    return vl.layer(shade_along(end, "warm-up", "time_s", is_wide=end > last * WIDE_WARMUP), chart)


def _draw_with_top(rows: pl.DataFrame, title: str, results: Sequence[Record]) -> vl.Chart:
    lines = _draw_lines(rows, title, results)
    if rows["series"].n_unique() > 1 or "top" not in rows.columns:
        return lines
    shade = (
        make_chart(rows.select("time_s", "top"))
        .mark_area(opacity=0.2, color=choose_tone(int(rows["slot"][0])))
        .encode(x=time_axis(), y=vl.Y("top:Q", title=title))
    )
    return vl.layer(shade, lines)
