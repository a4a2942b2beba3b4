"""A copy of the lab with a scenario in it, as a browser reads it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from headend.cli.main import app
from headend.lab import page as lab_page

LAB = Path(__file__).parents[2] / "target/web/index.html"

pytestmark = pytest.mark.skipif(not LAB.is_file(), reason="needs what `make web` builds")

#: What would end a script, or begin a comment in it, within a scenario's text.
HOSTILE = "# </script><script>document.title = 'run'</script><!-- \u2028 & é\n"


def test_a_browser_reads_the_scenario_and_runs_nothing_in_it(
    browser: Any, home_line: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lab_page, "PAGE", LAB)
    text = home_line.read_text(encoding="utf-8") + HOSTILE
    home_line.write_text(text, encoding="utf-8")
    copy = tmp_path / "copy.html"
    words = ["lab", str(home_line), "--set", "queue=codel", "--no-open", "--out", str(copy)]
    assert CliRunner().invoke(app, words).exit_code == 0
    page = browser.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(copy.as_uri())
    page.wait_for_selector("#lab > *")
    given = json.loads(page.evaluate("document.getElementById('given').textContent"))
    assert given == {"text": text, "overrides": [["queue", "codel"]], "seed": 1}
    assert page.title() != "run"
    assert faults == []
    page.close()
