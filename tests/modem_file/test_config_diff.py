"""Tests of the differences between modems' files, and of the overview of a file."""

from __future__ import annotations

import pytest

from headend.modem_file.diff import Change, diff
from headend.modem_file.show import HEADINGS, describe
from modem_files import (
    DOWN,
    SECRET,
    UP,
    buffer,
    build,
    classifier,
    flow,
    sign,
    tlv,
    u8,
    u16,
    u32,
)

TOS = tlv(9, tlv(1, b"\xb8\xb8\xfc"))


def settings(old: bytes, new: bytes) -> list[Change]:
    """The changes except those of the MICs, which follow from any other change."""
    return [change for change in diff(old, new) if change.kind != "integrity"]


def only(old: bytes, new: bytes) -> Change:
    """The one change."""
    found = settings(old, new)
    assert len(found) == 1, [change.text for change in found]
    return found[0]


def test_equal_files_have_no_difference() -> None:
    assert diff(build(), build()) == []


def test_another_buffer_is_told_with_its_delay() -> None:
    change = only(build(), build(up=flow(24, buffer(250_000))))
    assert change.text == (
        "Upstream service flow 1: target buffer 62500 B → 250000 B (TLV 24.35.2): at 10 Mbit/s a"
        " full buffer of 250000 B delays by 200 ms, before by 50 ms."
    )
    assert (change.kind, change.path) == ("buffer", "24.35.2")
    assert (change.old, change.new) == ("62500 B", "250000 B")


def test_another_rate_is_told_with_its_delay() -> None:
    change = only(build(), build(up=flow(24, buffer(62_500), rate=20_000_000)))
    assert "sustained rate 10 Mbit/s → 20 Mbit/s" in change.text
    assert "at 20 Mbit/s a full buffer of 62500 B delays by 25 ms, before by 50 ms" in change.text
    assert change.kind == "rate"


def test_the_effect_is_told_once() -> None:
    changes = settings(build(), build(up=flow(24, buffer(250_000), rate=20_000_000)))
    assert [change.kind for change in changes] == ["rate", "buffer"]
    assert [("delays by 100 ms, before by 50 ms" in change.text) for change in changes] == [
        False,
        True,
    ]


def test_a_rate_in_another_unit_is_the_same_rate() -> None:
    changes = settings(build(), build(up=flow(24, buffer(62_500), u8(41, 1), rate=10_000)))
    assert {change.kind for change in changes} == {"form"}
    assert any("10 Mbit/s as before" in change.text for change in changes)


def test_the_default_buffer_changes_the_delay_of_flows_without_a_target() -> None:
    changes = settings(build(u16(68, 100), up=flow(24)), build(u16(68, 20), up=flow(24)))
    texts = [change.text for change in changes]
    assert any(
        "a full buffer of 25000 B delays by 20 ms, before by 100 ms" in text for text in texts
    )
    assert any("(TLV 68)" in text for text in texts)


@pytest.mark.parametrize(
    ("up", "kind", "words"),
    [
        (flow(24, buffer(62_500), tlv(40, u8(2, 20))), "aqm", "AQM latency target none → 20 ms"),
        (
            flow(24, buffer(62_500), u32(9, 50_000)),
            "burst",
            "maximum burst none → 50000 B (TLV 24.9)",
        ),
        (flow(24, buffer(62_500), u32(27, 20_000_000)), "rate", "peak rate none → 20 Mbit/s"),
        (flow(24, buffer(62_500), u8(7, 5)), "setting", "traffic priority none → 5"),
        (
            flow(24, buffer(62_500), tlv(199, b"\x01")),
            "setting",
            "TLV 24.199 none → 0x01 (TLV 24.199)",
        ),
        (flow(24, buffer(62_500), tlv(4, b"gold\0")), "setting", "service class none → gold"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_came_to_a_flow_is_told(up: bytes, kind: str, words: str) -> None:
    change = only(build(), build(up=up))
    assert words in change.text
    assert change.text.startswith("Upstream service flow 1: ")
    assert change.kind == kind


def test_an_aqm_that_goes_off_is_told_with_its_delay() -> None:
    off = build(up=flow(24, buffer(62_500), tlv(40, u8(1, 1))))
    texts = [change.text for change in settings(build(), off)]
    assert texts == [
        "Upstream service flow 1: AQM unsaid → off (TLV 24.40.1).",
        "Upstream service flow 1: without AQM (24.40.1) each upload brings the 50 ms of a full"
        " buffer of 62500 B, before about 10 ms.",
    ]
    texts = [change.text for change in settings(off, build())]
    assert texts[1] == (
        "Upstream service flow 1: its AQM is no longer off: it aims at 10 ms beside each upload,"
        " before the 50 ms of a full buffer of 62500 B."
    )
    texts = [change.text for change in settings(build(), build(u8(76, 1)))]
    assert any(
        "without AQM (76) each upload brings the 50 ms of a full buffer" in text for text in texts
    )
    assert "Upstream AQM disable 1 (AQM off) is new (TLV 76)." in texts


def test_flows_come_and_go() -> None:
    more = build(up=UP + flow(24, buffer(12_500), reference=2, rate=2_000_000))
    came = only(build(), more)
    assert came.text == (
        "Upstream service flow 2 is new: sustained rate 2 Mbit/s, buffer 12500 B, 50 ms when"
        " full (TLV 24[2])."
    )
    assert (
        only(more, build()).text == "Upstream service flow 2 is gone (TLV 24[2] of the old file)."
    )


def test_flows_are_matched_by_their_reference() -> None:
    other = flow(24, buffer(12_500), reference=2, rate=2_000_000)
    changes = settings(build(up=UP + other), build(up=other + UP))
    assert [change.kind for change in changes] == ["form"]
    renumbered = only(build(), build(up=flow(24, buffer(62_500), reference=7)))
    assert "service flow reference 1 → 7" in renumbered.text


def test_classifiers_are_told_in_words() -> None:
    old = build(classifier(22, 1, 1, TOS))
    new = build(classifier(22, 1, 1, tlv(9, u16(2, 17), u16(9, 5060), u16(10, 5060)), priority=3))
    assert only(old, new).text == (
        "Upstream classifier 1: DSCP 46 (EF) → service flow 1; now UDP and to port 5060 →"
        " service flow 1, priority 3 (TLV 22)."
    )
    assert "is new: DSCP 46 (EF) → service flow 1" in only(build(), old).text
    assert "is gone: DSCP 46 (EF) → service flow 1" in only(old, build()).text


def test_other_settings_are_told() -> None:
    assert "Upstream" not in only(build(u8(18, 4)), build(u8(18, 16))).text
    assert "4 → 16 (TLV 18)" in only(build(u8(18, 4)), build(u8(18, 16))).text
    switched = settings(build(u8(76, 0)), build(u8(76, 1)))
    assert "AQM of every upstream service flow on → off (TLV 76)." in [one.text for one in switched]
    unknown = only(build(tlv(213, b"\x01\x02")), build(tlv(213, b"\x01\x03")))
    assert unknown.text == "TLV 213 0x0102 → 0x0103 (TLV 213)."
    assert "is new" in only(build(), build(tlv(213, b"\x01"))).text


def test_an_snmp_object_is_told_by_its_place_and_value() -> None:
    def snmp(value: int) -> bytes:
        return tlv(11, bytes.fromhex("300d06082b060102010101000201") + bytes([value]))

    change = only(build(snmp(1)), build(snmp(2)))
    assert change.text == "SNMP MIB object 1.3.6.1.2.1.1.1.0: Integer 1 → Integer 2 (TLV 11)."


def test_of_many_settings_of_one_type_the_changed_one_is_told() -> None:
    old = [tlv(213, bytes([number])) for number in range(9)]
    new = [*old[:4], tlv(213, b"\xaa"), *old[5:]]
    change = only(build(*old), build(*new))
    assert change.text == "TLV 213 0x04 → 0xaa (TLV 213[5])."


def test_mics_and_form_are_told() -> None:
    data = build()
    assert {change.kind for change in diff(data, sign(u8(3, 1) + UP + DOWN, b"another"))} == {
        "integrity"
    }
    assert [change.text for change in diff(data, data + bytes(4))] == [
        "Padding: 2 bytes → 6 bytes."
    ]
    ordered = diff(data, sign(UP + DOWN + u8(3, 1)))
    assert any("order of the TLVs differs" in change.text for change in ordered)
    bare = data.rstrip(b"\x00").removesuffix(b"\xff")
    assert "The end marker (TLV 255) is new." in [change.text for change in diff(bare, data)]


def test_a_change_is_an_object_of_json() -> None:
    change = only(build(), build(up=flow(24, buffer(250_000))))
    assert set(change.to_json()) == {"kind", "path", "text", "old", "new"}


@pytest.mark.parametrize(
    "data", [b"", b"\x00", b"\xff" * 40, b"\x18\xff" * 99, bytes(range(256)), build()[:40]]
)
def test_any_bytes_can_be_compared(data: bytes) -> None:
    assert diff(build(), data)
    assert diff(data, build())
    assert describe(data, SECRET).to_json()["size"] == len(data)


def test_each_pair_of_different_files_has_a_difference() -> None:
    base = build(classifier(22, 1, 1, TOS), u16(68, 50), tlv(43, tlv(8, b"\0\0\1"), tlv(1, b"\2")))
    for place in range(len(base)):
        changed = bytearray(base)
        changed[place] ^= 1
        assert diff(base, bytes(changed))


def test_a_file_at_a_glance() -> None:
    up = flow(
        24, u32(27, 20_000_000), u32(9, 50_000), u8(15, 2), buffer(62_500), tlv(40, u8(2, 10))
    )
    data = build(
        u8(18, 16), classifier(22, 1, 1, TOS), tlv(43, tlv(8, b"\0\0\x10"), tlv(1, b"\2")), up=up
    )
    seen = describe(data, SECRET)
    assert seen.title == f"Cable modem, {len(data)} B"
    assert seen.mic_words == ("CM MIC right", "CMTS MIC right")
    cells = dict(zip(HEADINGS.values(), seen.flows[0].cells(), strict=True))
    assert cells == {
        "flow": "up 1",
        "class": "–",
        "rate": "10 Mbit/s",
        "peak": "20 Mbit/s",
        "burst": "50000 B",
        "scheduling": "best effort",
        "buffer": "62500 B",
        "when full": "50 ms",
        "AQM": "on, 10 ms",
    }
    row = seen.to_json()["flows"][0]
    assert (row["rate_bps"], row["peak_bps"], row["burst_bytes"]) == (
        10_000_000,
        20_000_000,
        50_000,
    )
    assert (row["buffer_bytes"], row["buffer_path"], row["delay_ns"]) == (62_500, "24.35.2", 50e6)
    assert (row["aqm_state"], row["aqm_target_ns"]) == ("on", 10e6)
    assert seen.delays[0] == (
        "Upstream service flow 1: a full buffer of 62500 B delays by 50 ms at 10 Mbit/s, by 25 ms"
        " at 20 Mbit/s while the burst lasts; DOCSIS-PIE aims at 10 ms, and drops nothing while"
        " less than a third of the buffer (16.7 ms) is filled: senders such as BBR can stay above"
        " 10 ms."
    )
    assert seen.classifiers == ("Upstream classifier 1: DSCP 46 (EF) → service flow 1",)
    assert "1 setting of vendor 00:00:10 (TLV 43)" in seen.others
    assert any("(TLV 18)" in other for other in seen.others)


def test_what_a_file_does_not_say_is_no_number() -> None:
    row = describe(build(up=flow(24)), SECRET).flows[0]
    assert (row.buffer, row.delay) == ("312500 B (default)", "250 ms")
    assert row.aqm == "on, 10 ms (default)"
    old = describe(build(up=flow(24)), SECRET, "docsis30").flows[0]
    assert (old.buffer, old.delay, old.aqm) == ("262144 B (default)", "210 ms", "none (default)")
    down = describe(build()).flows[1]
    assert (down.buffer, down.delay, down.delay_ns) == ("–", "–", None)


def test_an_aqm_without_a_rate_is_told_without_a_number() -> None:
    off = build(up=flow(24, buffer(62_500), tlv(40, u8(1, 1)), rate=None))
    on = build(up=flow(24, buffer(62_500), tlv(40, u8(1, 0)), rate=None))
    assert settings(off, on)[1].text == (
        "Upstream service flow 1: its AQM is no longer off: it aims at 10 ms beside each"
        " upload, before the delay of a full buffer, which the file does not say."
    )


def test_the_delay_is_told_with_the_number_that_made_the_buffer() -> None:
    old = build(up=flow(24, buffer(62_500, most=100_000)))
    texts = [change.text for change in settings(old, build(up=flow(24, buffer(25_000))))]
    assert texts == [
        "Upstream service flow 1: target buffer 62500 B → 25000 B (TLV 24.35.2): at 10 Mbit/s a"
        " full buffer of 25000 B delays by 20 ms, before by 50 ms.",
        "Upstream service flow 1: maximum buffer 100000 B → none (TLV 24.35.3).",
    ]


@pytest.mark.parametrize(
    ("conditions", "told"),
    [
        (tlv(11, tlv(1, b"\x05\x05")), "user priority 5"),
        (tlv(11, tlv(1, b"\x04\x07"), tlv(2, b"\x00\x70")), "user priority 4 to 7 and VLAN 7"),
        (tlv(10, tlv(2, b"\x02\x00\x5e\x00\x00\x01")), "from 02:00:5e:00:00:01"),
        (
            tlv(10, tlv(1, b"\x02\x00\x5e\x00\x00\x00" + b"\xff\xff\xff\x00\x00\x00")),
            "to 02:00:5e:00:00:00 & ff:ff:ff:00:00:00",
        ),
    ],
)
def test_conditions_on_a_frame_are_told_in_words(conditions: bytes, told: str) -> None:
    seen = describe(build(classifier(22, 1, 1, conditions)))
    assert seen.classifiers == (f"Upstream classifier 1: {told} → service flow 1",)


def test_what_a_file_leaves_out_follows_the_generation() -> None:
    def told(old: bytes, new: bytes, preset: str) -> str:
        return " ".join(change.text for change in diff(old, new, preset))

    unsaid = build(up=flow(24, buffer(62_500)))
    off, on = (build(up=flow(24, buffer(62_500), tlv(40, u8(1, value)))) for value in (1, 0))
    # docsis31 has AQM by itself, docsis30 has none.
    assert "aims at 10 ms beside each upload" in told(off, unsaid, "docsis31")
    assert "aims at" not in told(off, unsaid, "docsis30")
    assert "without AQM" not in told(unsaid, off, "docsis30")
    gone = told(on, unsaid, "docsis30")
    assert "without AQM (24.40 absent: docsis30 has no AQM) each upload brings the 50 ms" in gone
    assert "it has an AQM now: it aims at 10 ms" in told(unsaid, on, "docsis30")
    assert "AQM now" not in told(unsaid, on, "docsis31")
    # So does the buffer: 256 KiB at 10 Mbit/s.
    without = told(unsaid, build(up=flow(24)), "docsis30")
    assert "262144 B (docsis30's default) delays by 210 ms, before by 50 ms" in without
