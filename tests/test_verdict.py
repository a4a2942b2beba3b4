"""The verdict in words: who suffered, and what the queue had to do with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import headend
from headend.experiment import compare
from headend.verdict import Grade, judge, summarise_comparison


def test_a_standing_queue_is_named_as_the_cause(fake: Any, home_line: Path) -> None:
    verdict = judge(headend.run(home_line))
    grades = {finding.flow: finding.grade for finding in verdict.findings}
    assert grades["call"] is Grade.BAD
    assert grades["upload"] is Grade.NONE
    assert verdict.queue is not None
    assert verdict.queue.queue == "cable.up"
    assert "standing queue" in verdict.paragraph


def test_those_who_suffer_most_come_first(fake: Any, home_line: Path) -> None:
    grades = [finding.grade for finding in judge(headend.run(home_line)).findings]
    assert grades == sorted(
        grades, key=[Grade.BAD, Grade.POOR, Grade.FAIR, Grade.GOOD, Grade.NONE].index
    )


def test_a_full_line_with_a_short_queue_is_praised(fake: Any, home_line: Path) -> None:
    paragraph = judge(headend.run(home_line, set={"queue": "docsis_pie"})).paragraph
    assert paragraph.startswith("Nobody suffered")
    assert "the queue stayed short" in paragraph


def test_a_queue_that_stands_is_found_whatever_queue_the_scenario_is_about() -> None:
    rate = {"rate": "10 Mbit/s"}
    scenario = {
        "duration": "10 s",
        "warmup": "5 s",
        "bottleneck": "line.up",
        "link": {"line": {"point_to_point": {"up": rate, "down": rate}}},
        "flow": {"get": {"application": "bulk", "direction": "down"}},
    }
    paragraph = judge(headend.run(scenario)).paragraph
    assert "The queue line.down (drop_tail) held packets" in paragraph
    assert "That is a standing queue" in paragraph


def test_pings_without_answers_and_pages_that_never_come_are_told() -> None:
    scenario = {
        "duration": "20 s",
        "link": {"line": {"point_to_point": {"up": {"rate": "100 kbit/s"}}}},
        "flow": {
            "page": {"application": "web", "rtt": "600 ms"},
            "ping": {"application": "ping", "path": {"loss": "40 %"}, "start": "1 s"},
        },
    }
    findings = {finding.flow: finding for finding in judge(headend.run(scenario)).findings}
    assert findings["ping"].grade is Grade.BAD
    assert "lost" in findings["ping"].experience
    assert findings["page"].experience.startswith("no page loaded to its end")


def test_a_comparison_says_whose_grade_changes(fake: Any, home_line: Path) -> None:
    lines = summarise_comparison(compare(home_line, {"queue": ["drop_tail", "docsis_pie"]}).results)
    assert any(line.startswith("call: bad under drop_tail") for line in lines)
    assert not any(line.startswith("upload:") for line in lines)
    assert lines[-1].startswith("Median delay in the bottleneck's queue:")
