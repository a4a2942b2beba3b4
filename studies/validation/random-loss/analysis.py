"""What BBR and CUBIC keep of a line that loses packets at random."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import fmean
from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, make_chart
from headend.study import ClaimResult, ClaimVerdict, decide_over_seeds, join_decisions

#: The most that the line brings to the application, bit/s: 1448 bytes of each packet of 1500.
LINE = 100e6 * 1448 / 1500


def take(
    points: pl.DataFrame, limits: dict[str, Any], windows: str = "linux"
) -> dict[float, list[float]]:
    """Give a control's share of the most possible, by seed, under a claim's losses."""
    low, high = limits.get("above", -math.inf), limits.get("most", math.inf)
    rows = points.filter(
        pl.col("control") == limits["control"],
        pl.col("windows") == windows,
        pl.col("percent") > low,
        pl.col("percent") <= high,
    ).with_columns(share=pl.col("goodput") / (LINE * (1 - pl.col("percent") / 100)))
    return {
        percent: own.sort("seed")["share"].to_list()
        for (percent,), own in rows.group_by("percent", maintain_order=True)
    }


def check_kept(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold what a control keeps against the least that it should."""
    shares = take(points, limits)
    finding = _tell(shares, low=limits["least"], why=limits.get("why"))
    opened = take(points, limits, "open")
    if not shares or not opened:
        return finding
    means = ", ".join(f"{fmean(own):.1%} ({percent:g} %)" for percent, own in opened.items())
    return replace(finding, measured=f"{finding.measured}; with open windows {means}")


def check_stalled(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold what a control keeps against the most that it should."""
    shares = take(points, {key: limits[key] for key in ("control", "above")})
    return _tell(shares, high=limits["most"])


def check_fall(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold how many times less than the most a control has against the bounds."""
    shares = take(points, {"control": limits["control"]}).get(limits["percent"])
    if shares is None:
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    found = decide_over_seeds([1 / share for share in shares], limits["low"], limits["high"])
    why = (
        "" if found.verdict is ClaimVerdict.REPRODUCED else limits.get("why", "no cause was found")
    )
    return found.tell(f"{found.mean:.1f} times less", why)


def _tell(
    shares: dict[float, list[float]],
    low: float = -math.inf,
    high: float = math.inf,
    why: str | None = None,
) -> ClaimResult:
    """Make one finding of what is kept at several shares of losses; tell each seed's if bad."""
    if not shares:
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    found = {percent: decide_over_seeds(own, low, high) for percent, own in shares.items()}
    text = ", ".join(f"{own.mean:.1%} ({percent:g} %)" for percent, own in found.items())
    finding = join_decisions(found.values(), text)
    if finding.verdict is ClaimVerdict.REPRODUCED:
        return finding
    outside = [
        f"{', '.join(f'{value:.0%}' for value in sorted(shares[percent]))} (at {percent:g} %)"
        for percent, own in found.items()
        if own.verdict is finding.verdict
    ]
    is_off = any(not low <= own.mean <= high for own in found.values())
    cause = f"{why or 'no cause was found'}; " if is_off else ""
    return replace(finding, why=f"{cause}seed by seed {'; '.join(outside)}")


def draw_goodput(points: pl.DataFrame) -> list[Panel]:
    """Draw goodput against losses."""
    own = points.filter(windows="linux")
    rows = own.group_by("control", "percent", maintain_order=True).agg(
        rate=pl.col("goodput").mean() / 1e6
    )
    x = vl.X("percent:Q", title="packets lost, %", scale=vl.Scale(type="log"))
    y = vl.Y("rate:Q", title="goodput, Mbit/s", scale=vl.Scale(domain=[0, 100]))
    names = rows["control"].unique(maintain_order=True).to_list()
    tone = vl.Color(
        "control:N", title=None, scale=vl.Scale(domain=names, range=list(PALETTE[: len(names)]))
    )
    shape = vl.Shape("control:N", title=None, scale=vl.Scale(domain=names))
    shares = [10 ** (exponent / 20) for exponent in range(-60, 35)]
    limit = pl.DataFrame(
        [{"percent": share, "rate": LINE * (1 - share / 100) / 1e6} for share in shares]
    )
    most = make_chart(limit).mark_line(color="#8C8C8C", strokeDash=[4, 3]).encode(x=x, y=y)
    lines = make_chart(rows).mark_line().encode(x=x, y=y, color=tone)
    dots = (
        make_chart(rows).mark_point(filled=True, size=60).encode(x=x, y=y, color=tone, shape=shape)
    )
    return [Panel("", vl.layer(most, lines, dots))]
