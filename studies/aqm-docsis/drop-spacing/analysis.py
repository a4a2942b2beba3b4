"""Runs and counts of drops at a fixed probability, beside exact laws of two kinds of coin."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import colour, make_chart
from headend.study import ClaimResult, decide, decide_over_seeds, join_decisions

from ..drops import RunLengths, find_run_lengths

#: Packets in which drops are counted.
WINDOW = 1000

#: Edges of the bins of the figure of runs: one is just before the shortest de-randomised run.
EDGES = np.array([0, *range(16, 900, 17)])

#: How many drops the figure of counts shows.
MOST = 25

#: The exact law of each setting, and what figures call it.
LAWS = {
    "independent": find_run_lengths(0.01, "off"),
    "reached": find_run_lengths(0.01, "reached"),
    "as many": find_run_lengths(0.0185, "reached"),
    "at least": find_run_lengths(0.2125, "reached"),
    "greater": find_run_lengths(0.2125, "exceeded"),
}
NAMES = {
    "independent": "independent, 1 %",
    "reached": "de-randomised, 1 %",
    "as many": "de-randomised, 1.85 %",
}

Lengths = npt.NDArray[np.int64]


def take_fates(points: pl.DataFrame, drops: str) -> list[Lengths]:
    """Give the packets of each seed in their order: 1 where one was dropped."""
    rows = points.filter(pl.col("drops") == drops)
    return [np.asarray(fates, dtype=np.int64) for fates in rows["fates"]]


def take_runs(points: pl.DataFrame, drops: str) -> Lengths:
    """Give all whole runs' lengths, packets."""
    return np.concatenate([np.diff(np.flatnonzero(fates)) for fates in take_fates(points, drops)])


def take_counts(points: pl.DataFrame, drops: str) -> Lengths:
    """Give the number of drops in each window of 1000 packets."""
    return np.concatenate(
        [
            fates[: len(fates) // WINDOW * WINDOW].reshape(-1, WINDOW).sum(axis=1)
            for fates in take_fates(points, drops)
        ]
    )


def check_distribution(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the runs against the exact law by Kolmogorov's distance."""
    runs = take_runs(points, limits["drops"])
    distance, bound = compare_with_law(runs, limits["drops"], limits["confidence"])
    text = (
        f"at most {distance:.4f} apart over {len(runs)} runs, the bound is {bound:.4f};"
        f" mean {runs.mean():.1f} packets, {(runs == 1).mean():.2%} of runs are of 1 packet"
    )
    return ClaimResult(text, decide(distance <= bound))


def compare_with_law(runs: Lengths, drops: str, confidence: float) -> tuple[float, float]:
    """Give Kolmogorov's distance of runs from the exact law, and its bound."""
    law = LAWS[drops]
    lengths = np.arange(1, max(int(runs.max()), len(law.pmf)) + 1)
    measured = np.searchsorted(np.sort(runs), lengths, side="right") / len(runs)
    exact = np.minimum(1, np.pad(law.pmf, (0, len(lengths) - len(law.pmf))).cumsum())
    distance = float(np.abs(measured - exact).max())
    return distance, math.sqrt(-math.log((1 - confidence) / 2) / 2 / len(runs))


def check_derandomised(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look at the shortest and the longest run, and hold all against the exact law."""
    runs = take_runs(points, limits["drops"])
    distance, bound = compare_with_law(runs, limits["drops"], limits["confidence"])
    shortest, longest = int(runs.min()), int(runs.max())
    # The running sum of the law, in binary, may pass its bound a packet late.
    most = limits["longest"] + (_add_up(0.01, limits["longest"]) < 0.01 * limits["longest"])
    agrees = limits["shortest"] <= shortest and longest <= most and distance <= bound
    text = (
        f"{shortest} to {longest} packets over {len(runs)} runs; at most {distance:.4f} from the"
        f" exact law, the bound is {bound:.4f}"
    )
    why = ""
    if limits["longest"] < longest <= most:
        why = (
            f"in binary 0.01 added up 850 times is {_add_up(0.01, 850)!r}, and the next packet is"
            " dropped instead"
        )
    return ClaimResult(text, decide(agrees), why=why)


def check_counts(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold mean and variance of the number of drops against what is claimed."""
    agrees, found = True, []
    for drops, claimed in limits["settings"].items():
        counts = take_counts(points, drops)
        mean, variance = float(counts.mean()), float(counts.var(ddof=1))
        # The claimed variance makes the errors; the number is about Gaussian.
        error = math.sqrt(claimed["variance"] / len(counts))
        error_of_variance = claimed["variance"] * math.sqrt(2 / (len(counts) - 1))
        off = (mean - claimed["mean"]) / error, (variance - claimed["variance"]) / error_of_variance
        agrees &= max(abs(value) for value in off) <= limits["errors"]
        found.append(
            f"{NAMES[drops]}: mean {mean:.2f} and variance {variance:.2f}, {off[0]:+.1f} and"
            f" {off[1]:+.1f} standard errors off, over {len(counts)} windows; half or more off"
            f" {_is_excursion(points, drops).mean():.1%}"
        )
    return ClaimResult(". ".join(found), decide(agrees))


def check_words(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare the shortest runs by the paper's words and by the law."""
    words, law = (int(take_runs(points, drops).min()) for drops in ("greater", "at least"))
    text = f"{words} packets by the words, {law} by the law"
    why = (
        f"Exact effective probabilities: {1 / LAWS['greater'].mean:.4f} and"
        f" {1 / LAWS['at least'].mean:.4f}. The running sum hardly ever meets the bound: at 1 %,"
        f" where 0.85/p is whole, rounding makes it {_add_up(0.01, 85)!r}, and both rules begin to"
        " toss at the 85th packet"
    )
    return ClaimResult(text, decide(words == limits["words"] and law == limits["law"]), why=why)


def check_reduced(points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Compare how often the number of drops is half or more off, seed by seed."""
    coins = count_excursions(points, "independent")
    decisions, found = [], [f"{_describe_excursions(points, 'independent')} with independent coins"]
    for drops in ("reached", "as many"):
        own = count_excursions(points, drops)
        gains = [other - share for other, share in zip(coins, own, strict=True)]
        decisions.append(decide_over_seeds(gains, low=0.0))
        found.append(f"{_describe_excursions(points, drops)} {NAMES[drops]}")
    return join_decisions(decisions, "; ".join(found))


def count_excursions(points: pl.DataFrame, drops: str) -> list[float]:
    """Give the share of windows that are half or more off, a value for each seed."""
    own = points.filter(drops=drops).sort("seed").partition_by("seed", maintain_order=True)
    return [float(_is_excursion(rows, drops).mean()) for rows in own]


def _describe_excursions(points: pl.DataFrame, drops: str) -> str:
    return (
        f"{_is_excursion(points, drops).mean():.2%} of windows (exact"
        f" {_exact_excursions(drops):.2%})"
    )


def draw_runs(points: pl.DataFrame) -> list[Panel]:
    """Draw the distribution of runs, exact and measured."""
    rows = pl.concat(
        [_bin_runs(points, drops, slot) for slot, drops in enumerate(("independent", "reached"))]
    )
    x = vl.X(
        "packets:Q",
        title="packets from drop to drop",
        scale=vl.Scale(domain=[0, 900], nice=False),
    )
    base = make_chart(rows).encode(x=x, color=colour(rows))
    exact = base.mark_line(strokeWidth=1.8, interpolate="step").encode(
        y=vl.Y("exact:Q", title="probability of a run of that length", scale=vl.Scale(zero=True))
    )
    measured = base.mark_point(filled=True, size=40, opacity=1).encode(
        y="measured:Q",
        tooltip=["series:N", "packets:Q", vl.Tooltip("measured:Q", format=".3~g")],
    )
    return [Panel("", vl.layer(exact, measured))]


def draw_counts(points: pl.DataFrame) -> list[Panel]:
    """Draw the distribution of the number of drops, exact and measured."""
    rows = pl.concat([_tally(points, drops, slot) for slot, drops in enumerate(NAMES)])
    x = vl.X("drops:Q", title="drops in 1000 packets", scale=vl.Scale(domain=[0, MOST]))
    base = make_chart(rows).encode(x=x, color=colour(rows))
    exact = base.mark_line(strokeWidth=1.8).encode(
        y=vl.Y("exact:Q", title="probability", scale=vl.Scale(domainMin=0))
    )
    measured = base.mark_point(filled=True, size=45, opacity=1).encode(
        y="measured:Q", tooltip=["series:N", "drops:Q", vl.Tooltip("measured:Q", format=".3~g")]
    )
    return [Panel("", vl.layer(exact, measured))]


def _bin_runs(points: pl.DataFrame, drops: str, slot: int) -> pl.DataFrame:
    runs, law = take_runs(points, drops), LAWS[drops]
    measured, _ = np.histogram(runs, EDGES + 0.5)
    sums = np.concatenate(([0.0], law.pmf.cumsum()))[np.minimum(EDGES, len(law.pmf))]
    widths = np.diff(EDGES)
    return pl.DataFrame(
        {
            "series": NAMES[drops],
            "slot": slot,
            "packets": (EDGES[:-1] + EDGES[1:] + 1) / 2,
            "measured": measured / len(runs) / widths,
            "exact": np.diff(sums) / widths,
        }
    )


def _tally(points: pl.DataFrame, drops: str, slot: int) -> pl.DataFrame:
    counts = take_counts(points, drops)
    exact = _pad(LAWS[drops].count_drops(WINDOW), MOST + 1)
    measured = _pad(np.bincount(counts) / len(counts), MOST + 1)
    return pl.DataFrame(
        {
            "series": NAMES[drops],
            "slot": slot,
            "drops": np.arange(MOST + 1),
            "measured": measured,
            "exact": exact,
        }
    )


def _is_excursion(points: pl.DataFrame, drops: str) -> npt.NDArray[np.float64]:
    """Tell for each window whether its drops are half or more off what is expected."""
    counts, expected = take_counts(points, drops), _expect(LAWS[drops])
    return np.asarray(np.abs(counts - expected) >= expected / 2, dtype=float)


def _exact_excursions(drops: str) -> float:
    expected = _expect(LAWS[drops])
    pmf = LAWS[drops].count_drops(WINDOW)
    return float(pmf[np.abs(np.arange(len(pmf)) - expected) >= expected / 2].sum())


def _expect(law: RunLengths) -> float:
    """Give the expected number of drops, to a whole one as the paper has it."""
    return round(WINDOW / law.mean)


def _add_up(probability: float, packets: int) -> float:
    """Give what the law's running sum comes to."""
    total = 0.0
    for _ in range(packets):
        total += probability
    return total


def _pad(values: npt.NDArray[np.float64], length: int) -> npt.NDArray[np.float64]:
    return np.pad(values[:length], (0, max(0, length - len(values))))
