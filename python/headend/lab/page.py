"""The lab's page: one file, which ``make web`` builds and a wheel holds."""

from __future__ import annotations

import re
from pathlib import Path

from headend.errors import InputError
from headend.files import read_bytes
from headend.lab.given import Given

#: Where the page is.
PAGE = Path(__file__).parent / "index.html"

#: A page larger than this is none of the lab's.
LARGEST_BYTES = 64 * 2**20

#: Where the page looks for the scenario that it begins with.
_GIVEN = '<script type="application/json" id="given">{}</script>'
_EMPTY = _GIVEN.format("null")

#: What the page says of the sources that it was built from, in its head.
_SOURCES = re.compile(r'<meta name="headend-sources" content="([0-9a-f]{64})"')
_HEAD_BYTES = 4096

#: What could end a script within it; U+2028 and U+2029 end a line of JavaScript, not of JSON.
_ESCAPES = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}


def find_page() -> Path:
    """Give the page's path.

    Raises
    ------
    InputError
        It was not built.
    """
    if not PAGE.is_file():
        raise InputError(
            f"{PAGE}: no such file: the lab is not in this installation. `make web` in headend's"
            " sources builds it, and needs rustup and Node 20.19, 22.12 or newer"
        )
    return PAGE


def write_page(given: Given | None = None) -> bytes:
    """Write a copy of the page, which begins with a scenario if one is given."""
    path = find_page()
    page = read_bytes(path, LARGEST_BYTES, "page of the lab").decode()
    if page.count(_EMPTY) != 1:
        raise InputError(f"{path}: of another version than this headend; `make web` builds it")
    if given is None:
        return page.encode()
    return page.replace(_EMPTY, _GIVEN.format(given.to_json().translate(_ESCAPES))).encode()


def is_page(path: Path) -> bool:
    """Tell whether a file is a page of the lab: this one, of another version or a copy."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return False
    return _SOURCES.search(head.decode(errors="replace")) is not None
