"""Players and a download in one 802.11b cell: what they take, reckoned and simulated.

Nguyen and Armitage (2004, §IV) take the time that the players' packets need on the air for time
that a download loses. That curve is here as it is printed, with its sums corrected, and capped at
what there is to lose; beside it what a download lost in the simulated cell, where everybody backs
off and frames collide. A study of such runs has a row for each number of players, 0 among them,
with `goodput` (of the download) and `nominal` (IP bit/s of the players' packets, both ways).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, make_chart
from headend.study import ClaimResult, ClaimVerdict, Decision, decide, decide_over_seeds
from headend.study.airtime import CELL, DOCUMENT, DOCUMENT_TRANSFER, SECOND_US, Game

#: What the curves are called, and their places in the palette.
PRINTED, CORRECTED, RECKONED, CAPPED, SIMULATED, ANNOUNCED, DELAYED, NOMINAL = (
    "reckoned, as printed",
    "reckoned, sums corrected",
    "reckoned",
    "and capped",
    "simulated",
    "simulated, RTS before every frame",
    "simulated, RTS, one ACK for two segments",
    "what the players send",
)
TONES = {
    PRINTED: PALETTE[4],
    CORRECTED: PALETTE[1],
    RECKONED: PALETTE[1],
    CAPPED: PALETTE[3],
    SIMULATED: PALETTE[0],
    ANNOUNCED: PALETTE[5],
    DELAYED: PALETTE[6],
    NOMINAL: PALETTE[2],
}

#: The share of a second that so many players take, as reckoned.
FindShare = Callable[[int], float]


def find_busy(game: Game, players: int) -> float:
    """Give the share of a second that players take, as the document assumes; above 1: too many."""
    return players * game.busy_us(DOCUMENT) / SECOND_US


def find_carried_bps() -> float:
    """Give the most that a download has by the document's assumptions, bit/s."""
    return DOCUMENT_TRANSFER.find_rate_bps(DOCUMENT)


def reckon_lost(share: float, *, capped: bool = False) -> float:
    """Give the throughput in bit/s that a download loses to those who take so much of the time."""
    return find_carried_bps() * (min(share, 1.0) if capped else share)


def tabulate_lost(points: pl.DataFrame, **place: Any) -> pl.DataFrame:
    """Give what a download lost at each number of players of the runs at a place of the grid.

    Returns
    -------
    polars.DataFrame
        ``players``, ``lost`` and ``nominal`` as means over the seeds, and ``low`` and ``high``, the
        smallest and the largest loss of a seed; bit/s. A loss is the difference to the same seed's
        run without players.
    """
    rows = points.filter(**place) if place else points
    alone = rows.filter(players=0).select("seed", alone="goodput")
    lost = rows.filter(pl.col("players") > 0).join(alone, on="seed")
    return (
        lost.with_columns(lost=pl.col("alone") - pl.col("goodput"))
        .group_by("players", maintain_order=True)
        .agg(
            pl.col("nominal").mean(),
            low=pl.col("lost").min(),
            high=pl.col("lost").max(),
            lost=pl.col("lost").mean(),
        )
        .sort("players")
    )


def read_lost(rows: pl.DataFrame, players: int, column: str = "lost") -> float | None:
    """Give one number of a table in Mb/s, if that many players were run."""
    chosen = rows.filter(players=players)
    return float(chosen[column][0]) / 1e6 if chosen.height else None


def judge_range(
    values: Sequence[float | None], limits: dict[str, Any], names: Sequence[str] = ("",)
) -> ClaimResult:
    """See whether values in Mb/s lie between `least` and `most` of the limits."""
    known = [(value, name) for value, name in zip(values, names, strict=True) if value is not None]
    if not known:
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    agrees = all(limits.get("least", 0.0) <= value <= limits["most"] for value, _ in known)
    text = ", ".join(f"{value:.2f} Mb/s {name}".strip() for value, name in known)
    return ClaimResult(text, decide(agrees), why="" if agrees else limits.get("why", ""))


def list_lost(points: pl.DataFrame, players: int, **place: Any) -> list[float]:
    """Give what a download lost to players in Mb/s by seed, at a place of the grid."""
    rows = points.filter(**place)
    alone = rows.filter(players=0).select("seed", alone="goodput")
    lost = rows.filter(players=players).join(alone, on="seed").sort("seed")
    return ((lost["alone"] - lost["goodput"]) / 1e6).to_list()


def compare_bound(points: pl.DataFrame, find_share: FindShare, **place: Any) -> dict[int, Decision]:
    """Decide for each fitting number of players if they took what is reckoned, and the excess."""
    found = {}
    for players in sorted(set(points["players"]) - {0}):
        lost, share = list_lost(points, players, **place), find_share(players)
        if lost and share <= 1:
            reckoned = reckon_lost(share) / 1e6
            found[players] = decide_over_seeds([value - reckoned for value in lost], low=0.0)
    return found


def describe_bound(found: dict[int, Decision]) -> str:
    """Put a comparison with a bound into words."""
    agreeing = sum(one.verdict is ClaimVerdict.REPRODUCED for one in found.values())
    players = min(found, key=lambda number: found[number].mean)
    return (
        f"a bound for {agreeing} of {len(found)} numbers of players, least"
        f" {found[players].mean:+.2f} Mb/s with {players}"
    )


def describe_price(game: Game) -> str:
    """Say what a client's packet costs without an RTS, as in the cell, and with it."""
    plain, announced = (air.exchange_us(game.client.packet_bytes) / 1e3 for air in (CELL, DOCUMENT))
    return (
        f"without an RTS before it a player's packet costs {plain:.2f} ms and not {announced:.2f}"
    )


def draw_lost(
    curves: dict[str, list[tuple[int, float]]],
    measured: dict[str, pl.DataFrame],
    *,
    most_mbps: float,
    published: tuple[int, float, float] | None = None,
) -> Panel:
    """Draw reckoned curves, and what was lost in the simulated cell with the range over its seeds.

    Parameters
    ----------
    curves
        Players and Mb/s by name, one of this module's.
    measured
        What `tabulate_lost` gave, by name.
    published
        Players, and the least and the most of what the text reads off its figure, Mb/s.
    """
    lines = pl.DataFrame(
        [
            {"players": players, "mbps": mbps, "what": name}
            for name, curve in curves.items()
            for players, mbps in curve
        ]
    )
    dots = pl.concat(
        [
            table.with_columns(
                mbps=pl.col("lost") / 1e6,
                low=pl.col("low") / 1e6,
                high=pl.col("high") / 1e6,
                what=pl.lit(name),
            )
            for name, table in measured.items()
        ]
    )
    names = [name for name in TONES if name in curves or name in measured]
    tone = vl.Color(
        "what:N",
        scale=vl.Scale(domain=names, range=[TONES[name] for name in names]),
        legend=vl.Legend(title=None, columns=2, symbolType="stroke"),
    )
    x = vl.X("players:Q", title="players", axis=vl.Axis(tickMinStep=1))
    y = vl.Y(
        "mbps:Q",
        title="Mbit/s",
        scale=vl.Scale(domain=[0, most_mbps], nice=False),
    )
    layers = [
        make_chart(lines).mark_line(strokeWidth=2, clip=True).encode(x=x, y=y, color=tone),
        make_chart(dots).mark_line(strokeWidth=1.5, opacity=0.5).encode(x=x, y=y, color=tone),
        make_chart(dots).mark_rule(strokeWidth=1.5).encode(x=x, y="low:Q", y2="high:Q", color=tone),
        make_chart(dots).mark_point(filled=True, size=45).encode(x=x, y=y, color=tone),
    ]
    if published:
        players, least, most = published
        band = pl.DataFrame({"players": [players], "low": [least], "high": [most]})
        layers.append(
            make_chart(band)
            .mark_rule(strokeWidth=7, opacity=0.35, color="#8C8C8C")
            .encode(x="players:Q", y="low:Q", y2="high:Q")
        )
    return Panel("", vl.layer(*layers))
