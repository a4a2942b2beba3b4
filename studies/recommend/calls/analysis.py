"""The buffer that is recommended for a call beside an upload, held against Table 2."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import colour, make_chart, mark_across
from headend.recommending.candidate import list_sizes
from headend.recommending.feature import Feature
from headend.recommending.people import make_people
from headend.recommending.request import Request
from headend.study.claims import Finding, Verdict, decide

from ..asking import TABLE_2, find_size, make_tier, read_size, recommend
from ..sizes import Decisions, compare_sizes, draw_sizes, hold_sizes, is_within, tell_sizes

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


def check_table(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Hold the recommended buffers against Table 2."""
    return hold_sizes(
        decide_case(points, limits["case"]),
        lambda size, rate: is_within(size, TABLE_2[rate], limits["factor"]),
    )


def check_peak(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Hold the smallest buffers that tie with the best score against Table 2."""
    people = replace(REQUEST.people, conditions=())
    request = replace(REQUEST, people=people, prefer="most call.mos.mean")
    return hold_sizes(
        decide_case(points, limits["case"], request),
        lambda size, rate: is_within(size, TABLE_2[rate], limits["factor"]),
    )


def check_far(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Hold by how many steps a longer round trip moves the recommended buffers."""
    far, near = (decide_case(points, limits[key]) for key in ("case", "other"))
    if not far or not near:
        return Finding("no such run", Verdict.UNTESTABLE)
    steps = list_sizes(2, 1024)
    pairs = [(read_size(far[rate]), read_size(near[rate])) for rate in far]
    kept = sum(
        one is not None
        and other is not None
        and abs(steps.index(one) - steps.index(other)) <= limits["steps"]
        for one, other in pairs
    )
    measured = f"{tell_sizes(far)}; for {tell_sizes(near)}"
    return Finding(measured, decide(kept >= limits["least"]))


def check_drain(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Hold how long the recommended buffers take to drain against the telephone's de-jitter buffer."""
    told, verdicts = [], []
    for case, held in limits["held_ms"].items():
        for rate, decision in decide_case(points, case).items():
            size = read_size(decision)
            drain = size * 8.192 / rate if size else None
            verdicts.append(drain is not None and held / 2 <= drain <= held)
            shown = "none" if drain is None else f"{drain:.0f} ms"
            told.append(f"{shown} of {held} ms at {rate} Mbit/s")
    if not verdicts:
        return Finding("no such run", Verdict.UNTESTABLE)
    return Finding(", ".join(told), decide(all(verdicts)))


def check_larger(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Hold that one case gets larger buffers than another."""
    one, other = (decide_case(points, limits[key]) for key in ("case", "other"))
    return compare_sizes(one, other, limits["least"])


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
                ),
                y=vl.Y("score:Q", title="score", scale=vl.Scale(domain=[1, 4.5])),
                color=colour(rows, "circle"),
            )
        )
        name = f"rate-{tier.name.partition(' ')[0]}"
        panels.append(Panel(tier.name, vl.layer(lines, mark_across(4, "toll quality")), name=name))
    return panels
