"""Which feature is recommended for each tier, held against the documents."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from headend.analysis.ranking import Choice, Feasibility
from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import make_chart
from headend.recommendation.candidate import Candidate, Feature
from headend.recommendation.deciding import Decision
from headend.recommendation.request import Request
from headend.study import ClaimResult, ClaimVerdict, decide, decide_over_seeds, join_decisions

from ..asking import make_tier, name_setting, recommend
from ..sizes import (
    TABLE_2,
    Decisions,
    describe_choice,
    describe_sizes,
    describe_ties,
    draw_sizes,
    find_size,
    hold_sizes,
    is_within,
)

#: The upstream rates of the tiers, in Mbit/s.
RATES = (1, 2, 5, 10, 35)

#: What an operator would ask.
REQUEST = Request("features", tuple(make_tier(rate, "docsis31") for rate in RATES))

#: A queue of one kind or the other.
ONE_QUEUE = (Feature.BUFFER_CONTROL, Feature.AQM)

#: What figures call the cases.
CASES = {
    "asked": "nothing more said",
    "de-jitter": "de-jitter buffer of 60 ms",
    "small video": "video call of 0.3 Mbit/s",
}

#: What a figure calls the standing of a setting.
STANDINGS = {
    Feasibility.HOLDS: "holds",
    Feasibility.UNDECIDED: "undecided",
    Feasibility.FAILS: "fails",
}


def decide_case(
    points: pl.DataFrame, case: str, features: Sequence[Feature] = tuple(REQUEST.features)
) -> Decisions:
    """Decide what the tiers shall have in a case, if so many features may be set."""
    request = replace(REQUEST, features=tuple(features))
    return recommend(points.filter(pl.col("case") == case), request)


def check_choice(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold that AQM is recommended wherever a single queue holds."""
    decisions = decide_case(points, limits["case"], ONE_QUEUE)

    def accept(decision: Decision) -> bool:
        number = decision.recommended
        return number is None or decision.find(number).feature is Feature.AQM

    why = (
        "the call fails behind an AQM with a telephone that holds packets back for 40 ms; with one"
        " of 60 ms it is AQM (REC-AQM.cause-choice)"
    )
    return _hold(decisions, describe_choice, accept, why)


def check_tuning(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold that the default is the recommended AQM wherever an AQM holds."""
    decisions = decide_case(points, limits["case"])

    def tell(decision: Decision) -> str:
        return _tell_best(decision, decision.bests[Feature.AQM])

    def accept(decision: Decision) -> bool:
        best = decision.bests[Feature.AQM]
        if best.standing is not Feasibility.HOLDS or best.setting is None:
            return True
        return _is_default(decision.find(best.setting))

    why = (
        "at 10 Mbit/s everything holds with 5 and with 10 ms, and uploads are alike; 5 ms is named"
        " since pages load 6 % sooner with it (0.76 and 0.81 s) and nothing is worse"
    )
    return _hold(decisions, tell, accept, why)


def check_buffer(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold that of the default target with its buffers, 250 ms is recommended or comes nearest."""
    decisions = decide_case(points, limits["case"])

    def find(decision: Decision) -> Choice:
        of_target = [
            number
            for number, own in enumerate(decision.candidates, start=1)
            if own.feature is Feature.AQM and "target" not in _read_pie(own)
        ]
        return decision.choose(of_target)

    def accept(decision: Decision) -> bool:
        number = find(decision).setting
        return number is not None and _is_default(decision.find(number))

    why = (
        "wherever an AQM holds it is 250 ms; where none does, the conditions are missed by less"
        " with a shorter buffer"
    )
    return _hold(decisions, lambda own: _tell_best(own, find(own)), accept, why)


def check_bufferbloat(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the call's score in 250 ms of buffer."""
    return _hold_scores(points, limits, RATES, lambda own: own.feature is Feature.AQM_OFF)


def check_calls(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the call's score with the defaults of DOCSIS-PIE."""
    finding = _hold_scores(points, limits, limits["rates"], _is_default)
    if finding.verdict is not ClaimVerdict.DIFFERS:
        return finding
    other = _hold_scores(points, {**limits, "case": "de-jitter"}, limits["rates"], _is_default)
    divided = _hold_scores(
        points, limits, limits["rates"], lambda own: own.feature is Feature.LOW_LATENCY
    )
    why = (
        f"with a de-jitter buffer of 60 ms {other.measured}; in the low-latency flow, without the"
        f" upload's packets before it, {divided.measured}"
    )
    return replace(finding, why=why)


def check_pages(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the order in which pages load with an AQM, a buffer and 250 ms."""
    told, decisions = [], []
    for tier in REQUEST.tiers:
        candidates = REQUEST.list_candidates(tier)
        wanted = tier.upstream * limits["buffer_ms"] / 8.192e6
        chosen = [
            next(own for own in candidates if _is_default(own)),
            min(
                (own for own in candidates if own.feature is Feature.BUFFER_CONTROL),
                key=lambda own: abs(find_size(own) - wanted),
            ),
            next(own for own in candidates if own.feature is Feature.AQM_OFF),
        ]
        times = [
            _take(points, limits["case"], name_setting(tier, own), "page.page_load_time.p90")
            for own in chosen
        ]
        if not all(times):
            continue
        for faster, slower in itertools.pairwise(times):
            gains = [its - mine for mine, its in zip(faster, slower, strict=True)]
            decisions.append(decide_over_seeds(gains, low=0))
        means = " < ".join(f"{sum(own) / len(own) / 1e9:.2f}" for own in times)
        told.append(f"{means} s at {tier.name}".replace(" <", ","))
    if not decisions:
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    return join_decisions(decisions, "; ".join(told))


def check_low_latency(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold that low latency always holds, and is recommended where no single queue holds."""
    decisions = decide_case(points, limits["case"])

    def accept(decision: Decision) -> bool:
        holds = decision.bests[Feature.LOW_LATENCY].standing is Feasibility.HOLDS
        one_queue = any(decision.bests[own].standing is Feasibility.HOLDS for own in ONE_QUEUE)
        number = decision.recommended
        is_chosen = number is not None and decision.find(number).feature is Feature.LOW_LATENCY
        return holds and is_chosen is not one_queue

    why = "; ".join(
        f"at {rate} Mbit/s {_explain(own)}" for rate, own in decisions.items() if not accept(own)
    )
    return _hold(decisions, describe_choice, accept, why)


def check_call_and_game(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold that with low latency the conditions on call and game hold at every tier."""
    request = replace(REQUEST, expect=tuple(limits["expect"]))
    decisions = recommend(points.filter(pl.col("case") == limits["case"]), request)
    return _hold(
        decisions,
        lambda own: _tell_best(own, own.bests[Feature.LOW_LATENCY]),
        lambda own: own.bests[Feature.LOW_LATENCY].standing is Feasibility.HOLDS,
    )


def check_limits(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold call and game delays with recommended settings against the guideline's limits."""
    told, found = [], []
    for rate, decision in decide_case(points, limits["case"]).items():
        number = decision.recommended
        if number is None:
            continue
        name = name_setting(decision.tier, decision.find(number))
        call, up, down = (
            [value / 1e6 for value in _take(points, limits["case"], name, f"{own}.delay.p99")]
            for own in ("call.up", "game.up", "game.down")
        )
        mouth = [value + limits["held_ms"] for value in call]
        both = [one + other for one, other in zip(up, down, strict=True)]
        found += [
            decide_over_seeds(mouth, high=limits["call_ms"]),
            decide_over_seeds(both, high=limits["game_ms"]),
        ]
        told.append(f"{found[-2].mean:.0f} and {found[-1].mean:.0f} ms at {rate} Mbit/s")
    if not found:
        return ClaimResult("nothing holds at any tier", ClaimVerdict.UNTESTABLE)
    return join_decisions(found, ", ".join(told))


def check_table(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the buffers for these people against Table 2."""
    decisions, *others = (
        _decide_buffers(points, case)
        for case in (limits["case"], *(own for own in CASES if own != limits["case"]))
    )
    why = f"of those that tie, the smallest is recommended: {describe_ties(decisions)}"
    for case, own in zip((own for own in CASES if own != limits["case"]), others, strict=True):
        if own:
            why += f"; with a {CASES[case]} {describe_sizes(own)}"
    return hold_sizes(
        decisions, lambda size, rate: is_within(size, TABLE_2[rate], limits["factor"]), why
    )


def check_more(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold that more settings of a single queue hold in one case than in another."""
    one, other = (decide_case(points, limits[key], ONE_QUEUE) for key in ("case", "other"))
    if not one or not other:
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    counts = {
        rate: (_count(one[rate], Feasibility.HOLDS), _count(other[rate], Feasibility.HOLDS))
        for rate in one
    }
    more = [mine - its for mine, its in counts.values()]
    told = ", ".join(f"{mine} for {its} at {rate} Mbit/s" for rate, (mine, its) in counts.items())
    if min(more) >= 0 and sum(own > 0 for own in more) >= limits["least"]:
        return ClaimResult(f"settings that hold: {told}", ClaimVerdict.REPRODUCED)
    open_ones = ", ".join(
        f"{_count(one[rate], Feasibility.UNDECIDED)} and"
        f" {_count(other[rate], Feasibility.UNDECIDED)} at {rate} Mbit/s"
        for rate in one
    )
    why = f"besides, with so many seeds the intervals do not decide {open_ones}"
    return ClaimResult(f"settings that hold: {told}", ClaimVerdict.DIFFERS, why=why)


def draw_features(points: pl.DataFrame) -> list[Panel]:
    """Draw each feature's best setting at each tier, whether it holds, and the recommended."""
    rows = [
        {
            "tier": decision.tier.name,
            "feature": feature.words,
            "standing": STANDINGS.get(best.standing, "fails"),
            "label": _shorten(decision.find(best.setting).label),
            "recommended": best.setting == decision.recommended,
        }
        for decision in decide_case(points, "asked").values()
        for feature, best in decision.bests.items()
        if best.setting is not None
    ]
    table = pl.DataFrame(rows)
    x = vl.X(
        "feature:N",
        title=None,
        sort=[own.words for own in Feature],
        axis=vl.Axis(labelAngle=0),
    )
    y = vl.Y("tier:N", title="upstream rate", sort=[own.name for own in REQUEST.tiers])
    return [Panel("", _draw_cells(table, x, y))]


def draw_buffers(points: pl.DataFrame) -> list[Panel]:
    """Draw the buffers of the cases beside Table 2."""
    cases = {name: _decide_buffers(points, case) for case, name in CASES.items()}
    return [Panel("", draw_sizes({name: own for name, own in cases.items() if own}))]


def _draw_cells(table: pl.DataFrame, x: vl.X, y: vl.Y) -> vl.Chart:
    names = list(STANDINGS.values())
    cells = (
        make_chart(table)
        .mark_rect(stroke="#8c8c8c", opacity=0.75)
        .encode(
            x=x,
            y=y,
            color=vl.Color(
                "standing:N",
                title=None,
                scale=vl.Scale(domain=names, range=["#009E73", "#E69F00", "#D55E00"]),
            ),
        )
    )
    labels = (
        make_chart(table).mark_text(fontSize=12, color="#000000").encode(x=x, y=y, text="label:N")
    )
    rings = (
        make_chart(table.filter("recommended"))
        .mark_rect(fill=None, stroke="#000000", strokeWidth=3)
        .encode(x=x, y=y)
    )
    return vl.layer(cells, labels, rings)


def _hold(
    decisions: Decisions,
    tell: Callable[[Decision], str],
    accept: Callable[[Decision], bool],
    why: str = "",
) -> ClaimResult:
    """Hold the decision of every tier."""
    if not decisions:
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    told = ", ".join(f"{tell(own)} at {rate} Mbit/s" for rate, own in decisions.items())
    agrees = all(accept(own) for own in decisions.values())
    return ClaimResult(told, decide(agrees), why="" if agrees else why)


def _hold_scores(
    points: pl.DataFrame,
    limits: dict[str, Any],
    rates: Sequence[int],
    is_meant: Callable[[Candidate], bool],
) -> ClaimResult:
    """Hold the call's score in its bad spells with one setting of each tier."""
    told, found = [], []
    for tier in REQUEST.tiers:
        rate = round(tier.upstream / 1e6)
        candidate = next(own for own in REQUEST.list_candidates(tier) if is_meant(own))
        values = _take(points, limits["case"], name_setting(tier, candidate), "call.mos.p5")
        if rate in rates and values:
            found.append(
                decide_over_seeds(
                    values, limits.get("low", -math.inf), limits.get("high", math.inf)
                )
            )
            told.append(f"{found[-1].mean:.2f} at {rate} Mbit/s")
    if not found:
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    return join_decisions(found, ", ".join(told))


def _take(points: pl.DataFrame, case: str, setting: str, column: str) -> list[float]:
    """Give a column of a setting, a value for each seed."""
    return points.filter(case=case, setting=setting).sort("seed")[column].to_list()


def _tell_best(decision: Decision, best: Choice) -> str:
    """Say which setting is best, and that it does not hold where it does not."""
    if best.setting is None:
        return "nothing"
    label = decision.find(best.setting).label
    return label if best.standing is Feasibility.HOLDS else f"{label} ({STANDINGS[best.standing]})"


def _read_pie(candidate: Candidate) -> dict[str, Any]:
    """Give what a setting writes to DOCSIS-PIE."""
    queue = candidate.upstream["queue"]
    return {} if isinstance(queue, str) else dict(queue["docsis_pie"])


def _is_default(candidate: Candidate) -> bool:
    return candidate.feature is Feature.AQM and not _read_pie(candidate)


def _count(decision: Decision, standing: Feasibility) -> int:
    """Count the settings that can be recommended and are of a standing."""
    standings = decision.standings
    return sum(
        own.is_settable and standings[number] is standing
        for number, own in enumerate(decision.candidates, start=1)
    )


def _decide_buffers(points: pl.DataFrame, case: str) -> Decisions:
    """Decide the buffers of Table 2's tiers in a case."""
    decisions = decide_case(points, case, (Feature.BUFFER_CONTROL,))
    return {rate: own for rate, own in decisions.items() if rate in TABLE_2}


def _explain(decision: Decision) -> str:
    """Say which conditions low latency misses; or, if a single queue holds, what each gives."""
    best = decision.bests[Feature.LOW_LATENCY]
    if best.setting is None:
        return "low latency was not run"
    if best.standing is not Feasibility.HOLDS:
        missed = [
            f"{text} is {_write(text, decision.terms[text].estimates[best.setting].mean)}"
            for own in decision.criteria.constraints
            if decision.judge(own, best.setting) is not Feasibility.HOLDS
            for text in [own.term.text]
        ]
        return f"low latency does not hold: {', '.join(missed)}"
    objective = decision.objective
    shown = [best, *(decision.bests[own] for own in ONE_QUEUE)]
    return "the upload has " + ", ".join(
        f"{_write('goodput', objective.estimates[own.setting].mean)} with"
        f" {decision.find(own.setting).label}"
        for own in shown
        if objective and own.setting is not None and own.standing is Feasibility.HOLDS
    )


def _write(term: str, value: float) -> str:
    """Write a value of a term with its unit."""
    if "goodput" in term:
        return f"{value / 1e6:.1f} Mbit/s"
    if "time" in term:
        return f"{value / 1e9:.1f} s"
    return f"{value:.2f}"


def _shorten(label: str) -> str:
    return label.removeprefix("buffer ").removeprefix("low latency, ")
