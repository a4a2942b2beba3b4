"""The share of packets that a law drops at a fixed probability, beside the exact one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import make_chart
from headend.study import ClaimResult, ClaimVerdict, decide, decide_over_seeds

from ..drops import find_run_lengths

#: What Appendix B says the law makes of small probabilities.
SLOPE = 0.541

#: The sum at which a drop may come (`probability_low`).
LOW = 0.85

#: The sum at which one comes (`probability_high`).
HIGH = 8.5


def tabulate(points: pl.DataFrame) -> pl.DataFrame:
    """Put the measured share beside the exact one with its standard error; all seeds together."""
    rows = []
    together = points.group_by("percent").agg(
        pl.col("sent", "discarded").cast(pl.Int64).sum(), runs=pl.len()
    )
    for row in together.sort("percent").iter_rows(named=True):
        # As a decimal: the percentages of the grid are exact.
        probability = float(f"{row['percent'] / 100:.8f}")
        law = find_run_lengths(probability, "reached")
        # The number of drops in n packets has the variance n σ²/μ³. In each simulation five packets
        # found no queue, and one run of packets is not whole.
        deviation = math.sqrt(law.variance / law.mean**3 * row["sent"])
        apart = max(abs(row["discarded"] - row["sent"] / law.mean) - 6 * row["runs"], 0.0)
        rows.append(
            {
                "p": probability,
                "share": row["discarded"] / row["sent"],
                "exact": 1 / law.mean,
                "error": deviation / row["sent"],
                # Where no coin is tossed there is no chance either.
                "errors": apart / deviation if deviation else apart,
            }
        )
    return pl.DataFrame(rows)


def check_exact(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold each share against the exact one."""
    rows = tabulate(points)
    if rows.is_empty():
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    worst = rows.sort("errors").row(-1, named=True)
    text = f"at most {worst['errors']:.1f} standard errors off, over {rows.height} probabilities"
    why = (
        f"furthest off at p = {worst['p']:.4g}: {worst['share']:.5f} measured, {worst['exact']:.5f}"
        " exact"
    )
    return ClaimResult(text, decide(worst["errors"] <= limits["errors"]), why=why)


def check_slope(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the ratio of drops to the calculated probability, if small, against the claim."""
    small = points.filter(pl.col("percent") <= limits["most_p"] * 100).sort("seed")
    if small.is_empty():
        return ClaimResult("no probability that small", ClaimVerdict.UNTESTABLE)
    needed = (pl.col("sent") * pl.col("percent") / 100).sum()
    sums = small.group_by("seed", maintain_order=True).agg(ratio=pl.col("discarded").sum() / needed)
    rows = tabulate(points).filter(pl.col("p") < limits["below"])
    ratios = (rows["share"] / rows["p"]).to_list()
    ratio, within = limits["ratio"], limits["within"]
    own = sums["ratio"].to_list()
    decision = decide_over_seeds(own, ratio * (1 - within), ratio * (1 + within))
    limit = 1 / (LOW + 1 - math.exp(LOW - HIGH))
    text = (
        f"{np.mean(own):.4f} p at p up to {limits['most_p']:.1%}, exactly {limit:.4f} p where p"
        f" goes to 0; single ratios up to p = {limits['below']:g}: {min(ratios):.4f} to"
        f" {max(ratios):.4f}"
    )
    return decision.tell(text)


def check_jumps(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look for a rise at each jump, beyond chance and beyond what the slopes explain."""
    rows = tabulate(points)
    rises = []
    for packets in range(limits["first"], 0, -1):
        place = LOW / packets
        below = rows.filter(pl.col("p") < place).sort("p").row(-1, named=True)
        above = rows.filter(pl.col("p") > place).sort("p").row(0, named=True)
        chance = 2 * math.hypot(below["error"], above["error"])
        rises.append(above["share"] - below["share"] - (above["p"] - below["p"]) - chance)
    agrees = min(rises) > 0 and rises == sorted(rises)
    text = "rises of at least " + ", ".join(f"{rise:.3f}" for rise in rises)
    return ClaimResult(f"{text} at 0.85/{limits['first']} to 0.85/1", decide(agrees))


def check_gap(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look for what no calculated probability gives."""
    rows = tabulate(points)
    shares, is_low = rows["share"].to_numpy(), rows["p"].to_numpy() < LOW
    below, above = float(shares[is_low].max()), float(shares[~is_low].min())
    agrees = below < limits["low"] and above >= limits["high"]
    text = f"none between {below:.4f} and {above:.4f}, over {rows.height} probabilities"
    return ClaimResult(text, decide(agrees))


def draw_effective(points: pl.DataFrame) -> list[Panel]:
    """Draw the effective probability over the calculated one: all of it, and above a tenth."""
    return [
        Panel("From 0.001 on", _draw(points, 0.001, "log"), "effective-probability-log"),
        Panel("From 0.05 on", _draw(points, 0.05, "linear"), "effective-probability-linear"),
    ]


def _draw(points: pl.DataFrame, lowest: float, kind: str) -> vl.Chart:
    measured = tabulate(points).filter(pl.col("p") >= lowest)
    spread = np.geomspace(lowest, 1, 700) if kind == "log" else np.linspace(lowest, 1, 700)
    steps = [LOW / packets * side for packets in range(1, 9) for side in (1 - 1e-9, 1 + 1e-9)]
    places = sorted({*map(float, spread), *(step for step in steps if step > lowest)})
    exact = pl.DataFrame(
        {"p": places, "exact": [1 / find_run_lengths(place, "reached").mean for place in places]}
    ).with_columns(coin=pl.col("p"), slope=SLOPE * pl.col("p"))
    scale = vl.Scale(type=kind, nice=False)
    x = vl.X("p:Q", title="calculated drop probability", scale=scale)
    title = "effective drop probability"
    base = make_chart(exact).encode(x=x)
    lines = [
        base.mark_line(strokeDash=[2, 3], strokeWidth=1.2, color="#8c8c8c").encode(
            y=vl.Y("coin:Q", title=title, scale=scale)
        ),
        base.mark_line(strokeDash=[6, 4], strokeWidth=1.2, color="#8c8c8c").encode(y="slope:Q"),
        base.mark_line(strokeWidth=1.8, color="#0072B2").encode(y="exact:Q"),
    ]
    dots = (
        make_chart(measured)
        .mark_point(filled=True, size=40, opacity=1, color="#D55E00")
        .encode(
            x=x,
            y="share:Q",
            tooltip=[
                "p:Q",
                vl.Tooltip("share:Q", format=".4~g"),
                vl.Tooltip("exact:Q", format=".4~g"),
            ],
        )
    )
    return vl.layer(*lines, dots)
