"""Tests of opening measuring tools' files: limits, gzip and JSON."""

from __future__ import annotations

import gzip
import io
import json
import os
import sys
import tracemalloc
from pathlib import Path

import pytest

from headend.errors import InputError
from headend.measurement import content as module
from headend.measurement.content import JsonError, parse_content, parse_json, read_content
from headend.measurement.reading import read_measurement
from measurement.flent_files import make_file

PATH = Path("line.gz")


def test_a_packed_file_is_read_as_the_same_file_unpacked(tmp_path: Path) -> None:
    plain, packed = tmp_path / "line.flent", tmp_path / "line.flent.gz"
    text = json.dumps(make_file()).encode()
    plain.write_bytes(text)
    # Members of gzip may follow one another.
    packed.write_bytes(gzip.compress(text[:1000]) + gzip.compress(text[1000:]))
    first, second = (read_measurement([path]) for path in (plain, packed))
    assert first.delays == second.delays
    assert first.rates == second.rates


def test_gzip_that_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST_CONTENT_BYTES", 2**20)
    packed = gzip.compress(b" " * (5 * 2**20))
    assert len(packed) < 10_000
    with pytest.raises(InputError, match="unpacks to more than 1 MiB, which is too large for a"):
        parse_content(PATH, packed)


def test_a_bomb_is_unpacked_to_the_limit_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST_CONTENT_BYTES", 2**20)
    packed = gzip.compress(b"\0" * (64 * 2**20))
    tracemalloc.start()
    try:
        with pytest.raises(InputError):
            parse_content(PATH, packed)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 8 * 2**20


@pytest.mark.parametrize("kept", [4, 11, 30, -1])
def test_gzip_that_is_cut_off_says_so(kept: int) -> None:
    packed = gzip.compress(bytes(range(256)) * 8)
    with pytest.raises(
        InputError, match=r"^line\.gz: the gzip file is cut off: its end is missing"
    ):
        parse_content(PATH, packed[:kept])


def test_gzip_that_is_damaged_says_so() -> None:
    packed = bytearray(gzip.compress(b'{"a": 1}' * 100))
    packed[-6] ^= 0xFF
    with pytest.raises(InputError, match=r"^line\.gz: the gzip file is damaged after \d+ unpacked"):
        parse_content(PATH, bytes(packed))


def test_gzip_with_something_behind_it_says_so() -> None:
    packed = gzip.compress(b"{}")
    assert parse_content(PATH, packed + b"\0" * 512)[0].json == {}
    with pytest.raises(InputError, match="is followed by 4 bytes of something else"):
        parse_content(PATH, packed + b"more")


def test_a_file_that_is_too_large_says_how_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LARGEST_FILE_BYTES", 2**20)
    path = tmp_path / "line.flent"
    path.write_bytes(b" " * (3 * 2**20))
    with pytest.raises(InputError, match="3 MiB is too large for a file of a measuring tool"):
        read_content(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="expected a file, found a pipe or a device"):
        read_content(tmp_path / "pipe")


def test_a_folder_and_a_missing_file_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a file, found a directory"):
        read_content(tmp_path)
    with pytest.raises(InputError, match="no such file"):
        read_content(tmp_path / "none")


def test_standard_input_is_read_for_a_hyphen(monkeypatch: pytest.MonkeyPatch) -> None:
    text = json.dumps(make_file()).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert read_measurement([Path("-")]).tools == ("flent 2.1.1",)


def test_a_text_of_windows_is_read() -> None:
    assert parse_content(PATH, '{"a": "ä"}'.encode("utf-16"))[0].json == {"a": "ä"}
    assert parse_content(PATH, '{"a": "ä"}'.encode("utf-8-sig"))[0].json == {"a": "ä"}
    with pytest.raises(InputError, match="a byte order mark of UTF-16"):
        parse_content(PATH, b"\xff\xfe{")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('{"a": 1', "the JSON ends too early"),
        ('{"a": "b', "the JSON ends too early"),
        ('{"a": 1,}', "line 1, column"),
        ('{"a": b}', "line 1, column 7: no JSON"),
        ('{"a": {}, "a": {}}', '"a" is there twice in one object'),
        ("[" * 100_000, "nested too deeply"),
        ('{"a": ' * 100_000, "nested too deeply"),
        (f'{{"a": {"9" * 5000}}}', "a number of too many digits"),
    ],
)
def test_what_is_no_json_says_where_and_why(text: str, error: str) -> None:
    with pytest.raises(JsonError, match=error):
        parse_json(text.encode())


def test_bytes_that_are_no_utf_8_are_named() -> None:
    with pytest.raises(JsonError, match="byte 6 is not UTF-8"):
        parse_json(b'{"a": "\xff"}'.replace(b'"\xff', b"\xff"))


def test_numbers_beyond_floats_and_nan_are_left_to_readers() -> None:
    found = parse_json(b'{"a": [NaN, Infinity, 1e400, 1]}')
    assert found["a"][1:] == [float("inf"), float("inf"), 1]


def test_a_number_that_is_there_twice_is_read_as_iperf3_writes_it() -> None:
    assert parse_json(b'{"sock_bufsize": 0, "sock_bufsize": 1}') == {"sock_bufsize": 1}
