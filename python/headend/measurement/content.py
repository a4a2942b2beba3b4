"""Opens a measuring tool's file: reads it up to a limit, unpacks gzip, and parses JSON once."""

from __future__ import annotations

import codecs
import json
import zlib
from pathlib import Path
from typing import Any

from headend.errors import InputError
from headend.files import (
    STANDARD_INPUT,
    STANDARD_INPUT_SHOWN,
    read_bytes,
    read_standard_input,
)
from headend.measurement.reader import Content
from headend.text.quantity import MOST_SHOWN
from headend.text.reveal import reveal_line
from headend.text.wording import shorten

#: What such a file is called where it is too large.
CALLED = "file of a measuring tool"

#: The most bytes of a file. The largest of flent's own samples has 0.7 MB.
LARGEST_FILE_BYTES = 64 * 2**20

#: The most bytes of a file, unpacked: an hour of irtt with 100 probes/s has some 250 MB.
LARGEST_CONTENT_BYTES = 256 * 2**20

#: How RFC 1952 has a gzip member begin: its two bytes, and the one method that there is.
_GZIP = b"\x1f\x8b\x08"

#: Tells zlib to expect a gzip member with its header.
_GZIP_WINDOW = 16 + zlib.MAX_WBITS

#: How many bytes are unpacked at a time.
_PIECE_BYTES = 2**20

#: How many packed bytes are looked at at a time.
_PACKED_BYTES = 2**14

#: The most members of a file. A file of bgzip, which has one for each 64 KiB, has fewer.
_MOST_MEMBERS = 10_000

#: The most values of JSON that are read, and the most objects and lists among them: the hour of
#: irtt has 13 and 4 million. A value takes up to 30 times as much memory as it takes in the file.
_MOST_VALUES = 16_000_000
_MOST_OPENED = 5_000_000

#: Byte order marks of texts that are not UTF-8. Windows PowerShell redirects programs' output so.
_MARKED = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


class JsonError(ValueError):
    """A text that cannot be read as JSON; its text says where and why, and names no file."""


def read_content(path: Path) -> tuple[Content, JsonError | None]:
    """Read a file, or standard input for ``-``, and unpack and parse what it holds.

    Parameters
    ----------
    path
        Of a file; pipes and devices are not opened.

    Returns
    -------
    content, error
        What it holds, and why a text that begins as JSON does is none.

    Raises
    ------
    InputError
        In one line that begins with the path.
    """
    if str(path) == STANDARD_INPUT:
        data = read_standard_input(LARGEST_FILE_BYTES, CALLED)
        path = Path(STANDARD_INPUT_SHOWN)
    else:
        data = read_bytes(path, LARGEST_FILE_BYTES, CALLED)
    return parse_content(path, data)


def parse_content(path: Path, data: bytes) -> tuple[Content, JsonError | None]:
    """Unpack and parse the bytes of a file.

    Parameters
    ----------
    path
        Of the file, for errors.
    data
        Its bytes.

    Returns
    -------
    content, error
        As ``read_content`` gives them.

    Raises
    ------
    InputError
        Where gzip is damaged, or holds too much.
    """
    if data.startswith(_GZIP):
        data = _unpack(path, data)
    for mark, encoding in _MARKED.items():
        if data.startswith(mark):
            try:
                data = data.decode(encoding).encode()
            except UnicodeError as error:
                raise InputError(
                    f"{path}: expected text, found a byte order mark of UTF-16 before bytes that"
                    " are none"
                ) from error
    data = data.removeprefix(codecs.BOM_UTF8)
    if not data[:64].lstrip().startswith((b"{", b"[")):
        return Content(path, data), None
    try:
        return Content(path, data, parse_json(data)), None
    except JsonError as error:
        return Content(path, data), error


def _unpack(path: Path, data: bytes) -> bytes:
    """Unpack the members of a gzip file, up to the limit."""
    pieces: list[bytes] = []
    view = memoryview(data)
    at = size = members = 0
    # RFC 1952: members follow one another. Zeros after the last one fill a block of a tape.
    while bytes(view[at : at + len(_GZIP)]) == _GZIP or not members:
        members += 1
        if members > _MOST_MEMBERS:
            raise InputError(f"{path}: expected a gzip file of at most {_MOST_MEMBERS} members")
        member = zlib.decompressobj(_GZIP_WINDOW)
        while not member.eof:
            packed = view[at : at + _PACKED_BYTES]
            try:
                piece = member.decompress(packed, _PIECE_BYTES)
            except zlib.error as error:
                raise InputError(
                    f"{path}: the gzip file is damaged after {size} unpacked bytes:"
                    f" {str(error).rpartition(': ')[2]}"
                ) from error
            at += len(packed) - len(member.unconsumed_tail) - len(member.unused_data)
            size += len(piece)
            if size > LARGEST_CONTENT_BYTES:
                raise InputError(
                    f"{path}: unpacks to more than {LARGEST_CONTENT_BYTES // 2**20} MiB, which is"
                    f" too large for a {CALLED}"
                )
            pieces.append(piece)
            if not piece and not packed and not member.eof:
                raise InputError(
                    f"{path}: the gzip file is cut off: its end is missing after {size} unpacked"
                    " bytes"
                )
    rest = bytes(view[at:])
    if rest.strip(b"\0"):
        raise InputError(
            f"{path}: the gzip file is followed by {len(rest)} bytes of something else"
        )
    return b"".join(pieces)


def parse_json(data: bytes) -> Any:
    r"""Read bytes as JSON: one value, or a list of values that follow one another.

    NaN and Infinity are read as floats, for readers of fields to refuse or to leave out.

    Raises
    ------
    JsonError
        Where it is no JSON, and for data twice in one object, numbers of more digits and values
        nested more deeply than are read.

    Examples
    --------
    >>> parse_json(b'{"a": 1}'), parse_json(b'{"a": 1}\n{"a": 2}')
    ({'a': 1}, [{'a': 1}, {'a': 2}])
    >>> parse_json(b'{"a": [1], "a": [2]}')
    Traceback (most recent call last):
    ...
    headend.measurement.content.JsonError: "a" is there twice in one object
    >>> parse_json(b'{"a": [1, 2')
    Traceback (most recent call last):
    ...
    headend.measurement.content.JsonError: the JSON ends too early
    """
    opened = data.count(b"{") + data.count(b"[")
    if opened > _MOST_OPENED or opened + data.count(b",") > _MOST_VALUES:
        raise JsonError("more values than any measurement has")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise JsonError(f"byte {error.start} is not UTF-8") from error
    decoder = json.JSONDecoder(object_pairs_hook=_build_object)
    values: list[Any] = []
    at, end = _skip_space(text, 0), len(text.rstrip())
    try:
        while at < end:
            value, after = decoder.raw_decode(text, at)
            values.append(value)
            at = _skip_space(text, after)
    except json.JSONDecodeError as error:
        if error.pos >= end or "Unterminated" in error.msg:
            raise JsonError("the JSON ends too early") from error
        raise JsonError(
            f"line {error.lineno}, column {error.colno}: no JSON ({error.msg[:1].lower()}"
            f"{error.msg[1:]})"
        ) from error
    except RecursionError as error:
        raise JsonError("nested too deeply") from error
    except JsonError:
        raise
    except ValueError as error:
        raise JsonError("a number of too many digits") from error
    if not values:
        raise JsonError("no JSON")
    return values[0] if len(values) == 1 else values


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object; of a name that is there twice, the second value counts.

    iperf3 writes the sizes of buffers once for each direction, in one object. An object or a list
    that is there twice is refused, since data would get lost.
    """
    values = dict(pairs)
    if len(values) < len(pairs):
        seen: dict[str, Any] = {}
        for key, value in pairs:
            if key in seen and isinstance(seen[key], dict | list):
                shown = reveal_line(shorten(key, MOST_SHOWN))
                raise JsonError(f'"{shown}" is there twice in one object')
            seen[key] = value
    return values
