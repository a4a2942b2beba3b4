"""The rate of each congestion control at random losses and marks, beside closed forms."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, make_chart
from headend.study import ClaimResult, ClaimVerdict, Decision, decide_over_seeds, join_decisions

#: Of the scenario: seconds, the line's bit/s, bits of a full segment, and the least time-out in
#: seconds.
RTT, LINE, SEGMENT, LEAST_RTO = 0.05, 100e6, 12_000.0, 0.2

#: RFC 9438 §5.1 and §4.6.
C, BETA = 0.4, 0.7

#: Segments that a window grows by in a round trip: FAST's gain times its segments in queues, and
#: LEDBAT++'s GAIN where the path takes 50 ms and the target is 60 ms.
FAST_STEP, GAIN = 0.5 * 20, 1 / math.ceil(2 * 60 / 50)

#: Windows below this time out rather than recover.
LEAST_WINDOW = 4.0

#: DCTCP's and Prague's weight of a round trip in α.
WEIGHT = 1 / 16


def give_additive(p: float, step: float = 1.0) -> float:
    """Give the window in segments of a halving control, by Padhye et al.'s equation 32, b = 1."""
    timeouts = min(1.0, 3 * math.sqrt(3 * p / (8 * step)))
    wait = max(LEAST_RTO, RTT) * timeouts * p * (1 + 32 * p**2)
    return RTT / (RTT * math.sqrt(2 * p / (3 * step)) + wait)


def give_cubic(p: float) -> float:
    """Give CUBIC's window by RFC 9438's equation 5, or NewReno's where that is larger."""
    steep = math.sqrt(math.sqrt(C * (3 + BETA) / (4 * (1 - BETA)))) * math.pow(RTT / p, 0.75)
    return max(steep, give_additive(p))


#: Windows in segments by the share of packets lost or marked.
FORMS: dict[str, Callable[[float], float]] = {
    "padhye": give_additive,
    "cubic": give_cubic,
    "fast": lambda p: give_additive(p, FAST_STEP),
    "ledbat_plus_plus": lambda p: give_additive(p, GAIN),
    "halved": lambda p: math.sqrt(1.5 / p),
    "scalable": lambda p: 2 / p,
    "first mark": lambda p: (1 + math.sqrt(3)) / p,
}


def walk(p: float, *, waits: bool, reductions: int = 20_000) -> float:
    """Give the mean of window times p that grows by one and falls by half of the marked share.

    Parameters
    ----------
    p
        The probability of a mark.
    waits
        Whether a reduction waits for the first mark a round trip after the last, as RFC 8257 has
        it, or comes every round trip.
    reductions
        How many are followed.
    """
    rng = np.random.default_rng(1)
    window, share, area, time = 2 / p, p, 0.0, 0.0
    for _ in range(reductions):
        share += WEIGHT * (rng.binomial(round(window), p) / window - share)
        length = 1.0 + (rng.geometric(p) / window if waits else 0.0)
        area += (window + length / 2) * length
        time += length
        window = max(2.0, (window + length) * (1 - share / 2))
    return area / time * p


def average(points: pl.DataFrame) -> pl.DataFrame:
    """Give a row for each control and probability: means over the seeds, bit/s."""
    groups = points.group_by("control", "percent", maintain_order=True)
    return groups.agg(pl.col("lost", "marked").mean()).with_columns(p=pl.col("percent") / 100)


def take(points: pl.DataFrame, control: str, column: str) -> dict[float, list[float]]:
    """Give a control's rates of each seed, bit/s, by the per cent that is lost or marked."""
    rows = points.filter(control=control).sort("seed")
    return {
        percent: own[column].to_list()
        for (percent,), own in rows.group_by("percent", maintain_order=True)
    }


def check_losses(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the rate at random losses against a closed form."""
    return _hold(points, limits, "lost")


def check_marks(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the rate at random marks against a closed form."""
    return _hold(points, limits, "marked")


def check_spaced(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the rate at evenly spaced losses against a closed form; tell random ones."""
    finding = _hold(points, limits, "spaced")
    random = _hold(points, limits, "lost")
    if finding.verdict is ClaimVerdict.UNTESTABLE:
        return finding
    return replace(finding, measured=f"{finding.measured}; at random losses {random.measured}")


def check_scalable(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold rates at random marks against 2/p; if unlike, try the rule on a window alone."""
    finding = _hold(points, limits, "marked")
    if finding.verdict in (ClaimVerdict.REPRODUCED, ClaimVerdict.UNTESTABLE):
        return finding
    shares = (0.01, 0.03)
    waiting, steady = (
        ", ".join(f"{walk(p, waits=waits):.2f}" for p in shares) for waits in (True, False)
    )
    why = (
        f"{finding.why}. Cause: a reduction waits for the first mark that comes a round trip after"
        " the last. A model of the window alone, without packets, has p times the window at"
        f" {waiting} (1, 3 %) with this rule, and at {steady} where it is reduced every round trip,"
        " as the derivation of 2/p has it"
    )
    return replace(finding, why=why)


def _hold(points: pl.DataFrame, limits: dict[str, Any], column: str) -> ClaimResult:
    """Hold rates over a form's against one, where it is below the line's and can recover."""
    form, within = FORMS[limits["form"]], limits["within"]
    controls = limits.get("controls") or [limits["control"]]
    found = {}
    for control in controls:
        for percent, rates in take(points, control, column).items():
            window = form(percent / 100)
            expected = window * SEGMENT / RTT
            if expected > LINE or window < LEAST_WINDOW:
                continue
            name = f"{percent:g} %" if len(controls) == 1 else f"{control}, {percent:g} %"
            ratios = [rate / expected for rate in rates]
            found[name] = decide_over_seeds(ratios, 1 - within, 1 + within)
    return _tell(found, "measured over expected: ", "{:.2f}")


def check_more(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold a control's rate at random losses against those of others, seed by seed."""
    own = take(points, limits["control"], "lost")
    found = {}
    for other in limits["than"]:
        for percent, rates in take(points, other, "lost").items():
            if percent in own:
                more = [mine / its - 1 for mine, its in zip(own[percent], rates, strict=True)]
                found[f"{other}, {percent:g} %"] = decide_over_seeds(more, low=0.0)
    return _tell(found, "more than ", "{:+.0%}")


def _tell(found: dict[str, Decision], before: str, form: str) -> ClaimResult:
    """Make one finding of several decisions: differing if one is, or undecided if one is."""
    if not found:
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    text = before + ", ".join(f"{form.format(own.mean)} ({name})" for name, own in found.items())
    finding = join_decisions(found.values(), text)
    outside = [name for name, own in found.items() if own.verdict is finding.verdict]
    is_met = finding.verdict is ClaimVerdict.REPRODUCED
    return replace(finding, why="" if is_met else f"at {', '.join(outside)}")


def draw_losses(points: pl.DataFrame) -> list[Panel]:
    """Draw the rates at random losses."""
    return _draw(
        points,
        "lost",
        {"NewReno (Padhye)": give_additive, "CUBIC (RFC 9438)": give_cubic},
        "packets lost, %",
    )


def draw_marks(points: pl.DataFrame) -> list[Panel]:
    """Draw the rates at random marks."""
    forms = {"NewReno (Padhye)": give_additive, "2/p": FORMS["scalable"]}
    return _draw(points, "marked", forms, "packets marked, %")


#: What is drawn together: by losses, by delay, by a model or in proportion to marks.
KINDS = {
    "By losses": ["reno", "cubic", "tahoe", "westwood"],
    "By delay": ["vegas", "fast", "ledbat", "ledbat_plus_plus"],
    "By a model, or in proportion to marks": ["bbr3", "dctcp", "prague"],
}


def _draw(
    points: pl.DataFrame, column: str, forms: dict[str, Callable[[float], float]], title: str
) -> list[Panel]:
    rows = average(points).with_columns(rate=pl.col(column) / 1e6)
    x = vl.X("percent:Q", title=title, scale=vl.Scale(type="log"))
    y = vl.Y("rate:Q", title="rate, Mbit/s", scale=vl.Scale(type="log", domain=[0.1, 110]))
    shares = [10 ** (exponent / 20) for exponent in range(-40, 21)]
    curves = pl.DataFrame(
        [
            {
                "form": name,
                "percent": percent,
                "rate": min(form(percent / 100) * SEGMENT / RTT, LINE) / 1e6,
            }
            for name, form in forms.items()
            for percent in shares
        ]
    )
    panels = []
    for kind, names in KINDS.items():
        part = rows.filter(pl.col("control").is_in(names))
        if part.is_empty():
            continue
        tone = vl.Color(
            "control:N",
            title=None,
            scale=vl.Scale(domain=names, range=list(PALETTE[: len(names)])),
        )
        shape = vl.Shape("control:N", title=None, scale=vl.Scale(domain=names))
        lines = (
            make_chart(curves)
            .mark_line(color="#8C8C8C", clip=True)
            .encode(x=x, y=y, strokeDash=vl.StrokeDash("form:N", title=None))
        )
        dots = make_chart(part).mark_point(filled=True, size=60, clip=True)
        trails = make_chart(part).mark_line(strokeWidth=1, clip=True)
        panels.append(
            Panel(
                kind,
                vl.layer(
                    lines,
                    trails.encode(x=x, y=y, color=tone),
                    dots.encode(x=x, y=y, color=tone, shape=shape),
                ),
            )
        )
    return panels
