"""What commands print, write and draw is what was recorded: whoever changes it decides to."""

from pathlib import Path

import pytest

from net import record


@pytest.mark.slow
def test_every_command_gives_what_is_recorded(tmp_path: Path) -> None:
    # A difference that is meant: `python tests/net/record.py`, and read what git says of outputs.
    assert record.compare(record.record(tmp_path / "net")) == []
