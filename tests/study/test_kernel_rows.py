"""The studies beside a real kernel's CAKE and others: claims on made-up points, cases, a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from headend.study import ClaimVerdict
from judged import fill_points, judge, load, load_analysis, run_quick

if TYPE_CHECKING:
    from pathlib import Path

STUDIES = ("validation/cake", "validation/cake-shares")
RATES, DELAYS = ("goodput", "second"), ("p50", "p95", "p99")
COUNTS = ("dropped", "dropped_down", "marked")

Row = dict[str, Any]


def find_real(name: str, case: str) -> Row:
    """Give the kernel's figures of a case, in a person's units."""
    own = [
        claim.limits
        for claim in load(name).claims
        if claim.limits["case"] == case and claim.check != "check_lab"
    ]
    return {key: value for limits in own for key, value in limits.items()}


def behave(name: str, row: Row, *, factor: float = 1.0, later_ms: float = 0.0) -> Row:
    """Give a run with the kernel's figures, but for a factor and a delay; 0 where it has none."""
    real = find_real(name, row["case"])
    return {
        **{key: factor * real.get(key, 0.0) * 1e6 for key in RATES},
        **{key: (real.get(key, 0.0) + later_ms) * 1e6 for key in DELAYS},
        **{key: factor * real.get(key, 0.0) for key in COUNTS},
    }


def find_differing(name: str, **changed: float) -> set[str]:
    found = judge(name, fill_points(name, lambda row: behave(name, row, **changed)))
    own = {claim.id for claim in load(name).claims if claim.check != "check_lab"}
    return {
        claim
        for claim, (verdict, _) in found.items()
        if claim in own and verdict is ClaimVerdict.DIFFERS
    }


@pytest.mark.parametrize("name", STUDIES)
def test_what_the_kernel_had_reproduces_every_row(name: str) -> None:
    assert find_differing(name) == set()


@pytest.mark.parametrize("name", STUDIES)
@pytest.mark.parametrize(
    ("changed", "keys"),
    [
        ({"factor": 1.09}, ()),
        ({"factor": 0.89}, (*RATES, *COUNTS)),
        ({"later_ms": 0.9}, ()),
        ({"later_ms": -1.1}, DELAYS),
    ],
)
def test_a_row_has_ten_percent_and_a_delay_a_millisecond(
    name: str, changed: dict[str, float], keys: tuple[str, ...]
) -> None:
    expected = {
        claim.id
        for claim in load(name).claims
        if claim.check != "check_lab" and any(claim.limits.get(key) for key in keys)
    }
    assert find_differing(name, **changed) == expected


def test_a_drop_where_the_kernel_had_none_differs() -> None:
    analysis = load_analysis(STUDIES[0])
    limits = {"case": "x", "dropped": 0, "within": 0.1}
    points = pl.DataFrame([{"case": "x", "dropped": 1, "seed": 1}])
    result = analysis.check_counts(points, limits)
    assert result.verdict is ClaimVerdict.DIFFERS
    assert result.why == "drops not 0 to 0 packets"


def test_what_was_not_run_cannot_be_tested() -> None:
    analysis = load_analysis(STUDIES[0])
    result = analysis.check_row(
        pl.DataFrame({"case": ["y"]}), {"case": "x", "p50": 1, "within_ms": 1}
    )
    assert result.verdict is ClaimVerdict.UNTESTABLE


def test_every_case_has_a_row() -> None:
    for name in STUDIES:
        study = load(name)
        cases = {row["case"] for row in study.list_places()}
        assert {claim.limits["case"] for claim in study.claims if claim.check == "check_row"} == (
            cases
        )


def test_hosts_and_a_flood_share_as_the_kernel_lets_them(tmp_path: Path) -> None:
    verdicts = run_quick("validation/cake-shares", tmp_path)
    for case in ("50-cake-8-1-dual-srchost", "50-cake-and-a-flood"):
        assert verdicts[f"CAKE-SHARES.{case}.row"] is ClaimVerdict.REPRODUCED
