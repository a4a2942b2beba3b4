"""Figure 12 of Nguyen and Armitage: what Half-Life players take from a download."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, make_chart
from headend.study import ClaimResult, ClaimVerdict, decide_over_seeds, join_decisions
from headend.study.airtime import DOCUMENT_TRANSFER, HALF_LIFE_MAPS, describe_half_life

from ..hotspot import (
    ANNOUNCED,
    CAPPED,
    DELAYED,
    NOMINAL,
    RECKONED,
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

#: The figure's players.
MOST = 20


def find_share(game_map: str, players: int) -> float:
    """Give the share of a second that so many players take on a map, as reckoned."""
    return find_busy(describe_half_life(game_map), players)


def check_nominal(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look at what the players' packets come to on each map."""
    tables = list_tables(points)
    values = [read_lost(table, limits["players"], "nominal") for table in tables.values()]
    return judge_range(values, limits, [f"({name})" for name in tables])


def check_reckoned(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look at the reckoned loss on each map."""
    counted = limits["counted_bytes"] / DOCUMENT_TRANSFER.counted_bytes
    values = [
        counted * reckon_lost(find_share(name, limits["players"])) / 1e6 for name in HALF_LIFE_MAPS
    ]
    return judge_range(values, limits, [f"({name})" for name in HALF_LIFE_MAPS])


def check_simulated(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look at the simulated loss on each map, and at what RTS before every frame makes of it."""
    decisions, texts = [], []
    for name in list_tables(points):
        lost = list_lost(points, limits["players"], game=name)
        if lost:
            decisions.append(decide_over_seeds(lost, low=limits["least"]))
            texts.append(f"{decisions[-1].mean:.2f} Mb/s ({name})")
    if not decisions:
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    announced = list_lost(points, limits["players"], game="announced")
    why = ""
    if announced:
        value = sum(announced) / len(announced)
        why = (
            f"{describe_price(describe_half_life('childm'))}. With RTS before every frame and 42 B"
            f" around each packet, as in the calculation, it is {value:.2f} Mb/s (childm)"
        )
    if delayed := list_lost(points, limits["players"], game="delayed"):
        value = sum(delayed) / len(delayed)
        why += f"; and with an acknowledgement for every second segment {value:.2f} Mb/s"
    return join_decisions(decisions, ", ".join(texts), why)


def check_order(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """See whether maps with longer packets cost more, simulated."""
    names = list(list_tables(points))
    if len(names) < len(HALF_LIFE_MAPS):
        return ClaimResult("one map only", ClaimVerdict.UNTESTABLE)
    lost = [list_lost(points, limits["players"], game=name) for name in names]
    falls = [
        decide_over_seeds([a - b for a, b in zip(longer, shorter, strict=True)], low=0.0)
        for longer, shorter in pairwise(lost)
    ]
    means = [
        f"{sum(seeds) / len(seeds):.3f} ({name})" for seeds, name in zip(lost, names, strict=True)
    ]
    return join_decisions(falls, ", ".join(means) + " Mb/s")


def check_bound(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the simulated loss against the reckoned on every map and number of players."""
    found = {
        name: compare_bound(points, partial(find_share, name), game=name)
        for name in list_tables(points)
    }
    decisions = [one for decisions in found.values() for one in decisions.values()]
    if not decisions:
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    text = "; ".join(f"{name} {describe_bound(one)}" for name, one in found.items() if one)
    announced = compare_bound(points, partial(find_share, "childm"), game="announced")
    why = ""
    if announced:
        why = (
            f"{describe_price(describe_half_life('childm'))}. With RTS before every frame and 42 B"
            f" around each packet, as in the calculation, it is on childm"
            f" {describe_bound(announced)}"
        )
    if delayed := compare_bound(points, partial(find_share, "childm"), game="delayed"):
        why += f"; and with an acknowledgement for every second segment {describe_bound(delayed)}"
    return join_decisions(decisions, text, why)


def list_tables(points: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Give what was lost by map, those with the longest packets first."""
    played = set(points["game"])
    return {name: tabulate_lost(points, game=name) for name in HALF_LIFE_MAPS if name in played}


def draw_figure(points: pl.DataFrame) -> list[Panel]:
    """Draw the document's Figure 12, a panel for the longest packets and one for all maps."""
    numbers = range(1, MOST + 1)
    tables = list_tables(points)
    longest = describe_half_life("childm")
    shares = [(n, find_share("childm", n)) for n in numbers]
    curves = {
        RECKONED: [(n, reckon_lost(share) / 1e6) for n, share in shares],
        CAPPED: [(n, reckon_lost(share, capped=True) / 1e6) for n, share in shares],
        NOMINAL: [(n, n * longest.nominal_bps / 1e6) for n in numbers],
    }
    measured = {
        SIMULATED: tables["childm"],
        ANNOUNCED: tabulate_lost(points, game="announced"),
        DELAYED: tabulate_lost(points, game="delayed"),
    }
    measured = {name: table for name, table in measured.items() if table.height}
    first = draw_lost(curves, measured, most_mbps=4.5, published=(MOST, 2.0, 2.5))
    return [
        Panel("ChilDM", first.chart, "lost-childm"),
        Panel("All maps", _draw_maps(tables), "maps"),
    ]


def _draw_maps(tables: dict[str, pl.DataFrame]) -> vl.Chart:
    """Draw the simulated (points) and reckoned (lines) loss on each map."""
    dots, lines = [], []
    for name, table in tables.items():
        for row in table.iter_rows(named=True):
            players = row["players"]
            reckoned = reckon_lost(find_share(name, players))
            dots.append({"map": name, "players": players, "mbps": row["lost"] / 1e6})
            lines.append({"map": name, "players": players, "mbps": reckoned / 1e6})
    names = list(tables)
    x = vl.X("players:Q", title="players")
    y = vl.Y("mbps:Q", title="lost by the download, Mbit/s")
    tone = vl.Color("map:N", scale=vl.Scale(domain=names, range=list(PALETTE[: len(names)])))
    return vl.layer(
        make_chart(pl.DataFrame(lines)).mark_line(strokeDash=[5, 4]).encode(x=x, y=y, color=tone),
        make_chart(pl.DataFrame(dots))
        .mark_point(filled=True, size=40)
        .encode(x=x, y=y, color=tone),
    )
