"""Tests of the TLVs and the modems' files of a recommendation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import headend
from headend import _engine
from headend.errors import InputError
from headend.modem_file.check import check
from headend.modem_file.diff import diff
from headend.modem_file.document import read_document
from headend.modem_file.integrity import verify
from headend.modem_file.settings import read_settings
from headend.recommendation.candidate import Candidate, Feature
from headend.recommendation.experiment import prepare_tier
from headend.recommendation.line import read_modem_tier
from headend.recommendation.request import Request
from headend.recommendation.result import Recommendation
from headend.recommendation.tier import Tier
from headend.recommendation.writing import describe_default, list_tlvs, write_files
from modem_files import DOWN, SECRET, UP, buffer, build, classifier, flow, tlv, u8, u16, u32

#: What no recommendation touches: a community string of SNMP, and a vendor's settings.
SNMP = tlv(38, b"public")
VENDOR = tlv(43, tlv(8, b"\x00\x10\x95"), tlv(1, b"abc"))

#: A service flow with unsolicited grants for telephony, and its classifier.
VOICE = (
    flow(24, u8(15, 6), u16(19, 228), u32(20, 20_000), reference=3, rate=None),
    classifier(22, 1, 3, tlv(9, u16(9, 5060), u16(10, 5060))),
)

#: A file of an operator.
OWN = build(SNMP, VENDOR, up=UP + b"".join(VOICE), down=flow(25, reference=2, rate=100_000_000))

#: A candidate of each feature.
CHOICES = ("AQM 15 ms", "buffer 24 KiB", "low latency")


def make_tier(rate: float = 10, preset: str = "docsis31") -> Tier:
    link = {
        "preset": preset,
        "upstream": {"rate": f"{rate:g} Mbit/s"},
        "downstream": {"rate": f"{rate * 10:g} Mbit/s"},
    }
    return Tier(f"{rate:g} Mbit/s", rate * 1e6, rate * 1e7, link)


def make_tier_of(content: bytes, file: Path) -> Tier:
    """The tier of modems that have a file."""
    file.write_bytes(content)
    return read_modem_tier(file, "docsis31")[0]


def recommend(tiers: Sequence[Tier], labels: Sequence[str | None]) -> Recommendation:
    """A recommendation as if the candidates of these labels were best; None: none holds."""
    request = Request(
        "tiers",
        tuple(tiers),
        expect=("upload.goodput >= 5 Mbit/s",),
        prefer="most upload.goodput",
        seeds=(1, 2),
    )
    planned = [prepare_tier(request, tier) for tier in tiers]
    rows = [
        {
            "tier": own.tier.name,
            "setting": setting,
            "choice": candidate.label,
            "feature": str(candidate.feature),
            "seed": seed,
            "measure": "upload.goodput",
            "subject": "upload",
            "direction": "up",
            "metric": "goodput",
            "value": (9e6 if candidate.label == label else 1e6) + seed,
            "unit": "bit/s",
            "error": None,
        }
        for own, label in zip(planned, labels, strict=True)
        for setting, candidate in enumerate(own.candidates, start=1)
        for seed in request.seeds
    ]
    table = pl.DataFrame(rows, schema_overrides={"error": pl.String})
    tried = tuple((own.tier, own.candidates, own.wish) for own in planned)
    return Recommendation(request, tried, table=table, complete=True)


def list_words(tier: Tier, label: str | None) -> list[str]:
    found = recommend([tier], [label])
    tlvs = list_tlvs(found.request, found.decisions[0])
    return [f"{own.path} {own.name}: {own.value}" for own in tlvs]


def default_of(tier: Tier, label: str | None) -> str | None:
    found = recommend([tier], [label])
    return describe_default(found.request, found.decisions[0])


def write(tier: Tier, label: str, path: Path) -> tuple[bytes, tuple[str, ...]]:
    (written,) = write_files(recommend([tier], [label]), path, SECRET)
    return path.read_bytes(), written.notes


def paths(old: bytes, new: bytes) -> set[str | None]:
    return {change.path for change in diff(old, new) if change.kind != "integrity"}


def test_a_buffer_is_the_target_of_buffer_control_with_the_aqm_off() -> None:
    assert list_words(make_tier(), "buffer 24 KiB") == [
        "24.35.2 buffer control target: 24576 B (24 KiB)",
        "24.40.1 AQM disable: 1 (AQM off)",
    ]
    # A modem of DOCSIS 3.0 has no AQM to switch off.
    assert list_words(make_tier(preset="docsis30"), "buffer 24 KiB") == [
        "24.35.2 buffer control target: 24576 B (24 KiB)"
    ]


def test_of_aqm_only_what_a_modem_has_otherwise_is_listed() -> None:
    assert list_words(make_tier(), "AQM 15 ms") == ["24.40.2 AQM latency target: 15 ms"]
    assert default_of(make_tier(), "AQM 15 ms") is None


def test_the_default_is_pinned_and_a_sentence_says_that_it_is_the_default() -> None:
    assert list_words(make_tier(), "AQM 10 ms") == [
        "24.35.2 buffer control target: 312500 B",
        "24.40.1 AQM disable: 0 (AQM on)",
        "24.40.2 AQM latency target: 10 ms",
        "24.40.3 AQM algorithm: 1 (DOCSIS-PIE)",
    ]
    told = default_of(make_tier(), "AQM 10 ms")
    assert told == (
        "A modem has this setting by default: nothing has to be set; these TLVs say so explicitly."
    )
    assert default_of(make_tier(preset="docsis30"), "AQM 10 ms") is None


def test_low_latency_is_a_line_for_each_aggregate_flow_and_set_of_classifiers() -> None:
    told = list_words(make_tier(), "low latency")
    assert "24[1].8 maximum sustained rate: removed" in told
    assert "24[1].36 aggregate service flow reference: 1" in told
    (aggregate,) = (own for own in told if own.startswith("70 "))
    assert ".8 = 10 Mbit/s" in aggregate
    assert ".42.1 = 3" in aggregate
    assert (
        "22 6 upstream classifiers: ECT(1) and CE, DSCP 45 (NQB), DSCP 46 (EF), in IPv4 and"
        " IPv6 → service flow 3"
    ) in told
    assert [own.split()[0] for own in told if own[:2] in ("71", "23", "43")] == ["71", "23", "43.6"]


def test_nothing_is_listed_where_nothing_is_recommended() -> None:
    assert list_words(make_tier(), None) == []
    assert default_of(make_tier(), None) is None


@pytest.mark.parametrize("label", [*CHOICES, "AQM 10 ms, buffer 64 KiB"])
def test_a_run_with_the_file_is_a_run_of_the_setting(label: str, tmp_path: Path) -> None:
    tier = make_tier()
    content, notes = write(tier, label, tmp_path / "modem.cm")
    assert not [own for own in notes if own.startswith("error")]
    assert {mic.state for mic in verify(content, SECRET)} == {"right"}
    assert_same_run(tier, label, tmp_path / "modem.cm")


def assert_same_run(tier: Tier, label: str, file: Path, line: Tier | None = None) -> None:
    request = Request("tiers", (tier,))
    (candidate,) = (own for own in request.list_candidates(tier) if own.label == label)
    bare = line or replace(tier, today=None, file=None)
    short = {"duration": "3 s", "warmup": "1 s"}
    tried = headend.run(request.write_scenario(tier, candidate), set=short)
    scenario = request.write_scenario(bare, Candidate("", Feature.TODAY))
    with_file = headend.run(scenario, set=short, modem=file)
    for name in ("flows", "queues", "measures", "samples", "low_latency"):
        one, other = (getattr(own, name) for own in (tried, with_file))
        assert one.equals(other)


def test_a_tier_writes_the_path_and_several_write_a_file_each(tmp_path: Path) -> None:
    path = tmp_path / "modem.cm"
    tiers = [make_tier(5), make_tier(10), make_tier(35)]
    written = write_files(recommend(tiers, ["AQM 15 ms", None, "low latency"]), path, SECRET)
    assert [own.path.name for own in written] == ["modem-5M.cm", "modem-35M.cm"]
    assert written[0].notes == (
        "10 Mbit/s gets no file, because no setting that was tried meets all conditions.",
    )
    assert sorted(own.name for own in tmp_path.iterdir()) == ["modem-35M.cm", "modem-5M.cm"]


def test_nothing_is_written_where_no_tier_has_a_recommendation(tmp_path: Path) -> None:
    path = tmp_path / "modem.cm"
    with pytest.raises(InputError, match=r"modem\.cm: not written, because no setting"):
        write_files(recommend([make_tier()], [None]), path)
    assert not path.exists()


def test_a_file_is_replaced_only_with_force_and_then_no_other_is_written(tmp_path: Path) -> None:
    path = tmp_path / "modem.cm"
    (tmp_path / "modem-10M.cm").write_bytes(b"mine")
    found = recommend([make_tier(5), make_tier(10)], ["AQM 15 ms", "AQM 15 ms"])
    with pytest.raises(InputError, match=r"modem-10M\.cm: exists already; --force replaces it"):
        write_files(found, path)
    assert [own.name for own in tmp_path.iterdir()] == ["modem-10M.cm"]
    write_files(found, path, force=True)
    assert (tmp_path / "modem-10M.cm").read_bytes() != b"mine"


def test_without_a_secret_a_note_says_that_a_cmts_refuses_the_file(tmp_path: Path) -> None:
    (new,) = write_files(recommend([make_tier()], ["AQM 15 ms"]), tmp_path / "new.cm")
    assert any("no CMTS MIC (TLV 7)" in note for note in new.notes)
    tier = make_tier_of(OWN, tmp_path / "own.cm")
    (changed,) = write_files(recommend([tier], ["AQM 15 ms"]), tmp_path / "changed.cm")
    assert any("still that of own.cm" in note for note in changed.notes)
    states = {mic.key: mic.state for mic in verify((tmp_path / "changed.cm").read_bytes(), SECRET)}
    assert states == {"cm_mic": "right", "cmts_mic": "wrong"}


@pytest.mark.parametrize(
    ("label", "changed"),
    [
        ("buffer 24 KiB", {"24[1].35.2", "24[1].40.1"}),
        ("AQM 15 ms", {"24[1].35.2", "24[1].40.1", "24[1].40.2", "24[1].40.3"}),
    ],
)
def test_in_a_file_of_an_operator_only_the_setting_changes(
    label: str, changed: set[str], tmp_path: Path
) -> None:
    tier = make_tier_of(OWN, tmp_path / "own.cm")
    content, notes = write(tier, label, tmp_path / "new.cm")
    assert paths(OWN, content) == changed
    assert [own.split()[0] for own in list_words(tier, label)] == sorted(changed)
    assert {mic.state for mic in verify(content, SECRET)} == {"right"}
    assert len(content) % 4 == 0
    assert not [own for own in notes if "differs" in own or own.startswith("error")]
    assert_same_run(tier, label, tmp_path / "new.cm", line=make_tier())


def test_low_latency_is_added_to_a_file_of_an_operator(tmp_path: Path) -> None:
    tier = make_tier_of(OWN, tmp_path / "own.cm")
    content, notes = write(tier, "low latency", tmp_path / "new.cm")
    old, new = (read_document(own) for own in (OWN, content))
    for number in (3, 38):
        assert [own.hex for own in old.all(number)] == [own.hex for own in new.all(number)]
    assert VENDOR in content
    assert VOICE[0] in content
    settings = read_settings(new)
    assert {mic.state for mic in verify(content, SECRET)} == {"right"}
    assert not [own.rule for own in check(content, SECRET) if own.severity == "error"]
    assert not [own for own in notes if "differs" in own]
    # The references 1 to 3 are the operator's, and so is that of the first classifier.
    lows = [low.reference and low.reference.value for _, low in settings.list_low_latency()]
    assert lows == [4, 5]
    references = [own.reference for own in settings.classifiers]
    assert len(set(references)) == len(references) == 13
    assert_same_run(tier, "low latency", tmp_path / "new.cm", line=make_tier())


def test_classifiers_of_an_operator_stay_ahead_of_those_of_low_latency(tmp_path: Path) -> None:
    tier = make_tier_of(OWN, tmp_path / "own.cm")
    content, _ = write(tier, "low latency", tmp_path / "new.cm")
    classifiers = read_settings(read_document(content)).classifiers
    assert [own.priority for own in classifiers if own.flow == 3] == [1]
    assert {own.priority for own in classifiers if own.flow != 3} == {0}
    assert "22.5 rule priority of the other classifiers: 0 → 1 of 1" in list_words(
        tier, "low latency"
    )


def test_a_file_that_has_low_latency_is_not_changed_and_the_error_names_the_way(
    tmp_path: Path,
) -> None:
    (tmp_path / "first.cm").write_bytes(b"")
    own, _ = write(make_tier(), "low latency", tmp_path / "own.cm")
    tier = replace(make_tier(), today={}, file=tmp_path / "own.cm")
    for label, why in (
        ("low latency", "it has an aggregate service flow already"),
        ("buffer 24 KiB", "it has low latency today"),
    ):
        with pytest.raises(InputError, match=rf"own\.cm: .*{why}.*headend config from"):
            write_files(recommend([tier], [label]), tmp_path / "new.cm")
        # The list is that of the tier by itself.
        assert list_words(tier, label) == list_words(make_tier(), label)
    assert (tmp_path / "own.cm").read_bytes() == own
    assert not (tmp_path / "new.cm").exists()


def test_the_setting_of_today_leaves_the_file_as_it_is(tmp_path: Path) -> None:
    tier = make_tier_of(OWN, tmp_path / "own.cm")
    assert list_words(tier, "as it is") == []
    assert default_of(tier, "as it is") == "The tier has this setting today: nothing has to be set."
    (written,) = write_files(recommend([tier], ["as it is"]), tmp_path / "new.cm")
    assert (tmp_path / "new.cm").read_bytes() == OWN
    assert not [own for own in written.notes if "CMTS MIC" in own]


def test_the_file_that_is_read_is_not_replaced(tmp_path: Path) -> None:
    tier = make_tier_of(OWN, tmp_path / "own.cm")
    with pytest.raises(InputError, match=r"own\.cm: is the file that is read"):
        write_files(recommend([tier], ["AQM 15 ms"]), tmp_path / "own.cm", force=True)


def test_an_aqm_that_the_file_disables_for_all_flows_is_on_for_the_first_alone(
    tmp_path: Path,
) -> None:
    second = flow(24, buffer(30_000), reference=3, rate=1_000_000)
    own = build(u8(76, 1), up=UP + second + VOICE[1], down=DOWN.replace(u16(1, 1), u16(1, 2)))
    tier = make_tier_of(own, tmp_path / "own.cm")
    content, notes = write(tier, "AQM 15 ms", tmp_path / "new.cm")
    document = read_document(content)
    first, other = read_settings(document).list_flows("up")
    assert document.get(76) is None
    assert first.aqm_disabled is not None
    assert first.aqm_disabled.value == 0
    assert other.aqm_disabled is not None
    assert other.aqm_disabled.value == 1
    assert not [one for one in notes if "differs" in one]


def test_what_a_file_has_by_itself_need_not_be_set(tmp_path: Path) -> None:
    tier = make_tier_of(build(up=flow(24)), tmp_path / "own.cm")
    told = default_of(tier, "AQM 10 ms")
    assert told is not None
    assert told.startswith("The modems have this setting with their file as it is")
    assert len(list_words(tier, "AQM 10 ms")) == 4
    assert default_of(tier, "AQM 15 ms") is None


def test_a_file_as_text_gives_a_binary_file(tmp_path: Path) -> None:
    tier = make_tier_of(OWN, tmp_path / "own.cm")
    binary, _ = write(tier, "AQM 15 ms", tmp_path / "new.cm")
    text = tmp_path / "own.toml"
    text.write_text(_engine.config_to_toml(OWN), encoding="utf-8")
    same, _ = write(read_modem_tier(text, "docsis31")[0], "AQM 15 ms", tmp_path / "same.cm")
    assert same == binary


def test_a_file_that_is_gone_is_one_clear_error_and_the_list_is_that_of_the_tier(
    tmp_path: Path,
) -> None:
    tier = replace(make_tier(), today={}, file=tmp_path / "gone.cm")
    assert list_words(tier, "buffer 24 KiB") == list_words(make_tier(), "buffer 24 KiB")
    with pytest.raises(InputError, match=r"gone\.cm: .*no such file") as caught:
        write_files(recommend([tier], ["buffer 24 KiB"]), tmp_path / "new.cm")
    assert str(caught.value).count("gone.cm") == 1
