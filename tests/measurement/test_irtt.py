"""Tests of reading irtt's JSON."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from headend.errors import InputError
from headend.measurement.clocks import find_drift
from headend.measurement.irtt import IRTT
from headend.measurement.reading import read_measurement
from headend.measurement.record import DelaySeries, Measurement, Probe, Trip
from measurement.contents import make_content

SAMPLES = Path(__file__).parent / "samples"

#: When the first packet of the made-up measurement was sent, ns since 1970.
BEGIN = 1_500_000_000_123_456_789


def make_trip(
    number: int, up: float = 12.0, down: float = 8.0, lost: str | bool = "false"
) -> dict[str, Any]:
    """Give a packet, ten a second, with the delays of its ways in ms."""
    at = number * 100_000_000
    answered = lost in (False, "false")
    return {
        "seqno": number,
        "lost": lost,
        "timestamps": {
            "client": {"receive": {}, "send": {"wall": BEGIN + at, "monotonic": 5000 + at}},
            "server": {"receive": {}, "send": {}},
        },
        "delay": {
            "rtt": int((up + down) * 1e6),
            "send": int(up * 1e6),
            "receive": int(down * 1e6),
        }
        if answered
        else {},
        "ipdv": {},
    }


def make_file(*trips: dict[str, Any], dscp: int = 0) -> dict[str, Any]:
    return {
        "version": {"irtt": "0.9.1", "protocol": 1, "json_format": 1},
        "system_info": {"hostname": "home-of-a-person"},
        "config": {
            "local_address": "192.0.2.7:5000",
            "remote_address": "198.51.100.9:2112",
            "params": {"dscp": dscp},
            "supplied": {"remote_address": "a-server.example"},
        },
        "stats": {},
        "round_trips": list(trips),
    }


def read(file: dict[str, Any]) -> Measurement:
    content = make_content(file)
    assert IRTT.recognises(content)
    return IRTT.read(content)


def find(measured: Measurement, trip: Trip) -> DelaySeries:
    [found] = [one for one in measured.delays if one.trip is trip]
    return found


def test_delays_of_the_round_trip_and_of_each_way_are_read() -> None:
    measured = read(make_file(make_trip(0), make_trip(1, 30.0, 9.0)))
    assert list(find(measured, Trip.ROUND).delays) == [20.0, 39.0]
    assert list(find(measured, Trip.UP).delays) == [12.0, 30.0]
    assert list(find(measured, Trip.DOWN).delays) == [8.0, 9.0]
    assert list(find(measured, Trip.ROUND).times) == [0.0, 0.1]
    assert {one.probe for one in measured.delays} == {Probe.UDP}
    assert measured.started == BEGIN / 1e9
    assert measured.tools == ("irtt 0.9.1",)
    assert measured.phases == ()


@pytest.mark.parametrize("is_text", [True, False])
def test_losses_are_told_by_the_way_on_which_they_happened(is_text: bool) -> None:
    trips = [
        make_trip(0, lost="false" if is_text else False),
        make_trip(1, lost="true" if is_text else True),
        make_trip(2, lost="true_up"),
        make_trip(3, lost="true_down"),
        make_trip(4, lost="true_down"),
    ]
    measured = read(make_file(*trips))
    assert find(measured, Trip.ROUND).lost == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert find(measured, Trip.UP).lost == pytest.approx([0.2])
    assert find(measured, Trip.DOWN).lost == pytest.approx([0.3, 0.4])


def test_without_stamps_of_the_server_there_are_round_trips_only() -> None:
    trip = make_trip(0)
    trip["delay"] = {"rtt": 20_000_000}
    measured = read(make_file(trip))
    assert [one.trip for one in measured.delays] == [Trip.ROUND]
    assert "The far end stamped no times: there are no delays of one way." in measured.notes


def test_a_difference_of_clocks_stays_and_is_said() -> None:
    measured = read(make_file(*[make_trip(number, -88.0, 108.0) for number in range(50)]))
    assert set(find(measured, Trip.UP).delays) == {-88.0}
    assert any("difference of two clocks" in note for note in measured.notes)


def test_a_drift_of_clocks_is_taken_out_and_said() -> None:
    # The far clock runs away by 0.02 ms each 0.1 s, which is 20 ms in all.
    trips = [make_trip(n, 12.0 + 0.02 * n, 8.0 - 0.02 * n) for n in range(1000)]
    measured = read(make_file(*trips))
    assert list(find(measured, Trip.UP).delays) == pytest.approx([12.0] * 1000, abs=1e-5)
    assert list(find(measured, Trip.DOWN).delays) == pytest.approx([8.0] * 1000, abs=1e-5)
    assert any("drift apart by 20 ms, which is taken out" in note for note in measured.notes)


def test_a_queue_in_the_middle_is_no_drift() -> None:
    up = [12.0 + (80.0 if 200 <= number < 700 else 0.0) for number in range(1000)]
    times = [0.1 * number for number in range(1000)]
    drift = find_drift(times, up, [8.0] * 1000)
    assert drift is not None
    assert abs(drift) * 100 < 0.01
    trips = [make_trip(number, delay) for number, delay in enumerate(up)]
    assert list(find(read(make_file(*trips)), Trip.UP).delays) == up


def test_a_line_that_is_never_idle_tells_no_drift() -> None:
    times = [0.1 * number for number in range(1000)]
    up = [12.0 + 0.2 * number for number in range(1000)]
    assert find_drift(times, up, [8.0] * 1000) is None


def test_the_octet_of_probes_is_named() -> None:
    assert find(read(make_file(make_trip(0), dscp=0xB8)), Trip.ROUND).marking == "EF"
    assert find(read(make_file(make_trip(0))), Trip.ROUND).marking == ""


def test_nothing_private_is_in_the_record() -> None:
    measured = read(make_file(make_trip(0)))
    for text in ("home-of-a-person", "192.0.2.7", "198.51.100.9", "a-server.example"):
        assert text not in repr(measured)
    assert measured.dropped == (
        "system_info",
        "config.local_address",
        "config.remote_address",
        "config.supplied",
    )


@pytest.mark.parametrize(
    ("place", "value", "error"),
    [
        (("round_trips",), {}, "round_trips: expected a list of objects, found an object"),
        (("round_trips",), [], "round_trips: expected packets that were answered, found a list"),
        (("round_trips", 0), 3, "round_trips[0]: expected an object, found 3"),
        (("round_trips", 0, "lost"), "maybe", 'round_trips[0].lost: expected "false", "true", '),
        (("round_trips", 0, "delay", "rtt"), -1, "round_trips[0].delay.rtt: expected a delay in"),
        (("round_trips", 0, "delay", "rtt"), True, "expected a delay in ns, found true"),
        (("round_trips", 0, "delay"), {}, "round_trips[0].delay.rtt: expected a delay in ns"),
        (("round_trips", 0, "timestamps"), {}, "round_trips[0].timestamps.client: expected an ob"),
        (("round_trips", 0, "delay", "send"), 10**400, "round_trips[0].delay.send: expected a d"),
        (("config", "params", "dscp"), 256, "config.params.dscp: expected an octet, found 256"),
    ],
)
def test_what_is_wrong_in_a_file_is_one_clear_error(
    place: tuple[str | int, ...], value: Any, error: str
) -> None:
    file = make_file(make_trip(0))
    inner: Any = copy.deepcopy(file)
    whole = inner
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    with pytest.raises(InputError) as raised:
        read(whole)
    assert str(raised.value).startswith("line.json: ")
    assert error in str(raised.value)


def test_a_file_of_irtt_itself_has_the_numbers_that_irtt_says() -> None:
    path = SAMPLES / "irtt.json"
    told = json.loads(path.read_bytes())["stats"]
    measured = read_measurement([path])
    round_trips = find(measured, Trip.ROUND)
    assert len(round_trips.delays) == 12
    assert min(round_trips.delays) >= told["rtt"]["min"] / 1e6
    assert max(round_trips.delays) <= told["rtt"]["max"] / 1e6
    assert round_trips.marking == "EF"
    # Packets were sent 20 ms apart.
    assert list(round_trips.times)[-1] == pytest.approx(0.22, abs=0.01)


def test_a_file_without_stamps_of_irtt_itself_is_read() -> None:
    measured = read_measurement([SAMPLES / "irtt-rtt-only.json"])
    assert [one.trip for one in measured.delays] == [Trip.ROUND]
