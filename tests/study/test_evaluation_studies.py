"""Studies of an evaluation: what they ask, claims on made-up verdicts, a run to its page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

from headend.cli.main import app
from headend.errors import InputError
from headend.study import ClaimVerdict, read_study
from headend.study.evaluated import list_verdicts
from judged import import_shared, load, load_analysis

STUDIES = ("evaluation/queues", "evaluation/senders")

SMALL = """\
title = "CoDel under a flood"
source = "RFC 7928"
seeds = [1, 2]

[evaluation]
of = "queue"
names = ["codel"]
rates = ["10 Mbit/s"]
rtts = ["20 ms"]
buffers = ["1"]
sections = ["5.3"]

[[claim]]
id = "flood"
source = "ours"
statement = "A flood gets through."
expected = "as behind drop-tail"
check = "check_flood"
limits = { name = "codel", case = "flood", criterion = "goodput" }
"""

ANALYSIS = """\
from headend.study import ClaimResult, decide


def check_flood(verdicts, limits):
    (row,) = [one for one in verdicts.to_dicts() if all(one[key] == limits[key] for key in limits)]
    return ClaimResult(f"{row['mean'] / 1e6:.1f} Mbit/s", decide(row["standing"] == "holds"))
"""


@pytest.mark.parametrize("name", STUDIES)
def test_each_claim_is_about_conditions_that_are_run(name: str) -> None:
    study = load(name)
    assert study.request
    verdicts = list_verdicts(study.request, pl.DataFrame())
    choose = import_shared("evaluation", "verdicts").choose
    for claim in study.claims:
        rows = choose(verdicts, claim.limits)
        for key in ("variant", "rate", "rtt", "buffer"):
            wanted = claim.limits.get(key, [])
            assert set(wanted) <= set(rows[key]), (claim.id, key)
        assert rows.height, claim.id
        if other := claim.limits.get("over", ""):
            assert other == "baseline" or other in study.request.every, claim.id


def make_rows(*values: tuple[float, str], spread: float = 0.0, base: float = 1.0) -> pl.DataFrame:
    """Give verdicts on a share at conditions of different buffers, with intervals of a width."""
    rows = [
        {
            "name": "new",
            "case": "one",
            "criterion": "share",
            "unit": "1",
            "variant": "",
            "rate": "10 Mbit/s",
            "rtt": "20 ms",
            "buffer": f"{number} BDP",
            "standing": standing,
            "mean": value,
            "low": value - spread,
            "high": value + spread,
            "baseline_mean": base,
            "baseline_low": base - spread,
            "baseline_high": base + spread,
        }
        for number, (value, standing) in enumerate(values, start=1)
    ]
    return pl.DataFrame(rows)


OF = {"name": "new", "case": "one", "criterion": "share"}


@pytest.mark.parametrize(
    ("standings", "verdict"),
    [
        (("holds", "holds"), ClaimVerdict.REPRODUCED),
        (("holds", "undecided"), ClaimVerdict.UNDECIDED),
        (("fails", "undecided"), ClaimVerdict.DIFFERS),
    ],
)
def test_a_standing_is_asked_at_each_condition(
    standings: tuple[str, ...], verdict: ClaimVerdict
) -> None:
    check = load_analysis("evaluation/queues").check_standing
    rows = make_rows(*((0.5, standing) for standing in standings))
    assert check(rows, {**OF, "standing": "holds"}).verdict is verdict


@pytest.mark.parametrize(
    ("limits", "spread", "verdict"),
    [
        ({"low": 0.4, "high": 0.8}, 0.05, ClaimVerdict.REPRODUCED),
        ({"low": 0.4, "high": 0.8}, 0.15, ClaimVerdict.UNDECIDED),
        ({"low": 0.6}, 0.05, ClaimVerdict.DIFFERS),
        ({"low": 0.6, "buffer": ["2 BDP"]}, 0.05, ClaimVerdict.REPRODUCED),
        # A half of the baseline, whose own interval counts too.
        ({"high": 0.3, "over": "baseline", "buffer": ["1 BDP"]}, 0.01, ClaimVerdict.REPRODUCED),
        ({"high": 0.3, "over": "baseline", "buffer": ["1 BDP"]}, 0.2, ClaimVerdict.UNDECIDED),
        ({"high": 0.3, "buffer": ["3 BDP"]}, 0.1, ClaimVerdict.UNTESTABLE),
    ],
)
def test_a_range_is_asked_of_numbers_and_of_ratios(
    limits: dict[str, Any], spread: float, verdict: ClaimVerdict
) -> None:
    check = load_analysis("evaluation/queues").check_range
    rows = make_rows((0.5, "holds"), (0.7, "holds"), spread=spread, base=2.0)
    assert check(rows, {**OF, **limits}).verdict is verdict


def test_a_ratio_is_to_another_name_at_the_same_condition() -> None:
    check = load_analysis("evaluation/queues").check_range
    own = make_rows((0.1, "holds"), (0.2, "holds"))
    other = make_rows((0.4, "holds"), (0.2, "holds")).with_columns(name=pl.lit("old"))
    rows = pl.concat([own, other])
    found = check(rows, {**OF, "over": "old", "high": 0.5})
    assert found.verdict is ClaimVerdict.DIFFERS
    assert found.measured.startswith("0.25 to 1 at 2 conditions; outside at 1, such as 10 Mbit/s")


def write_small(folder: Path, *changes: tuple[str, str]) -> Path:
    text = SMALL
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "study.toml").write_text(text)
    (folder / "analysis.py").write_text(ANALYSIS)
    return folder


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('of = "queue"', 'of = "quene"', r"evaluation\.of: expected one of queue, .* did you mean"),
        ('names = ["codel"]', 'names = "codel"', r"evaluation\.names: expected a list of texts"),
        ('rtts = ["20 ms"]', 'rtts = ["20 mss"]', r"evaluation\.rtts 20 mss: "),
        ("sections = ", "section = ", r'evaluation\.unknown key "section"; did you mean'),
        ("seeds = [1, 2]", 'scenario = "line.toml"', r"scenario: a study with \[evaluation\]"),
        ('sections = ["5.3"]', 'sections = ["5.9"]', r"RFC 7928 has no test there"),
    ],
)
def test_a_mistake_is_told_with_its_key(tmp_path: Path, old: str, new: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        read_study("small", write_small(tmp_path, (old, new)))


def test_a_small_study_runs_to_its_page_and_is_not_run_again(tmp_path: Path) -> None:
    folder = write_small(tmp_path)
    command = ["study", "run", str(folder), "--out", str(tmp_path / "out"), "--json"]
    first, again = (CliRunner().invoke(app, command) for _ in range(2))
    assert (first.exit_code, again.exit_code) == (0, 0), first.output
    found = json.loads(first.stdout)
    assert found == json.loads(again.stdout)
    assert [claim["verdict"] for claim in found["claims"]] == ["reproduced"]
    # Two tests of section 5.3, two names and two seeds.
    assert (found["seeds"], found["points"]) == ([1, 2], 8)
    page = (tmp_path / "out/report.html").read_text()
    for part in ("CoDel under a flood", "§5.3", "Every condition", "What is not run of RFC 7928"):
        assert part in page, part
