"""Tests of changing the buffer, the AQM and low latency in a modem's file."""

from __future__ import annotations

import pytest

from headend.errors import InputError
from headend.modem_file.diff import diff
from headend.modem_file.document import read_document
from headend.modem_file.editing import carry_low_latency, carry_queue
from headend.modem_file.export import write_for
from headend.modem_file.integrity import sign, verify
from headend.modem_file.settings import Settings, read_settings
from headend.scenario.source import read_scenario
from modem_files import SECRET, UP, buffer, build, classifier, flow, tlv, u8, u16, u32


def export(**upstream: object) -> bytes:
    """The file of a line with 10 Mbit/s upstream, written by the engine."""
    low: dict[str, object] = {"low_latency": {}} if "low_latency" in upstream else {}
    line = {
        "preset": "docsis31",
        "upstream": {"rate": "10 Mbit/s", **upstream},
        "downstream": {"rate": "100 Mbit/s", **low},
    }
    scenario = {
        "duration": "5 s",
        "link": {"cable": {"docsis": line}},
        "flow": {"call": {"application": "voice"}},
    }
    return write_for(read_scenario(scenario).load(), secret=b"")[0]


LOW_LATENCY = export(low_latency={})
BUFFER = export(queue={"buffer_control": {"target": "24 KiB"}})
AQM = export(queue={"docsis_pie": {"target": "15 ms"}})

DOWN_2 = flow(25, reference=2, rate=100_000_000)


def settings_of(content: bytes) -> Settings:
    return read_settings(read_document(content))


def changed(old: bytes, new: bytes) -> set[str | None]:
    return {change.path for change in diff(old, new)}


def test_bounds_of_the_buffer_that_the_setting_does_not_have_go() -> None:
    old = build(up=flow(24, buffer(62_500, 50_000, 100_000)))
    new = carry_queue(old, BUFFER)
    (first,) = settings_of(new).list_flows("up")
    assert first.target_buffer is not None
    assert first.target_buffer.value == 24 * 1024
    assert first.minimum_buffer is first.maximum_buffer is None
    assert changed(old, new) == {"24.35.1", "24.35.2", "24.35.3", "24.40.1"}


def test_other_settings_of_the_aqm_stay() -> None:
    old = build(up=flow(24, buffer(62_500), tlv(40, u8(1, 1), u8(2, 30), tlv(6, b"\0\1\0\2"))))
    new = carry_queue(old, AQM)
    assert {"24.35.2", "24.40.1", "24.40.2", "24.40.3"} <= changed(old, new)
    assert "24.40.6" not in changed(old, new)


def test_only_the_first_upstream_flow_changes() -> None:
    second = flow(24, buffer(30_000), reference=3)
    old = build(up=UP + second)
    new = carry_queue(old, AQM)
    assert second in new
    assert {path and path[:5] for path in changed(old, new)} == {"24[1]"}


def test_a_file_without_service_flows_is_refused() -> None:
    with pytest.raises(InputError, match="it has no service flow of TLV 24"):
        carry_queue(build(up=b""), BUFFER)


def test_rates_of_a_flow_move_to_the_aggregate_whatever_their_unit() -> None:
    up = flow(24, u32(27, 20_000), u8(41, 1), u32(9, 5_000), u8(7, 2), rate=10_000)
    line = {"rate": "10 Mbit/s", "peak": "20 Mbit/s", "burst": "5000 B", "priority": 2}
    new = carry_low_latency(build(up=up, down=DOWN_2), export(low_latency={}, **line))
    settings = settings_of(new)
    classic = settings.list_flows("up")[0]
    assert classic.rate is classic.peak is classic.burst is classic.rate_unit is None
    assert classic.priority is not None
    assert classic.priority.value == 2
    assert classic.aggregate is not None
    aggregate = settings.aggregates[classic.aggregate]
    assert aggregate.rate is not None
    assert aggregate.peak is not None
    assert (aggregate.rate.value, aggregate.peak.value) == (10_000_000, 20_000_000)


def test_a_reserved_rate_stays_with_its_unit() -> None:
    up = flow(24, u32(10, 500), u8(41, 1), rate=10_000)
    new = carry_low_latency(build(up=up, down=DOWN_2), LOW_LATENCY)
    classic = settings_of(new).list_flows("up")[0]
    assert classic.rate is None
    assert classic.reserved is not None
    assert classic.reserved.value == 500_000


def test_new_references_are_free_ones() -> None:
    others = b"".join(flow(24, reference=number) for number in (3, 4, 6))
    own = b"".join(
        classifier(22, number, 3, tlv(9, u16(9, number)), priority=9) for number in (1, 5)
    )
    new = carry_low_latency(build(up=UP + others + own, down=DOWN_2), LOW_LATENCY)
    settings = settings_of(new)
    lows = [low.reference and low.reference.value for _, low in settings.list_low_latency()]
    assert lows == [5, 7]
    assert {one.reference for one in settings.classifiers} == set(range(1, 15))
    for aggregate, low in settings.list_low_latency():
        assert settings.find_classic(aggregate) == settings.list_flows(aggregate.direction)[0]
        assert {one.flow for one in settings.classifiers if one.direction == low.direction} >= {
            low.reference and low.reference.value
        }
    # These are ahead of the new ones already.
    assert [one.priority for one in settings.classifiers if one.flow == 3] == [9, 9]


def test_an_extended_cmts_mic_covers_the_new_types_and_others_as_before() -> None:
    extended = tlv(43, tlv(8, b"\xff\xff\xff"), tlv(6, u8(1, 1), tlv(2, b"\x10\0\0\x40")))
    old = build(extended, down=DOWN_2)
    new = carry_low_latency(old, LOW_LATENCY)
    (vendor,) = read_document(new).all(43)
    bitmap = vendor.get(6, 2)
    assert bitmap is not None
    assert bitmap.value == [3, 22, 23, 24, 25, 70, 71]
    assert {mic.state for mic in verify(sign(new, SECRET, "x"), SECRET)} == {"right"}


def test_a_file_gets_an_extended_cmts_mic_of_all_its_types() -> None:
    new = carry_low_latency(build(tlv(38, b"public"), down=DOWN_2), LOW_LATENCY)
    (vendor,) = read_document(new).all(43)
    bitmap = vendor.get(6, 2)
    assert bitmap is not None
    assert bitmap.value == [3, 6, 22, 23, 24, 25, 38, 43, 70, 71]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (
            build(tlv(70, u16(1, 1)), down=DOWN_2),
            r"it has an aggregate service flow already \(TLV 70\)",
        ),
        (build(u8(91, 1), down=DOWN_2), r"it turns low latency off \(TLV 91\)"),
        (build(down=b""), "it has no service flow of TLV 25"),
        (
            build(up=flow(24, tlv(4, b"gold\0")), down=DOWN_2),
            "its service flow of TLV 24 has the service class gold",
        ),
        (
            build(classifier(22, 1, 3), classifier(22, 2, 3, priority=255), down=DOWN_2),
            "its classifiers of TLV 22 have priorities from 0 to 255",
        ),
        (
            build(
                *(classifier(22, number, 3, priority=1) for number in range(1, 251)), down=DOWN_2
            ),
            "it has 255 classifiers, and room for none",
        ),
        (
            build(classifier(22, 4, 1, tlv(9, tlv(1, b"\xb8\xb8\xfc"))), down=DOWN_2),
            r"its upstream classifier 4 \(TLV 22\) keeps DSCP 46 \(EF\) in the first service flow",
        ),
    ],
)
def test_low_latency_is_refused_where_it_would_be_half_right(content: bytes, why: str) -> None:
    with pytest.raises(InputError, match=why):
        carry_low_latency(content, LOW_LATENCY)
