"""Tests of reading iperf3's JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headend.errors import InputError
from headend.measurement.iperf3 import IPERF3
from headend.measurement.reading import read_measurement
from headend.measurement.record import (
    Direction,
    Load,
    Measurement,
    Probe,
    Quantity,
    RateSeries,
    Statistic,
)
from measurement.contents import make_content

SAMPLES = Path(__file__).parent / "samples"

#: When the made-up run began, s since 1970, as iperf3 writes it.
BEGIN = 1_700_000_000


def make_stream(
    socket: int, second: int, rate: float = 8e6, sender: bool = True, **more: Any
) -> dict[str, Any]:
    return {
        "socket": socket,
        "start": float(second),
        "end": second + 1.0,
        "seconds": 1.0,
        "bits_per_second": rate,
        "sender": sender,
        **more,
    }


def make_run(*seconds: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """Give a run; each argument has the streams of one second."""
    return {
        "start": {
            "connected": [{"local_host": "192.0.2.7", "remote_host": "198.51.100.9"}],
            "version": "iperf 3.16",
            "system_info": "Linux home-of-a-person 6.1.0",
            "timestamp": {"timesecs": BEGIN},
            "connecting_to": {"host": "a-server.example", "port": 5201},
            "tcp_mss_default": 1448,
            "test_start": {"protocol": "TCP", "reverse": 0, "tos": 0},
        },
        "intervals": [{"streams": streams} for streams in seconds],
        "end": {},
        **more,
    }


def read(*runs: dict[str, Any]) -> Measurement:
    content = make_content(*runs)
    assert IPERF3.recognises(content)
    return IPERF3.read(content)


def find_sum(measured: Measurement, direction: Direction) -> RateSeries:
    [found] = [one for one in measured.rates if one.direction is direction and not one.flow]
    return found


def test_what_a_client_sends_is_up_and_what_it_receives_is_down() -> None:
    measured = read(
        make_run(
            [make_stream(5, 0), make_stream(7, 0, 40e6, sender=False)],
            [make_stream(5, 1), make_stream(7, 1, 50e6, sender=False)],
        )
    )
    assert list(find_sum(measured, Direction.UP).rates) == [8e6, 8e6]
    assert list(find_sum(measured, Direction.DOWN).rates) == [40e6, 50e6]
    assert [(one.load, one.start, one.end) for one in measured.phases] == [(Load.BOTH, 0.0, 2.0)]
    assert (measured.senders.up, measured.senders.down) == (1, 1)


def test_a_file_of_the_server_has_the_directions_turned() -> None:
    run = make_run([make_stream(5, 0)])
    run["start"]["accepted_connection"] = {"host": "192.0.2.7"}
    del run["start"]["connecting_to"]
    measured = read(run)
    assert [phase.load for phase in measured.phases] == [Load.DOWN]
    assert "The file is of iperf3's server: down is what it sent." in measured.notes


def test_versions_that_name_no_sender_tell_the_direction_by_the_test() -> None:
    stream = make_stream(5, 0)
    del stream["sender"]
    run = make_run([stream])
    assert [phase.load for phase in read(run).phases] == [Load.UP]
    run["start"]["test_start"]["reverse"] = 1
    assert [phase.load for phase in read(run).phases] == [Load.DOWN]


def test_connections_are_added() -> None:
    measured = read(make_run([make_stream(5, 0), make_stream(7, 0, 4e6)]))
    assert list(find_sum(measured, Direction.UP).rates) == [12e6]
    assert [one.flow for one in measured.rates if one.flow] == ["up 1", "up 2"]


def test_the_rate_that_senders_are_told_is_of_all_of_them_together() -> None:
    measured = read_measurement([SAMPLES / "iperf3-down.json"])
    assert measured.senders.pace == 100e6


def test_round_trips_of_the_sending_tcp_are_delays_in_the_flow() -> None:
    measured = read(make_run([make_stream(5, 0, rtt=80_500)], [make_stream(5, 1, rtt=91_000)]))
    [delays] = measured.delays
    assert delays.probe is Probe.IN_FLOW
    assert (list(delays.times), list(delays.delays)) == ([1.0, 2.0], [80.5, 91.0])
    # Systems that do not know it write 0.
    assert read(make_run([make_stream(5, 0, rtt=0)])).delays == ()


def test_round_trips_of_a_far_sender_come_as_sums() -> None:
    end = {
        "streams": [{"sender": {"mean_rtt": 60_000, "min_rtt": 20_000, "max_rtt": 95_000}}],
    }
    measured = read(make_run([make_stream(5, 0, sender=False)], end=end))
    told = {one.statistic: one.value for one in measured.summaries}
    assert told == {Statistic.MEAN: 60.0, Statistic.LEAST: 20.0, Statistic.MOST: 95.0}
    assert {one.load for one in measured.summaries} == {Load.DOWN}


def test_retransmissions_are_a_share_of_what_was_sent() -> None:
    end = {"streams": [{"sender": {"retransmits": 50, "bytes": 1_448_000}}]}
    [share] = read(make_run([make_stream(5, 0)], end=end)).retransmissions
    assert share.direction is Direction.UP
    assert share.share == pytest.approx(0.05)


def test_times_go_on_after_the_seconds_that_were_omitted() -> None:
    omitted = [make_stream(5, 0, 2e6, omitted=True)], [make_stream(5, 1, 6e6, omitted=True)]
    measured = read(make_run(*omitted, [make_stream(5, 0)], [make_stream(5, 1)]))
    rates = find_sum(measured, Direction.UP)
    assert list(rates.starts) == [0.0, 1.0, 2.0, 3.0]
    assert list(rates.rates) == [2e6, 6e6, 8e6, 8e6]


def test_datagrams_that_were_lost_are_told_by_the_receiver() -> None:
    end = {
        "sum": {"lost_percent": 20, "jitter_ms": 0.4, "bits_per_second": 8e6},
        "sum_received": {"lost_percent": 20, "jitter_ms": 0.4, "bits_per_second": 6.4e6},
    }
    run = make_run([make_stream(5, 0)], end=end)
    run["start"]["test_start"]["protocol"] = "UDP"
    measured = read(run)
    told = {(one.quantity, one.statistic): one.value for one in measured.summaries}
    assert told == {
        (Quantity.LOSS, Statistic.MEAN): 0.2,
        (Quantity.RATE, Statistic.MEAN): 6.4e6,
        (Quantity.DELAY, Statistic.JITTER): 0.4,
    }
    # What the sender offered is more than what the line carried.
    assert measured.rates == ()
    assert [phase.load for phase in measured.phases] == [Load.UP]


def test_rates_of_an_upload_are_those_of_the_server_where_it_was_asked() -> None:
    far = make_run([make_stream(9, 0, 5e6, sender=False)])
    far["start"]["accepted_connection"] = {"host": "192.0.2.7"}
    run = make_run([make_stream(5, 0, rtt=80_000)], server_output_json=far)
    measured = read(run)
    assert list(find_sum(measured, Direction.UP).rates) == [5e6]
    assert list(measured.delays[0].delays) == [80.0]
    assert not any("sockets took" in note for note in measured.notes)
    del run["server_output_json"]
    assert any("sockets took" in note for note in read(run).notes)


def test_received_datagrams_have_a_rate_even_where_others_were_lost() -> None:
    end = {"sum": {"lost_percent": 20, "jitter_ms": 0.4, "bits_per_second": 8e6}}
    run = make_run([make_stream(5, 0, 6.4e6, sender=False)], end=end)
    run["start"]["test_start"]["protocol"] = "UDP"
    assert list(find_sum(read(run), Direction.DOWN).rates) == [6.4e6]


def test_the_begin_is_known_to_the_second_unless_iperf3_says_more() -> None:
    run = make_run([make_stream(5, 0)])
    assert read(run).started == BEGIN + 0.5
    assert any("half a second" in note for note in read(run).notes)
    run["start"]["timestamp"]["timemillisecs"] = BEGIN * 1000 + 250
    assert read(run).started == BEGIN + 0.25
    assert not any("half a second" in note for note in read(run).notes)


def test_congestion_control_and_marking_are_read() -> None:
    run = make_run([make_stream(5, 0)], end={"sender_tcp_congestion": "cubic"})
    run["start"]["test_start"]["tos"] = 0x20
    run["intervals"][0]["streams"].append(make_stream(7, 0))
    measured = read(run)
    assert measured.senders.congestion == "cubic"
    assert [one.flow for one in measured.rates if one.flow] == ["up 1 CS1", "up 2 CS1"]


def test_several_runs_in_one_file_follow_one_another() -> None:
    up, down = make_run([make_stream(5, 0)]), make_run([make_stream(5, 0, sender=False)])
    down["start"]["timestamp"]["timesecs"] = BEGIN + 20
    measured = read(up, down)
    loaded = [(one.load, one.start) for one in measured.phases if one.load is not Load.IDLE]
    assert [load for load, _ in loaded] == [Load.UP, Load.DOWN]
    # By the clock of whole seconds, this one begins before the first ends.
    down["start"]["timestamp"]["timesecs"] = BEGIN
    measured = read(up, down)
    assert Load.BOTH not in [one.load for one in measured.phases]


def test_a_stream_of_events_is_the_same_as_one_object() -> None:
    run = make_run([make_stream(5, 0)], [make_stream(5, 1)])
    events = [
        {"event": "start", "data": run["start"]},
        *[{"event": "interval", "data": one} for one in run["intervals"]],
        {"event": "end", "data": run["end"]},
    ]
    assert read(*events).rates == read(run).rates


def test_an_error_of_iperf3_is_said() -> None:
    with pytest.raises(InputError) as raised:
        read_measurement([SAMPLES / "iperf3-error.json"])
    assert str(raised.value).endswith(
        "iperf3-error.json: expected a run of iperf3, found its error: unable to connect to"
        " server: Connection refused"
    )


def test_what_was_measured_until_an_error_is_read() -> None:
    run = make_run([make_stream(5, 0)], error="interrupt - the client 192.0.2.7 has terminated")
    measured = read(run)
    assert list(find_sum(measured, Direction.UP).rates) == [8e6]
    assert "iperf3 ended with an error: what it measured until then is read." in measured.notes


def test_nothing_private_is_in_the_record() -> None:
    measured = read(make_run([make_stream(5, 0)], error="192.0.2.7 is gone"))
    for text in ("192.0.2.7", "198.51.100.9", "a-server.example", "home-of-a-person"):
        assert text not in repr(measured)
    assert measured.dropped == ("start.connected", "start.connecting_to", "start.system_info")


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"intervals": []}, "intervals: expected one interval or more in which something was"),
        ({"intervals": {}}, "intervals: expected a list of objects, found an object"),
        ({"intervals": [{}]}, "intervals[0].streams: expected a list of objects, found nothing"),
        (
            {"intervals": [{"streams": [make_stream(5, 0, -1.0)]}]},
            "intervals[0].streams[0].bits_per_second: expected a rate in bit/s, found -1.0",
        ),
        (
            {"intervals": [{"streams": [{**make_stream(5, 0), "sender": 1}]}]},
            "intervals[0].streams[0].sender: expected true or false, found 1",
        ),
        (
            {"intervals": [{"streams": [{**make_stream(5, 0), "end": 1e12}]}]},
            "intervals[0].streams[0].end: expected a time in s, found 1000000000000.0",
        ),
    ],
)
def test_what_is_wrong_in_a_file_is_one_clear_error(change: dict[str, Any], error: str) -> None:
    with pytest.raises(InputError) as raised:
        read({**make_run([make_stream(5, 0)]), **change})
    assert str(raised.value).startswith("line.json: ")
    assert error in str(raised.value)


@pytest.mark.parametrize(
    ("name", "loads", "flows"),
    [
        ("iperf3-up.json", [Load.UP], (1, 0)),
        ("iperf3-down.json", [Load.DOWN], (0, 2)),
        ("iperf3-bidir.json", [Load.BOTH], (1, 1)),
        ("iperf3-server-output.json", [Load.UP], (1, 0)),
        ("iperf3-udp.json", [Load.UP], (1, 0)),
        ("iperf3-udp-down.json", [Load.DOWN], (0, 1)),
    ],
)
def test_files_of_iperf3_itself_have_the_bytes_of_its_sums(
    name: str, loads: list[Load], flows: tuple[int, int]
) -> None:
    told = json.loads((SAMPLES / name).read_bytes())
    measured = read_measurement([SAMPLES / name])
    assert [phase.load for phase in measured.phases] == loads
    assert (measured.senders.up, measured.senders.down) == flows
    for series in measured.rates:
        if series.flow:
            continue
        sent = sum(
            rate * (end - start) / 8
            for start, end, rate in zip(series.starts, series.ends, series.rates, strict=True)
        )
        other = told["start"]["test_start"]["reverse"] == 0 and series.direction is Direction.DOWN
        key = "sum_received_bidir_reverse" if other else "sum_received"
        assert sent == pytest.approx(told["end"][key]["bytes"], rel=1e-3)
