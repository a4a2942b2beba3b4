"""Games and videos from the engine to the reader: reports, grades, figures, picture."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import headend
from headend.analysis.expect import parse_quantity_name
from headend.analysis.grading import Grade
from headend.analysis.quality import FlowQuality, judge_flows
from headend.comparison.scores import score_runs
from headend.engine.description import find_application
from headend.figures.catalogue import draw_figures
from headend.running.result import Result
from headend.scenario.subjects import Vocabulary
from headend.wording.flows import describe_experience

LINE = """
duration = "30 s"
bottleneck = "cable.up"

[link.cable.docsis]
preset = "docsis31"
upstream.rate = "10 Mbit/s"
upstream.queue.drop_tail.limit = "500 ms"
downstream.rate = "100 Mbit/s"
"""

#: A flood that keeps the queue up full.
FLOOD = '[flow.flood]\napplication.cbr = { rate = "12 Mbit/s" }\n'

GAMES = ("game", "half_life", "lld_game", "quake3")
VIDEOS = ("cloud_gaming", "conference", "video_call")


def run(tmp_path: Path, *, flooded: bool) -> Result:
    """Run one of each; their names are those of their applications."""
    flows = [f'[flow.{name}]\napplication = "{name}"\nrtt = "20 ms"' for name in GAMES + VIDEOS]
    path = tmp_path / "line.toml"
    path.write_text("\n".join([LINE, *flows, FLOOD if flooded else ""]))
    return headend.run(path)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Result]:
    """The same flows on a quiet line and on a flooded one."""
    folder = tmp_path_factory.mktemp("media")
    return run(folder, flooded=False), run(folder, flooded=True)


def judge(result: Result) -> dict[str, FlowQuality]:
    return {finding.flow: finding for finding in judge_flows(result)}


def test_each_reports_the_measures_that_expectations_may_name(runs: tuple[Result, Result]) -> None:
    for result in runs:
        for name in GAMES + VIDEOS:
            rows = result.measures.filter(flow=name)
            assert set(rows["measure"]) == set(find_application(name).measure_names), name


def test_on_a_quiet_line_all_are_well(runs: tuple[Result, Result]) -> None:
    findings = judge(runs[0])
    for name in GAMES + VIDEOS:
        assert findings[name].grade is Grade.GOOD, findings[name]
    assert "0 % lost or too late" in describe_experience(findings["quake3"])
    words = r"2[45](\.\d)? Mbit/s of video, frames in 1\d(\.\d)? ms, 0 % late or lost$"
    assert re.match(words, describe_experience(findings["cloud_gaming"]))


def test_behind_a_full_buffer_none_that_sends_upstream_is_well(
    runs: tuple[Result, Result],
) -> None:
    findings = judge(runs[1])
    for name in (*GAMES, "conference", "video_call", "cloud_gaming"):
        assert findings[name].grade is Grade.BAD, findings[name]
    assert "of the input late or lost, its delay " in describe_experience(findings["cloud_gaming"])
    assert "late or lost" in describe_experience(findings["conference"])


@pytest.mark.parametrize("way", ["up", "down"])
@pytest.mark.parametrize("game", GAMES)
def test_delay_jitter_and_loss_of_a_game_are_measured_each_way(
    runs: tuple[Result, Result], game: str, way: str
) -> None:
    def measure(result: Result, name: str) -> float:
        quantity = parse_quantity_name(f"{game}.{way}.{name}", Vocabulary({game: game}, []))
        [value] = quantity.read(result.tables)
        return value

    quiet, flooded = (
        {name: measure(result, name) for name in ("delay.mean", "jitter", "loss")}
        for result in runs
    )
    assert 10e6 < quiet["delay.mean"] < 25e6
    assert 0.0 < quiet["jitter"] < 10e6
    assert quiet["loss"] == 0.0
    # The flood is upstream, and so is the full buffer.
    assert (flooded["delay.mean"] > 400e6) == (way == "up")
    assert (flooded["loss"] > 0.0) == (way == "up")


def test_runs_are_compared_by_what_was_missed_and_by_frames(runs: tuple[Result, Result]) -> None:
    quiet, flooded = (
        {(figure.subject, figure.name): value for figure, value in scores.items()}
        for scores in score_runs(list(runs))
    )
    assert quiet["quake3", "lost or late"] == 0.0
    assert flooded["quake3", "lost or late"] > 0.9
    # Beside it stands its delay, as of any datagrams; a video's packets say less than its frames.
    assert flooded["game", "delay p50"] > 400e6
    assert ("video_call", "delay p50") not in flooded
    assert quiet["video_call", "frames late"] < 0.01
    assert flooded["video_call", "frames late"] > 0.9
    assert flooded["video_call", "video rate"] < quiet["video_call", "video rate"]


def test_frames_are_drawn(runs: tuple[Result, Result]) -> None:
    figures = {figure.name: figure for figure in draw_figures([runs[1]])}
    assert figures["video"].panels
