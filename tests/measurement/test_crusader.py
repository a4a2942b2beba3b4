"""Tests of reading Crusader's results, made here with the libraries that read them."""

from __future__ import annotations

import os
import struct
import sys
from pathlib import Path
from typing import Any

import cramjam
import msgpack
import pytest

from headend.errors import InputError
from headend.measurement.crusader import read, recognises
from headend.measurement.reader import Content
from headend.measurement.record import (
    Direction,
    Load,
    Measurement,
    Probe,
    RateSeries,
    Senders,
    Trip,
)
from measurement.crusader_files import (
    MAGIC,
    make_duration,
    make_group,
    make_ping,
    make_result,
    write_header,
    write_packed,
    write_plain,
)

#: The variable that names a folder with v0.crr, v1.crr and v2.crr of Zoxc/crusader, data/.
SAMPLES = "HEADEND_CRUSADER_SAMPLES"

#: Counts before the first byte and after the last one belong to no transfer.
DOWN = [(1.5, 0), (2.0, 0), (2.5, 1_000_000), (3.0, 3_000_000), (3.5, 3_000_000)]
DOWN_TOO = [(2.0, 0), (2.5, 1_000_000), (3.0, 1_000_000)]
UP = [(1.5, 0), (6.0, 0), (6.5, 500_000), (7.0, 1_000_000)]
BOTH_UP = [(10.0, 0), (11.0, 250_000)]
BOTH_DOWN = [(10.0, 0), (11.0, 750_000)]

GROUPS = [
    make_group(True, False, DOWN, DOWN_TOO),
    make_group(False, False, UP),
    make_group(True, True, BOTH_DOWN),
    make_group(False, True, BOTH_UP),
]

#: Answered, lost on the way up, lost on the way down, answered with more up than in all.
PINGS = [
    make_ping(1.0, 0.020, 0.008),
    make_ping(1.2, None),
    make_ping(1.4, None, 0.009),
    make_ping(12.0, 0.050, 0.060),
]

#: In version 1 a probe that is not answered has no delay at all.
EARLIER_PINGS = [make_ping(1.0, 0.020, 0.008), make_ping(1.2, None), make_ping(12.0, 0.050, 0.04)]

RESULT = make_result(GROUPS, PINGS)
EARLIER = make_result(GROUPS, EARLIER_PINGS, version=1, generated_by="Crusader 0.0.5")


def open_bytes(data: bytes) -> Content:
    return Content(Path("line.crr"), data)


def read_bytes(data: bytes) -> Measurement:
    assert recognises(open_bytes(data))
    return read(open_bytes(data))


def refuse(data: bytes) -> str:
    with pytest.raises(InputError) as error:
        read_bytes(data)
    assert "\n" not in str(error.value)
    return str(error.value)


def find_sum(measured: Measurement, direction: Direction) -> RateSeries:
    (found,) = [one for one in measured.rates if one.direction is direction and not one.flow]
    return found


def count_bytes(rates: RateSeries) -> float:
    bins = zip(rates.starts, rates.ends, rates.rates, strict=True)
    return sum(rate * (end - start) for start, end, rate in bins) / 8


@pytest.mark.parametrize(
    ("data", "tool"),
    [
        (write_plain(EARLIER), "Crusader"),
        (write_packed(EARLIER, 1), "Crusader 0.0.5"),
        (write_packed(RESULT), "Crusader 0.0.7"),
    ],
)
def test_every_version_has_the_same_rates(data: bytes, tool: str) -> None:
    measured = read_bytes(data)
    assert measured.tools == (tool,)
    assert measured.senders == Senders(up=1, down=2)
    flows = {one.flow: one for one in measured.rates if one.flow}
    assert set(flows) == {
        "download 1",
        "download 2",
        "upload 1",
        "download of both 1",
        "upload of both 1",
    }
    # Times are since the first probe, which was sent at 1 s.
    first = flows["download 1"]
    assert (list(first.starts), list(first.ends)) == ([1.0, 1.5], [1.5, 2.0])
    assert list(first.rates) == [16e6, 32e6]
    assert list(flows["download 2"].rates) == [16e6]
    assert list(find_sum(measured, Direction.DOWN).rates)[:2] == [32e6, 32e6]
    assert count_bytes(find_sum(measured, Direction.DOWN)) == pytest.approx(4_750_000)
    assert count_bytes(find_sum(measured, Direction.UP)) == pytest.approx(1_250_000)


def test_phases_are_told_by_the_groups_of_connections() -> None:
    phases = read_bytes(write_packed(RESULT)).phases
    assert [(one.load, one.start, one.end) for one in phases] == [
        (Load.IDLE, 0, 1.0),
        (Load.DOWN, 1.0, 2.0),
        (Load.IDLE, 4.0, 5.0),
        (Load.UP, 5.0, 6.0),
        (Load.IDLE, 8.0, 9.0),
        (Load.BOTH, 9.0, 10.0),
    ]


def test_delays_of_each_way_are_series_of_their_own() -> None:
    measured = read_bytes(write_packed(RESULT))
    found = {one.trip: one for one in measured.delays}
    assert all(one.probe is Probe.UDP for one in measured.delays)
    assert list(found[Trip.ROUND].delays) == pytest.approx([20, 50])
    assert list(found[Trip.UP].delays) == pytest.approx([8, 9, 60])
    assert list(found[Trip.UP].times) == pytest.approx([0, 0.4, 11])
    # The way down is what is left of the whole, never less than nothing.
    assert list(found[Trip.DOWN].delays) == pytest.approx([12, 0])


def test_a_lost_probe_is_known_by_its_way_since_version_2() -> None:
    found = {one.trip: one for one in read_bytes(write_packed(RESULT)).delays}
    assert list(found[Trip.ROUND].lost) == pytest.approx([0.2, 0.4])
    assert list(found[Trip.UP].lost) == pytest.approx([0.2])
    assert list(found[Trip.DOWN].lost) == pytest.approx([0.4])
    assert [found[trip].lost_count for trip in (Trip.ROUND, Trip.UP, Trip.DOWN)] == [2, 1, 1]


def test_before_version_2_a_lost_probe_is_lost_somewhere() -> None:
    found = {one.trip: one for one in read_bytes(write_packed(EARLIER, 1)).delays}
    assert [found[trip].lost_count for trip in (Trip.ROUND, Trip.UP, Trip.DOWN)] == [1, 0, 0]


def test_version_0_has_delays_there_and_back_only() -> None:
    (delays,) = read_bytes(write_plain(EARLIER)).delays
    assert delays.trip is Trip.ROUND
    assert list(delays.delays) == pytest.approx([20, 50])
    assert list(delays.lost) == pytest.approx([0.2])


def test_a_result_without_transfers_is_of_the_idle_line() -> None:
    measured = read_bytes(write_packed(make_result([], PINGS)))
    assert measured.rates == ()
    assert [one.load for one in measured.phases] == [Load.IDLE]
    assert measured.senders == Senders()


def test_what_went_wrong_is_noted() -> None:
    result = make_result(
        GROUPS, PINGS, server_overload=True, load_termination_timeout=True, peer_pings=PINGS
    )
    assert read_bytes(write_packed(result)).notes == (
        "Crusader's server could not keep up",
        "a transfer of Crusader did not end in time",
        "the probes of a second computer are left out",
    )


def change(**changes: Any) -> bytes:
    return write_packed({**RESULT, **changes})


def without(key: str) -> bytes:
    return write_packed({name: value for name, value in RESULT.items() if name != key})


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (write_header(3), "expected a result of Crusader of version 0, 1 or 2, found version 3"),
        (write_header(2)[:15], "expected the header of Crusader's results (16 B), found 15 B"),
        (write_header(2), "expected a stream of Snappy after the header, found none"),
        (write_header(0), "Crusader's result ends too early, after 16 B"),
        (write_plain(EARLIER) + b"\0", "expected the end of Crusader's result after its probes"),
        (write_packed([1, 2]), "expected a map of MessagePack, found none"),
        (write_packed({1: 2}), "expected MessagePack of Crusader, found something else"),
        (without("pings"), "pings: expected a list of objects, found nothing"),
        (without("config"), "config: expected an object, found nothing"),
        (change(pings=3), "pings: expected a list of objects, found 3"),
        (change(pings=[3]), "pings[0]: expected an object, found 3"),
        (change(stream_groups=[], pings=[]), "expected transfers or probes in Crusader's result"),
        (
            change(stream_groups=[{**GROUPS[0], "both": 1}]),
            "stream_groups[0].both: expected true or false, found 1",
        ),
        (
            change(stream_groups=[make_group(True, False, [(2, 0), (1, 5)])]),
            "stream_groups[0].streams[0].data[1].time: expected no earlier time than 2 s",
        ),
        (
            change(stream_groups=[make_group(True, False, [(1, 9), (2, 5)])]),
            "stream_groups[0].streams[0].data[1].bytes: expected no fewer than 9 before it",
        ),
        (
            change(stream_groups=[make_group(True, False, [(1, 0), (2, 10**18)])]),
            "stream_groups[0].streams[0].data: expected rates of at most 1e+15 bit/s",
        ),
        (
            change(pings=[{**PINGS[0], "sent": {"secs": 1.5, "nanos": 0}}]),
            "expected a duration in whole s and ns, found something else",
        ),
        (
            change(pings=[{**PINGS[0], "sent": {"secs": 2**60, "nanos": 0}}]),
            "pings[0].sent: expected a duration, found",
        ),
        (
            change(pings=[{**PINGS[0], "sent": float("nan")}]),
            "pings[0].sent: expected a duration, found nan",
        ),
    ],
)
def test_what_is_no_result_is_refused(data: bytes, line: str) -> None:
    assert refuse(data).startswith(f"line.crr: {line}")


def test_a_length_that_does_not_fit_in_the_file_is_refused_before_a_list_is_made() -> None:
    data = bytearray(write_plain(EARLIER))
    at = 16 + 32 + 24  # after the header, the configuration and two durations
    struct.pack_into("<Q", data, at, 2**60)
    assert refuse(bytes(data)) == (
        f"line.crr: byte {at}: expected a list of {2**60}, found only {len(data) - at - 8} B for it"
    )


def test_a_damaged_chunk_is_refused() -> None:
    data = bytearray(write_packed(RESULT))
    data[-1] ^= 0xFF
    assert refuse(bytes(data)) == "line.crr: the stream of Snappy is damaged after 0 B"
    assert refuse(bytes(data[:-1])) == "line.crr: the stream of Snappy ends too early, after 0 B"


def test_a_chunk_that_claims_to_be_large_is_refused_before_it_is_unpacked() -> None:
    body = b"\0\0\0\0" + b"\xff\xff\xff\xff\x0f" + b"\0"
    chunk = b"\xff\x06\x00\x00sNaPpY" + b"\0" + len(body).to_bytes(3, "little") + body
    assert refuse(write_header(2) + chunk) == "line.crr: the stream of Snappy is damaged after 0 B"


def test_what_unpacks_to_too_much_is_refused() -> None:
    bomb = bytes(cramjam.snappy.compress(bytes(33 * 2**20)))
    assert len(bomb) < 2**21
    assert refuse(write_header(2) + bomb) == (
        "line.crr: unpacks to more than 32 MiB, which is too large for a result of Crusader"
    )


@pytest.mark.parametrize("many", [[[]] * 1_000_001, [{}] * 1_000_001])
def test_more_lists_and_maps_than_a_result_has_are_refused(many: list[Any]) -> None:
    packed = write_header(2) + bytes(
        cramjam.snappy.compress(msgpack.packb({"a": many[1:], "b": 0}))
    )
    assert refuse(packed) == (
        "line.crr: expected a result of at most 1000000 counts and probes, found more"
    )


def test_values_nested_more_deeply_than_are_read_are_refused() -> None:
    deep = b"\x91" * 100_000 + b"\x90"
    packed = write_header(2) + bytes(cramjam.snappy.compress(deep))
    assert refuse(packed) == "line.crr: expected MessagePack of Crusader, found something else"


def test_chunks_that_may_be_passed_over_are() -> None:
    padded = write_packed(RESULT) + b"\xfe\x04\x00\x00abcd"
    assert read_bytes(padded) == read_bytes(write_packed(RESULT))


def test_where_the_libraries_are_absent_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in ("cramjam", "msgpack"):
        monkeypatch.setitem(sys.modules, module, None)
    assert refuse(write_packed(RESULT)) == (
        "line.crr: reading results of Crusader needs cramjam and msgpack:"
        ' pip install "headend[measurements]"'
    )
    assert read_bytes(write_plain(EARLIER)).rates


def test_others_are_not_recognised() -> None:
    assert not recognises(open_bytes(b""))
    assert not recognises(open_bytes(b'{"version": 2}'))
    assert not recognises(open_bytes(write_header(2, MAGIC + 1)))


def test_nothing_private_is_in_the_record() -> None:
    # A result holds no address; what a later version may add is not read.
    result = {**RESULT, "server": "secret.example", "client": make_duration(4242)}
    assert read_bytes(write_packed(result)) == read_bytes(write_packed(RESULT))


@pytest.mark.skipif(SAMPLES not in os.environ, reason=f"{SAMPLES} names no folder of samples")
@pytest.mark.parametrize(
    ("name", "answered", "lost", "least", "most", "received"),
    [
        ("v0.crr", 3923, 13, 0.438, 47.593, 26_214_400),
        ("v1.crr", 3915, 9, 0.301, 46.241, 25_690_112),
        ("v2.crr", 4614, 11, 0.888, 554.418, 169_345_024),
    ],
)
def test_published_samples_have_the_numbers_that_are_known_of_them(
    name: str, answered: int, lost: int, least: float, most: float, received: int
) -> None:
    measured = read_bytes((Path(os.environ[SAMPLES]) / name).read_bytes())
    total = measured.delays[0]
    assert (len(total.delays), total.lost_count) == (answered, lost)
    assert (min(total.delays), max(total.delays)) == pytest.approx((least, most), abs=0.0005)
    alone = [
        one
        for one in measured.rates
        if one.direction is Direction.DOWN and one.flow and "both" not in one.flow
    ]
    assert sum(map(count_bytes, alone)) == pytest.approx(received)
