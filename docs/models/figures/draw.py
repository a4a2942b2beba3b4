"""Draw the figures of docs/models, of queues with pages and low latency: ``make figures``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import vl_convert

import headend
from headend.engine.vocabulary import list_choices
from headend.figures import vegalite as vl
from headend.figures.apart import tell_apart
from headend.figures.theme import PALETTE, configure, make_chart, mark_across

if TYPE_CHECKING:
    from headend.running.result import Result

HERE = Path(__file__).parent

#: Of the scenario, ms: half the round trip.
WAY = 20.0

#: What a packet takes on the line, ms.
AIRTIMES = {"uploads": 1.2, "the call": 0.16}

#: Its upper band is for EF; the classes of cbq and cbt have AF41.
SETTINGS = {"strict_priority": {"flow.call.dscp": 46}}

WIDTH, HEIGHT = 600, 100

#: Places in the palette.
COLOURS = {
    "uploads": 0,
    "upload": 0,
    "classic queue": 0,
    "the call": 1,
    "low-latency queue": 1,
    "flood": 3,
    "drop probability": 2,
    "mark probability": 2,
}

#: The two queues of an aggregate in the scenario of low latency.
PAIR = {"classic queue": "cable.up", "low-latency queue": "cable.up_low_latency"}


def list_queues() -> list[str]:
    """Give the queues that have a page."""
    pages = {path.stem for path in HERE.parent.glob("*.md")}
    return [queue.name for queue in list_choices("queue") if queue.name in pages]


def find_target(result: Result) -> float:
    """Give the target of the queue's law in ms, or zero."""
    (parameters,) = result.manifest["scenario"]["link"]["line"]["point_to_point"]["up"][
        "queue"
    ].values()
    number, _, unit = str(parameters.get("target", "")).partition(" ")
    return float(number) if unit == "ms" else 0.0


def draw(result: Result, queue: str) -> vl.Chart:
    """Draw delay, throughput and, of a law that has one, drop probability over time."""
    line = result.queue_series.filter(pl.col("queue") == "line.up")
    delays = pl.concat(
        [
            _take(_join(result, name), name, pl.col("delay_mean_ns") / 1e6 - WAY - airtime)
            for name, airtime in AIRTIMES.items()
        ]
    )
    rates = pl.concat(
        [
            _take(_join(result, name), name, pl.col("throughput_bps") / 1e6)
            for name in ("uploads", "flood")
        ]
    )
    charts = [_draw_lines(delays, "queue delay (ms)"), _draw_lines(rates, "rate (Mbit/s)")]
    if target := find_target(result):
        charts[0] = vl.layer(charts[0], mark_across(target, f"target {target:g} ms"))
    chances = _take(line, "drop probability", pl.col("drop_probability")).drop_nans("value")
    if not chances.is_empty():
        charts.append(_draw_lines(chances, "drop probability"))
    title = f"{queue}: four uploads and a call, a flood from 20 to 30 s"
    return vl.vconcat(*charts, spacing=14, title=title).resolve_scale(color="independent")


def draw_low_latency(result: Result) -> vl.Chart:
    """Draw delay in both queues, throughput and probability of a mark over time."""
    queues = {
        name: result.queue_series.filter(pl.col("queue") == queue) for name, queue in PAIR.items()
    }
    delays = pl.concat(
        [_take(rows, name, pl.col("delay_mean_ns") / 1e6) for name, rows in queues.items()]
    )
    rates = pl.concat(
        [
            _take(_join(result, name), name, pl.col("throughput_bps") / 1e6)
            for name in ("upload", "flood")
        ]
    )
    marks = _take(queues["low-latency queue"], "mark probability", pl.col("drop_probability"))
    charts = (
        _draw_lines(delays, "queue delay (ms)", is_log=True),
        _draw_lines(rates, "rate (Mbit/s)"),
        _draw_lines(marks, "mark probability"),
    )
    title = "An upload and a game on 50 Mbit/s, a flood with ECT(1) from 10 to 20 s"
    return vl.vconcat(*charts, spacing=14, title=title).resolve_scale(color="independent")


def _join(result: Result, name: str) -> pl.DataFrame:
    """Take the uploads, the call or the flood as one: their sum, and flows' mean delays."""
    stem = name.removeprefix("the ").removesuffix("s")
    rows = result.flow_series.filter(
        pl.col("flow").str.starts_with(stem), pl.col("direction") == "up"
    )
    delay = pl.col("delay_mean_ns").drop_nans().mean()
    return rows.group_by("time_ns").agg(pl.col("throughput_bps").sum(), delay).sort("time_ns")


def _take(rows: pl.DataFrame, series: str, value: pl.Expr) -> pl.DataFrame:
    return rows.select(
        time_s=pl.col("time_ns") / 1e9,
        value=value.cast(pl.Float64).round_sig_figs(3),
        series=pl.lit(series),
    )


def _draw_lines(rows: pl.DataFrame, title: str, *, is_log: bool = False) -> vl.Chart:
    names = rows["series"].unique(maintain_order=True).to_list()
    tones = [PALETTE[COLOURS[name]] for name in names]
    legend = vl.Legend(title=None, orient="right", direction="vertical")
    return (
        make_chart(rows)
        .mark_line(strokeWidth=1.3)
        .encode(
            x=vl.X("time_s:Q", title="simulated time (s)", axis=vl.Axis(grid=False, tickCount=8)),
            y=vl.Y(
                "value:Q",
                title=title,
                axis=vl.Axis(tickCount=4),
                scale=vl.Scale(type="log" if is_log else "linear"),
            ),
            color=vl.Color("series:N", scale=vl.Scale(domain=names, range=tones), legend=legend),
        )
        .properties(width=WIDTH, height=HEIGHT)
    )


def main() -> None:
    """Write a figure for each queue, and that of low latency."""
    for queue in list_queues():
        result = headend.run(HERE / "line.toml", set={"queue": queue, **SETTINGS.get(queue, {})})
        _write(draw(result, queue), queue)
    _write(draw_low_latency(headend.run(HERE / "low_latency.toml")), "low_latency")


def _write(chart: vl.Chart, name: str) -> None:
    specification = chart.to_dict()
    tell_apart(specification)
    specification["config"] = {**configure(), "background": "white"}
    path = HERE / f"{name}.svg"
    path.write_text(vl_convert.vegalite_to_svg(specification) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
