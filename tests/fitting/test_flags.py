"""Tests of flags: each is raised by what it is about, and not without."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fitting.lines import (
    SEPARATE,
    TOGETHER,
    Function,
    make_delays,
    make_phases,
    make_rates,
    sawtooth,
)
from headend.fitting.estimates import Bound, Flag
from headend.fitting.estimating import estimate_line
from headend.fitting.flags import is_paced
from headend.measurement.record import (
    Direction,
    Load,
    Measurement,
    Phase,
    Probe,
    Quantity,
    RateSeries,
    Retransmissions,
    Senders,
    Statistic,
    Summary,
    Trip,
)

#: Long enough for each of the facts' numbers of samples.
LONG = make_phases((Load.IDLE, 12.0), (Load.DOWN, 25.0), (Load.IDLE, 5.0), (Load.UP, 25.0))


def queue(phase: Phase, time: float) -> float:
    """Give a round trip of 20 ms with a saw-tooth under any load."""
    return 20.0 + (0.0 if phase.load is Load.IDLE else sawtooth(150.0, 3.37)(time))


def constant(rate: float) -> Function:
    """Give a rate that does not change."""
    return lambda _: rate


def make_measurement(phases: tuple[Phase, ...] = LONG, **changes: Any) -> Measurement:
    """Make a measurement that nothing is to be said of, but for what is changed."""
    rates = []
    for direction, rate in ((Direction.DOWN, 50e6), (Direction.UP, 10e6)):
        loads = {Load.BOTH, Load(direction.value)}
        own = [phase for phase in phases if phase.load in loads]
        if own:
            rates.append(make_rates(direction, own, constant(rate)))
    measurement = Measurement(
        ("made",),
        phases=phases,
        rates=tuple(rates),
        delays=(make_delays(phases, queue),),
    )
    return replace(measurement, **changes)


def find_flags(measurement: Measurement) -> dict[Flag, str]:
    return dict(estimate_line(measurement).flags)


def test_a_good_measurement_has_no_flag() -> None:
    assert find_flags(make_measurement()) == {}


def test_a_load_without_a_queue_and_without_loss_may_be_the_senders() -> None:
    measurement = make_measurement(delays=(make_delays(LONG, lambda *_: 20.0),))
    flags = find_flags(measurement)
    assert "50 Mbit/s" in flags[Flag.SENDER_LIMITED]
    rate = estimate_line(measurement).directions[Direction.DOWN].rate
    assert rate is not None
    assert rate.bound is Bound.AT_LEAST


@pytest.mark.parametrize("sign", ["sent again", "lost", "waits in connections"])
def test_a_line_that_was_full_is_not_the_senders(sign: str) -> None:
    def is_lost(phase: Phase, time: float) -> bool:
        return sign == "lost" and phase.load is not Load.IDLE and time in {10.0, 12.0}

    delays = [make_delays(LONG, lambda *_: 20.0, is_lost=is_lost)]
    again: tuple[Retransmissions, ...] = ()
    if sign == "waits in connections":
        delays.append(make_delays(LONG[1:], queue, probe=Probe.IN_FLOW))
    if sign == "sent again":
        again = tuple(Retransmissions(direction, 0.01) for direction in Direction)
    measurement = make_measurement(delays=tuple(delays), retransmissions=again)
    assert Flag.SENDER_LIMITED not in find_flags(measurement)


def test_a_load_that_is_still_growing_is_the_senders() -> None:
    series = make_rates(Direction.DOWN, [LONG[1]], lambda time: 5e6 + 1e6 * time)
    measurement = make_measurement(rates=(series,), delays=(make_delays(LONG, lambda *_: 20.0),))
    assert "still growing" in find_flags(measurement)[Flag.SENDER_LIMITED]


def test_a_measurement_under_load_alone_has_no_idle_phase() -> None:
    flags = find_flags(make_measurement(LONG[1:2]))
    assert Flag.NO_IDLE_PHASE in flags
    assert Flag.NO_IDLE_PHASE not in find_flags(make_measurement())


def test_a_queue_without_a_ceiling_says_why() -> None:
    def growing(phase: Phase, time: float) -> float:
        return 20.0 + (0.0 if phase.load is Load.IDLE else 4 * time)

    flags = find_flags(make_measurement(delays=(make_delays(LONG, growing),)))
    assert "Upstream" in flags[Flag.NO_CEILING]
    assert "Downstream" in flags[Flag.NO_CEILING]


@pytest.mark.parametrize(
    ("load", "flag", "other"),
    [
        (Load.DOWN, Flag.NO_UPSTREAM, Flag.NO_DOWNSTREAM),
        (Load.UP, Flag.NO_DOWNSTREAM, Flag.NO_UPSTREAM),
    ],
)
def test_a_load_of_one_direction_says_nothing_of_the_other(
    load: Load, flag: Flag, other: Flag
) -> None:
    flags = find_flags(make_measurement(make_phases((Load.IDLE, 12.0), (load, 25.0))))
    assert flag in flags
    assert other not in flags


def test_round_trips_under_load_of_both_directions_are_mixed() -> None:
    phases = make_phases((Load.IDLE, 12.0), (Load.BOTH, 25.0))
    assert Flag.MIXED_DIRECTIONS in find_flags(make_measurement(phases))
    one_way = tuple(
        make_delays(phases, queue, trip=trip) for trip in (Trip.UP, Trip.DOWN, Trip.ROUND)
    )
    apart = make_measurement(phases, delays=one_way)
    assert Flag.MIXED_DIRECTIONS not in find_flags(apart)


def test_acknowledgements_that_fill_the_upstream_mix_the_directions() -> None:
    rates = (
        make_rates(Direction.DOWN, [LONG[1]], lambda _: 500e6),
        make_rates(Direction.UP, [LONG[3]], lambda _: 10e6),
    )
    reason = find_flags(make_measurement(rates=rates))[Flag.MIXED_DIRECTIONS]
    assert "8.67 of the upstream's 10 Mbit/s" in reason


def test_an_idle_line_that_spreads_far_may_be_wifi() -> None:
    stream = random.Random(1)

    def noisy(phase: Phase, time: float) -> float:
        return queue(phase, time) + (60.0 if stream.random() < 0.05 else 0.0)

    noise = make_measurement(delays=(make_delays(LONG, noisy, gap=0.05),))
    assert "99th percentile" in find_flags(noise)[Flag.WIFI_SUSPECTED]

    def docsis(phase: Phase, time: float) -> float:
        return queue(phase, time) + 8 * stream.random()

    cable = make_measurement(delays=(make_delays(LONG, docsis, gap=0.05),))
    assert Flag.WIFI_SUSPECTED not in find_flags(cable)
    assert Flag.WIFI_SUSPECTED in find_flags(make_measurement(medium="wifi"))
    assert Flag.WIFI_SUSPECTED not in find_flags(make_measurement(medium="ethernet"))


def test_probes_that_are_let_pass_are_flagged() -> None:
    icmp = make_delays(LONG, lambda *_: 20.0)
    udp = make_delays(LONG, queue, probe=Probe.UDP)
    both = make_measurement(delays=(icmp, udp))
    assert "to ICMP" in find_flags(both)[Flag.PRIORITISED_PROBE]
    marked = make_measurement(delays=(make_delays(LONG, queue, marking="EF"),))
    assert "EF" in find_flags(marked)[Flag.PRIORITISED_PROBE]


def test_delays_within_transfers_are_flagged_where_there_are_no_others() -> None:
    inside = make_delays(LONG, queue, probe=Probe.IN_FLOW)
    assert Flag.PROBE_IN_FLOW in find_flags(make_measurement(delays=(inside,)))
    ping = make_delays(LONG, queue)
    assert Flag.PROBE_IN_FLOW not in find_flags(make_measurement(delays=(inside, ping)))


def test_a_rate_that_varies_while_packets_wait_is_flagged() -> None:
    series = make_rates(Direction.DOWN, [LONG[1]], lambda time: 50e6 if time % 10 < 5 else 20e6)
    reason = find_flags(make_measurement(rates=(series,)))[Flag.RATE_VARIES]
    assert "20" in reason
    assert "50 Mbit/s" in reason


def test_few_samples_are_counted() -> None:
    phases = make_phases((Load.IDLE, 2.0), (Load.DOWN, 5.0), (Load.UP, 25.0))
    reason = find_flags(make_measurement(phases))[Flag.FEW_SAMPLES]
    assert "The idle line has 9 samples" in reason
    assert "The loaded downstream has 25 samples" in reason
    assert "upstream" not in reason


def test_single_numbers_are_flagged_as_such() -> None:
    summaries = (
        Summary(Quantity.RATE, Statistic.MEAN, 300e6, Load.DOWN, Direction.DOWN),
        Summary(Quantity.DELAY, Statistic.MEDIAN, 12.0, Load.IDLE),
        Summary(Quantity.DELAY, Statistic.MEDIAN, 180.0, Load.UP),
    )
    flags = find_flags(Measurement(("by hand",), summaries=summaries))
    assert "3 numbers" in flags[Flag.SUMMARY_ONLY]
    assert Flag.NO_IDLE_PHASE not in flags
    assert Flag.NO_UPSTREAM not in flags


def test_clocks_that_drift_are_flagged() -> None:
    phases = make_phases((Load.IDLE, 12.0), (Load.BOTH, 25.0), (Load.IDLE, 12.0))

    def drift(sign: int) -> Callable[[Phase, float], float]:
        return lambda phase, time: queue(phase, time) + sign * 0.3 * (phase.start + time)

    series = tuple(
        make_delays(phases, drift(sign), trip=trip)
        for trip, sign in ((Trip.UP, 1), (Trip.DOWN, -1))
    )
    flags = find_flags(make_measurement(phases, delays=series))
    assert "0.3 ms a second" in flags[Flag.CLOCK_DRIFT]
    assert Flag.CLOCK_DRIFT not in find_flags(make_measurement(SEPARATE))
    assert Flag.CLOCK_DRIFT not in find_flags(make_measurement(TOGETHER))


def test_every_flag_is_tested_here() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    assert [flag for flag in Flag if f"Flag.{flag.name}" not in text] == []


def test_senders_that_reach_the_rate_they_were_told_limit_it() -> None:
    series = RateSeries(Direction.UP, range(20), range(1, 21), [19.9e6] * 20)
    told = Measurement(("iperf3",), rates=(series,), senders=Senders(up=1, pace=20e6))
    assert is_paced(told, Direction.UP)
    slower = replace(told, senders=Senders(up=1, pace=40e6))
    assert not is_paced(slower, Direction.UP)
    assert not is_paced(replace(told, senders=Senders(up=1)), Direction.UP)
