"""What people notice: voice quality, page load times, ping, files done, packets lost."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl

from headend.analysis.quality import read_de_jitter
from headend.comparison.pooling import list_runs
from headend.engine.description import REAL, Chart, Measure, describe
from headend.figures import vegalite as vl
from headend.figures.figure import Figure, Panel, choose_keys, lay_out, make_figure
from headend.figures.members import NOTE as MEMBERS_NOTE
from headend.figures.members import draw_members
from headend.figures.placing import mark_among
from headend.figures.selection import find_flow_groups, join_keys, name_flow_keys, order_flows
from headend.figures.theme import (
    DARK_REASONS,
    FAINT,
    REASON_TONES,
    colour,
    draw_band,
    fade,
    highlight,
    hover,
    leave_headroom,
    make_chart,
    mark_across_in_corner,
    time_axis,
)
from headend.figures.thinning import has_band, merge_samples, note_seeds
from headend.results.record import Record
from headend.scenario.groups import Group
from headend.text.quantity import parse_quantity
from headend.wording.flows import name_de_jitter

#: Samples drawn per flow; of more, evenly chosen ones.
MOST_SAMPLES = 400

#: Of the width of a chart, so much has room for a number; the longest bar leaves so much for some.
ROOM_FOR_NUMBER, ROOM_FOR_NUMBERS = 0.05, 1.1

#: The colours of numbers on parts that are not dark, and on those that are.
WRITTEN_ON = {False: "#101418", True: "#ffffff"}

#: How long a ping waits for its answer, where the scenario does not say.
PING_TIMEOUT_NS = 5e9

#: The round trip that games ask for.
GAMES_MS = 130


def draw_voice(results: Sequence[Record]) -> Figure | None:
    """Draw each call's MOS over time."""
    arrows = {"mos": " ↑", "mos_down": " ↓"}
    title, scale = "voice quality (MOS)", vl.Scale(domain=[1, 4.5], nice=False)
    marks = ((4.0, "4: users satisfied"), (3.1, "3.1: nearly all dissatisfied below"))
    panels, over_time, notes, left_out = _draw_reports(
        results, arrows, 1.0, title, scale, rising=True, marks=marks
    )
    buffers = {
        buffer: None
        for result in results
        for flow in result.flows["flow"].unique(maintain_order=True)
        if (buffer := name_de_jitter(read_de_jitter(result, flow)))
    }
    receiver = (
        f" The receiver has {' or '.join(buffers)}: a packet that comes after its turn to be played"
        " counts as lost."
    )
    return make_figure(
        "mos",
        f"Voice quality{over_time}",
        "What a listener would say of each ten seconds of a call, from 1 (bad) to 4.5, by delay and"
        " lost packets (ITU-T G.107). At 4 and above users are satisfied; below 3.1 nearly all are"
        f" not. ↑ is what the other side hears.{receiver if buffers else ''}{notes}",
        panels,
        left_out,
    )


def draw_ping(results: Sequence[Record]) -> Figure | None:
    """Draw round-trip times over time."""
    title, scale = "round trip (ms)", vl.Scale(zero=True)
    dated = [_date_pings(result) for result in _leave_groups_out(results)]
    lost = any(result.samples.filter(measure="rtt")["value"].is_nan().any() for result in dated)

    def draw(rows: pl.DataFrame) -> vl.Chart:
        most = float(rows["value"].fill_nan(None).max() or 0)  # type: ignore[arg-type]
        is_near = most > GAMES_MS / 2
        room = leave_headroom(max(most, GAMES_MS)) if is_near else scale
        drawn = rows.filter(pl.col("value").is_not_nan()) if has_band(rows) else rows
        layers = [_draw_samples(drawn, title, room, line=True)]
        if is_near:
            layers.append(mark_across_in_corner(GAMES_MS, f"{GAMES_MS} ms: games"))
        missing = rows.filter(pl.col("value").is_nan())
        return vl.layer(*layers, *([] if missing.is_empty() else [_draw_lost(missing, rows)]))

    panels, over_time, notes, left_out = _draw_reports(
        dated, {"rtt": ""}, 1e-6, title, scale, lost=True, draw=draw
    )
    applications: set[str] = set()
    for result in results:
        trips = result.measures.filter(measure="rtt")
        applications.update(result.flows.join(trips, on="flow", how="semi")["application"])
    subject = " and ".join(
        words
        for words, is_there in (
            (
                "of the TCP of real programs, from data until its acknowledgement is back,",
                REAL in applications,
            ),
            ("of a small packet beside the other traffic", applications != {REAL}),
        )
        if is_there
    )
    name = "Round trips" if REAL in applications else "Ping"
    return make_figure(
        "ping",
        f"{name}{over_time}",
        f"The round-trip time {subject.rstrip(',')}. Games need less than {GAMES_MS} ms; what lies"
        " above the lowest values is time in queues."
        f"{' A × at the bottom is a ping that was never answered.' if lost else ''}"
        f"{notes}",
        panels,
        left_out,
    )


def list_measures(
    results: Sequence[Record], *, after_queues: bool
) -> dict[str, Callable[[], Figure | None]]:
    """List what can be drawn of what applications report, by the names of the figures.

    Listed is what stands on a page behind the figures of queues and rates, or what stands before.
    """
    charts = [
        (kind.chart, kind)
        for kind in describe().measures.values()
        if kind.chart and kind.chart.is_after_queues is after_queues
    ]
    charts.sort(key=lambda item: (item[0].place, item[0].name))
    return {chart.name: partial(_draw_measure, results, kind, chart) for chart, kind in charts}


def _draw_measure(results: Sequence[Record], kind: Measure, chart: Chart) -> Figure | None:
    arrows = dict(zip(kind.names, (" ↑", " ↓") if kind.has_directions else ("",), strict=True))
    panels, over_time, notes, left_out = _draw_reports(
        results,
        arrows,
        chart.factor,
        chart.axis,
        vl.Scale(zero=True),
        line=not chart.is_points,
        rising=kind.higher_is_better,
    )
    title = chart.title if chart.is_points else f"{chart.title}{over_time}"
    return make_figure(chart.name, title, chart.explanation + notes, panels, left_out)


def draw_segments(results: Sequence[Record]) -> Figure | None:
    """Draw the rate of each segment of a video over time."""
    measure, title = {"segment_rate": ""}, "rate of the segment (Mbit/s)"
    panels, _, notes, left_out = _draw_reports(
        results, measure, 1e-6, title, vl.Scale(zero=True), rising=True
    )
    return make_figure(
        "streamed-video-rate",
        "Rate of the streamed segments over time",
        "The rate at which a player requested each segment of its video. It should climb and stay;"
        " a player that goes by its buffer climbs slowly and alternates between two"
        f" rates.{notes}",
        panels,
        left_out,
    )


def draw_speed(results: Sequence[Record]) -> Figure | None:
    """Draw what a speed test shows against how long it has run."""
    frames = {result.label: _gather_speeds(result) for result in _leave_groups_out(results)}
    title, scale = "throughput seen (Mbit/s)", vl.Scale(zero=True)
    axis = vl.X("time_s:Q", title="since the test began (s)")

    def draw(rows: pl.DataFrame) -> vl.Chart:
        return _draw_samples(rows, title, scale, line=True, axis=axis)

    panels, left_out = lay_out(frames, draw, partial(order_flows, results))
    return make_figure(
        "speed",
        "What a speed test shows",
        "The mean throughput since the start of a test, by how long it has run; of several tests"
        " the median. A service with a burst shows its peak rate at first, and falls towards its"
        " sustained rate the longer the test runs.",
        panels,
        left_out,
    )


def _gather_speeds(result: Record) -> pl.DataFrame:
    """Take what tests show in the middle, by the seconds they have run."""
    seconds = pl.col("measure").str.extract(r"^speed_(\d+)s$").cast(pl.Float64)
    rows = result.measures.with_columns(time_s=seconds).filter(
        pl.col("time_s").is_not_null() & pl.col("p50").is_not_nan()
    )
    if rows.is_empty():
        return pl.DataFrame()
    value = (pl.col("p50") * 1e-6).round_sig_figs(4)
    return rows.select("time_s", value=value, key="flow").sort("key", "time_s")


def draw_loss(results: Sequence[Record]) -> Figure | None:
    """Draw which share of each flow's packets was lost, by reason."""
    groups = find_flow_groups(results)
    parts = [row for result in results for row in _count_losses(result, groups)]
    if not parts:
        return None
    frame, left_out = _stack(pl.DataFrame(parts)), ""
    met = set(frame["name"])
    present = [name for name in describe().reasons if name in met]
    if len(results) == 1:
        panels = [Panel("", _draw_reasons(frame, "flow", present))]
    else:
        names = frame["flow"].unique(maintain_order=True).to_list()
        flows, left_out = choose_keys(names, order_flows(results).ranks)
        labels = [result.label for result in results]
        panels = [
            Panel(
                flow,
                _draw_reasons(frame.filter(pl.col("flow") == flow), "run", present, labels),
                place={"flow": flow},
            )
            for flow in flows
        ]
    return make_figure(
        "loss",
        "Packets lost, by reason",
        "The share of each flow's packets that never arrived. TCP needs some loss to find its rate;"
        " a call conceals about 1 %."
        f"{' The numbers are those of the reasons.' if len(present) > 1 else ''}",
        panels,
        left_out,
    )


def _count_losses(result: Record, groups: Mapping[str, Group]) -> Iterator[dict[str, Any]]:
    """Count what each flow or group lost, by reason."""
    rows, _ = join_keys(result.flows, name_flow_keys(result, groups), groups)
    reasons = {
        name: reason for name, reason in describe().reasons.items() if reason.column in rows.columns
    }
    columns = [reason.column for reason in reasons.values()]
    for row in (
        rows.group_by("key", maintain_order=True)
        .agg(pl.col("packets_sent", *columns).sum())
        .to_dicts()
    ):
        for name, reason in reasons.items():
            if row[reason.column]:
                sent = row["packets_sent"]
                yield {
                    "flow": row["key"],
                    "run": result.label,
                    "name": name,
                    "reason": reason.label,
                    "is_dark": name in DARK_REASONS,
                    "count": row[reason.column],
                    "share": row[reason.column] / sent if sent else None,
                }


def _stack(rows: pl.DataFrame) -> pl.DataFrame:
    """Add where each part of a bar begins and ends."""
    end = pl.col("share").cum_sum().over("flow", "run")
    return rows.with_columns(start=end - pl.col("share"), end=end)


def _leave_groups_out(results: Sequence[Record]) -> list[Record]:
    """Give results without the samples of flows of which there are many."""
    is_of_many = pl.col("flow").is_in(list(find_flow_groups(results)))
    return [
        replace(result, tables={**result.tables, "samples": result.samples.filter(~is_of_many)})
        for result in results
    ]


def _draw_reports(
    results: Sequence[Record],
    suffixes: Mapping[str, str],
    factor: float,
    title: str,
    scale: vl.Scale,
    *,
    line: bool = True,
    lost: bool = False,
    rising: bool = False,
    marks: Sequence[tuple[float, str]] = (),
    draw: Callable[[pl.DataFrame], vl.Chart] | None = None,
) -> tuple[list[Panel], str, str, str]:
    """Draw what applications report: over time, and of groups by member.

    With the panels come what the title ends with, notes for the explanation, and what is not drawn.
    """
    frames = {
        result.label: _gather(result, suffixes, factor, lost=lost, line=line)
        for result in _leave_groups_out(results)
    }

    def draw_samples(rows: pl.DataFrame) -> vl.Chart:
        samples = _draw_samples(rows, title, scale, line=line)
        return vl.layer(samples, *mark_among(rows, marks, scale, x="time_s")) if marks else samples

    alone, left_out = lay_out(frames, draw or draw_samples, partial(order_flows, results))
    members, more = draw_members(
        results, suffixes, factor, title, scale, rising=rising, marks=marks
    )
    notes = MEMBERS_NOTE if members else ""
    if alone and line:
        notes += note_seeds(results)
    return [*alone, *members], " over time" if alone else "", notes, left_out + more


def _gather(
    result: Record,
    suffixes: Mapping[str, str],
    factor: float,
    *,
    lost: bool = False,
    line: bool = True,
) -> pl.DataFrame:
    """Take samples of some measures; a suffix tells them apart where a flow has several.

    With ``lost``, those without a value are kept, however many there are of the others. Those of
    several seeds that a line joins are merged; points are drawn as they are.
    """
    rows = result.samples.filter(pl.col("measure").is_in(list(suffixes)))
    if rows.is_empty():
        return pl.DataFrame()
    if line and len(list_runs(result)) > 1:
        return _gather_seeds(result, rows, suffixes, factor, lost=lost)
    rows = rows if lost else rows.filter(pl.col("value").is_not_nan())
    several = rows["measure"].n_unique() > 1
    parts = []
    order = pl.col("measure").replace_strict(
        {name: number for number, name in enumerate(suffixes)}, return_dtype=pl.Int64
    )
    groups = rows.sort(order, maintain_order=True).group_by("flow", "measure", maintain_order=True)
    for (flow, measure), samples in groups:
        step = -(-samples.height // MOST_SAMPLES)
        key = f"{flow}{suffixes[str(measure)] if several else ''}"
        number = pl.int_range(pl.len())
        parts.append(
            samples.filter((number % step == 0) | pl.col("value").is_nan()).select(
                time_s=(pl.col("time_ns") / 1e9).round_sig_figs(6),
                value=(pl.col("value") * factor).round_sig_figs(4),
                key=pl.lit(key),
            )
        )
    return pl.concat(parts) if parts else pl.DataFrame()


def _gather_seeds(
    result: Record, rows: pl.DataFrame, suffixes: Mapping[str, str], factor: float, *, lost: bool
) -> pl.DataFrame:
    """Merge samples of all seeds over time; what has no value stays as it is."""
    several = rows["measure"].n_unique() > 1
    ending = pl.col("measure").replace_strict(dict(suffixes), return_dtype=pl.String)
    shaped = rows.select(
        time_s=pl.col("time_ns") / 1e9,
        value=pl.col("value") * factor,
        key=pl.col("flow") + (ending if several else pl.lit("")),
    )
    known = shaped.filter(pl.col("value").is_not_nan())
    merged = merge_samples(known, result.manifest["simulated_ns"] / 1e9)
    missing = shaped.filter(pl.col("value").is_nan()) if lost else shaped.clear()
    return pl.concat([merged, missing.select("time_s", "value", "key")], how="diagonal")


def _date_pings(result: Record) -> Record:
    """Put each ping at the time it was sent: a lost one is recorded when it is given up."""
    waits = {
        flow: _find_timeout(result, flow)
        for flow in result.samples["flow"].unique(maintain_order=True)
    }
    waited = (
        pl.col("value")
        .fill_nan(None)
        .fill_null(pl.col("flow").replace_strict(waits, default=0.0, return_dtype=pl.Float64))
    )
    pings = result.samples.filter(pl.col("measure") == "rtt").with_columns(
        time_ns=(pl.col("time_ns") - waited).clip(0)
    )
    return replace(result, tables={**result.tables, "samples": pings.sort("time_ns")})


def _find_timeout(result: Record, flow: str) -> float:
    flows = result.manifest["scenario"].get("flow", {})
    application = flows.get(flow, flows.get(flow.rpartition(".")[0], {})).get("application")
    try:
        (parameters,) = application.values()
        return parse_quantity(parameters["timeout"], "time").value
    except (AttributeError, KeyError, TypeError, ValueError):
        return PING_TIMEOUT_NS


def _draw_samples(
    rows: pl.DataFrame, title: str, scale: vl.Scale, *, line: bool, axis: vl.X | None = None
) -> vl.Chart:
    chosen = highlight()
    few = rows.height <= 60 * rows["series"].n_unique()
    base = make_chart(rows.select("time_s", "value", "series", "slot")).encode(
        x=axis or time_axis(),
        y=vl.Y("value:Q", title=title, scale=scale),
        color=colour(rows),
        opacity=fade(chosen),
        tooltip=hover(time_s="s", value=title),
    )
    if not line:
        return base.mark_point(filled=True, size=32).add_params(chosen)
    lines = base.mark_line(
        # A line does not lead across what is missing.
        invalid="break-paths-filter-domains",
        point={"filled": True, "size": 30} if few else False,
        strokeWidth=1.6,
    ).add_params(chosen)
    return vl.layer(draw_band(rows, title), lines) if has_band(rows) else lines


def _draw_lost(missing: pl.DataFrame, rows: pl.DataFrame) -> vl.Chart:
    """Draw a cross at the bottom for each sample that has no value."""
    return (
        make_chart(missing.select("time_s", "series", "slot"))
        .mark_text(text="×", fontSize=13, fontWeight="bold", dy=-5)
        .encode(
            x=time_axis(),
            y=vl.value("height"),
            color=colour(rows),
            tooltip=hover(time_s="no answer at s"),
        )
    )


def _draw_reasons(
    rows: pl.DataFrame, by: str, present: Sequence[str], order: Sequence[str] | None = None
) -> vl.Chart:
    """Draw a bar for each flow or run, whose parts have the numbers that the legend has.

    The rows have ``start`` and ``end``; ``present`` are the names of all reasons of the figure.
    """
    reasons = {name: describe().reasons[name].label for name in present}
    names = list(order or rows[by].unique(maintain_order=True))
    numbers = {label: str(number) for number, label in enumerate(reasons.values(), start=1)}
    is_several = len(numbers) > 1
    y = vl.Y(f"{by}:N", title=None, sort=names, scale=vl.Scale(domain=names))
    longest = float(rows["end"].max() or 1)  # type: ignore[arg-type]
    room = longest * (ROOM_FOR_NUMBERS if is_several else 1)
    x = vl.X(
        "start:Q",
        title="share of packets sent",
        scale=vl.Scale(domainMax=room, nice=not is_several),
        axis=vl.Axis(format="~%", tickCount=6, labelSeparation=8),
    )
    lookup = json.dumps(numbers, ensure_ascii=False)
    legend = vl.Legend(
        title=None, values=list(numbers), symbolType="square", symbolStrokeWidth=0.75
    )
    if is_several:
        legend |= {"labelExpr": f"({lookup})[datum.label] + ' ' + datum.label"}
    bars = (
        make_chart(rows)
        .mark_bar(height={"band": 0.7}, stroke=FAINT, strokeWidth=0.75)
        .encode(
            y=y,
            x=x,
            x2="end:Q",
            color=vl.Color(
                "reason:N",
                scale=vl.Scale(
                    domain=list(numbers), range=[REASON_TONES[name] for name in reasons]
                ),
                legend=legend,
            ),
            tooltip=[
                "reason:N",
                vl.Tooltip("count:Q", title="packets", format=","),
                vl.Tooltip("share:Q", format=".3~%"),
            ],
        )
    )
    layers = [bars]
    if is_several:
        numbered = rows.with_columns(number=pl.col("reason").replace_strict(numbers))
        layers += _write_numbers(numbered, by, y, room)
    return vl.layer(*layers).properties(height=max(60, 34 * len(names)))


def _write_numbers(rows: pl.DataFrame, by: str, y: vl.Y, room: float) -> Iterator[vl.Chart]:
    """Write the numbers of a bar's parts: in those that are wide enough, of others behind it."""
    is_wide = pl.col("end") - pl.col("start") >= ROOM_FOR_NUMBER * room
    middle = rows.filter(is_wide).select(
        by, "number", "is_dark", at=(pl.col("start") + pl.col("end")) / 2
    )
    ends = rows.group_by(by, maintain_order=True).agg(
        at=pl.col("end").max(), number=pl.col("number").filter(~is_wide).str.join(", ")
    )
    within = {tone: middle.filter(is_dark=is_dark) for is_dark, tone in WRITTEN_ON.items()}
    for tone, parts in within.items():
        if parts.height:
            written = make_chart(parts.select(by, "at", "number"))
            yield written.mark_text(baseline="middle", color=tone).encode(
                y=y, x="at:Q", text="number:N"
            )
    behind = ends.filter(pl.col("number") != "")
    if behind.height:
        written = make_chart(behind).mark_text(align="left", baseline="middle", dx=4)
        yield written.encode(y=y, x="at:Q", text="number:N")
