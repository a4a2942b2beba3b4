"""Tests of a drop-tail buffer's depth, on delays whose ceiling is known."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from fitting.lines import SEPARATE, TOGETHER, make_delays, sawtooth, under
from headend.fitting.buffer import Ceiling, estimate_buffer, find_ceiling
from headend.fitting.delay import Added, find_added_delays
from headend.fitting.estimates import Bound, Estimate
from headend.measurement.record import Direction, Load, Measurement, Phase, Probe

BASE = Estimate(20.0, 19.9, 20.0, "made", 25)
RATE = Estimate(10e6, 9.9e6, 10.1e6, "made", 18)


def load(
    queue: Callable[[float], float],
    *,
    is_lost: Callable[[float], bool] = lambda _: False,
    gap: float = 0.1,
) -> Added:
    """Give a download's queue as probes see it."""

    def lost(phase: Phase, time: float) -> bool:
        return phase.load is Load.DOWN and is_lost(time)

    series = make_delays(SEPARATE, under(Load.DOWN, queue), gap=gap, is_lost=lost)
    added = find_added_delays(
        Measurement(("made",), phases=SEPARATE, delays=(series,)), Direction.DOWN, 20.0
    )
    assert added is not None
    return added


def look(added: Added, **others: object) -> Ceiling:
    ceiling = find_ceiling(added, RATE.value, **others)  # type: ignore[arg-type]
    assert ceiling is not None
    return ceiling


def estimate(added: Added, ceiling: Ceiling) -> Estimate:
    found = estimate_buffer(added, ceiling, BASE, RATE, 0.2)
    assert found is not None
    return found


def test_a_saw_tooth_that_returns_to_its_top_has_a_ceiling() -> None:
    added = load(sawtooth(200.0, period=3.3))
    ceiling = look(added)
    assert ceiling.is_reached
    assert "times" in ceiling.reason
    found = estimate(added, ceiling)
    assert found.value == pytest.approx(200, rel=0.03)
    assert found.low < 200 < found.high
    assert found.bound is None


def test_a_queue_that_is_once_at_its_top_may_be_deeper() -> None:
    added = load(lambda time: 200.0 * min(1.0, time / 10) if time < 11 else 60.0)
    ceiling = look(added)
    assert not ceiling.is_reached
    assert "only once" in ceiling.reason
    found = estimate(added, ceiling)
    assert found.bound is Bound.AT_LEAST
    assert found.value == pytest.approx(200, rel=0.01)


def test_a_queue_that_spreads_below_its_largest_delay_has_no_ceiling() -> None:
    stream = random.Random(1)
    ceiling = look(load(lambda _: abs(stream.gauss(40, 12)), gap=0.02))
    assert not ceiling.is_reached


def test_a_flat_queue_without_loss_is_held_by_the_senders() -> None:
    ceiling = look(load(lambda _: 100.0))
    assert not ceiling.is_reached
    assert "windows" in ceiling.reason


def test_a_flat_queue_in_which_probes_are_lost_is_full() -> None:
    added = load(lambda _: 100.0, is_lost=lambda time: int(time * 10) % 17 == 3)
    ceiling = look(added)
    assert ceiling.is_reached
    assert "lost probes were lost there" in ceiling.reason
    assert estimate(added, ceiling).value == pytest.approx(100)


def test_losses_that_are_as_common_below_the_top_prove_nothing() -> None:
    added = load(
        lambda time: 100.0 if time < 4 else 50.0, is_lost=lambda time: int(time * 10) % 9 == 3
    )
    assert not look(added).is_reached


@pytest.mark.parametrize("congestion", ["bbr", "BBRv3", "bbr,bbr"])
def test_senders_that_go_by_a_model_have_no_ceiling_without_loss(congestion: str) -> None:
    added = load(sawtooth(100.0, period=3.3))
    assert look(added, congestion="cubic").is_reached
    assert not look(added, congestion=congestion).is_reached


def test_a_queue_that_is_mostly_empty_has_no_ceiling() -> None:
    ceiling = look(load(lambda time: 40.0 if time % 2 < 0.5 else 0.0))
    assert not ceiling.is_reached
    assert "empty" in ceiling.reason


def test_waves_behind_which_no_transfer_slows_down_are_no_ceiling() -> None:
    added = load(sawtooth(100.0, period=3.3))
    assert not look(added, dips=[]).is_reached
    assert not look(added, dips=[5.5]).is_reached, "before the first time at the top"
    assert look(added, dips=[8.9]).is_reached


def test_one_long_delay_is_not_the_ceiling() -> None:
    added = load(lambda time: 900.0 if abs(time - 10) < 0.04 else sawtooth(200.0, 3.3)(time))
    ceiling = look(added)
    assert max(added.whole.delays) == 900
    assert ceiling.level == pytest.approx(200, rel=0.03)
    assert estimate(added, ceiling).value == pytest.approx(200, rel=0.03)


def test_a_queue_of_two_packets_is_none() -> None:
    ceiling = look(load(sawtooth(2.4, 3.3)))
    assert not ceiling.is_reached


def test_the_ceiling_of_both_directions_together_is_at_most_that_of_each() -> None:
    series = make_delays(TOGETHER, under(Load.BOTH, sawtooth(200.0, 3.3)), gap=0.1)
    measurement = Measurement(("made",), phases=TOGETHER, delays=(series,))
    added = find_added_delays(measurement, Direction.DOWN, 20.0)
    assert added is not None
    ceiling = look(added)
    found = estimate(added, ceiling)
    assert found.bound is Bound.AT_MOST
    assert found.low == 0
    once = make_delays(TOGETHER, under(Load.BOTH, lambda time: 10 * time), gap=0.1)
    measurement = Measurement(("made",), phases=TOGETHER, delays=(once,))
    added = find_added_delays(measurement, Direction.DOWN, 20.0)
    assert added is not None
    assert estimate_buffer(added, look(added), BASE, RATE, 0.2) is None


def test_without_samples_there_is_no_ceiling_and_no_buffer() -> None:
    assert estimate_buffer(None, None, BASE, RATE, 0.0) is None


def test_round_trips_within_transfers_show_no_ceiling() -> None:
    added = load(sawtooth(200.0, period=3.3))
    inside = replace(added, series=replace(added.series, probe=Probe.IN_FLOW))
    assert look(added).is_reached
    assert not look(inside).is_reached


def test_a_top_that_is_seldom_reached_is_no_ceiling() -> None:
    # Three times in 20 s for a moment, as senders are that look for more rate now and then.
    added = load(lambda time: 100.0 if time % 9 < 0.15 else 40.0)
    ceiling = look(added)
    assert ceiling.near >= 5
    assert not ceiling.is_reached
