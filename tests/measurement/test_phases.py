"""Tests of phases of load and of sums of rates."""

from __future__ import annotations

import pytest

from headend.measurement.phases import find_busy, find_phases
from headend.measurement.record import Direction, Load, RateSeries
from headend.measurement.summing import sum_flows


def make_flow(
    starts: list[float], length: float, rate: float, direction: Direction = Direction.UP
) -> RateSeries:
    return RateSeries(
        direction, starts, [at + length for at in starts], [rate] * len(starts), flow="a"
    )


def test_a_flow_that_stalls_for_a_moment_fills_the_line_meanwhile() -> None:
    flow = make_flow([0.0, 1.0, 3.5, 4.5], 1.0, 8e6)
    assert find_busy([flow]) == {Direction.UP: [(0.0, 5.5)]}


def test_flows_with_a_pause_between_them_are_two_loads() -> None:
    flow = make_flow([0.0, 1.0, 6.0], 1.0, 8e6)
    assert find_busy([flow]) == {Direction.UP: [(0.0, 2.0), (6.0, 7.0)]}


def test_bins_without_data_are_no_load() -> None:
    flow = RateSeries(Direction.UP, [0.0, 1.0, 2.0], [1.0, 2.0, 3.0], [0.0, 8e6, 0.0])
    assert find_busy([flow]) == {Direction.UP: [(1.0, 2.0)]}


def test_flows_that_begin_one_after_the_other_make_no_phase_of_their_own() -> None:
    phases = find_phases({Direction.UP: [(5.0, 15.0)], Direction.DOWN: [(5.3, 15.2)]}, 0.0, 20.0)
    assert [phase.load for phase in phases] == [Load.IDLE, Load.BOTH, Load.IDLE]
    assert (phases[1].start, phases[1].end) == (5.3, 15.0)


def test_what_a_load_left_behind_drains_before_the_line_is_idle() -> None:
    phases = find_phases({Direction.UP: [(0.0, 10.0)]}, 0.0, 30.0)
    assert phases[-1].load is Load.IDLE
    assert phases[-1].start > 10.0


def test_a_measurement_without_a_load_is_idle_throughout() -> None:
    [phase] = find_phases({}, 0.0, 30.0)
    assert (phase.load, phase.start, phase.end) == (Load.IDLE, 0.0, 30.0)


def test_many_loads_take_no_longer_than_their_number() -> None:
    spells = [(10.0 * number, 10.0 * number + 5.0) for number in range(50_000)]
    phases = find_phases({Direction.UP: spells}, 0.0, 500_000.0)
    assert sum(phase.load is Load.UP for phase in phases) == 50_000


@pytest.mark.parametrize("step", [0.1, 0.25, 1.0, 7.0])
def test_a_sum_keeps_the_bytes_whatever_its_step(step: float) -> None:
    flows = [make_flow([0.0, 1.3, 2.6], 1.3, 8e6), make_flow([0.7, 5.2], 0.5, 3e6)]
    total = sum_flows(flows, step)
    sent = sum(
        rate * (end - start)
        for start, end, rate in zip(total.starts, total.ends, total.rates, strict=True)
    )
    assert sent == pytest.approx(8e6 * 3.9 + 3e6 * 1.0)
    assert total.flow == ""


def test_times_in_which_no_flow_was_have_no_bin() -> None:
    total = sum_flows([make_flow([0.0], 1.0, 8e6), make_flow([5.0], 1.0, 8e6)], 1.0)
    assert list(total.starts) == [0.0, 5.0]


def test_a_step_that_is_absurdly_short_fills_no_memory() -> None:
    flows = [make_flow([0.0], 1e6, 8e6), make_flow([0.0], 1e6, 8e6)]
    total = sum_flows(flows, 1e-9)
    assert len(total.rates) <= 200_000
    assert total.rates[0] == pytest.approx(16e6)
