"""A shipped scenario and a copy of it name the schema that lies beside them."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from headend.cli.main import app
from headend.engine.reference import write_scenario_schema
from headend.scenario.shipped import DIRECTIVE, SCHEMA, SHIPPED, list_scenarios, read_copy


def call(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


@pytest.mark.parametrize("name", list_scenarios())
def test_the_first_line_of_a_shipped_scenario_leads_to_the_schema(name: str) -> None:
    path = list_scenarios()[name]
    first, _, rest = path.read_text(encoding="utf-8").partition("\n")
    assert first.startswith(DIRECTIVE)
    named = path.parent / first.removeprefix(DIRECTIVE)
    assert named.resolve() == (SHIPPED / "scenarios" / SCHEMA).resolve()
    assert named.read_text(encoding="utf-8") == write_scenario_schema()
    assert read_copy(path) == f"{DIRECTIVE}{SCHEMA}\n{rest}"


def test_a_copy_has_the_schema_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    answer = call("scenarios", "copy", "aqm/load-1", "mine.toml")
    assert answer.stdout == "mine.toml written; run it with: headend run mine.toml\n"
    assert answer.stderr == ""
    text = Path("mine.toml").read_text(encoding="utf-8")
    assert text == call("scenarios", "show", "aqm/load-1").stdout
    first = text.partition("\n")[0]
    schema = Path(first.removeprefix(DIRECTIVE))
    assert json.loads(schema.read_text(encoding="utf-8"))["properties"]["flow"]
    # A second one has the same beside it.
    answer = call("scenarios", "copy", "aimd", "--json")
    assert json.loads(answer.stdout) == {"file": "aimd.toml", "schema": SCHEMA}
    assert answer.stderr == ""
    assert tomllib.loads(Path("aimd.toml").read_text(encoding="utf-8"))["duration"] == "20 s"


def test_a_schema_that_is_another_is_kept_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(SCHEMA).write_text("{}", encoding="utf-8")
    answer = call("scenarios", "copy", "aimd")
    assert answer.exit_code == 0
    assert answer.stderr == (
        f"note: {SCHEMA}: is another schema, and kept; headend schema --out {SCHEMA} --force"
        " replaces it\n"
    )
    assert Path(SCHEMA).read_text(encoding="utf-8") == "{}"
    answer = call("schema", "--out", SCHEMA)
    assert answer.exit_code == 2
    assert answer.stderr == f"error: {SCHEMA}: exists already; --force replaces it\n"
    assert call("schema", "--out", SCHEMA, "--force").stderr == f"{SCHEMA} written\n"
    assert Path(SCHEMA).read_text(encoding="utf-8") == call("schema").stdout
    assert call("schema", "--out", "modem.json", "--modem-file").exit_code == 0
    assert Path("modem.json").read_text(encoding="utf-8") == call("schema", "--modem-file").stdout
