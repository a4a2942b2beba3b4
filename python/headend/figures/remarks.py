"""Explains conspicuous shapes in charts of the bottleneck, each in a sentence.

The shapes are an idle line at the start, changes of the line's rate, a burst above the sustained
rate and its end, short dips under load, and falls of the queue after drops.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from headend.figures.thinning import thin_series
from headend.results.record import Record
from headend.text.quantity import format_quantity

#: A line is full from the first share of its nominal rate on, and dips below the second.
FULL, DIP = 0.95, 0.9

#: The longest short dip, and the longest time from drops to their effect: seconds, or points.
SHORT_S, SHORT_POINTS = 2.0, 4

#: A level of the rate is this many points in a row that differ by at most this share; and the ratio
#: of two different levels.
LEVEL_POINTS, SAME, APART = 4, 0.04, 1.25

#: The backlog that certainly keeps a line busy, and tokens of an empty bucket, in bytes.
BACKLOG, USED_UP = 3000, 4000

#: The chart gets a sentence if the line is first full after this share of the run, or if the queue
#: falls by this share.
LATE, FALL = 0.01, 0.25


@dataclass(frozen=True)
class Course:
    """A queue and its line at each point of the chart, the warm-up included."""

    #: The times in seconds.
    times: list[float]
    #: The rates at which packets left the queue, bit/s.
    rates: list[float]
    #: Mean backlogs, bytes.
    backlogs: list[float]
    #: Mean delays of the queue, ns; None where no packet left it.
    delays: list[float | None]
    #: Packets dropped or marked; a point stands for several intervals and has the largest value.
    drops: list[float]
    #: The tokens of the sustained rate, bytes; None without a token bucket.
    tokens: list[float | None]
    #: The second at which measurement begins.
    warmup: float

    @property
    def near(self) -> int:
        """The largest distance between a cause and its effect, in points."""
        step = self.times[1] - self.times[0] if len(self.times) > 1 else SHORT_S
        return max(SHORT_POINTS, round(SHORT_S / step)) if step else SHORT_POINTS

    def has_drops(self, first: int, last: int) -> bool:
        """Say whether packets were dropped or marked from one point to another."""
        return any(drops > 0 for drops in self.drops[max(first, 0) : last + 1])


def read_course(result: Record, queue: str | None) -> Course | None:
    """Read the course of a queue from the series of a run; None where it has none."""
    rows = result.queue_series.filter(pl.col("queue") == pl.lit(queue)).with_columns(
        drops=pl.col("discarded") + pl.col("marked")
    )
    if rows.is_empty():
        return None
    means = ["rate_bps", "backlog_bytes", "delay_mean_ns", "tokens_bytes"]
    thin = thin_series(rows, ["queue"], means, ["drops"])
    return Course(
        thin["time_s"].to_list(),
        thin["rate_bps"].fill_null(0).to_list(),
        thin["backlog_bytes"].fill_null(0).to_list(),
        thin["delay_mean_ns"].to_list(),
        thin["drops"].fill_null(0).to_list(),
        thin["tokens_bytes"].to_list(),
        result.manifest.get("warmup_ns", 0) / 1e9,
    )


def remark_on_rate(courses: Sequence[tuple[str, Course]], nominal: float) -> str:
    """Explain the conspicuous shapes in a chart of the line's rate; empty if it is just full.

    Start and levels are described of a single run only. The nominal rate is in bit/s.
    """
    sentences = []
    if len(courses) == 1:
        course = courses[0][1]
        sentences += [_describe_start(course, nominal), describe_levels(course, nominal)]
    causes: dict[str, list[str]] = {}
    for label, course in courses:
        if dips := _find_dips(course, nominal):
            where = f" under {label}" if len(courses) > 1 else ""
            causes.setdefault(_find_cause(course, dips), []).append(
                _count_dips(course, dips) + where
            )
    sentences += [f"{', '.join(dips)}: {cause}." for cause, dips in causes.items()]
    return "".join(f" {sentence[0].upper()}{sentence[1:]}" for sentence in sentences if sentence)


def remark_on_queue(course: Course, nominal: float) -> str:
    """Explain the falls of a queue, and a delay that follows the rate of the line."""
    remarks = ""
    levels = _find_levels(course)
    if levels and max(levels) > APART * min(levels) and not _find_burst_end(course, nominal):
        remarks += " What the line gives changes; the less it is, the longer a backlog takes."
    falls = _find_falls(course)
    after = sum(course.has_drops(point - course.near, point + course.near) for point in falls)
    if len(falls) > 1 and 2 * after > len(falls):
        remarks += (
            " The queue falls after packets are dropped or marked, since senders then slow down."
        )
    return remarks


def describe_levels(course: Course, nominal: float) -> str:
    """Describe a burst above the sustained rate and its end, or the changes of the line's rate."""
    end = _find_burst_end(course, nominal)
    if end is not None:
        before = course.rates[: course.times.index(end)]
        peak = format_quantity(max(before), "rate")
        rate = format_quantity(nominal, "rate")
        return (
            f"A burst passes at up to {peak} while the bucket of the sustained rate holds tokens."
            f" They are used up at {end:.3g} s; then the line has {rate}."
        )
    levels = _find_levels(course)
    if not levels or max(levels) <= APART * min(levels):
        return ""
    low, high = (format_quantity(level, "rate") for level in (min(levels), max(levels)))
    return (
        f"The line does not always give the same: while packets waited, from {low} to {high} left"
        " the queue."
    )


def _describe_start(course: Course, nominal: float) -> str:
    """Say when the line is full for the first time; empty where it is at once."""
    for time, rate in zip(course.times, course.rates, strict=True):
        if rate >= FULL * nominal:
            is_late = time > max(LATE * course.times[-1], 1.0)
            return f"Until {time:.3g} s nothing fills the line." if is_late else ""
    return ""


def _count_dips(course: Course, dips: Sequence[int]) -> str:
    """Say how many dips there are, and where the deepest is."""
    lowest = min(dips, key=lambda point: course.rates[point])
    rate, at = format_quantity(course.rates[lowest], "rate"), f"{course.times[lowest]:.3g} s"
    if len(dips) == 1:
        return f"one short dip, to {rate} at {at}"
    return f"{len(dips)} short dips, the deepest to {rate} at {at}"


def _find_cause(course: Course, dips: Sequence[int]) -> str:
    """Say why a line dips: after drops, with an empty queue, or with packets that waited."""
    after = sum(course.has_drops(point - course.near, point) for point in dips)
    empty = sum(course.backlogs[point] < BACKLOG for point in dips)
    if 2 * after > len(dips):
        return (
            "after drops or marks the senders slowed down, and the queue ran empty before they sent"
            " more"
        )
    if 2 * empty > len(dips):
        return "the queue was empty, as nobody sent enough"
    return "packets waited, but the line did not carry them"


def _find_dips(course: Course, nominal: float) -> list[int]:
    """Find the deepest point of each short dip between times in which the line is full."""
    dips: list[int] = []
    runs = itertools.groupby(range(len(course.times)), lambda at: course.rates[at] < DIP * nominal)
    for is_low, points in runs:
        below = list(points)
        start, end = below[0], below[-1] + 1
        before = course.rates[max(start - course.near, 0) : start]
        after = course.rates[end : end + course.near]
        is_between = all(any(rate >= FULL * nominal for rate in part) for part in (before, after))
        is_short = end - start <= course.near
        if is_low and is_short and is_between and course.times[start] > course.warmup:
            dips.append(min(below, key=lambda at: course.rates[at]))
    return dips


def _find_levels(course: Course) -> list[float]:
    """Find the rates at which packets left for a while, while others waited."""
    levels: list[float] = []
    run: list[float] = []
    for rate, backlog in zip(course.rates, course.backlogs, strict=True):
        is_on = backlog >= BACKLOG and rate > 0
        if is_on and run and abs(rate / run[0] - 1) <= SAME:
            run.append(rate)
        else:
            run = [rate] if is_on else []
        if len(run) == LEVEL_POINTS:
            levels.append(sum(run) / len(run))
    return levels


def _find_burst_end(course: Course, nominal: float) -> float | None:
    """Find where a rate above the nominal one ends because the tokens are used up."""
    for at in range(2, len(course.times)):
        tokens = course.tokens[at]
        fell = course.rates[at] < APART * nominal < min(course.rates[at - 2 : at])
        if fell and tokens is not None and tokens < USED_UP and course.backlogs[at] >= BACKLOG:
            return course.times[at]
    return None


def _find_falls(course: Course) -> list[int]:
    """Find where the queue's mean delay falls by much in a short time, after the warm-up."""
    falls: list[int] = []
    at = 0
    while at < len(course.times):
        delay = course.delays[at] if course.times[at] > course.warmup else None
        following = course.delays[at + 1 : at + 1 + course.near]
        if delay and any(near is not None and near < (1 - FALL) * delay for near in following):
            falls.append(at)
            at += course.near
        at += 1
    return falls
