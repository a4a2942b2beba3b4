"""The claims of the studies of the CBT paper's background, on points made for the purpose."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from headend.study import ClaimVerdict
from judged import fill_points, judge

Row = dict[str, Any]


def verdicts(name: str, measure: Callable[[Row], Row]) -> dict[str, ClaimVerdict]:
    found = judge(f"cbt/{name}", fill_points(f"cbt/{name}", measure))
    return {claim: verdict for claim, (verdict, _) in found.items()}


def fill_queue(row: Row, *, small: float, spread: float, red: float) -> Row:
    """Give a run of a policy: the shares that small senders lose; RED keeps so many packets."""
    lost = small if row["queue"] == "drop_tail" else spread
    packets = red if row["queue"] == "red" else 59.7
    return {
        "flood_sent": 100_000,
        "flood_lost": 19_000 if row["queue"] == "drop_tail" else 20_000,
        "small_sent": 6000,
        "small_lost": 6000 * lost,
        "backlog": packets * 1000,
    }


def test_lock_out_and_full_queues_are_seen_where_they_are() -> None:
    name = "full-queues"
    as_paper = verdicts(name, lambda row: fill_queue(row, small=0.6, spread=0.2, red=20))
    assert set(as_paper.values()) == {ClaimVerdict.REPRODUCED}
    fair = verdicts(name, lambda row: fill_queue(row, small=0.15, spread=0.2, red=60))
    assert set(fair.values()) == {ClaimVerdict.DIFFERS, ClaimVerdict.REPRODUCED}
    assert {claim for claim, verdict in fair.items() if verdict is ClaimVerdict.REPRODUCED} == {
        "CBT-2.full"
    }


def test_a_difference_within_the_spread_of_seeds_is_undecided() -> None:
    found = verdicts(
        "full-queues", lambda row: fill_queue(row, small=0.1 * row["seed"], spread=0.2, red=20)
    )
    assert found["CBT-2.lockout"] is found["CBT-2.spread"] is ClaimVerdict.UNDECIDED


def lose(row: Row, *, little: float, large: float) -> Row:
    """Give a run in which RED takes these shares, and FRED the large flow's alone."""
    shares = (0.0, 0.11) if row["queue"] == "fred" else (little, large)
    return {
        "large_sent": 1e6,
        "large_lost": shares[1] * 1e6,
        "large_rate": 10e6 * (1 - shares[1]),
        "little_sent": 1500,
        "little_lost": shares[0] * 1500,
        "little_rate": 1e3 * (1 - shares[0]),
    }


@pytest.mark.parametrize(
    ("little", "verdict"),
    [(0.105, ClaimVerdict.REPRODUCED), (0.2, ClaimVerdict.DIFFERS), (0.04, ClaimVerdict.DIFFERS)],
)
def test_equal_loss_is_told_from_unequal(little: float, verdict: ClaimVerdict) -> None:
    found = verdicts("equal-loss", lambda row: lose(row, little=little, large=0.1))
    assert found["CBT-2.3.equal"] is verdict
    assert found["CBT-2.3.fred"] is ClaimVerdict.REPRODUCED


def test_a_large_flow_that_loses_otherwise_differs() -> None:
    found = verdicts("equal-loss", lambda row: lose(row, little=0.1, large=0.3))
    assert found["CBT-2.3.equal"] is ClaimVerdict.DIFFERS


def trace(_row: Row, *, late: float, dropped: float = 1.0, long: float = 45_000.0) -> Row:
    """Give 100 s: an average that reaches 31 packets first, and `late` at the end."""
    average = [31.0] * 50 + [20.0, 21.0] * 2425 + [late] * 100
    return {
        "average": average,
        "backlog": [10_000.0, long] * 2500,
        "dropped": [dropped] * len(average),
        "discarded": dropped * len(average),
    }


def test_forced_drops_at_the_beginning_are_told_from_later_ones() -> None:
    def count(**run: float) -> int:
        points = fill_points("cbt/red-average", lambda row: trace(row, **run))
        verdict, measured = judge("cbt/red-average", points)["CBT-F1.start"]
        # The figure's traffic is not given: that runs look like it shows nothing.
        assert verdict is ClaimVerdict.UNTESTABLE
        return sum(int(found) for found in re.findall(r"(\d+) of 10 runs", measured))

    assert count(late=20) == 50
    assert count(late=30) == 0
    # An average above the threshold that costs nothing is no forced drop, and a short queue shows
    # nothing.
    assert count(late=20, dropped=0.0) == 0
    assert count(late=20, long=20_000.0) == 0
