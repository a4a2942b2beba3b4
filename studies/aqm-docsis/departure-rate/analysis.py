"""Estimated departure rates beside the capacity of the channel, which changes every ten seconds."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import colour, make_chart
from headend.study import ClaimResult, decide, decide_over_seeds, join_decisions

#: The channel's capacity in each ten seconds, Mb/s, as line.toml has it, and the seconds between
#: two values.
CAPACITY = (12, 10, 12, 18, 10, 18, 12, 20, 10, 20, 18, 20)
SLOT, STEP = 10.0, 0.016

#: How long after a step an estimate counts as settled, s.
SETTLING = 0.5

#: The setting of the MAC that the figures show.
DRAWN = {"map_ms": 4, "dequeue_at": "burst"}

#: Where the grants stand in a MAP.
PLACES = {"random": "anywhere", "first": "at its beginning"}

NAMES = {"departure_rate": "PIE's departure rate", "grants": "grants (Appendix A)"}

Rates = npt.NDArray[np.float64]


def find_capacity(seconds: Rates) -> Rates:
    """Give the capacity in the interval that ends then, Mb/s."""
    return np.asarray([CAPACITY[slot % len(CAPACITY)] for slot in find_slots(seconds)], dtype=float)


def find_slots(seconds: Rates) -> npt.NDArray[np.int64]:
    """Give the number of the ten seconds in which the interval lies that ends then."""
    return np.asarray(np.ceil(seconds / SLOT - 1e-9) - 1, dtype=np.int64)


def take_times(row: dict[str, Any]) -> Rates:
    """Give the ends of the intervals, s."""
    return np.asarray(STEP * np.arange(1, len(row["rate"]) + 1))


def take_estimate(row: dict[str, Any]) -> Rates:
    """Give what was estimated at the end of each interval, Mb/s; NaN before the first estimate."""
    return np.asarray(row["rate"], dtype=float) / 1e6


def list_runs(
    points: pl.DataFrame, estimate: str, uploads: str = "all along", placement: str = "random"
) -> list[dict[str, Any]]:
    """Give the runs with an estimate."""
    return points.filter(estimate=estimate, uploads=uploads, placement=placement).to_dicts()


def find_errors(row: dict[str, Any]) -> Rates:
    """Give the settled estimates' errors, as shares of the capacity."""
    times = take_times(row)
    errors = take_estimate(row) / find_capacity(times) - 1
    since = times - SLOT * find_slots(times)
    return np.asarray(errors[(since > SETTLING) & np.isfinite(errors)])


def list_settings(points: pl.DataFrame) -> list[dict[str, Any]]:
    """Give the settings of the MAC."""
    rows = points.select("map_ms", "dequeue_at").unique(maintain_order=True)
    return rows.sort("map_ms", "dequeue_at").to_dicts()


def check_inaccurate(points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Compare the mean errors of PIE's estimate with the grants', by setting and seed."""
    decisions, found = [], []
    for setting in list_settings(points):
        own = points.filter(**setting).sort("seed")
        pie, grants = (
            [float(np.abs(find_errors(row)).mean()) for row in list_runs(own, estimate)]
            for estimate in ("departure_rate", "grants")
        )
        excess = [error - other for error, other in zip(pie, grants, strict=True)]
        decisions.append(decide_over_seeds(excess, low=0.0))
        found.append(
            f"{setting['map_ms']} ms, {setting['dequeue_at']}: {np.mean(pie):.1%} instead of"
            f" {np.mean(grants):.1%}"
        )
    return join_decisions(decisions, f"mean error: {'; '.join(found)}")


def check_line_rate(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look for estimates nearer to the line rate than to the service's, where bursts measure."""
    middle = (limits["line_mbps"] + limits["rate_mbps"]) / 2
    found: list[str] = []
    within: list[float] = []
    elsewhere: list[float] = []
    for place, name in PLACES.items():
        for setting in list_settings(points):
            rows = list_runs(points.filter(**setting), "departure_rate", placement=place)
            runs = [take_estimate(row) for row in rows]
            if not runs:
                continue
            above = [float((run[np.isfinite(run)] > middle).mean()) for run in runs]
            is_within = all(
                value == limits[key] for key, value in {**setting, "placement": place}.items()
            )
            (within if is_within else elsewhere).extend(above)
            highest = max(float(np.nanmax(run)) for run in runs)
            found.append(
                f"{setting['map_ms']} ms, {setting['dequeue_at']}, {name}: at most {highest:.0f}"
                f" Mb/s, {np.mean(above):.2%} nearer to the line rate"
            )
    text = "; ".join(found)
    if not any(within) or any(elsewhere):
        return ClaimResult(text, decide(False))
    return decide_over_seeds(within, low=0.0).tell(text)


def check_tracks(points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """See how much of the time the estimate from grants is nearest to the capacity of the time."""
    shares, errors = [], []
    for row in list_runs(points, "grants"):
        own = find_errors(row)
        shares.append(float(find_nearest(row).mean()))
        errors.append(own)
    low, high = np.percentile(np.concatenate(errors), [0.5, 99.5])
    pie = [float(find_nearest(row).mean()) for row in list_runs(points, "departure_rate")]
    text = (
        f"{min(shares):.1%} of the time or more (PIE's tracker {min(pie):.1%});"
        f" 99 of 100 errors from {low:+.1%} to {high:+.1%}"
    )
    why = (
        "the estimate counts the bytes of packets, the capacity those of MAC and segment headers"
        " too"
    )
    return ClaimResult(text, decide(min(shares) > 0.5), why=why)


def find_nearest(row: dict[str, Any]) -> npt.NDArray[np.bool_]:
    """Tell of each settled estimate whether it is nearest to the capacity of the time."""
    times, rates = take_times(row), take_estimate(row)
    settled = (times - SLOT * find_slots(times) > SETTLING) & np.isfinite(rates)
    values = np.array(sorted(set(CAPACITY)), dtype=float)
    nearest = values[np.abs(rates[settled][:, None] - values).argmin(axis=1)]
    return np.asarray(nearest == find_capacity(times)[settled])


def check_stale(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look for changes of the estimate once the uploads are over."""
    ends, changes = [], []
    for row in list_runs(points, "grants", "45 s"):
        rates, departed = take_estimate(row), np.asarray(row["departed"], dtype=float)
        last = int(np.flatnonzero(departed)[-1])
        ends.append(rates[-1])
        changes.append(float(np.abs(rates[last + 1 :] / rates[-1] - 1).max()))
    text = (
        f"{min(ends):.1f} to {max(ends):.1f} Mb/s at the end, after the channel has given"
        f" {max(CAPACITY)}; changed by {max(changes):.2%} at most since the last packet"
    )
    return ClaimResult(text, decide(max(changes) <= limits["within"]))


def draw_estimates(points: pl.DataFrame) -> list[Panel]:
    """Draw each estimate over the whole run, beside the capacity."""
    return [
        Panel(NAMES[estimate], _draw(points, [estimate], (0, 130)), f"estimates-{estimate}")
        for estimate in NAMES
    ]


def draw_detail(points: pl.DataFrame) -> list[Panel]:
    """Draw both estimates around one step."""
    return [Panel("", _draw(points, list(NAMES), (79.6, 81.2)))]


def draw_stale(points: pl.DataFrame) -> list[Panel]:
    """Draw the estimate from grants when the uploads end."""
    return [Panel("", _draw(points, ["grants"], (30, 130), "45 s"))]


def _draw(
    points: pl.DataFrame,
    estimates: list[str],
    seconds: tuple[float, float],
    uploads: str = "all along",
) -> vl.Chart:
    frames = []
    for estimate in estimates:
        row = list_runs(points.filter(**DRAWN), estimate, uploads)[0]
        rates = {NAMES[estimate]: take_estimate(row)}
        if estimate == estimates[0]:
            rates = {"capacity": find_capacity(take_times(row)), **rates}
        for name, values in rates.items():
            slot = 6 if name == "capacity" else list(NAMES.values()).index(name)
            frame = pl.DataFrame({"time_s": take_times(row), "mbps": values})
            frames.append(frame.with_columns(series=pl.lit(name), slot=pl.lit(slot)))
    rows = pl.concat(frames).filter(pl.col("time_s").is_between(*seconds))
    # A point in five says enough of a long run.
    thin = rows if seconds[1] - seconds[0] < 10 else rows.gather_every(5)
    return (
        make_chart(thin)
        .mark_line(strokeWidth=1.4, interpolate="step-before", clip=True)
        .encode(
            x=vl.X(
                "time_s:Q",
                title="simulated time (s)",
                scale=vl.Scale(domain=list(seconds), nice=False),
                axis=vl.Axis(tickCount=8),
            ),
            y=vl.Y("mbps:Q", title="rate (Mbit/s)", scale=vl.Scale(domain=[0, 40])),
            color=colour(rows),
        )
    )
