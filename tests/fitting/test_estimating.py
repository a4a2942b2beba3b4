"""Tests of estimates as a whole: simulated lines come back, single numbers, nothing at all."""

from __future__ import annotations

import math
import random

import pytest

from fitting.lines import TOGETHER, Line, simulate
from headend.fitting.estimates import Bound, Estimate, Flag, LineEstimates
from headend.fitting.estimating import estimate_line
from headend.measurement.record import (
    DelaySeries,
    Direction,
    Load,
    Measurement,
    Phase,
    Probe,
    Quantity,
    RateSeries,
    Statistic,
    Summary,
    Trip,
)


def list_estimates(found: LineEstimates) -> list[Estimate]:
    names = ("rate", "peak", "burst", "loaded_delay", "buffer", "loss", "random_loss", "jitter")
    each = [getattr(own, name) for own in found.directions.values() for name in names]
    return [estimate for estimate in (found.base_delay, *each) if estimate is not None]


@pytest.mark.parametrize("congestion", ["reno", "cubic"])
@pytest.mark.parametrize(
    ("down", "up", "round_trip", "limit"),
    [(6.0, 2.0, 8.0, 250), (100.0, 20.0, 30.0, 120), (40.0, 40.0, 110.0, 200)],
)
def test_a_simulated_drop_tail_line_comes_back(
    down: float, up: float, round_trip: float, limit: int, congestion: str
) -> None:
    # The bounds are those that the issue sets: 3 %, 1 ms and 10 %.
    queue = {"drop_tail": {"limit": f"{limit} ms"}}
    found = estimate_line(simulate(Line(down, up, round_trip, queue, congestion)))
    assert found.base_delay is not None
    assert found.base_delay.value == pytest.approx(round_trip, abs=1)
    for direction, rate in ((Direction.DOWN, down), (Direction.UP, up)):
        own = found.directions[direction]
        assert own.rate is not None
        assert own.buffer is not None
        assert own.rate.value == pytest.approx(rate * 1e6, rel=0.03)
        assert own.rate.low <= rate * 1e6 <= own.rate.high
        assert own.buffer.value == pytest.approx(limit, rel=0.1)
        assert own.peak is None


@pytest.mark.parametrize("queue", ["codel", "fq_codel", "cake"])
def test_a_queue_that_is_kept_short_has_no_ceiling(queue: str) -> None:
    found = estimate_line(simulate(Line(50.0, 10.0, 20.0, {queue: {}})))
    assert Flag.NO_CEILING in found.flags
    for direction, rate in ((Direction.DOWN, 50e6), (Direction.UP, 10e6)):
        own = found.directions[direction]
        assert own.rate is not None
        assert own.rate.low <= rate
        assert own.rate.value == pytest.approx(rate, rel=0.05)
        assert own.buffer is None or own.buffer.bound is Bound.AT_LEAST


def test_a_deep_queue_that_bbr_does_not_fill_is_a_lower_bound() -> None:
    queue = {"drop_tail": {"limit": "800 ms"}}
    found = estimate_line(simulate(Line(20.0, 20.0, 30.0, queue, "bbr")))
    for own in found.directions.values():
        assert own.buffer is not None
        assert own.buffer.bound is Bound.AT_LEAST
        assert own.buffer.low <= 800


def test_both_directions_at_once_give_bounds() -> None:
    queue = {"drop_tail": {"limit": "150 ms"}}
    found = estimate_line(simulate(Line(50.0, 10.0, 30.0, queue), TOGETHER))
    assert Flag.MIXED_DIRECTIONS in found.flags
    for direction, rate in ((Direction.DOWN, 50e6), (Direction.UP, 10e6)):
        own = found.directions[direction]
        assert own.rate is not None
        assert own.loaded_delay is not None
        assert own.rate.low <= rate
        assert own.loaded_delay.bound is Bound.AT_MOST


def test_every_interval_holds_its_value_and_is_a_number() -> None:
    queue = {"drop_tail": {"limit": "150 ms"}}
    for phases in (TOGETHER, TOGETHER[:1], TOGETHER[1:]):
        found = estimate_line(simulate(Line(50.0, 10.0, 30.0, queue), phases))
        for estimate in list_estimates(found):
            assert estimate.low <= estimate.value <= estimate.high
            assert estimate.low >= 0
            assert math.isfinite(estimate.high)
            assert estimate.samples > 0


def test_what_a_web_test_shows_gives_wide_intervals() -> None:
    summaries = (
        Summary(Quantity.RATE, Statistic.MEAN, 300e6, Load.DOWN, Direction.DOWN),
        Summary(Quantity.RATE, Statistic.MEAN, 20e6, Load.UP, Direction.UP),
        Summary(Quantity.DELAY, Statistic.MEDIAN, 12.0, Load.IDLE),
        Summary(Quantity.DELAY, Statistic.MEDIAN, 180.0, Load.UP),
        Summary(Quantity.DELAY, Statistic.MOST, 400.0, Load.UP),
    )
    found = estimate_line(Measurement(("by hand",), summaries=summaries))
    assert list(found.flags) == [Flag.SUMMARY_ONLY]
    assert found.base_delay is not None
    assert (found.base_delay.value, found.base_delay.bound) == (12.0, Bound.AT_MOST)
    up = found.directions[Direction.UP]
    assert up.rate is not None
    assert up.loaded_delay is not None
    assert up.buffer is not None
    assert up.rate.low < 20e6 < up.rate.value < up.rate.high
    assert up.loaded_delay.value == 168
    assert (up.buffer.value, up.buffer.bound) == (168, Bound.AT_LEAST)
    assert up.buffer.high == pytest.approx(400, rel=0.05)
    down = found.directions[Direction.DOWN]
    assert down.rate is not None
    assert (down.loaded_delay, down.buffer) == (None, None)


def test_one_delay_under_load_of_both_directions_is_at_most_that_of_each() -> None:
    summaries = (
        Summary(Quantity.DELAY, Statistic.LEAST, 10.0, Load.IDLE),
        Summary(Quantity.DELAY, Statistic.MEAN, 90.0, Load.BOTH),
    )
    found = estimate_line(Measurement(("by hand",), summaries=summaries))
    for own in found.directions.values():
        assert own.loaded_delay is not None
        assert (own.loaded_delay.value, own.loaded_delay.bound) == (80, Bound.AT_MOST)
        assert own.buffer is None


def test_a_measurement_of_nothing_gives_no_estimate() -> None:
    found = estimate_line(Measurement(("made",)))
    assert list_estimates(found) == []
    assert Flag.NO_UPSTREAM in found.flags


def make_anything(seed: int) -> Measurement:
    """Make a measurement as no tool should write one: short, sparse, in disorder, far apart."""
    stream = random.Random(seed)
    phases, time = [], 0.0
    for _ in range(stream.randrange(6)):
        length = stream.choice([0.0, 0.1, 1.0, 5.0, 30.0])
        phases.append(Phase(stream.choice(list(Load)), time, time + length))
        time += length
    rates = []
    for _ in range(stream.randrange(4)):
        starts = [stream.uniform(0, time + 1) for _ in range(stream.choice([0, 1, 2, 100]))]
        length = stream.choice([0.0, 0.05, 1.0])
        rates.append(
            RateSeries(
                stream.choice(list(Direction)),
                starts,
                [start + length for start in starts],
                [stream.choice([0.0, 1e-9, 1e6, 1e12]) * stream.random() for _ in starts],
                flow=stream.choice(["", "one"]),
            )
        )
    delays = []
    for _ in range(stream.randrange(4)):
        trip = stream.choice(list(Trip))
        offset = 0.0 if trip is Trip.ROUND else stream.choice([-1e6, 0.0, 1e6])
        times = [stream.uniform(0, time + 1) for _ in range(stream.choice([0, 1, 2, 3, 200]))]
        has_times = stream.random() < 0.8
        lost = [stream.uniform(0, time + 1) for _ in range(stream.choice([0, 1, 30]))]
        delays.append(
            DelaySeries(
                trip,
                stream.choice(list(Probe)),
                times if has_times else (),
                [offset + stream.choice([0.0, 1e-3, 1e3]) * stream.random() for _ in times],
                lost if has_times else (),
                len(lost),
                None if has_times else stream.choice(list(Load)),
            )
        )
    return Measurement(("made",), phases=tuple(phases), rates=tuple(rates), delays=tuple(delays))


@pytest.mark.parametrize("first", [0, 100, 200])
def test_any_measurement_gives_numbers_in_order(first: int) -> None:
    for seed in range(first, first + 100):
        for estimate in list_estimates(estimate_line(make_anything(seed))):
            assert 0 <= estimate.low <= estimate.value * (1 + 1e-9), seed
            assert estimate.value <= estimate.high * (1 + 1e-9), seed
            assert math.isfinite(estimate.high), seed
