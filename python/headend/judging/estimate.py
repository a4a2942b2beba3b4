"""Means over seeds, and differences between runs of the same seeds, with their 95 % intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from headend.text.quantity import Kind, format_quantity

#: How sure an interval is.
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """A mean and the half width of its 95 % interval, which is NaN where there is only one value."""

    mean: float
    half: float
    count: int

    @property
    def low(self) -> float:
        """Where the interval begins."""
        return self.mean - self.half

    @property
    def high(self) -> float:
        """Where the interval ends."""
        return self.mean + self.half

    @property
    def is_clear(self) -> bool:
        """Whether zero is outside the interval; one value is never clear."""
        return not math.isnan(self.half) and (self.low > 0 or self.high < 0)


def estimate_mean(values: Sequence[float]) -> Estimate:
    """Estimate a mean from independent values, by Student's t.

    Examples
    --------
    >>> found = estimate_mean([1.0, 2.0, 3.0])
    >>> found.mean, round(found.half, 3)
    (2.0, 2.484)
    """
    count = len(values)
    mean = math.fsum(values) / count
    if count < 2 or not math.isfinite(mean):
        return Estimate(mean, math.nan, count)
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    return Estimate(mean, find_quantile(count) * math.sqrt(variance / count), count)


def find_quantile(count: int) -> float:
    """Give Student's t for the interval of a mean over so many values: its half width in standard errors.

    Examples
    --------
    >>> round(find_quantile(3), 4), round(find_quantile(10_001), 4)
    (4.3027, 1.9602)
    """
    from headend import _engine

    return _engine.student_t_quantile(0.5 + CONFIDENCE / 2, count - 1)


def give_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Give the 95 % interval of a mean over independent values; None where there is only one.

    Examples
    --------
    >>> give_interval([2.0, 2.0])
    (2.0, 2.0)
    """
    found = estimate_mean(values)
    return None if math.isnan(found.half) else (found.low, found.high)


def estimate_difference(values: Sequence[float], base: Sequence[float]) -> Estimate:
    """Estimate by how much values differ from those of the same seeds: what the seeds have in common cancels out.

    Examples
    --------
    >>> estimate_difference([11.0, 21.0, 31.0], [10.0, 20.0, 30.0])
    Estimate(mean=1.0, half=0.0, count=3)
    """
    return estimate_mean([value - other for value, other in zip(values, base, strict=True)])


def format_estimate(estimate: Estimate, kind: Kind, *, signed: bool = False) -> str:
    """Write an estimate with its interval, if it has one.

    Examples
    --------
    >>> format_estimate(Estimate(-1.2e9, 2e7, 5), "time", signed=True), format_estimate(Estimate(0.5, math.nan, 1), "ratio")
    ('-1.2 s ± 20 ms', '50 %')
    """
    sign = "+" if signed and estimate.mean > 0 else ""
    text = sign + format_quantity(estimate.mean, kind)
    if math.isnan(estimate.half):
        return text
    half = float(f"{estimate.half:.1e}")  # two digits: more of an interval's width are not known
    return f"{text} ± {format_quantity(half, kind)}"
