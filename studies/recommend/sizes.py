"""Recommended buffers: held against bounds, and drawn beside Table 2."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import polars as pl

from headend.analysis.ranking import Feasibility
from headend.figures import vegalite as vl
from headend.figures.theme import PALETTE, make_chart, make_legend
from headend.recommendation.candidate import Candidate, Feature
from headend.recommendation.deciding import Decision
from headend.study import ClaimResult, ClaimVerdict, decide

#: What is recommended by the upstream rate in Mbit/s.
Decisions = Mapping[int, Decision]

#: Table 2 of the Buffer Control guideline: the target in KiB by the upstream rate in Mbit/s.
TABLE_2 = {1: 8, 2: 16, 5: 32, 10: 50}


def find_size(candidate: Candidate) -> int:
    """Give the buffer of a setting of Buffer Control in KiB."""
    return int(candidate.upstream["queue"]["buffer_control"]["target"].removesuffix(" KiB"))


def read_size(decision: Decision) -> int | None:
    """Give the recommended buffer in KiB; None where no setting holds."""
    number = decision.recommended
    return None if number is None else find_size(decision.find(number))


def find_full(decision: Decision, share: float) -> int | None:
    """Give the smallest holding buffer in KiB with a share of the best objective; or None."""
    objective = decision.objective
    if objective is None:
        return None
    means = {
        setting: objective.estimates[setting].mean
        for setting, standing in decision.standings.items()
        if standing is Feasibility.HOLDS
        and decision.find(setting).feature is Feature.BUFFER_CONTROL
    }
    most = max(means.values(), default=0.0)
    sizes = [
        find_size(decision.find(setting)) for setting, mean in means.items() if mean >= share * most
    ]
    return min(sizes, default=None)


def describe_choice(decision: Decision) -> str:
    """Say what is recommended, or that nothing holds and what comes nearest."""
    best = decision.chosen
    if best.setting is None:
        return "nothing"
    label = decision.find(best.setting).label
    if best.standing is Feasibility.HOLDS:
        return label
    return (
        f"nothing ({'undecided' if best.standing is Feasibility.UNDECIDED else 'nearest'}: {label})"
    )


def hold_sizes(
    decisions: Decisions, accept: Callable[[int, int], bool], why: str = ""
) -> ClaimResult:
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
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    verdicts = [_judge(decision, rate, accept) for rate, decision in decisions.items()]
    verdict = _join(verdicts)
    return ClaimResult(
        describe_sizes(decisions), verdict, why="" if verdict is ClaimVerdict.REPRODUCED else why
    )


def hold_full(
    decisions: Decisions, share: float, accept: Callable[[int, int], bool], why: str = ""
) -> ClaimResult:
    """Hold the smallest buffers that hold and have a share of the most that the objective has."""
    if not decisions:
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    sizes = {rate: find_full(decision, share) for rate, decision in decisions.items()}
    told = ", ".join(f"{size or 'no'} KiB at {rate} Mbit/s" for rate, size in sizes.items())
    agrees = all(size is not None and accept(size, rate) for rate, size in sizes.items())
    return ClaimResult(told, decide(agrees), why="" if agrees else why)


def compare_sizes(
    decisions: Decisions, others: Decisions, least: int, why: str = ""
) -> ClaimResult:
    """Hold that buffers are larger than others at so many rates, and smaller at none.

    Rates at which either has no recommended buffer count as equal.
    """
    if not decisions or not others:
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    steps = [
        (one > other) - (one < other)
        for rate, decision in decisions.items()
        if (one := read_size(decision)) is not None
        if (other := read_size(others[rate])) is not None
    ]
    verdict = decide(min(steps, default=0) >= 0 and sum(step > 0 for step in steps) >= least)
    told = f"{describe_sizes(decisions)}; for {describe_sizes(others)}"
    return ClaimResult(told, verdict, why="" if verdict is ClaimVerdict.REPRODUCED else why)


def describe_sizes(decisions: Decisions) -> str:
    """Say what is recommended at each rate."""
    return ", ".join(
        f"{describe_choice(decision).removeprefix('buffer ')} at {rate} Mbit/s"
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
                legend=make_legend(names),
            ),
            shape=vl.Shape(
                "case:N", title=None, scale=vl.Scale(domain=names), legend=make_legend(names)
            ),
        )
    )
    return vl.layer(bands, rules, dots)


def describe_ties(decisions: Decisions) -> str:
    """Say from which to which buffer the settings reach that hold and tie, at each rate."""
    told = []
    for rate, decision in decisions.items():
        sizes = list_ties(decision)
        ends = (
            " to ".join(f"{own}" for own in dict.fromkeys((min(sizes), max(sizes))))
            if sizes
            else ""
        )
        told.append(f"{ends} KiB at {rate} Mbit/s" if ends else f"none at {rate} Mbit/s")
    return ", ".join(told)


def list_ties(decision: Decision) -> list[int]:
    """List the recommended buffer and those that tie with it, in KiB; nothing where none holds."""
    best = decision.chosen
    if best.standing is not Feasibility.HOLDS or best.setting is None:
        return []
    return [find_size(decision.find(number)) for number in (best.setting, *best.ties)]


def compute_drain(size: int, rate: int) -> float:
    """Give how long a full buffer takes to drain in ms, from KiB and Mbit/s.

    Examples
    --------
    >>> round(compute_drain(32, 5), 1)
    52.4
    """
    return size * 8.192 / rate


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


def _judge(decision: Decision, rate: int, accept: Callable[[int, int], bool]) -> ClaimVerdict:
    size = read_size(decision)
    if size is None:
        undecided = decision.chosen.standing is Feasibility.UNDECIDED
        return ClaimVerdict.UNDECIDED if undecided else ClaimVerdict.DIFFERS
    return decide(accept(size, rate))


def _join(verdicts: Sequence[ClaimVerdict]) -> ClaimVerdict:
    for verdict in (ClaimVerdict.DIFFERS, ClaimVerdict.UNDECIDED):
        if verdict in verdicts:
            return verdict
    return ClaimVerdict.REPRODUCED
