"""Intervals of means: against SciPy's, covering what they claim to, and as written."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import stdtrit
from scipy.stats import t as student_t

from headend._engine import student_t_quantile
from headend.analysis.estimate import (
    Estimate,
    bound_interval,
    estimate_difference,
    estimate_mean,
    format_cell,
    format_difference,
    format_difference_cell,
    format_estimate,
)
from headend.text.quantity import Kind, Unit, choose_unit, format_number, format_quantity

DEGREES = (*range(1, 120), 333, 998, 999, 1000, 1001, 3333, 10_000, 123_456, 1_000_000)
SHARES = (0.51, 0.6, 0.75, 0.8, 0.9, 0.95, 0.975, 0.99, 0.995, 0.999, 0.9999)


@pytest.mark.parametrize("share", SHARES)
def test_the_quantile_is_that_of_scipy(share: float) -> None:
    for degrees in DEGREES:
        expected = float(stdtrit(degrees, share))
        found = student_t_quantile(share, degrees)
        assert found == pytest.approx(expected, rel=1e-9, abs=0), degrees
        assert student_t_quantile(1 - share, degrees) == pytest.approx(-expected, rel=1e-9), degrees


@pytest.mark.parametrize("degrees", [1, 2, 10, 5000])
def test_half_of_the_distribution_is_below_zero(degrees: int) -> None:
    assert student_t_quantile(0.5, degrees) == 0


@pytest.mark.parametrize(
    ("share", "degrees", "said"),
    [
        (0.0, 3, "p: expected a share between 0 and 1, found 0"),
        (1.0, 3, "p: expected a share between 0 and 1, found 1"),
        (float("nan"), 3, "p: expected a share between 0 and 1, found NaN"),
        (0.9, 0, "degrees: expected at least 1, found 0"),
    ],
)
def test_what_has_no_quantile_is_refused(share: float, degrees: int, said: str) -> None:
    with pytest.raises(ValueError, match=f"^{said}$"):
        student_t_quantile(share, degrees)


def test_the_interval_of_a_mean_is_that_of_scipy() -> None:
    values = [3.1, 2.9, 3.6, 3.3, 2.2]
    found = estimate_mean(values)
    mean = sum(values) / 5
    error = (sum((value - mean) ** 2 for value in values) / 4) ** 0.5 / 5**0.5
    low, high = student_t.interval(0.95, 4, loc=mean, scale=error)
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-12)


def test_between_two_bounds_the_interval_is_the_students_of_the_logit() -> None:
    # As svyciprop(method = "xlogit") of R's survey: logit(p) ± t · se / (p (1 - p)), transformed
    # back.
    values = [0.97, 0.999, 0.995, 0.9]
    mean, error = np.mean(values), np.std(values, ddof=1) / 2
    logit, step = np.log(mean / (1 - mean)), student_t.ppf(0.975, 3) * error / (mean * (1 - mean))
    expected = [float(1 / (1 + np.exp(-(logit + sign * step)))) for sign in (-1, 1)]
    found = estimate_mean(values, (0, 1))
    assert [found.low, found.high] == pytest.approx(expected, rel=1e-12)
    # The same of a score from 1 to 4.5.
    score = estimate_mean([1 + 3.5 * value for value in values], (1, 4.5))
    assert [score.low, score.high] == pytest.approx([1 + 3.5 * end for end in expected], rel=1e-12)


@pytest.mark.parametrize(
    ("shape", "count"), [((2, 50), 3), ((2, 50), 5), ((200, 2), 10), ((5, 5), 5), ((0.5, 20), 5)]
)
def test_intervals_of_shares_cover_the_truth_and_stay_shares(
    shape: tuple[float, float], count: int
) -> None:
    draws = np.random.default_rng(7).beta(*shape, (2000, count))
    truth = shape[0] / sum(shape)
    bounded = [estimate_mean(list(own), (0, 1)) for own in draws]
    assert all(0 <= found.low <= found.mean <= found.high <= 1 for found in bounded)
    plain = [estimate_mean(list(own)) for own in draws]
    covered, before = (
        sum(found.low <= truth <= found.high for found in all_found) / len(draws)
        for all_found in (bounded, plain)
    )
    # 2000 draws of 95 % have a standard error of 0.5 %; nothing covers a share as skewed as the
    # last.
    assert covered >= max(before, 0.92 if shape[0] > 1 else 0.9)


def test_bounds_that_are_not_respected_by_values_are_none() -> None:
    beyond = [0.9, 1.2, 1.1]
    assert estimate_mean(beyond, (0, 1)) == estimate_mean(beyond)


def test_an_interval_is_cut_at_its_only_bound() -> None:
    found = estimate_mean([1.0, 1.0, 10.0], (0.0, math.inf))
    assert (found.low, found.high) == (0.0, estimate_mean([1.0, 1.0, 10.0]).high)
    assert bound_interval(1.0, 0.0, (0.0, 1.0)) == (1.0, 1.0)


def test_a_difference_is_at_most_as_large_as_the_bounds_are_apart() -> None:
    found = estimate_difference([1.0, 0.2], [0.0, 0.1], (0.0, 1.0))
    assert (found.low, found.high) == (-1.0, 1.0)


def around(mean: float, half: float) -> Estimate:
    return Estimate(mean, mean - half, mean + half, 5)


@pytest.mark.parametrize(
    ("estimate", "kind", "text"),
    [
        (around(9.3412e6, 0.0213e6), "rate", "9.34 ± 0.02 Mbit/s"),
        (around(9.3e6, 0.0213e6), "rate", "9.30 ± 0.02 Mbit/s"),
        (around(9.3412e6, 0.0143e6), "rate", "9.341 ± 0.014 Mbit/s"),
        (around(9.3412e6, 0.0196e6), "rate", "9.34 ± 0.02 Mbit/s"),
        (around(1.2e9, 20e6), "time", "1.20 ± 0.02 s"),
        (around(5.1234e6, 2.345e6), "time", "5 ± 2 ms"),
        (around(123456, 2345), "number", "123,000 ± 2,000"),
        (around(4.4, 2e-6), "number", "4.40 ± <0.01"),
        (around(93.123e6, 1), "rate", "93.12 ± <0.01 Mbit/s"),
        (around(4.4, 0.0), "number", "4.4"),
        (Estimate(4.4, math.nan, math.nan, 1), "number", "4.4"),
        (Estimate(0.998, 0.991, 0.9998, 5), "ratio", "99.8 % (99.1–100)"),
        (Estimate(0.0002, 0.00002, 0.002, 5), "ratio", "0.02 % (0–0.20)"),
        (Estimate(12e6, 0.0, 30e6, 3), "time", "12 ms (0–30)"),
        (Estimate(3.6, 2.9, 4.1, 3), "number", "3.6 (2.9–4.1)"),
    ],
)
def test_a_mean_has_the_decimals_that_its_interval_allows(
    estimate: Estimate, kind: Kind, text: str
) -> None:
    assert format_estimate(estimate, kind) == text


@pytest.mark.parametrize(
    ("estimate", "kind", "text"),
    [
        (around(-0.011, 0.003), "ratio", "−1.1 ± 0.3 pp"),
        (around(0.011, 0.003), "ratio", "+1.1 ± 0.3 pp"),
        (Estimate(-0.3, -1.0, 0.05, 2), "ratio", "−30 pp (−100 to 0)"),
        (around(-25.3e6, 2.2e6), "time", "−25 ± 2 ms"),
        (Estimate(2e6, math.nan, math.nan, 1), "rate", "+2 Mbit/s"),
        (around(0.0, 0.0), "time", "0 ms"),
    ],
)
def test_a_difference_has_a_sign_and_between_shares_percentage_points(
    estimate: Estimate, kind: Kind, text: str
) -> None:
    assert format_difference(estimate, kind) == text


def test_a_difference_has_no_digits_that_its_level_has_not() -> None:
    mbit = Unit("Mbit/s", 1e6)
    assert format_difference_cell(around(-12.0, 3.0), "rate", mbit, level=9.34e6) == "0"
    assert format_difference_cell(around(-12e3, 3e3), "rate", mbit, 9.34e6) == "−0.012 ± 0.003"


@pytest.mark.parametrize(
    ("values", "kind", "name", "cells"),
    [
        ([80e3, 251e6], "time", "ms", ["0.08", "251"]),
        ([3e6, 2.5e9], "time", "ms", ["3", "2,500"]),
        ([3e6, 25e9], "time", "s", ["0.003", "25"]),
        ([63.5e6, 1.05e9], "time", "ms", ["63.5", "1,050"]),
        ([0.102e9, 1.05e9], "time", "s", ["0.102", "1.05"]),
        ([63.5e6, 10e9], "time", "s", ["0.0635", "10"]),
        ([896, 138e3, 9.31e6], "rate", "kbit/s", ["0.896", "138", "9,310"]),
        ([0.0, None, 9.31e6], "rate", "Mbit/s", ["0", "–", "9.31"]),
        ([0.0, math.nan], "time", "ms", ["0", "–"]),
        ([999.96e3], "rate", "Mbit/s", ["1"]),
        ([-2e6, math.inf], "time", "ms", ["−2", "∞"]),
        ([0.5, 0.0001], "ratio", "%", ["50", "0.01"]),
        ([65536, 100], "size", "KiB", ["64", "0.0977"]),
    ],
)
def test_a_column_has_one_unit(
    values: list[float | None], kind: Kind, name: str, cells: list[str]
) -> None:
    unit = choose_unit(values, kind)
    assert unit.name == name
    assert [format_number(value, unit) for value in values] == cells


def test_numbers_for_people_have_a_minus_sign_and_none_before_zero() -> None:
    assert format_quantity(-1.5e6, "time") == "−1.5 ms"
    assert format_quantity(-math.inf, "time") == "−∞"
    assert format_number(-0.4, Unit("", 1), 0) == "0"
    cell = format_cell(around(-2.0, 0.5), "number", Unit("", 1))
    assert cell == "−2.0 ± 0.5"
