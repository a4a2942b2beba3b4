"""A weak signal as the cause of losses: what is told of it, and where nothing is."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import pytest

import headend
from headend.analysis.diagnosis import diagnose
from headend.analysis.facts import Action, Unexplained, WeakSignal
from headend.analysis.queues import LOSSY_SHARE
from headend.analysis.signal import find_lost_signal
from headend.results.record import Record
from headend.running.advice import try_advice
from headend.running.experiment import plan_run
from headend.wording.run import answer_run
from headend.wording.verdict import judge

CALL = {"host": "phone", "application": "voice", "rtt": "30 ms"}
FALLS = {"steps": [["0 s", "35 dB"], ["10 s", "-1 dB"]]}


def run_home(phone: Mapping[str, Any], cell: Mapping[str, Any] | None = None) -> Record:
    """Run a call over a cell of 802.11ax and a modem; a laptop beside the phone is near."""
    stations = {"laptop": {}, "phone": dict(phone)}
    line = {
        "preset": "docsis31",
        "upstream": {"rate": "50 Mbit/s"},
        "downstream": {"rate": "500 Mbit/s"},
    }
    scenario: dict[str, Any] = {
        "duration": "25 s",
        "warmup": "5 s",
        "link": {
            "wifi": {"dot11ax": {"station": stations, **(cell or {})}},
            "cable": {"docsis": line},
        },
        "host": {name: {"via": [f"wifi.{name}", "cable"]} for name in stations},
        "flow": {"call": CALL},
    }
    return headend.run(scenario)


def count_given_up(record: Record) -> int:
    """Count the packets that the radio gave up, of all flows."""
    return sum(row["discarded_retry_limit"] for row in record.rows("flows"))


def list_guilty(record: Record) -> list[str]:
    """List the links to blame."""
    hops = diagnose(record).hops
    return [hop.link for hop in hops.guilty] if hops else []


def test_a_signal_that_falls_is_the_cause_with_its_level_and_time() -> None:
    record = run_home({"snr": FALLS})
    told = answer_run(record).sentences
    given_up = f"{count_given_up(record):,} packets of call are given up"
    reason = (
        f"It is the Wi-Fi, not the modem: phone's signal falls to −1 dB at 10 s, and {given_up}"
    )
    assert reason in told[0]
    assert told[1] == "Phone loses less nearer to the access point, or near a second one."
    assert list_guilty(record) == ["wifi"]


def test_a_signal_that_falls_leaves_no_advice_to_look_elsewhere() -> None:
    record = run_home({"snr": FALLS})
    found = diagnose(record)
    assert not any(isinstance(fact, Unexplained) for fact in found.facts)
    # Nor that to look at how many send at once.
    assert "the medium gave up" not in judge(record).paragraph
    remedies = [own.action for cause in found.causes for own in cause.remedies]
    assert Action.LOOK_ELSEWHERE not in remedies
    assert "Phone's signal falls to −1 dB" in judge(record).paragraph


@pytest.mark.parametrize(
    ("snr", "words"),
    [
        ({"steps": [["0 s", "-1 dB"], ["15 s", "35 dB"]]}, "phone's signal is −1 dB at its lowest"),
        ({"steps": [["0 s", "-9 dB"], ["4 s", "-1 dB"]]}, "phone's signal is −1 dB, and"),
        ({**FALLS, "period": "12 s"}, "phone's signal is −1 dB at its lowest"),
    ],
)
def test_the_lowest_signal_of_the_measured_time_is_told(snr: dict[str, Any], words: str) -> None:
    assert words in answer_run(run_home({"snr": snr})).sentences[0]


def test_a_mode_that_the_signal_does_not_carry_is_to_be_left_out() -> None:
    record = run_home({"snr": "9 dB", "mcs": 9})
    nothing, why = answer_run(record).sentences
    assert nothing.startswith("Nothing was delivered")
    assert "It is the Wi-Fi, not the modem: phone's MCS 9 does not pass at 9 dB, and" in why
    assert "Leave link.wifi.dot11ax.station.phone.mcs out: rate control then chooses" in why
    assert list_guilty(record) == ["wifi"]


def test_without_that_mode_rate_control_finds_one_that_passes() -> None:
    """The remedy holds: the same signal carries the call then."""
    record = run_home({"snr": "9 dB"})
    assert not any(isinstance(cause, WeakSignal) for cause in diagnose(record).causes)
    assert judge(record).findings[0].word == "good"


def test_the_mode_of_the_cell_does_not_hold_a_station_with_a_signal() -> None:
    record = run_home({"snr": FALLS}, {"mcs": 9})
    assert "phone's signal falls to −1 dB" in answer_run(record).sentences[0]


def test_a_station_out_of_reach_hears_nothing() -> None:
    record = run_home({"snr": "-5 dB"})
    _, why = answer_run(record).sentences
    reason = "It is the Wi-Fi, not the modem: phone hears nothing of the access point at −5 dB."
    assert why.startswith(reason)
    assert list_guilty(record) == ["wifi"]


def test_a_member_of_a_group_of_stations_has_the_signal_of_its_group() -> None:
    record = run_home({"snr": "-5 dB", "count": 2})
    found = find_lost_signal(record, "call.1")
    assert found
    assert (found.station, found.level_db) == ("phone.1", -5.0)


def test_nothing_is_said_of_a_signal_that_loses_nothing() -> None:
    for phone in ({"snr": "35 dB"}, {"snr": "35 dB", "frame_errors": "0.1"}):
        record = run_home(phone)
        assert not any(isinstance(cause, WeakSignal) for cause in diagnose(record).causes)
        assert "signal" not in " ".join(answer_run(record).sentences)
        assert not list_guilty(record)


def test_a_signal_is_not_the_cause_of_what_stations_lose_that_are_not_heard() -> None:
    record = run_home({"snr": FALLS, "hidden_from": ["laptop"]})
    assert count_given_up(record)
    assert find_lost_signal(record, "call") is None


def test_a_signal_is_not_the_cause_where_the_modem_makes_packets_wait() -> None:
    """The signal breaks some frames, and the call is late behind an upload in the modem."""
    record = run_slow_modem()
    found = find_lost_signal(record, "call")
    assert found
    assert found.given_up_ratio > LOSSY_SHARE
    assert judge(record).groups[0].worst.symptom == "late"
    assert list_guilty(record) == ["cable"]


def run_slow_modem() -> Record:
    """Run a call with a weak signal behind a modem in which an upload stands."""
    queue = {"drop_tail": {"limit": "500 ms"}}
    stations: dict[str, Any] = {"laptop": {}, "phone": {"frame_errors": "0.7"}}
    scenario: dict[str, Any] = {
        "duration": "25 s",
        "warmup": "5 s",
        "link": {
            "wifi": {"dot11ax": {"station": stations}},
            "cable": {
                "docsis": {
                    "preset": "docsis30",
                    "upstream": {"rate": "5 Mbit/s", "queue": queue},
                    "downstream": {"rate": "100 Mbit/s"},
                }
            },
        },
        "host": {name: {"via": [f"wifi.{name}", "cable"]} for name in stations},
        "flow": {
            "call": CALL,
            "put": {"host": "laptop", "application": "bulk", "direction": "up", "rtt": "30 ms"},
        },
    }
    return headend.run(scenario)


def run_beside(kind: str, errors: str) -> headend.Result:
    """Run a call over a station of which frames break, beside a download, with its trials."""
    stations: dict[str, Any] = {"laptop": {}, "phone": {"frame_errors": errors}}
    get = {"host": "laptop", "application": "bulk", "direction": "down", "rtt": "20 ms"}
    scenario = {
        "duration": "15 s",
        "warmup": "5 s",
        "link": {
            "wifi": {kind: {"station": stations}},
            "line": {"point_to_point": {"up": {"rate": "50 Mbit/s"}, "down": {"rate": "1 Gbit/s"}}},
        },
        "host": {name: {"via": [f"wifi.{name}", "line"]} for name in stations},
        "flow": {"call": {**CALL, "application": "video_call"}, "get": get},
    }
    plan = plan_run(scenario, [])
    result = plan.carry_out()
    trials = try_advice(plan, result, threading.Event())
    result.manifest["advice"] = [trial.to_dict() for trial in trials]
    return result


@pytest.mark.parametrize(("kind", "errors"), [("dot11g", "75 %"), ("dot11b", "60 %")])
def test_where_frames_of_a_station_break_a_setting_is_not_all_of_the_advice(
    kind: str, errors: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headend.running.advice.LEAST_SECONDS", 600.0)
    record = run_beside(kind, errors)
    advice = answer_run(record).sentences[1]
    assert advice.startswith("Phone loses less nearer to the access point, or near a second one. ")
    assert "--set link.wifi." in advice


def test_a_station_that_cannot_send_anything_is_the_cause() -> None:
    """Nothing reaches it, so that it has nothing to answer."""
    get = {"host": "old", "application": "bulk", "direction": "down", "rtt": "20 ms"}
    scenario = dict(run_home({}).manifest["scenario"])
    scenario["link"]["wifi"]["dot11ax"]["station"]["old"] = {"frame_errors": "99 %"}
    scenario["host"]["old"] = {"via": ["wifi.old", "cable"]}
    scenario["flow"]["get"] = get
    [cause] = diagnose(headend.run(scenario)).causes
    assert isinstance(cause, WeakSignal)
    assert cause.signal.station == "old"
