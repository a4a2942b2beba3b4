"""Reads files of measuring tools: knows each by its content, and joins those of one line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from headend.errors import InputError
from headend.measurement.content import JsonError, read_content
from headend.measurement.joining import join
from headend.measurement.reader import Content
from headend.measurement.readers import READERS
from headend.measurement.record import Measurement
from headend.text.reveal import reveal_line
from headend.text.wording import list_names, shorten

#: Keys of an unknown JSON object that an error names, and how much of each.
_MOST_KEYS, _LONGEST_KEY = 6, 40

#: Characters of an unknown text that an error quotes.
_MOST_QUOTED = 40

#: How files begin that are packed in other ways, or are no measurement.
_BEGINNINGS = {
    b"\x1f\x8b": "gzip in gzip",
    b"PK\x03\x04": "a ZIP archive",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"(\xb5/\xfd": "Zstandard",
    b"%PDF": "a PDF document",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"\xd4\xc3\xb2\xa1": "a packet capture",
    b"\x0a\x0d\x0d\x0a": "a packet capture",
}


def read_measurement(paths: Sequence[Path]) -> Measurement:
    """Read what measuring tools recorded of one line.

    Parameters
    ----------
    paths
        Of one or more files of any of the known tools, packed with gzip or not; ``-`` is standard
        input.

    Raises
    ------
    InputError
        In one line that begins with the path: what was found and what is expected.
    """
    if not paths:
        raise InputError("expected one or more files of measuring tools, found none")
    seen: set[str] = set()
    for path in paths:
        if str(path) in seen:
            raise InputError(f"{path}: is given twice")
        seen.add(str(path))
    return join([_read_one(path) for path in paths])


def _read_one(path: Path) -> Measurement:
    content, error = read_content(path)
    for reader in READERS:
        if reader.recognises(content):
            return reader.read(content)
    raise _refuse(content, error)


def _refuse(content: Content, error: JsonError | None) -> InputError:
    """Give the error for a file of no known kind."""
    if error is not None and content.data.lstrip().startswith(b"{"):
        return InputError(f"{content.path}: expected JSON of a measuring tool, found: {error}")
    kinds = list_names([reader.files for reader in READERS], len(READERS))
    return InputError(
        f"{content.path}: expected a file of a measuring tool ({kinds}), found {_describe(content)}"
    )


def _describe(content: Content) -> str:
    r"""Say what a file of no known kind holds.

    Examples
    --------
    >>> _describe(Content(Path("a"), b"{}", {"down": 1, "up": 2}))
    'JSON with the keys "down", "up"'
    >>> _describe(Content(Path("a"), b"Dear all,\nplease find"))
    'text that begins with "Dear all,"'
    >>> _describe(Content(Path("a"), b"")), _describe(Content(Path("a"), b"PK\x03\x04..."))
    ('nothing', 'a ZIP archive')
    """
    value = content.json
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return f"a list of {_describe_object(value[0])}"
    if isinstance(value, dict):
        return _describe_object(value)
    if value is not None:
        return "JSON that is no object"
    if not content.data.strip():
        return "nothing"
    for beginning, kind in _BEGINNINGS.items():
        if content.data.startswith(beginning):
            return kind
    head = content.data[:400]
    if b"\0" in head:
        return "bytes that are no text"
    # The last character may be cut.
    text = re.sub("\ufffd{1,3}$", "", head.decode(errors="replace"))
    if "\ufffd" in text:
        return "bytes that are no text"
    lines = text.strip().splitlines()
    if not lines:
        return "white space"
    return f'text that begins with "{reveal_line(shorten(lines[0], _MOST_QUOTED))}"'


def _describe_object(value: dict[str, object]) -> str:
    if not value:
        return "JSON without keys"
    keys = [f'"{reveal_line(shorten(key, _LONGEST_KEY))}"' for key in value]
    return f"JSON with the keys {list_names(keys, _MOST_KEYS)}"
