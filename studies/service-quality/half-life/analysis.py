"""Figure 12 of Nguyen and Armitage: what players of Half-Life take from a download, reckoned and simulated."""

from __future__ import annotations

from functools import partial
from typing import Any

import altair as alt
import polars as pl

from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, AnyChart, make_chart
from headend.study.airtime import HALF_LIFE_MAPS, describe_half_life
from headend.study.claims import Finding, Verdict, decide
from headend.study.hotspot import (
    ANNOUNCED,
    CAPPED,
    NOMINAL,
    RECKONED,
    SIMULATED,
    draw_lost,
    find_busy,
    find_overfull,
    judge_bound,
    judge_range,
    read_lost,
    reckon_lost,
    tabulate_lost,
)

#: The figure's players.
MOST = 20


def find_share(game_map: str, players: int) -> float:
    """Give the share of a second that so many players take on a map, as reckoned."""
    return find_busy(describe_half_life(game_map), players)


def check_nominal(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Look at what the players' packets come to on each map."""
    tables = list_tables(points)
    values = [read_lost(table, limits["players"], "nominal") for table in tables.values()]
    return judge_range(values, limits, [f"({name})" for name in tables])


def check_reckoned(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Look at the reckoned loss on each map; where `any` map is enough, at the largest."""
    players = limits["players"]
    values: list[float | None] = [
        reckon_lost(find_share(name, players)) / 1e6 for name in HALF_LIFE_MAPS
    ]
    names = [f"({name})" for name in HALF_LIFE_MAPS]
    if limits.get("any"):
        values, names = values[:1], names[:1]
    return judge_range(values, limits, names)


def check_overfull(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """See whether the players the figure is about fit into a second."""
    texts, agrees = [], True
    for name in HALF_LIFE_MAPS:
        number = find_overfull(partial(find_share, name), limits["players"])
        texts.append(f"{'all fit' if number is None else f'{number} do not'} ({name})")
        agrees &= number is None
    return Finding(", ".join(texts), decide(agrees), why="" if agrees else limits["why"])


def check_simulated(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Look at the simulated loss on each map; where `any` map is enough, at the largest."""
    tables = list_tables(points)
    found = [(read_lost(table, limits["players"]), f"({name})") for name, table in tables.items()]
    if limits.get("any"):
        found = sorted(found, key=lambda pair: pair[0] or 0.0)[-1:]
    values, names = zip(*found, strict=True)
    return judge_range(values, limits, names)


def check_announced(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Look at the simulated loss with frames as the reckoning has them."""
    return judge_range(
        [read_lost(tabulate_lost(points, game="announced"), limits["players"])], limits
    )


def check_order(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """See whether maps with longer packets cost more, simulated."""
    tables = list_tables(points)
    if len(tables) < len(HALF_LIFE_MAPS):
        return Finding("one map only", Verdict.UNTESTABLE)
    lost = [read_lost(table, limits["players"]) or 0.0 for table in tables.values()]
    text = ", ".join(f"{value:.3f} ({name})" for value, name in zip(lost, tables, strict=True))
    return Finding(f"{text} Mb/s", decide(lost == sorted(lost, reverse=True)))


def check_bound(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Hold the simulated loss against the reckoned one on every map and at every number of players."""
    findings = {
        name: judge_bound(table, partial(find_share, name), limits)
        for name, table in list_tables(points).items()
    }
    text = "; ".join(f"{name} {finding.measured}" for name, finding in findings.items())
    agrees = all(finding.verdict is Verdict.REPRODUCED for finding in findings.values())
    return Finding(text, decide(agrees), why="" if agrees else limits["why"])


def list_tables(points: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Give what was lost by map, those with the longest packets first."""
    played = set(points["game"])
    return {name: tabulate_lost(points, game=name) for name in HALF_LIFE_MAPS if name in played}


def draw_figure(points: pl.DataFrame) -> list[Panel]:
    """Draw the document's Figure 12, a panel for the map with the longest packets and one for what the maps differ in."""
    numbers = range(1, MOST + 1)
    tables = list_tables(points)
    longest = describe_half_life("childm")
    shares = [(n, find_share("childm", n)) for n in numbers]
    curves = {
        RECKONED: [(n, reckon_lost(share) / 1e6) for n, share in shares],
        CAPPED: [(n, reckon_lost(share, capped=True) / 1e6) for n, share in shares],
        NOMINAL: [(n, n * longest.nominal_bps / 1e6) for n in numbers],
    }
    measured = {SIMULATED: tables["childm"], ANNOUNCED: tabulate_lost(points, game="announced")}
    measured = {name: table for name, table in measured.items() if table.height}
    first = draw_lost(curves, measured, most_mbps=4.5, published=(MOST, 2.0, 2.5))
    return [
        Panel("ChilDM", first.chart, "lost-childm"),
        Panel("All maps", _draw_maps(tables), "maps"),
    ]


def _draw_maps(tables: dict[str, pl.DataFrame]) -> AnyChart:
    """Draw the simulated (points) and reckoned (lines) loss on each map."""
    dots, lines = [], []
    for name, table in tables.items():
        for row in table.iter_rows(named=True):
            players = row["players"]
            reckoned = reckon_lost(find_share(name, players))
            dots.append({"map": name, "players": players, "mbps": row["lost"] / 1e6})
            lines.append({"map": name, "players": players, "mbps": reckoned / 1e6})
    names = list(tables)
    x = alt.X("players:Q", title="players")
    y = alt.Y("mbps:Q", title="lost by the download, Mbit/s")
    tone = alt.Color("map:N", scale=alt.Scale(domain=names, range=list(PALETTE[: len(names)])))
    drawn: AnyChart = alt.layer(
        make_chart(pl.DataFrame(lines)).mark_line(strokeDash=[5, 4]).encode(x=x, y=y, color=tone),
        make_chart(pl.DataFrame(dots))
        .mark_point(filled=True, size=40)
        .encode(x=x, y=y, color=tone),
    )
    return drawn
