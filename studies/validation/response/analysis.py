"""The rate of each congestion control at random losses and marks, beside closed forms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import altair as alt
import polars as pl

from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, make_chart
from headend.study.claims import Finding, Verdict, decide

#: Of the scenario: seconds, the line's bit/s, bits of a full segment, and the least time-out in seconds.
RTT, LINE, SEGMENT, LEAST_RTO = 0.05, 100e6, 12_000.0, 0.2

#: RFC 9438 §5.1 and §4.6.
C, BETA = 0.4, 0.7

#: FAST's gain times its segments in queues; LEDBAT++'s GAIN where the path takes 50 ms and the target is 60 ms.
FAST_STEP, GAIN = 0.5 * 20, 1 / math.ceil(2 * 60 / 50)

#: Windows below this time out rather than recover.
LEAST_WINDOW = 4.0


def give_reno(p: float) -> float:
    """Give NewReno's window in segments by Padhye et al.'s equation 32, for b = 1."""
    wait = max(LEAST_RTO, RTT) * min(1.0, 3 * math.sqrt(3 * p / 8)) * p * (1 + 32 * p**2)
    return RTT / (RTT * math.sqrt(2 * p / 3) + wait)


def give_cubic(p: float) -> float:
    """Give CUBIC's window by RFC 9438 §4.2, or NewReno's where that is larger."""
    steep = math.sqrt(math.sqrt(C * (3 + BETA) / (4 * (1 - BETA)))) * math.pow(RTT / p, 0.75)
    return max(steep, give_reno(p))


#: Windows in segments by the share of packets lost or marked.
FORMS: dict[str, Callable[[float], float]] = {
    "padhye": give_reno,
    "cubic": give_cubic,
    "fast": lambda p: math.sqrt(1.5 * FAST_STEP / p),
    "ledbat_plus_plus": lambda p: math.sqrt(1.5 * GAIN / p),
    "scalable": lambda p: 2 / p,
    "first mark": lambda p: (1 + math.sqrt(3)) / p,
}


def average(points: pl.DataFrame) -> pl.DataFrame:
    """Give a row for each control and probability: means over the seeds, bit/s."""
    groups = points.group_by("control", "percent", maintain_order=True)
    return groups.agg(pl.col("lost", "marked").mean()).with_columns(p=pl.col("percent") / 100)


def check_losses(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Hold the rate at random losses against a closed form."""
    return _hold(points, limits, "lost")


def check_marks(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Hold the rate at random marks against a closed form."""
    return _hold(points, limits, "marked")


def _hold(points: pl.DataFrame, limits: dict[str, Any], column: str) -> Finding:
    rows = average(points).filter(pl.col("control") == limits["control"])
    form = FORMS[limits["form"]]
    texts, outside = [], []
    for row in rows.iter_rows(named=True):
        window = form(row["p"])
        expected = window * SEGMENT / RTT
        if expected > LINE or window < LEAST_WINDOW:
            continue
        ratio = row[column] / expected
        texts.append(f"{ratio:.2f} ({row['percent']:g} %)")
        if abs(ratio - 1) > limits["within"]:
            outside.append(f"{row['percent']:g} %")
    if not texts:
        return Finding("no such run", Verdict.UNTESTABLE)
    why = f"outside at {', '.join(outside)}{limits.get('why', '')}" if outside else ""
    return Finding(f"measured over expected: {', '.join(texts)}", decide(not outside), why=why)


def check_marks_as_losses(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Hold the rate at random marks against that at random losses."""
    rows = average(points).filter(
        pl.col("control") == limits["control"], pl.col("percent") <= limits["most"]
    )
    if rows.is_empty():
        return Finding("no such run", Verdict.UNTESTABLE)
    ratios = (rows["marked"] / rows["lost"]).to_list()
    text = ", ".join(
        f"{ratio:.2f} ({percent:g} %)"
        for ratio, percent in zip(ratios, rows["percent"], strict=True)
    )
    agrees = all(abs(ratio - 1) <= limits["within"] for ratio in ratios)
    return Finding(f"marked over lost: {text}", decide(agrees), why="" if agrees else limits["why"])


def check_kept(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Hold the rate at random losses against the line's."""
    rows = average(points).filter(
        pl.col("control") == limits["control"], pl.col("percent") <= limits["most"]
    )
    if rows.is_empty():
        return Finding("no such run", Verdict.UNTESTABLE)
    shares = (rows["lost"] / (LINE * (1 - rows["p"]))).to_list()
    text = ", ".join(
        f"{share:.1%} ({percent:g} %)"
        for share, percent in zip(shares, rows["percent"], strict=True)
    )
    agrees = min(shares) >= limits["least"]
    return Finding(text, decide(agrees), why="" if agrees else _tell_least(points, limits))


def _tell_least(points: pl.DataFrame, limits: dict[str, Any]) -> str:
    """Say where a control keeps least of the line, how far its seeds are apart there, and why that is, if it is known."""
    shares = points.filter(
        pl.col("control") == limits["control"], pl.col("percent") <= limits["most"]
    ).select("percent", share=pl.col("lost") / (LINE * (1 - pl.col("percent") / 100)))
    means = shares.group_by("percent").agg(pl.col("share").mean())
    percent = means.sort("share").row(0, named=True)["percent"]
    own = shares.filter(percent=percent)["share"].to_list()
    seeds = (
        "one seed"
        if len(own) == 1
        else f"from {min(own):.1%} to {max(own):.1%} over {len(own)} seeds"
    )
    reason = limits.get("why", "no reason is known")
    return f"least at {percent:g} % of losses, {seeds}: {reason}"


def draw_losses(points: pl.DataFrame) -> list[Panel]:
    """Draw the rates at random losses."""
    return _draw(
        points,
        "lost",
        {"NewReno (Padhye)": give_reno, "CUBIC (RFC 9438)": give_cubic},
        "packets lost, %",
    )


def draw_marks(points: pl.DataFrame) -> list[Panel]:
    """Draw the rates at random marks."""
    forms = {"NewReno (Padhye)": give_reno, "2/p": FORMS["scalable"]}
    return _draw(points, "marked", forms, "packets marked, %")


#: What is drawn together: by losses, by delay, by a model or in proportion to marks.
KINDS = {
    "By losses": ["reno", "cubic", "tahoe", "westwood"],
    "By delay": ["vegas", "fast", "ledbat", "ledbat_plus_plus"],
    "By a model, or in proportion to marks": ["bbr", "bbr3", "dctcp", "prague"],
}


def _draw(
    points: pl.DataFrame, column: str, forms: dict[str, Callable[[float], float]], title: str
) -> list[Panel]:
    rows = average(points).with_columns(rate=pl.col(column) / 1e6)
    x = alt.X("percent:Q", title=title, scale=alt.Scale(type="log"))
    y = alt.Y("rate:Q", title="rate, Mbit/s", scale=alt.Scale(type="log", domain=[0.1, 110]))
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
        tone = alt.Color(
            "control:N",
            title=None,
            scale=alt.Scale(domain=names, range=list(PALETTE[: len(names)])),
        )
        shape = alt.Shape("control:N", title=None, scale=alt.Scale(domain=names))
        lines = (
            make_chart(curves)
            .mark_line(color="#8C8C8C", clip=True)
            .encode(x=x, y=y, strokeDash=alt.StrokeDash("form:N", title=None))
        )
        dots = make_chart(part).mark_point(filled=True, size=60, clip=True)
        trails = make_chart(part).mark_line(strokeWidth=1, clip=True)
        panels.append(
            Panel(
                kind,
                alt.layer(
                    lines,
                    trails.encode(x=x, y=y, color=tone),
                    dots.encode(x=x, y=y, color=tone, shape=shape),
                ),
            )
        )
    return panels
