"""Tests of the engine's functions for configuration files."""

import hashlib
import hmac
import json
import subprocess
import sys

import pytest

from headend import _engine

# Network access, an upstream and a downstream service flow, and TLV 76, which the CMTS MIC leaves
# out.
UPSTREAM = bytes.fromhex("180a01020001080400989680")
SETTINGS = bytes.fromhex("030101") + UPSTREAM + bytes.fromhex("190401020002 4c0100")
SECRET = b"DOCSIS"


def test_a_file_is_signed_as_the_specification_says() -> None:
    signed = _engine.config_sign(SETTINGS, SECRET)
    assert isinstance(signed, bytes)
    cm_mic = b"\x06\x10" + hashlib.md5(SETTINGS).digest()
    covered = SETTINGS[:3] + cm_mic + SETTINGS[3:-3]
    cmts_mic = b"\x07\x10" + hmac.digest(SECRET, covered, "md5")
    assert signed.rstrip(b"\0") == SETTINGS + cm_mic + cmts_mic + b"\xff"
    assert len(signed) % 4 == 0


def test_the_findings_tell_stale_from_wrong_from_unverifiable() -> None:
    def states(data: bytes, secret: bytes | None) -> tuple[str, str]:
        mics = json.loads(_engine.config_mics(data, secret))
        assert mics["extended_mic"] is None
        return mics["cm_mic"]["state"], mics["cmts_mic"]["state"]

    signed = _engine.config_sign(SETTINGS, SECRET)
    assert states(SETTINGS, SECRET) == ("missing", "missing")
    assert states(signed, SECRET) == ("right", "right")
    assert states(signed, None) == ("right", "unverifiable")
    assert states(signed, b"other") == ("right", "wrong")
    assert states(signed.replace(bytes.fromhex("4c0100"), bytes.fromhex("4c0101")), SECRET) == (
        "stale",
        "right",
    )
    edited = signed.replace(UPSTREAM, UPSTREAM[:-1] + b"\0")
    assert states(edited, SECRET) == ("stale", "stale")
    assert states(_engine.config_sign(edited, cm_only=True), SECRET) == ("right", "wrong")


def test_a_file_that_cannot_be_signed_is_one_error() -> None:
    mta = bytes.fromhex("fe0101fe01ff")
    for function in (_engine.config_mics, _engine.config_sign):
        with pytest.raises(_engine.ConfigError, match="found an MTA's file") as refused:
            function(mta, SECRET)
        assert (refused.value.line, refused.value.path) == (None, None)
        assert refused.value.message == str(refused.value)
    with pytest.raises(_engine.ConfigError, match="expected the secret"):
        _engine.config_sign(SETTINGS)


def test_the_table_says_what_a_tlv_is() -> None:
    rows = {row["number"]: row for row in json.loads(_engine.config_table())}
    target = rows["24|25.35.2"]
    assert (target["name"], target["form"], target["unit"]) == ("target", "u32", "B")
    keys = {"aliases", "range", "meanings", "default", "about", "source"}
    assert keys <= set(target)


def test_a_file_is_text_and_back() -> None:
    signed = _engine.config_sign(SETTINGS, SECRET)
    toml, document = _engine.config_to_toml(signed), _engine.config_to_json(signed)
    assert "[[upstream_service_flow]]" in toml
    assert _engine.config_from_text(toml) == signed
    assert _engine.config_from_text(document) == signed
    tree = json.loads(document)
    assert (tree["kind"], tree["size"]) == ("cable_modem", len(signed))
    flow = next(tlv for tlv in tree["tlvs"] if tlv["tlv"] == "24")
    assert [tlv["tlv"] for tlv in flow["nested"]] == ["24.1", "24.8"]


def test_an_error_in_a_text_says_where() -> None:
    text = "# A comment.\n[[upstream_service_flow]]\nno_such_setting = 1\n"
    with pytest.raises(_engine.ConfigError, match="no_such_setting") as refused:
        _engine.config_from_text(text)
    assert refused.value.line == 3
    assert refused.value.path is not None
    assert "upstream_service_flow" in refused.value.path
    with pytest.raises(_engine.ConfigError) as refused:
        _engine.config_from_text("{")
    assert refused.value.path is None


# A program that measures the memory of decoding, signing and writing a file as text, in KiB.
MEASURED = """
import resource, sys
from headend import _engine
data = bytes.fromhex(sys.argv[1]) * int(sys.argv[2])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
_engine.config_mics(data, b"DOCSIS")
_engine.config_sign(data, b"DOCSIS")
for write in (_engine.config_to_toml, _engine.config_to_json):
    write(data)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems count in other units")
@pytest.mark.parametrize("unit", ["00", "0c00", "0c0101", "18fc" + "010101" * 84])
def test_a_large_file_takes_a_bounded_amount_of_memory(unit: str) -> None:
    # 128 KiB is some ten times the size of modems' files. TLVs without a value take the most memory
    # as text.
    count = (128 << 10) // len(bytes.fromhex(unit))
    command = [sys.executable, "-c", MEASURED, unit, str(count)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(run.stdout) < 48 << 10
