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


def test_a_comparison_says_whose_grade_changes(fake: Any, home_line: Path) -> None:
    lines = summarise_comparison(compare(home_line, {"queue": ["drop_tail", "docsis_pie"]}).results)
    assert any(line.startswith("call: bad under drop_tail") for line in lines)
    assert not any(line.startswith("upload:") for line in lines)
    assert lines[-1].startswith("Median delay in the bottleneck's queue:")
