"""Explains conspicuous shapes in charts of the bottleneck, each in a sentence.

The shapes are an idle line at the start, changes of the line's rate, a burst above the sustained
rate and its end, short dips under load, and falls of the queue after drops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from headend.figures.thinning import thin_series
from headend.text.quantity import format_quantity

if TYPE_CHECKING:
    from headend.results.record import Record

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
    """A queue and its line at each point of the chart, the warm-up included.

    Parameters
    ----------
    times
        The times in seconds.
    rates
        The rates at which packets left the queue, bit/s.
    backlogs
        Mean backlogs, bytes.
    delays
        Mean delays of the queue, ns; None where no packet left it.
    drops
        Packets dropped or marked; a point stands for several intervals and has the largest value.
    tokens
        The tokens of the sustained rate, bytes; None without a token bucket.
    warmup
        The second at which measurement begins.
    """

    times: list[float]
    rates: list[float]
    backlogs: list[float]
    delays: list[float | None]
    drops: list[float]
    tokens: list[float | None]
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

    Parameters
    ----------
    courses
        The runs by their labels; only of one are the start and the levels told.
    nominal
        The line's rate, bit/s.
    """
    told = []
    if len(courses) == 1:
        course = courses[0][1]
        told += [_tell_start(course, nominal), tell_levels(course, nominal)]
    causes: dict[str, list[str]] = {}
    for label, course in courses:
        if dips := _find_dips(course, nominal):
            where = f" under {label}" if len(courses) > 1 else ""
            causes.setdefault(_find_cause(course, dips), []).append(
                _count_dips(course, dips) + where
            )
    told += [f"{', '.join(dips)}: {cause}." for cause, dips in causes.items()]
    return "".join(f" {sentence[0].upper()}{sentence[1:]}" for sentence in told if sentence)


def remark_on_queue(course: Course, nominal: float) -> str:
    """Explain the falls of a queue, and a delay that follows the rate of the line."""
    told = []
    levels = _find_levels(course)
    if levels and max(levels) > APART * min(levels) and not _find_burst_end(course, nominal):
        told.append("What the line gives changes; the less it is, the longer a backlog takes.")
    falls = _find_falls(course)
    after = sum(course.has_drops(place - course.near, place + course.near) for place in falls)
    if len(falls) > 1 and 2 * after > len(falls):
        told.append(
            "The queue falls after packets are dropped or marked, since senders then slow down."
        )
    return "".join(f" {sentence}" for sentence in told)


def tell_levels(course: Course, nominal: float) -> str:
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


def _tell_start(course: Course, nominal: float) -> str:
    """Say when the line is full for the first time; empty where it is at once."""
    full = next(
        (time for time,
         rate in zip(course.times, course.rates, strict=True) if rate >= FULL * nominal),
        None,
    )  # fmt: skip
    if full is None or full <= max(LATE * course.times[-1], 1.0):
        return ""
    return f"Until {full:.3g} s nothing fills the line."


def _count_dips(course: Course, dips: Sequence[int]) -> str:
    """Say how many dips there are, and where the deepest is."""
    lowest = min(dips, key=lambda place: course.rates[place])
    rate, at = format_quantity(course.rates[lowest], "rate"), f"{course.times[lowest]:.3g} s"
    if len(dips) == 1:
        return f"one short dip, to {rate} at {at}"
    return f"{len(dips)} short dips, the deepest to {rate} at {at}"


def _find_cause(course: Course, dips: Sequence[int]) -> str:
    """Say why a line dips: after drops, with an empty queue, or with packets that waited."""
    after = sum(course.has_drops(place - course.near, place) for place in dips)
    empty = sum(course.backlogs[place] < BACKLOG for place in dips)
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
    found: list[int] = []
    place, count = 0, len(course.times)
    while place < count:
        if course.rates[place] >= DIP * nominal:
            place += 1
            continue
        end = place
        while end < count and course.rates[end] < DIP * nominal:
            end += 1
        before = course.rates[max(place - course.near, 0) : place]
        after = course.rates[end : end + course.near]
        is_between = all(any(rate >= FULL * nominal for rate in part) for part in (before, after))
        if end - place <= course.near and is_between and course.times[place] > course.warmup:
            found.append(min(range(place, end), key=lambda one: course.rates[one]))
        place = end
    return found


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
    for place in range(2, len(course.times)):
        tokens = course.tokens[place]
        fell = course.rates[place] < APART * nominal < min(course.rates[place - 2 : place])
        if fell and tokens is not None and tokens < USED_UP and course.backlogs[place] >= BACKLOG:
            return course.times[place]
    return None


def _find_falls(course: Course) -> list[int]:
    """Find where the queue's mean delay falls by much in a short time, after the warm-up."""
    falls: list[int] = []
    place = 0
    while place < len(course.times):
        delay = course.delays[place]
        window = [
            one for one in course.delays[place + 1 : place + 1 + course.near] if one is not None
        ]
        if (
            delay
            and course.times[place] > course.warmup
            and window
            and min(window) < (1 - FALL) * delay
        ):
            falls.append(place)
            place += course.near
        place += 1
    return falls
