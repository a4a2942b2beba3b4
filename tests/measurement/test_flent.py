"""Tests of reading flent's data files."""

from __future__ import annotations

import gzip
import json
import os
import statistics
from pathlib import Path
from typing import Any

import pytest

from headend.errors import InputError
from headend.measurement.flent import FLENT
from headend.measurement.reading import read_measurement
from headend.measurement.record import (
    DelaySeries,
    Direction,
    Load,
    Measurement,
    Probe,
    RateSeries,
    Trip,
)
from measurement.contents import make_content
from measurement.flent_files import BEGIN, PRIVATE, make_file, make_pings, make_rates

#: Names a folder with flent's own samples, from unittests/test_data of its repository.
SAMPLES = "HEADEND_FLENT_SAMPLES"

needs_samples = pytest.mark.skipif(
    SAMPLES not in os.environ, reason=f"{SAMPLES} names no folder of samples"
)


def read(file: dict[str, Any]) -> Measurement:
    content = make_content(file)
    assert FLENT.recognises(content)
    return FLENT.read(content)


def find_sum(measured: Measurement, direction: Direction) -> RateSeries:
    [found] = [rate for rate in measured.rates if rate.direction is direction and not rate.flow]
    return found


def find_delays(measured: Measurement, probe: Probe, trip: Trip = Trip.ROUND) -> list[DelaySeries]:
    return [one for one in measured.delays if one.probe is probe and one.trip is trip]


def test_a_file_of_ten_seconds_of_load_has_three_phases() -> None:
    measured = read(make_file())
    assert [phase.load for phase in measured.phases] == [Load.IDLE, Load.BOTH, Load.IDLE]
    [before, loaded, after] = measured.phases
    assert (before.start, before.end) == pytest.approx((0.0, 5.0), abs=1e-6)
    assert (loaded.start, loaded.end) == pytest.approx((5.0, 15.0))
    # What the load left in buffers drains meanwhile.
    assert after.start > loaded.end
    assert after.end == pytest.approx(19.8)


def test_loads_of_one_direction_after_the_other_are_phases_of_their_own() -> None:
    measured = read(
        make_file(
            {
                "Ping (ms) ICMP": make_pings(150),
                "TCP download": make_rates(50.0, 5.0, 10.0),
                "TCP upload": make_rates(5.0, 20.0, 25.0),
            }
        )
    )
    assert [phase.load for phase in measured.phases] == [
        Load.IDLE,
        Load.DOWN,
        Load.IDLE,
        Load.UP,
        Load.IDLE,
    ]


def test_rates_of_flows_are_added_in_each_direction() -> None:
    measured = read(make_file())
    up, down = (find_sum(measured, direction) for direction in Direction)
    assert up.rates == pytest.approx([10e6] * 50)
    assert down.rates == pytest.approx([50e6] * 50)
    assert [rate.flow for rate in measured.rates if rate.flow] == ["up 1", "up 2"]
    assert (measured.senders.up, measured.senders.down) == (2, 1)


def test_the_sum_keeps_the_bytes_of_flows_whose_intervals_differ() -> None:
    measured = read(
        make_file(
            {
                "TCP upload::1": make_rates(3.0, 0.0, 9.0, 0.9),
                "TCP upload::2": make_rates(7.0, 0.1, 8.1, 0.25),
            }
        )
    )
    total = find_sum(measured, Direction.UP)
    sent = sum(
        rate * (end - start)
        for start, end, rate in zip(total.starts, total.ends, total.rates, strict=True)
    )
    assert sent == pytest.approx(3e6 * 9.0 + 7e6 * 8.0)


def test_a_gap_in_the_numbers_of_replies_is_a_loss_at_its_time() -> None:
    measured = read(make_file({"Ping (ms) ICMP": make_pings(50, lost=(10, 11, 30))}))
    [icmp] = find_delays(measured, Probe.ICMP)
    assert len(icmp.delays) == 47
    assert icmp.lost_count == 3
    assert icmp.lost == pytest.approx([1.8, 2.0, 5.8])


def test_a_probe_counts_when_it_was_sent_not_when_its_reply_came() -> None:
    measured = read(make_file({"Ping (ms) ICMP": make_pings(3, delay=150.0)}))
    [icmp] = find_delays(measured, Probe.ICMP)
    assert icmp.times == pytest.approx([0.0, 0.2, 0.4], abs=1e-6)
    assert measured.started == pytest.approx(BEGIN)


def test_numbers_of_replies_that_begin_anew_at_0_are_no_loss() -> None:
    pings = make_pings(4)
    for ping, number in zip(pings, (65534.0, 65535.0, 0.0, 2.0), strict=True):
        ping["seq"] = number
    [icmp] = find_delays(read(make_file({"Ping (ms) ICMP": pings})), Probe.ICMP)
    assert icmp.lost_count == 1


def test_transactions_of_netperf_become_delays() -> None:
    # 50 transactions a second, one after the other: 20 ms each.
    raw = {"Ping (ms) UDP BE1": make_rates(50.0, 0.0, 2.0)}
    [udp] = find_delays(read(make_file(raw)), Probe.UDP)
    assert udp.delays == pytest.approx([20.0] * 10)
    assert udp.times == pytest.approx([0.2 * number for number in range(10)], abs=1e-6)


def test_a_request_that_netperf_waited_for_until_the_end_is_no_delay() -> None:
    rates = make_rates(50.0, 0.0, 2.0)
    rates.append({"dur": 142.0, "t": BEGIN + 144.0, "val": 0.01})
    [udp] = find_delays(read(make_file({"Ping (ms) UDP BE1": rates})), Probe.UDP)
    assert max(udp.delays) == pytest.approx(20.0)


def test_irtt_in_flent_has_both_ways_and_says_what_was_lost() -> None:
    raw: list[dict[str, Any]] = [
        {"seq": 0, "t": BEGIN + 0.02, "val": 20.0, "owd_up": 12.0, "owd_down": 8.0},
        {"seq": 1, "t": BEGIN + 0.05, "lost": True, "lost_dir": "up"},
        {"seq": 2, "t": BEGIN + 0.13, "val": 30.0, "owd_up": 21.0, "owd_down": 9.0},
    ]
    measured = read(make_file({"Ping (ms) UDP EF": raw}))
    [round_trips] = find_delays(measured, Probe.UDP)
    [up] = find_delays(measured, Probe.UDP, Trip.UP)
    [down] = find_delays(measured, Probe.UDP, Trip.DOWN)
    assert list(round_trips.delays) == [20.0, 30.0]
    assert round_trips.lost == pytest.approx([0.05])
    assert (list(up.delays), list(down.delays)) == ([12.0, 21.0], [8.0, 9.0])
    assert up.lost == pytest.approx([0.05])
    assert down.lost_count == 0
    assert any("clock" in note for note in measured.notes)


def test_states_of_tcp_between_the_rates_are_delays_in_the_flow() -> None:
    rates = make_rates(4.0)
    states = [
        {"t": BEGIN + 5.1 + number, "tcp_cwnd": 10, "tcp_rtt": 80.0 + number, "tcp_rtt_var": 1.0}
        for number in range(3)
    ]
    measured = read(make_file({"TCP upload BE": [*rates, *states]}))
    [flow] = find_delays(measured, Probe.IN_FLOW)
    assert list(flow.delays) == [80.0, 81.0, 82.0]
    assert flow.flow == "up 1"
    assert find_sum(measured, Direction.UP).rates == pytest.approx([4e6] * 50)


@pytest.mark.parametrize(
    ("name", "command", "marking"),
    [
        ("Ping (ms) UDP BE", None, ""),
        ("Ping (ms) UDP BE2", None, ""),
        ("Ping (ms) UDP BK", None, "CS1"),
        ("Ping (ms) UDP EF", None, "EF"),
        ("Ping (ms) UDP NQB", None, "NQB"),
        ("Ping (ms) UDP BE1", "irtt client --dscp=0xb8 192.0.2.7", "EF"),
        ("Ping (ms) UDP BE1", "irtt client --dscp=0x0 192.0.2.7", ""),
        ("Ping (ms) UDP EF", "netperf -Y CS1,CS1 -t UDP_RR", "CS1"),
    ],
)
def test_the_marking_of_a_probe_is_read_from_its_command_or_its_name(
    name: str, command: str | None, marking: str
) -> None:
    file = make_file({name: make_rates(50.0, 0.0, 1.0)})
    file["metadata"]["SERIES_META"] = {name: {"COMMAND": command}} if command else {}
    [udp] = find_delays(read(file), Probe.UDP)
    assert udp.marking == marking


def test_flows_with_a_marking_say_so_in_their_names() -> None:
    measured = read(make_file({"TCP upload BE": make_rates(1.0), "TCP upload BK": make_rates(1.0)}))
    assert [rate.flow for rate in measured.rates if rate.flow] == ["up 1", "up 2 CS1"]


def test_without_raw_values_results_are_read_and_null_is_left_out() -> None:
    file = make_file({})
    file["version"] = 2
    del file["raw_values"]
    file["x_values"] = [0.0, 0.2, 0.4, 0.6]
    file["results"] = {
        "Ping (ms) ICMP": [20.0, None, float("nan"), 22.0],
        "TCP upload": [None, 5.0, 6.0, None],
        "TCP upload sum": [None, 5.0, 6.0, None],
    }
    measured = read(file)
    [icmp] = find_delays(measured, Probe.ICMP)
    assert (list(icmp.times), list(icmp.delays)) == ([0.0, 0.6], [20.0, 22.0])
    assert icmp.lost_count == 0
    assert find_sum(measured, Direction.UP).rates == pytest.approx([5e6, 6e6])


@pytest.mark.parametrize("stated", ["2017-07-14T04:39:59.000000", "2017-07-14T02:39:59.000000Z"])
def test_results_lie_on_the_clock_of_raw_values_whatever_the_zone(stated: str) -> None:
    # Versions before 3 write the local time, here that of Central Europe. The first probe was sent
    # a second after the test began.
    file = make_file({"Ping (ms) ICMP": make_pings(10)}, T0=stated)
    file["x_values"] = [0.0, 0.2]
    file["results"] = {"Ping (ms) ICMP": [], "TCP upload": [None, 5.0]}
    measured = read(file)
    assert find_sum(measured, Direction.UP).ends == pytest.approx([0.2])
    assert find_delays(measured, Probe.ICMP)[0].times[0] == pytest.approx(1.0, abs=1e-6)
    assert measured.started == pytest.approx(BEGIN - 1.0)


def test_congestion_control_is_what_netperf_answered() -> None:
    file = make_file({"TCP upload": make_rates(1.0)})
    assert read(file).senders.congestion == "cubic"
    file["metadata"]["TEST_PARAMETERS"] = {"tcp_cong_control": "reno"}
    assert read(file).senders.congestion == "reno"
    file["metadata"]["SERIES_META"] = {"TCP upload": {"CONG_CONTROL": "bbr"}}
    assert read(file).senders.congestion == "bbr"


def test_what_a_flow_sent_again_is_a_share_of_what_it_sent() -> None:
    file = make_file({"TCP upload": make_rates(1.0)})
    file["metadata"]["SERIES_META"] = {
        # flent writes this count as a text.
        "TCP upload": {"TCP_RETRANSMIT": "82", "TCP_MSS": 1448, "BYTES_SENT": 11_873_600}
    }
    [share] = read(file).retransmissions
    assert share.share == pytest.approx(82 * 1448 / 11_873_600)
    assert share.direction is Direction.UP


def test_marks_of_watched_queues_are_counted() -> None:
    stats = [
        {"t": BEGIN + number, "ecn_mark": float(count), "dropped": 2.0 * count}
        for number, count in enumerate((100, 104, 110))
    ]
    raw = {"Ping (ms) ICMP": make_pings(10), f"qdisc_stats_{PRIVATE[1]}": stats}
    measured = read(make_file(raw))
    assert measured.marks == 10
    assert "flent watched 1 queue on the way: dropped 20 packets and marked 10." in measured.notes
    assert read(make_file()).marks is None


def test_failed_parts_of_a_test_are_said() -> None:
    notes = read(make_file(FAILED_RUNNERS=2)).notes
    assert "2 parts of flent's test failed: series may be missing." in notes
    assert not any("failed" in note for note in read(make_file(FAILED_RUNNERS=0)).notes)


def test_the_medium_is_told_by_the_name_of_the_interface() -> None:
    assert read(make_file()).medium == "wifi"
    assert read(make_file(EGRESS_INFO={"iface": "enp3s0"})).medium == "ethernet"
    assert read(make_file(EGRESS_INFO=None)).medium == ""


def test_nothing_private_is_in_the_record() -> None:
    raw = {
        f"Ping (ms) ICMP1 {PRIVATE[1]}": make_pings(10),
        f"TCP upload BE1 {PRIVATE[1]}": make_rates(1.0),
        f"TCP upload BE2 {PRIVATE[1]}": make_rates(1.0),
        f"qdisc_stats_{PRIVATE[0]}": [{"t": BEGIN, "dropped": 1.0}],
    }
    measured = read(make_file(raw, FLENT_VERSION=f"2 on {PRIVATE[0]}"))
    written = repr(measured)
    assert [text for text in PRIVATE if text in written] == []
    assert measured.tools == ("flent",)
    assert "metadata.TITLE" in measured.dropped
    assert "metadata.SERIES_META.COMMAND" in measured.dropped


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"version": 5}, "version: expected 2, 3 or 4, which are flent's versions of its format"),
        ({"version": True}, "version: expected 2, 3 or 4"),
        ({"metadata": []}, "metadata: expected an object, found a list"),
        ({"x_values": [0.0, "1"]}, 'x_values[1]: expected a time in s, found "1"'),
        ({"raw_values": {"Ping (ms) ICMP": [3]}}, "raw_values.Ping (ms) ICMP[0]: expected an obj"),
        ({"raw_values": {"Ping (ms) ICMP": {}}}, "raw_values.Ping (ms) ICMP: expected a list of"),
        ({"raw_values": {}, "results": {"HTTP latency": []}}, 'found "HTTP latency"'),
        ({"raw_values": {}, "results": {}}, "found no series"),
        (
            {"raw_values": {}, "x_values": [0.0], "results": {"TCP upload": [1.0, 2.0]}},
            "results.TCP upload: expected 1 values, as x_values has, found 2",
        ),
        (
            {"raw_values": {}, "x_values": [0.0], "results": {"TCP upload": [-1.0]}},
            "results.TCP upload[0]: expected a rate in Mbit/s or null, found -1.0",
        ),
        (
            {"raw_values": {"Ping (ms) ICMP": [{"t": 1e9, "val": -4.0, "seq": 1}]}},
            "raw_values: expected a delay in ms, found -4.0",
        ),
        (
            {"raw_values": {"TCP upload": [{"t": 1e9, "val": 1e300, "dur": 1}]}},
            "raw_values: expected a rate in Mbit/s, found 1e+300",
        ),
        (
            {
                "raw_values": {
                    "Ping (ms) ICMP": [
                        {"t": 0.0, "val": 1, "seq": 1},
                        {"t": 1e9, "val": 1, "seq": 2},
                    ]
                }
            },
            "raw_values: expected times of one measurement, found some that are 11574 days apart",
        ),
    ],
)
def test_what_is_wrong_in_a_file_is_one_clear_error(change: dict[str, Any], error: str) -> None:
    with pytest.raises(InputError) as raised:
        read({**make_file(), **change})
    assert str(raised.value).startswith("line.json: ")
    assert error in str(raised.value)


@needs_samples
def test_published_sample_of_a_slow_line_has_the_numbers_that_are_known_of_it() -> None:
    # A line of 10 Mbit/s each way with CoDel, eight flows of BBR.
    measured = read_measurement([Path(os.environ[SAMPLES]) / "test-rrul.flent.gz"])
    [icmp] = find_delays(measured, Probe.ICMP)
    assert icmp.lost_count == 65
    pairs = list(zip(icmp.times, icmp.delays, strict=True))
    assert min(delay for at, delay in pairs if at < 5) == pytest.approx(10.4)
    assert measured.senders.congestion == "bbr"
    assert (measured.senders.up, measured.senders.down) == (4, 4)
    # flent's own sums, of interpolated rates, have medians of 9.02 and 9.21 Mbit/s. A fitted rate
    # may be 3 % off.
    for direction, told in ((Direction.UP, 9.02e6), (Direction.DOWN, 9.21e6)):
        assert statistics.median(find_sum(measured, direction).rates) == pytest.approx(told, 0.03)


@needs_samples
def test_results_of_a_published_sample_have_the_numbers_that_are_known_of_them() -> None:
    file = json.loads(
        gzip.decompress((Path(os.environ[SAMPLES]) / "test-rrul.flent.gz").read_bytes())
    )
    del file["raw_values"]["Ping (ms) ICMP"]
    [icmp] = find_delays(read(file), Probe.ICMP)
    loaded = sorted(
        delay for at, delay in zip(icmp.times, icmp.delays, strict=True) if 15 <= at <= 140
    )
    cuts = statistics.quantiles(loaded, n=100, method="inclusive")
    assert (cuts[49], cuts[94], loaded[-1]) == pytest.approx((47.7, 67.9, 78.4), abs=0.1)


@needs_samples
def test_published_sample_without_a_queue_has_the_numbers_that_are_known_of_it() -> None:
    measured = read_measurement([Path(os.environ[SAMPLES]) / "test-rrul-icmp.flent.gz"])
    [icmp] = find_delays(measured, Probe.ICMP)
    [idle, loaded, _] = measured.phases
    for phase, told in ((idle, 49.7), (loaded, 49.8)):
        within = [
            delay
            for at, delay in zip(icmp.times, icmp.delays, strict=True)
            if phase.start <= at <= phase.end
        ]
        assert statistics.median(within) == pytest.approx(told, abs=0.11)
    for direction, told in ((Direction.UP, 88.95e6), (Direction.DOWN, 89.03e6)):
        assert statistics.median(find_sum(measured, direction).rates) == pytest.approx(told, 0.03)


@needs_samples
def test_every_published_sample_with_a_line_in_it_is_read_without_its_names() -> None:
    for path in sorted(Path(os.environ[SAMPLES]).glob("*.flent.gz")):
        if path.name == "test-http.flent.gz":  # it has only times of pages
            continue
        measured = read_measurement([path])
        assert measured.rates, path
        written = repr([measured.rates, measured.delays, measured.notes, measured.senders])
        assert [
            name for name in ("testserv", "testbed", "toke.dk", "10.60.") if name in written
        ] == []
