"""The studies of congestion controls: their quick forms on the engine, and their claims on points made for the purpose."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

from headend.study import Verdict
from test_studies import fill_points, judge, load
from test_validation import run_quick

if TYPE_CHECKING:
    from pathlib import Path

COMPETITION = "validation/competition"
RESPONSE = "validation/response"
RECOVERY = "aqm-docsis/recovery"

#: Shares beside CUBIC that agree with every claim.
SHARES = {"ledbat_plus_plus": 0.1, "vegas": 0.1, "dctcp": 0.9}


def compete(row: dict[str, Any], *, even: float = 0.5) -> dict[str, Any]:
    control, rival = row["pair"].split(" + ")
    share = even
    if control != rival:
        share = SHARES.get(control, 0.5)
        if control == "ledbat":
            share = 0.1 if row["queue"] == "4 BDP" else 0.4
        if control == "bbr":
            share = 0.3 if row["queue"] == "4 BDP" else 0.9
    rest = {"loss_one": 0.0, "loss_other": 0.0, "delay": 5e6, "delay_p99": 9e6, "utilisation": 1.0}
    return {"one": share * 20e6, "other": (1 - share) * 20e6, **rest}


def test_shares_as_published_agree_and_uneven_ones_of_a_kind_differ() -> None:
    agreeing = judge(COMPETITION, fill_points(COMPETITION, compete))
    assert {verdict for verdict, _ in agreeing.values()} == {Verdict.REPRODUCED}
    uneven = judge(COMPETITION, fill_points(COMPETITION, lambda row: compete(row, even=0.8)))
    differing = {claim for claim, (verdict, _) in uneven.items() if verdict is Verdict.DIFFERS}
    assert differing == {f"COMPETE.alike-{kind}" for kind in ("loss", "delay", "model", "marks")}


def test_a_scavenger_that_does_not_give_way_differs() -> None:
    def greedy(row: dict[str, Any]) -> dict[str, Any]:
        return {**compete(row), "one": 10e6, "other": 10e6}

    verdicts = judge(COMPETITION, fill_points(COMPETITION, greedy))
    for claim in ("ledbat", "ledbat_plus_plus", "vegas", "bbr-short", "bbr-deep", "dctcp"):
        # Half and half: BBR's bound in a deep buffer is a half itself.
        expected = Verdict.REPRODUCED if claim == "bbr-deep" else Verdict.DIFFERS
        assert verdicts[f"COMPETE.{claim}"][0] is expected


def respond(row: dict[str, Any], *, factor: float = 1.0) -> dict[str, Any]:
    """Give the rates of the closed forms."""
    analysis = load(RESPONSE).load_analysis()
    p = row["percent"] / 100
    own = {"cubic": "cubic", "fast": "fast", "ledbat_plus_plus": "ledbat_plus_plus"}

    def rate(form: str) -> float:
        return float(min(factor * analysis.FORMS[form](p) * 12_000 / 0.05, 100e6))

    lost = rate(own.get(row["control"], "padhye"))
    if row["control"].startswith("bbr"):
        lost = factor * 100e6 * (1 - p)
    scalable = row["control"] in ("dctcp", "prague")
    return {"lost": lost, "marked": 1.15 * rate("scalable") if scalable else lost}


def test_rates_of_the_closed_forms_agree_and_half_of_them_differ() -> None:
    # DCTCP's two forms are a third apart: 1.15 times the smaller is within both ranges, nearly.
    agreeing = judge(RESPONSE, fill_points(RESPONSE, respond))
    differing = {claim for claim, (verdict, _) in agreeing.items() if verdict is Verdict.DIFFERS}
    assert differing == {"RESPONSE.first-mark"}
    halved = judge(RESPONSE, fill_points(RESPONSE, lambda row: respond(row, factor=0.5)))
    same = {claim for claim, (verdict, _) in halved.items() if verdict is Verdict.REPRODUCED}
    # Marks are still answered as losses are.
    assert same == {"RESPONSE.marks"}


def test_the_closed_forms_are_those_of_their_sources() -> None:
    forms = load(RESPONSE).load_analysis().FORMS
    # Mathis et al.: √(3/2) / √p where timeouts are rare.
    assert forms["padhye"](1e-4) == pytest.approx(math.sqrt(1.5e4), rel=0.01)
    # RFC 9438 §5.1: 1.054 (RTT/p)^¾ with C = 0.4 and β = 0.7.
    assert forms["cubic"](1e-5) == pytest.approx(1.054 * (0.05 / 1e-5) ** 0.75, rel=0.01)


def test_a_tooth_is_the_time_between_bursts() -> None:
    analysis = load(RECOVERY).load_analysis()
    lost = [0.0] * 1000
    for second in (3, 4, 8, 300, 301, 700):
        lost[second] = 7.0
    assert analysis.find_bursts(lost) == [3, 300, 700]

    def measure(row: dict[str, Any]) -> dict[str, Any]:
        period = 380 if row["congestion"] == "reno" else 30
        series = [float(second % period == 2) for second in range(1200)]
        return {"goodput": 1.5e8, "discarded": series, "rate": [1e8] * 1200}

    verdicts = judge(RECOVERY, fill_points(RECOVERY, measure))
    assert {verdict for verdict, _ in verdicts.values()} == {Verdict.REPRODUCED}


def test_controls_compete_and_respond_as_known(tmp_path: Path) -> None:
    verdicts = run_quick(COMPETITION, tmp_path / "competition")
    assert verdicts["COMPETE.ledbat"] is verdicts["COMPETE.alike-loss"] is Verdict.REPRODUCED
    # Through four bandwidth-delay products a round trip takes 200 ms: docs/models/congestion.md.
    assert verdicts["COMPETE.reno"] is Verdict.DIFFERS
    verdicts = run_quick(RESPONSE, tmp_path / "response")
    assert verdicts["RESPONSE.reno"] is verdicts["RESPONSE.first-mark"] is Verdict.REPRODUCED
    assert verdicts["RESPONSE.dctcp"] is Verdict.DIFFERS
