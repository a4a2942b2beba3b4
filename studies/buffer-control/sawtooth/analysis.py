"""Figure 1 of the Buffer Control guideline: a congestion window's saw tooth."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import polars as pl

from headend import run
from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import colour, make_chart, time_axis
from headend.study import ClaimResult, decide

LINE = Path(__file__).with_name("line.toml")

#: Bytes of a full segment: 1500, less 52 of headers.
SEGMENT = 1448

#: Base round trip of the line, in ns.
ROUND_TRIP = 100e6

#: Time between two readings of the window, in ns.
READING = 10e6

#: Windows up to this are read in slow start, segments: each round's burst makes a queue of half a
#: window, and that of a larger one (8 packets take 9.6 ms) stretches the round by more than the
#: tenth that is accepted.
SMALL_WINDOW = 16

#: From when to when the third line is silent, in s.
SILENCE = (30, 33)

SENDERS: dict[str, tuple[str, dict[str, Any]]] = {
    "tahoe": ("Tahoe", {}),
    "reno": ("Reno, with fast recovery", {"flow.upload.tcp.congestion.reno.slow_start_limit": 1}),
    "silence": (
        "Reno, with a silence of 3 s",
        {
            "flow.upload.tcp.congestion.reno.slow_start_limit": 1,
            "link.line.point_to_point.up.rate.steps": [
                ["0 s", "10 Mbit/s"],
                [f"{SILENCE[0]} s", "1 bit/s"],
                [f"{SILENCE[1]} s", "10 Mbit/s"],
            ],
        },
    ),
}


@functools.cache
def trace() -> dict[str, pl.DataFrame]:
    """Run each sender; give time, window, threshold, round trip, and the fullest buffer."""
    records = {}
    for sender, (_, overrides) in SENDERS.items():
        tables = run(LINE, set=overrides).tables
        queue = tables["queue_series"].filter(pl.col("queue") == "line.up")
        records[sender] = (
            tables["connection_series"]
            .filter(pl.col("flow") == "upload")
            .join(queue.select("time_ns", "backlog_max_bytes"), on="time_ns")
            .sort("time_ns")
            .select(
                "time_ns",
                "srtt_ns",
                "backlog_max_bytes",
                cwnd=pl.col("cwnd_bytes") / SEGMENT,
                ssthresh=pl.col("ssthresh_bytes") / SEGMENT,
            )
        )
    return records


def find_falls(record: pl.DataFrame) -> pl.DataFrame:
    """Give when the window falls by a fifth or more: time, windows, and threshold after."""
    return (
        record.with_columns(before=pl.col("cwnd").shift(1))
        .filter(pl.col("cwnd") < 0.8 * pl.col("before"))
        .select("time_ns", "before", after="cwnd", threshold="ssthresh")
    )


def check_slow_start(_points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare windows one base round trip apart in the first slow start, without a queue."""
    found, agrees = [], True
    steps = round(ROUND_TRIP / READING)
    for sender, record in trace().items():
        # The window grows in steps, once a round: two readings at the same place of two rounds tell
        # by how much.
        later = record.with_columns(later=pl.col("cwnd").shift(-steps))
        rows = later.filter(pl.col("srtt_ns").is_not_nan(), pl.col("later") <= SMALL_WINDOW)
        rows = rows.filter(pl.col("time_ns") + ROUND_TRIP < find_falls(record)["time_ns"].min())
        rate = float(rows.select((pl.col("later") / pl.col("cwnd")).log(2).mean()).item())
        found.append(f"{rate:.2f} ({SENDERS[sender][0]})")
        agrees &= abs(rate - 1) <= limits["within"]
    return ClaimResult("doublings a round trip: " + ", ".join(found), decide(agrees))


def check_avoidance(_points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Fit the growth of each tooth from threshold to loss, in segments per round trip."""
    found, agrees = [], True
    for sender, record in trace().items():
        slopes = _fit_teeth(record)
        lowest, highest = min(slopes), max(slopes)
        found.append(f"{lowest:.2f} to {highest:.2f} ({SENDERS[sender][0]}, {len(slopes)} teeth)")
        agrees &= abs(lowest - 1) <= limits["within"] and abs(highest - 1) <= limits["within"]
    return ClaimResult("segments a round trip: " + ", ".join(found), decide(agrees))


def check_timeout(_points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold windows and thresholds after timeouts against one segment and half of the window."""
    tahoe = find_falls(trace()["tahoe"])
    silent = find_falls(trace()["silence"]).filter(_is_silent())
    found, agrees = [], True
    for name, falls in (("Tahoe", tahoe), ("Reno's timer", silent)):
        good = falls.filter(pl.col("after") <= 1.5, _is_half("threshold", limits["within"])).height
        found.append(f"{good} of {falls.height} ({name})")
        agrees &= good == falls.height > 0
    return ClaimResult(", ".join(found), decide(agrees), why=_tell(silent))


def check_recovery(_points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold Reno's windows after a loss against half of what they were."""
    falls = pl.concat(
        [find_falls(trace()["reno"]), find_falls(trace()["silence"]).filter(~_is_silent())]
    )
    good = falls.filter(_is_half("after", limits["within"])).height
    return ClaimResult(f"{good} of {falls.height} losses", decide(good == falls.height > 0))


def check_full(_points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look how full the buffer was in the second before each loss."""
    least, count = float("inf"), 0
    for sender in ("tahoe", "reno"):
        record = trace()[sender]
        for time in find_falls(record)["time_ns"]:
            rows = record.filter(pl.col("time_ns").is_between(time - 1_000_000_000, time))
            least = min(least, float(rows["backlog_max_bytes"].max()))  # type: ignore[arg-type]
            count += 1
    agrees = 125_000 - least < limits["packet"]
    return ClaimResult(
        f"{least / 1e3:.1f} kB of 125 kB at the least of {count} losses", decide(agrees)
    )


def draw_windows(_points: pl.DataFrame) -> list[Panel]:
    """Draw window and threshold over time, a panel for each sender."""
    panels = []
    for sender, record in trace().items():
        rows = record.gather_every(5).with_columns(time_s=pl.col("time_ns") / 1e9)
        lines = [
            ("congestion window", "cwnd", [1, 0]),
            ("slow-start threshold", "ssthresh", [5, 3]),
        ]
        layers = []
        for slot, (series, column, dashes) in enumerate(lines):
            own = rows.select("time_s", segments=column).with_columns(
                series=pl.lit(series), slot=pl.lit(slot)
            )
            layers.append(
                make_chart(own)
                .mark_line(strokeWidth=1.8 - 0.5 * slot, strokeDash=dashes, clip=True)
                .encode(
                    x=time_axis(),
                    y=vl.Y(
                        "segments:Q",
                        title="congestion window (segments)",
                        scale=vl.Scale(domain=[0, 350], nice=False),
                    ),
                    color=colour(
                        pl.DataFrame({"series": [line[0] for line in lines], "slot": [0, 1]})
                    ),
                )
            )
        panels.append(Panel(SENDERS[sender][0], vl.layer(*layers), name=f"window-{sender}"))
    return panels


def _fit_teeth(record: pl.DataFrame) -> list[float]:
    """Give the slope of each tooth of 20 rounds or more, in segments for each round trip."""
    rows = record.with_columns(
        # A window that has fallen begins a tooth; rounds go by as smoothed round trips do.
        tooth=(pl.col("cwnd") < 0.8 * pl.col("cwnd").shift(1)).fill_null(value=False).cum_sum(),
        round=(pl.col("time_ns").diff() / pl.col("srtt_ns")).fill_nan(0).fill_null(0).cum_sum(),
    )
    # Above the threshold by two segments, and before the window stands still in fast recovery.
    rows = rows.filter(
        pl.col("cwnd") > pl.col("ssthresh") + 2,
        pl.col("cwnd") < 0.97 * pl.col("cwnd").max().over("tooth"),
    )
    slopes = []
    for _, tooth in rows.group_by("tooth", maintain_order=True):
        if tooth["round"].max() - tooth["round"].min() >= 20:  # type: ignore[operator]
            slope = pl.cov("round", "cwnd") / pl.col("round").var()
            slopes.append(float(tooth.select(slope).item()))
    return slopes


def _is_silent() -> pl.Expr:
    """Whether a fall is the timer's: within the silence, or in the round after it."""
    return pl.col("time_ns").is_between(SILENCE[0] * 1e9, (SILENCE[1] + 0.2) * 1e9)


def _is_half(column: str, within: float) -> pl.Expr:
    half = pl.col("before") / 2
    return (pl.col(column) - half).abs() <= 1 + within * half


def _tell(falls: pl.DataFrame) -> str:
    return "; ".join(
        f"at {row['time_ns'] / 1e9:.2f} s from {row['before']:.0f} to {row['after']:.0f} segments,"
        f" threshold {row['threshold']:.0f}"
        for row in falls.iter_rows(named=True)
    )
