"""The buffer that is recommended for a call beside an upload, held against Table 2."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import colour, make_chart, mark_across
from headend.recommendation.candidate import Feature, list_sizes
from headend.recommendation.people import make_people
from headend.recommendation.request import Request
from headend.study import ClaimResult, ClaimVerdict, decide, decide_over_seeds, join_decisions

from ..asking import make_tier, recommend
from ..sizes import (
    TABLE_2,
    Decisions,
    compare_sizes,
    compute_drain,
    describe_sizes,
    describe_ties,
    draw_sizes,
    find_size,
    hold_full,
    hold_sizes,
    is_within,
    list_ties,
    read_size,
)

#: What an operator would ask.
REQUEST = Request(
    "calls",
    tuple(make_tier(rate, "docsis30") for rate in TABLE_2),
    make_people(("call", "upload"), "50.9 ms"),
    (Feature.BUFFER_CONTROL,),
)

#: What figures call the cases.
CASES = {
    "asked": "nothing more said",
    "far": "upload at 117 ms",
    "blocks": "modem counts blocks",
    "de-jitter": "de-jitter buffer of 60 ms",
    "bench": "the guideline's bench",
}


def decide_case(points: pl.DataFrame, case: str, request: Request = REQUEST) -> Decisions:
    """Decide what the tiers shall have in a case."""
    return recommend(points.filter(pl.col("case") == case), request)


def check_table(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the recommended buffers against Table 2."""
    decisions = decide_case(points, limits["case"])
    why = (
        f"the smallest of those that tie is recommended: {describe_ties(decisions)};"
        " REC-T2.cause-ties tests it"
    )
    return hold_sizes(
        decisions, lambda size, rate: is_within(size, TABLE_2[rate], limits["factor"]), why
    )


def check_full(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the smallest buffers that give the upload a share of the most it has against Table 2."""
    return hold_full(
        decide_case(points, limits["case"]),
        limits["share"],
        lambda size, rate: is_within(size, TABLE_2[rate], limits["factor"]),
    )


def check_peak(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the smallest buffers that tie with the best score against Table 2."""
    people = replace(REQUEST.people, conditions=())
    expect = tuple(limits.get("expect", ()))
    request = replace(REQUEST, people=people, expect=expect, prefer="most call.mos.mean")
    decisions = decide_case(points, limits["case"], request)
    ties = describe_ties(decisions)
    why = f"scores within 0.1 tie, and the smallest of these is recommended: {ties}"
    return hold_sizes(
        decisions,
        lambda size, rate: is_within(size, TABLE_2[rate], limits["factor"]),
        why,
    )


def check_far(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold by how many steps a longer round trip moves the recommended buffers."""
    far, near = (decide_case(points, limits[key]) for key in ("case", "other"))
    if not far or not near:
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    steps = list_sizes(2, 1024)
    pairs = [(read_size(far[rate]), read_size(near[rate])) for rate in far]
    kept = sum(
        one is not None
        and other is not None
        and abs(steps.index(one) - steps.index(other)) <= limits["steps"]
        for one, other in pairs
    )
    measured = f"{describe_sizes(far)}; for {describe_sizes(near)}"
    return ClaimResult(measured, decide(kept >= limits["least"]))


def check_drain(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold how long the recommended buffers take to drain against the de-jitter buffer."""
    told, largest, verdicts = [], [], []
    for case, held in limits["held_ms"].items():
        for rate, decision in decide_case(points, case).items():
            size = read_size(decision)
            drain = compute_drain(size, rate) if size else None
            verdicts.append(drain is not None and held / 2 <= drain <= held)
            shown = "none" if drain is None else f"{drain:.0f} ms"
            told.append(f"{shown} of {held} ms at {rate} Mbit/s")
            sizes = list_ties(decision)
            if sizes:
                name = name_buffer(rate, sizes[-1])
                least = points.filter(case=case, setting=name)["cable.up.delay.min"].mean()
                largest.append(
                    f"{compute_drain(sizes[-1], rate):.0f} ms with {held} ms at {rate} Mbit/s"
                    f" (the queue's least delay there: {float(str(least)) / 1e6:.0f} ms)"
                )
    if not verdicts:
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    why = (
        "the smallest that ties is recommended; the largest that holds takes "
        f"{', '.join(largest)}: from 5 Mbit/s on the queue of a larger buffer never empties, and"
        " a telephone holds packets back from the shortest delay"
    )
    return ClaimResult(", ".join(told), decide(all(verdicts)), why=why)


def check_larger(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold that one case gets larger buffers than another."""
    one, other = (decide_case(points, limits[key]) for key in ("case", "other"))
    why = f"only the largest that ties changes: {describe_ties(one)}; for {describe_ties(other)}"
    return compare_sizes(one, other, limits["least"], why)


def check_own(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the call's score in buffers near Table 2's targets, with two telephones."""
    told, found = [], []
    for case in (limits["case"], limits["other"]):
        is_good = case == limits["case"]
        means = []
        for rate, size in limits["nearest_kib"].items():
            rows = points.filter(case=case, setting=name_buffer(rate, size)).sort("seed")
            values = rows["call.mos.p5"].to_list()
            if not values:
                continue
            low, high = (limits["bound"], 4.5) if is_good else (1.0, limits["bound"])
            decision = decide_over_seeds(values, low, high)
            means.append(f"{decision.mean:.2f} at {rate} Mbit/s")
            if is_good or int(rate) in limits["fails"]:
                found.append(decision)
        told.append(f"{CASES[case]}: {', '.join(means)}")
    if not found:
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    return join_decisions(found, "; ".join(told))


def name_buffer(rate: int | str, size: int) -> str:
    """Name a setting of Buffer Control as the grid does."""
    return f"{rate} Mbit/s, buffer {size} KiB"


def draw_targets(points: pl.DataFrame) -> list[Panel]:
    """Draw the recommended buffers beside Table 2."""
    cases = {name: decide_case(points, case) for case, name in CASES.items()}
    return [Panel("", draw_sizes({name: own for name, own in cases.items() if own}))]


def draw_scores(points: pl.DataFrame) -> list[Panel]:
    """Draw the call's score over the buffer, a panel for each rate."""
    panels = []
    for tier in REQUEST.tiers:
        sizes = {
            f"{tier.name}, {own.label}": find_size(own)
            for own in REQUEST.list_candidates(tier)
            if own.feature is Feature.BUFFER_CONTROL
        }
        rows = (
            points.filter(pl.col("setting").is_in(list(sizes)))
            .with_columns(
                size=pl.col("setting").replace_strict(sizes, return_dtype=pl.Int64),
                series=pl.col("case").replace_strict(CASES),
                slot=pl.col("case").replace_strict({own: at for at, own in enumerate(CASES)}),
            )
            .group_by("size", "series", "slot", maintain_order=True)
            .agg(pl.col("call.mos.p5").mean().alias("score"))
            .sort("slot", "size")
        )
        lines = (
            make_chart(rows)
            .mark_line(point=True)
            .encode(
                x=vl.X(
                    "size:Q",
                    title="buffer (KiB)",
                    scale=vl.Scale(type="log", base=2, nice=False),
                    axis=vl.Axis(values=[2, 4, 8, 16, 32, 64, 128, 256]),
                ),
                y=vl.Y("score:Q", title="score", scale=vl.Scale(domain=[1, 4.5])),
                color=colour(rows, "circle"),
            )
        )
        name = f"rate-{tier.name.partition(' ')[0]}"
        panels.append(Panel(tier.name, vl.layer(lines, mark_across(4, "toll quality")), name=name))
    return panels
