"""Tests that no content of a file makes a reader fail otherwise than by one clear error.

What is read of a changed file is either a measurement of finite numbers, from which finite numbers
of a line are estimated, or refused in one line that begins with the path. The changes are drawn
with fixed seeds.
"""

from __future__ import annotations

import codecs
import copy
import gzip
import io
import itertools
import math
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import cramjam
import pytest

from headend.errors import InputError
from headend.fitting.estimating import estimate_line
from headend.measurement.content import parse_content
from headend.measurement.readers import READERS
from headend.measurement.reading import read_measurement
from headend.measurement.record import Measurement, Quantity
from measurement.crusader_files import write_header, write_packed
from measurement.small_files import CRUSADER, FILES, OF_BYTES, OF_JSON, OF_TEXT, write_json

#: What stands in the place of a value: other types of JSON, and numbers of every odd kind. Python
#: writes none of the texts in angle brackets as they are, so they are put in afterwards.
VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    -0.5,
    1e-320,
    1e17,
    1.7e308,
    10**400,
    math.nan,
    math.inf,
    -math.inf,
    "<1e400>",
    "<digits>",
    "<deep>",
    "",
    "x",
    "-1",
    "NaN",
    "\x1b[2J\u202e\ud800",
    "x" * 100_000,
    [],
    [[]],
    [None],
    [1, "x"],
    {},
    {"x": {}},
    {"": None},
)
_RAW = {
    b'"<1e400>"': b"1e400",
    b'"<digits>"': b"9" * 5000,
    b'"<deep>"': b"[" * 3000 + b"]" * 3000,
}

#: What stands in the place of a number in a text.
TOKENS = ("", "-", "-1", "nan", "inf", "1e400", "9" * 400, "0x10", "1_0", "\u0661", "1,5", "\0")

#: No more addresses than these are given to a process that reads a bomb, in bytes: as many as
#: content may unpack to, a few times over.
_ADDRESSES = 2**31

#: What a process may take for one file, s of its processor: a fault would take hours.
_PROCESSOR_S = 60

FOREIGN = {
    "nothing": b"",
    "a newline": b"\n",
    "separators": b"\x1c\x1d\x0b",
    "zeros": bytes(1000),
    "a picture": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\1\0\0\0\1\0\x08\x06\0\0\0",
    "a program": b"\x7fELF\x02\x01\x01" + bytes(57),
    "a page": b"<!DOCTYPE html>\n<html><head><title>404</title></head></html>\n",
    "a capture": b"\xd4\xc3\xb2\xa1\x02\0\x04\0" + bytes(16),
    "UTF-16 of half a character": codecs.BOM_UTF16_LE + b"\x00\xd8",
    "UTF-16 of another text": codecs.BOM_UTF16_LE + "time".encode("utf-16-le"),
    "UTF-32": codecs.BOM_UTF32_LE + "time".encode("utf-32-le"),
    "a text": "Sehr geehrte Damen und Herren,\nüber die Zeit = 3 ms\n".encode("latin-1"),
    "escapes": b"\x1b]0;title\x07\x1b[2J\n",
    "JSON of nothing": b"null",
    "JSON of a number": b"3",
    "an empty list": b"[]",
    "an empty object": b"{}",
    "many objects": b"{}\n" * 10_000,
    "deep lists": b"[" * 100_000,
    "deep objects": b'{"a":' * 100_000,
    "a long name": b'{"' + b"a" * 1_000_000 + b'": 1}',
    "many digits": b"[" + b"9" * 100_000 + b"]",
    "a name with a control character": b'{"type": "result", "ping": {}, "downloa\x7fd": 3}',
    "a version with a control character": b"""{"version": {}, "config": {}, "stats": {},
        "round_trips": [{"timestamps": {"client": {"send": {"\x7fwall": 1}}}}]}""",
    "many other names": b'{"config": {}, "stats": {}, "round_trips": [{'
    + b",".join(b'"%d": 1' % number for number in range(200_000))
    + b"}]}",
    "a name twice": b'{"type": "result", "type": "result"}',
    "half a zip": gzip.compress(b"{}" * 1000)[:-20],
    "no zip": b"\x1f\x8b\x08" + bytes(100),
    "zip in zip": gzip.compress(gzip.compress(b"{}")),
    "zip and more": gzip.compress(b"{}") + b"more",
    "a long line": b"time" + b" 1" * 1_000_000,
    "commas": b"time_s" + b"," * 1_000_000,
    "a long name of a column": b"time_s," + b"abcdefghij" * 100_000 + b"\n1,2\n",
    "quotes": b'time_s,delay_ms\n"' + b"1" * 1_000_000,
}


def judge(path: Path, data: bytes) -> Measurement | None:
    """Read a file with some content; give what was measured, or None where it is refused.

    A line is estimated from what was measured, too.
    """
    path.write_bytes(data)
    try:
        measured = read_measurement([path])
    except InputError as error:
        line = str(error)
        assert re.match(rf"{re.escape(str(path))}(:\d+)?: ", line), line
        assert line.isprintable(), line
        assert len(line) < len(str(path)) + 1000, line
        return None
    check(measured)
    assert all(map(math.isfinite, find_numbers(estimate_line(measured))))
    return measured


def check(measured: Measurement) -> None:
    """Check that a measurement is what its class says."""
    for number in find_numbers(measured):
        assert math.isfinite(number)
    for rate in measured.rates:
        assert len(rate.starts) == len(rate.ends) == len(rate.rates)
        assert all(start < end for start, end in zip(rate.starts, rate.ends, strict=True))
        assert all(one >= 0 for one in rate.rates)
    for delay in measured.delays:
        assert delay.delays or delay.lost_count
        assert len(delay.times) in (0, len(delay.delays))
        assert not delay.lost or len(delay.lost) == delay.lost_count
        assert (not delay.delays) or delay.times or delay.load is not None or measured.notes
    for before, after in itertools.pairwise(measured.phases):
        assert before.start <= before.end <= after.start
    for summary in measured.summaries:
        assert summary.value >= 0
        assert summary.quantity is not Quantity.LOSS or summary.value <= 1
    assert all(0 <= one.share <= 1 for one in measured.retransmissions)
    assert measured.rates or measured.delays or measured.summaries
    for text in (*measured.tools, *measured.notes, *measured.dropped, measured.senders.congestion):
        assert text.isprintable()
        assert len(text) < 1000


def find_numbers(value: Any) -> Iterator[float]:
    """Give every number of a record."""
    if isinstance(value, int | float):
        yield value
    elif is_dataclass(value):
        for field in fields(value):
            yield from find_numbers(getattr(value, field.name))
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from find_numbers(item)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            yield from find_numbers(item)


def find_places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Give the way to every value in a value of JSON; of long lists, to their ends."""
    yield place
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from find_places(inner, (*place, key))
    elif isinstance(value, list):
        for index in sorted(
            {*range(min(3, len(value))), *range(max(0, len(value) - 1), len(value))}
        ):
            yield from find_places(value[index], (*place, index))


def alter(value: Any, place: tuple[Any, ...], new: Any) -> Any:
    """Give a value of JSON with another one at some place, or without that place."""
    if not place:
        return new
    altered = copy.copy(value)
    if new is MISSING and len(place) == 1:
        del altered[place[0]]
    else:
        altered[place[0]] = alter(value[place[0]], place[1:], new)
    return altered


MISSING = object()


def write_raw(value: Any) -> bytes:
    """Write JSON with what Python does not write itself."""
    data = write_json(value)
    for mark, raw in _RAW.items():
        data = data.replace(mark, raw)
    return data


def find_altered(value: Any, seed: int) -> Iterator[Any]:
    """Give a value of JSON with each part changed, and with several parts changed at once."""
    places = [place for place in find_places(value) if place]
    for place in places:
        yield alter(value, place, MISSING)
    draw = random.Random(seed)
    for place in places:
        for new in draw.sample(VALUES, 4):
            yield alter(value, place, new)
    for _ in range(200):
        altered = value
        for place in draw.sample(places, min(len(places), 3)):
            try:
                altered = alter(altered, place, draw.choice((MISSING, *VALUES)))
            except (KeyError, IndexError, TypeError):
                continue  # what was changed before has no such place
        yield altered


def test_every_reader_has_a_sample_that_it_reads(tmp_path: Path) -> None:
    read = {name: judge(tmp_path / "sample", data) for name, data in FILES.items()}
    assert None not in read.values()
    known = {one.name for one in READERS}
    recognised = set()
    for data in FILES.values():
        content, _ = parse_content(tmp_path / "sample", data)
        recognised.add(next(one.name for one in READERS if one.recognises(content)))
    assert recognised == known


@pytest.mark.parametrize("name", FILES)
def test_nothing_private_is_in_the_record_and_what_was_dropped_is_named(
    tmp_path: Path, name: str
) -> None:
    measured = judge(tmp_path / "sample", FILES[name])
    assert measured
    written = repr(replace(measured, paths=())).lower()
    private = ("secret", "192.0.2.", "198.51.100.", "203.0.113.")
    assert not [one for one in private if one in written]
    holds_any = any(one.encode() in FILES[name].lower() for one in private)
    assert bool(measured.dropped) == holds_any


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_was_cut_off_is_read_as_far_as_it_goes_or_refused(
    tmp_path: Path, name: str
) -> None:
    data = FILES[name]
    for size in range(0, len(data), max(1, len(data) // 150)):
        judge(tmp_path / "file", data[:size])


@pytest.mark.parametrize("name", FILES)
def test_a_file_with_changed_bits_is_read_or_refused(tmp_path: Path, name: str) -> None:
    draw = random.Random(name)
    for _ in range(200):
        data = bytearray(FILES[name])
        for _ in range(draw.choice((1, 1, 4, 32))):
            data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        judge(tmp_path / "file", bytes(data))


@pytest.mark.parametrize("name", OF_JSON)
def test_json_with_other_values_is_read_or_refused(tmp_path: Path, name: str) -> None:
    for altered in find_altered(OF_JSON[name], 1):
        judge(tmp_path / "file", write_raw(altered))


def test_a_result_of_crusader_with_other_values_is_read_or_refused(tmp_path: Path) -> None:
    for altered in find_altered(CRUSADER, 2):
        try:
            data = write_packed(altered)
        except (OverflowError, ValueError, UnicodeEncodeError):
            continue  # MessagePack has no such value
        judge(tmp_path / "file", data)


def test_integers_of_an_old_result_of_crusader_may_be_anything(tmp_path: Path) -> None:
    data = OF_BYTES["Crusader 0"]
    for at in range(16, len(data) - 8, 7):
        for value in (0, 2**31, 2**64 - 1):
            judge(tmp_path / "file", data[:at] + value.to_bytes(8, "little") + data[at + 8 :])


@pytest.mark.parametrize("name", OF_TEXT)
def test_text_with_other_numbers_is_read_or_refused(tmp_path: Path, name: str) -> None:
    text = OF_TEXT[name]
    for found in re.finditer(r"[0-9.]+", text):
        for token in TOKENS:
            changed = text[: found.start()] + token + text[found.end() :]
            judge(tmp_path / "file", changed.encode(errors="surrogatepass"))


@pytest.mark.parametrize("name", OF_TEXT)
def test_text_with_other_lines_is_read_or_refused(tmp_path: Path, name: str) -> None:
    lines = OF_TEXT[name].splitlines(keepends=True)
    draw = random.Random(name)
    for _ in range(300):
        changed = draw.choices(lines, k=draw.randrange(1, 12))
        judge(tmp_path / "file", "".join(changed).encode())


@pytest.mark.parametrize("what", FOREIGN)
def test_a_file_of_something_else_is_refused(tmp_path: Path, what: str) -> None:
    assert judge(tmp_path / "file", FOREIGN[what]) is None


@pytest.mark.parametrize("name", FILES)
def test_a_sample_may_be_packed_and_come_with_windows_marks(tmp_path: Path, name: str) -> None:
    plain = judge(tmp_path / "file", FILES[name])
    assert judge(tmp_path / "file", gzip.compress(FILES[name])) == plain
    if name not in OF_BYTES:
        text = FILES[name].decode()
        for data in (codecs.BOM_UTF8 + text.encode(), text.encode("utf-16")):
            assert judge(tmp_path / "file", data) == plain


def make_gzip_bomb(content: bytes, times: int) -> bytes:
    """Pack some content many times over, without ever having it all."""
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=1) as file:
        for _ in range(times):
            file.write(content)
    return packed.getvalue()


def pack(message: bytes) -> bytes:
    """Give a file of Crusader with some message."""
    return write_header(2) + bytes(cramjam.snappy.compress(message))


#: What makes files that unpack to far more than they are.
BOMBS: dict[str, Callable[[], bytes]] = {
    "zeros in gzip": lambda: make_gzip_bomb(bytes(2**20), 300),
    "lists in gzip": lambda: make_gzip_bomb(b"[" + b"[]," * 340_000 + b"[]]", 100),
    "digits in gzip": lambda: make_gzip_bomb(b"1" * 2**20, 300),
    "zeros in Snappy": lambda: pack(bytes(40 * 2**20)),
    "lists in Snappy": lambda: pack(b"\xdd\x01\xff\xff\xff" + b"\x90" * (31 * 2**20)),
    "numbers in Snappy": lambda: write_packed({**CRUSADER, "pings": [0] * 900_000}),
    "lengths in lengths": lambda: pack(b"\xdd\x00\x0f\x42\x40" * 500),
    "nothing, many times": lambda: gzip.compress(b"") * 10**6,
}


#: Reads a file with few addresses and little time, and writes the error.
_READ = f"""\
import resource, sys
from pathlib import Path
from headend.errors import InputError
from headend.fitting.estimating import estimate_line
from headend.measurement.content import parse_content
from headend.measurement.reading import read_measurement
resource.setrlimit(resource.RLIMIT_AS, ({_ADDRESSES}, {_ADDRESSES}))
resource.setrlimit(resource.RLIMIT_CPU, ({_PROCESSOR_S}, {_PROCESSOR_S}))
try:
    read_measurement([Path(sys.argv[1])])
except InputError as error:
    print(error)
"""


def read_alone(path: Path) -> str:
    """Read a file in a process of its own, with limits; give the error."""
    ran = subprocess.run(
        [sys.executable, "-c", _READ, str(path)], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    return ran.stdout


@pytest.mark.parametrize("name", BOMBS)
def test_what_unpacks_to_too_much_is_refused_with_bounded_memory(tmp_path: Path, name: str) -> None:
    path = tmp_path / "bomb"
    path.write_bytes(BOMBS[name]())
    assert read_alone(path).startswith(f"{path}: ")


def test_a_large_file_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.write(b"{")
        file.truncate(200 * 2**20)
    assert read_alone(path) == (
        f"{path}: 200 MiB is too large for a file of a measuring tool (at most 64 MiB)\n"
    )
