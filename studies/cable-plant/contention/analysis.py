"""Collisions and request delay of contending modems, next to their closed forms."""

from __future__ import annotations

from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import colour, make_chart
from headend.study import ClaimResult, ClaimVerdict, decide

#: Data backoff end: windows double up to two to the power of this.
END = 8

#: Simulated seconds that are measured of saturated modems, and opportunities in each.
SATURATED_SECONDS, OPPORTUNITIES_PER_SECOND = 60.0, 8000.0

OPPORTUNITIES_PER_MAP = 16

#: Saturated modems with half of these in a MAP that comes twice as often.
SHORTER = "saturated, 8 in a MAP"


def tabulate(points: pl.DataFrame, traffic: str) -> pl.DataFrame:
    """Give the runs of one traffic with their windows, shares of collisions, and delays in ms."""
    return (
        points.filter(pl.col("traffic") == traffic)
        .with_columns(
            window=(2 ** pl.col("exponent")).cast(pl.Int64),
            share=pl.col("collisions") / pl.col("requests"),
            delay_ms=pl.col("delay") / 1e6,
            p99_ms=pl.col("delay_p99") / 1e6,
        )
        .with_columns(
            series=pl.format("W = {}", "window"),
            slot=pl.col("window").rank("dense").cast(pl.Int64) - 1,
        )
        .sort("window", "modems")
    )


def compute_first(window: int, modems: int) -> float:
    """Give the share of first tries that collide when all draw together."""
    return float(1 - (1 - 1 / window) ** (modems - 1))


def compute_saturated(exponent: int, modems: int, alone: float) -> float:
    """Give the fixed point of the share of collisions.

    Parameters
    ----------
    exponent
        Data backoff start.
    modems
        How many contend.
    alone
        Opportunities from one request of a lone modem to its next: backoff and the wait for its
        answer.
    """
    first = int(2**exponent)

    def rate(p: float) -> float:
        stages = range(200)
        windows = [int(2 ** min(exponent + stage, END)) for stage in stages]
        weights = [float(p**stage) for stage in stages]
        cycles = (alone + (window - first) / 2 for window in windows)
        return sum(weights) / sum(w * cycle for w, cycle in zip(weights, cycles, strict=True))

    low, high = 0.0, 1.0
    for _ in range(60):
        p = (low + high) / 2
        if 1 - (1 - rate(p)) ** (modems - 1) > p:
            low = p
        else:
            high = p
    return low


def predict(points: pl.DataFrame, traffic: str) -> pl.DataFrame:
    """Put the closed form beside what was measured."""
    rows = tabulate(points, traffic)
    if traffic == "once":
        forms = [compute_first(row["window"], row["modems"]) for row in rows.iter_rows(named=True)]
    else:
        opportunities = SATURATED_SECONDS * OPPORTUNITIES_PER_SECOND
        lone = rows.filter(pl.col("modems") == 1)
        alone = {row["exponent"]: opportunities / row["requests"] for row in lone.to_dicts()}
        forms = [
            compute_saturated(row["exponent"], row["modems"], alone[row["exponent"]])
            for row in rows.iter_rows(named=True)
        ]
    return rows.with_columns(predicted=pl.Series(forms)).filter(pl.col("modems") > 1)


def check_first(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold first tries against the elementary form."""
    rows = predict(points, "once").with_columns(error=(pl.col("share") - pl.col("predicted")).abs())
    worst = rows.sort("error").row(-1, named=True)
    text = f"at most {worst['error']:.3f} off, over {rows.height} points"
    return ClaimResult(text, decide(worst["error"] <= limits["within"]), why=_tell(worst))


def check_saturated(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold saturated modems against the fixed point."""
    rows = predict(points, "saturated").filter(pl.col("window").is_in(limits["windows"]))
    if rows.is_empty():
        return ClaimResult("no run with such a window", ClaimVerdict.UNTESTABLE)
    rows = rows.with_columns(error=(pl.col("share") / pl.col("predicted") - 1).abs())
    worst = rows.sort("error").row(-1, named=True)
    far = rows.filter(pl.col("error") > limits["within"]).height
    text = (
        f"{rows.height - far} of {rows.height} points within {limits['within']:.0%},"
        f" the worst {worst['error']:.0%} off"
    )
    why = _tell(worst)
    if far and worst["window"] < OPPORTUNITIES_PER_MAP:
        why += (
            ". One MAP answers all who asked before it, and their windows begin at the same"
            f" opportunity: those who draw from {worst['window']} never use the rest of the"
            f" {OPPORTUNITIES_PER_MAP} before the next MAP, and meet more often than independent"
            f" modems would{_describe_shorter(points, limits['windows'])}"
        )
    return ClaimResult(text, decide(far == 0), why=why)


def _describe_shorter(points: pl.DataFrame, windows: list[int]) -> str:
    """Say how far off the same is with MAPs twice as often and half the opportunities each."""
    rows = predict(points, SHORTER).filter(pl.col("window").is_in(windows))
    if rows.is_empty():
        return ""
    error = float((rows["share"] / rows["predicted"] - 1).abs().to_numpy().max())
    return (
        f". With {OPPORTUNITIES_PER_MAP // 2} in a MAP that comes twice as often, the worst is"
        f" {error:.0%} off"
    )


def check_wait(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare a lone modem's delay with two windows."""
    alone = tabulate(points, "together").filter(pl.col("modems") == 1)
    delays = dict(alone.select("exponent", "delay_ms").iter_rows())
    if limits["large"] not in delays:
        return ClaimResult("one window only", ClaimVerdict.UNTESTABLE)
    found = delays[limits["large"]] - delays[limits["small"]]
    agrees = abs(found / limits["expected_ms"] - 1) <= limits["within"]
    return ClaimResult(f"{found:.2f} ms", decide(agrees))


def check_crossing(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look for delays that fall with more contenders, and the best window for few and many."""
    rows = tabulate(points, "together")
    steps = rows.with_columns(step=pl.col("delay_ms").pct_change().over("window"))
    falls = steps.filter(pl.col("step") < -limits["slack"]).height
    delays = {(row["window"], row["modems"]): row["delay_ms"] for row in rows.to_dicts()}
    if (64, 2) not in delays:
        return ClaimResult("one window only", ClaimVerdict.UNTESTABLE)
    few, many = [[delays[window, modems] for window in (8, 64)] for modems in (2, 50)]
    text = (
        f"{falls} steps fall; two modems {few[0]:.1f} ms with W = 8, {few[1]:.1f} with 64;"
        f" fifty {many[0]:.1f} and {many[1]:.1f}"
    )
    return ClaimResult(text, decide(not falls and few[0] < few[1] and many[1] < many[0]))


def draw_collisions(points: pl.DataFrame) -> list[Panel]:
    """Draw collision shares over contenders, a panel for first tries and saturated modems."""
    panels = []
    for traffic, title in (("once", "First tries, together"), ("saturated", "Saturated modems")):
        rows = predict(points, traffic)
        base = make_chart(rows).encode(x=_along_modems(), color=colour(rows, "circle"))
        predicted = base.mark_line(strokeDash=[5, 4], strokeWidth=1.5).encode(y="predicted:Q")
        measured = base.mark_point(filled=True, size=55, opacity=1).encode(
            y=vl.Y(
                "share:Q",
                title="share of requests that collide",
                scale=vl.Scale(domain=[0, 1]),
                axis=vl.Axis(format="~%"),
            ),
            tooltip=[
                "series:N",
                "modems:Q",
                vl.Tooltip("share:Q", format=".3~%"),
                vl.Tooltip("predicted:Q", format=".3~%"),
            ],
        )
        panels.append(Panel(title, vl.layer(predicted, measured)))
    return panels


def draw_delay(points: pl.DataFrame) -> list[Panel]:
    """Draw mean and 99th percentile of the delay over contenders."""
    rows = tabulate(points, "together")
    base = make_chart(rows).encode(x=_along_modems(), color=colour(rows))
    mean = base.mark_line(point={"filled": True, "size": 40}, strokeWidth=2).encode(
        y=vl.Y("delay_ms:Q", title="one-way delay (ms)", scale=vl.Scale(zero=True)),
        tooltip=["series:N", "modems:Q", vl.Tooltip("delay_ms:Q", format=".3~g")],
    )
    tail = base.mark_line(
        point={"filled": True, "size": 25}, strokeDash=[5, 4], strokeWidth=1.3
    ).encode(y="p99_ms:Q")
    return [Panel("", vl.layer(tail, mean))]


def _along_modems() -> vl.X:
    return vl.X(
        "modems:Q",
        title="modems",
        scale=vl.Scale(type="log", domain=[1, 50], nice=False),
        axis=vl.Axis(values=[1, 2, 5, 10, 20, 50]),
    )


def _tell(row: dict[str, Any]) -> str:
    return (
        f"furthest off with {row['modems']} modems and a window of {row['window']}:"
        f" {row['share']:.3f} measured, {row['predicted']:.3f} computed"
    )
