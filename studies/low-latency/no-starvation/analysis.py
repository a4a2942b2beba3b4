"""What a classic flow keeps of a modem's rate beside a low-latency flow that always has packets."""

from __future__ import annotations

from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, make_chart
from headend.study import ClaimResult

from ..seeds import WAYS, average, compare, hold, take

#: The classic flow's part at the default weight.
REST = 26 / 256

#: What a figure calls the cases.
CASES = {
    "both-26": "both floods, weight 26",
    "both-128": "both floods, weight 128",
    "both-230": "both floods, weight 230",
    "flood": "CUBIC beside a flood",
    "flood-protected": "the same, queue protection",
    "flood-off": "the same, low latency off",
    "prague": "CUBIC beside one Prague, backlog",
    "prague-uncoupled": "CUBIC beside one Prague, backlog, no coupling",
    "virtual": "CUBIC beside one Prague, virtual queue",
    "virtual-uncoupled": "CUBIC beside one Prague, virtual queue, no coupling",
    "ten-prague": "CUBIC beside ten Prague, backlog",
    "ten-prague-uncoupled": "CUBIC beside ten Prague, backlog, no coupling",
    "ten-virtual": "CUBIC beside ten Prague, virtual queue",
    "ten-virtual-uncoupled": "CUBIC beside ten Prague, virtual queue, no coupling",
}


def measure(points: pl.DataFrame) -> pl.DataFrame:
    """Give a row for each run: classic and low-latency shares in what all flows get."""
    every = pl.sum_horizontal("low", "classic", "prague", "cubic")
    classic = pl.sum_horizontal("classic", "cubic")
    return points.select("way", "case", "seed", kept=classic / every, low=1 - classic / every)


def check_weight(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the share of the low-latency flow over the weight's part against one."""
    rows = measure(points)
    found = {
        f"weight {weight}, {name}": [
            share / (weight / 256) for share in take(rows, "low", way=way, case=f"both-{weight}")
        ]
        for weight in limits["weights"]
        for way, name in WAYS.items()
    }
    within = limits["within"]
    return hold(found, 1 - within, 1 + within, digits=4)


def check_share(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the share of classic traffic in some cases."""
    rows = measure(points)
    found = {
        f"{CASES[case]}, {name}": [100 * share for share in take(rows, "kept", way=way, case=case)]
        for case in limits["cases"]
        for way, name in WAYS.items()
    }
    low, high = 100 * limits["low"], 100 * limits.get("high", 1.0)
    return hold(found, low, high, digits=1, unit=" %")


def contrast(points: pl.DataFrame, one: str, other: str) -> dict[str, list[float]]:
    """Give one case's classic share over another's in each direction, a value per seed."""
    rows = measure(points)
    return {
        name: compare(
            take(rows, "kept", way=way, case=one), take(rows, "kept", way=way, case=other)
        )
        for way, name in WAYS.items()
    }


def check_protected(points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Hold CUBIC's share with queue protection over that without."""
    rows = measure(points)
    kept = {
        name: f"{100 * average(shares):.1f} % {name}"
        for way, name in WAYS.items()
        if (shares := take(rows, "kept", way=way, case="flood-protected"))
    }
    why = (
        f"CUBIC keeps {' and '.join(kept.values())}: what is redirected of the flood is classic"
        " traffic, in one queue with CUBIC, and does not answer to its drops"
    )
    return hold(contrast(points, "flood-protected", "flood"), 1.0, why=why)


def check_off(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold CUBIC's share with protection less that without low latency, in per cent."""
    rows = measure(points)
    found = {}
    for way, name in WAYS.items():
        shares = [
            take(rows, "kept", way=way, case=f"flood-{case}") for case in ("protected", "off")
        ]
        found[name] = [100 * (mine - its) for mine, its in zip(*shares, strict=False)]
    return hold(found, limits["low"], unit=" %")


def check_coupling(points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Hold CUBIC's share beside one Prague with coupling over that without."""
    return hold(contrast(points, "virtual", "virtual-uncoupled"), 1.0)


def draw_shares(points: pl.DataFrame) -> list[Panel]:
    """Draw the share of classic traffic in each case and direction."""
    means = measure(points).group_by("case", "way", maintain_order=True).agg(pl.col("kept").mean())
    table = means.with_columns(
        case=pl.col("case").replace_strict(CASES), way=pl.col("way").replace_strict(WAYS)
    )
    ways = list(WAYS.values())
    x = vl.X("kept:Q", title="share of classic traffic", axis=vl.Axis(format="~%"))
    dots = (
        make_chart(table)
        .mark_point(filled=True, size=80)
        .encode(
            x=x,
            y=vl.Y("case:N", title=None, sort=list(CASES.values()), axis=vl.Axis(labelLimit=320)),
            color=vl.Color(
                "way:N", title=None, scale=vl.Scale(domain=ways, range=list(PALETTE[:2]))
            ),
            shape=vl.Shape("way:N", title=None, scale=vl.Scale(domain=ways)),
        )
    )
    rule = make_chart(pl.DataFrame({"kept": [REST]})).mark_rule().encode(x=x)
    return [Panel("", vl.layer(rule, dots))]
