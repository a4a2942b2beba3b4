"""Tests of the rules on modems' files: each finds its fault, and nothing without it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from headend.modem_file import rules
from headend.modem_file.check import check, suppose
from headend.modem_file.document import read_document
from headend.modem_file.finding import SEVERITIES, Finding
from headend.modem_file.rules import integrity
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

#: The low-latency pair: a classic flow 1 and a low-latency flow 2 of aggregate 5, with a classifier
#: and an extended MIC that covers 70.
EXTENDED = tlv(
    43, tlv(8, b"\xff\xff\xff"), tlv(6, u8(1, 1), tlv(2, bytes(8) + b"\x02"), tlv(3, bytes(16)))
)
CLASSIC = flow(24, u16(36, 5), buffer(62_500))
L4S = classifier(22, 1, 2, tlv(9, tlv(1, b"\x01\x01\x01")))


#: A call's grants: 232 B each 20 ms.
CALL = (u8(15, 6), u16(19, 232), u32(20, 20_000), u8(22, 1))


def low(*more: bytes, to: int | None = 5) -> bytes:
    """The low-latency flow."""
    return flow(24, *([] if to is None else [u16(36, to)]), *more, reference=2)


def aggregate(*more: bytes, reference: int = 5, names: int = 2) -> bytes:
    """The aggregate of both."""
    return tlv(70, u16(1, reference), u32(8, 10_000_000), tlv(42, u16(1, names), *more))


def pair(
    *settings: bytes,
    of: bytes = b"",
    joins: bytes | None = None,
    by: bytes = L4S,
    mic: bytes = EXTENDED,
) -> bytes:
    """A file with the pair."""
    up = CLASSIC + (of or low())
    return build(*settings, mic, by, aggregate() if joins is None else joins, up=up)


def find(data: bytes, rule: str, secret: bytes | None = SECRET) -> list[Finding]:
    """What one rule finds."""
    return [finding for finding in check(data, secret) if finding.rule == rule]


def only(data: bytes, rule: str) -> Finding:
    """The one finding of a rule."""
    found = find(data, rule)
    assert len(found) == 1, [finding.rule for finding in check(data, SECRET)]
    return found[0]


def test_a_sound_file_has_no_finding() -> None:
    assert check(build(), SECRET) == []


def test_a_sound_low_latency_file_has_none_but_its_extended_mic() -> None:
    rules = {finding.rule for finding in check(pair(), SECRET)}
    assert rules <= {"mic_wrong", "mic_stale", "mic_unverifiable"}


def test_a_finding_says_where_what_and_what_to_do() -> None:
    found = only(build(up=flow(24, buffer(250_000), tlv(40, u8(1, 1)))), "buffer_long")
    assert found.severity == "error"
    assert (found.path, found.name) == ("24.35.2", "upstream_service_flow.buffer_control.target")
    assert "250000 B" in found.text
    assert "200 ms at 10 Mbit/s" in found.text
    assert found.advice == "Set 24.35.2 to 62500 B, which is 50 ms."
    assert set(found.to_json()) == {"severity", "rule", "path", "name", "text", "advice", "source"}


# Each fault: the rule that finds it, its severity, the path, and a file.
FAULTS: dict[str, tuple[str, str, str | None, bytes]] = {
    "minimum above target": (
        "buffer_limits", "error", "24.35.2", build(up=flow(24, buffer(40_000, least=50_000))),
    ),
    "target above maximum": (
        "buffer_limits", "error", "24.35.2", build(up=flow(24, buffer(70_000, most=65_000))),
    ),
    "minimum above maximum": (
        "buffer_limits", "error", "24.35.1", build(up=flow(24, buffer(least=20_000, most=10_000))),
    ),
    "minimum that not every modem offers": (
        "buffer_minimum", "warning", "24.35.1", build(up=flow(24, buffer(62_500, least=30_000))),
    ),
    "buffer of a second": (
        "buffer_long", "error", "24.35.2", build(up=flow(24, buffer(1_250_000))),
    ),
    "full buffer of more than 100 ms without AQM": (
        "buffer_long", "error", "24.35.2",
        build(u8(76, 1), up=flow(24, u32(27, 20_000_000), u32(9, 50_000))),
    ),
    "minimum that makes the buffer long": (
        "buffer_long", "error", "24.35.1", build(up=flow(24, buffer(least=1_250_000))),
    ),
    "default of 68 that is long": (
        "buffer_long", "error", "68", build(u16(68, 1000), up=flow(24)),
    ),
    "buffer of 10 ms": (
        "buffer_short", "warning", "24.35.2", build(up=flow(24, buffer(12_500))),
    ),
    "buffer of less than two packets": (
        "buffer_short", "error", "24.35.2", build(up=flow(24, buffer(3000), rate=1_000_000)),
    ),
    "buffer of 6 ms at the peak rate": (
        "buffer_short_at_peak", "note", "24.35.2",
        build(up=flow(24, u32(27, 80_000_000), u32(9, 500_000), buffer(62_500))),
    ),
    "68 without use": (
        "default_buffer_unused", "note", "68", build(u16(68, 50)),
    ),
    "AQM off on the whole modem": (
        "aqm_off", "warning", "76", build(u8(76, 1), up=flow(24)),
    ),
    "AQM off on one flow": (
        "aqm_off", "warning", "24.40.1", build(up=flow(24, buffer(125_000), tlv(40, u8(1, 1)))),
    ),
    "AQM off beside a short buffer": (
        "aqm_off", "note", "24.40.1", build(up=flow(24, buffer(62_500), tlv(40, u8(1, 1)))),
    ),
    "AQM on for a flow and off for all": (
        "aqm_switches", "warning", "24.40.1",
        build(u8(76, 1), up=flow(24, buffer(62_500), tlv(40, u8(1, 0)))),
    ),
    "buffer below the AQM's target": (
        "aqm_never_acts", "warning", "24.35.2",
        build(up=flow(24, buffer(62_500), tlv(40, u8(2, 50)))),
    ),
    "a third of the buffer below the AQM's target": (
        "aqm_little_room", "note", "24.35.2",
        build(up=flow(24, buffer(62_500), tlv(40, u8(2, 20)))),
    ),
    "a third of the buffer far above the AQM's target": (
        "aqm_late", "warning", "24.35.2", build(up=flow(24, buffer(450_000), tlv(40, u8(2, 10)))),
    ),
    "latency target of 1 ms": (
        "aqm_target", "warning", "24.40.2", build(up=flow(24, buffer(62_500), tlv(40, u8(2, 1)))),
    ),
    "latency target of 100 ms": (
        "aqm_target", "warning", "24.40.2",
        build(up=flow(24, buffer(400_000), tlv(40, u8(2, 100)))),
    ),
    "threshold of the immediate AQM beside PIE": (
        "aqm_ignored", "warning", "24.40.4",
        build(up=flow(24, buffer(62_500), tlv(40, u16(4, 1000)))),
    ),
    "latency target without AQM": (
        "aqm_ignored", "note", "24.40.2",
        build(up=flow(24, buffer(62_500), tlv(40, u8(1, 1), u8(2, 10)))),
    ),
    "latency target beside the immediate AQM": (
        "aqm_ignored", "warning", "24[2].40.2", pair(of=low(tlv(40, u8(2, 10)))),
    ),
    "histogram edges that do not ascend": (
        "histogram_edges", "error", "24.40.6",
        build(up=flow(24, buffer(62_500), tlv(40, tlv(6, b"\x00\x64\x00\x64")))),
    ),
    "histogram of 16 edges": (
        "histogram_edges", "error", "24.40.6",
        build(up=flow(24, buffer(62_500), tlv(40, tlv(6, bytes(range(32)))))),
    ),
    "rate in bit/s with the unit kbit/s": (
        "rate_impossible", "error", "24.8",
        build(up=flow(24, u8(41, 1), buffer(62_500), rate=10_000_000)),
    ),
    "rate in kbit/s without a unit": (
        "rate_tiny", "warning", "24.8", build(up=flow(24, rate=5000)),
    ),
    "unit that an old modem does not know": (
        "rate_unit", "note", "24.41", build(up=flow(24, u8(41, 1), buffer(62_500), rate=10_000)),
    ),
    "unit with a rate beyond 32 bits": (
        "rate_unit", "note", "25.41", build(down=flow(25, u8(41, 2), rate=5000)),
    ),
    "peak below the sustained rate": (
        "rate_peak", "warning", "24.27", build(up=flow(24, buffer(40_000), u32(27, 8_000_000))),
    ),
    "more reserved than the sustained rate": (
        "rate_reserved", "error", "24.10", build(up=flow(24, buffer(62_500), u32(10, 20_000_000))),
    ),
    "more granted than the rate": (
        "grant_rate", "warning", "24.45", build(up=flow(24, buffer(62_500), u32(45, 20_000_000))),
    ),
    "burst below a frame": (
        "burst_short", "error", "24.9", build(up=flow(24, buffer(62_500), u32(9, 1000))),
    ),
    "peak without a burst": (
        "peak_without_burst", "note", "24.27",
        build(up=flow(24, buffer(62_500), u32(27, 20_000_000))),
    ),
    "classifier to a flow that is absent": (
        "classifier_flow", "error", "22.3", build(classifier(22, 1, 9)),
    ),
    "classifier to no flow": (
        "classifier_flow", "warning", "22.3", build(tlv(22, u8(1, 1))),
    ),
    "two classifiers with one reference": (
        "classifier_reference", "error", "22[2].1",
        build(classifier(22, 1, 1), classifier(22, 1, 1, priority=2)),
    ),
    "range of the TOS byte beside its mask": (
        "classifier_never", "error", "22.9.1",
        build(classifier(22, 1, 1, tlv(9, tlv(1, b"\x2e\x2e\xfc")))),
    ),
    "ports in the wrong order": (
        "classifier_never", "error", "22.9.9",
        build(classifier(22, 1, 1, tlv(9, u16(9, 5061), u16(10, 5060)))),
    ),
    "user priorities in the wrong order": (
        "classifier_never", "error", "22.11.1",
        build(classifier(22, 1, 1, tlv(11, tlv(1, b"\x07\x05")))),
    ),
    "a source address of a group": (
        "classifier_never", "error", "22.10.2",
        build(classifier(22, 1, 1, tlv(10, tlv(2, b"\x01\x00\x5e\x00\x00\x01")))),
    ),
    "two classifiers for the same packets": (
        "classifiers_compete", "warning", "22[2]",
        build(
            classifier(22, 1, 1, tlv(9, u16(2, 17))),
            classifier(22, 2, 2, tlv(9, u16(2, 17))),
            flow(24, buffer(62_500), reference=2),
        ),
    ),
    "second flow without a classifier": (
        "flow_without_classifier", "note", "24[2]",
        build(UP, up=flow(24, buffer(62_500), reference=2)),
    ),
    "aggregate that is absent": (
        "aggregate_absent", "error", "24.36", build(up=CLASSIC),
    ),
    "aggregate without a flow": (
        "aggregate_empty", "warning", "70", build(EXTENDED, tlv(70, u16(1, 5), u32(8, 10_000_000))),
    ),
    "low-latency flow that is absent": (
        "low_latency_flow", "error", "70.42.1", pair(joins=aggregate(names=7)),
    ),
    "low-latency flow of no aggregate": (
        "low_latency_flow", "error", "24[2].36", pair(of=low(to=None)),
    ),
    "aggregate that the CMTS does not get": (
        "not_told_to_cmts", "warning", "70", pair(mic=b""),
    ),
    "bitmap that leaves the aggregate out": (
        "not_told_to_cmts", "warning", "70",
        pair(mic=tlv(43, tlv(8, b"\xff\xff\xff"), tlv(6, u8(1, 1), tlv(2, bytes(8) + b"\x01")))),
    ),
    "bitmap that leaves the flows out": (
        "not_told_to_cmts", "error", "43.6.2",
        pair(mic=tlv(43, tlv(8, b"\xff\xff\xff"), tlv(6, u8(1, 1), tlv(2, bytes(8) + b"\x02")))),
    ),
    "call without a classifier": (
        "flow_without_classifier", "warning", "24[2]",
        build(UP, up=flow(24, u8(15, 6), reference=2)),
    ),
    "first flow without a rate": (
        "rate_absent", "warning", "24.8", build(up=flow(24, buffer(62_500), rate=None)),
    ),
    "low-latency flow without a classifier": (
        "low_latency_classifier", "warning", "24[2]", pair(by=b""),
    ),
    "low-latency flow without L4S": (
        "low_latency_classifier", "note", "22",
        pair(by=classifier(22, 1, 2, tlv(9, tlv(1, b"\xb4\xb4\xfc")))),
    ),
    "PIE on the low-latency flow": (
        "aqm_algorithm", "warning", "24[2].40.3", pair(of=low(tlv(40, u8(3, 1)))),
    ),
    "immediate AQM on an ordinary flow": (
        "aqm_algorithm", "warning", "24.40.3",
        build(up=flow(24, buffer(62_500), tlv(40, u8(3, 2)))),
    ),
    "maximum threshold below the floor": (
        "threshold_floor", "warning", "24[2].40.4", pair(of=low(tlv(40, u16(4, 1000)))),
    ),
    "queue protection off": (
        "queue_protection", "warning", "70.42.7", pair(joins=aggregate(u8(7, 0))),
    ),
    "queue protection from 0 on": (
        "queue_protection", "note", "70.42.8", pair(joins=aggregate(u16(8, 0))),
    ),
    "queue protection before the first mark": (
        "queue_protection", "note", "70.42.8", pair(joins=aggregate(u16(8, 1000))),
    ),
    "coupling factor of an old table": (
        "coupling_weak", "warning", "70.42.5", pair(joins=aggregate(u8(5, 1))),
    ),
    "a classic flow without an AQM": (
        "coupling_off", "warning", "76", pair(u8(76, 1)),
    ),
    "a weight of nothing": (
        "scheduling_weight", "error", "70.42.6", pair(joins=aggregate(u8(6, 0))),
    ),
    "a weight below one half": (
        "scheduling_weight", "warning", "70.42.6", pair(joins=aggregate(u8(6, 26))),
    ),
    "low-latency flow before the classic one": (
        "low_latency_primary", "warning", "24[1]",
        build(EXTENDED, L4S, low(), aggregate(), up=CLASSIC),
    ),
    "low latency without a rate": (
        "low_latency_rate", "warning", "70.8",
        pair(of=flow(24, u16(36, 5), reference=2, rate=None),
             joins=tlv(70, u16(1, 5), tlv(42, u16(1, 2)))),
    ),
    "low-latency queue for no frame": (
        "low_latency_limit", "error", "24[2].35.2", pair(of=low(buffer(2000))),
    ),
    "low-latency queue that drops before it marks": (
        "low_latency_limit", "warning", "24[2].35.2", pair(of=low(buffer(6000))),
    ),
    "a minimum threshold of 2019 as a maximum": (
        "defaults_2019", "warning", "24[2].40.4", pair(of=low(tlv(40, u16(4, 475)))),
    ),
    "a score threshold of 2019": (
        "defaults_2019", "note", "70.42.9", pair(joins=aggregate(u16(9, 2000))),
    ),
    "scores that decay as in 2019": (
        "defaults_2019", "note", "70.42.10", pair(joins=aggregate(u8(10, 17))),
    ),
    "low latency off": (
        "low_latency_off", "warning", "91", pair(u8(91, 1)),
    ),
    "grants without an interval": (
        "scheduling_parameter", "error", "24.20",
        build(up=flow(24, u8(15, 6), u16(19, 232), buffer(62_500))),
    ),
    "grants of activity detection without a size": (
        "scheduling_parameter", "error", "24.19",
        build(up=flow(24, u8(15, 5), u32(17, 20_000), u32(20, 20_000), buffer(62_500))),
    ),
    "rtPS without polls": (
        "scheduling_parameter", "error", "24.17", build(up=flow(24, u8(15, 4), buffer(62_500))),
    ),
    "nrtPS whose polls the CMTS chooses": (
        "scheduling_parameter", "warning", "24.17", build(up=flow(24, u8(15, 3), buffer(62_500))),
    ),
    "an interval of 20 µs in place of ms": (
        "scheduling_interval", "warning", "24.20",
        build(up=flow(24, u8(15, 6), u16(19, 232), u32(20, 20), buffer(62_500))),
    ),
    "polls once in 20 s": (
        "scheduling_interval", "warning", "24.17",
        build(up=flow(24, u8(15, 4), u32(17, 20_000_000), buffer(62_500))),
    ),
    "grants that hold no frame": (
        "scheduling_grant", "warning", "24.19",
        build(up=flow(24, u8(15, 6), u16(19, 20), u32(20, 20_000), buffer(62_500))),
    ),
    "an interval without grants": (
        "scheduling_grant", "warning", "24.22",
        build(up=flow(24, *CALL[:-1], u8(22, 0), buffer(62_500))),
    ),
    "no network access": (
        "mandatory", "error", "3", sign(UP + DOWN),
    ),
    "network access off": (
        "network_access", "note", "3", sign(u8(3, 0) + UP + DOWN),
    ),
    "no downstream flow": (
        "mandatory", "error", "25", build(down=b""),
    ),
    "no MIC": (
        "mandatory", "error", "6", b"".join((u8(3, 1), UP, DOWN, tlv(7, bytes(16)), b"\xff")),
    ),
    "no end marker": (
        "mandatory", "warning", "255", build().rstrip(b"\x00").removesuffix(b"\xff"),
    ),
    "class of service beside flows": (
        "classes_and_flows", "error", "4", build(tlv(4, u8(1, 1))),
    ),
    "two flows with one reference": (
        "reference", "error", "24[2].1", build(UP),
    ),
    "flow without a reference": (
        "reference", "error", "24.1", build(up=tlv(24, u8(6, 7), u32(8, 10_000_000))),
    ),
    "two rates of one flow": (
        "repeated", "error", "24.8[2]", build(up=flow(24, u32(8, 10_000_000), buffer(62_500))),
    ),
    "inner length beyond the flow": (
        "nesting", "error", "24", build(up=tlv(24, u16(1, 1), b"\x08\x04\x00")),
    ),
    "number out of range": (
        "value", "warning", "24.7", build(up=flow(24, u8(7, 9), buffer(62_500))),
    ),
    "length that does not fit": (
        "value", "warning", "24.9", build(up=flow(24, u16(9, 9000), buffer(62_500))),
    ),
    "CMTS MIC before the CM MIC": (
        "mic_order", "error", "7",
        b"".join((u8(3, 1), UP, DOWN, tlv(7, bytes(16)), tlv(6, bytes(16)), b"\xff")),
    ),
    "software file without a name": (
        "software", "warning", "9", build(tlv(9, b"")),
    ),
    "settings after the MIC": (
        "after_mic", "error", "18",
        build().rstrip(b"\x00").removesuffix(b"\xff") + u8(18, 4) + b"\xff",
    ),
    "file that is cut short": (
        "rest", "error", None, build()[:40],
    ),
    "bytes after the end": (
        "rest", "warning", None, build() + b"trailer",
    ),
    "flows without end": (
        "too_many", "error", None, build(up=flow(24) * 1001),
    ),
    "file beyond what every modem accepts": (
        "size", "warning", None, build(*[tlv(202, bytes(250))] * 33),
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_found(fault: str) -> None:
    rule, severity, path, data = FAULTS[fault]
    found = find(data, rule)
    told = [f"{finding.rule} {finding.path}" for finding in check(data, SECRET)]
    assert (severity, path) in [(finding.severity, finding.path) for finding in found], told
    for finding in found:
        assert finding.text.endswith(".")
        assert finding.advice.endswith(".")
        assert finding.source


@pytest.mark.parametrize("rule", sorted({rule for rule, *_ in FAULTS.values()}))
def test_no_rule_finds_its_fault_in_a_sound_file(rule: str) -> None:
    assert find(build(), rule) == []
    assert find(pair(), rule) == []


def list_rules() -> dict[str, set[str]]:
    """The names of the rules, with the severities that their findings may have."""
    found: dict[str, set[str]] = {}

    def note(name: ast.expr, severity: ast.expr) -> None:
        told = {one.value for one in ast.walk(severity) if isinstance(one, ast.Constant)}
        found.setdefault(ast.literal_eval(name), set()).update(
            str(one) for one in told if one in SEVERITIES
        )

    folder = Path(rules.__file__).parent
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.decorator_list:
                (made,) = node.decorator_list
                assert isinstance(made, ast.Call)
                severity, name = made.args[:2]
                note(name, severity)
                for one in ast.walk(node):
                    if isinstance(one, ast.Call) and getattr(one.func, "id", "") == "Found":
                        own = {word.arg: word.value for word in one.keywords}
                        note(own.get("rule", name), own.get("severity", severity))
    return found | {name: {severity} for severity, name, _ in integrity.STATES.values()}


def test_every_rule_is_tested_and_documented() -> None:
    known = list_rules()
    assert len(known) > 40
    tested = {rule for rule, *_ in FAULTS.values()} | {"mic_wrong", "mic_stale", "mic_unverifiable"}
    assert set(known) == tested
    page = Path(__file__).parents[2] / "docs" / "reference" / "modem-file-checks.md"
    told = dict(re.findall(r"^\| `(\w+)` \| (\w+) \|", page.read_text(encoding="utf-8"), re.M))
    assert set(told) == set(known)
    for rule, severity in told.items():
        assert not known[rule] or severity in known[rule], rule


def test_findings_come_by_gravity() -> None:
    data = build(u16(68, 50), classifier(22, 1, 9), up=flow(24, buffer(62_500, least=30_000)))
    assert [finding.severity for finding in check(data, SECRET)] == ["error", "warning", "note"]


def test_the_delay_at_the_peak_rate_is_told() -> None:
    up = flow(24, u32(27, 20_000_000), u32(9, 500_000), buffer(1_250_000))
    text = only(build(up=up), "buffer_long").text
    assert "1 s at 10 Mbit/s (500 ms at 20 Mbit/s while the burst lasts)" in text


def test_the_default_buffer_is_told_where_the_aqm_is_off() -> None:
    text = only(build(u8(76, 1), up=flow(24)), "aqm_off").text
    assert "312500 B (docsis31's default, as the file sets none), which is 250 ms" in text


def test_to_leave_the_switch_out_is_advised_where_the_modem_has_aqm_by_itself() -> None:
    off = build(up=flow(24, tlv(40, u8(1, 1))))
    told = {
        preset: [one.advice for one in check(off, SECRET, preset=preset) if one.rule == "aqm_off"]
        for preset in ("docsis31", "docsis30")
    }
    assert told["docsis31"] == ["Set 24.40.1 to 0, or leave it out."]
    assert told["docsis30"] == ["Set 24.40.1 to 0."]


def test_an_absent_aqm_is_that_of_the_generation() -> None:
    silent, on = build(up=flow(24, buffer(312_500))), tlv(40, u8(1, 0))
    explicit = build(up=flow(24, buffer(312_500), on))
    # The same buffer has the same findings with DOCSIS-PIE by default and by the file.
    assert check(silent, SECRET) == check(explicit, SECRET) == []
    (old,) = check(silent, SECRET, preset="docsis30")
    assert (old.rule, old.severity) == ("buffer_long", "error")
    assert "Without AQM the packets of a call wait so long beside each upload." in old.text
    assert suppose(silent) == "24.40 absent: docsis31 has DOCSIS-PIE on (10 ms)"
    assert suppose(silent, "docsis30") == "24.40 absent: docsis30 has no AQM"
    assert suppose(explicit) == ""


def test_an_absent_buffer_is_that_of_the_generation() -> None:
    bare = build(up=flow(24))
    assert check(bare, SECRET) == []
    assert suppose(bare).endswith("; 24.35 absent: docsis31 has a buffer of 250 ms")
    (old,) = check(bare, SECRET, preset="docsis30")
    assert (old.rule, old.severity, old.path) == ("buffer_long", "warning", "24.35.2")
    assert "docsis30's default is 262144 B. When it is full, a packet waits 210 ms" in old.text
    # Its bounds hold for the default too; TLV 68 is a default of the file.
    most = build(up=flow(24, buffer(most=100_000)))
    assert suppose(most) == "24.40 absent: docsis31 has DOCSIS-PIE on (10 ms)"
    assert "24.35" not in suppose(build(u16(68, 50), up=flow(24)))


def test_a_buffer_is_measured_at_the_rate_with_its_unit() -> None:
    up = flow(24, u8(41, 2), buffer(1_250_000), rate=10)
    assert "1 s at 10 Mbit/s" in only(build(up=up), "buffer_long").text


def test_an_aggregate_limits_the_rate_of_its_flows() -> None:
    classic = flow(24, u16(36, 5), buffer(625_000), rate=100_000_000)
    data = build(EXTENDED, L4S, low(), aggregate(), up=classic)
    assert "500 ms at 10 Mbit/s" in only(data, "buffer_long").text


def test_the_buffer_of_a_call_is_no_matter() -> None:
    ugs = flow(24, *CALL, buffer(40_000), reference=2, rate=100_000)
    data = build(classifier(22, 1, 2), up=UP + ugs)
    assert {finding.rule for finding in check(data, SECRET)} == set()


def test_mics_are_stale_wrong_or_unverifiable() -> None:
    data = build()
    assert [finding.rule for finding in check(data)] == ["mic_unverifiable"]
    wrong = find(data, "mic_wrong", b"another")
    assert [finding.path for finding in wrong] == ["7"]
    # TLV 68 is not covered by the CMTS MIC.
    edited = build(u16(68, 50), up=flow(24)).replace(u16(68, 50), u16(68, 60))
    stale = find(edited, "mic_stale")
    assert [finding.path for finding in stale] == ["6"]
    assert all(finding.severity == "error" for finding in (*wrong, *stale))


def test_a_telephone_adapters_file_is_not_a_modems() -> None:
    data = bytes([254, 1, 1, 254, 1, 255])
    assert check(data, SECRET) == []
    assert [finding.rule for finding in check(data[:-1])] == ["rest"]
    assert "does not end with TLV 254 = 255" in only(data[:3], "rest").text


def test_what_a_cut_file_lacks_is_not_told() -> None:
    data = u8(3, 1) + classifier(22, 1, 1) + b"\x18\x2f\x01"
    assert read_document(data).is_cut
    (found,) = check(data, SECRET)
    assert found.text.endswith(
        "has a value of 47 bytes, so 49 bytes are needed with its type and length, and 3 are there."
    )
    assert "has no length" in only(b"\x18", "rest").text


def test_flows_that_name_one_absent_aggregate_are_one_finding() -> None:
    up = flow(24, u16(36, 6), buffer(62_500)) + low(to=6)
    data = build(EXTENDED, L4S, aggregate(), up=up)
    grave = [finding for finding in check(data, SECRET) if finding.severity != "note"]
    grave = [finding for finding in grave if not finding.rule.startswith("mic_")]
    assert [finding.rule for finding in grave] == ["aggregate_absent"]
    assert grave[0].advice.startswith("Set 24.36 of service flows ")
    assert grave[0].advice.endswith(" to 5, the only upstream aggregate (TLV 70).")


def test_the_bitmap_that_is_advised_is_all_that_the_cmts_needs() -> None:
    general = tlv(8, b"\xff\xff\xff")
    advice = only(pair(mic=b""), "not_told_to_cmts").advice
    assert "(bitmap = [3, 6, 22, 24, 25, 43, 70])" in advice
    bitmap = bytes.fromhex(re.findall(r"43\.6\.2 = 0x([0-9a-f]+)", advice)[0])
    mended = pair(mic=tlv(43, general, tlv(6, u8(1, 1), tlv(2, bitmap))))
    assert find(mended, "not_told_to_cmts") == []
    # A digest of its own cannot cover TLV 6, which is computed after it, and leaves TLV 7 to the
    # flows.
    digest = pair(mic=tlv(43, general, tlv(6, u8(1, 1), tlv(2, b""), tlv(3, bytes(16)))))
    assert "(bitmap = [3, 22, 24, 25, 43, 70])" in only(digest, "not_told_to_cmts").advice


def test_a_classifier_of_an_absent_flow_means_the_flow_that_gets_nothing() -> None:
    ugs = flow(24, u8(15, 6), reference=3)
    advice = only(build(classifier(22, 1, 4), up=UP + ugs), "classifier_flow").advice
    assert advice == "Set 22.3 to 3 (UGS), to which no classifier sends packets, or add the flow."


def test_a_threshold_is_advised_with_its_unit() -> None:
    advice = only(pair(of=low(tlv(40, u16(4, 1000)))), "threshold_floor").advice
    assert re.search(r"Set 24\[\d\]\.40\.4 to 3724 \(3\.724 ms\)", advice), advice


@pytest.mark.parametrize(
    "data", [b"", b"\x00", b"\xff" * 40, b"\x18", b"\x18\xff" * 99, bytes(range(256))]
)
def test_any_bytes_can_be_checked(data: bytes) -> None:
    for finding in check(data, SECRET):
        assert finding.text
