"""Saturation throughput of an 802.11b cell beside Bianchi's model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, make_chart
from headend.study import ClaimResult, ClaimVerdict, decide
from headend.study.airtime import CELL

from ..dcf import find_saturation_bps

PACKET_BYTES = 1500

RULES = {
    "bianchi": "DIFS after collisions, no limit of tries",
    "announced": "the same, RTS before every frame",
    "standard": "the standard's EIFS and seven tries",
}


def predict(rules: str, stations: int) -> float:
    """Give the model's throughput, bit/s."""
    airtime = replace(CELL, is_announced=rules == "announced")
    is_standard = rules == "standard"
    return find_saturation_bps(stations, PACKET_BYTES, airtime, is_standard=is_standard)


def tabulate(points: pl.DataFrame, rules: str) -> pl.DataFrame:
    """Give simulated and predicted throughput by the number of stations, Mb/s."""
    rows = (
        points.filter(rules=rules)
        .group_by("stations", maintain_order=True)
        .agg(pl.col("throughput").mean() / 1e6)
    )
    rows = rows.sort("stations")
    model = [predict(rules, stations) / 1e6 for stations in rows["stations"]]
    return rows.with_columns(model=pl.Series(model, dtype=pl.Float64)).with_columns(
        ratio=pl.col("throughput") / pl.col("model")
    )


def check_model(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the simulated throughput against the model's."""
    rows = tabulate(points, limits["rules"])
    if rows.is_empty():
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    text = ", ".join(f"{row['ratio']:.3f} ({row['stations']})" for row in rows.to_dicts())
    agrees = bool(((rows["ratio"] - 1).abs() <= limits["within"]).all())
    return ClaimResult(f"of the model's, by stations: {text}", decide(agrees))


def check_crowd(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare what a crowd loses with and without RTS."""
    kept = {}
    for rules in ("bianchi", "announced"):
        rates = dict(tabulate(points, rules).select("stations", "throughput").iter_rows())
        if not {limits["few"], limits["many"]} <= rates.keys():
            return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
        kept[rules] = rates[limits["many"]] / rates[limits["few"]]
    text = f"{kept['bianchi']:.0%} with basic access, {kept['announced']:.0%} with RTS"
    return ClaimResult(text, decide(kept["bianchi"] < kept["announced"]))


def draw_saturation(points: pl.DataFrame) -> list[Panel]:
    """Draw simulated (points) and predicted (lines) throughput over the stations."""
    numbers = (1, 2, 3, 4, 5, 7, 10, 14, 20, 30, 40, 50)
    lines = pl.DataFrame(
        [
            {"stations": n, "mbps": predict(rules, n) / 1e6, "rules": words}
            for rules, words in RULES.items()
            for n in numbers
        ]
    )
    dots = pl.concat(
        [
            tabulate(points, rules).select("stations", mbps="throughput", rules=pl.lit(words))
            for rules, words in RULES.items()
        ]
    )
    x = vl.X(
        "stations:Q",
        title="stations",
        scale=vl.Scale(type="log", domain=[1, 50], nice=False),
        axis=vl.Axis(values=[1, 2, 5, 10, 20, 50]),
    )
    y = vl.Y("mbps:Q", title="IP throughput of all, Mbit/s", scale=vl.Scale(domain=[4, 7]))
    tone = vl.Color(
        "rules:N",
        scale=vl.Scale(domain=list(RULES.values()), range=list(PALETTE[:3])),
        legend=vl.Legend(title=None, columns=1, symbolType="stroke"),
    )
    return [
        Panel(
            "",
            vl.layer(
                make_chart(lines).mark_line(strokeWidth=1.5).encode(x=x, y=y, color=tone),
                make_chart(dots).mark_point(filled=True, size=55).encode(x=x, y=y, color=tone),
            ),
        )
    ]
