"""Tests of knowing measuring tools' files by their content."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headend.errors import InputError
from headend.measurement.reader import Content
from headend.measurement.readers import READERS
from headend.measurement.reading import read_measurement
from measurement.flent_files import make_file

SAMPLES = Path(__file__).parent / "samples"


@pytest.mark.parametrize(
    ("name", "tool"),
    [
        ("iperf3-up.json", "iperf3 3.12"),
        ("iperf3-bidir.json", "iperf3 3.12"),
        ("irtt.json", "irtt 0.9.0"),
        ("ping.log", "ping"),
        ("fping.log", "ping"),
    ],
)
def test_a_file_is_known_by_its_content_whatever_its_name(
    tmp_path: Path, name: str, tool: str
) -> None:
    path = tmp_path / "measured"
    path.write_bytes((SAMPLES / name).read_bytes())
    assert read_measurement([path]).tools == (tool,)
    assert read_measurement([path]).paths == (path,)


def test_no_two_readers_know_the_same_sample() -> None:
    for path in sorted(SAMPLES.iterdir()):
        data = path.read_bytes()
        value = json.loads(data) if path.suffix == ".json" else None
        content = Content(path, data, value)
        known = [reader.name for reader in READERS if reader.recognises(content)]
        assert len(known) <= 1, path
        assert known or path.suffix == ".md", path


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b'{"download": 300, "upload": 20}', 'JSON with the keys "download", "upload"'),
        (b'[{"download": 300}]', 'a list of JSON with the keys "download"'),
        (b"{}", "JSON without keys"),
        (b"[1, 2]", "JSON that is no object"),
        (b"Dear all,\nplease find attached", 'text that begins with "Dear all,"'),
        (b"", "nothing"),
        (b" \n", "nothing"),
        (b"PK\x03\x04\x14\x00", "a ZIP archive"),
        (b"BZh91AY&SY", "bzip2"),
        (b"\x7fELF\x02\x01\x01\x00", "bytes that are no text"),
        ("Größe".encode("latin-1"), "bytes that are no text"),
    ],
)
def test_the_error_for_an_unknown_kind_says_what_was_found(
    tmp_path: Path, data: bytes, found: str
) -> None:
    path = tmp_path / "measured"
    path.write_bytes(data)
    with pytest.raises(InputError) as raised:
        read_measurement([path])
    text = str(raised.value)
    assert text.startswith(f"{path}: expected a file of a measuring tool (")
    assert text.endswith(f"found {found}")
    assert all(reader.files in text for reader in READERS)
    assert "\n" not in text


def test_json_that_is_cut_off_is_named_as_such(tmp_path: Path) -> None:
    path = tmp_path / "line.flent"
    path.write_text(json.dumps(make_file())[:-100])
    with pytest.raises(InputError) as raised:
        read_measurement([path])
    assert str(raised.value) == (
        f"{path}: expected JSON of a measuring tool, found: the JSON ends too early"
    )


def test_no_file_and_one_file_twice_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected one or more files"):
        read_measurement([])
    path = tmp_path / "line.flent"
    path.write_text(json.dumps(make_file()))
    with pytest.raises(InputError, match=r"line\.flent: is given twice"):
        read_measurement([path, path])
