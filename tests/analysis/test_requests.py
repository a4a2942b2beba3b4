"""What limits an upload whose modem asks for one burst at a time, as before DOCSIS 3.0."""

from __future__ import annotations

import pytest

import headend
from headend.analysis.requests import find_request_limit
from headend.analysis.routes import list_queues
from headend.analysis.transfer_limits import Limit, find_transfer_limits
from headend.wording.verdict import judge


def run(preset: str, **upload: object) -> headend.Result:
    """An upload on a line of 8 Mbit/s of a generation, whose MAPs are 2 ms apart."""
    return headend.run(
        {
            "duration": "10 s",
            "warmup": "3 s",
            "link": {
                "cable": {
                    "docsis": {
                        "preset": preset,
                        "upstream": {"rate": "8 Mbit/s"},
                        "downstream": {"rate": "20 Mbit/s"},
                    }
                }
            },
            "flow": {
                "upload": {"application": "bulk", "direction": "up", "rtt": "20 ms", **upload}
            },
        }
    )


def test_one_packet_in_two_maps_is_what_a_modem_of_docsis_1_0_sends() -> None:
    result = run("docsis10")
    (limit,) = find_transfer_limits(result)
    assert limit.kind is Limit.REQUESTS
    assert limit.requests is not None
    # A request takes more than one MAP interval until its grant, so two; 1518 B in 4 ms.
    assert (limit.requests.queue, limit.requests.packets) == ("cable.up", 1)
    assert limit.requests.interval_ns == pytest.approx(4e6, rel=0.01)
    assert limit.requests.rate_bps == pytest.approx(1518 * 8 / 4e-3, rel=0.02)
    answer = " ".join(judge(result).notes)
    assert (
        "the requests of its modem limit upload: one at a time, each for a packet, every 4 ms"
        in answer
    )


def test_requests_that_are_piggybacked_limit_it_too() -> None:
    (limit,) = find_transfer_limits(run("docsis20"))
    assert limit.kind is Limit.REQUESTS


def test_a_modem_with_several_requests_outstanding_has_its_rate() -> None:
    (limit,) = find_transfer_limits(run("docsis30"))
    assert (limit.kind, limit.requests) == (Limit.LINE, None)


def test_a_window_that_limits_the_sender_goes_before_the_requests() -> None:
    (limit,) = find_transfer_limits(run("docsis10", tcp={"receive_window": "4 kB"}))
    assert limit.kind is Limit.RECEIVE_WINDOW


def test_only_queues_on_the_way_count() -> None:
    result = run("docsis10")
    assert find_request_limit(result, list_queues(result, "upload", "up")) is not None
    assert find_request_limit(result, list_queues(result, "upload", "down")) is None
