"""Whom queue protection sanctions, and how long the low-latency queue becomes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import make_chart
from headend.study import ClaimResult, ClaimVerdict, decide, decide_over_seeds, join_decisions

from ..dots import draw_dots
from ..seeds import WAYS, average, hold, take

#: Rate of the aggregate, bit/s, and bytes of a packet of 1500 B with Ethernet's and the MAC header.
RATE, PACKET = 50e6, 1528

#: The end of the ramp at this rate, in ms (Annex N).
END = 1.164288

#: What a figure calls the cases.
CASES = {
    "flood": "flood",
    "default": "flood, default estimate",
    "unprotected": "flood, no protection",
    "2019": "flood, values of 2019",
    "unlabelled": "flood without ECT(1)",
    "33-slow": "33 floods of 1.8 Mbit/s",
    "33-fast": "33 floods of 10 Mbit/s",
    "33-fast-large": "the same, game of 1500 B",
    "steady": "steady 30 Mbit/s",
    "steady-backlog": "the same, backlog",
    "prague": "Prague",
    "prague-and-flood": "Prague and flood",
}

#: What a figure calls the flows.
FLOWS = {"flood": "flood or steady flow", "game": "game", "prague": "Prague"}


def measure(points: pl.DataFrame) -> pl.DataFrame:
    """Give a row for each run: its direction's queue, and each flow's share of sanctions."""
    own = {
        name: pl.when(pl.col("way") == "up").then(f"up_{name}").otherwise(f"down_{name}")
        for name in ("backlog", "lost")
    }
    shares = {
        f"{flow}_ratio": pl.when(pl.col(f"{flow}_sent") > 0)
        .then(pl.col(f"{flow}_sanctioned") / pl.col(f"{flow}_sent"))
        .otherwise(0.0)
        for flow in FLOWS
    }
    return points.select(
        "way",
        "case",
        "seed",
        "flood_sanctioned",
        "flood_reordered",
        "game_sanctioned",
        "game_reordered",
        backlog=own["backlog"],
        lost=own["lost"],
        delay=own["backlog"] * 8e3 / RATE,
        game_harmed=pl.col("game_sanctioned") + pl.col("game_lost"),
        game_delay=pl.col("game_delay") / 1e6,
        **shares,
    )


def choose(points: pl.DataFrame, column: str, cases: list[str]) -> dict[str, list[float]]:
    """Give a column of some cases in both directions, a value for each seed."""
    rows = measure(points)
    return {
        f"{CASES[case]}, {name}": take(rows, column, way=way, case=case)
        for case in cases
        for way, name in WAYS.items()
    }


def check_count(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold a number of packets in some cases: with every seed, not in the mean."""
    low, high = limits.get("low", 0), limits.get("high", float("inf"))
    found = {
        name: values
        for name, values in choose(points, limits["column"], limits["cases"]).items()
        if values
    }
    if not found:
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    agrees = all(low <= value <= high for values in found.values() for value in values)
    told = ", ".join(
        f"{min(values):,.0f} to {max(values):,.0f} ({name})"
        if min(values) < max(values)
        else f"{values[0]:,.0f} ({name})"
        for name, values in found.items()
    )
    return ClaimResult(told, decide(agrees))


def check_backlog(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the delay of the largest backlog, in ms, against a delay and some packets."""
    high = limits["end_us"] / 1e3 + limits["packets"] * PACKET * 8e3 / RATE
    return hold(choose(points, "delay", limits["cases"]), high=high, unit=" ms")


def check_full(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the largest backlog without queue protection against the limit, and look for drops."""
    full, within = limits["bytes"], limits["within"]
    found = choose(points, "backlog", ["unprotected"])
    lost = choose(points, "lost", ["unprotected"])
    if not all(lost.values()):
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    finding = hold(found, full - within, full + within, digits=0, unit=" B")
    drops = {name: average(values) for name, values in lost.items()}
    told = ", ".join(f"{value:,.0f} dropped ({name})" for name, value in drops.items())
    verdict = finding.verdict if all(drops.values()) else ClaimVerdict.DIFFERS
    return ClaimResult(f"{finding.measured}; {told}", verdict)


def contrast(points: pl.DataFrame, one: str, other: str) -> dict[str, list[float]]:
    """Give the difference of the game's delays in two cases by direction, in ms, per seed."""
    rows = measure(points)
    return {
        name: [
            first - second
            for first, second in zip(
                take(rows, "game_delay", way=way, case=one),
                take(rows, "game_delay", way=way, case=other),
                strict=False,
            )
        ]
        for way, name in WAYS.items()
    }


def check_worth(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold by how much the game's delay is longer without queue protection, in ms."""
    rows = measure(points)
    waits = {
        case: average(values)
        for case in ("unlabelled", "unprotected")
        if (values := take(rows, "game_delay", way="up", case=case))
    }
    why = (
        "upstream, the game waits for a request and a grant in any case, and the full queue"
        " hides most of that wait: "
    ) + ", ".join(f"{value:.1f} ms ({CASES[case]})" for case, value in waits.items())
    return hold(contrast(points, "unprotected", "flood"), limits["low_ms"], unit=" ms", why=why)


def check_label(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold by how much the game's delay is longer beside the flood with ECT(1), in ms."""
    return hold(contrast(points, "flood", "unlabelled"), high=limits["high_ms"], unit=" ms")


def check_default(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold how much longer the game's delay up is beside the default-estimate flood, in ms."""
    upstream = WAYS["up"]
    found = contrast(points, "default", "flood")
    return hold({upstream: found[upstream]}, high=limits["high_ms"], unit=" ms")


def check_slow(points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Look for sanctioned packets of the game beside 33 slow floods, and say what the hash does."""
    limits = {"column": "game_sanctioned", "cases": ["33-slow"], "high": 0}
    shares = choose(points, "game_ratio", ["33-slow"])
    most = max((max(values) for values in shares.values() if values), default=0.0)
    finding = check_count(points, limits)
    why = (
        "a flood's score is 3.1 ms after a packet, and the next packet comes after 6.6 ms: its"
        " bucket is taken about half of the time. Where both of the game's buckets are taken, its"
        " packet counts in the default one, with what floods left there. It depends on the hash:"
        f" {most:.0%} of the game's packets at most"
    )
    return replace(finding, why=why) if finding.verdict is ClaimVerdict.DIFFERS else finding


def check_collisions(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold that more than a share of game packets is sanctioned with some seeds, not all."""
    runs = [
        value
        for values in choose(points, "game_ratio", [limits["case"]]).values()
        for value in values
    ]
    if not runs:
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    hit = [value for value in runs if value > limits["share"]]
    told = f"in {len(hit)} of {len(runs)} runs"
    if hit:
        told += f", {min(hit):.0%} to {max(hit):.0%} of its packets"
    if 0 < len(hit) < len(runs):
        return ClaimResult(told, ClaimVerdict.REPRODUCED)
    most = max(
        max(values) for values in choose(points, "delay", [limits["case"]]).values() if values
    )
    why = (
        "the delay that is judged has the packet itself in it. Floods of 1500 B, sanctioned, leave"
        f" the queue a packet of theirs below the threshold: at most {most:.2f} ms of {END:.2f} ms."
        " A packet of the game adds 0.04 ms"
    )
    return ClaimResult(told, ClaimVerdict.DIFFERS, why=why)


def check_ratio(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the share of a flow's packets that were sanctioned, in per cent."""
    found = {
        name: [100 * value for value in values]
        for name, values in choose(points, f"{limits['of']}_ratio", limits["cases"]).items()
    }
    return hold(found, high=100 * limits["high"], unit=" %")


def check_steady(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold that more than a share of steady packets is sanctioned up, and less down."""
    bound = 100 * limits["bound"]
    rows = measure(points)
    found = {
        way: [100 * share for share in take(rows, "flood_ratio", way=way, case="steady-backlog")]
        for way in WAYS
    }
    if not all(found.values()):
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    decisions = [
        decide_over_seeds(found["up"], low=bound),
        decide_over_seeds(found["down"], high=bound),
    ]
    told = ", ".join(f"{average(found[way]):.2f} % ({name})" for way, name in WAYS.items())
    return join_decisions(decisions, told)


def check_order(points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Look for packets out of order, of the flood and of the game."""
    flood = check_count(points, {"column": "flood_reordered", "cases": ["flood"], "low": 1})
    game = check_count(points, {"column": "game_reordered", "cases": ["flood"], "high": 0})
    if flood.verdict is ClaimVerdict.UNTESTABLE:
        return flood
    agrees = flood.verdict is game.verdict is ClaimVerdict.REPRODUCED
    return ClaimResult(
        f"of the flood {flood.measured}; of the game {game.measured}", decide(agrees)
    )


def name_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """Give cases and directions the names that figures have for them."""
    return rows.with_columns(
        case=pl.col("case").replace_strict(CASES), way=pl.col("way").replace_strict(WAYS)
    )


def draw_delay(points: pl.DataFrame) -> list[Panel]:
    """Draw the delay of the largest backlog in each case and direction."""
    rows = measure(points).group_by("case", "way", maintain_order=True).agg(pl.col("delay").mean())
    x = vl.X("delay:Q", title="largest backlog over the rate (ms)")
    dots = draw_dots(name_rows(rows), x, "way", list(WAYS.values()), list(CASES.values()))
    rule = make_chart(pl.DataFrame({"delay": [END]})).mark_rule().encode(x=x)
    return [Panel("", vl.layer(rule, dots))]


def draw_sanctions(points: pl.DataFrame) -> list[Panel]:
    """Draw the sanctioned share of each flow, a panel for each direction."""
    shares = [f"{flow}_ratio" for flow in FLOWS]
    rows = measure(points).group_by("case", "way", maintain_order=True).agg(pl.col(*shares).mean())
    long = rows.unpivot(shares, index=["case", "way"], variable_name="flow", value_name="share")
    # Flows that a case does not need begin in the last millisecond.
    has_prague = pl.col("case").str.starts_with("prague")
    is_prague, is_flood = pl.col("flow") == "prague_ratio", pl.col("flow") == "flood_ratio"
    long = long.filter((~is_prague | has_prague) & (~is_flood | (pl.col("case") != "prague")))
    long = long.with_columns(flow=pl.col("flow").str.strip_suffix("_ratio").replace_strict(FLOWS))
    x = vl.X("share:Q", title="share of packets sanctioned", axis=vl.Axis(format="~%"))
    return [
        Panel(name, draw_dots(own, x, "flow", list(FLOWS.values()), list(CASES.values())))
        for (name,), own in name_rows(long).group_by("way", maintain_order=True)
    ]
