"""The run beside a figure: a point that a browser can run, and its link in the receipts."""

from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path

import pytest

from headend import _engine
from headend.errors import InputError
from headend.scenario.shipped import list_studies
from headend.study import Study, read_study
from headend.study.named_run import find_run

DOCS = Path(__file__).parents[2] / "docs"
STUDIES = [read_study(name, folder) for name, folder in sorted(list_studies().items())]
NAMING = [study for study in STUDIES if any(figure.runs for figure in study.figures)]

HEAD = 'format = 1\ntitle = "t"\nsource = "s"\n'
GRID = """\
scenario = "aqm/load-1"
measures = {}
seeds = [4, 5]
grid.queue = { values = ["pie", "codel"], set = { queue = "{}" } }
grid.rtt_ms = { values = [20, 40], set = { "flow.page.rtt" = "{} ms" } }
"""
FIGURE = """
[[figure]]
name = "f"
title = "t"
explanation = "e"
draw = "d"
shows = ["Figure 1", "Figure 2"]
"""


def read(folder: Path, run: str, grid: str = GRID) -> Study:
    text = f"{HEAD}claim = []\n{grid}{FIGURE}run = {run}\n"
    (folder / "study.toml").write_text(text, encoding="utf-8")
    return read_study("own/study", folder)


def test_a_run_is_a_point_by_its_axes_and_the_first_value_of_others(tmp_path: Path) -> None:
    study = read(tmp_path, "{ rtt_ms = 40 }")
    for shown in ("Figure 1", "Figure 2"):
        run = find_run(study, shown)
        assert run
        assert run.words == "Run one of its 8 points in a browser (queue pie, rtt_ms 40, seed 4)"
        assert run.given.overrides == (("queue", "pie"), ("flow.page.rtt", "40 ms"))
        assert run.given.seed == 4
    assert find_run(study, "Figure 3") is None


def test_each_of_what_a_figure_shows_can_have_a_run(tmp_path: Path) -> None:
    study = read(tmp_path, '[{ queue = "pie" }, { queue = "codel" }]')
    runs = [find_run(study, shown) for shown in ("Figure 1", "Figure 2")]
    assert [run and run.given.overrides[0][1] for run in runs] == ["pie", "codel"]


def test_a_study_without_a_scenario_names_the_file_that_its_analysis_runs(tmp_path: Path) -> None:
    line = '[link.line.point_to_point]\nup.rate = "1 Mbit/s"\n[flow.ping]\napplication = "ping"\n'
    (tmp_path / "line.toml").write_text(f"seed = 9\n{line}", encoding="utf-8")
    run = find_run(read(tmp_path, '{ scenario = "line.toml" }', ""), "Figure 1")
    assert run
    assert (run.words, run.given.overrides, run.given.seed) == ("Run it in a browser", (), 9)
    trace = line.replace('"1 Mbit/s"', '{ trace = "rates.csv" }')
    (tmp_path / "rates.csv").write_text("1\n", encoding="utf-8")
    (tmp_path / "line.toml").write_text(f"{trace}", encoding="utf-8")
    with pytest.raises(InputError, match=r"rates\.csv"):
        find_run(read(tmp_path, '{ scenario = "line.toml" }', ""), "Figure 1")


@pytest.mark.parametrize(
    ("run", "told"),
    [
        ("{ queu = 'pie' }", 'own/study: figure f: run: there is no axis "queu"; did you mean'),
        ("{ rtt_ms = 50 }", "figure f: run: no point has queue = 'pie', rtt_ms = 50"),
        ("'pie'", "figure f: run: expected a table of axes and values, or a list of one for each"),
        ("[{}, {}, {}]", "figure f: run: expected a table of axes and values, or a list"),
    ],
)
def test_a_run_that_is_no_point_is_refused(tmp_path: Path, run: str, told: str) -> None:
    with pytest.raises(InputError) as caught:
        find_run(read(tmp_path, run), "Figure 1")
    assert told in str(caught.value)


@pytest.mark.parametrize("study", NAMING, ids=lambda study: study.name)
def test_a_shipped_study_names_runs_that_a_browser_can_have(study: Study) -> None:
    for figure in study.figures:
        for shown in figure.shows if figure.runs else ():
            run = find_run(study, shown)
            assert run
            assert not re.search(r"[:\n]", run.words)
            scenario = _engine.parse(run.given.text, overrides=list(run.given.overrides))
            assert scenario.duration_ns > 0


def test_the_receipts_have_the_runs_that_studies_name() -> None:
    studies = {study.name: study for study in NAMING}
    text = (DOCS / "receipts.md").read_text(encoding="utf-8")
    parts = re.split(r"^\*\*(.+?)\*\*.*?(?:\(`([\w/-]+)`\))?$", text, flags=re.MULTILINE)
    compared = 0
    for shown, name, body in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        noted = re.findall(r"^<!-- lab: (.+): workbench/(\S+) -->$", body, re.MULTILINE)
        run = find_run(studies[name], shown) if name in studies else None
        assert [words for words, _ in noted] == ([run.words] if run else [])
        for _, packed in noted:
            content = base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4))
            found = json.loads(zlib.decompress(content, -zlib.MAX_WBITS))
            assert run
            assert found == json.loads(run.given.to_json())
            compared += 1
    assert compared > 50
