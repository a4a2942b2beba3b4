"""A file in UTF-16, as some editors save it, is refused with what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

import headend
from headend.errors import InputError

LINE = """\
# A line, with a “quoted” word.
duration = "1 s"
link.line.point_to_point.up.rate = "1 Mbit/s"
flow.ping.application = "ping"
"""


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("kind", ["scenario", "sweep"])
def test_a_file_in_utf_16_is_to_be_saved_as_utf_8(tmp_path: Path, encoding: str, kind: str) -> None:
    path = tmp_path / "line.toml"
    path.write_bytes(LINE.encode(encoding))
    with pytest.raises(InputError) as refused:
        (headend.run if kind == "scenario" else headend.sweep)(path)
    assert str(refused.value) == f"{path}: UTF-16; save it as UTF-8"
