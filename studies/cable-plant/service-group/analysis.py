"""Service groups of several sizes, at the K that the rule of thumb has for each."""

from __future__ import annotations

from typing import Any

import polars as pl

from headend.analysis.estimate import estimate_mean
from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import colour, make_chart
from headend.study import ClaimResult, ClaimVerdict, decide, decide_over_seeds

#: The rate of the tier, bit/s.
TIER = 100e6

#: The number of homes that leaves the channels nearly free.
FREE = 20

#: Bytes on the cable for one on the network, of a full packet: Ethernet's and DOCSIS's headers.
HEADERS = (1500 + 18 + 16) / 1500

#: A number of homes counts as that of a K from this distance on.
NEAR = 0.06


def tabulate(points: pl.DataFrame, demand: str = "pages") -> pl.DataFrame:
    """Give each run of a demand with what its homes need on average, and the K of the rule."""
    rows = points.filter(pl.col("demand") == demand)
    rows = rows.with_columns(needed=(pl.col("used") - HEADERS * pl.col("tested")) / pl.col("homes"))
    free = rows.filter(pl.col("homes") == FREE)
    needed, speed = free["needed"].mean(), free["speed"].mean()
    return rows.with_columns(
        factor=(pl.col("capacity") - pl.col("homes") * pl.lit(needed)) / TIER,
        share=pl.col("speed") / pl.lit(speed),
        of_free=pl.col("needed") / pl.lit(needed) - 1,
    )


def pick(points: pl.DataFrame, factor: float, demand: str = "pages") -> pl.DataFrame:
    """Give the runs with the number of homes whose K is nearest; none where none is near."""
    rows = tabulate(points, demand).filter(pl.col("homes") != FREE)
    rows = rows.with_columns(distance=(pl.col("factor") - factor).abs())
    nearest = rows.filter(pl.col("distance") <= NEAR).sort("distance")
    return rows.filter(pl.col("homes") == nearest["homes"][0]) if nearest.height else nearest


def check_people(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look for people who suffer where the channels have room by the rule."""
    rows = tabulate(points).filter(pl.col("factor") >= limits["factor"] - NEAR)
    ends = rows.select(pl.col("call").min(), pl.col("page").max() / 1e9, pl.col("film").max() / 1e6)
    mos, page, film = ends.row(0)
    agrees = mos >= limits["mos"] and page <= limits["page_s"] and film <= limits["film_ms"]
    text = f"MOS {mos:.2f}, page {page:.2f} s, film {film:.0f} ms"
    return ClaimResult(text, decide(agrees))


def check_speed(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the speed that a test shows against what it shows where the channels are free."""
    demand = limits.get("demand", "pages")
    rows = pick(points, limits["factor"], demand)
    if rows.is_empty():
        return ClaimResult("no number of homes with this K", ClaimVerdict.UNTESTABLE)
    found = decide_over_seeds(rows["share"].to_list(), low=limits["least"])
    text = f"{found.mean:.0%} with {rows['homes'][0]} homes (K = {rows['factor'][0]:.2f})"
    full = tabulate(points, demand).filter(pl.col("share") >= limits["least"])
    full = full.filter(pl.col("homes") != FREE)
    why = ""
    if full.height:
        most, best = full.sort("homes").select("homes", "factor").row(-1)
        why = f"90 % or more is shown up to {most} homes, K = {best:.2f}"
    beside = pick(points, limits["factor"], "steady")
    if demand == "pages" and beside.height:
        why = (
            f"pages come in bursts: with steady streams of the same average it is"
            f" {estimate_mean(beside['share'].to_list()).mean:.0%}"
        )
    return ClaimResult(text, found.verdict, why=why)


def check_average(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold what homes need on average against what they need where the channels are free."""
    low, high = limits["factors"]
    rows = tabulate(points).filter(pl.col("factor").is_between(low - NEAR, high + NEAR))
    worst = float(rows["of_free"].abs().max() or 0.0)  # type: ignore[arg-type]
    return ClaimResult(f"at most {worst:.1%} off", decide(worst <= limits["within"]))


def estimate(points: pl.DataFrame, column: str) -> pl.DataFrame:
    """Give a mean with its interval for each number of homes."""
    found = []
    demands = points["demand"].unique(maintain_order=True).to_list()
    runs = [
        (demand, key[0], own)
        for demand in demands
        for key, own in tabulate(points, demand).group_by("homes", maintain_order=True)
    ]
    for demand, homes, own in runs:
        if own[column].null_count() == own.height:
            continue
        value = estimate_mean(own[column].drop_nulls().to_list())
        several = value.count > 1
        found.append(
            {
                "series": demand,
                "slot": demands.index(demand),
                "homes": homes,
                "factor": own["factor"].mean(),
                "value": value.mean,
                "low": value.low if several else value.mean,
                "high": value.high if several else value.mean,
            }
        )
    return pl.DataFrame(found)


def draw_speed(points: pl.DataFrame) -> list[Panel]:
    """Draw the speed that a test shows over K."""
    return [Panel("", _draw(points, "share", "speed, as a share of a free channel's", "~%"))]


def draw_people(points: pl.DataFrame) -> list[Panel]:
    """Draw the worst call and the slowest page over K."""
    seconds = points.with_columns(page=pl.col("page") / 1e9)
    return [
        Panel("worst call", _draw(points, "call", "MOS of the worst call", "~g")),
        Panel("slowest page", _draw(seconds, "page", "slowest page (s)", "~g")),
    ]


def _draw(points: pl.DataFrame, column: str, title: str, form: str) -> vl.Chart:
    rows = estimate(points, column).filter(pl.col("homes") != FREE)
    axis = vl.Axis(format=form)
    base = make_chart(rows).encode(
        x=vl.X("factor:Q", title="K", scale=vl.Scale(zero=False)),
        color=colour(rows, "circle"),
        tooltip=["homes:Q", vl.Tooltip("factor:Q", format=".2f"), vl.Tooltip("value:Q")],
    )
    scale = vl.Scale(zero=column != "call")
    y = vl.Y("value:Q", title=title, axis=axis, scale=scale)
    return vl.layer(
        base.mark_line().encode(y=y),
        base.mark_rule().encode(y=vl.Y("low:Q", title=title, axis=axis, scale=scale), y2="high:Q"),
        base.mark_point(filled=True, size=45).encode(y=y),
    )
