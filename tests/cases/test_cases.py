"""Questions that people ask, each a scenario with its right answer: numbers, and the first lines.

`answers.toml` has those from RFCs and arithmetic, `public/answers.toml` those that people asked in
public. Both were written before the code that answers them.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from headend.cli.main import app

HERE = Path(__file__).parent

#: What names a row of each table of the JSON.
KEYS = {
    "flows": "{flow}/{direction}",
    "queues": "{queue}",
    "measures": "{flow}/{measure}",
    "expectations": "{name}",
}


def list_cases() -> Iterator[Any]:
    """Give each case with its file; those that are known to be wrong must be wrong."""
    for answers in (HERE / "answers.toml", HERE / "public" / "answers.toml"):
        for case in tomllib.loads(answers.read_text(encoding="utf-8"))["case"]:
            marks = (
                [pytest.mark.xfail(reason=case["wrong"], strict=True)] if "wrong" in case else []
            )
            yield pytest.param(
                answers.parent / case["file"], case, id=Path(case["file"]).stem, marks=marks
            )


def read_number(printed: Mapping[str, Any], where: str) -> float | None:
    """Give a number of the JSON, such as `flows[call/up].loss_ratio`; None where it is missing."""
    table, key, column = re.fullmatch(r"(\w+)\[(.+)\]\.(\w+)", where).groups()  # type: ignore[union-attr]
    rows = [row for row in printed[table] if KEYS[table].format(**row) == key]
    assert len(rows) == 1, where
    value = rows[0][column]
    return None if value is None else float(value)


@pytest.mark.parametrize(("path", "case"), list(list_cases()))
def test_a_question_gets_its_right_answer(
    path: Path, case: Mapping[str, Any], tmp_path: Path
) -> None:
    run = CliRunner().invoke(
        app, ["run", str(path), "--no-report", "--out", str(tmp_path / "run"), "--json"]
    )
    printed = json.loads(run.stdout)
    for number in case.get("numbers", ()):
        where = number["where"]
        value = run.exit_code if where == "exit_code" else read_number(printed, where)
        assert value is not None, where
        assert number["low"] <= value <= number["high"], f"{where}: {value}"
    answer = " ".join(" ".join(printed["answer"]["sentences"]).split())
    for wanted in case["says"]:
        assert re.search(wanted, answer, re.IGNORECASE), f"lacks {wanted}: {answer}"
    for unwanted in case.get("must_not_say", ()):
        assert not re.search(unwanted, answer, re.IGNORECASE), f"says {unwanted}: {answer}"
