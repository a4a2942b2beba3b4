"""The table of the scores that people know, in JSON, in full and on the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

import headend
from headend.cli.run import describe_result, print_result
from headend.pages.run import describe_run
from headend.running.result import Result
from headend.wording.scores import TITLE, explain_scores, tabulate_scores

LINE = """\
duration = "20 s"
warmup = "5 s"

[link.line.point_to_point]
up = { rate = "10 Mbit/s", queue.drop_tail.limit = "500 kB" }
down.rate = "100 Mbit/s"

[flow.upload]
application = "bulk"
direction = "up"
rtt = "20 ms"
start = "2 s"
"""

PINGS = """
[flow.ping]
application.ping.interval = "100 ms"
rtt = "20 ms"
count = 2
"""

TEST = """
[flow.test]
application = "responsiveness"
rtt = "20 ms"
"""


def run(text: str, folder: Path) -> Result:
    path = folder / "line.toml"
    path.write_text(text)
    return headend.run(path)


def list_scores(result: Result) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", describe_result(result)["scores"])


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return run(LINE + PINGS + TEST, tmp_path_factory.mktemp("loaded"))


def test_the_increase_is_above_the_idle_line_of_the_warm_up(loaded: Result) -> None:
    ping = list_scores(loaded)[0]
    # 500 kB at 10 Mbit/s are 400 ms; the first pings, before the upload, took about 20.
    assert ping["rtt_min_ns"] == pytest.approx(20e6, rel=0.05)
    assert 100e6 < ping["bloat_ns"] < 400e6
    assert ping["bloat_grade"] in ("C", "D")
    assert ping["rpm"] == pytest.approx(60e9 / ping["rtt_mean_ns"])
    assert ping["qoo"]["video_conferencing"] == 0


def test_a_responsiveness_test_has_rpm_alone(loaded: Result) -> None:
    test = list_scores(loaded)[-1]
    assert test["flow"] == "test"
    assert test["rpm_class"] == "poor"
    assert test["rpm_apple"] in ("Low", "Medium")
    assert (test["qoo"], test["bloat_ns"], test["answers"]) == (None, None, None)


def test_of_a_group_the_worst_member_has_the_row(loaded: Result) -> None:
    labels = [row.heading.text for row in tabulate_scores(loaded).rows]
    assert labels[0] in ("ping.1, the worst of 2", "ping.2, the worst of 2")
    assert labels[1:] == ["test"]


def test_each_score_has_a_line_on_what_it_means(loaded: Result) -> None:
    told = explain_scores(loaded)
    assert [line.split(":")[0].split(",")[0] for line in told] == [
        "Bufferbloat",
        "Round trips a minute (RPM)",
        "QoO",
    ]


def test_full_and_page_have_the_table(loaded: Result, capsys: pytest.CaptureFixture[str]) -> None:
    print_result(loaded, full=True)
    assert f"{TITLE}:" in capsys.readouterr().out
    assert TITLE in [section.title for section in describe_run(loaded, []).sections]


def test_an_idle_line_and_few_answers_are_named(tmp_path: Path) -> None:
    idle = run(LINE.replace("2 s", "19900 ms") + PINGS.replace("100 ms", "1 s"), tmp_path)
    told = explain_scores(idle)
    assert any(line.startswith("No line was full") for line in told)
    assert any(line.startswith("With 15 answers") for line in told)


def test_a_run_without_round_trips_has_no_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = run(LINE, tmp_path)
    assert list_scores(alone) == []
    assert not tabulate_scores(alone).rows
    print_result(alone, full=True)
    assert TITLE not in capsys.readouterr().out
