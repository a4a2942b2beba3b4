"""The studies of ``make validate``: their quick forms on the engine, and their claims on points made for the purpose."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from headend.library import find_study
from headend.study import PointStore, Study, Verdict, read_study, run_points
from headend.study.claims import judge_claims

if TYPE_CHECKING:
    from pathlib import Path

STEADY = "validation/steady-state"
ISOLATION = "validation/isolation"
FLOOD = "aqm-docsis/overload"


def load(name: str) -> Study:
    return read_study(name, find_study(name))


def judge(study: Study, points: pl.DataFrame) -> dict[str, tuple[Verdict, str]]:
    judgements = judge_claims(study.claims, study.load_analysis(), points)
    return {item.claim.id: (item.finding.verdict, item.finding.why) for item in judgements}


def run_quick(name: str, folder: Path) -> dict[str, Verdict]:
    study = load(name).make_quick()
    points = run_points(study, PointStore(folder / "points.parquet"), threading.Event())
    assert points is not None
    return {claim: verdict for claim, (verdict, _) in judge(study, points).items()}


def fill(study: Study, measure: Callable[[dict[str, Any]], dict[str, Any]]) -> pl.DataFrame:
    rows = [dict(point.columns) for point in study.list_points()]
    return pl.DataFrame([{**row, **measure(row)} for row in rows], infer_schema_length=None)


def test_laws_keep_their_targets_with_ten_flows_and_codel_is_known_not_to(tmp_path: Path) -> None:
    verdicts = run_quick(STEADY, tmp_path)
    differing = {claim for claim, verdict in verdicts.items() if verdict is Verdict.DIFFERS}
    # CoDel's law forgets its count between dropping states: docs/models/validation.md.
    assert differing == {"STEADY.codel", "STEADY.codel_dt"}
    # A share of 2 Mbit/s makes 5 and 15 ms less than three packets.
    untestable = {claim for claim, verdict in verdicts.items() if verdict is Verdict.UNTESTABLE}
    assert untestable == {"STEADY.fq_codel", "STEADY.fq_pie"}


def test_schedulers_give_fair_shares_and_what_collisions_leave_of_them(tmp_path: Path) -> None:
    assert set(run_quick(ISOLATION, tmp_path).values()) == {Verdict.REPRODUCED}


def test_the_derandomiser_swings_under_a_flood(tmp_path: Path) -> None:
    verdicts = run_quick(FLOOD, tmp_path)
    assert verdicts["AQM-B.oscillates"] is verdicts["AQM-B.reachable"] is Verdict.REPRODUCED
    # The delay is not at its target meanwhile: docs/models/validation.md.
    assert verdicts["AQM-B.target"] is Verdict.DIFFERS


def stand_at(factor: float) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Let every law hold so many times its target, or the middle of its thresholds."""
    analysis = load(STEADY).load_analysis()
    targets = {
        limits["queue"]: limits["target_ms"] for limits in analysis.list_limits("check_target")
    }

    def measure(row: dict[str, Any]) -> dict[str, Any]:
        middle = 22.5
        if row["queue"] == "red_adaptive":
            middle = max(5.0, row["rate_mbps"] * 5 / 12 / 2) * 2
        return {
            "delay": factor * targets.get(row["queue"], 10) * 1e6,
            "backlog": factor * middle * 1500,
            "utilisation": 1.0 if factor >= 1 else 0.9,
        }

    return measure


def test_queues_at_their_targets_agree_and_longer_and_shorter_ones_differ() -> None:
    study = load(STEADY)
    agreeing = judge(study, fill(study, stand_at(1.0)))
    assert {verdict for verdict, _ in agreeing.values()} == {Verdict.REPRODUCED}
    longer = judge(study, fill(study, stand_at(1.6)))
    assert {verdict for verdict, _ in longer.values()} == {Verdict.DIFFERS}
    assert "COBALT" in longer["STEADY.codel"][1]
    shorter = judge(study, fill(study, stand_at(0.4)))
    assert {verdict for verdict, _ in shorter.values()} == {Verdict.DIFFERS}
    assert "utilisation 0.900" in shorter["STEADY.pie"][1]


def test_cells_of_a_few_packets_are_not_judged() -> None:
    study = load(STEADY)
    limits = {"queue": "codel", "target_ms": 5}
    rows = study.load_analysis().place(fill(study, stand_at(1.0)), limits)
    judged = set(rows.filter("is_judged").select("rate_mbps", "flows").iter_rows())
    # 5 ms at 2 Mbit/s is less than a packet; a hundred flows on 20 Mbit/s have less than half a packet each.
    assert judged == {(20, 1), (20, 10), (200, 1), (200, 10), (200, 100)}


def test_shares_are_held_against_random_placement() -> None:
    study = load(ISOLATION)
    placed = study.load_analysis().place_flows
    assert placed(1)[0] == 1
    # Two flows in one of 32 queues still share alike; of three, two that meet have a quarter each.
    assert placed(2).min() == 1
    assert placed(3).min() == pytest.approx(1 / (3 * (2 * 0.25**2 + 0.5**2)))

    def measure(row: dict[str, Any], hashed: float) -> dict[str, Any]:
        mean = float(placed(row["flows"]).mean())
        return {"jain": hashed * mean if "hashed" in row["queue"] else hashed, "utilisation": 1.0}

    agreeing = judge(study, fill(study, lambda row: measure(row, 1.0)))
    assert {verdict for verdict, _ in agreeing.values()} == {Verdict.REPRODUCED}
    unfair = judge(study, fill(study, lambda row: measure(row, 0.5)))
    assert {verdict for verdict, _ in unfair.values()} == {Verdict.DIFFERS}
