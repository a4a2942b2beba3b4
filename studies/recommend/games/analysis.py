"""The buffers recommended for games and for uploads, against the guideline's rules."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl

from headend.figures.figure import Panel
from headend.recommendation.candidate import Feature
from headend.recommendation.people import make_people
from headend.recommendation.request import Request
from headend.study import ClaimResult, ClaimVerdict, decide_over_seeds, join_decisions

from ..asking import make_tier, name_setting, recommend
from ..sizes import (
    TABLE_2,
    Decisions,
    compare_sizes,
    compute_drain,
    draw_sizes,
    find_size,
    hold_full,
    hold_sizes,
    is_within,
    read_size,
)

#: What an operator would ask.
REQUEST = Request(
    "games",
    tuple(make_tier(rate, "docsis30") for rate in TABLE_2),
    make_people(("game", "upload"), "50.9 ms"),
    (Feature.BUFFER_CONTROL,),
)

#: The same for the upload alone.
UPLOADS = replace(REQUEST, people=replace(REQUEST.people, conditions=()))

#: What figures call the cases.
CASES = {
    "one": "one upload, 57 ms",
    "one, far": "one upload, 117 ms",
    "one, far, Reno": "one of Reno, 117 ms",
    "ten": "ten uploads, 57 ms",
    "ten, far": "ten uploads, 117 ms",
}


def decide_case(points: pl.DataFrame, case: str, request: Request) -> Decisions:
    """Decide what the tiers shall have in a case."""
    return recommend(points.filter(pl.col("case") == case), request)


def check_games(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the buffers that are recommended for games below Table 2's."""
    decisions = decide_case(points, limits["case"], REQUEST)
    finding = hold_sizes(decisions, lambda size, rate: size <= TABLE_2[rate])
    sizes = {rate: read_size(decision) for rate, decision in decisions.items()}
    smaller = sum(size is not None and size < TABLE_2[rate] for rate, size in sizes.items())
    if finding.verdict is ClaimVerdict.REPRODUCED and smaller < limits["least"]:
        return replace(finding, verdict=ClaimVerdict.DIFFERS)
    return finding


def check_far(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold that far uploads get larger buffers than near ones, at every rate."""
    far, near = (decide_case(points, limits[key], UPLOADS) for key in ("case", "other"))
    why = (
        "sizes are tried in steps: at 1 Mbit/s the next smaller one, 4 KiB, has room for two full"
        " packets, and an upload has less than half of the rate with it over either round trip"
    )
    return compare_sizes(far, near, len(far), why)


def check_several(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the buffers that are recommended for several uploads below Table 2's."""
    findings = [
        hold_sizes(decide_case(points, case, UPLOADS), lambda size, rate: size <= TABLE_2[rate])
        for case in limits["cases"]
    ]
    return _join(findings, [CASES[case] for case in limits["cases"]])


def check_product(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the buffers that are recommended for one upload against the bandwidth-delay product."""
    findings = []
    for case, rtt in limits["rtt_ms"].items():

        def accept(size: int, rate: int, rtt: float = rtt) -> bool:
            return is_within(size, rate * rtt / 8.192, limits["factor"])

        findings.append(hold_sizes(decide_case(points, case, UPLOADS), accept))
    why = (
        "the upload is CUBIC, and what is within 5 % of the best ties; with Reno and for all of the"
        " rate it is the product (REC-5.cause), which does not say how much each contributes"
    )
    finding = _join(findings, [CASES[case] for case in limits["rtt_ms"]])
    return replace(finding, why=why) if finding.verdict is ClaimVerdict.DIFFERS else finding


def check_full(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the smallest buffers that give an upload all of the rate against the product."""
    return hold_full(
        decide_case(points, limits["case"], UPLOADS),
        limits["share"],
        lambda size, rate: is_within(size, rate * limits["rtt_ms"] / 8.192, limits["factor"]),
    )


def check_latency(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the delay of a full buffer against its size over the rate."""
    told, decisions = [], []
    for tier in REQUEST.tiers:
        rate = round(tier.upstream / 1e6)
        candidate = min(
            (own for own in REQUEST.list_candidates(tier) if own.is_settable),
            key=lambda own: abs(find_size(own) - TABLE_2[rate]),
        )
        rows = points.filter(case=limits["case"], setting=name_setting(tier, candidate))
        drain = compute_drain(find_size(candidate), rate) * 1e6
        values = [delay / drain for delay in rows.sort("seed")["cable.up.delay.p99"]]
        if values:
            decisions.append(decide_over_seeds(values, limits["low"], limits["high"]))
            told.append(f"{decisions[-1].mean:.2f} of {drain / 1e6:.0f} ms at {rate} Mbit/s")
    if not decisions:
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    return join_decisions(decisions, ", ".join(told))


def draw_games(points: pl.DataFrame) -> list[Panel]:
    """Draw the buffers that are recommended where the game counts."""
    return _draw(points, REQUEST)


def draw_uploads(points: pl.DataFrame) -> list[Panel]:
    """Draw the buffers that are recommended for the uploads alone."""
    return _draw(points, UPLOADS)


def _draw(points: pl.DataFrame, request: Request) -> list[Panel]:
    cases = {name: decide_case(points, case, request) for case, name in CASES.items()}
    return [Panel("", draw_sizes({name: own for name, own in cases.items() if own}))]


def _join(findings: list[ClaimResult], names: list[str]) -> ClaimResult:
    """Give one finding for several cases: those that were run have to agree."""
    run = [
        (name, own)
        for name, own in zip(names, findings, strict=True)
        if own.verdict is not ClaimVerdict.UNTESTABLE
    ]
    if not run:
        return findings[0]
    told = "; ".join(f"{name}: {own.measured}" for name, own in run)
    verdicts = {own.verdict for _, own in run}
    worst = next(
        (own for own in (ClaimVerdict.DIFFERS, ClaimVerdict.UNDECIDED) if own in verdicts),
        ClaimVerdict.REPRODUCED,
    )
    return ClaimResult(told, worst)
