"""Tests of the shares of probes that are lost."""

from __future__ import annotations

import pytest

from fitting.lines import SEPARATE, TOGETHER, make_delays
from headend.fitting.delay import find_added_delays
from headend.fitting.estimates import Bound, Estimate
from headend.fitting.loss import estimate_loss, estimate_random_loss
from headend.measurement.record import (
    DelaySeries,
    Direction,
    Load,
    Measurement,
    Phase,
    Quantity,
    Retransmissions,
    Statistic,
    Summary,
    Trip,
)


def count(series: DelaySeries, load: Load, phases: tuple[Phase, ...]) -> tuple[int, int]:
    """Give how many probes were lost, and sent, under a load."""
    times = [(phase.start, phase.end) for phase in phases if phase.load is load]

    def within(time: float) -> bool:
        return any(start <= time < end for start, end in times)

    lost = sum(within(time) for time in series.lost)
    return lost, lost + sum(within(time) for time in series.times)


def estimate(measurement: Measurement, direction: Direction) -> Estimate | None:
    return estimate_loss(measurement, direction, find_added_delays(measurement, direction, 20.0))


def every(number: int) -> object:
    return lambda phase, time: phase.load is Load.DOWN and round(time / 0.05) % number == 0


def test_the_share_under_load_is_that_of_its_own_direction() -> None:
    series = make_delays(SEPARATE, lambda *_: 20.0, gap=0.05, is_lost=every(20))  # type: ignore[arg-type]
    measurement = Measurement(("made",), phases=SEPARATE, delays=(series,))
    lost, sent = count(series, Load.DOWN, SEPARATE)
    assert (lost, sent) == (20, 400)
    down = estimate(measurement, Direction.DOWN)
    up = estimate(measurement, Direction.UP)
    assert down is not None
    assert up is not None
    assert down.value == pytest.approx(0.05)
    assert down.low < 0.05 < down.high
    assert down.bound is None
    assert up.value == 0
    assert 0 < up.high < 0.01, "nothing was lost of 400, which is not never"


def test_losses_in_groups_tell_less() -> None:
    even = make_delays(SEPARATE, lambda *_: 20.0, gap=0.05, is_lost=every(20))  # type: ignore[arg-type]
    grouped = make_delays(
        SEPARATE,
        lambda *_: 20.0,
        gap=0.05,
        is_lost=lambda phase, time: phase.load is Load.DOWN and 8 <= time < 9,
    )
    widths = []
    for series in (even, grouped):
        measurement = Measurement(("made",), phases=SEPARATE, delays=(series,))
        found = estimate(measurement, Direction.DOWN)
        assert found is not None
        assert found.value == pytest.approx(0.05)
        widths.append(found.high - found.low)
    assert widths[1] > 2 * widths[0]


def test_of_both_directions_each_lost_at_most_the_share() -> None:
    series = make_delays(
        TOGETHER, lambda *_: 20.0, is_lost=lambda _, time: round(time / 0.2) % 10 == 5
    )
    found = estimate(Measurement(("made",), phases=TOGETHER, delays=(series,)), Direction.UP)
    assert found is not None
    assert found.bound is Bound.AT_MOST
    assert found.low == 0
    assert found.value == pytest.approx(0.1)


def test_probes_of_one_way_leave_their_losses_to_the_round_trips() -> None:
    lost = make_delays(
        TOGETHER, lambda *_: 20.0, is_lost=lambda _, time: round(time / 0.2) % 10 == 5
    )
    up = make_delays(TOGETHER, lambda *_: 10.0, trip=Trip.UP)
    found = estimate(Measurement(("made",), phases=TOGETHER, delays=(up, lost)), Direction.UP)
    assert found is not None
    assert found.value == pytest.approx(0.1)
    assert found.bound is Bound.AT_MOST


def test_what_is_lost_on_the_idle_line_is_random() -> None:
    series = make_delays(
        SEPARATE,
        lambda *_: 20.0,
        gap=0.05,
        is_lost=lambda phase, time: phase.load is Load.IDLE and round(time / 0.05) % 50 == 10,
    )
    measurement = Measurement(("made",), phases=SEPARATE, delays=(series,))
    found = estimate_random_loss(measurement, Direction.UP)
    assert found is not None
    assert found.value == pytest.approx(0.02, rel=0.3)
    assert found.bound is Bound.AT_MOST, "there and back"
    loaded = estimate(measurement, Direction.DOWN)
    assert loaded is not None
    assert loaded.value == 0


def test_without_probes_what_was_sent_again_is_at_most_lost() -> None:
    measurement = Measurement(("made",), retransmissions=(Retransmissions(Direction.DOWN, 0.02),))
    found = estimate(measurement, Direction.DOWN)
    assert found is not None
    assert (found.value, found.bound) == (0.02, Bound.AT_MOST)
    assert estimate(measurement, Direction.UP) is None


def test_a_share_without_a_direction_is_at_most_that_of_each() -> None:
    summary = Summary(Quantity.LOSS, Statistic.MEAN, 0.01, Load.BOTH)
    measurement = Measurement(("made",), summaries=(summary,))
    for direction in Direction:
        found = estimate(measurement, direction)
        assert found is not None
        assert (found.value, found.bound) == (0.01, Bound.AT_MOST)


def test_a_measurement_without_probes_tells_nothing_of_loss() -> None:
    measurement = Measurement(("made",), phases=SEPARATE)
    assert estimate(measurement, Direction.DOWN) is None
    assert estimate_random_loss(measurement, Direction.DOWN) is None
