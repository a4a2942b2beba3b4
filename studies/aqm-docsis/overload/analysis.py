"""DOCSIS-PIE's drop probability under a flood, beside the one that would drop as much as must go."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import numpy.typing as npt
import polars as pl

from headend.figures.figure import Panel
from headend.figures.theme import colour, make_chart, mark_across
from headend.study.claims import Finding, Verdict
from headend.study.drops import find_run_lengths

#: Seconds between two updates, and of warm-up.
STEP, WARMUP = 0.016, 10.0

#: From where on every packet may be dropped.
BOUND = 0.85

#: What the figure of the probability shows, s.
SHOWN = (20.0, 20.5)

Probabilities = npt.NDArray[np.float64]


def take_probabilities(row: dict[str, Any]) -> Probabilities:
    """Give the drop probability at each update after the warm-up."""
    return np.asarray(row["probability"], dtype=float)[round(WARMUP / STEP) :]


def list_runs(points: pl.DataFrame, overload: float, drops: str) -> list[dict[str, Any]]:
    """Give the runs at an overload."""
    return points.filter((pl.col("overload") == overload) & (pl.col("drops") == drops)).to_dicts()


def check_settles(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Hold the mean probability against the need by the exact law, and the delay against independent coins."""
    agrees, found = True, []
    for overload in sorted(set(points["overload"].to_list())):
        if overload > limits["up_to"]:
            continue
        runs, coins = (
            list_runs(points, overload, drops) for drops in ("de-randomised", "independent")
        )
        probability = float(np.mean([take_probabilities(row).mean() for row in runs]))
        effective = 1 / find_run_lengths(probability, "reached").mean
        need = 1 - 1 / overload
        delay, other = (float(np.mean([row["delay"] for row in own])) for own in (runs, coins))
        agrees &= max(abs(effective / need - 1), abs(delay / other - 1)) <= limits["within"]
        found.append(
            f"{overload}: p {probability:.3f}, effective {effective:.4f} for {need:.4f}, {delay / 1e6:.1f} ms"
            f" beside {other / 1e6:.1f}"
        )
    return Finding("; ".join(found), _decide(agrees))


def check_oscillates(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Count how often the probability lies on each side of the bound, and how often it changes sides."""
    agrees, above, changes = True, [], []
    runs = list_runs(points, limits["overload"], "de-randomised")
    for row in runs:
        sides = take_probabilities(row) >= limits["bound"]
        above.append(float(sides.mean()))
        changes.append(float((sides[1:] != sides[:-1]).sum() / (len(sides) * STEP)))
        agrees &= limits["share"] <= above[-1] <= 1 - limits["share"]
        agrees &= changes[-1] >= limits["per_second"]
    delay = np.mean([row["delay"] for row in runs]) / 1e6
    text = f"{np.mean(above):.0%} of updates at {limits['bound']} or more, {np.mean(changes):.0f} changes of sides a second"
    why = f"Loss {np.mean([row['loss'] for row in runs]):.3f}; mean delay {delay:.0f} ms, for a target of 10"
    return Finding(text, _decide(agrees), why=why)


def check_reachable(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Look for probabilities beyond the bound where there is no need for any."""
    settings = [(1.5, "de-randomised"), (1.5, "independent"), (2.5, "independent")]
    highest = [
        max(float(take_probabilities(row).max()) for row in list_runs(points, *setting))
        for setting in settings
    ]
    text = "highest: " + ", ".join(
        f"{value:.2f} ({overload} times, {drops})"
        for value, (overload, drops) in zip(highest, settings, strict=True)
    )
    return Finding(text, _decide(max(highest) < limits["bound"]))


def check_tenth(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Hold the loss of a tenth too much against what is claimed."""
    loss = float(
        np.mean([row["loss"] for row in list_runs(points, limits["overload"], "de-randomised")])
    )
    agrees = abs(loss / limits["loss"] - 1) <= limits["within"]
    why = (
        ""
        if agrees
        else "Of 1.1 that come 0.1 must go, which is 9.1 %; for a tenth it takes 11.1 % too much"
    )
    return Finding(f"{loss:.4f}", _decide(agrees), why=why)


def draw_probability(points: pl.DataFrame) -> list[Panel]:
    """Draw the probability over half a second, with and without de-randomising."""
    first, last = (round(second / STEP) for second in SHOWN)
    frames = []
    for slot, drops in enumerate(("de-randomised", "independent")):
        values = np.asarray(
            list_runs(points, 2.5, drops)[0]["probability"][first:last], dtype=float
        )
        times = STEP * np.arange(first + 1, last + 1)
        frame = pl.DataFrame({"time_s": times, "probability": values})
        frames.append(frame.with_columns(series=pl.lit(drops), slot=pl.lit(slot)))
    rows = pl.concat(frames)
    lines = (
        make_chart(rows)
        .mark_line(strokeWidth=1.6, interpolate="step-before", point={"filled": True, "size": 18})
        .encode(
            x=alt.X(
                "time_s:Q",
                title="simulated time (s)",
                scale=alt.Scale(domain=list(SHOWN), nice=False),
                axis=alt.Axis(tickCount=6),
            ),
            y=alt.Y("probability:Q", title="drop probability", scale=alt.Scale(domain=[0.4, 1.0])),
            color=colour(rows),
        )
    )
    return [Panel("", alt.layer(lines, mark_across(BOUND, "0.85")))]


def draw_delay(points: pl.DataFrame) -> list[Panel]:
    """Draw the mean delay over the overload."""
    rows = (
        points.group_by("overload", series="drops", maintain_order=True)
        .agg(delay_ms=pl.col("delay").mean() / 1e6)
        .with_columns(slot=(pl.col("series") == "independent").cast(pl.Int64))
    )
    chart = (
        make_chart(rows)
        .mark_line(strokeWidth=2, point={"filled": True, "size": 45})
        .encode(
            x=alt.X("overload:Q", title="offered load, in multiples of the line's rate"),
            y=alt.Y("delay_ms:Q", title="mean queue delay (ms)", scale=alt.Scale(zero=True)),
            color=colour(rows),
        )
    )
    return [Panel("", alt.layer(chart))]


def _decide(agrees: bool) -> Verdict:
    return Verdict.REPRODUCED if agrees else Verdict.DIFFERS
