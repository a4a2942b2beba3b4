"""Tests of reading the messages of ndt7's client and the objects of M-Lab's archive."""

from __future__ import annotations

from typing import Any

import pytest

from headend.errors import InputError
from headend.measurement.ndt7 import read, recognises
from headend.measurement.record import (
    Direction,
    Load,
    Measurement,
    Phase,
    Probe,
    Quantity,
    Retransmissions,
    Senders,
    Statistic,
    Summary,
)
from measurement.contents import make_content, open_text

#: The objects are as the specification and the client's source describe them; private fields are
#: made up.
CONNECTION = {"Client": "192.0.2.7:5", "Server": "203.0.113.5:443", "UUID": "secret-uuid"}


def count(test: str, origin: str, time: float, size: int) -> dict[str, Any]:
    """Give a message with an end's own count of bytes."""
    info = {"ElapsedTime": time * 1e6, "NumBytes": size}
    return {"AppInfo": info, "Origin": origin, "Test": test}


def look(test: str, time: float, **info: float) -> dict[str, Any]:
    """Give a message of the server with its kernel's view of the connection."""
    return {
        "ConnectionInfo": CONNECTION,
        "BBRInfo": {"BW": 1, "MinRTT": 1, "ElapsedTime": time * 1e6},
        "TCPInfo": {"ElapsedTime": time * 1e6, **info},
        "Origin": "server",
        "Test": test,
    }


def measured(value: dict[str, Any]) -> dict[str, Any]:
    return {"Key": "measurement", "Value": value}


DOWNLOAD = [
    {"Key": "starting", "Value": {"Test": "download"}},
    {"Key": "connected", "Value": {"Server": "secret-server.example", "Test": "download"}},
    measured(count("download", "client", 0.25, 1_250_000)),
    measured(look("download", 0.5, MinRTT=21_000, RTT=60_000, BytesSent=4e6, BytesRetrans=1e4)),
    measured(count("download", "client", 0.5, 3_750_000)),
    measured(look("download", 1.0, MinRTT=20_000, RTT=90_000, BytesSent=9e6, BytesRetrans=9e4)),
    measured(count("download", "client", 1.0, 8_750_000)),
    {"Key": "complete", "Value": {"Test": "download"}},
]

UPLOAD = [
    {"Key": "starting", "Value": {"Test": "upload"}},
    measured(count("upload", "client", 0.5, 9_000_000)),
    measured(look("upload", 0.5, MinRTT=22_000, RTT=40_000, BytesReceived=1_250_000)),
    measured(look("upload", 1.0, MinRTT=22_000, RTT=41_000, BytesReceived=3_750_000)),
]

#: What the client prints at the end, which is all that it prints with ``-quiet``.
SUMMARY = {
    "ServerFQDN": "secret-server.example",
    "ServerIP": "203.0.113.5",
    "ClientIP": "192.0.2.7",
    "Download": {
        "UUID": "secret-uuid",
        "Throughput": {"Value": 94.1, "Unit": "Mbit/s"},
        "Latency": {"Value": 11.5, "Unit": "ms"},
        "Retransmission": {"Value": 0.5, "Unit": "%"},
    },
    "Upload": {"UUID": "secret-uuid", "Throughput": {"Value": 20.2, "Unit": "Mbit/s"}},
}


def archive(name: str, started: str, messages: list[dict[str, Any]]) -> dict[str, Any]:
    inner = [message["Value"] for message in messages if message["Key"] == "measurement"]
    bare = [{key: value for key, value in one.items() if key != "Test"} for one in inner]
    return {
        "GitShortCommit": "773d318",
        "Version": "v0.9.1-20-g773d318",
        "ClientIP": "192.0.2.7",
        "ClientPort": 40910,
        "ServerIP": "203.0.113.5",
        "ServerPort": 443,
        "StartTime": started,
        "EndTime": "2019-07-16T15:26:16.008714743-04:00",
        name: {
            "StartTime": started,
            "UUID": "secret-uuid",
            "ClientMetadata": [{"Name": "secret", "Value": "secret"}],
            "ClientMeasurements": [one for one in bare if one["Origin"] == "client"],
            "ServerMeasurements": [one for one in bare if one["Origin"] == "server"],
        },
    }


def read_all(*values: Any) -> Measurement:
    content = make_content(*values)
    assert recognises(content)
    return read(content)


def refuse(*values: Any) -> str:
    with pytest.raises(InputError) as error:
        read_all(*values)
    return str(error.value)


def test_the_rate_of_a_download_is_what_the_client_received() -> None:
    (rates,) = read_all(*DOWNLOAD).rates
    assert rates.direction is Direction.DOWN
    assert (list(rates.starts), list(rates.ends)) == ([0, 0.25, 0.5], [0.25, 0.5, 1.0])
    assert list(rates.rates) == [40e6, 80e6, 80e6]


def test_the_rate_of_an_upload_is_what_the_server_received() -> None:
    (rates,) = read_all(*UPLOAD).rates
    assert rates.direction is Direction.UP
    assert list(rates.rates) == [20e6, 40e6]


def test_without_the_receiver_a_download_is_what_was_acknowledged() -> None:
    (rates,) = read_all(look("download", 2.0, BytesAcked=1e6)).rates
    assert list(rates.rates) == [4e6]


def test_the_delay_in_the_flow_is_the_senders() -> None:
    (delays,) = read_all(*DOWNLOAD).delays
    assert delays.probe is Probe.IN_FLOW
    assert delays.flow == "download"
    assert (list(delays.times), list(delays.delays)) == ([0.5, 1.0], [60, 90])
    assert read_all(*UPLOAD).delays == ()


def test_the_least_delay_is_that_of_the_whole_connection_with_its_handshake() -> None:
    assert read_all(*DOWNLOAD).summaries == (
        Summary(Quantity.DELAY, Statistic.LEAST, 20, Load.IDLE, probe=Probe.IN_FLOW),
    )


def test_retransmissions_are_a_share_of_all_bytes_sent() -> None:
    assert read_all(*DOWNLOAD).retransmissions == (
        Retransmissions(Direction.DOWN, 0.01, "download"),
    )


def test_senders_are_one_connection_of_each_test_and_bbr_where_its_state_is_told() -> None:
    assert read_all(*DOWNLOAD).senders == Senders(down=1, congestion="bbr")
    assert read_all(count("upload", "client", 1, 9)).senders == Senders(up=1)


def test_an_upload_in_the_same_file_follows_the_download() -> None:
    both = read_all(*DOWNLOAD, *UPLOAD)
    assert both.phases == (Phase(Load.DOWN, 0, 1.0), Phase(Load.UP, 2.0, 3.0))
    assert [next(iter(rates.starts)) for rates in both.rates] == [0, 2.0]
    assert both.notes == (
        "ndt7 does not say when the upload began; it is taken to begin 1 s after the download",
    )


def test_archived_objects_say_when_they_began() -> None:
    down = archive("Download", "2019-07-16T15:26:05.5-04:00", DOWNLOAD)
    up = archive("Upload", "2019-07-16T15:26:25.5-04:00", UPLOAD)
    both = read_all(down, up)
    assert both.tools == ("ndt7 v0.9.1-20-g773d318",)
    assert both.started == 1563305165.5
    assert [phase for phase in both.phases if phase.load is not Load.IDLE] == [
        Phase(Load.DOWN, 0, 1.0),
        Phase(Load.UP, 20.0, 21.0),
    ]
    assert both.notes == ()
    assert read_all(down).rates == read_all(*DOWNLOAD).rates
    assert read_all(down).delays == read_all(*DOWNLOAD).delays


def test_of_two_tests_of_a_direction_the_last_is_read() -> None:
    again = [
        {"Key": "starting", "Value": {"Test": "download"}},
        measured(count("download", "client", 1.0, 1_000_000)),
    ]
    (rates,) = read_all(*DOWNLOAD, *again).rates
    assert list(rates.rates) == [8e6]


def test_the_clients_summary_is_read_where_there_are_no_messages() -> None:
    summed = read_all(SUMMARY)
    assert [(one.quantity, one.load, one.value) for one in summed.summaries] == [
        (Quantity.RATE, Load.DOWN, 94.1e6),
        (Quantity.DELAY, Load.IDLE, 11.5),
        (Quantity.RATE, Load.UP, 20.2e6),
    ]
    assert read_all(*DOWNLOAD, SUMMARY).rates == read_all(*DOWNLOAD).rates


@pytest.mark.parametrize(
    "values",
    [DOWNLOAD, [SUMMARY], [archive("Download", "2019-07-16T15:26:05-04:00", DOWNLOAD)]],
)
def test_nothing_private_is_in_the_record(values: list[Any]) -> None:
    written = repr(read_all(*values)).lower()
    assert not [one for one in ("secret", "192.0.2", "203.0.113", "40910") if one in written]


def test_the_record_names_what_was_dropped() -> None:
    assert read_all(*DOWNLOAD).dropped == ("Server", "ConnectionInfo")
    assert read_all(archive("Upload", "2019-07-16T15:26:05-04:00", UPLOAD)).dropped == (
        "ClientIP",
        "ClientPort",
        "ServerIP",
        "ServerPort",
        "Upload.UUID",
        "Upload.ClientMetadata",
        "ConnectionInfo",
    )
    assert "Download.UUID" in read_all(SUMMARY).dropped


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (
            count("latency", "client", 1, 1),
            'Test: expected "download" or "upload", found "latency"',
        ),
        (count("upload", "me", 1, 1), 'Origin: expected "client" or "server", found "me"'),
        (
            measured(count("upload", "client", -1, 1)),
            "Value.AppInfo.ElapsedTime: expected a time in µs, found -1000000.0",
        ),
        (
            look("download", 1, BytesSent=5, BytesRetrans=6, BytesAcked=5),
            "TCPInfo.BytesRetrans: expected at most BytesSent (5), found 6",
        ),
        (
            {**look("download", 1), "TCPInfo": 3},
            "TCPInfo: expected an object, found 3",
        ),
        (
            count("download", "client", 1, 10**17),
            "expected rates of at most 1e+15 bit/s, found 8e+17 bit/s",
        ),
    ],
)
def test_a_message_that_is_not_what_it_must_be_is_refused(value: Any, line: str) -> None:
    assert refuse(value) == f"line.json: {line}"


def test_bytes_that_fall_are_refused() -> None:
    assert refuse(count("download", "client", 1, 10), count("download", "client", 2, 9)) == (
        "line.json: expected AppInfo.NumBytes that does not fall with time, found that it does:"
        " are these messages of several tests?"
    )


def test_messages_without_bytes_are_refused() -> None:
    assert refuse({"AppInfo": None, "Origin": "client", "Test": "upload"}) == (
        "line.json: expected messages of ndt7 that count bytes (AppInfo or TCPInfo), found none"
    )


@pytest.mark.parametrize("text", ["{}", "[]", "3", '{"Test": 1}', '{"Download": {}}', "ndt7"])
def test_others_are_not_recognised(text: str) -> None:
    assert not recognises(open_text(text))
