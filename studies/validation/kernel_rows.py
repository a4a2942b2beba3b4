"""Rows of a table that a real kernel filled, beside headend's: how they are judged and drawn."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, make_chart
from headend.study import ClaimResult, ClaimVerdict, decide_over_seeds, join_decisions

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

Limits = dict[str, Any]

#: Figures of a row: how each is called, the unit that it is printed in, and by how many of the
#: engine's units that is divided.
RATES = {"goodput": "goodput", "second": "the second one's"}
DELAYS = {"p50": "p50", "p95": "p95", "p99": "p99"}
COUNTS = {"dropped": "drops", "dropped_down": "drops down", "marked": "marks"}
UNITS = {
    **dict.fromkeys(RATES, ("Mbit/s", 1e6)),
    **dict.fromkeys(DELAYS, ("ms", 1e6)),
    **dict.fromkeys(COUNTS, ("packets", 1.0)),
}
NAMES = {**RATES, **DELAYS, **COUNTS}

#: By how much of a bound a mean that is one may miss it.
ROUNDING = 1e-9

#: Of a row in a figure, pixels.
STEP = 18


def accept(name: str, limits: Limits) -> tuple[float, float]:
    """Give what agrees with a figure of a row.

    Parameters
    ----------
    name
        Of the figure: a delay has ``within_ms`` to both sides, another one a share ``within``.
    limits
        Those of a claim, with the kernel's figures by their names.
    """
    real = limits[name]
    off = limits["within_ms"] if name in DELAYS else limits["within"] * real
    return real - off, real + off


def check_row(points: pl.DataFrame, limits: Limits) -> ClaimResult:
    """Hold the figures of a row that the limits name, each as its mean over the seeds."""
    rows = points.filter(pl.col("case") == limits["case"])
    if rows.is_empty():
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    found, texts, missed = [], [], []
    for name in (own for own in NAMES if own in limits):
        unit, scale = UNITS[name]
        low, high = accept(name, limits)
        values = [value / scale for value in rows[name].to_list()]
        own = decide_over_seeds(values, low - ROUNDING * abs(low), high + ROUNDING * abs(high))
        found.append(own)
        texts.append(f"{NAMES[name]} {shorten(own.mean)} {unit}")
        if own.verdict is not ClaimVerdict.REPRODUCED:
            word = "not" if own.verdict is ClaimVerdict.DIFFERS else "over a bound of"
            missed.append(f"{NAMES[name]} {word} {shorten(low)} to {shorten(high)} {unit}")
    why = ", ".join(missed)
    if why and "cause" in limits:
        why += f": {limits['cause']}"
    return join_decisions(found, ", ".join(texts), why)


#: Claims on drops and marks, and on a public laboratory's figures, are judged alike and not drawn.
check_counts = check_lab = check_row


def shorten(value: float) -> str:
    """Write a number with as many digits as the tables have."""
    return f"{value:.0f}" if value >= 1000 else f"{value:.1f}" if value >= 100 else f"{value:.4g}"


def draw_ratios(points: pl.DataFrame, file: Path) -> list[Panel]:
    """Draw goodput over the kernel's, and the probe's delays less the kernel's.

    Parameters
    ----------
    points
        Of the study.
    file
        Its ``study.toml``, whose claims have the kernel's figures.
    """
    content = tomllib.loads(file.read_text(encoding="utf-8"))
    claims = [own["limits"] for own in content["claim"] if own["check"] == "check_row"]
    panels = []
    for title, names, unit in (
        ("Goodput, headend ÷ Linux", RATES, "ratio (no unit)"),
        ("Probe, headend less Linux", DELAYS, "difference (ms)"),
    ):
        rows = []
        for limits in claims:
            own = points.filter(pl.col("case") == limits["case"])
            for name in (own_ for own_ in names if own_ in limits and not own.is_empty()):
                mean = _mean(own[name].to_list()) / UNITS[name][1]
                value = mean / limits[name] if names is RATES else mean - limits[name]
                rows.append({"case": limits["case"], "figure": NAMES[name], "value": value})
        if rows:
            panels.append(Panel(title, _draw(pl.DataFrame(rows), unit, list(names.values()))))
    return panels


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _draw(table: pl.DataFrame, unit: str, names: list[str]) -> vl.Chart:
    cases = table["case"].unique(maintain_order=True).to_list()
    y = vl.Y("case:N", title=None, sort=cases, axis=vl.Axis(labelLimit=260, grid=True))
    domain = vl.Scale(domain=names, range=list(PALETTE[: len(names)]))
    dots = (
        make_chart(table)
        .mark_point(filled=True, size=50, opacity=0.8)
        .encode(
            x=vl.X("value:Q", title=unit, scale=vl.Scale(zero=False)),
            y=y,
            color=vl.Color("figure:N", title=None, scale=domain),
        )
    )
    return dots.properties(height=STEP * len(cases))
