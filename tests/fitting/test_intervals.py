"""Tests of intervals: how often they hold the truth."""

from __future__ import annotations

import math
import random
import statistics

import pytest

from fitting.lines import PAYLOAD
from headend.fitting.intervals import (
    bound_minimum,
    bound_share,
    count_block,
    draw_again,
    find_quantile,
)

#: How often of 200 times intervals of 90 % hold the truth, but for once in a thousand (binomial).
LEAST_OF_200 = 165


def test_the_payload_of_these_tests_is_that_of_full_packets_with_time_stamps() -> None:
    assert pytest.approx(0.9653, abs=1e-4) == PAYLOAD


@pytest.mark.parametrize("share", [0.003, 0.01, 0.1, 0.5])
@pytest.mark.parametrize("trials", [100, 1000])
def test_the_interval_of_a_share_holds_it_in_most_cases(share: float, trials: int) -> None:
    # The probability of each count that may be found: no chance in it.
    cover = 0.0
    for count in range(trials + 1):
        low, high = bound_share(count, trials)
        if low <= share <= high:
            cover += math.comb(trials, count) * share**count * (1 - share) ** (trials - count)
    # Wilson's interval covers 90 % on the average over shares, and less for some.
    assert 0.8 <= cover <= 0.97


def test_the_interval_of_a_median_holds_it_where_samples_depend_on_each_other() -> None:
    stream = random.Random(7)
    found = naive = 0
    for seed in range(60):
        values, value = [], 0.0
        for _ in range(150):
            value = 0.8 * value + stream.gauss(0, 1)
            values.append(value)
        low, high = draw_again(values, 15, statistics.median, seed)
        found += low <= 0 <= high
        low, high = draw_again(values, 1, statistics.median, seed)
        naive += low <= 0 <= high
    # Of 60 intervals of 90 % at most twelve miss, but for once in a hundred; few blocks, some more.
    assert found >= 45
    assert naive < 40, "blocks make no difference"


def test_the_same_seed_gives_the_same_interval() -> None:
    values = [random.Random(3).random() for _ in range(50)]
    assert draw_again(values, 5, statistics.median) == draw_again(values, 5, statistics.median)


def test_the_interval_of_a_minimum_holds_the_least_possible_round_trip() -> None:
    stream = random.Random(7)
    found = 0
    for _ in range(200):
        trips = sorted(20 + 4 * stream.random() + 2 * stream.random() for _ in range(25))
        low, high = bound_minimum(trips)
        found += low <= 20 <= high
    assert found >= LEAST_OF_200


def test_the_interval_of_a_minimum_is_no_wider_than_the_lower_half_of_the_samples() -> None:
    low, high = bound_minimum([10.0, 15.0, 15.5, 16.0, 16.5])
    assert (low, high) == (10 - 5.5, 10.0)


def test_quantiles_of_one_value_are_that_value() -> None:
    assert find_quantile([4.0], 0.0) == find_quantile([4.0], 0.99) == 4.0


def test_samples_without_times_between_them_have_blocks_all_the_same() -> None:
    assert count_block([]) == 1
    assert count_block([1.0] * 10) == 2
