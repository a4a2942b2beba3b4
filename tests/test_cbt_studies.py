"""The claims of the studies of the CBT paper's background, on points made for the purpose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from headend.library import find_study
from headend.study import Verdict, read_study
from headend.study.claims import judge_claims


def judge(name: str, measure: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Verdict]:
    study = read_study(name, find_study(name))
    rows = [dict(point.columns) for point in study.list_points()]
    points = pl.DataFrame([{**row, **measure(row)} for row in rows], infer_schema_length=None)
    judgements = judge_claims(study.claims, study.load_analysis(), points)
    return {item.claim.id: item.finding.verdict for item in judgements}


def fill_queue(row: dict[str, Any], *, small: float, red: float) -> dict[str, Any]:
    """Give a run of a policy; behind drop-tail small senders lose a share of their own, RED keeps so many packets."""
    lost = small if row["queue"] == "drop_tail" else 0.2
    packets = red if row["queue"] == "red" else 59.0
    return {
        "flood_sent": 1000,
        "flood_lost": 200,
        "small_sent": 1000,
        "small_lost": 1000 * lost,
        "backlog": packets * 1000,
        "utilisation": 1.0,
    }


def test_lock_out_and_full_queues_are_seen_where_they_are() -> None:
    name = "cbt/full-queues"
    as_paper = judge(name, lambda row: fill_queue(row, small=0.6, red=20))
    assert set(as_paper.values()) == {Verdict.REPRODUCED}
    fair = judge(name, lambda row: fill_queue(row, small=0.2, red=59))
    assert fair["CBT-2.lockout"] is fair["CBT-2.1.red"] is Verdict.DIFFERS
    assert fair["CBT-2.full"] is Verdict.REPRODUCED


def lose(row: dict[str, Any], *, little: float, large: float) -> dict[str, Any]:
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
    ("little", "verdict"), [(0.105, Verdict.REPRODUCED), (0.2, Verdict.DIFFERS)]
)
def test_equal_loss_is_told_from_unequal(little: float, verdict: Verdict) -> None:
    verdicts = judge("cbt/equal-loss", lambda row: lose(row, little=little, large=0.1))
    assert verdicts["CBT-2.3.equal"] is verdicts["CBT-2.3.example"] is verdict
    assert verdicts["CBT-2.3.fred"] is Verdict.REPRODUCED


def trace(_row: dict[str, Any], *, late: float) -> dict[str, Any]:
    """Give 100 s: an average that reaches 31 packets at the start, and `late` at the end, under a queue that swings."""
    average = [31.0] * 50 + [20.0, 21.0] * 2425 + [late] * 100
    return {"delay": 10e6, "average": average, "backlog": [10_000.0, 45_000.0] * 2500}


def test_forced_drops_at_the_beginning_are_told_from_later_ones() -> None:
    assert set(judge("cbt/red-average", lambda row: trace(row, late=20)).values()) == {
        Verdict.REPRODUCED
    }
    later = judge("cbt/red-average", lambda row: trace(row, late=30))
    assert later["CBT-F1.start"] is Verdict.DIFFERS
    assert later["CBT-F1.large"] is Verdict.REPRODUCED
