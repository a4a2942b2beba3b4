"""Figure 11 of Nguyen and Armitage: what Quake III players take from a download."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headend.figures.figure import Panel
from headend.study import ClaimResult, ClaimVerdict, decide_over_seeds, join_decisions
from headend.study.airtime import describe_quake3

from ..hotspot import (
    ANNOUNCED,
    CAPPED,
    CORRECTED,
    DELAYED,
    NOMINAL,
    PRINTED,
    SIMULATED,
    compare_bound,
    describe_bound,
    describe_price,
    draw_lost,
    find_busy,
    judge_range,
    list_lost,
    read_lost,
    reckon_lost,
    tabulate_lost,
)

if TYPE_CHECKING:
    import polars as pl

#: What N players take of a second by Table 3 as printed: (189 N + 119 628.6) N µs.
PRINTED_SQUARE, PRINTED_LINEAR = 189.0, 119_628.6


def find_printed_busy(players: int) -> float:
    """Give the share of a second that players take by the printed sum, 180 µs short."""
    return (PRINTED_SQUARE * players + PRINTED_LINEAR) * players / 1e6


def find_corrected_busy(players: int) -> float:
    """Give the same by the document's constants."""
    return find_busy(describe_quake3(players), players)


def check_nominal(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look at what the players' packets come to."""
    rows = tabulate_lost(points, frames=limits["frames"])
    value = read_lost(rows, limits["players"], "nominal")
    return judge_range([value], limits)


def check_reckoned(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look at the reckoned loss."""
    share = find_printed_busy(limits["players"])
    return judge_range([reckon_lost(share) / 1e6], limits)


def check_simulated(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look at the simulated loss."""
    lost = list_lost(points, limits["players"], frames=limits["frames"])
    if not lost:
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    found = decide_over_seeds(lost, limits["least"], limits["most"])
    return found.tell(f"{found.mean:.2f} Mb/s")


def check_bound(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the simulated loss against the reckoned one at every number of players."""
    plain = compare_bound(points, find_corrected_busy, frames="plain")
    if not plain:
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    printed = compare_bound(points, find_printed_busy, frames="plain")
    announced = compare_bound(points, find_corrected_busy, frames="announced")
    text = f"{describe_bound(plain)} (as printed {describe_bound(printed)})"
    why = ""
    if announced:
        why = (
            f"{describe_price(describe_quake3(2))}. With RTS before every frame and 42 B around"
            f" each packet, as in the calculation, it is {describe_bound(announced)}"
        )
    if delayed := compare_bound(points, find_corrected_busy, frames="delayed"):
        why += f"; and with an acknowledgement for every second segment {describe_bound(delayed)}"
    return join_decisions(plain.values(), text, why)


def draw_figure(points: pl.DataFrame) -> list[Panel]:
    """Draw the document's Figure 11 with what was simulated."""
    numbers = range(2, 12)
    rows = tabulate_lost(points, frames="plain")
    curves = {
        PRINTED: [(n, reckon_lost(find_printed_busy(n)) / 1e6) for n in numbers],
        CORRECTED: [(n, reckon_lost(find_corrected_busy(n)) / 1e6) for n in numbers],
        CAPPED: [(n, reckon_lost(find_corrected_busy(n), capped=True) / 1e6) for n in numbers],
        NOMINAL: [(n, n * describe_quake3(n).nominal_bps / 1e6) for n in numbers],
    }
    measured = {
        SIMULATED: rows,
        ANNOUNCED: tabulate_lost(points, frames="announced"),
        DELAYED: tabulate_lost(points, frames="delayed"),
    }
    measured = {name: table for name, table in measured.items() if table.height}
    return [draw_lost(curves, measured, most_mbps=5.5, published=(10, 3.5, 4.5))]
