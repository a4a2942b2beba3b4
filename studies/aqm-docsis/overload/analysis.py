"""DOCSIS-PIE's drop probability under a flood, beside the one that is needed."""

from __future__ import annotations

import math
import statistics
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import colour, make_chart, mark_across
from headend.study import ClaimResult, ClaimVerdict, decide

from ..drops import find_run_lengths

#: Of the scenario: s between two updates, of warm-up and of the measured part; bit/s of the line;
#: IP bytes of a datagram.
STEP, WARMUP, RATE, SIZE = 0.016, 10.0, 10e6, 1024

#: From where on every packet may be dropped.
BOUND = 0.85

#: What the figure of the probability shows, s.
SHOWN = (20.0, 20.5)

Probabilities = npt.NDArray[np.float64]


def take_probabilities(row: dict[str, Any]) -> Probabilities:
    """Give the drop probability at each update after the warm-up."""
    return np.asarray(row["probability"], dtype=float)[round(WARMUP / STEP) :]


def take_shares(row: dict[str, Any]) -> Probabilities:
    """Give the share of its packets that each interval after the warm-up dropped."""
    sent = row["overload"] * RATE / 8 / SIZE * STEP
    return np.asarray(np.asarray(row["discarded"], dtype=float)[round(WARMUP / STEP) :] / sent)


def list_runs(points: pl.DataFrame, overload: float, drops: str) -> list[dict[str, Any]]:
    """Give the runs at an overload."""
    return points.filter((pl.col("overload") == overload) & (pl.col("drops") == drops)).to_dicts()


def check_settles(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the mean probability against the exact law's, and delays against other coins'."""
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
            f"{overload}: p {probability:.3f}, effective {effective:.4f} for {need:.4f},"
            f" {delay / 1e6:.1f} ms beside {other / 1e6:.1f}"
        )
    return ClaimResult("; ".join(found), decide(agrees))


def check_oscillates(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Count crossings of the bound, and look at what is dropped on either side of it."""
    runs = list_runs(points, limits["overload"], "de-randomised")
    sides = [take_probabilities(row) >= limits["high"] for row in runs]
    crossings = [float((own[1:] != own[:-1]).sum() / (len(own) * STEP)) for own in sides]
    loss = float(np.mean([row["loss"] for row in runs]))
    agrees = all(((own[1:] != own[:-1]).sum() > 1) for own in sides)
    is_above = np.concatenate([own[:-1] for own in sides])
    # The value at the end of an interval is the next one's.
    shares = np.concatenate([take_shares(row)[1:] for row in runs])
    text = f"{np.mean(crossings):.1f} crossings a second"
    if is_above.all() or not is_above.any():
        return ClaimResult(f"{text}; {loss:.3f} in all", ClaimVerdict.DIFFERS)
    (above, error_above), (below, error_below) = (
        (float(own.mean()), float(own.std() / math.sqrt(len(own))))
        for own in (shares[is_above], shares[~is_above])
    )
    agrees &= above >= limits["high"] - limits["errors"] * error_above
    agrees &= below <= limits["low"] + limits["errors"] * error_below
    text += (
        f"; {is_above.mean():.0%} of intervals above, which drop {above:.4f}, those below"
        f" {below:.4f}; {loss:.4f} in all"
    )
    return ClaimResult(text, decide(agrees))


def check_reachable(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
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
    return ClaimResult(text, decide(max(highest) < limits["bound"]))


def check_target(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare the median delay under the flood with the target."""
    median, coins = (
        float(np.mean([row["median"] for row in list_runs(points, limits["overload"], drops)]))
        / 1e6
        for drops in ("de-randomised", "independent")
    )
    agrees = abs(median / limits["target_ms"] - 1) <= limits["within"]
    bounded, free = (compute_delay(limits["overload"], most_rise=rise) for rise in (0.02, math.inf))
    why = (
        "Each swing raises the delay and lowers it again; but from 0.1 on the probability rises by"
        " at most 0.02 in an interval (RFC 8034 appendix A), and falls without such a bound. What"
        " the bound takes from every rise, a longer queue has to add: the law's formulas and a"
        f" queue without packets give {bounded:.1f} ms, and {free:.1f} ms without that bound. With"
        f" independent coins the median is {coins:.1f} ms"
    )
    return ClaimResult(f"{median:.1f} ms", decide(agrees), why="" if agrees else why)


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
        passes = math.ceil(BOUND / probability) - 1 if probability < BOUND else 0
        dropped = 1 / (passes + 1 / min(probability, BOUND))
        before, delay = delay, max(0.0, delay + (overload * (1 - dropped) - 1) * STEP)
        scale = 2 if probability < 1 else 8
        step = scale * (alpha * (delay - target) + beta * (delay - before))
        probability = max(probability + min(step, most_rise), 0.1)
        delays.append(delay)
    return statistics.median(delays[intervals // 2 :]) * 1e3


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
            x=vl.X(
                "time_s:Q",
                title="simulated time (s)",
                scale=vl.Scale(domain=list(SHOWN), nice=False),
                axis=vl.Axis(tickCount=6),
            ),
            y=vl.Y("probability:Q", title="drop probability", scale=vl.Scale(domain=[0.4, 1.0])),
            color=colour(rows),
        )
    )
    return [Panel("", vl.layer(lines, mark_across(BOUND, "0.85")))]


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
            x=vl.X("overload:Q", title="offered load, in multiples of the line's rate"),
            y=vl.Y("delay_ms:Q", title="mean queue delay (ms)", scale=vl.Scale(zero=True)),
            color=colour(rows),
        )
    )
    return [Panel("", vl.layer(chart))]
