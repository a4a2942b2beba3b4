"""The studies of Prague beside classic senders: claims on made-up points, quick forms."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from headend.study import ClaimVerdict
from judged import fill_points, judge, load_analysis, run_quick

if TYPE_CHECKING:
    from pathlib import Path

CAUSES = "low-latency/prague"
PUBLIC = "low-latency/prague-measured"
WIFI = "low-latency/prague-on-wifi"

#: RFC 9332, appendix C.2: the mean classic round trip is 0.85 of base and target, and 0.85/1.22 is
#: printed as 1/1.4.
MEAN = 0.85

#: The two Prague flows of each path: equal with the virtual round trip, and by the square of their
#: paths without.
BESIDE = {"beside-prague": 1.0, "beside-prague-own-rtt": 16.0}


def couple(row: dict[str, Any], *, swing: float = 1.0, window: float = 2.0) -> dict[str, Any]:
    """Give runs whose numbers are those of RFC 9332's derivation.

    With a swing, √p of the losses is larger by it with one pair. At fixed probabilities, the
    windows are the closed forms'.
    """
    case, base = row["case"], row["rtt"] / 1e3
    own = 0.0 if case == "own-rtt" else 0.025
    coupling = {"k-1": 1.0, "k-4": 4.0}.get(case, 2.0)
    pairs = 5 if case == "five-pairs" else 1
    marked = 0.06
    root = marked / coupling * (1.0 if case in ("five-pairs", "slow-controller") else swing)
    rtt = {"prague": base, "classic": MEAN * (base + 0.015)}
    segments = {"prague": window / marked * base / max(base, own), "classic": 1.22 / root}
    if case == "fixed":
        analysis = load_analysis(CAUSES)
        rtt["classic"] = base
        segments = {
            "prague": analysis.give_window(marked) / marked * base / max(base, own),
            "classic": math.sqrt(1.5) / root,
        }
    rate = {name: pairs * segments[name] / rtt[name] for name in rtt}
    if case in BESIDE:
        rate["classic"] = rate["prague"] / BESIDE[case]
    found: dict[str, Any] = {"prague_marked": marked * rate["prague"] * 40}
    for name, own_rate in rate.items():
        found |= {f"{name}_goodput": own_rate * 11_584, f"{name}_sent": own_rate * 40}
        found |= {f"{name}_up": rtt[name] * 1e9 - 5e6, f"{name}_down": 5e6}
    found["classic_lost"] = root**2 * found["classic_sent"]
    return found


def test_the_ratio_is_the_product_of_what_it_is_made_of() -> None:
    analysis = load_analysis(CAUSES)
    points = fill_points(CAUSES, lambda row: couple(row, swing=1.3, window=2.7))
    rows = analysis.measure(points).filter(~analysis.pl.col("case").is_in(list(BESIDE)))
    for row in rows.iter_rows(named=True):
        product = 2 / 1.22 / row["coupling"] * math.prod(row[name] for name in analysis.FACTORS)
        assert row["ratio"] == pytest.approx(product), row["case"]
    one = rows.filter(case="reno", rtt=40).row(0, named=True)
    assert one["prague"] == pytest.approx(2.7 / 2)
    assert (one["classic"], one["coupled"]) == pytest.approx((1.0, 1.3))
    # Below 25 ms Prague's round trip is the virtual one.
    short = rows.filter(case="reno", rtt=5).row(0, named=True)
    assert short["prague"] == pytest.approx(2.7 / 2)
    assert short["round_trips"] == pytest.approx(MEAN * 20 / 25)


def test_runs_as_the_rfc_derives_them_agree_and_a_swing_and_other_windows_differ() -> None:
    agreeing = judge(CAUSES, fill_points(CAUSES, lambda row: couple(row, swing=1.001)))
    assert {verdict for verdict, _ in agreeing.values()} == {ClaimVerdict.REPRODUCED}
    verdicts = judge(CAUSES, fill_points(CAUSES, lambda row: couple(row, swing=0.8)))
    assert verdicts["PRAGUE.swing"][0] is verdicts["PRAGUE.rfc"][0] is ClaimVerdict.DIFFERS

    def depend(row: dict[str, Any]) -> dict[str, Any]:
        """Give runs in which the virtual round trip does the opposite of what it should."""
        found = couple(row)
        if row["case"] in BESIDE:
            found["classic_goodput"] = found["prague_goodput"] / (17 - BESIDE[row["case"]])
        elif row["case"] in ("own-rtt", "ramp", "k-4"):
            found["classic_goodput"] *= 1.5
        elif row["case"] == "fixed":
            found["prague_marked"] *= 1.2
        return found

    verdicts = judge(CAUSES, fill_points(CAUSES, depend))
    same = {claim for claim, (verdict, _) in verdicts.items() if verdict is ClaimVerdict.REPRODUCED}
    assert same == {"PRAGUE.rfc"}


def test_a_window_at_random_marks_is_that_of_the_first_mark() -> None:
    analysis = load_analysis(CAUSES)
    assert analysis.give_window(0.0) == pytest.approx(1 + math.sqrt(3))
    window = analysis.give_window(0.1)
    # pW/2 = c (1 + 1/(pW)): what is lost in a reduction is grown until the next one.
    assert window / 2 == pytest.approx(0.9 * (1 + 1 / window))


def public(row: dict[str, Any], *, power: float = 1.0) -> dict[str, Any]:
    """Give the published rates, with the ratio to some power."""
    test = load_analysis(PUBLIC).TESTS[row["test"]]
    return {
        "one": test.ratio**power * 10e6,
        "other": 10e6,
        "one_delay": 15.7e6,
        "other_delay": 19e6 if power == 1 else 29e6,
    }


def test_the_published_rates_agree_and_their_inverse_differs() -> None:
    agreeing = judge(PUBLIC, fill_points(PUBLIC, public))
    assert {verdict for verdict, _ in agreeing.values()} == {ClaimVerdict.REPRODUCED}
    verdicts = judge(PUBLIC, fill_points(PUBLIC, lambda row: public(row, power=-1)))
    same = {claim for claim, (verdict, _) in verdicts.items() if verdict is ClaimVerdict.REPRODUCED}
    assert same == {"PRAGUE-PUBLIC.user-delay"}


def test_prague_has_more_than_a_classic_flow_for_the_reasons_that_the_study_gives(
    tmp_path: Path,
) -> None:
    verdicts = run_quick(CAUSES, tmp_path / "causes")
    for claim in ("own-rtt", "coupling", "swing"):
        assert verdicts[f"PRAGUE.{claim}"] in (ClaimVerdict.REPRODUCED, ClaimVerdict.UNTESTABLE), (
            claim
        )
    assert verdicts["PRAGUE.rfc"] is ClaimVerdict.DIFFERS
    verdicts = run_quick(PUBLIC, tmp_path / "public")
    for claim in ("order", "one-queue", "user", "user-delay"):
        assert verdicts[f"PRAGUE-PUBLIC.{claim}"] is ClaimVerdict.REPRODUCED, claim


def share_air(row: dict[str, Any], *, step: float = 1.0, wait: float = 3e6) -> dict[str, Any]:
    """Give a run behind an access point in which both get the same, in queues like the RFC's."""
    waits = {"fq_codel": 20e6, "1 ms": 1e6, "8 ms": 5e6}.get(row["queue"], wait)
    rate = {"1 ms": 40e6 * step, "1 ms, short frames": 120e6}.get(row["queue"], 100e6)
    return {
        "prague_rate": rate,
        "cubic_rate": 70e6 if row["queue"] == "1 ms" else 100e6,
        "prague_delay": 10e6 + waits,
        "cubic_delay": 10e6 + 6e6,
    }


def find_wifi(verdict: ClaimVerdict, **how: float) -> set[str]:
    verdicts = judge(WIFI, fill_points(WIFI, lambda row: share_air(row, **how)))
    return {claim for claim, (found, _) in verdicts.items() if found is verdict}


def test_even_shares_and_short_waits_behind_an_access_point_reproduce_every_claim() -> None:
    assert len(find_wifi(ClaimVerdict.REPRODUCED)) == 6


def test_a_sender_that_is_starved_or_waits_as_long_as_the_other_differs() -> None:
    assert find_wifi(ClaimVerdict.DIFFERS, step=0.2) == {"WIFI-L4S.rfc"}
    late = find_wifi(ClaimVerdict.DIFFERS, wait=9e6)
    assert late == {"WIFI-L4S.delay", "WIFI-L4S.fq-codel"}


def test_frames_of_no_effect_and_a_step_that_starves_classic_senders_differ() -> None:
    assert find_wifi(ClaimVerdict.DIFFERS, step=3.0) == {"WIFI-L4S.frames"}
    unfair = fill_points(WIFI, share_air).with_columns(prague_rate=pl.lit(300e6))
    found = judge(WIFI, unfair)
    for claim in ("WIFI-L4S.shares", "WIFI-L4S.shares-category"):
        assert found[claim][0] is ClaimVerdict.DIFFERS
