"""What limits a transfer is on its own way: the line of its host, and who shares that."""

from __future__ import annotations

from typing import Any

import pytest

import headend
from headend.analysis.transfer_limits import Limit, find_control_shares, find_transfer_limits
from headend.wording.verdict import judge


def run(first: dict[str, Any], second: dict[str, Any]) -> headend.Result:
    """Two homes with a line and a download each; a third host has the first line behind a plug."""
    line = {"up": {"rate": "100 Mbit/s"}}
    return headend.run(
        {
            "duration": "8 s",
            "warmup": "3 s",
            "link": {
                "slow": {"point_to_point": {**line, "down": {"rate": "4 Mbit/s"}}},
                "fast": {"point_to_point": {**line, "down": {"rate": "20 Mbit/s"}}},
                "plug": {"point_to_point": {**line, "down": {"rate": "10 Mbit/s"}}},
            },
            "host": {
                "one": {"via": ["slow"]},
                "two": {"via": ["fast"]},
                "three": {"via": ["plug", "fast"]},
            },
            "flow": {
                name: {"application": "bulk", "direction": "down", "rtt": "20 ms", **own}
                for name, own in {"first": first, "second": second}.items()
            },
        }
    )


def test_the_line_of_a_transfer_is_that_of_its_host() -> None:
    limits = find_transfer_limits(run({"host": "one"}, {"host": "two"}))
    assert [(limit.flow, limit.kind) for limit in limits] == [
        ("first", Limit.LINE),
        ("second", Limit.LINE),
    ]
    assert [limit.line and limit.line.name for limit in limits] == ["slow.down", "fast.down"]
    assert [limit.links for limit in limits] == [1, 1]


def test_of_a_chain_the_full_line_limits() -> None:
    (limit, _) = find_transfer_limits(run({"host": "three"}, {"host": "one"}))
    assert limit.line is not None
    assert (limit.line.name, limit.line.rate_bps, limit.links) == ("plug.down", 10e6, 2)


def test_controls_are_compared_on_one_line_only() -> None:
    bbr = {"host": "two", "tcp": {"congestion": "bbr"}}
    assert find_control_shares(run({"host": "one"}, bbr)) is None
    assert find_control_shares(run({"host": "two"}, bbr)) is not None


def test_both_queues_of_an_aggregate_are_one_line() -> None:
    cubic = {"application": "bulk", "direction": "up", "rtt": "10 ms"}
    prague = {**cubic, "tcp": {"congestion": "prague"}}
    docsis = {"preset": "docsis31", "upstream": {"rate": "20 Mbit/s", "low_latency": "on"}}
    result = headend.run(
        {
            "duration": "15 s",
            "warmup": "5 s",
            "link": {"cable": {"docsis": docsis}},
            "flow": {"backup": prague, "photos": cubic},
        }
    )
    limits = find_transfer_limits(result)
    assert [limit.line and limit.line.name for limit in limits] == ["cable.up", "cable.up"]
    most, least, line = find_control_shares(result) or pytest.fail("no shares")
    assert {most.control, least.control} == {"prague", "cubic"}
    assert line.name == "cable.up"


def test_notes_name_the_line_and_who_yields() -> None:
    ledbat = {"host": "two", "tcp": {"congestion": "ledbat"}}
    notes = " ".join(judge(run({"host": "two"}, ledbat)).notes)
    assert "first has its share of fast.down (20 Mbit/s)" in notes
    assert "Second (LEDBAT) yields to first, as it is meant to" in notes


def test_a_target_that_the_queue_does_not_reach_is_no_reason_to_yield() -> None:
    def notes(queue: dict[str, Any]) -> str:
        line = {"up": {"rate": "5 Mbit/s", "queue": queue}, "down": {"rate": "50 Mbit/s"}}
        bulk = {"application": "bulk", "direction": "up", "rtt": "20 ms"}
        flows = {"backup": {**bulk, "tcp": {"congestion": "ledbat_plus_plus"}}, "upload": bulk}
        result = headend.run(
            {
                "duration": "40 s",
                "warmup": "10 s",
                "link": {"line": {"point_to_point": line}},
                "flow": flows,
            }
        )
        return " ".join(judge(result).notes)

    # PIE aims at 15 ms, and LEDBAT++ at 60 ms.
    short = notes({"pie": {}})
    assert "yields" not in short
    assert "Backup (LEDBAT++) grows slowly and pauses from time to time" in short
    assert "less than the target of 60 ms above which it would give way" in short
    assert "Backup (LEDBAT++) yields to upload" in notes({"drop_tail": {"limit": "250 ms"}})


def test_losses_of_the_path_are_told_of_a_sender_that_they_do_not_hold_back() -> None:
    def limit(control: str, loss: str) -> Any:
        upload = {
            "application": "bulk",
            "direction": "up",
            "rtt": "60 ms",
            "path": {"loss": loss},
            "tcp": {"congestion": control},
        }
        line = {"up": {"rate": "10 Mbit/s"}, "down": {"rate": "50 Mbit/s"}}
        result = headend.run(
            {
                "duration": "20 s",
                "warmup": "5 s",
                "link": {"line": {"point_to_point": line}},
                "flow": {"upload": upload},
            }
        )
        return find_transfer_limits(result)[0], " ".join(judge(result).notes)

    found, notes = limit("bbr", "0.01")
    assert found.kind is Limit.LINE
    # 1/sqrt(p) laws: CUBIC gets about 2 Mbit/s with a loss of 1 % over 60 ms and a queue.
    assert found.cubic_bps is not None
    assert 1e6 < found.cubic_bps < 4e6
    assert "of its packets, with which CUBIC would get about" in notes
    assert "BBR is not held back by them" in notes
    found, notes = limit("bbr", "0")
    assert found.cubic_bps is None
    assert "CUBIC" not in notes


def run_window(**tcp: Any) -> headend.Result:
    """A transfer with a window or buffer beside one that keeps a queue of 300 ms standing."""
    bulk = {"application": "bulk", "direction": "up", "rtt": "20 ms"}
    up = {"rate": "10 Mbit/s", "queue": {"drop_tail": {"limit": "300 ms"}}}
    return headend.run(
        {
            "duration": "40 s",
            "warmup": "10 s",
            "link": {"line": {"point_to_point": {"up": up, "down": {"rate": "50 Mbit/s"}}}},
            "flow": {"backup": bulk, "old": {**bulk, "tcp": tcp}},
        }
    )


@pytest.mark.parametrize(
    ("tcp", "window", "buffer"),
    [
        ({"receive_window": "64 KiB"}, "64 KiB", ""),
        # RFC 7323 §2.2 without the option: 65,535 B, of which its congestion window has all.
        ({"system": "windows_xp"}, "64 KiB", ""),
        ({"system": "freebsd4"}, "56 KiB", ""),
        # 158/256 of a buffer can be offered: 79 of 128.
        ({"receive_buffer": "128 KiB"}, "79 KiB", "128 KiB"),
    ],
)
def test_a_window_in_a_standing_queue_is_the_limit(
    tcp: dict[str, Any], window: str, buffer: str
) -> None:
    (old,) = (own for own in find_transfer_limits(run_window(**tcp)) if own.flow == "old")
    assert (old.kind, old.window, old.buffer) == (Limit.RECEIVE_WINDOW, window, buffer)
    assert (old.slow_queue, old.are_acks) == ("line.up", False)
    assert old.rtt_ns is not None
    assert 0.5 * old.rtt_ns < old.wait_ns < old.rtt_ns
    assert old.allowed_bps is not None
    # It loses packets to the queue too.
    assert 0.85 * old.allowed_bps < old.goodput_bps <= old.allowed_bps


def test_a_window_that_is_not_reached_is_no_limit() -> None:
    (old,) = (
        own for own in find_transfer_limits(run_window(receive_window="1 MiB")) if own.flow == "old"
    )
    assert old.kind is Limit.LINE


@pytest.mark.parametrize("rtt", ["10 ms", "80 ms", "600 ms"])
@pytest.mark.parametrize(
    "tcp",
    [
        {"receive_window": "64 KiB"},
        {"receive_window": "250 KiB", "delayed_ack": "0 s"},
        {"receive_buffer": "256 KiB"},
        {"send_buffer": "128 KiB"},
    ],
)
def test_what_a_window_allows_is_a_bound(tcp: dict[str, Any], rtt: str) -> None:
    direction = {"rate": "1 Gbit/s"}
    result = headend.run(
        {
            "duration": "15 s",
            "warmup": "5 s",
            "link": {"line": {"point_to_point": {"up": direction, "down": direction}}},
            "flow": {"upload": {"application": "bulk", "direction": "up", "rtt": rtt, "tcp": tcp}},
        }
    )
    (limit,) = find_transfer_limits(result)
    assert limit.allowed_bps is not None
    # At most one window more or less arrives within the measured time than is sent in it.
    edge = 1 + (limit.rtt_ns or 0.0) / 10e9
    assert 0.6 * limit.allowed_bps < limit.goodput_bps <= edge * limit.allowed_bps


def test_the_window_is_told_with_the_queue_that_its_round_trip_is() -> None:
    notes = " ".join(judge(run_window(receive_buffer="128 KiB")).notes)
    assert (
        "the receive window limits old: 79 KiB of the buffer's 128 KiB in each round trip" in notes
    )
    assert "and for most of that packets wait in line.up (2" in notes
