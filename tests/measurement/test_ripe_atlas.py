"""Tests of reading ping results of RIPE Atlas."""

from __future__ import annotations

from typing import Any

import pytest

from headend.errors import InputError
from headend.measurement.record import Measurement, Probe
from headend.measurement.ripe_atlas import RIPE_ATLAS
from measurement.contents import make_content


def make_result(at: int = 1_700_000_000, *packets: Any, **more: Any) -> dict[str, Any]:
    return {
        "fw": 5080,
        "type": "ping",
        "proto": "ICMP",
        "prb_id": 31337,
        "msm_id": 424242,
        "from": "192.0.2.7",
        "src_addr": "192.0.2.8",
        "dst_addr": "198.51.100.9",
        "dst_name": "a-server.example",
        "timestamp": at,
        "result": list(packets),
        **more,
    }


def read(*results: dict[str, Any]) -> Measurement:
    content = make_content(*results)
    assert RIPE_ATLAS.recognises(content)
    return RIPE_ATLAS.read(content)


def test_packets_of_each_result_are_read_in_order_of_time() -> None:
    later = make_result(1_700_000_240, {"rtt": 11.5}, {"x": "*"}, {"rtt": 12.5})
    first = make_result(1_700_000_000, {"rtt": 10.5}, {"rtt": 10.75}, {"error": "x"})
    measured = read(later, first)
    [delays] = measured.delays
    assert delays.probe is Probe.ICMP
    assert list(delays.times) == [0.0, 1.0, 240.0, 242.0]
    assert list(delays.delays) == [10.5, 10.75, 11.5, 12.5]
    assert list(delays.lost) == [2.0, 241.0]
    assert measured.started == 1_700_000_000
    assert measured.phases == ()


def test_answers_that_came_twice_or_late_are_no_packets() -> None:
    [delays] = read(
        make_result(0, {"rtt": 10.0}, {"rtt": 10.1, "dup": 1}, {"late": 2}, {"rtt": 11.0})
    ).delays
    assert list(delays.delays) == [10.0, 11.0]
    assert list(delays.times) == [0.0, 1.0]


def test_results_of_several_probes_are_refused() -> None:
    with pytest.raises(InputError, match="expected results of one probe, found those of 2"):
        read(make_result(0, {"rtt": 1.0}), make_result(0, {"rtt": 1.0}, prb_id=1))


@pytest.mark.parametrize(
    ("result", "error"),
    [
        (make_result(0), "expected packets that were answered, found none"),
        (make_result(0, {"x": "*"}), "expected packets that were answered, found none"),
        (make_result(0, {"rtt": -1}), "result[0].rtt: expected a delay in ms, found -1"),
        (make_result(0, 3), "result[0]: expected an object, found 3"),
        (make_result(0, result={}), "result: expected a list of objects, found an object"),
        (make_result(0, timestamp="now"), 'timestamp: expected s since 1970, found "now"'),
    ],
)
def test_what_is_wrong_in_a_result_is_one_clear_error(result: dict[str, Any], error: str) -> None:
    with pytest.raises(InputError) as raised:
        read(result)
    assert str(raised.value) == f"line.json: {error}"


def test_nothing_private_is_in_the_record() -> None:
    measured = read(make_result(0, {"rtt": 10.0}))
    for text in ("31337", "424242", "192.0.2", "198.51.100.9", "a-server"):
        assert text not in repr(measured)
    assert measured.dropped == ("prb_id", "msm_id", "from", "src_addr", "dst_addr", "dst_name")
