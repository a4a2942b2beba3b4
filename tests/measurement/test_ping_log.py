"""Tests of reading logs of ping."""

from __future__ import annotations

from pathlib import Path

import pytest

from headend.errors import InputError
from headend.measurement.content import parse_content
from headend.measurement.ping_log import PING_LOG
from headend.measurement.reading import read_measurement
from headend.measurement.record import Measurement, Probe, Trip

SAMPLES = Path(__file__).parent / "samples"

LINUX = "PING a-server.example (192.0.2.7) 56(84) bytes of data."
MAC = "PING a-server.example (192.0.2.7): 56 data bytes"


def read(*lines: str) -> Measurement:
    # A stamp in brackets may look like the begin of JSON.
    content, _ = parse_content(Path("line.json"), "\n".join([*lines, ""]).encode())
    assert PING_LOG.recognises(content)
    return PING_LOG.read(content)


def write_reply(number: int, delay: str = "10.3", stamp: str = "", after: str = "") -> str:
    return f"{stamp}64 bytes from 192.0.2.7: icmp_seq={number} ttl=57 time={delay} ms{after}"


def test_replies_of_linux_are_a_second_apart_unless_the_log_says_otherwise() -> None:
    [delays] = read(LINUX, write_reply(1), write_reply(2, "0.045"), write_reply(3, "1012")).delays
    assert list(delays.times) == [0.0, 1.0, 2.0]
    assert list(delays.delays) == [10.3, 0.045, 1012.0]
    assert (delays.trip, delays.probe) == (Trip.ROUND, Probe.ICMP)


def test_the_sum_at_the_end_tells_how_far_apart_probes_were() -> None:
    measured = read(
        LINUX,
        *[write_reply(number) for number in range(1, 11)],
        "",
        "--- a-server.example ping statistics ---",
        "11 packets transmitted, 10 received, 9.09091% packet loss, time 2000ms",
        "rtt min/avg/max/mdev = 10.300/10.300/10.300/0.000 ms",
    )
    [delays] = measured.delays
    assert list(delays.times) == pytest.approx([0.2 * number for number in range(10)])
    # The eleventh had no answer, which only the sum tells.
    assert delays.lost == pytest.approx([2.0])
    assert "The log has no times; its sum says that probes were 0.2 s apart." in measured.notes


def test_stamps_give_the_time_at_which_probes_were_sent() -> None:
    measured = read(
        LINUX,
        write_reply(1, "100", "[1700000000.200000] "),
        write_reply(2, "300", "[1700000000.900000] "),
    )
    [delays] = measured.delays
    assert measured.started == pytest.approx(1_700_000_000.1, abs=1e-6)
    assert list(delays.times) == pytest.approx([0.0, 0.5], abs=1e-6)


def test_a_gap_in_the_numbers_is_a_loss_between_its_neighbours() -> None:
    [delays] = read(
        LINUX,
        write_reply(2, "0", "[1700000001.000000] "),
        write_reply(5, "0", "[1700000004.000000] "),
    ).delays
    assert delays.lost_count == 3
    # The first, and the two between.
    assert delays.lost == pytest.approx([0.0, 2.0, 3.0])


def test_lines_that_tell_of_no_answer_are_losses_and_a_late_answer_is_none() -> None:
    [delays] = read(
        LINUX,
        write_reply(1),
        "From 192.0.2.1 icmp_seq=2 Destination Host Unreachable",
        "From 192.0.2.1 icmp_seq=3 Time to live exceeded",
        "no answer yet for icmp_seq=4",
        "no answer yet for icmp_seq=5",
        write_reply(5, "1900"),
        "no answer yet for icmp_seq=6",
    ).delays
    assert list(delays.times) == [0.0, 4.0]
    assert list(delays.lost) == [1.0, 2.0, 3.0, 5.0]


def test_a_reply_that_comes_twice_counts_once() -> None:
    measured = read(LINUX, write_reply(1), write_reply(1, "19.0", after=" (DUP!)"), write_reply(2))
    [delays] = measured.delays
    assert list(delays.delays) == [10.3, 10.3]
    assert "Replies that came twice: 1." in measured.notes


def test_a_log_of_macos_numbers_from_0_and_names_its_losses() -> None:
    [delays] = read(
        MAC,
        write_reply(0, "12.345"),
        "Request timeout for icmp_seq 1",
        "Request timeout for icmp_seq 2",
        write_reply(3, "13.5"),
        "",
        "--- a-server.example ping statistics ---",
        "4 packets transmitted, 2 packets received, 50.0% packet loss",
        "round-trip min/avg/max/stddev = 12.345/12.9/13.5/0.5 ms",
    ).delays
    assert list(delays.times) == [0.0, 3.0]
    assert list(delays.lost) == [1.0, 2.0]


def test_times_of_day_of_macos_are_used() -> None:
    measured = read(
        MAC,
        write_reply(0, "100", "12:34:56.200000 "),
        write_reply(1, "100", "12:34:56.700000 "),
    )
    assert list(measured.delays[0].times) == pytest.approx([0.0, 0.5])
    # The day is not known.
    assert measured.started is None


def test_times_of_day_may_pass_midnight() -> None:
    measured = read(
        MAC,
        write_reply(0, "100", "23:59:59.600000 "),
        write_reply(1, "100", "00:00:00.600000 "),
    )
    assert list(measured.delays[0].times) == pytest.approx([0.0, 1.0])


def test_a_log_of_busybox_is_read() -> None:
    [delays] = read(
        MAC,
        "64 bytes from 192.0.2.7: seq=0 ttl=57 time=10.100 ms",
        "64 bytes from 192.0.2.7: seq=2 ttl=57 time=10.300 ms",
    ).delays
    assert list(delays.delays) == [10.1, 10.3]
    assert list(delays.lost) == [1.0]


def test_a_log_in_another_language_is_read() -> None:
    [delays] = read(
        "PING a-server.example (192.0.2.7) 56(84) Bytes an Daten.",
        "64 Bytes von 192.0.2.7: icmp_seq=1 ttl=57 Zeit=10,3 ms",
        "64 Bytes von 192.0.2.7: icmp_seq=2 ttl=57 Zeit=11.5 ms",
    ).delays
    assert list(delays.delays) == [10.3, 11.5]


def test_a_log_of_windows_has_no_numbers_and_a_line_for_each_probe() -> None:
    [delays] = read(
        "",
        "Pinging a-server.example [192.0.2.7] with 32 bytes of data:",
        "Reply from 192.0.2.7: bytes=32 time=10ms TTL=57",
        "Request timed out.",
        "Reply from 192.0.2.7: bytes=32 time<1ms TTL=57",
        "",
        "Ping statistics for 192.0.2.7:",
        "    Packets: Sent = 3, Received = 2, Lost = 1 (33% loss),",
        "Approximate round trip times in milli-seconds:",
        "    Minimum = 1ms, Maximum = 10ms, Average = 5ms",
    ).delays
    assert list(delays.delays) == [10.0, 1.0]
    assert list(delays.times) == [0.0, 2.0]
    assert list(delays.lost) == [1.0]


def test_a_log_of_fping_is_read() -> None:
    [delays] = read(
        "[1700000000.10000] 192.0.2.7 : [0], 64 bytes, 20.1 ms (20.1 avg, 0% loss)",
        "[1700000001.10000] 192.0.2.7 : [1], timed out (20.1 avg, 50% loss)",
        "[1700000002.10000] 192.0.2.7 : [2], 64 bytes, 20.3 ms (20.2 avg, 33% loss)",
    ).delays
    assert list(delays.delays) == [20.1, 20.3]
    assert delays.lost == pytest.approx([1.0], abs=1e-3)


def test_numbers_go_on_after_65535() -> None:
    [delays] = read(write_reply(65534), write_reply(65535), write_reply(0), write_reply(2)).delays
    assert list(delays.times) == [0.0, 1.0, 2.0, 4.0]
    assert list(delays.lost) == [3.0]


def test_two_runs_in_one_log_are_two_series() -> None:
    first, second = read(LINUX, write_reply(1), write_reply(2), "", LINUX, write_reply(1)).delays
    assert list(first.times) == [0.0, 1.0]
    assert min(second.times) > 1.0
    assert second.lost_count == 0


def test_a_log_says_nothing_of_load_and_has_no_phases() -> None:
    measured = read(LINUX, write_reply(1), write_reply(2))
    assert measured.phases == ()
    assert measured.delays[0].load is None


def test_a_log_without_a_reply_is_refused() -> None:
    with pytest.raises(
        InputError, match=r"^line\.json: expected replies such as .*, found 2 probes"
    ):
        read(LINUX, "no answer yet for icmp_seq=1", "no answer yet for icmp_seq=2")
    with pytest.raises(InputError, match="found 0 probes without a reply"):
        read(LINUX)


def test_delays_and_times_that_cannot_be_are_refused() -> None:
    with pytest.raises(InputError, match="expected delays of up to an hour, found 1e"):
        read(LINUX, write_reply(1, "999999999"))
    with pytest.raises(InputError, match="expected times of one measurement"):
        read(
            LINUX,
            write_reply(1, "1", "[1.5] "),
            write_reply(2, "1", "[1700000000.5] "),
        )


def test_a_number_far_ahead_fills_no_memory() -> None:
    [delays] = read(LINUX, write_reply(1), write_reply(999_999_999)).delays
    assert delays.lost_count == 0


def test_nothing_private_is_in_the_record() -> None:
    measured = read(LINUX, write_reply(1), "From a-router.example (192.0.2.1) icmp_seq=2 x")
    for text in ("192.0.2", "a-server", "a-router"):
        assert text not in repr(measured)
    assert measured.dropped == ("addresses",)


@pytest.mark.parametrize(
    ("name", "count", "least", "most"),
    [
        ("ping.log", 3, 0.011, 0.060),
        ("ping-D.log", 4, 0.031, 0.227),
        ("ping6.log", 2, 0.036, 0.163),
        ("ping-busybox.log", 3, 0.040, 0.053),
        ("fping.log", 3, 0.020, 0.039),
    ],
)
def test_logs_of_the_programs_themselves_have_the_numbers_of_their_sums(
    name: str, count: int, least: float, most: float
) -> None:
    [delays] = read_measurement([SAMPLES / name]).delays
    assert (len(delays.delays), delays.lost_count) == (count, 0)
    assert (min(delays.delays), max(delays.delays)) == (least, most)
