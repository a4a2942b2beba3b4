"""A flow's wait for its turn: n turns of a quantum at the line's rate, where that is its wait."""

from __future__ import annotations

from typing import Any

import pytest

import headend
from headend.analysis.diagnosis import diagnose
from headend.analysis.facts import TurnWait
from headend.wording.verdict import judge


def run(queue: dict[str, Any], rate: str, count: int, **flow: Any) -> headend.Result:
    """Uploads behind a scheduler, and one more flow."""
    up = {"rate": rate, "queue": queue}
    upload = {"application": "bulk", "direction": "up", "count": count, "rtt": "20 ms"}
    return headend.run(
        {
            "duration": "40 s",
            "warmup": "15 s",
            "link": {
                "line": {"point_to_point": {"up": up, "down": {"rate": "50 Mbit/s"}}},
            },
            "flow": {"own": flow, "upload": upload},
        }
    )


def find_turns(result: headend.Result) -> list[TurnWait]:
    return [fact for fact in diagnose(result).causes if isinstance(fact, TurnWait)]


@pytest.mark.parametrize(("quantum", "count"), [("1514 B", 40), ("3028 B", 20)])
def test_a_turn_is_a_quantum_of_each_flow(quantum: str, count: int) -> None:
    result = run(
        {"drr": {"quantum": quantum, "limit": "4 s"}},
        "1500 kbit/s",
        count,
        application="ping",
        rtt="40 ms",
    )
    (turn,) = find_turns(result)
    # 40 quanta of 1514 B at 1.5 Mbit/s.
    assert turn.turn_ns == pytest.approx(323e6, rel=0.05)
    assert (turn.flow, turn.queue.queue, turn.path_ns) == ("own", "line.up", 0.0)
    assert turn.flows == pytest.approx(count, abs=1)
    notes = judge(result).paragraph
    assert f"for its turn among {turn.flows} flows in line.up: drr serves them one after" in notes


def test_who_sends_more_than_its_share_does_not_wait_for_a_turn_alone() -> None:
    # A call of 80 kbit/s, where a fiftieth of the line is 40.
    result = run({"drr": {"limit": "4 s"}}, "2 Mbit/s", 50, application="voice", rtt="20 ms")
    assert diagnose(result).causes
    assert not find_turns(result)


def test_whose_path_is_long_is_not_said_to_wait_for_a_turn() -> None:
    # Four turns of 1514 B at 2 Mbit/s are 24 ms of 424.
    result = run({"drr": {}}, "2 Mbit/s", 4, application="ping", rtt="400 ms")
    assert not find_turns(result)


def test_a_path_that_is_drawn_is_taken_from_the_least_delay() -> None:
    ping = {"application": "ping", "rtt": {"sites": "boston"}}
    result = run({"drr": {"quantum": "1514 B", "limit": "4 s"}}, "1500 kbit/s", 40, **ping)
    assert diagnose(result).causes
