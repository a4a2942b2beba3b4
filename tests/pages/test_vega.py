"""The script that draws figures in a page: the same as the libraries installed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from headend.pages import vega

if TYPE_CHECKING:
    import pytest


def test_the_script_is_what_the_installed_libraries_give() -> None:
    script = vega.read_script()
    assert script == vega.bundle_script(), "run make vega"
    assert "window.vegaEmbed=" in script


def test_the_script_cannot_end_the_element_it_is_put_in() -> None:
    assert re.search("</script|<!--", vega.read_script(), re.IGNORECASE) is None
    program = 'write("</SCRIPT>", "<!-- <b>")'
    assert vega.escape_script(program) == r'write("\x3c/SCRIPT>", "\x3c!-- <b>")'


def test_the_script_begins_with_the_notices_of_its_parts() -> None:
    comment, end, program = vega.read_script().partition("*/\n")
    assert comment.startswith("/*!\nVega ")
    assert end
    assert len(program) > 500_000
    for holder in ("University of Washington", "Mike Bostock", "Joachim Wester", "Ariya Hidayat"):
        assert holder in comment


def test_a_stale_script_is_named_and_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "vega.js"
    monkeypatch.setattr(vega, "SCRIPT", kept)
    monkeypatch.setattr(vega, "bundle_script", lambda: "draw('ä')\n")
    assert vega.write(check=True) == 1
    assert capsys.readouterr().err == "templates/vega.js is stale: run make vega\n"
    assert vega.write(check=False) == 0
    assert vega.write(check=True) == 0
    kept.write_text("draw()\n")
    assert vega.write(check=True) == 1
