"""Recommended buffers: held against bounds, and drawn beside Table 2."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.theme import PALETTE, make_chart
from headend.recommending.deciding import Decision
from headend.study.claims import Finding, Verdict, decide
from headend.sweeps.conclusion import Standing

from .asking import TABLE_2, read_size, tell_choice

Decisions = Mapping[int, Decision]


def hold_sizes(decisions: Decisions, accept: Callable[[int, int], bool], why: str = "") -> Finding:
    """Hold recommended buffers against what is accepted of them.

    Parameters
    ----------
    decisions
        By the upstream rate in Mbit/s.
    accept
        Whether a buffer in KiB is accepted at a rate.
    why
        What is to be known where one is not, or where nothing holds.
    """
    if not decisions:
        return Finding("no such run", Verdict.UNTESTABLE)
    verdicts = [_judge(decision, rate, accept) for rate, decision in decisions.items()]
    return Finding(tell_sizes(decisions), _join(verdicts), why=why)


def compare_sizes(
    decisions: Decisions, others: Decisions, least: int, sign: int = 1, why: str = ""
) -> Finding:
    """Hold that buffers are larger than others (or smaller, with the sign -1) at so many rates, and at none the other way.

    Rates at which either has no recommended buffer count as equal.
    """
    if not decisions or not others:
        return Finding("no such run", Verdict.UNTESTABLE)
    steps = [
        sign * ((one > other) - (one < other))
        for rate, decision in decisions.items()
        if (one := read_size(decision)) is not None
        if (other := read_size(others[rate])) is not None
    ]
    verdict = decide(min(steps, default=0) >= 0 and sum(step > 0 for step in steps) >= least)
    return Finding(f"{tell_sizes(decisions)}; for {tell_sizes(others)}", verdict, why=why)


def tell_sizes(decisions: Decisions) -> str:
    """Say what is recommended at each rate."""
    return ", ".join(
        f"{tell_choice(decision).removeprefix('buffer ')} at {rate} Mbit/s"
        for rate, decision in decisions.items()
    )


def draw_sizes(cases: Mapping[str, Decisions]) -> vl.Chart:
    """Draw the recommended buffers of each case over the rate, beside Table 2.

    Parameters
    ----------
    cases
        The decisions of each case, by what the figure calls it.
    """
    rows = [
        {"rate": f"{rate} Mbit/s", "case": case, "size": size}
        for case, decisions in cases.items()
        for rate, decision in decisions.items()
        if rate in TABLE_2 and (size := read_size(decision)) is not None
    ]
    table = pl.DataFrame(
        [
            {"rate": f"{rate} Mbit/s", "size": size, "low": size / 2, "high": size * 2}
            for rate, size in TABLE_2.items()
        ]
    )
    rates = table["rate"].to_list()
    x = _make_axis("size")
    y = vl.Y("rate:N", title="upstream rate", sort=rates)
    bands = (
        make_chart(table)
        .mark_bar(size=52, opacity=0.15, color="#8c8c8c")
        .encode(x=_make_axis("low"), x2="high:Q", y=y)
    )
    rules = make_chart(table).mark_tick(thickness=3, size=52, color="#8c8c8c").encode(x=x, y=y)
    names = list(cases)
    schema = {"rate": pl.String, "case": pl.String, "size": pl.Int64}
    dots = (
        make_chart(pl.DataFrame(rows, schema=schema))
        .mark_point(filled=True, size=90)
        .encode(
            x=x,
            y=y,
            yOffset=vl.YOffset("case:N", sort=names),
            color=vl.Color(
                "case:N",
                title=None,
                scale=vl.Scale(domain=names, range=list(PALETTE[: len(names)])),
            ),
            shape=vl.Shape("case:N", title=None, scale=vl.Scale(domain=names)),
        )
    )
    return vl.layer(bands, rules, dots)


def is_within(size: int, target: float, factor: float) -> bool:
    """Say whether a buffer is within a factor of a target."""
    return target / factor <= size <= target * factor


def _make_axis(column: str) -> vl.X:
    return vl.X(
        f"{column}:Q",
        title="buffer (KiB)",
        scale=vl.Scale(type="log", base=2, domain=[1.6, 300], nice=False),
        axis=vl.Axis(values=[2, 4, 8, 16, 32, 64, 128, 256]),
    )


def _judge(decision: Decision, rate: int, accept: Callable[[int, int], bool]) -> Verdict:
    size = read_size(decision)
    if size is None:
        undecided = decision.chosen.standing is Standing.UNDECIDED
        return Verdict.UNDECIDED if undecided else Verdict.DIFFERS
    return decide(accept(size, rate))


def _join(verdicts: Sequence[Verdict]) -> Verdict:
    for verdict in (Verdict.DIFFERS, Verdict.UNDECIDED):
        if verdict in verdicts:
            return verdict
    return Verdict.REPRODUCED
