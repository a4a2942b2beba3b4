"""Tests of reading what Apple's networkQuality prints."""

from __future__ import annotations

from typing import Any

import pytest

from headend.errors import InputError
from headend.measurement.network_quality import read, recognises
from headend.measurement.record import (
    Direction,
    Load,
    Measurement,
    Probe,
    Quantity,
    Senders,
    Statistic,
    Summary,
    Trip,
)
from measurement.contents import make_content

#: A capture of macOS 27, its arrays cut; private fields made up.
PARALLEL: dict[str, Any] = {
    "base_rtt": 17.809663772583008,
    "cli_options": ["-c", "-C", "https://secret.example/nq"],
    "dl_bytes_transferred": 988658122,
    "dl_flows": 10,
    "dl_throughput": 361439456,
    "end_date": "2026-10-07 04:26:20.940",
    "il_h2_req_resp": [12.910962104797363, 14.56904411315918],
    "il_tcp_handshake_443": [13, 12],
    "il_tls_handshake": [19, 23],
    "interface_name": "secret0",
    "lud_foreign_h2_req_resp": [40, 62, 31],
    "lud_foreign_tcp_handshake_443": [14, 42],
    "lud_foreign_tls_handshake": [35, 26],
    "lud_self_h2_req_resp": [29, 66, 21],
    "os_version": "Version 27.2 (Build 26SECRET)",
    "other": {
        "ecn_values": {"ecn_classic": 457},
        "interface-type": {"wifi": 457},
        "l4s_enablement": {"enabled": 457},
        "protocols_seen": {"h2": 457},
        "proxy_state": {"not_proxied": 457},
    },
    "responsiveness": 215.51217651367188,
    "start_date": "2026-10-07 04:25:59.084",
    "test_endpoint": "secret-edge.example",
    "ul_bytes_transferred": 842006528,
    "ul_flows": 14,
    "ul_throughput": 319803552,
}

#: A capture of ``-s``, trimmed, with arrays as such runs name them.
SEQUENTIAL: dict[str, Any] = {
    "base_rtt": 84.644615173339844,
    "dl_flows": 9,
    "dl_responsiveness": 258.472412109375,
    "dl_throughput": 150006896,
    "ul_flows": 16,
    "ul_responsiveness": 24.104991912841797,
    "ul_throughput": 40517048,
    "lud_foreign_dl_h2_req_resp": [120, 130],
    "lud_foreign_ul_h2_req_resp": [1900],
    "lud_self_dl_h2_req_resp": [200],
    "lud_self_ul_h2_req_resp": [2400],
}

#: A run that failed.
FAILED: dict[str, Any] = {
    "end_date": "2024-07-25 20:40:27.073",
    "error_code": -1009,
    "error_domain": "NSURLErrorDomain",
    "os_version": "Version 14.5 (Build 23F79)",
    "other": {},
    "start_date": "2024-07-25 20:40:26.933",
}


def read_value(value: dict[str, Any], **changes: Any) -> Measurement:
    content = make_content({**value, **changes})
    assert recognises(content)
    return read(content)


def refuse(value: dict[str, Any], **changes: Any) -> str:
    with pytest.raises(InputError) as error:
        read_value(value, **changes)
    return str(error.value)


def list_delays(measured: Measurement) -> list[tuple[Load | None, Probe, list[float]]]:
    return [(one.load, one.probe, list(one.delays)) for one in measured.delays]


def test_a_parallel_run_loads_both_directions() -> None:
    measured = read_value(PARALLEL)
    rate, delay = Quantity.RATE, Quantity.DELAY
    assert measured.summaries == (
        Summary(rate, Statistic.MEAN, 361439456, Load.BOTH, Direction.DOWN),
        Summary(rate, Statistic.MEAN, 319803552, Load.BOTH, Direction.UP),
        Summary(delay, Statistic.MEAN, 17.809663772583008, Load.IDLE, probe=Probe.REQUEST),
        Summary(delay, Statistic.MEAN, 60_000 / 215.51217651367188, Load.BOTH),
    )
    assert measured.senders == Senders(up=14, down=10)
    assert measured.tools == ("networkQuality of macOS 27.2",)
    assert measured.medium == "wifi"


def test_delays_of_foreign_probes_are_told_from_those_in_the_loading_flows() -> None:
    assert list_delays(read_value(PARALLEL)) == [
        (Load.IDLE, Probe.REQUEST, [12.910962104797363, 14.56904411315918]),
        (Load.IDLE, Probe.REQUEST, [13, 12]),
        (Load.IDLE, Probe.REQUEST, [19, 23]),
        (Load.BOTH, Probe.REQUEST, [40, 62, 31]),
        (Load.BOTH, Probe.REQUEST, [14, 42]),
        (Load.BOTH, Probe.REQUEST, [35, 26]),
        (Load.BOTH, Probe.IN_FLOW, [29, 66, 21]),
    ]
    assert all(not one.times and one.trip is Trip.ROUND for one in read_value(PARALLEL).delays)


def test_a_sequential_run_loads_one_direction_after_the_other() -> None:
    measured = read_value(SEQUENTIAL)
    loads = {(one.quantity, one.load): one.value for one in measured.summaries}
    assert loads[Quantity.RATE, Load.DOWN] == 150006896
    assert loads[Quantity.RATE, Load.UP] == 40517048
    assert loads[Quantity.DELAY, Load.DOWN] == pytest.approx(60_000 / 258.472412109375)
    assert loads[Quantity.DELAY, Load.UP] == pytest.approx(60_000 / 24.104991912841797)
    assert list_delays(measured) == [
        (Load.DOWN, Probe.REQUEST, [120, 130]),
        (Load.UP, Probe.REQUEST, [1900]),
        (Load.DOWN, Probe.IN_FLOW, [200]),
        (Load.UP, Probe.IN_FLOW, [2400]),
    ]


def test_a_run_of_one_direction_loads_that_one() -> None:
    value = {"base_rtt": 20, "ul_throughput": 40e6, "lud_foreign_h2_req_resp": [90]}
    measured = read_value(value)
    assert measured.summaries[0].load is Load.UP
    assert [one.load for one in measured.delays] == [Load.UP]


def test_a_run_without_any_round_trip_has_no_delay_of_responsiveness() -> None:
    measured = read_value(SEQUENTIAL, ul_responsiveness=0)
    assert (Quantity.DELAY, Load.UP) not in [(one.quantity, one.load) for one in measured.summaries]


def test_a_run_that_failed_is_refused() -> None:
    assert refuse(FAILED) == (
        "line.json: expected a result of networkQuality, found that the run failed"
        " (NSURLErrorDomain -1009)"
    )


def test_a_proxy_is_noted() -> None:
    assert (
        "the test went through a proxy"
        in read_value(PARALLEL, other={"proxy_state": {"proxied": 3}}).notes
    )


def test_nothing_private_is_in_the_record_and_what_was_dropped_is_named() -> None:
    measured = read_value(PARALLEL)
    assert "secret" not in repr(measured).lower()
    assert "2026-10" not in repr(measured)
    assert measured.dropped == (
        "interface_name",
        "test_endpoint",
        "cli_options",
        "start_date",
        "end_date",
    )


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"dl_throughput": "fast"}, 'dl_throughput: expected a rate in bit/s, found "fast"'),
        ({"base_rtt": -1}, "base_rtt: expected a time in ms, found -1"),
        (
            {"lud_foreign_h2_req_resp": [40, None]},
            "lud_foreign_h2_req_resp[1]: expected a time in ms, found null",
        ),
        (
            {"lud_self_h2_req_resp": 3},
            "lud_self_h2_req_resp: expected a list of times in ms, found 3",
        ),
        ({"other": []}, "other: expected an object, found a list"),
        ({"dl_flows": 1e6}, "dl_flows: expected a number of connections, found 1000000.0"),
    ],
)
def test_a_field_that_is_not_what_it_must_be_is_refused(changes: dict[str, Any], line: str) -> None:
    assert refuse(PARALLEL, **changes) == f"line.json: {line}"


def test_a_result_without_numbers_is_refused() -> None:
    assert refuse({"dl_throughput": 0}).startswith("line.json: expected rates and delays")


@pytest.mark.parametrize("value", [{}, [], 3, {"base_rtt": 3}, {"error_code": 3}])
def test_others_are_not_recognised(value: object) -> None:
    assert not recognises(make_content(value))
