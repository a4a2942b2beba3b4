"""Makes contents of files for the tests of readers, as opening a file does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from headend.measurement.content import parse_content
from headend.measurement.reader import Content

#: Where contents of tests are from, for errors.
PATH = Path("line.json")


def make_content(*values: Any) -> Content:
    """Give the content of a file with one JSON value, or with several, one a line."""
    return open_text("\n".join(json.dumps(value) for value in values))


def open_text(text: str) -> Content:
    """Give the content of a file with a text."""
    content, error = parse_content(PATH, text.encode())
    assert error is None
    return content
