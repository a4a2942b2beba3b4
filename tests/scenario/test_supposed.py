"""Tests of what a run says of a modem's file that has neither AQM encodings nor a buffer."""

from __future__ import annotations

from collections.abc import Mapping

from headend.scenario.supposed import describe_supposed
from modem_files import buffer, flow, make_file, tlv, u8

KEY = "link.cable.docsis.config"


def describe(queue: Mapping[str, object], preset: str = "docsis31", *more: bytes) -> str:
    """Say what is supposed of a modem with this queue and a file with these encodings."""
    docsis = {"preset": preset, "upstream": {"queue": queue}}
    return describe_supposed(
        {"link": {"cable": {"docsis": docsis}}}, KEY, make_file(flow(24, *more))
    )


def test_the_rule_of_the_generation_is_named() -> None:
    pie = {"docsis_pie": {"limit": "62.5 kB"}}
    assert describe(pie, "docsis31", buffer(62_500)) == (
        "24.40 absent: docsis31 has DOCSIS-PIE on (10 ms)"
    )
    assert describe({"docsis_pie": {"limit": "250 ms"}}) == (
        "24.40 absent: docsis31 has DOCSIS-PIE on (10 ms); 24.35 absent: docsis31 has a buffer of"
        " 250 ms"
    )
    control = {"buffer_control": {"target": "62.5 kB"}}
    assert describe(control, "docsis30", buffer(62_500)) == "24.40 absent: docsis30 has no AQM"
    assert describe(pie, "docsis31", buffer(62_500), tlv(40, u8(1, 0))) == ""
    assert describe({"docsis_pie": {"limit": "250 ms"}}, "docsis31", buffer(least=24_576)) == (
        "24.40 absent: docsis31 has DOCSIS-PIE on (10 ms); 24.35.2 absent: docsis31 has a buffer of"
        " 250 ms, within the bounds"
    )


def test_a_queue_that_no_file_can_name_is_told() -> None:
    assert describe({"codel": {"limit": "62.5 kB"}}, "docsis31", buffer(62_500)) == (
        "24.40 absent: docsis31 has DOCSIS-PIE on (10 ms), but the scenario writes its queue, which"
        " stays: codel runs; 24.40.1 = 0 turns DOCSIS-PIE on"
    )
    assert describe({"docsis_pie": {"limit": "62.5 kB"}}, "docsis30", buffer(62_500)) == (
        "24.40 absent: docsis30 has no AQM, but the scenario writes its queue, which stays:"
        " docsis_pie runs; 24.40.1 = 1 turns it off"
    )
    content, docsis = make_file(), {"preset": "docsis31", "upstream": {"queue": {"codel": {}}}}
    scenario = {"link": {"cable": {"docsis": docsis}}}
    assert describe_supposed(scenario, KEY, content, [("queue", "codel")]) == ""
