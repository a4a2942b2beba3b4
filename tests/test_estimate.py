"""Intervals of means: the quantile they are made of, held against SciPy's."""

from __future__ import annotations

import pytest
from scipy.special import stdtrit
from scipy.stats import t as student_t

from headend._engine import student_t_quantile
from headend.judging.estimate import estimate_mean

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
