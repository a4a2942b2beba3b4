"""The applications on the real engine: what each reports, how it is judged, compared and drawn."""

from __future__ import annotations

import pytest

import headend
from headend.analysis.grading import Grade
from headend.analysis.quality import FlowQuality, judge_flows
from headend.comparison.scores import score_runs
from headend.engine.description import find_application
from headend.figures import draw_figures
from headend.running.result import Result
from headend.wording.flows import describe_experience

EVENING = """
title = "An evening"
duration = "60 s"

[link.line.point_to_point]
up = { rate = "20 Mbit/s", queue = { drop_tail = { limit = "200 ms" } } }

[flow.live]
application.streaming = { buffer = "12 s", segment = "2 s", startup = "2 s", rule = "throughput" }

[flow.probe]
application = "isochronous"

[flow.rpm]
application.responsiveness = { tests = 1, limit = "12 s" }
direction = "up"
start = "30 s"

[flow.test]
application.speed_test = { tests = 1 }
direction = "down"
start = "10 s"

[flow.seed]
application.torrent = { connections = 10, rate = "2 Mbit/s" }
stop = "25 s"
"""


@pytest.fixture(scope="module")
def evening(tmp_path_factory: pytest.TempPathFactory) -> Result:
    path = tmp_path_factory.mktemp("applications") / "evening.toml"
    path.write_text(EVENING, encoding="utf-8")
    return headend.run(path)


def find(result: Result, flow: str) -> FlowQuality:
    return next(finding for finding in judge_flows(result) if finding.flow == flow)


def test_each_application_reports_its_own_measures(evening: Result) -> None:
    applications = dict(evening.flows.select("flow", "application").iter_rows())
    reported = evening.measures.select("flow", "measure").rows()
    assert {flow for flow, _ in reported} == {"live", "probe", "rpm", "test"}
    for flow, measure in reported:
        assert measure in find_application(applications[flow]).measure_names, flow


def test_findings_say_what_somebody_meets(evening: Result) -> None:
    live, rpm, speed, probe, seed = (
        find(evening, flow) for flow in ("live", "rpm", "test", "probe", "seed")
    )
    assert describe_experience(live).startswith("starts in ")
    assert "Mbit/s" in describe_experience(live)
    # The upstream's queue holds up to 200 ms beside 20 ms of path: 60 s over 0.2 s are 300 round
    # trips.
    assert rpm.grade in (Grade.POOR, Grade.BAD)
    assert describe_experience(rpm).startswith("round trips a minute: up ")
    assert speed.grade is Grade.NONE
    assert describe_experience(speed).startswith("a test shows 1")
    assert probe.grade in (Grade.FAIR, Grade.POOR)
    assert seed.grade is Grade.NONE


def test_runs_are_compared_by_what_each_reports(evening: Result) -> None:
    (scores,) = score_runs([evening])
    named = {(figure.subject, figure.name): figure for figure in scores}
    for subject, name, rising in (
        ("live", "video stood still", False),
        ("live", "segment rate", True),
        ("probe", "delay variation p99", False),
        ("rpm", "round trips per minute", True),
        ("test", "speed shown", True),
        ("seed", "goodput", True),
    ):
        assert named[subject, name].rising is rising


def test_a_video_and_a_speed_test_have_their_figures(evening: Result) -> None:
    figures = {figure.name: figure for figure in draw_figures([evening])}
    (speed,) = figures["speed"].panels
    points = next(iter(speed.specify()["datasets"].values()))
    assert [point["time_s"] for point in points] == [1, 2, 5, 7, 10]
    (video,) = figures["streamed-video-rate"].panels
    points = next(iter(video.specify()["datasets"].values()))
    assert len(points) > 20
    assert max(point["value"] for point in points) == 5.8
