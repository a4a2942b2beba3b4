"""Means over seeds, and differences between runs of the same seeds, with their 95 % intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from headend.text.quantity import (
    MINUS,
    POINTS,
    Kind,
    Unit,
    choose_unit,
    find_place,
    format_number,
)

#: How sure an interval is.
CONFIDENCE = 0.95

#: The least and the largest value that something can have, in its base unit.
Bounds = tuple[float, float]

#: The bounds of what a kind of quantity measures; those of a plain number depend on what it is.
BOUNDS: dict[Kind, Bounds] = {
    "time": (0.0, math.inf),
    "rate": (0.0, math.inf),
    "size": (0.0, math.inf),
    "ratio": (0.0, 1.0),
}

#: Digits that a mean has at most, however narrow its interval: more is not true of any network.
DIGITS: dict[Kind, int] = {"time": 4, "rate": 4, "size": 4, "ratio": 4, "number": 3}

#: Decimals that are written at most.
MOST_DECIMALS = 9

#: Both sides of an interval are written as one ± while they differ by less than this share of it.
ASYMMETRY = 0.2

#: Of so many values at least an interval can be given.
FEWEST = 2


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % interval, in base units.

    Parameters
    ----------
    mean
        Over the values.
    low, high
        Where the interval begins and ends; both NaN where there are too few values for one.
    count
        Of the values.
    """

    mean: float
    low: float
    high: float
    count: int

    @property
    def half(self) -> float:
        """Half the width of the interval; NaN where there is none."""
        return (self.high - self.low) / 2

    @property
    def is_clear(self) -> bool:
        """Whether zero is outside the interval; what has none is never clear."""
        return self.low > 0 or self.high < 0


def estimate_mean(
    values: Sequence[float], bounds: Bounds | None = None, fewest: int = FEWEST
) -> Estimate:
    """Estimate a mean from independent values, by Student's t.

    Parameters
    ----------
    values
        One for each seed.
    bounds
        The least and the largest value there can be; the interval respects them, as
        `bound_interval` says. Values beyond them show that there are no such bounds.
    fewest
        Of fewer values no interval is given.

    Examples
    --------
    >>> found = estimate_mean([1.0, 2.0, 3.0])
    >>> found.mean, round(found.low, 3), round(found.high, 3)
    (2.0, -0.484, 4.484)
    >>> found = estimate_mean([0.97, 0.999, 0.995], (0, 1))
    >>> round(found.mean, 3), round(found.low, 3), round(found.high, 3)
    (0.988, 0.754, 1.0)
    """
    count = len(values)
    mean = math.fsum(values) / count
    if count < max(fewest, FEWEST) or not math.isfinite(mean):
        return Estimate(mean, math.nan, math.nan, count)
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    half = find_quantile(count) * math.sqrt(variance / count)
    if bounds and not bounds[0] <= min(values) <= max(values) <= bounds[1]:
        bounds = None
    return Estimate(mean, *bound_interval(mean, half, bounds), count)


def bound_interval(mean: float, half: float, bounds: Bounds | None) -> tuple[float, float]:
    """Give an interval that respects what the values can be.

    Between two bounds it is Student's interval of the logit, transformed back: the logit's standard
    error is that of the mean divided by u (1 - u), where u is the mean's place between the bounds
    from 0 to 1 (delta method). Surveys do the same with proportions over few clusters
    (``svyciprop(method = "xlogit")`` of R's package survey; Stata's ``svy: proportion``). With one
    bound, the interval is cut there, which leaves its coverage as it is.

    Parameters
    ----------
    mean
        Of the values.
    half
        Half the width of Student's interval.
    bounds
        The least and the largest value there can be, either of them infinite; None without any.

    Examples
    --------
    >>> bound_interval(0.5, 0.01, None), bound_interval(2.0, 3.0, (0.0, math.inf))
    ((0.49, 0.51), (0.0, 5.0))
    >>> tuple(round(end, 4) for end in bound_interval(0.99, 0.02, (0, 1)))
    (0.9292, 0.9987)
    """
    if bounds is None or half == 0 or not bounds[0] <= mean <= bounds[1]:
        return mean - half, mean + half
    least, largest = bounds
    if math.isinf(largest - least) or mean in bounds:
        return max(mean - half, least), min(mean + half, largest)
    width = largest - least
    position = (mean - least) / width
    logit = math.log(position) - math.log1p(-position)
    step = half / width / (position * (1 - position))
    low, high = (_undo_logit(logit + change) for change in (-step, step))
    return least + width * low, least + width * high


def _undo_logit(logit: float) -> float:
    small = math.exp(-abs(logit))
    return (1 if logit > 0 else small) / (1 + small)


def find_quantile(count: int) -> float:
    """Give Student's t for the interval of a mean of so many values: half width in standard errors.

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


def estimate_difference(
    values: Sequence[float],
    base: Sequence[float],
    bounds: Bounds | None = None,
    fewest: int = FEWEST,
) -> Estimate:
    """Estimate by how much values differ from those of the same seeds: what seeds share cancels.

    Parameters
    ----------
    values, base
        One for each seed, in the same order.
    bounds
        Of the values: a difference is at most as large as they are apart, and its interval is cut
        there.
    fewest
        Of fewer seeds no interval is given.

    Examples
    --------
    >>> estimate_difference([11.0, 21.0, 31.0], [10.0, 20.0, 30.0])
    Estimate(mean=1.0, low=1.0, high=1.0, count=3)
    """
    differences = [value - other for value, other in zip(values, base, strict=True)]
    found = estimate_mean(differences, fewest=fewest)
    most = bounds[1] - bounds[0] if bounds else math.inf
    if math.isnan(found.half) or abs(found.mean) > most:
        return found
    return Estimate(found.mean, max(found.low, -most), min(found.high, most), found.count)


def format_estimate(estimate: Estimate, kind: Kind, unit: Unit | None = None) -> str:
    """Write a mean with its interval, both in one unit.

    Parameters
    ----------
    estimate
        In base units.
    kind
        What it measures.
    unit
        The unit to write it in; by default the one that suits the mean.

    Examples
    --------
    >>> format_estimate(Estimate(9.3412e6, 9.3212e6, 9.3612e6, 5), "rate")
    '9.34 ± 0.02 Mbit/s'
    >>> format_estimate(Estimate(0.998, 0.991, 0.99983, 5), "ratio")
    '99.8 % (99.1–100)'
    >>> format_estimate(Estimate(0.5, math.nan, math.nan, 1), "ratio")
    '50 %'
    """
    unit = unit or choose_unit([estimate.mean], kind)
    mean, interval = _write(estimate, unit, DIGITS[kind], estimate.mean)
    if interval.startswith("±"):
        return f"{mean} {interval} {unit.name}".rstrip()
    return " ".join(filter(None, [mean, unit.name, interval]))


def format_cell(estimate: Estimate, kind: Kind, unit: Unit) -> str:
    """Write a mean with its interval without the unit: a cell of a row or column that names it.

    Examples
    --------
    >>> format_cell(Estimate(4.4e6, 4.3e6, 4.5e6, 5), "time", Unit("ms", 1e6))
    '4.40 ± 0.10'
    """
    return " ".join(filter(None, _write(estimate, unit, DIGITS[kind], estimate.mean)))


def format_difference(
    estimate: Estimate, kind: Kind, unit: Unit | None = None, level: float | None = None
) -> str:
    """Write a difference with its sign, its interval and its unit: of shares, percentage points.

    Parameters
    ----------
    estimate
        Of the difference, in base units.
    kind
        What it is a difference of.
    unit
        The unit to write it in; by default the one that suits it.
    level
        What it is a difference from. No digit is written that this would not have either.

    Examples
    --------
    >>> format_difference(Estimate(-0.011, -0.013, -0.009, 5), "ratio")
    '−1.1 ± 0.2 pp'
    >>> format_difference(Estimate(2.5e6, math.nan, math.nan, 1), "time")
    '+2.5 ms'
    """
    unit = choose_difference_unit(estimate, kind, unit)
    text = format_difference_cell(estimate, kind, unit, level)
    if text.endswith(")") and unit.name:
        mean, _, interval = text.partition(" (")
        return f"{mean} {unit.name} ({interval}"
    return f"{text} {unit.name}".rstrip()


def format_difference_cell(
    estimate: Estimate, kind: Kind, unit: Unit, level: float | None = None
) -> str:
    """Write a difference without its unit, for a row or column that names it.

    Examples
    --------
    >>> ms = Unit("ms", 1e6)
    >>> format_difference_cell(Estimate(2.5e6, 2.3e6, 2.7e6, 5), "time", ms, level=9.3e6)
    '+2.5 ± 0.2'
    >>> format_difference_cell(Estimate(-1e2, -3e2, 1e2, 5), "time", ms, level=9.3e6)
    '0'
    """
    scale = max(abs(estimate.mean), abs(level or 0))
    mean, interval = _write(estimate, unit, DIGITS[kind], scale)
    if not mean.strip(f"{MINUS}0.,"):
        mean, interval = "0", "" if "<" in interval else interval
    sign = "+" if estimate.mean > 0 and mean != "0" else ""
    return " ".join(filter(None, [sign + mean, interval]))


def format_distance(size: float, estimate: Estimate, kind: Kind) -> str:
    """Write how far a mean is from a bound, with its unit and as many decimals as the mean has.

    Parameters
    ----------
    size
        The distance, in base units; above zero.
    estimate
        The mean with its interval.
    kind
        What it measures.

    Examples
    --------
    >>> format_distance(0.0237, Estimate(0.0737, 0.03, 0.17, 3), "ratio")
    '2 percentage points'
    >>> format_distance(0.002, Estimate(0.052, 0.03, 0.08, 3), "ratio")
    'less than 1 percentage point'
    >>> format_distance(2.37e6, Estimate(22.37e6, 22.27e6, 22.47e6, 3), "time")
    '2.37 ms'
    """
    unit = choose_unit([estimate.mean], kind)
    half = estimate.half / unit.size
    decimals = None
    if half > 0 and math.isfinite(half):
        finest = _count_decimals(DIGITS[kind], estimate.mean / unit.size)
        decimals = min(_round_uncertainty(half), finest)
    text, words = format_number(size, unit, decimals), ""
    if decimals is not None and not text.strip("0.,"):
        text, words = format_number(10.0**-decimals * unit.size, unit, decimals), "less than "
    name = unit.name
    if kind == "ratio":
        name = "percentage point" if text == "1" else "percentage points"
    return f"{words}{text} {name}".rstrip()


def choose_difference_unit(estimate: Estimate, kind: Kind, unit: Unit | None = None) -> Unit:
    """Choose the unit of a difference: percentage points between shares, or that which is given.

    Examples
    --------
    >>> choose_difference_unit(Estimate(0.01, 0.0, 0.02, 3), "ratio").name
    'pp'
    """
    if kind == "ratio":
        return POINTS
    return unit or choose_unit([estimate.mean], kind)


def _write(estimate: Estimate, unit: Unit, digits: int, scale: float) -> tuple[str, str]:
    """Write a mean and its interval, which is empty where there is none or it has no width."""
    half = estimate.half / unit.size
    if not half > 0 or not math.isfinite(half):
        return format_number(estimate.mean, unit), ""
    below = (estimate.mean - estimate.low) / unit.size
    above = (estimate.high - estimate.mean) / unit.size
    finest = _count_decimals(digits, scale / unit.size)
    decimals = min(_round_uncertainty(half), finest)
    if abs(above - below) <= ASYMMETRY * half:
        mean, step = format_number(estimate.mean, unit, decimals), 10.0**-decimals
        if half < step / 2:
            return mean, f"± <{format_number(step * unit.size, unit, decimals)}"
        return mean, f"± {format_number(estimate.half, unit, decimals)}"
    if min(below, above) < 10.0**-decimals / 2:
        decimals = min(decimals + 1, finest)  # so that the mean is apart from both ends
    low, high = (
        _shorten_bound(format_number(end, unit, decimals), unit)
        for end in (estimate.low, estimate.high)
    )
    joint = "–" if estimate.low >= 0 else " to "
    return format_number(estimate.mean, unit, decimals), f"({low}{joint}{high})"


def _count_decimals(digits: int, number: float) -> int:
    """Give how many decimals a number of so many significant digits has; zero has any number."""
    return digits - 1 - find_place(number) if number else MOST_DECIMALS


def _round_uncertainty(number: float) -> int:
    """Give how many decimals an uncertainty deserves: one significant digit, two where it is a 1.

    As Taylor, An Introduction to Error Analysis, 2nd ed., 1997, §2.2, recommends.
    """
    place = find_place(number)
    return 1 - place if number < 1.95 * 10.0**place else -place


def _shorten_bound(text: str, unit: Unit) -> str:
    """Write nothing and all of something without decimals."""
    whole, point, decimals = text.partition(".")
    is_end = whole.lstrip(MINUS) == "0" or (whole == "100" and unit.name == "%")
    return whole if point and is_end and not decimals.strip("0") else text
