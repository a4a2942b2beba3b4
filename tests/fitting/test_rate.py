"""Tests of the rates of a direction, on series whose rate is known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fitting.lines import (
    PAYLOAD,
    SEPARATE,
    TOGETHER,
    make_delays,
    make_phases,
    make_rates,
    sawtooth,
    under,
)
from headend.fitting.estimates import Bound
from headend.fitting.rate import estimate_rates, find_dips
from headend.measurement.record import Counted, Direction, Load, Measurement, Probe, Senders

LOADED = [phase for phase in SEPARATE if phase.load is Load.DOWN]
BOTH = [phase for phase in TOGETHER if phase.load is Load.BOTH]


def measure(*rates: object, delays: tuple[object, ...] = (), **others: object) -> Measurement:
    return Measurement(("made",), phases=SEPARATE, rates=rates, delays=delays, **others)  # type: ignore[arg-type]


def test_a_constant_rate_is_found_in_bytes_of_ip() -> None:
    found = estimate_rates(
        measure(make_rates(Direction.DOWN, LOADED, lambda _: 10e6)), Direction.DOWN
    )
    assert found is not None
    assert found.rate.value == pytest.approx(10e6, rel=1e-3)
    # It is less if the packets have no time stamps, and more over IPv6.
    assert found.rate.low == pytest.approx(10e6 * PAYLOAD * 1500 / 1460)
    assert found.rate.high == pytest.approx(10e6 * PAYLOAD * 1500 / 1428)


def test_a_series_of_ip_packets_is_taken_as_it_is() -> None:
    series = make_rates(Direction.DOWN, LOADED, lambda _: 10e6, counted=Counted.IP)
    found = estimate_rates(measure(series), Direction.DOWN)
    assert found is not None
    assert found.rate.value == pytest.approx(10e6, rel=1e-3)


def test_connections_are_added_unless_there_is_their_sum() -> None:
    flows = [make_rates(Direction.DOWN, LOADED, lambda _: 3e6, flow=f"down {k}") for k in range(4)]
    total = make_rates(Direction.DOWN, LOADED, lambda _: 10e6)
    apart = estimate_rates(measure(*flows), Direction.DOWN)
    summed = estimate_rates(measure(*flows, total), Direction.DOWN)
    assert apart is not None
    assert summed is not None
    assert apart.rate.value == pytest.approx(12e6, rel=1e-3)
    assert summed.rate.value == pytest.approx(10e6, rel=1e-3)


def test_only_seconds_in_which_packets_wait_count_where_there_are_some() -> None:
    def rate(time: float) -> float:
        return 10e6 if time % 4 < 2 else 6e6

    def queue(time: float) -> float:
        return 80.0 if time % 4 < 2 else 0.0

    delays = (make_delays(SEPARATE, under(Load.DOWN, queue), gap=0.05),)
    series = make_rates(Direction.DOWN, LOADED, rate)
    found = estimate_rates(measure(series, delays=delays), Direction.DOWN)
    assert found is not None
    assert found.rate.value == pytest.approx(10e6, rel=0.01)
    assert 0 < len(found.queued) < len(found.seconds)


def test_lumps_that_a_sender_s_sockets_take_do_not_move_the_rate() -> None:
    # Three seconds of four are a lump too high, the fourth is three too low.
    def rate(time: float) -> float:
        return 7e6 if time % 4 < 1 else 11e6

    delays = (make_delays(SEPARATE, under(Load.DOWN, lambda _: 80.0), gap=0.05),)
    arrived = make_rates(Direction.DOWN, LOADED, rate)
    found = estimate_rates(measure(replace(arrived, sent=True), delays=delays), Direction.DOWN)
    assert found is not None
    assert found.rate.value == pytest.approx(10e6, rel=0.03)
    assert found.rate.low < 10e6 < found.rate.high


def test_data_that_is_read_late_and_all_at_once_does_not_move_the_rate() -> None:
    def rate(time: float) -> float:
        # In every fifth second nothing is read for 0.4 s, and then all of it.
        part = time % 5
        return 0.0 if 1.0 <= part < 1.35 else 30e6 if 1.35 <= part < 1.55 else 10e6

    delays = (make_delays(SEPARATE, under(Load.DOWN, sawtooth(100.0))),)
    series = make_rates(Direction.DOWN, LOADED, rate)
    found = estimate_rates(measure(series, delays=delays), Direction.DOWN)
    assert found is not None
    assert found.rate.value == pytest.approx(10e6, rel=0.01)


def test_what_probes_carry_is_added() -> None:
    delays = (make_delays(SEPARATE, under(Load.DOWN, sawtooth(100.0)), gap=0.005),)
    carried = 1e6 - 84 * 8 / 0.005
    series = make_rates(Direction.DOWN, LOADED, lambda _: carried)
    found = estimate_rates(measure(series, delays=delays), Direction.DOWN)
    assert found is not None
    assert found.rate.value == pytest.approx(1e6, rel=0.01)


def test_acknowledgements_of_the_other_direction_are_added() -> None:
    acknowledgements = 50e6 * 52 / 3000
    rates = (
        make_rates(Direction.DOWN, BOTH, lambda _: 50e6),
        make_rates(Direction.UP, BOTH, lambda _: 5e6 - acknowledgements),
    )
    found = estimate_rates(Measurement(("made",), phases=TOGETHER, rates=rates), Direction.UP)
    assert found is not None
    assert found.rate.value == pytest.approx(5e6, rel=0.01)
    assert found.rate.bound is Bound.AT_LEAST
    assert found.rate.low < 5e6 - acknowledgements, "some receivers merge them"


def token_bucket(time: float) -> float:
    """Give a rate of 20 Mbit/s after 10 MB more at 50 Mbit/s."""
    knee = 10e6 * 8 / 30e6
    return 50e6 if time < knee else 20e6


def test_a_token_buckets_peak_and_burst_are_found() -> None:
    series = make_rates(Direction.DOWN, LOADED, token_bucket, length=0.05)
    found = estimate_rates(measure(series), Direction.DOWN)
    assert found is not None
    assert found.peak is not None
    assert found.burst is not None
    assert found.rate.value == pytest.approx(20e6, rel=0.01)
    assert found.peak.value == pytest.approx(50e6, rel=0.02)
    assert found.burst.value == pytest.approx(10e6, rel=0.05)
    assert found.burst.bound is found.peak.bound is Bound.AT_LEAST


def test_what_slow_start_hides_of_a_burst_makes_it_a_lower_bound() -> None:
    def rate(time: float) -> float:
        return min(token_bucket(time), 4e6 * 2 ** (time / 0.2))

    series = make_rates(Direction.DOWN, LOADED, rate, length=0.05)
    found = estimate_rates(measure(series), Direction.DOWN)
    assert found is not None
    assert found.burst is not None
    assert 5e6 < found.burst.value < 10e6


@pytest.mark.parametrize(
    "name", ["constant", "a lump behind a loss", "faster later", "a socket is filled"]
)
def test_what_is_no_burst_is_not_taken_for_one(name: str) -> None:
    def rate(time: float) -> float:
        match name:
            case "a lump behind a loss":
                return 0.0 if time < 0.95 else 40e6 if time < 1.15 else 10e6
            case "faster later":
                return 8e6 if time < 10 else 10e6
            case "a socket is filled":
                return 30e6 if time < 0.15 else 10e6
        return 10e6

    found = estimate_rates(measure(make_rates(Direction.DOWN, LOADED, rate)), Direction.DOWN)
    assert found is not None
    assert (found.peak, found.burst) == (None, None)


def test_a_rate_that_still_grows_as_the_load_ends_is_a_lower_bound() -> None:
    series = make_rates(Direction.DOWN, LOADED, lambda time: 5e6 + 0.5e6 * time)
    found = estimate_rates(measure(series), Direction.DOWN)
    assert found is not None
    assert found.rate.bound is Bound.AT_LEAST
    assert found.rate.value == pytest.approx(14.2e6, rel=0.03)


def test_a_direction_without_transfers_has_no_rate() -> None:
    series = make_rates(Direction.DOWN, LOADED, lambda _: 10e6)
    assert estimate_rates(measure(series), Direction.UP) is None
    assert estimate_rates(measure(), Direction.DOWN) is None
    assert estimate_rates(measure(replace(series, rates=[0.0] * 100)), Direction.DOWN) is None


def test_a_load_of_a_moment_has_no_rate() -> None:
    phases = make_phases((Load.IDLE, 1.0), (Load.DOWN, 1.5))
    series = make_rates(Direction.DOWN, phases[1:], lambda _: 10e6)
    measurement = Measurement(("made",), phases=phases, rates=(series,))
    assert estimate_rates(measurement, Direction.DOWN) is None


def test_without_phases_they_are_found_by_the_rates() -> None:
    series = make_rates(Direction.DOWN, LOADED, lambda _: 10e6)
    measurement = Measurement(("made",), rates=(series,))
    found = estimate_rates(measurement, Direction.DOWN)
    assert found is not None
    assert found.rate.value == pytest.approx(10e6, rel=0.01)
    assert len(found.seconds) == 18


def test_a_transfer_that_slows_down_is_found_in_short_bins_only() -> None:
    def rate(time: float) -> float:
        return 1e6 if abs(time - 10) < 0.05 else 10e6

    senders = Senders(down=1)
    short = make_rates(Direction.DOWN, LOADED, rate)
    long = make_rates(Direction.DOWN, LOADED, rate, length=1.0)
    smooth = make_rates(Direction.DOWN, LOADED, lambda _: 10e6)
    found = find_dips(measure(short, senders=senders), Direction.DOWN)
    assert found is not None
    assert [round(time, 3) for time in found] == [15.0]
    assert find_dips(measure(smooth, senders=senders), Direction.DOWN) == []
    assert find_dips(measure(long, senders=senders), Direction.DOWN) is None
    several = measure(short, senders=Senders(down=8))
    assert find_dips(several, Direction.DOWN) is None, "one of many does not show in the sum"


def test_one_connection_without_a_queue_gives_a_lower_bound() -> None:
    series = make_rates(Direction.DOWN, LOADED, lambda _: 10e6)
    alone = estimate_rates(measure(series, senders=Senders(down=1)), Direction.DOWN)
    several = estimate_rates(measure(series, senders=Senders(down=4)), Direction.DOWN)
    assert alone is not None
    assert several is not None
    assert (alone.rate.bound, several.rate.bound) == (Bound.AT_LEAST, None)


def test_a_connections_own_round_trips_show_the_queue_that_probes_do_not_see() -> None:
    delays = (
        make_delays(SEPARATE, lambda *_: 20.0),
        make_delays(SEPARATE, under(Load.DOWN, sawtooth(50.0)), probe=Probe.IN_FLOW),
    )
    series = make_rates(Direction.DOWN, LOADED, lambda _: 10e6)
    found = estimate_rates(measure(series, delays=delays), Direction.DOWN)
    assert found is not None
    assert len(found.queued) == len(found.seconds)
