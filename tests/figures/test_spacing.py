"""Which values of a factor stand along a logarithmic axis, and their ticks."""

from __future__ import annotations

import pytest

from headend.figures.spacing import MOST_TICKS, is_geometric, space_values


@pytest.mark.parametrize(
    "values",
    [
        [1, 2, 4, 8],
        [400, 50, 200, 100, 50],
        [8, 16, 64],
        [1, 2, 5, 10, 20, 50],
        [1, 3, 10, 30],
        [10, 50, 150],
        [0.1, 0.2, 0.4],
        [1, 2**0.5, 2],
        [1e6, 2e6, 4e6],
        # A span of ten needs no equal steps.
        [10, 20, 30, 40, 50, 100, 200, 500],
    ],
)
def test_values_that_nearly_double_stand_along_a_logarithm(values: list[float]) -> None:
    assert is_geometric(values)
    spaced = space_values(values)
    assert spaced["scale"]["type"] == "log"
    assert spaced["scale"]["domain"] == [min(values), max(values)]
    assert spaced["axis"]["values"] == sorted(set(values))


@pytest.mark.parametrize(
    "values",
    [
        # Evenly spaced, however far.
        [10, 20, 30],
        [1, 2, 3, 4],
        list(range(1, 11)),
        # Two values, or fewer, are evenly spaced either way.
        [1, 100],
        [5],
        # A logarithm has no place for these.
        [0, 1, 2, 4],
        [-4, -2, -1],
        # Ratios that are equal, and so small that both axes look alike.
        [100, 110, 121],
        # No more even by ratios than by differences.
        [5, 10, 20, 25],
        [10, 11, 99],
    ],
)
def test_others_stand_along_a_linear_axis(values: list[float]) -> None:
    assert not is_geometric(values)
    spaced = space_values(values)
    assert "type" not in spaced["scale"]
    assert spaced["axis"]["values"] == sorted(set(values))


def test_many_values_have_no_tick_each() -> None:
    doubling = [2.0**power for power in range(MOST_TICKS + 1)]
    assert space_values(doubling)["axis"]["values"] == [1, 10, 100, 1024]
    assert "axis" not in space_values(list(range(1, MOST_TICKS + 2)))
