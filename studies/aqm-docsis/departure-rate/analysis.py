"""Estimated departure rates beside the capacity of the channel, which changes every ten seconds."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import numpy.typing as npt
import polars as pl

from headend.figures.figure import Panel
from headend.figures.theme import AnyChart, colour, make_chart
from headend.study.claims import Finding, decide

#: The channel's capacity in each ten seconds, Mb/s, as line.toml has it, and the seconds between two values.
CAPACITY = (12, 10, 12, 18, 10, 18, 12, 20, 10, 20, 18, 20)
SLOT, STEP = 10.0, 0.016

#: How long after a step an estimate counts as settled, s.
SETTLING = 0.5

#: The setting of the MAC that the figures show.
DRAWN = {"map_ms": 4, "dequeue_at": "burst"}

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
    points: pl.DataFrame, estimate: str, uploads: str = "all along"
) -> list[dict[str, Any]]:
    """Give the runs with an estimate."""
    return points.filter(
        (pl.col("estimate") == estimate) & (pl.col("uploads") == uploads)
    ).to_dicts()


def find_errors(row: dict[str, Any]) -> Rates:
    """Give the settled estimates' errors, as shares of the capacity."""
    times = take_times(row)
    errors = take_estimate(row) / find_capacity(times) - 1
    since = times - SLOT * find_slots(times)
    return np.asarray(errors[(since > SETTLING) & np.isfinite(errors)])


def check_inaccurate(points: pl.DataFrame, _limits: dict[str, Any]) -> Finding:
    """Compare mean error and spread of PIE's estimate with those of the grants', run by run."""
    agrees, found = True, []
    of_grants = [_describe(row) for row in list_runs(points, "grants")]
    for estimate in ("departure_rate", "departure_time"):
        own = [_describe(row) for row in list_runs(points, estimate)]
        pairs = list(zip(own, of_grants, strict=True))
        agrees &= all(mine[0] > theirs[0] and mine[1] > theirs[1] for mine, theirs in pairs)
        found.append(f"{estimate}: {_tell(own)}")
    text = "; ".join([*found, f"grants: {_tell(of_grants)}"])
    return Finding(text, decide(agrees))


def check_line_rate(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Look for estimates far above the service's rate, where a burst holds a measurement and where none does."""
    found, agrees, runs = [], True, list_runs(points, "departure_rate")
    for map_ms, dequeue_at in sorted({(row["map_ms"], row["dequeue_at"]) for row in runs}):
        every = np.concatenate(
            [
                take_estimate(row)
                for row in runs
                if (row["map_ms"], row["dequeue_at"]) == (map_ms, dequeue_at)
            ]
        )
        own = every[np.isfinite(every)]
        share, highest = float((own > limits["mbps"]).mean()), float(own.max())
        if (map_ms, dequeue_at) == (limits["map_ms"], limits["dequeue_at"]):
            agrees &= share >= limits["least"]
            agrees &= abs(highest / limits["line_mbps"] - 1) <= limits["within"]
        else:
            agrees &= share == 0
        found.append(
            f"{map_ms} ms, {dequeue_at}: {share:.2%} above {limits['mbps']} Mb/s, at most {highest:.0f}"
        )
    why = (
        "A measurement can lie within a burst only where a grant holds 10 kB, which at 20 Mb/s takes MAPs of 4 ms, and"
        " where the packets leave the queue as their segments are prepared, not all at the MAP"
    )
    return Finding("; ".join(found), decide(agrees), why=why if agrees else "")


def check_tracks(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """See how much of the time the estimate from grants is near the capacity."""
    runs = [find_errors(row) for row in list_runs(points, "grants")]
    shares = [float((np.abs(run) <= limits["within"]).mean()) for run in runs]
    every = np.concatenate(runs)
    low, high = np.percentile(every, [0.5, 99.5])
    text = f"{min(shares):.1%} of the time or more; errors of {low:+.1%} to {high:+.1%}"
    why = "The estimate counts the bytes of packets, the capacity those of MAC and segment headers too"
    return Finding(text, decide(min(shares) >= limits["share"]), why=why)


def check_settles(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Count updates from each step up, or down, until the estimate has covered a share of it for good."""
    counts: list[int] = []
    pie: list[int] = []
    rates: list[float] = []
    for row in list_runs(points, "grants"):
        steps = _count_updates(row, limits["share"], up=limits["up"])
        counts += steps.values()
        for step, count in steps.items():
            first = round(step / STEP)
            if count > limits["updates"]:
                own = np.asarray(row["departed"][first : first + limits["updates"]], dtype=float)
                rates.append(own.mean() / 1e6 / find_capacity(np.array([step + STEP]))[0])
    for row in list_runs(points, "departure_rate"):
        pie += _count_updates(row, limits["share"], up=limits["up"]).values()
    text = (
        f"{sum(count <= limits['updates'] for count in counts)} of {len(counts)} steps; at most {max(counts)} updates"
        f" ({max(counts) * STEP * 1e3:.0f} ms); PIE's tracker {sum(count <= limits['updates'] for count in pie)} of {len(pie)}"
    )
    why = ""
    if rates:
        why = (
            f"In the first {limits['updates']} updates after a slower step {np.mean(rates):.0%} of the new capacity was"
            " used: the uploads have to fill it first, and until requests are pending all the time no estimator can see it"
        )
    return Finding(text, decide(max(counts) <= limits["updates"]), why=why)


def check_stale(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Look for changes of the estimate once the uploads are over."""
    ends, changes = [], []
    for row in list_runs(points, "grants", "45 s"):
        rates, departed = take_estimate(row), np.asarray(row["departed"], dtype=float)
        last = int(np.flatnonzero(departed)[-1])
        ends.append(rates[-1])
        changes.append(float(np.abs(rates[last + 1 :] / rates[-1] - 1).max()))
    text = (
        f"{min(ends):.1f} to {max(ends):.1f} Mb/s at the end, after the channel has given {max(CAPACITY)};"
        f" changed by {max(changes):.2%} at most since the last packet"
    )
    return Finding(text, decide(max(changes) <= limits["within"]))


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
) -> AnyChart:
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
    chart: AnyChart = (
        make_chart(thin)
        .mark_line(strokeWidth=1.4, interpolate="step-before", clip=True)
        .encode(
            x=alt.X(
                "time_s:Q",
                title="simulated time (s)",
                scale=alt.Scale(domain=list(seconds), nice=False),
                axis=alt.Axis(tickCount=8),
            ),
            y=alt.Y("mbps:Q", title="rate (Mbit/s)", scale=alt.Scale(domain=[0, 40])),
            color=colour(rows),
        )
    )
    return chart


def _describe(row: dict[str, Any]) -> tuple[float, float]:
    """Give the mean error of a run, and how wide the middle nine tenths of its errors are."""
    errors = find_errors(row)
    low, high = np.percentile(errors, [5, 95])
    return float(np.abs(errors).mean()), float(high - low)


def _tell(described: list[tuple[float, float]]) -> str:
    error, width = (float(np.mean(values)) for values in zip(*described, strict=True))
    return f"mean error {error:.1%}, nine tenths within {width:.1%}"


def _count_updates(row: dict[str, Any], share: float, *, up: bool) -> dict[float, int]:
    """Count the updates from each step up, or down, to the first from which on a share of it is covered; keys are seconds.

    The step is that of the estimates themselves, between the means of the last halves of both slots: how near those are
    to the capacity is another question.
    """
    times, rates = take_times(row), take_estimate(row)
    capacity = find_capacity(times)
    counts = {}
    for slot in range(1, round(times[-1] / SLOT)):
        # Without the last update of a slot: MAPs of the next one have come by then.
        before, own = (
            np.flatnonzero(find_slots(times) == place)[:-1] for place in (slot - 1, slot)
        )
        if (capacity[own[0]] > capacity[before[-1]]) != up:
            continue
        first, last = (float(rates[places[len(places) // 2 :]].mean()) for places in (before, own))
        uncovered = np.flatnonzero((rates[own] - first) / (last - first) < share)
        counts[slot * SLOT] = int(uncovered[-1]) + 2 if len(uncovered) else 1
    return counts
