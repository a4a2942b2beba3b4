"""Verdicts: what the numbers of a few runs are worth against a bound."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from headend.analysis.ranking import Feasibility
from headend.errors import InputError
from headend.evaluation.case import Case, Extent
from headend.evaluation.criterion import (
    Bound,
    BoundSource,
    Criterion,
    divide,
    min_max_ratio,
    take,
)
from headend.evaluation.family import FAMILIES
from headend.evaluation.findings import Finding, Findings
from headend.evaluation.request import (
    FACTORS,
    Request,
    choose_cases,
    make_request,
    read_quantities,
)
from headend.evaluation.tables import describe_miss, list_misses, list_rows, tabulate_case


def make_findings(
    criterion: Criterion, numbers: Mapping[str, Mapping[str, Sequence[float]]]
) -> Findings:
    """Make findings of one case: numbers ``x`` and ``y`` by name, variant and seed."""
    variants = tuple(next(iter(numbers.values())))
    case = Case("toy", "1.2", "Toy", "A toy.", lambda bottleneck, variant: {},
                {"x": "x", "marked": "marked"}, (criterion,),
                variants=variants, extent=Extent.ONE)  # fmt: skip
    family = replace(FAMILIES["queue"], cases=(case,), curves=(), trades=())
    seeds = range(1, 1 + max(len(own) for by in numbers.values() for own in by.values()))
    names = [own for own in numbers if own != "drop_tail"]
    request = make_request(family, names, seeds=list(seeds), quick=True)
    bottleneck = request.list_bottlenecks(Extent.ONE)[0]
    rows: list[dict[str, Any]] = [
        {
            **dict(zip(("case", "variant", "rate", "rtt", "buffer"),
                       ("toy", variant, *bottleneck.labels), strict=True)),
            "name": name, "seed": seed, "measure": measure, "value": value, "error": None,
        }
        for name, by_variant in numbers.items()
        for variant, values in by_variant.items()
        for seed, value in enumerate(values, start=1)
        for measure in ("x", "marked")
        if not math.isnan(value)
    ]  # fmt: skip
    return Findings(request, pl.DataFrame(rows, schema_overrides={"error": pl.String}))


def make_criterion(factor: float | None = None, value: float = 0.0, **more: Any) -> Criterion:
    """Make a criterion of a time ``x`` with an upper bound."""
    source = BoundSource.RFC if factor else BoundSource.OURS
    bound = Bound(source, value, factor)
    return Criterion("x", "x is small", "x", "time", take("x"), True, bound, **more)


@pytest.mark.parametrize(
    ("values", "standing"),
    [
        ([1.0, 1.1, 0.9], Feasibility.HOLDS),
        ([3.0, 3.1, 2.9], Feasibility.FAILS),
        ([1.0, 2.0, 2.9], Feasibility.UNDECIDED),
    ],
)
def test_the_whole_interval_decides(values: list[float], standing: Feasibility) -> None:
    found = make_findings(make_criterion(value=2.0), {"a": {"": values}})
    assert found.verdicts[0].standing is standing


def test_a_multiple_is_held_against_the_baseline_of_the_same_seed() -> None:
    # The means with their intervals overlap widely; seed by seed, one is always a little less.
    numbers = {"a": {"": [9.0, 19.0, 29.0]}, "drop_tail": {"": [10.0, 20.0, 30.0]}}
    found = make_findings(make_criterion(factor=1.0), numbers)
    verdict, baseline = found.verdicts
    assert verdict.standing is Feasibility.HOLDS
    assert verdict.worst
    assert verdict.worst.limit == 20.0
    assert verdict.worst.excess == pytest.approx(-0.05)
    # A baseline is not held against itself.
    assert baseline.standing is Feasibility.MISSING


@pytest.mark.parametrize("name", ["a", "drop_tail"])
def test_a_run_without_a_number_leaves_a_criterion_undecided(name: str) -> None:
    numbers = {"a": [1.0, 1.0, 1.0], "drop_tail": [2.0, 2.0, 2.0]}
    numbers[name][1] = math.nan
    found = make_findings(
        make_criterion(factor=1.0), {own: {"": values} for own, values in numbers.items()}
    )
    (finding,) = found.verdicts[0].findings
    assert finding.standing is Feasibility.UNDECIDED
    assert finding.missing == f"1 of 3 runs of {name} did not finish"
    (row,) = list_rows(found)
    assert row["missing"] == finding.missing


def test_a_bound_of_its_own_needs_no_baseline() -> None:
    numbers = {"a": {"": [1.0] * 3}, "drop_tail": {"": [math.nan] * 3}}
    verdict, baseline = make_findings(make_criterion(value=2.0), numbers).verdicts
    assert verdict.standing is Feasibility.HOLDS
    assert baseline.standing is Feasibility.UNDECIDED
    assert baseline.worst
    assert baseline.worst.own is None


def test_what_no_run_of_a_variant_keeps_does_not_apply_there() -> None:
    criterion = replace(make_criterion(value=2.0), read=take("other"))
    assert make_findings(criterion, {"a": {"": [1.0] * 3}}).verdicts[0].findings == ()


def test_one_condition_that_fails_is_enough_and_the_worst_is_told() -> None:
    numbers = {"a": {"good": [1.0, 1.0], "bad": [5.0, 5.0], "worse": [9.0, 9.0]}}
    found = make_findings(make_criterion(value=2e0), numbers)
    (verdict, *_) = found.verdicts
    assert verdict.standing is Feasibility.FAILS
    assert [own.condition.variant for own in verdict.findings] == ["worse", "bad", "good"]
    assert verdict.count(Feasibility.FAILS) == 2
    told = describe_miss(found, verdict)
    assert told == "Toy (§1.2): x is 9 ns; at most 2 ns is required; condition: worse"
    assert list_misses(found, ["a"]) == [verdict]
    # A link has the section of the heading that it leads to, wherever the criterion is from.
    elsewhere = replace(verdict, criterion=replace(verdict.criterion, section="9"))
    assert describe_miss(found, elsewhere) == told
    cell = tabulate_case(found, found.cases[0]).rows[0].cells[1]
    assert cell
    assert (cell.word, cell.text) == ("fails", "9 ns")
    assert "holds in 1, fails in 2 of 3 conditions" in cell.note
    own = [row["standing"] for row in list_rows(found) if row["name"] == "a"]
    assert own == ["fails", "fails", "holds"]


def test_a_run_without_what_a_criterion_needs_is_not_judged_by_it() -> None:
    found = make_findings(make_criterion(value=2.0, needs="marked"), {"a": {"": [0.0, 0.0]}})
    assert found.verdicts[0].standing is Feasibility.MISSING
    found = make_findings(make_criterion(value=2.0, needs="marked"), {"a": {"": [1.0, 1.0]}})
    assert found.verdicts[0].standing is Feasibility.HOLDS


def test_bounds_are_written_as_they_are_meant() -> None:
    assert make_criterion(factor=1.0).write_bound("drop_tail") == "≤ drop_tail's"
    assert make_criterion(factor=1.1).write_bound("cubic") == "≤ 110 % of cubic's"
    assert make_criterion(value=5e6).write_bound("cubic") == "≤ 5 ms"
    lower = replace(make_criterion(factor=0.9), at_most=False)
    assert lower.write_bound("drop_tail") == "≥ 90 % of drop_tail's"


def test_readers_give_nothing_of_what_is_not_there() -> None:
    assert divide("a", "b")({"a": 1.0}) is None
    assert divide("a", "b")({"a": 1.0, "b": 0.0}) is None
    assert min_max_ratio("a", "b")({"a": 0.0, "b": 0.0}) is None
    assert min_max_ratio("a", "b")({"a": 1.0}) is None


def judge_case(
    case: str, criterion: str, own: Mapping[str, float], base: Mapping[str, float]
) -> list[Finding]:
    """Judge a criterion of RFC 7928's with the same values in all runs of ``a``, and of drop-tail.

    The values are by what they are called in the case.
    """
    request = make_request(FAMILIES["queue"], ["a"], sections=[case], quick=True)
    found = FAMILIES["queue"].find_case(case)
    rows = [
        {
            **dict(zip(FACTORS, (case, *labels, who), strict=True)),
            "seed": seed, "measure": measure, "value": value, "error": None,
        }
        for condition in Findings(request, pl.DataFrame()).list_conditions(found)
        for labels in [(condition.variant, *condition.bottleneck.labels)]
        for who, values in (("a", own), ("drop_tail", base))
        for seed in request.seeds
        for measure, value in values.items()
    ]  # fmt: skip
    findings = Findings(request, pl.DataFrame(rows, schema_overrides={"error": pl.String}))
    (one,) = (one for one in found.criteria if one.id == criterion)
    verdict = findings.find("a", found, one)
    assert len(verdict.findings) == len(found.variants)
    return list(verdict.findings)


def test_a_flow_that_gets_nothing_fails_the_test_of_fairness() -> None:
    base = {"first": 6e6, "second": 4e6}
    for finding in judge_case("round-trips", "fairness", {**base, "second": 0.0}, base):
        assert finding.standing is Feasibility.FAILS
        assert finding.limit == pytest.approx(0.6)


def test_files_that_never_finish_are_undecided_and_do_not_vanish() -> None:
    base = {"goodput": 6e6, "completion": 1e9}
    for finding in judge_case("short", "completion", {"goodput": 6e6}, base):
        assert finding.standing is Feasibility.UNDECIDED
        assert finding.missing == "3 of 3 runs of a gave no number"


def test_a_request_is_read_back_from_a_manifest() -> None:
    request = make_request(FAMILIES["sender"], ["bbr"], against=["prague"], sections=["5.1"])
    assert Request.from_dict(request.to_dict(), request.seeds) == request
    assert request.every == ("bbr", "cubic", "reno", "prague")


@pytest.mark.parametrize(
    ("sections", "expected"),
    [
        (["5.1"], ("friendly", "short")),
        (["§8.2"], ("levels", "varying-level", "varying-capacity")),
        (["9.1", "4.5"], ("ecn", "mix")),
        (["mix"], ("mix",)),
    ],
)
def test_sections_choose_cases(sections: list[str], expected: tuple[str, ...]) -> None:
    assert choose_cases(FAMILIES["queue"], sections) == expected


@pytest.mark.parametrize(
    ("section", "told"),
    [("12", "it is a discussion"), ("99", "it has 4.4, 4.5"), ("mixx", '"mix"')],
)
def test_a_section_without_a_test_is_refused(section: str, told: str) -> None:
    with pytest.raises(InputError, match=re.escape(told)):
        choose_cases(FAMILIES["queue"], [section])


@pytest.mark.parametrize("text", ["", "0 bit/s", "10 ms", "10 Mbit/s,,5 Mbit/s"])
def test_a_rate_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--rate"):
        read_quantities("--rate", text, "rate")
