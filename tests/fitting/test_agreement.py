"""Tests of how well a simulated line agrees with a measurement."""

from __future__ import annotations

import pytest

from headend.fitting.agreement import (
    Agreement,
    compare,
    find_grade,
    measure_distance,
    measure_largest,
)
from headend.fitting.features import Samples
from headend.measurement.record import Load, Trip


def make(delays: list[float], lost: int = 0) -> Samples:
    """Make probes ten times a second, the last of which are lost."""
    times = [place / 10 for place in range(len(delays))]
    return Samples(times, delays, [times[-1] + own / 10 for own in range(lost)])


def lay(first: Samples, second: Samples, rates: tuple[float, float] = (10e6, 10e6)) -> Agreement:
    """Compare two sides of an upload."""
    one, other = ([own] * 10 for own in rates)
    return compare(Load.UP, Trip.ROUND, "up", (first, one), (second, other))


SAW = [100.0 + place % 40 for place in range(300)]


def test_the_same_is_an_a() -> None:
    found = lay(make(SAW), make(SAW))
    assert (found.grade, found.wasserstein, found.kolmogorov) == ("A", 0.0, 0.0)


@pytest.mark.parametrize(("factor", "grade"), [(1.1, "A"), (1.25, "B"), (1.5, "C"), (2.0, "D")])
def test_the_farther_the_delays_the_worse_the_grade(factor: float, grade: str) -> None:
    assert lay(make(SAW), make([own * factor for own in SAW])).grade == grade


@pytest.mark.parametrize(("rate", "grade"), [(10.4e6, "A"), (9.2e6, "B"), (8.2e6, "C"), (7e6, "D")])
def test_the_farther_the_rate_the_worse_the_grade(rate: float, grade: str) -> None:
    assert lay(make(SAW), make(SAW), (10e6, rate)).grade == grade


def test_lost_probes_make_the_grade_worse() -> None:
    assert lay(make(SAW), make(SAW, lost=30)).grade == "D"


def test_nothing_to_compare_has_no_grade() -> None:
    found = lay(Samples((), ()), make(SAW))
    assert found.grade == ""
    assert find_grade([found]) == ""
    assert find_grade([found, lay(make(SAW), make(SAW))]) == "A"


def test_distances_of_distributions_are_those_of_their_definitions() -> None:
    assert measure_distance([1.0, 2.0, 3.0], [1.5, 2.5, 3.5]) == pytest.approx(0.5)
    assert measure_distance([0.0], [0.0, 1.0]) == pytest.approx(0.5)
    assert measure_largest([1.0, 2.0], [3.0, 4.0]) == 1.0


def test_an_agreement_is_read_back_as_it_was() -> None:
    found = lay(make(SAW), make(SAW))
    assert Agreement.from_dict(found.to_dict()) == found
