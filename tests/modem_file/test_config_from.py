"""Tests of the configuration file that is made of a scenario's modem."""

from collections.abc import Mapping
from typing import Any

import pytest

from headend.errors import InputError
from headend.modem_file.export import write_for
from headend.scenario.source import Loaded, read_scenario

LINE: dict[str, Any] = {
    "preset": "docsis31",
    "upstream": {"rate": "10 Mbit/s", "queue": {"drop_tail": {"limit": "250 ms"}}},
    "downstream": {"rate": "100 Mbit/s"},
}
FLOW = {"call": {"application": "voice"}}


def loaded(line: Mapping[str, Any] = LINE) -> Loaded:
    scenario = {"duration": "5 s", "link": {"cable": {"docsis": line}}, "flow": FLOW}
    return read_scenario(scenario).load()


def test_a_file_ends_with_its_checks_its_end_and_pads() -> None:
    content, notes = write_for(loaded(), secret=b"DOCSIS")
    assert not any("CMTS MIC" in note for note in notes)
    body, rest = content.split(bytes([6, 16]), 1)
    assert body.endswith(bytes.fromhex("0904 00000be4"))
    assert rest[16:18] == bytes([7, 16])
    assert rest[34:].rstrip(b"\0") == b"\xff"
    assert len(content) % 4 == 0


def test_the_buffer_of_the_queue_is_the_target_of_buffer_control() -> None:
    content, _ = write_for(loaded(), secret=b"")
    # 250 ms at 10 Mbit/s; AQM is disabled, so that the queue drops at its tail.
    assert bytes.fromhex("2306 0204 0004c4b4 2803 0101 01") in content


def test_without_a_secret_the_file_has_no_cmts_mic_and_a_note_says_so() -> None:
    content, notes = write_for(loaded())
    assert bytes([7, 16]) not in content[-24:]
    assert content.rstrip(b"\0")[-1] == 255
    assert any("CMTS MIC" in note for note in notes)


def test_an_unknown_modem_is_an_error_with_the_names_that_there_are() -> None:
    with pytest.raises(InputError, match=r'^scenario: modem: .*"home".*"cable"'):
        write_for(loaded(), "home")


def test_a_class_is_named_in_place_of_its_values() -> None:
    tier = {"upstream": {"rate": "7 Mbit/s"}, "downstream": {"rate": "70 Mbit/s"}}
    line = {"service_class": {"gold": tier}, "modem": {"home": {"service_class": "gold"}}}
    scenario = {
        "duration": "5 s",
        "link": {"cable": {"docsis": line}},
        "host": {"desk": {"via": ["cable.home"]}},
        "flow": {"call": {"application": "voice", "host": "desk"}},
    }
    by_values, _ = write_for(read_scenario(scenario).load(), secret=b"")
    by_class, _ = write_for(read_scenario(scenario).load(), secret=b"", by_class=True)
    rate, name = bytes.fromhex("0804 006acfc0"), b"\x04\x05gold\0"
    assert rate in by_values
    assert name not in by_values
    assert rate not in by_class
    assert by_class.count(name) == 2
