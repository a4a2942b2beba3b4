"""The studies of congestion controls: quick forms on the engine, claims on made-up points."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from headend.study import ClaimVerdict
from judged import fill_points, judge, load_analysis, run_quick

if TYPE_CHECKING:
    from pathlib import Path

COMPETITION = "validation/competition"
COUPLING = "validation/coupling"
LOSSES = "validation/random-loss"
RESPONSE = "validation/response"
RECOVERY = "aqm-docsis/recovery"

#: Shares beside CUBIC that agree with every claim.
SHARES = {"ledbat_plus_plus": 0.1, "dctcp": 0.9}


def compete(row: dict[str, Any], *, even: float = 0.5) -> dict[str, Any]:
    control, rival = row["pair"].split(" + ")
    share, is_deep = even, row["queue"] == "4 BDP"
    if control != rival:
        share = SHARES.get(control, 0.5)
        if control == "vegas":
            share = 0.05 if is_deep else 0.1
        if control == "ledbat":
            share = 0.1 if is_deep else 0.4
        if control == "bbr":
            share = 0.3 if is_deep else 0.9
        if control == "reno" and is_deep:
            share = 0.25
    rest = {"loss_one": 0.0, "loss_other": 0.0, "delay": 5e6, "delay_p99": 9e6, "utilisation": 1.0}
    return {"one": share * 20e6, "other": (1 - share) * 20e6, **rest}


def test_shares_as_published_agree_and_uneven_ones_of_a_kind_differ() -> None:
    agreeing = judge(COMPETITION, fill_points(COMPETITION, compete))
    assert {verdict for verdict, _ in agreeing.values()} == {ClaimVerdict.REPRODUCED}
    uneven = judge(COMPETITION, fill_points(COMPETITION, lambda row: compete(row, even=0.8)))
    differing = {claim for claim, (verdict, _) in uneven.items() if verdict is ClaimVerdict.DIFFERS}
    assert differing == {f"COMPETE.alike-{kind}" for kind in ("loss", "delay", "model", "marks")}


def test_a_scavenger_that_does_not_give_way_differs() -> None:
    def greedy(row: dict[str, Any]) -> dict[str, Any]:
        return {**compete(row), "one": 11e6, "other": 9e6}

    verdicts = judge(COMPETITION, fill_points(COMPETITION, greedy))
    for claim in ("ledbat", "ledbat_plus_plus", "vegas", "reno-deep", "bbr-deep"):
        assert verdicts[f"COMPETE.{claim}"][0] is ClaimVerdict.DIFFERS
    for claim in ("reno", "ledbat-short", "bbr-short", "dctcp"):
        assert verdicts[f"COMPETE.{claim}"][0] is ClaimVerdict.REPRODUCED


def test_shares_that_lie_on_both_sides_of_a_bound_are_undecided() -> None:
    def scatter(row: dict[str, Any]) -> dict[str, Any]:
        share = 0.7 + 0.01 * row["seed"]
        return {**compete(row), "one": share * 20e6, "other": (1 - share) * 20e6}

    verdict, _ = judge(COMPETITION, fill_points(COMPETITION, scatter))["COMPETE.reno"]
    # All are above two thirds.
    assert verdict is ClaimVerdict.DIFFERS

    def hover(row: dict[str, Any]) -> dict[str, Any]:
        share = 2 / 3 + (0.05 if row["seed"] % 2 else -0.04)
        return {**compete(row), "one": share * 20e6, "other": (1 - share) * 20e6}

    verdict, _ = judge(COMPETITION, fill_points(COMPETITION, hover))["COMPETE.reno"]
    assert verdict is ClaimVerdict.UNDECIDED


def couple(row: dict[str, Any], *, window: float = 2.0) -> dict[str, Any]:
    """Give runs whose four numbers are the RFC's, but for Prague's window."""
    pairs, marked = row["pairs"], 0.06
    lost = (marked / 2) ** 2
    rtt = {"prague": 40e6, "cubic": 0.85 * 55e6}
    rate = {
        "prague": window / marked / rtt["prague"] * 1e9 * pairs,
        "cubic": 1.22 / math.sqrt(lost) / rtt["cubic"] * 1e9 * pairs,
    }
    found: dict[str, Any] = {}
    for name, own in rate.items():
        found |= {f"{name}_goodput": own * 11_584, f"{name}_sent": own * 100}
        found |= {f"{name}_up": rtt[name] - 20e6, f"{name}_down": 20e6}
    found["prague_marked"] = marked * found["prague_sent"]
    found["cubic_lost"] = lost * found["cubic_sent"]
    return found


def test_the_coupling_is_taken_apart_as_the_rfc_derives_it() -> None:
    analysis = load_analysis(COUPLING)
    points = fill_points(COUPLING, couple)
    rows = analysis.measure(points)
    for factor in analysis.FACTORS:
        assert rows[factor].to_list() == pytest.approx([1.0] * rows.height)
    # RFC 9332's own numbers: 0.85 / 1.22 is printed as 1 / 1.4.
    assert rows["ratio"][0] == pytest.approx(0.85 * 55 / 1.22 / 40)
    assert judge(COUPLING, points)["COUPLING.ratio"][0] is ClaimVerdict.REPRODUCED
    more = fill_points(COUPLING, lambda row: couple(row, window=2.7))
    assert analysis.measure(more)["prague"].to_list() == pytest.approx([1.35] * rows.height)
    assert judge(COUPLING, more)["COUPLING.ratio"][0] is ClaimVerdict.DIFFERS


def lose(row: dict[str, Any], *, factor: float = 1.0) -> dict[str, Any]:
    most = load_analysis(LOSSES).LINE * (1 - row["percent"] / 100)
    if row["control"] == "bbr":
        return {"goodput": factor * most}
    return {"goodput": most * (0.1 if row["percent"] < 1 else 0.01)}


def test_rates_as_the_figure_has_them_agree_and_half_of_them_differ() -> None:
    agreeing = judge(LOSSES, fill_points(LOSSES, lose))
    assert {verdict for verdict, _ in agreeing.values()} == {ClaimVerdict.REPRODUCED}
    halved = judge(LOSSES, fill_points(LOSSES, lambda row: lose(row, factor=0.49)))
    differing = {claim for claim, (verdict, _) in halved.items() if verdict is ClaimVerdict.DIFFERS}
    assert differing == {"LOSS-F8.bbr-meets", "LOSS-F8.bbr-close"}


def lose_in(row: dict[str, Any], *, short: str) -> dict[str, Any]:
    return lose(row, factor=0.4 if row["windows"] == short else 1.0)


def test_what_bbr_keeps_of_a_lossy_line_is_judged_with_the_default_windows() -> None:
    verdicts = {}
    for short in ("linux", "open"):
        points = fill_points(LOSSES, partial(lose_in, short=short))
        verdicts[short] = judge(LOSSES, points)["LOSS-F8.bbr-meets"][0]
    assert verdicts == {"linux": ClaimVerdict.DIFFERS, "open": ClaimVerdict.REPRODUCED}


def respond(row: dict[str, Any], *, factor: float = 1.0) -> dict[str, Any]:
    """Give the rates of the closed forms."""
    analysis = load_analysis(RESPONSE)
    p = row["percent"] / 100
    own = {"cubic": "cubic", "fast": "fast", "ledbat_plus_plus": "ledbat_plus_plus"}

    def rate(form: str) -> float:
        return float(min(factor * analysis.FORMS[form](p) * 12_000 / 0.05, 100e6))

    lost = rate(own.get(row["control"], "padhye"))
    if row["control"].startswith("bbr"):
        lost = factor * 100e6 * (1 - p)
    scalable = row["control"] in ("dctcp", "prague")
    marked = 1.15 * rate("scalable") if scalable else rate("halved")
    return {"lost": lost, "spaced": lost, "marked": marked}


def test_rates_of_the_closed_forms_agree_and_half_of_them_differ() -> None:
    # DCTCP's two forms are a third apart: 1.15 times the smaller is within both ranges, nearly.
    agreeing = judge(RESPONSE, fill_points(RESPONSE, respond))
    differing = {
        claim for claim, (verdict, _) in agreeing.items() if verdict is ClaimVerdict.DIFFERS
    }
    assert differing == {"RESPONSE.first-mark"}
    halved = judge(RESPONSE, fill_points(RESPONSE, lambda row: respond(row, factor=0.5)))
    same = {claim for claim, (verdict, _) in halved.items() if verdict is ClaimVerdict.REPRODUCED}
    # Half of the line is still more than what NewReno and CUBIC have.
    assert same == {"RESPONSE.bbr3"}


def test_a_window_reduced_at_the_first_mark_is_larger_than_one_reduced_every_round_trip() -> None:
    walk = load_analysis(RESPONSE).walk
    assert walk(0.01, waits=False) == pytest.approx(2, rel=0.02)
    assert walk(0.01, waits=True) == pytest.approx(1 + math.sqrt(3), rel=0.02)


def test_the_closed_forms_are_those_of_their_sources() -> None:
    forms = load_analysis(RESPONSE).FORMS
    # Mathis et al.: √(3/2) / √p where timeouts are rare; ten times the step is √10 times the
    # window.
    assert forms["padhye"](1e-4) == pytest.approx(math.sqrt(1.5e4), rel=0.01)
    assert forms["halved"](1e-4) == pytest.approx(math.sqrt(1.5e4))
    assert forms["fast"](1e-4) == pytest.approx(math.sqrt(1.5e5), rel=0.01)
    # RFC 9438 §5.1: 1.054 (RTT/p)^¾ with C = 0.4 and β = 0.7.
    assert forms["cubic"](1e-5) == pytest.approx(1.054 * (0.05 / 1e-5) ** 0.75, rel=0.01)


def test_a_tooth_is_the_time_between_bursts() -> None:
    analysis = load_analysis(RECOVERY)
    lost = [0.0] * 1000
    for second in (3, 4, 8, 300, 301, 700):
        lost[second] = 7.0
    assert analysis.find_bursts(lost) == [3, 300, 700]

    def measure(row: dict[str, Any]) -> dict[str, Any]:
        period = 380 if row["congestion"] == "reno" else 30
        series = [float(second % period == 2) for second in range(1200)]
        return {"goodput": 1.5e8, "discarded": series, "rate": [1e8] * 1200}

    verdicts = judge(RECOVERY, fill_points(RECOVERY, measure))
    assert {verdict for verdict, _ in verdicts.values()} == {ClaimVerdict.REPRODUCED}


def test_controls_compete_and_respond_as_known(tmp_path: Path) -> None:
    verdicts = run_quick(COMPETITION, tmp_path / "competition")
    # Two seeds leave shares undecided, but none differs.
    assert ClaimVerdict.DIFFERS not in verdicts.values()
    verdicts = run_quick(RESPONSE, tmp_path / "response")
    assert verdicts["RESPONSE.reno"] is verdicts["RESPONSE.first-mark"] is ClaimVerdict.REPRODUCED
    assert verdicts["RESPONSE.scalable"] is ClaimVerdict.DIFFERS
    assert run_quick(COUPLING, tmp_path / "coupling")["COUPLING.ratio"] is ClaimVerdict.DIFFERS
    verdicts = run_quick(LOSSES, tmp_path / "losses")
    assert verdicts["LOSS-F8.cubic-stalls"] is ClaimVerdict.REPRODUCED
