"""The study of two rows of a table: claims on made-up points."""

from __future__ import annotations

from typing import Any

from headend.study import ClaimVerdict
from judged import fill_points, judge

SCORES = "low-latency/scores"


def publish(row: dict[str, Any]) -> dict[str, Any]:
    """Give what Comcast estimates of busy lines, and an idle line of 16 ms."""
    busy = {"none": 300e6, "aqm": 45e6, "ll": 21.5e6}[row["line"]]
    working = 17e6 if row["load"] == "idle" else busy
    tests = {"none": 200.0, "aqm": 1000.0, "ll": 2500.0}[row["line"]]
    rpm = tests if row["load"] == "test" else None
    return {
        "p50": 16e6,
        "p99": working,
        "ipdv": 4e6,
        "bloat": working - 16e6,
        "call": 100.0,
        "games": 0.0 if row["line"] == "none" else 100.0,
        "rpm_up": rpm,
        "rpm_down": rpm,
    }


def find_reproduced(measure: Any) -> set[str]:
    """Give the claims that these points reproduce, without the study's name."""
    verdicts = judge(SCORES, fill_points(SCORES, measure))
    return {
        claim.removeprefix("SCORES.")
        for claim, (verdict, _) in verdicts.items()
        if verdict is ClaimVerdict.REPRODUCED
    }


def test_the_estimates_themselves_are_reproduced() -> None:
    every = {"aqm", "ll", "half", "none", "idle", "rpm", "row-aqm", "row-ll"}
    assert find_reproduced(publish) == every


def test_low_latency_without_effect_and_a_standing_queue_differ() -> None:
    def leave(row: dict[str, Any]) -> dict[str, Any]:
        """Give what the line with AQM has to that with low latency."""
        return publish(row | {"line": "aqm"} if row["line"] == "ll" else row)

    assert find_reproduced(leave) == {"aqm", "none", "row-aqm"}

    def stand(row: dict[str, Any]) -> dict[str, Any]:
        """Give what the line without AQM has to each line."""
        return publish(row | {"line": "none"})

    assert find_reproduced(stand) == {"none"}


def test_a_row_tells_every_cell_of_the_table() -> None:
    _, told = judge(SCORES, fill_points(SCORES, publish))["SCORES.row-ll"]
    assert told == (
        "idle latency 16.0 ms; p99 working latency 21.5 ms; RPM 2500 and 2500 (up, down);"
        " jitter 4.0 ms; budget consumed 5.6 %; QoO 100 for calls, 100 for games"
    )
