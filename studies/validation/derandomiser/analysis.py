"""The drop probability of a de-randomised law over time, beside what it drops."""

from __future__ import annotations

import math
import statistics
from typing import Any

import altair as alt
import polars as pl

from headend.figures.figure import Panel
from headend.figures.theme import colour, make_chart, mark_across, time_axis
from headend.study.claims import Finding, Verdict

#: Of the scenario: s before the measured part, s between two updates of the law, bit/s of the line, IP bytes of a datagram.
WARMUP, INTERVAL, RATE, SIZE = 20.0, 0.016, 10e6, 1024


def trace(points: pl.DataFrame, derandomise: str, overload: float) -> pl.DataFrame:
    """Give each update interval's probability and the share of its packets that was dropped."""
    row = points.filter(pl.col("derandomise") == derandomise, pl.col("overload") == overload)
    sent = overload * RATE / 8 / SIZE * INTERVAL
    rows = pl.DataFrame(
        {"probability": row["probability"][0], "discarded": row["discarded"][0]},
        schema={"probability": pl.Float64, "discarded": pl.Float64},
    )
    return (
        rows.with_row_index("number")
        .with_columns(
            time_s=(pl.col("number") + 1) * INTERVAL,
            # The series holds the value at the end of an interval, which is the next one's.
            probability=pl.col("probability").shift(1),
            share=pl.col("discarded") / sent,
        )
        .filter(pl.col("time_s") > WARMUP)
    )


def check_oscillation(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Look for swings across the gap, and at what is dropped on either side of it."""
    rows = trace(points, "reached", limits["overload"])
    is_above = rows["probability"] >= limits["high"]
    crossings = int(is_above.cast(pl.Int8).diff().abs().sum())
    seconds = rows.height * INTERVAL
    loss = _take(points, "reached", limits["overload"], "loss")
    if crossings == 0:
        return Finding(f"no crossing; {loss:.3f} in all", Verdict.DIFFERS)
    above, below = [float(rows.filter(side)["share"].mean() or 0) for side in (is_above, ~is_above)]  # type: ignore[arg-type]
    text = (
        f"{crossings / seconds:.1f} crossings a second; above {above:.3f}, below {below:.3f};"
        f" {loss:.3f} in all"
    )
    agrees = (
        crossings / seconds >= limits["crossings_per_second"]
        and above >= limits["high"] - limits["within"]
        and below <= limits["low"] + limits["within"]
        and abs(loss - limits["loss"]) <= limits["loss_within"]
    )
    return Finding(text, _decide(agrees))


def check_coin(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Look at the same flood without the de-randomiser."""
    probability = trace(points, "off", limits["overload"])["probability"].to_list()
    mean, most = sum(probability) / len(probability), max(probability)
    agrees = most < limits["high"] and abs(mean - limits["loss"]) <= limits["within"]
    return Finding(f"mean {mean:.3f}, at most {most:.3f}", _decide(agrees))


def check_reachable(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Look at a flood whose excess can be dropped."""
    if points.filter(pl.col("overload") == limits["overload"]).is_empty():
        return Finding("no such flood", Verdict.UNTESTABLE)
    most = max(trace(points, "reached", limits["overload"])["probability"].to_list())
    loss = _take(points, "reached", limits["overload"], "loss")
    agrees = most < limits["high"] and abs(loss - limits["loss"]) <= limits["within"]
    return Finding(f"{loss:.3f} go; the probability is at most {most:.3f}", _decide(agrees))


def check_delay(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare the median delay under the flood with the target."""
    median, coin = [
        _take(points, kind, limits["overload"], "delay") / 1e6 for kind in ("reached", "off")
    ]
    agrees = abs(median / limits["target_ms"] - 1) <= limits["within"]
    bounded, free = [compute_delay(limits["overload"], most_rise=rise) for rise in (0.02, math.inf)]
    why = (
        "Each swing raises the delay and lowers it again; but from 0.1 on the probability rises by at most 0.02 in an"
        " interval (RFC 8034 appendix A), and falls without such a bound. What the bound takes from every rise, a longer"
        f" queue has to add: the law's formulas and a queue without packets give {bounded:.1f} ms, and {free:.1f} ms without"
        f" that bound. With the coin alone the median is {coin:.1f} ms"
    )
    return Finding(f"{median:.1f} ms", _decide(agrees), why="" if agrees else why)


def compute_delay(overload: float, *, most_rise: float) -> float:
    """Give the median delay of DOCSIS-PIE over a queue that is a fluid, in ms.

    Parameters
    ----------
    overload
        What arrives over what leaves.
    most_rise
        The bound of a rise of the probability in one interval.
    """
    target, alpha, beta, intervals = 0.010, 0.25, 2.5, 20_000
    probability, delay, delays = 0.8, target, []
    for _ in range(intervals):
        # p_eff: so many packets pass for certain, then the coin decides.
        passes = math.ceil(0.85 / probability) - 1 if probability < 0.85 else 0
        dropped = 1 / (passes + 1 / min(probability, 0.85))
        before, delay = delay, max(0.0, delay + (overload * (1 - dropped) - 1) * INTERVAL)
        scale = 2 if probability < 1 else 8
        step = scale * (alpha * (delay - target) + beta * (delay - before))
        probability = max(probability + min(step, most_rise), 0.1)
        delays.append(delay)
    return statistics.median(delays[intervals // 2 :]) * 1e3


def draw_flood(points: pl.DataFrame) -> list[Panel]:
    """Draw two seconds, with the de-randomiser and without."""
    panels = []
    for kind, title in (("reached", "With the de-randomiser"), ("off", "The coin alone")):
        rows = trace(points, kind, 2.5).filter(pl.col("time_s") <= WARMUP + 2)
        long = rows.select(
            "time_s",
            pl.col("probability").alias("drop probability"),
            pl.col("share").alias("share dropped"),
        ).unpivot(index="time_s", variable_name="series", value_name="value")
        long = long.with_columns(slot=pl.col("series").rank("dense").cast(pl.Int64) - 1)
        lines = (
            make_chart(long)
            .mark_line(interpolate="step-before", strokeWidth=1.5)
            .encode(
                x=time_axis().scale(zero=False, nice=False),
                y=alt.Y("value:Q", title="share of packets", scale=alt.Scale(domain=[0, 1])),
                color=colour(long),
            )
        )
        bounds = [mark_across(value, f"{value}") for value in (0.46, 0.85)]
        panels.append(Panel(title, alt.layer(lines, *bounds)))
    return panels


def _take(points: pl.DataFrame, derandomise: str, overload: float, column: str) -> float:
    row = points.filter(pl.col("derandomise") == derandomise, pl.col("overload") == overload)
    return float(row[column][0])


def _decide(agrees: bool) -> Verdict:
    return Verdict.REPRODUCED if agrees else Verdict.DIFFERS
