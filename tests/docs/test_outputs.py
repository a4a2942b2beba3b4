"""The pages one learns from are followed: their commands work, and print what is shown."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

_spec = importlib.util.spec_from_file_location("outputs", ROOT / "docs/outputs.py")
assert _spec
assert _spec.loader
outputs = importlib.util.module_from_spec(_spec)
sys.modules["outputs"] = outputs
_spec.loader.exec_module(outputs)

TUTORIAL = ROOT / "docs/tutorial.md"


def test_the_commands_of_the_tutorial_work() -> None:
    outputs.follow_page(TUTORIAL)


@pytest.mark.slow
@pytest.mark.parametrize("page", outputs.PAGES, ids=lambda page: page.stem)
def test_a_page_shows_what_its_commands_print(page: Path) -> None:
    stale = f"{page} shows old outputs: run make outputs"
    assert outputs.follow_page(page) == page.read_text(encoding="utf-8"), stale


def test_a_stale_output_is_replaced_and_another_exit_code_told(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- file: bad.toml -->\n```toml\ntitle = 1\n```\n"
        "<!-- exit 2 -->\n```console\nheadend run bad.toml\n```\n"
        "```console\necho one; echo two\n```\n\n<!-- output: first 1 -->\n```text\nthree\n```\n",
        encoding="utf-8",
    )
    assert outputs.follow_page(page).endswith("```text\none\n```\n")
    page.write_text(page.read_text(encoding="utf-8").replace("exit 2", "exit 0"), encoding="utf-8")
    with pytest.raises(outputs.WrongPageError, match="exit code 2, not 0"):
        outputs.follow_page(page)
