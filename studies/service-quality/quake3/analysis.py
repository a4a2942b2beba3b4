"""Figure 11 of Nguyen and Armitage: what players of Quake III take from a download, reckoned and simulated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headend.figures.figure import Panel
from headend.study import Decision, Finding, Verdict, decide_over_seeds
from headend.study.airtime import describe_quake3
from headend.study.hotspot import (
    ANNOUNCED,
    CAPPED,
    CORRECTED,
    NOMINAL,
    PRINTED,
    SIMULATED,
    FindShare,
    draw_lost,
    find_busy,
    judge_range,
    read_lost,
    reckon_lost,
    tabulate_lost,
)

if TYPE_CHECKING:
    import polars as pl

#: What N players take of a second by Table 3 as printed: (189 N + 119 628.6) N µs.
PRINTED_SQUARE, PRINTED_LINEAR = 189.0, 119_628.6


def find_printed_busy(players: int) -> float:
    """Give the share of a second that so many players take by the printed sum, whose exchange of the client is 180 µs short."""
    return (PRINTED_SQUARE * players + PRINTED_LINEAR) * players / 1e6


def find_corrected_busy(players: int) -> float:
    """Give the same by the document's constants."""
    return find_busy(describe_quake3(players), players)


def list_lost(points: pl.DataFrame, frames: str, players: int) -> list[float]:
    """Give what the download lost to so many players in Mb/s, a seed after the other."""
    rows = points.filter(frames=frames)
    alone = rows.filter(players=0).select("seed", alone="goodput")
    lost = rows.filter(players=players).join(alone, on="seed").sort("seed")
    return ((lost["alone"] - lost["goodput"]) / 1e6).to_list()


def check_nominal(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Look at what the players' packets come to."""
    rows = tabulate_lost(points, frames=limits["frames"])
    value = read_lost(rows, limits["players"], "nominal")
    return judge_range([value], limits)


def check_reckoned(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Look at the reckoned loss."""
    share = find_printed_busy(limits["players"])
    return judge_range([reckon_lost(share) / 1e6], limits)


def check_simulated(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Look at the simulated loss."""
    lost = list_lost(points, limits["frames"], limits["players"])
    if not lost:
        return Finding("no such run", Verdict.UNTESTABLE)
    found = decide_over_seeds(lost, limits["least"], limits["most"])
    return found.tell(f"{found.mean:.2f} Mb/s")


def compare(points: pl.DataFrame, frames: str, find_share: FindShare) -> dict[int, Decision]:
    """Say of every number of players that fits into a second whether they took at least what is reckoned: by how many Mb/s more."""
    found = {}
    for players in sorted(set(points["players"]) - {0}):
        lost, share = list_lost(points, frames, players), find_share(players)
        if lost and share <= 1:
            reckoned = reckon_lost(share) / 1e6
            found[players] = decide_over_seeds([value - reckoned for value in lost], low=0.0)
    return found


def tell_bound(found: dict[int, Decision]) -> str:
    """Put a comparison into words."""
    agreeing = sum(one.verdict is Verdict.REPRODUCED for one in found.values())
    players = min(found, key=lambda number: found[number].mean)
    return (
        f"a bound for {agreeing} of {len(found)} numbers of players, least"
        f" {found[players].mean:+.2f} Mb/s with {players}"
    )


def join(decisions: Sequence[Decision]) -> Verdict:
    """Give the verdict on several numbers, all of which have to agree."""
    verdicts = [decision.verdict for decision in decisions]
    order = (Verdict.DIFFERS, Verdict.UNDECIDED)
    return next((one for one in order if one in verdicts), Verdict.REPRODUCED)


def check_bound(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Hold the simulated loss against the reckoned one at every number of players."""
    plain = compare(points, "plain", find_corrected_busy)
    if not plain:
        return Finding("no such run", Verdict.UNTESTABLE)
    printed = compare(points, "plain", find_printed_busy)
    announced = compare(points, "announced", find_corrected_busy)
    text = f"{tell_bound(plain)} (as printed {tell_bound(printed)})"
    verdict = join(list(plain.values()))
    why = ""
    if verdict is not Verdict.REPRODUCED and announced:
        why = (
            "without an RTS before it a player's packet costs 0.88 ms and not 1.21, of a cell that carries more. With RTS before"
            f" every frame and 42 B around each packet, as in the calculation, it is {tell_bound(announced)}"
        )
    return Finding(text, verdict, why=why)


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
    measured = {SIMULATED: rows, ANNOUNCED: tabulate_lost(points, frames="announced")}
    measured = {name: table for name, table in measured.items() if table.height}
    return [draw_lost(curves, measured, most_mbps=5.5, published=(10, 3.5, 4.5))]
