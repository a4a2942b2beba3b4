"""Tests of reading what Ookla's speedtest prints."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from headend.errors import InputError
from headend.measurement.ookla import read, recognises
from headend.measurement.record import Direction, Load, Probe, Quantity, Statistic, Summary
from measurement.contents import make_content

#: As published in nikiluk/automate-ookla-speedtest, readme.md; private fields made up.
OLD: dict[str, Any] = {
    "type": "result",
    "timestamp": "2021-02-03T22:25:46Z",
    "ping": {"jitter": 0.209, "latency": 3.214},
    "download": {"bandwidth": 10941393, "bytes": 39562829, "elapsed": 3608},
    "upload": {"bandwidth": 11838684, "bytes": 42652051, "elapsed": 3605},
    "packetLoss": 0,
    "isp": "Secret Networks",
    "interface": {
        "internalIp": "192.0.2.7",
        "name": "",
        "macAddr": "02:00:5E:10:00:01",
        "isVpn": False,
        "externalIp": "198.51.100.9",
    },
    "server": {
        "id": 31337,
        "name": "Secret Server",
        "location": "Secretville",
        "country": "Secretland",
        "host": "secret.example.net",
        "port": 8080,
        "ip": "203.0.113.5",
    },
    "result": {"id": "secret-id", "url": "https://www.speedtest.net/result/c/secret-id"},
}

#: The numbers of a capture of 2026.
NEW: dict[str, Any] = {
    **OLD,
    "ping": {"jitter": 0.5, "latency": 10.841, "low": 10.2, "high": 11.9},
    "download": {
        "bandwidth": 2525417,
        "bytes": 30_000_000,
        "elapsed": 12_000,
        "latency": {"iqm": 200.0, "low": 21.5, "high": 717.8, "jitter": 40.0},
    },
    "upload": {
        "bandwidth": 1434104,
        "bytes": 17_000_000,
        "elapsed": 12_000,
        "latency": {"iqm": 604.6, "low": 20.1, "high": 1667.7, "jitter": 60.0},
    },
}

#: The form of sivel/speedtest-cli's ``--json``.
OF_CLI: dict[str, Any] = {
    "download": 93_000_000.5,
    "upload": 20_500_000.25,
    "ping": 23.4,
    "server": {"url": "http://secret.example/up", "lat": "1.0", "lon": "2.0", "sponsor": "Secret"},
    "timestamp": "2021-02-03T22:25:46.120000Z",
    "bytes_sent": 26_000_000,
    "bytes_received": 117_000_000,
    "share": None,
    "client": {"ip": "198.51.100.9", "lat": "1.0", "lon": "2.0", "isp": "Secret Networks"},
}


def refuse(value: Any) -> str:
    with pytest.raises(InputError) as error:
        read(make_content(value))
    return str(error.value)


def alter(value: dict[str, Any], place: str, new: object) -> dict[str, Any]:
    altered = copy.deepcopy(value)
    *outer, last = place.split(".")
    inner = altered
    for key in outer:
        inner = inner[key]
    inner[last] = new
    return altered


def test_bandwidth_is_in_bytes_a_second() -> None:
    rates = [one for one in read(make_content(OLD)).summaries if one.quantity is Quantity.RATE]
    assert rates == [
        Summary(Quantity.RATE, Statistic.MEAN, 8 * 10941393, Load.DOWN, Direction.DOWN),
        Summary(Quantity.RATE, Statistic.MEAN, 8 * 11838684, Load.UP, Direction.UP),
    ]


def test_the_old_form_has_no_delay_under_load() -> None:
    measured = read(make_content(OLD))
    delays = [one for one in measured.summaries if one.quantity is Quantity.DELAY]
    assert [(one.load, one.statistic, one.value, one.probe) for one in delays] == [
        (Load.IDLE, Statistic.MEDIAN, 3.214, Probe.REQUEST),
        (Load.IDLE, Statistic.JITTER, 0.209, Probe.REQUEST),
    ]
    assert measured.started == 1612391146
    assert measured.summaries[-1] == Summary(Quantity.LOSS, Statistic.MEAN, 0, Load.BOTH)


def test_the_new_form_has_the_delay_under_load_of_each_direction() -> None:
    delays = {
        (one.load, one.statistic): one.value
        for one in read(make_content(NEW)).summaries
        if one.quantity is Quantity.DELAY
    }
    assert delays[Load.IDLE, Statistic.LEAST] == 10.2
    assert delays[Load.DOWN, Statistic.IQM] == 200.0
    assert delays[Load.DOWN, Statistic.MOST] == 717.8
    assert delays[Load.UP, Statistic.IQM] == 604.6
    assert delays[Load.UP, Statistic.MOST] == 1667.7


def test_the_result_of_speedtest_cli_is_in_bits_a_second() -> None:
    measured = read(make_content(OF_CLI))
    assert measured.tools == ("speedtest-cli",)
    assert [one.value for one in measured.summaries] == [93_000_000.5, 20_500_000.25, 23.4]


@pytest.mark.parametrize("value", [OLD, NEW, OF_CLI])
def test_nothing_private_is_in_the_record(value: dict[str, Any]) -> None:
    written = repr(read(make_content(value))).lower()
    for private in ("secret", "192.0.2", "198.51", "203.0.113", "02:00:5e", "31337"):
        assert private not in written


def test_the_record_names_what_was_dropped() -> None:
    assert read(make_content(OLD)).dropped == (
        "isp",
        "interface.internalIp",
        "interface.externalIp",
        "interface.macAddr",
        "interface.name",
        "server.id",
        "server.host",
        "server.port",
        "server.name",
        "server.location",
        "server.country",
        "server.ip",
        "result.id",
        "result.url",
    )
    assert "client.ip" in read(make_content(OF_CLI)).dropped


@pytest.mark.parametrize(
    ("name", "medium"), [("wlp2s0", "wifi"), ("eth0", "ethernet"), ("en0", ""), ("", "")]
)
def test_the_interface_of_linux_tells_the_medium(name: str, medium: str) -> None:
    assert read(make_content(alter(OLD, "interface.name", name))).medium == medium


def test_a_vpn_is_noted() -> None:
    assert read(make_content(alter(OLD, "interface.isVpn", True))).notes == (
        "the test went through a VPN",
    )


def test_a_direction_without_a_rate_was_not_measured() -> None:
    measured = read(make_content(alter(OLD, "upload.bandwidth", 0)))
    assert Direction.UP not in [one.direction for one in measured.summaries]


def test_of_several_results_the_last_is_read_and_that_is_noted() -> None:
    measured = read(make_content(OLD, NEW))
    assert measured.summaries == read(make_content(NEW)).summaries
    assert measured.notes == ("the file holds 2 results; the last is read",)


def test_messages_before_the_result_are_passed_over() -> None:
    message = {"type": "ping", "timestamp": "2021-02-03T22:25:46Z", "ping": {"latency": 99}}
    assert recognises(make_content(message, NEW))
    assert read(make_content(message, NEW)) == read(make_content(NEW))


def test_messages_without_a_result_are_refused() -> None:
    message = {"type": "log", "timestamp": "2021-02-03T22:25:46Z", "level": "error"}
    assert recognises(make_content(message))
    assert refuse(message) == (
        'line.json: expected a result of speedtest ("type": "result"),'
        " found 1 message of a test without one"
    )


@pytest.mark.parametrize(
    ("place", "value", "line"),
    [
        ("download.bandwidth", "fast", 'download.bandwidth: expected bytes a second, found "fast"'),
        ("ping.latency", -1, "ping.latency: expected a time in ms, found -1"),
        ("ping", [3], "ping: expected an object, found a list"),
        ("packetLoss", 101, "packetLoss: expected a percentage, found 101"),
        ("upload.bandwidth", True, "upload.bandwidth: expected bytes a second, found true"),
    ],
)
def test_a_field_that_is_not_what_it_must_be_is_refused(
    place: str, value: object, line: str
) -> None:
    assert refuse(alter(OLD, place, value)) == f"line.json: {line}"


def test_a_result_without_numbers_is_refused() -> None:
    assert refuse({"type": "result"}) == (
        "line.json: expected rates and delays (download.bandwidth, upload.bandwidth, ping.latency),"
        " found none"
    )


@pytest.mark.parametrize("value", [{}, [], 3, "result", {"type": "simulation"}, {"ping": 3}])
def test_others_are_not_recognised(value: object) -> None:
    assert not recognises(make_content(value))
