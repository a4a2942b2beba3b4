"""Tests of base delay, loaded delay and jitter, on series whose delays are known."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from fitting.lines import SEPARATE, TOGETHER, make_delays, make_phases, sawtooth, under
from headend.fitting.delay import (
    estimate_base_delay,
    estimate_jitter,
    estimate_loaded_delay,
    find_added_delays,
    find_drift,
    find_priority,
)
from headend.fitting.estimates import Bound
from headend.measurement.record import (
    DelaySeries,
    Direction,
    Load,
    Measurement,
    Phase,
    Probe,
    Trip,
)


def measure(*delays: DelaySeries, phases: tuple[Phase, ...] = SEPARATE) -> Measurement:
    return Measurement(("made",), phases=phases, delays=delays)


def test_the_base_delay_is_the_least_of_the_idle_line() -> None:
    stream = random.Random(1)
    series = make_delays(SEPARATE, lambda phase, time: 20 + stream.random())
    found = estimate_base_delay(measure(series))
    assert found is not None
    assert found.value == pytest.approx(20, abs=0.2)
    assert found.low <= 20 <= found.value <= found.high
    assert found.bound is None


def test_the_time_that_a_probe_takes_to_be_sent_is_in_the_interval() -> None:
    series = make_delays(SEPARATE, lambda phase, time: 20 + 2 * 84 * 8 / 2e3)
    rates = {Direction.UP: 2e6, Direction.DOWN: 2e6}
    found = estimate_base_delay(measure(series), rates)
    assert found is not None
    assert found.low == pytest.approx(20, abs=0.1)


@pytest.mark.parametrize(("gap", "base"), [(0.2, 20.0), (0.05, 21.0)])
def test_a_lower_delay_under_load_counts_where_the_idle_line_has_few_samples(
    gap: float, base: float
) -> None:
    series = make_delays(
        SEPARATE, lambda phase, _: 20.0 if phase.load is Load.UP else 21.0, gap=gap
    )
    found = estimate_base_delay(measure(series))
    assert found is not None
    assert found.value == base
    assert found.low < 20


def test_the_digits_that_a_tool_writes_are_in_the_interval() -> None:
    fine = make_delays(SEPARATE, lambda _, time: 120.4 + 0.01 * (time % 1))
    coarse = replace(fine, delays=[float(round(delay)) for delay in fine.delays])
    widths = []
    for series in (fine, coarse):
        found = estimate_base_delay(measure(series))
        assert found is not None
        assert found.low < 120.4 < found.high
        widths.append(found.high - found.low)
    assert widths[0] < 1 <= widths[1]


def test_without_an_idle_line_the_base_delay_is_at_most_the_least() -> None:
    phases = make_phases((Load.DOWN, 10.0))
    series = make_delays(phases, under(Load.DOWN, sawtooth(100.0)))
    found = estimate_base_delay(measure(series, phases=phases))
    assert found is not None
    assert found.bound is Bound.AT_MOST
    assert found.value == pytest.approx(70)


def test_the_offset_of_two_clocks_is_gone_from_the_sum_of_both_ways() -> None:
    up = make_delays(SEPARATE, lambda *_: 12 + 500.0, trip=Trip.UP)
    down = make_delays(SEPARATE, lambda *_: 8 - 500.0, trip=Trip.DOWN)
    found = estimate_base_delay(measure(up, down))
    assert found is not None
    assert found.value == pytest.approx(20)


def test_a_measurement_without_delays_has_no_base_delay() -> None:
    assert estimate_base_delay(measure()) is None


def test_each_host_has_a_base_delay_of_its_own() -> None:
    near = make_delays(SEPARATE, under(Load.DOWN, sawtooth(100.0), base=10.0), gap=0.1)
    far = make_delays(SEPARATE, under(Load.DOWN, sawtooth(100.0), base=200.0), gap=0.05)
    added = find_added_delays(measure(near, far), Direction.DOWN, 10.0)
    assert added is not None
    assert max(added.whole.delays) < 100


def test_load_of_one_direction_adds_its_queue() -> None:
    series = make_delays(SEPARATE, under(Load.DOWN, sawtooth(100.0, period=1.7)), gap=0.05)
    measurement = measure(series)
    base = estimate_base_delay(measurement)
    found = estimate_loaded_delay(find_added_delays(measurement, Direction.DOWN, 20.0), base)
    other = estimate_loaded_delay(find_added_delays(measurement, Direction.UP, 20.0), base)
    assert found is not None
    assert other is not None
    assert found.value == pytest.approx(75, rel=0.05)
    assert found.low < 75 < found.high
    assert found.bound is None
    assert other.value == 0


def test_what_both_directions_add_is_at_most_that_of_each() -> None:
    series = make_delays(TOGETHER, under(Load.BOTH, sawtooth(100.0)))
    measurement = measure(series, phases=TOGETHER)
    added = find_added_delays(measurement, Direction.DOWN, 20.0)
    assert added is not None
    assert added.mixed
    found = estimate_loaded_delay(added, None)
    assert found is not None
    assert found.bound is Bound.AT_MOST
    assert found.low == 0


def test_trips_of_one_way_tell_the_directions_apart() -> None:
    series = [
        make_delays(TOGETHER, under(Load.BOTH, sawtooth(top), base=base), trip=trip, gap=0.05)
        for trip, top, base in (
            (Trip.UP, 200.0, -3000.0),
            (Trip.DOWN, 40.0, 3020.0),
            (Trip.ROUND, 240.0, 20.0),
        )
    ]
    for direction, top in ((Direction.UP, 200.0), (Direction.DOWN, 40.0)):
        added = find_added_delays(measure(*series, phases=TOGETHER), direction, 20.0)
        assert added is not None
        assert not added.mixed
        assert max(added.whole.delays) == pytest.approx(top, rel=0.03)


#: An idle line before and behind a load.
FRAMED = make_phases((Load.IDLE, 10.0), (Load.BOTH, 60.0), (Load.IDLE, 10.0))


def test_a_drift_of_the_clocks_is_found_and_taken_out() -> None:
    drift = 0.5  # ms a second
    up = make_delays(
        FRAMED,
        lambda phase, time: 900 + drift * (phase.start + time),
        trip=Trip.UP,
    )
    down = make_delays(
        FRAMED,
        lambda phase, time: -880 - drift * (phase.start + time),
        trip=Trip.DOWN,
    )
    measurement = measure(up, down, phases=FRAMED)
    assert find_drift(measurement) == pytest.approx(drift, rel=0.02)
    added = find_added_delays(measurement, Direction.UP, None)
    assert added is not None
    assert max(added.whole.delays) < 1.0, "the drift looks like 40 ms of a queue"


def test_a_longer_path_of_one_direction_is_no_drift() -> None:
    def late(phase: Phase, time: float) -> float:
        return 30.0 if phase.start + time > 40 else 10.0

    up = make_delays(FRAMED, late, trip=Trip.UP)
    down = make_delays(FRAMED, lambda *_: 10.0, trip=Trip.DOWN)
    assert find_drift(measure(up, down, phases=FRAMED)) is None


def test_the_spread_of_the_idle_line_is_its_jitter() -> None:
    stream = random.Random(1)
    phases = make_phases((Load.IDLE, 60.0), (Load.UP, 10.0))
    up = make_delays(phases, lambda *_: 10 + 6 * stream.random(), trip=Trip.UP)
    down = make_delays(phases, lambda *_: 10.0, trip=Trip.DOWN)
    rtt = make_delays(phases, lambda *_: 20 + 6 * stream.random())
    apart = measure(up, down, rtt, phases=phases)
    found = estimate_jitter(apart, Direction.UP)
    assert found is not None
    assert found.low < 5.4 < found.high
    assert found.bound is None
    quiet = estimate_jitter(apart, Direction.DOWN)
    assert quiet is not None
    assert quiet.value == 0
    mixed = estimate_jitter(measure(rtt, phases=phases), Direction.DOWN)
    assert mixed is not None
    assert mixed.bound is Bound.AT_MOST


def test_few_samples_have_no_jitter() -> None:
    series = make_delays(SEPARATE, lambda *_: 20.0, gap=1.0)
    assert estimate_jitter(measure(series), Direction.UP) is None


def test_an_echo_that_is_let_pass_gives_way_to_udp() -> None:
    icmp = make_delays(SEPARATE, under(Load.DOWN, lambda _: 1.0))
    udp = make_delays(SEPARATE, under(Load.DOWN, sawtooth(100.0)), probe=Probe.UDP)
    assert find_priority(measure(icmp, udp)) is not None
    added = find_added_delays(measure(icmp, udp), Direction.DOWN, 20.0)
    assert added is not None
    assert added.series.probe is Probe.UDP
    alike = replace(udp, probe=Probe.ICMP)
    assert find_priority(measure(alike, udp)) is None


def test_delays_without_times_are_told_apart_by_their_load() -> None:
    idle = DelaySeries(Trip.ROUND, Probe.REQUEST, (), [30.0, 31.0, 33.0], load=Load.IDLE)
    loaded = DelaySeries(Trip.ROUND, Probe.REQUEST, (), [80.0, 90.0, 85.0, 95.0], load=Load.DOWN)
    measurement = measure(idle, loaded, phases=())
    base = estimate_base_delay(measurement)
    assert base is not None
    assert base.value == 30
    found = estimate_loaded_delay(find_added_delays(measurement, Direction.DOWN, base.value), base)
    assert found is not None
    assert found.value == pytest.approx(57.5)


def test_samples_in_any_order_give_the_same_delays() -> None:
    series = make_delays(SEPARATE, under(Load.DOWN, sawtooth(100.0)))
    order = list(range(len(series.times)))
    random.Random(1).shuffle(order)
    mixed = replace(
        series,
        times=[series.times[k] for k in order],
        delays=[series.delays[k] for k in order],
    )
    assert find_added_delays(measure(mixed), Direction.DOWN, 20.0) is not None
    first = find_added_delays(measure(series), Direction.DOWN, 20.0)
    second = find_added_delays(measure(mixed), Direction.DOWN, 20.0)
    assert first is not None
    assert second is not None
    assert first.whole == second.whole


def test_of_several_hosts_the_nearest_speaks_for_the_line() -> None:
    far = make_delays(SEPARATE, lambda *_: 200.0, gap=0.19)
    near = make_delays(SEPARATE, lambda *_: 10.0, gap=0.2)
    found = estimate_base_delay(measure(far, near))
    assert found is not None
    assert found.value == 10
