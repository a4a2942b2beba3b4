"""Tests of ``headend config``: files of modems as text and back, checked, compared, shown.
Hostile files are refused."""

from __future__ import annotations

import json
import os
import pty
import random
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from headend.cli.main import app
from modem_files import buffer, flow, make_file, tlv, u8, u16, u32

FILE = make_file()

#: Unusual files. All of their bytes must survive.
UNUSUAL = {
    "without an end": FILE.rstrip(b"\0").removesuffix(b"\xff"),
    "padded": FILE + bytes(4),
    "pads between": u8(3, 1) + bytes(3) + flow(24, rate=0),
    "unknown": make_file(further=tlv(213, b"\1\2") + tlv(43, bytes.fromhex("0803001122060101"))),
    "vendors twice": make_file(further=tlv(43, b"\x08\x03\0\0\1") + tlv(43, b"\x08\x03\0\0\2")),
    "empty value": make_file(further=tlv(11, b"")),
    "wrong length": make_file(further=tlv(18, b"\0\0\0\1")),
    "nested overrun": make_file(
        flow(25, reference=2, rate=0), further=tlv(24, b"\1\2\0\1\x23\x7f\1")
    ),
    "certificate": make_file(further=tlv(32, b"\x30" * 254) + tlv(32, b"\x31" * 100)),
    "truncated": FILE[:-40],
    "truncated in a header": u8(3, 1) + b"\x18",
    "long lengths": b"\x18\xff" * 40,
    "after the end": FILE + b"\x01\x02\x03",
    "mta": tlv(254, b"\1") + b"\x0b\x05\x30\x03\x06\x01\x01" + tlv(254, b"\xff"),
    "noise": random.Random(33).randbytes(700),
}


def call(*words: str, stdin: bytes | None = None, **environment: str) -> Result:
    return CliRunner().invoke(app, ["config", *words], input=stdin, env=environment)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a modem's file, where the commands run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HEADEND_CONFIG_SECRET", raising=False)
    Path("modem.cm").write_bytes(FILE)
    return tmp_path


def fail_with(message: str, *words: str, stdin: bytes | None = None) -> None:
    """Expect exit code 2 and one line on standard error."""
    answer = call(*words, stdin=stdin)
    assert answer.exit_code == 2, answer.output
    assert answer.stderr == f"error: {message}\n"


# Decode and encode


@pytest.mark.parametrize("name", ["the usual one", *UNUSUAL])
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["toml", "json"])
def test_encode_gives_back_what_decode_was_given(name: str, form: list[str]) -> None:
    content = UNUSUAL.get(name, FILE)
    Path("x.cm").write_bytes(content)
    text = call("decode", "x.cm", *form)
    assert text.exit_code == 0, text.output
    assert (json if form else tomllib).loads(text.stdout)
    again = call("encode", "-", stdin=text.stdout_bytes)
    assert again.exit_code == 0, again.output
    assert again.stdout_bytes == content
    assert again.stderr == ""


def test_the_text_names_what_operators_set() -> None:
    content = tomllib.loads(call("decode", "modem.cm").stdout)
    (up,) = content["upstream_service_flow"]
    assert up["maximum_sustained_rate"] == "10 Mbit/s"
    assert up["buffer_control"]["target"] == "62500 B"


def test_a_pipe_of_both_is_silent() -> None:
    command = f"{sys.executable} -m headend config"
    shell = f"{command} decode modem.cm | {command} encode - | cmp - modem.cm"
    ended = subprocess.run(["sh", "-c", shell], capture_output=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")


def test_standard_input_is_decoded() -> None:
    assert call("decode", "-", stdin=FILE).stdout == call("decode", "modem.cm").stdout


def test_a_file_is_written_and_replaced_only_if_that_is_wanted() -> None:
    answer = call("decode", "modem.cm", "-o", "modem.toml")
    assert (answer.exit_code, answer.stdout, answer.stderr) == (0, "", "modem.toml written\n")
    fail_with(
        "modem.toml: exists already; --force replaces it", "decode", "modem.cm", "-o", "modem.toml"
    )
    Path("modem.toml").write_text(Path("modem.toml").read_text().replace("62500 B", "31250 B"))
    assert call("encode", "modem.toml", "-o", "new.cm").exit_code == 0
    assert Path("new.cm").read_bytes() == FILE.replace(u32(2, 62_500), u32(2, 31_250))
    assert call("encode", "modem.toml", "-o", "modem.cm", "--force").exit_code == 0
    assert Path("modem.cm").read_bytes() == Path("new.cm").read_bytes()
    assert sorted(path.name for path in Path().iterdir()) == ["modem.cm", "modem.toml", "new.cm"]


def test_what_cannot_be_written_is_refused_before_anything_is_read(folder: Path) -> None:
    fail_with(
        "modem.cm: is the file that is read; give another name",
        *("decode", "modem.cm", "-o", "modem.cm", "--force"),
    )
    fail_with(".: expected a file to write, found a directory", "decode", "x", "-o", ".")
    fail_with(
        "none/x.toml: cannot be written: no such file or directory",
        *("decode", "modem.cm", "-o", "none/x.toml"),
    )
    os.mkfifo("pipe")
    fail_with(
        "pipe: expected a file to replace, found a pipe, a device or a link",
        *("decode", "modem.cm", "-o", "pipe", "--force"),
    )
    assert Path("modem.cm").read_bytes() == FILE


def test_a_modem_s_file_is_never_written_to_a_terminal() -> None:
    call("decode", "modem.cm", "-o", "modem.toml")
    master, terminal = pty.openpty()
    words = [sys.executable, "-m", "headend", "config", "encode", "modem.toml"]
    ended = subprocess.run(words, stdout=terminal, stderr=subprocess.PIPE, check=False)
    os.close(terminal)
    try:
        shown = os.read(master, 1)
    except OSError:  # as Linux ends an empty one
        shown = b""
    os.close(master)
    assert (ended.returncode, shown) == (2, b"")
    assert ended.stderr == (
        b"error: standard output is a terminal, and a modem's file is binary; write it with -o"
        b" FILE, or redirect it: > FILE\n"
    )


def test_the_wrong_one_of_both_says_which_is_right() -> None:
    text = call("decode", "modem.cm").stdout
    Path("modem.toml").write_text(text)
    fail_with(
        "modem.toml: expected a modem's file, which is binary, found a text; headend config encode"
        " modem.toml makes the binary file of TOML or JSON",
        *("decode", "modem.toml"),
    )
    fail_with(
        "modem.cm: expected TOML or JSON, found a binary file; headend config decode modem.cm shows"
        " it as TOML",
        *("encode", "modem.cm"),
    )


def test_a_fault_in_a_text_is_told_with_its_line() -> None:
    Path("bad.toml").write_text("max_cpe = 16\nnetwork_acces = 1\n")
    answer = call("encode", "bad.toml", "-o", "bad.cm")
    assert answer.exit_code == 2
    assert len(answer.stderr.splitlines()) == 1
    assert answer.stderr.startswith("error: bad.toml: ")
    assert "line 2" in answer.stderr
    assert 'found the name "network_acces"' in answer.stderr
    assert "did you mean" in answer.stderr
    assert not Path("bad.cm").exists()


# Integrity checks


def edit(secret: bytes = b"DOCSIS") -> None:
    """Write edited.toml, whose checks are those of the file before the edit."""
    Path("modem.cm").write_bytes(make_file(secret=secret))
    text = call("decode", "modem.cm").stdout
    Path("edited.toml").write_text(text.replace("62500 B", "31250 B"))


WANTED = make_file(target=31_250)


def test_checks_stay_as_the_text_has_them() -> None:
    edit()
    made = call("encode", "edited.toml", HEADEND_CONFIG_SECRET="DOCSIS").stdout_bytes
    assert made == FILE.replace(u32(2, 62_500), u32(2, 31_250))


def test_a_check_that_is_not_of_its_content_is_told_once() -> None:
    edit()
    told = (
        "note: the CM MIC (TLV 6) is not that of this content, and the modem refuses the file:"
        " --mic computes it anew, --secret or --secret-file computes the CMTS MIC (TLV 7) too\n"
    )
    for answer in (
        call("encode", "edited.toml"),
        call("encode", "edited.toml", HEADEND_CONFIG_SECRET="DOCSIS"),
    ):
        assert (answer.exit_code, answer.stderr) == (0, told)
    answer = call("encode", "edited.toml", "-o", "new.cm", "--json")
    assert [f"note: {note}\n" for note in json.loads(answer.stdout)["notes"]] == [told]
    Path("right.toml").write_text(call("decode", "modem.cm").stdout)
    assert call("encode", "right.toml").stderr == ""
    assert call("encode", "right.toml", HEADEND_CONFIG_SECRET="DOCSIS").stderr == ""
    answer = call("encode", "right.toml", HEADEND_CONFIG_SECRET="other")
    assert answer.stderr.startswith("note: the CMTS MIC (TLV 7) is not that of this content")


def test_a_secret_makes_both_checks_anew() -> None:
    edit()
    Path("secret.txt").write_bytes(b"DOCSIS\r\n")
    for words in (("--secret", "DOCSIS"), ("--secret-file", "secret.txt")):
        assert call("encode", "edited.toml", *words).stdout_bytes == WANTED
    made = call("encode", "edited.toml", "--secret-file", "-", stdin=b"DOCSIS\n")
    assert made.stdout_bytes == WANTED
    made = call("encode", "edited.toml", "--mic", HEADEND_CONFIG_SECRET="DOCSIS")
    assert (made.stdout_bytes, made.stderr) == (WANTED, "")


def test_the_empty_secret_is_one() -> None:
    edit(b"")
    made = call("encode", "edited.toml", "--secret", "", HEADEND_CONFIG_SECRET="other")
    assert made.stdout_bytes == make_file(target=31_250, secret=b"")
    Path("secret.txt").write_bytes(b"\n")
    fail_with(
        '--secret-file secret.txt: expected a secret, found nothing; --secret "" is the empty one',
        *("encode", "edited.toml", "--secret-file", "secret.txt"),
    )


def test_without_a_secret_the_check_of_the_modem_alone_is_made_anew() -> None:
    edit()
    made = call("encode", "edited.toml", "--mic")
    at = WANTED.index(b"\x07\x10")
    assert made.stdout_bytes[:at] == WANTED[:at]
    assert made.stdout_bytes[at:] == FILE[at:]
    assert made.stderr == (
        "note: the CMTS MIC (TLV 7) stays as it is in the text; a secret computes it anew\n"
    )


def test_a_file_that_a_cmts_refuses_is_said_when_it_is_written_and_checked() -> None:
    text = (
        "network_access_control = 1\nUsServiceFlow.UsServiceFlowRef = 1\n"
        "DsServiceFlow.DsServiceFlowRef = 2\n"
    )
    Path("tier.toml").write_text(text)
    made = call("encode", "tier.toml", "--mic", "-o", "ci.cm")
    assert made.exit_code == 0
    assert "the CMTS MIC (TLV 7) is not in the file, because there is no secret" in made.stderr
    checked = call("check", "ci.cm")
    assert checked.exit_code == 1
    assert "error  TLV 7" in checked.stdout
    assert "--secret-file" in checked.stdout
    assert call("check", "ci.cm", "--unsigned").exit_code == 0
    assert (
        call("encode", "tier.toml", "--secret", "x", "-o", "signed.cm").stderr
        == "signed.cm written\n"
    )
    assert call("check", "signed.cm", "--secret", "x").exit_code == 0


def test_a_text_without_checks_is_signed_with_the_secret_of_the_environment() -> None:
    Path("tier.toml").write_text("network_access_control = 1\nUsServiceFlow.UsServiceFlowRef = 1\n")
    made = call("encode", "tier.toml", "-o", "ci.cm", HEADEND_CONFIG_SECRET="x")
    assert made.stderr == (
        "note: the text has no MICs: both are computed with the secret of"
        " HEADEND_CONFIG_SECRET\nci.cm written\n"
    )
    states = [
        mic["state"]
        for mic in json.loads(call("show", "ci.cm", "--secret", "x", "--json").stdout)[0]["mics"]
    ]
    assert states[:2] == ["right", "right"]
    assert call("encode", "tier.toml", "-o", "plain.cm").stderr == "plain.cm written\n"
    assert b"\x06\x10" not in Path("plain.cm").read_bytes()


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["toml", "json"])
@pytest.mark.parametrize("name", UNUSUAL)
def test_a_file_s_text_is_not_signed_by_the_environment_alone(name: str, form: list[str]) -> None:
    Path("x.cm").write_bytes(UNUSUAL[name])
    text = call("decode", "x.cm", *form, HEADEND_CONFIG_SECRET="x").stdout
    made = call("encode", "-", stdin=text.encode(), HEADEND_CONFIG_SECRET="x")
    assert made.stdout_bytes == UNUSUAL[name]
    assert "both are computed" not in made.stderr


def test_a_value_of_another_length_is_said_when_it_is_written() -> None:
    Path("tos.toml").write_text(
        'network_access_control = 1\n[[UsPacketClass]]\nIpPacketClassifier.IpTos = "0xb8"\n'
    )
    made = call("encode", "tos.toml", "-o", "tos.cm")
    assert (made.exit_code, made.stderr) == (
        0,
        "note: TLV 22.9.1 (tos_range_and_mask) is written as 0xb8: it has 1 byte, expected 3"
        " bytes\ntos.cm written\n",
    )


def test_secrets_that_contradict_each_other_are_refused() -> None:
    edit()
    fail_with(
        "--secret: has no effect beside --secret-file; leave out one of them",
        *("encode", "edited.toml", "--secret", "x", "--secret-file", "y"),
    )
    fail_with(
        "--secret-file -: standard input holds the file already; name a file",
        *("encode", "-", "--secret-file", "-"),
    )
    fail_with(
        "nowhere: no such file or directory",
        *("encode", "edited.toml", "--secret-file", "nowhere"),
    )


# Check, diff and show

GOOD = make_file()
LONG = make_file(target=2_000_000)


def write_two() -> None:
    Path("good.cm").write_bytes(GOOD)
    Path("long.cm").write_bytes(LONG)


def test_check_exits_with_1_for_errors_and_names_the_place() -> None:
    write_two()
    answer = call("check", "good.cm", "--secret", "DOCSIS")
    assert answer.exit_code == 0, answer.output
    answer = call("check", "good.cm", "long.cm", "--secret", "wrong", "--strict")
    assert answer.exit_code == 1
    assert "TLV 24.35.2" in answer.stdout
    assert "TLV 7" in answer.stdout
    assert answer.stdout.endswith("\n2 files: 2 with errors, 1 with warnings.\n")
    assert answer.stderr == ""


def test_check_says_what_it_does_not_check() -> None:
    write_two()
    answer = call("check", "good.cm", "--secret", "DOCSIS")
    assert answer.stdout.startswith("good.cm: nothing wrong in the file\n")
    assert "`headend recommend good.cm`" in " ".join(answer.stdout.split())
    older = call("check", "good.cm", "--preset", "docsis30").stdout
    assert "`headend recommend good.cm --preset docsis30`" in " ".join(older.split())
    # A file with an error is mended first.
    assert "headend recommend" not in call("check", "long.cm", "--preset", "docsis30").stdout


def test_check_as_json_has_the_findings_of_each_file() -> None:
    write_two()
    answer = call("check", "good.cm", "long.cm", "--secret", "DOCSIS", "--json", "--strict")
    good, long = json.loads(answer.stdout)
    assert (good["file"], long["file"]) == ("good.cm", "long.cm")
    found = [one for one in long["findings"] if one["path"] == "24.35.2"]
    assert any("1.6 s" in one["text"] and one["severity"] != "note" for one in found)
    assert answer.exit_code == 1
    assert not [one for one in good["findings"] if one["severity"] == "error"]


def test_warnings_count_with_strict_only(monkeypatch: pytest.MonkeyPatch) -> None:
    from headend.modem_file import check
    from headend.modem_file.finding import Finding

    one = Finding("warning", "some_rule", None, "Something is odd.", "Look at it.", "headend")
    monkeypatch.setattr(check, "check", lambda content, secret, **_: [one])
    assert call("check", "modem.cm").exit_code == 0
    assert call("check", "modem.cm", "--strict").exit_code == 1
    assert "Something is odd." in call("check", "modem.cm").stdout


def test_diff_says_what_a_buffer_does_to_the_delay() -> None:
    write_two()
    answer = call("diff", "good.cm", "long.cm")
    assert answer.exit_code == 1
    told = " ".join(answer.stdout.split())
    assert "62500 B" in told
    assert "2000000 B" in told
    assert "50 ms" in told
    assert "1.6 s" in told
    same = call("diff", "good.cm", "modem.cm")
    assert (same.exit_code, same.stdout) == (0, "The files are equal, byte for byte.\n")
    older = call("diff", "good.cm", "long.cm", "--preset", "docsis30")
    assert (older.exit_code, older.stdout) == (1, answer.stdout)
    assert "did you mean" in call("diff", "good.cm", "long.cm", "--preset", "docsis3").stderr
    as_json = json.loads(call("diff", "good.cm", "long.cm", "--json").stdout)
    assert (as_json["old"], as_json["new"]) == ("good.cm", "long.cm")
    assert any(change["path"] == "24.35.2" for change in as_json["changes"])
    assert json.loads(call("diff", "good.cm", "modem.cm", "--json").stdout)["changes"] == []


def test_show_tells_the_delay_of_each_flow() -> None:
    write_two()
    answer = call("show", "good.cm", "long.cm", "--secret", "DOCSIS")
    assert answer.exit_code == 0, answer.output
    assert "50 ms" in answer.stdout
    assert "1.6 s" in answer.stdout
    both = json.loads(call("show", "good.cm", "long.cm", "--json").stdout)
    assert [one["file"] for one in both] == ["good.cm", "long.cm"]
    assert both[0]["flows"][0]["delay_ns"] == 50e6


def test_show_tells_the_grants_and_polls_of_a_flow() -> None:
    grants = u8(15, 6) + u16(19, 232) + u32(20, 20_000) + u8(22, 1)
    polls = u8(15, 4) + u32(17, 5_000)
    ahead = u8(15, 7) + u16(44, 2_000) + u32(45, 5_000_000) + u16(46, 1_000)
    Path("voice.cm").write_bytes(
        make_file(
            flow(24, rate=0),
            flow(24, grants, reference=3, rate=0),
            flow(24, polls, reference=4, rate=0),
            flow(24, ahead, reference=5, rate=0),
        )
    )
    (shown,) = json.loads(call("show", "voice.cm", "--json").stdout)
    words = [row["scheduling"] for row in shown["flows"]]
    assert words == [
        "–",
        "UGS, 232 B each 20 ms, 92.8 kbit/s",
        "rtPS, polled each 5 ms",
        "PGS, grants of 5 Mbit/s each 2 ms, may request each 1 ms",
    ]


def test_show_says_nothing_of_a_modems_aqm_downstream() -> None:
    up, down = (flow(kind, buffer(62_500), reference=kind) for kind in (24, 25))
    Path("both.cm").write_bytes(make_file(up, down))
    (shown,) = json.loads(call("show", "both.cm", "--json").stdout)
    told = [sentence.partition("; ")[2] for sentence in shown["delays"]]
    assert told[0].startswith("DOCSIS-PIE aims at 10 ms")
    assert told[1] == ""
    assert shown["supposed"] == "24.40 absent: docsis31 has DOCSIS-PIE on (10 ms)"


def test_show_and_check_name_what_they_suppose_of_a_generation() -> None:
    told = "24.40 absent: docsis30 has no AQM"
    for command in ("show", "check"):
        assert f"\n{told}.\n" in call(command, "modem.cm", "--preset", "docsis30").stdout
        (one,) = json.loads(call(command, "modem.cm", "--preset", "docsis30", "--json").stdout)
        assert one["supposed"] == told
    fail_with(
        "--preset: modems of docsis20 have neither Buffer Control nor AQM; expected docsis30 or"
        " docsis31",
        *("check", "modem.cm", "--preset", "docsis20"),
    )


def test_the_text_of_a_file_is_checked_shown_and_compared_too() -> None:
    call("decode", "modem.cm", "-o", "modem.toml")
    assert call("diff", "modem.toml", "modem.cm").exit_code == 0
    shown = call("show", "modem.toml").stdout
    assert shown.replace("modem.toml", "modem.cm") == call("show", "modem.cm").stdout
    assert call("check", "-", "--json", stdin=Path("modem.toml").read_bytes()).exit_code == 0


def test_standard_input_is_read_once() -> None:
    fail_with("-: given twice; standard input can be read once", "diff", "-", "-")


@pytest.mark.parametrize("columns", ["40", "80", "200"])
def test_show_fits_the_terminal(columns: str) -> None:
    lines = call("show", "modem.cm", COLUMNS=columns).stdout.splitlines()
    assert max(map(len, lines)) <= int(columns)


def test_a_file_in_place_of_a_command_leads_to_show() -> None:
    fail_with(
        'no command "headend config modem.cm"; did you mean headend config show modem.cm?',
        "modem.cm",
    )


# From a scenario


def test_the_file_of_a_scenario_s_modem_is_written() -> None:
    answer = call("from", "upload-and-call", "-o", "made.cm", "--secret", "DOCSIS")
    assert answer.exit_code == 0, answer.output
    assert answer.stderr.endswith("made.cm written\n")
    shown = json.loads(call("show", "made.cm", "--secret", "DOCSIS", "--json").stdout)
    assert [mic["state"] for mic in shown[0]["mics"][:2]] == ["right", "right"]
    assert shown[0]["flows"][0]["delay_ns"] == 250e6
    faster = call("from", "upload-and-call", "--set", "link.cable.docsis.upstream.rate=20 Mbit/s")
    assert faster.stdout_bytes[:3] == FILE[:3]
    assert faster.stdout_bytes != Path("made.cm").read_bytes()


def test_what_a_file_cannot_say_is_a_note() -> None:
    words = ("from", "upload-and-call", "--set", "queue=codel", "-o", "made.cm")
    answer = call(*words)
    assert answer.exit_code == 0, answer.output
    assert "note: " in answer.stderr
    as_json = json.loads(call(*words, "--force", "--json").stdout)
    assert as_json["file"] == "made.cm"
    assert as_json["size"] == Path("made.cm").stat().st_size
    assert any("codel" in note for note in as_json["notes"])


def test_an_unknown_modem_of_a_scenario_is_refused() -> None:
    answer = call("from", "office", "--modem", "offic", "-o", "made.cm")
    assert answer.exit_code == 2
    assert "office" in answer.stderr
    assert not Path("made.cm").exists()


# Hostile files


@pytest.mark.parametrize("command", ["show", "decode", "check", "diff"])
@pytest.mark.parametrize("name", UNUSUAL)
def test_any_bytes_are_answered(command: str, name: str) -> None:
    Path("x.cm").write_bytes(UNUSUAL[name])
    words = ["x.cm", "modem.cm"] if command == "diff" else ["x.cm"]
    for form in ([], ["--json"]):
        answer = call(command, *words, *form)
        assert answer.exit_code in (0, 1), answer.output
        assert answer.stderr == ""


@pytest.mark.parametrize("command", ["show", "decode", "check", "diff", "encode"])
def test_what_is_no_file_is_refused_in_one_line(command: str) -> None:
    further = ["modem.cm"] if command == "diff" else []
    Path("empty").write_bytes(b"")
    Path("folder").mkdir()
    os.mkfifo("pipe")
    with Path("huge").open("wb") as file:
        file.truncate(2**30)
    refusals = {
        "none": "no such file or directory",
        "folder": "expected a file, found a directory",
        "pipe": "expected a file, found a pipe or a device",
        "/dev/zero": "expected a file, found a pipe or a device",
        "empty": "expected a configuration file, found no bytes",
    }
    for name, why in refusals.items():
        fail_with(f"{name}: {why}", command, name, *further)
    answer = call(command, "huge", *further)
    assert answer.exit_code == 2
    assert answer.stderr.startswith("error: huge: 1024 MiB is too large for a configuration file")


def test_the_largest_file_is_answered_in_time_that_grows_as_its_size() -> None:
    # All types in turn: what is asked of each type is not asked of every TLV.
    Path("many.cm").write_bytes(
        bytes(byte for kind in range(2**16) for byte in (kind % 254 + 1, 0))
    )
    started = time.process_time()
    assert call("show", "many.cm").exit_code == 0
    assert time.process_time() - started < 20
    Path("many.cm").write_bytes(bytes(2**17 + 1))
    fail_with(
        "many.cm: 131073 B is too large for a configuration file (at most 128 KiB)",
        "show",
        "many.cm",
    )


def test_two_mebibytes_are_refused_before_they_are_read() -> None:
    Path("two.cm").write_bytes(bytes(2**21))
    message = "2 MiB is too large for a configuration file (at most 128 KiB)"
    fail_with(f"two.cm: {message}", "decode", "two.cm")
    answer = call("decode", "-", stdin=bytes(2**21))
    assert answer.stderr == (
        "error: standard input: too large for a configuration file (more than 128 KiB)\n"
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="who may do all may read all")
def test_a_file_that_may_not_be_read_is_told() -> None:
    Path("modem.cm").chmod(0)
    fail_with("modem.cm: permission denied", "decode", "modem.cm")


def test_control_characters_of_a_file_do_not_reach_the_terminal() -> None:
    name = tlv(4, b"\x1b[31mred\0")
    Path("x.cm").write_bytes(
        make_file(flow(24, name, rate=1_000_000), flow(25, reference=2, rate=0))
    )
    for command in ("show", "decode", "check"):
        assert "\x1b" not in call(command, "x.cm").stdout
    assert "\x1b" not in call("decode", "x.cm", "--json").stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["decode"],
            "headend config decode: expected FILE, found nothing; FILE is a modem's configuration"
            " file, or - for standard input",
        ),
        (
            ["encode", "modem.toml", "--json"],
            "--json: standard output has the JSON; -o FILE says where the file goes",
        ),
        (
            ["decode", "modem.cm", "--force"],
            "--force: has no effect on standard output; -o FILE names a file to replace",
        ),
        (["check", ""], '"": expected the path of a configuration file, found nothing'),
    ],
)
def test_what_is_typed_wrong_is_told(words: list[str], message: str) -> None:
    fail_with(message, *words)


def test_a_name_that_no_file_has_leads_to_the_one_beside_it() -> None:
    fail_with('modm.cm: no such file or directory; did you mean "modem.cm"?', "show", "modm.cm")


@pytest.mark.parametrize("command", ["show", "check"])
def test_another_text_is_no_modem_s_file(command: str) -> None:
    Path("notes.txt").write_text("hello world\n")
    fail_with(
        "notes.txt: expected a modem's file, binary or as TOML or JSON, found another text: key"
        " with no value, expected `=` in line 1",
        command,
        "notes.txt",
    )


def test_show_says_that_a_file_is_cut_and_what_an_aggregate_is() -> None:
    joint = tlv(70, u16(1, 1) + u32(8, 20_000_000) + tlv(42, u16(1, 2)))
    Path("pair.cm").write_bytes(joint + b"\x18\x30\x01")
    shown = call("show", "pair.cm").stdout
    assert "which ends within a TLV: it is cut short" in shown
    assert "aggregate up 1, low latency: up 2" in " ".join(shown.split())
