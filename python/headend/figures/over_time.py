"""Values over simulated time: goodput, line, queue and internals, congestion windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from headend.analysis.bottleneck import find_shared_bottleneck
from headend.analysis.queues import name_pair
from headend.engine.description import REAL, list_applications
from headend.figures import vegalite as vl
from headend.figures.figure import MOST_NAMED, Figure, Order, Panel, lay_out
from headend.figures.remarks import Course, read_course, remark_on_queue, remark_on_rate
from headend.figures.selection import (
    find_flow_groups,
    find_queue_groups,
    join_keys,
    name_flow_keys,
    number_queues,
    order_flows,
)
from headend.figures.spread import draw_band, has_band, merge_members, merge_runs, note_bands
from headend.figures.theme import (
    choose_tone,
    colour,
    dash,
    fade,
    highlight,
    leave_headroom,
    make_chart,
    mark_across_in_corner,
    shade_along,
    time_axis,
)
from headend.figures.thinning import thin_series
from headend.scenario.groups import label_member, name_group
from headend.text.wording import list_names

if TYPE_CHECKING:
    from headend.results.record import Record
    from headend.scenario.groups import Group

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

#: Columns of the queue's series: the mean of an interval and its worst.
TOPS = {
    "delay": ("delay_mean_ns", "delay_max_ns"),
    "backlog": ("backlog_bytes", "backlog_max_bytes"),
}


def draw_rates(results: Sequence[Record]) -> Figure | None:
    """Draw what each flow takes of the line over time, and in one run what its program reads."""
    panels, note, left_out = _draw_flow_rates(results, "throughput_bps", "throughput (Mbit/s)")
    if not panels:
        return None
    text = "How the line is shared. Flows of one kind should get equal shares."
    if len(results) == 1:
        taken = thin_series(results[0].flow_series, ["flow", "direction"], ["throughput_bps"])
        most = float(taken["throughput_bps"].max() or 0) / 1e6  # type: ignore[arg-type]
        read = _draw_flow_rates(results, "goodput_bps", "goodput (Mbit/s)", most=most)[0]
        panels = [
            Panel("Throughput: all that was delivered", panels[0].chart, "throughput"),
            Panel("Goodput: what applications read", read[0].chart, "goodput"),
        ]
        text += (
            " Goodput falls behind a loss; once the loss is repaired, what waited is read at once,"
            " faster than the line (cut off here)."
        )
    return Figure("rates", "Rates over time", text + note, panels, left_out)


def draw_class_rates(results: Sequence[Record]) -> Figure | None:
    """Draw what the members of each flow take together over time, where flows have several."""
    frames = {}
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

        frames[result.label] = merge_runs(result, shape)
    panels, note = lay_out(
        frames,
        lambda rows: _draw_lines(rows, "throughput of all (Mbit/s)", results),
        partial(order_flows, results),
    )
    if not panels:
        return None
    return Figure(
        "class-rates",
        "Rates of whole groups over time",
        "What the members of each group take together, in both directions: which kind of traffic"
        f" has the line. How evenly they share it is Jain's index within the group.{note}",
        panels,
        note,
    )


def draw_line_rate(results: Sequence[Record]) -> Figure | None:
    """Draw what left the bottleneck over time, against its nominal rate."""
    queue = find_shared_bottleneck(results)

    def shape(run: Record) -> pl.DataFrame:
        rows = thin_series(_aggregate_rows(run, queue), ["queue"], ["rate_bps"])
        return rows.select("time_s", key="queue", value=_scaled("rate_bps", 1e-6))

    frames = {result.label: merge_runs(result, shape) for result in results}
    nominal = _nominal_rates(results, queue)

    def draw(rows: pl.DataFrame) -> vl.Chart:
        title = "leaving the queue (Mbit/s)"
        if len(nominal) != 1:
            return _draw_lines(rows, title, results)
        rate = next(iter(nominal)) / 1e6
        room = leave_headroom(max(rate, float(rows["value"].max() or 0)))  # type: ignore[arg-type]
        chart = _draw_lines(rows, title, results, scale=room)
        return vl.layer(chart, mark_across_in_corner(rate, "nominal rate"))

    panels, _ = lay_out(frames, draw, number_queues)
    if not panels:
        return None
    return Figure(
        "line-rate",
        "The bottleneck's rate over time",
        f"{_tell_what_left(results, queue)} A line that is asked for more than it has should stay"
        " at its nominal rate."
        f"{_remark_on_rate(results, queue)}{note_bands(results, frames.values())}",
        panels,
    )


def _has_both(results: Sequence[Record], queue: str | None) -> bool:
    """Say whether a queue is of an aggregate with low latency in one of the runs."""
    names = set(_name_drawn(queue))
    return bool(names) and any(names <= set(result.queues["queue"]) for result in results)


def _tell_what_left(results: Sequence[Record], queue: str | None) -> str:
    if _has_both(results, queue):
        return (
            "What left the classic queue and the low-latency queue, which share the nominal rate."
        )
    return "What left the bottleneck's queue."


def draw_queue_over_time(results: Sequence[Record]) -> Figure | None:
    """Draw delay and backlog of the bottleneck's queue over time."""
    delays: dict[str, pl.DataFrame] = {}
    backlogs: dict[str, pl.DataFrame] = {}
    queue = find_shared_bottleneck(results)
    group = find_queue_groups(results).get(queue or "") if len(results) == 1 else None
    chosen = group.members if group else _name_drawn(queue)

    def shape(run: Record, column: str, factor: float) -> pl.DataFrame:
        mean, top = TOPS[column]
        own = run.queue_series.filter(pl.col("queue").is_in(chosen))
        rows = thin_series(own, ["queue"], [mean], [top])
        shaped = rows.select(
            "time_s", "queue", value=_scaled(mean, factor), top=_scaled(top, factor)
        )
        return _beside_its_like(shaped, queue, group)

    for result in results:
        delays[result.label] = merge_runs(result, partial(shape, column="delay", factor=1e-6))
        of_backlog = partial(shape, column="backlog", factor=1 / 1024)
        backlogs[result.label] = merge_runs(result, of_backlog)
    panels = []
    for frames, title in ((delays, "queue delay (ms)"), (backlogs, "backlog (KiB)")):
        drawn, _ = lay_out(
            frames,
            lambda rows, title=title: _draw_with_top(rows, title, results),  # type: ignore[misc]
            number_queues,
        )
        shown = title.split(" (")[0]
        panels += [
            Panel(f"{panel.title} {shown}".strip(), panel.chart, f"{queue} {shown} over time")
            for panel in drawn
        ]
    if not panels:
        return None
    return Figure(
        "queue",
        "The bottleneck's queue over time",
        (
            "Lines: the mean of each interval, in the worst queue and at the median over those like"
            " it; shade: from the 10th to the 90th percentile of those."
            if group
            else (
                "Lines: the mean of each interval, in the classic queue and in the low-latency"
                " queue beside it."
            )
            if _has_both(results, queue)
            else "Line: the mean of each interval."
            if note_bands(results, [])
            else "Line: the mean of each interval; shade (one run): the worst packet in it."
        )
        + " A good queue fills for a burst and is empty again soon after; one that never empties"
        f" delays everything.{_remark_on_queue(results, queue)}{note_bands(results, [])}",
        panels,
    )


def _read_courses(results: Sequence[Record], queue: str | None) -> list[tuple[str, Course]]:
    """Read the course of the queue in each run; of several seeds no single course is drawn."""
    if note_bands(results, []):
        return []
    found = ((result.label, read_course(result, queue)) for result in results)
    return [(label, course) for label, course in found if course]


def _remark_on_rate(results: Sequence[Record], queue: str | None) -> str:
    """Explain the rates of runs whose line has one nominal rate."""
    nominal = _nominal_rates(results, queue)
    return remark_on_rate(_read_courses(results, queue), min(nominal)) if len(nominal) == 1 else ""


def _remark_on_queue(results: Sequence[Record], queue: str | None) -> str:
    """Explain the course of the queue where it is that of one run."""
    nominal = _nominal_rates(results, queue)
    courses = _read_courses(results, queue) if len(results) == 1 else []
    return remark_on_queue(courses[0][1], min(nominal)) if courses and nominal else ""


def _beside_its_like(rows: pl.DataFrame, queue: str | None, group: Group | None) -> pl.DataFrame:
    """Give the rows of a queue, and where it is one of many, beside them those of all as one."""
    if group is None:
        return rows.rename({"queue": "key"})
    own = rows.filter(pl.col("queue") == pl.lit(queue))
    like = merge_members(rows.select("time_s", "value", key=pl.lit(group.label)), {group.label})
    worst = own.select("time_s", "value", key=pl.lit(f"the worst, {queue}"))
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

        frames = {result.label: merge_runs(result, shape) for result in results}
        if all(frame.is_empty() for frame in frames.values()):
            continue
        drawn, _ = lay_out(
            frames,
            lambda rows, title=title: _draw_lines(rows, title, results),  # type: ignore[misc]
            number_queues,
        )
        shown = title.split(" (")[0]
        panels += [Panel(shown, panel.chart, f"{queue} {shown}") for panel in drawn]
    if not panels:
        return None
    rows = pl.concat([_bottleneck_rows(result, queue) for result in results])
    above_one = bool((rows["drop_probability"].fill_nan(0) > 1).any())
    scaled = (
        " DOCSIS-PIE's drop probability may be above 1: it is one per 1024 bytes, and a packet's"
        " own is in proportion to its size, 0.85 at most (RFC 8034)."
    )
    return Figure(
        "internals",
        "Inside the queue",
        "What the bottleneck's discipline knows of itself. A drop probability should settle and not"
        " swing; where the tokens are at zero, the sustained rate limits the"
        f" line.{scaled if above_one else ''}{note_bands(results, [])}",
        panels,
    )


def draw_windows(results: Sequence[Record]) -> Figure | None:
    """Draw the congestion windows of the flows' connections."""
    frames, groups = {}, find_flow_groups(results)
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

    many = {group.label for group in groups.values()}
    for result in results:
        frames[result.label] = merge_runs(result, shape, many)
    panels, note = lay_out(
        frames,
        lambda rows: _draw_lines(rows, "congestion window (KiB)", results),
        lambda: _order_connections(frames, order_flows(results)),
    )
    if not panels:
        return None
    if brief:
        counts = list_names([f"{name} ({count})" for name, count in brief.items()], MOST_NAMED)
        note += f" Not drawn, as a line so brief is not seen: connections of {counts}."
    return Figure(
        "cwnd",
        "Congestion windows",
        "How much each TCP connection may have in flight: it grows until a packet is lost or"
        " marked, then falls. After a deep fall a short queue is empty, and the line"
        f" idle.{note_bands(results, frames.values())}{note}",
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
    """Give the panels, what the explanation ends with, and what of that names what is not drawn."""
    frames, groups = {}, find_flow_groups(results)
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
        frames[result.label] = merge_runs(result, shape, many)
    panels, left_out = lay_out(
        frames,
        lambda rows: _draw_lines(rows, title, results, most),
        partial(order_flows, results),
    )
    if steady:
        names = list_names(list(steady), MOST_NAMED)
        left_out += f" Not drawn, as they send at a rate of their own: {names}."
    return panels, note_bands(results, frames.values()) + left_out, left_out


def _name_drawn(queue: str | None) -> Sequence[str]:
    """Name the queues that are drawn for one: both queues of an aggregate, where it has one."""
    return name_pair(queue) if queue else ()


def _aggregate_rows(result: Record, queue: str | None) -> pl.DataFrame:
    """Give the rows of a queue, and of the one beside it in an aggregate with low latency."""
    return result.queue_series.filter(pl.col("queue").is_in(_name_drawn(queue)))


def _bottleneck_rows(result: Record, queue: str | None) -> pl.DataFrame:
    return result.queue_series.filter(pl.col("queue") == pl.lit(queue))


def _nominal_rates(results: Sequence[Record], queue: str | None) -> set[float]:
    return {
        rate
        for result in results
        for rate in result.queues.filter(pl.col("queue") == pl.lit(queue))["rate_bps"]
    }


def _scaled(column: str, factor: float) -> pl.Expr:
    return (pl.col(column) * factor).round_sig_figs(4)


def _encode(rows: pl.DataFrame, title: str, scale: vl.Scale) -> dict[str, Any]:
    return {
        "x": time_axis(),
        "y": vl.Y("value:Q", title=title, scale=scale),
        "color": colour(rows),
        "strokeDash": dash(rows),
        "tooltip": [
            vl.Tooltip("series:N", title=" "),
            vl.Tooltip("time_s:Q", title="s", format=".4~g"),
            vl.Tooltip("value:Q", title=title, format=".4~g"),
        ],
    }


def _scale(most: float | None) -> vl.Scale:
    return vl.Scale(domain=[0, most]) if most else vl.Scale(zero=True)


def _draw_lines(
    rows: pl.DataFrame,
    title: str,
    results: Sequence[Record],
    most: float | None = None,
    *,
    scale: vl.Scale | None = None,
) -> vl.Chart:
    chosen = highlight()
    lines = (
        make_chart(rows.select("time_s", "value", "series", "slot"))
        .mark_line(strokeWidth=1.6, clip=True)
        .encode(**_encode(rows, title, scale or _scale(most)), opacity=fade(chosen))
        .add_params(chosen)
    )
    if has_band(rows):
        return _with_warmup(vl.layer(draw_band(rows, title), lines), results)
    return _with_warmup(lines, results)


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


def _with_warmup(chart: vl.Chart, results: Sequence[Record]) -> vl.Chart:
    ends = {result.manifest.get("warmup_ns", 0) for result in results}
    end = ends.pop() / 1e9 if len(ends) == 1 else 0
    if not end:
        return chart
    last = max(result.manifest["simulated_ns"] for result in results) / 1e9
    return vl.layer(shade_along(end, "warm-up", "time_s", is_wide=end > last / 4), chart)
