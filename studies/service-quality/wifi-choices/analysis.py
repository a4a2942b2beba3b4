"""What the document's measurements of a cell become under choices that its text leaves open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, make_chart
from headend.study import ClaimResult, ClaimVerdict, decide

#: What the text reads off Figures 4 and 5 by packet size, ms and Mb/s.
LOADED = {512: 120.0, 1000: 70.0, 1200: 67.0, 1500: 55.0}
KNEES = {512: 2.0, 1000: 3.0, 1200: 3.0, 1500: 4.0}

#: The increase begins where the idle round trip is so many times passed (as in wifi-rtt).
TIMES_IDLE = 2.0

Range = Sequence[float]
Find = Callable[[pl.DataFrame, str, int], float]

#: What the document's other studies have.
BASE = "as set"


def list_choices(points: pl.DataFrame) -> list[str]:
    """List the choices that were run, in their order."""
    return list(points["choice"].unique(maintain_order=True))


def average(points: pl.DataFrame, choice: str, mtu: int) -> dict[str, tuple[float, float]]:
    """Give round trip in ms and goodput in Mb/s of each run, means over the seeds."""
    rows = points.filter(choice=choice, mtu=mtu).group_by("run", maintain_order=True)
    means = rows.agg(pl.col("rtt").mean() / 1e6, pl.col("goodput").mean() / 1e6)
    return {row["run"]: (row["rtt"], row["goodput"]) for row in means.iter_rows(named=True)}


def find_loaded(points: pl.DataFrame, choice: str, mtu: int) -> float:
    """Give the round trip beside a download that nothing limits, ms."""
    return average(points, choice, mtu)["alone"][0]


def find_passing(runs: dict[str, tuple[float, float]], level: float) -> float:
    """Give the server's rate in Mb/s at which round trips pass a level, interpolated."""
    curve = sorted((float(name), rtt) for name, (rtt, _) in runs.items() if name[0].isdigit())
    for (rate, rtt), (next_rate, next_rtt) in pairwise(curve):
        if rtt < level <= next_rtt:
            return rate + (level - rtt) / (next_rtt - rtt) * (next_rate - rate)
    return curve[0][0] if curve[0][1] >= level else curve[-1][0]


def find_knee(points: pl.DataFrame, choice: str, mtu: int) -> float:
    """Give the rate at which the increase begins."""
    runs = average(points, choice, mtu)
    return find_passing(runs, TIMES_IDLE * runs["idle"][0])


def find_middle(points: pl.DataFrame, choice: str, mtu: int) -> float:
    """Give the rate at which half of the increase is reached."""
    runs = average(points, choice, mtu)
    return find_passing(runs, (runs["idle"][0] + runs["alone"][0]) / 2)


def leave(points: pl.DataFrame, choice: str, mtu: int) -> tuple[float, float]:
    """Give the download's Mb/s beside a ping every 100 ms, and its share beside every 3 ms."""
    runs = average(points, choice, mtu)
    rare, dense = runs["rare"][1], runs["dense"][1]
    return rare, dense / rare


def is_within(value: float, bounds: Range) -> bool:
    """Whether a value is between two bounds."""
    return bool(bounds[0] <= value <= bounds[1])


def describe_values(values: Sequence[float], digits: int) -> str:
    """Write the values of all packet sizes."""
    return ", ".join(f"{value:.{digits}f}" for value in values)


def list_values(points: pl.DataFrame, choice: str, find: Find) -> dict[int, float]:
    """Give a value of each packet size that was run under a choice."""
    sizes = points.filter(choice=choice)["mtu"].unique().sort().to_list()
    return {mtu: find(points, choice, mtu) for mtu in sizes}


def find_agreeing(points: pl.DataFrame, ranges: dict[str, Range], find: Find) -> list[str]:
    """List the choices under which the values of all packet sizes are within their ranges."""
    return [
        choice
        for choice in list_choices(points)
        if all(
            is_within(value, ranges[str(mtu)])
            for mtu, value in list_values(points, choice, find).items()
        )
    ]


def judge_sizes(
    points: pl.DataFrame, ranges: dict[str, Range], find: Find, digits: int
) -> ClaimResult:
    """See under which choices the values of all packet sizes are within their ranges."""
    agreeing = find_agreeing(points, ranges, find)
    values = {choice: list_values(points, choice, find) for choice in list_choices(points)}
    distances = {
        choice: max(_find_distance(value, ranges[str(mtu)]) for mtu, value in own.items())
        for choice, own in values.items()
    }
    nearest = sorted(distances, key=lambda choice: distances[choice])[:3]
    told = list(dict.fromkeys([BASE, *nearest])) if BASE in values else nearest
    text = "; ".join(
        f"{choice}: {describe_values(list(values[choice].values()), digits)}" for choice in told
    )
    return ClaimResult(text, decide(bool(agreeing)), why=_name(agreeing, len(values)))


def _find_distance(value: float, bounds: Range) -> float:
    """Give by which share of its range's nearer bound a value is outside."""
    low, high = bounds
    return max(low - value, value - high, 0.0) / (low if value < low else high)


def _name(choices: list[str], tried: int) -> str:
    """Say which of the choices agree."""
    names = f"with {len(choices)}: {'; '.join(choices)}" if choices else "with none"
    return f"so it is, of the {tried} that were run, {names}"


def check_loaded(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look for a choice that gives the loaded round trips; else say what prevents it."""
    finding = judge_sizes(points, limits["ranges"], find_loaded, 0)
    if finding.verdict is ClaimVerdict.REPRODUCED or not {1000, 1200} <= set(points["mtu"]):
        return finding
    ratios = [
        find_loaded(points, choice, 1000) / find_loaded(points, choice, 1200)
        for choice in list_choices(points)
    ]
    why = (
        f"{finding.why}. Under every choice pings take {min(ratios):.2f} to {max(ratios):.2f} times"
        f" as long with 1000 B as with 1200 B, in the document {LOADED[1000] / LOADED[1200]:.2f}"
        " times: no cause was found for that"
    )
    return ClaimResult(finding.measured, finding.verdict, why=why)


def check_knee(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look for a choice that gives the knees, and say which do by the other reading."""
    finding = judge_sizes(points, limits["ranges"], find_knee, 1)
    middles = judge_sizes(points, limits["ranges"], find_middle, 1)
    why = f"{finding.why}; read as half of the way up, {middles.why}"
    return ClaimResult(finding.measured, finding.verdict, why=why)


def check_order(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """See whether larger packets make shorter round trips under every choice."""
    choices = list_choices(points)
    sizes = points["mtu"].unique().sort().to_list()
    falling = [
        choice
        for choice in choices
        if (times := [find_loaded(points, choice, mtu) for mtu in sizes])
        == sorted(times, reverse=True)
    ]
    return ClaimResult(
        f"under {len(falling)} of {len(choices)} choices", decide(len(falling) == len(choices))
    )


def find_leaving(points: pl.DataFrame, limits: dict[str, Any]) -> list[str]:
    """List the choices under which a download has its rate, and enough beside pings."""
    found = []
    for choice in list_choices(points):
        mbps, share = leave(points, choice, limits["mtu"])
        if is_within(mbps, limits["mbps"]) and is_within(share, limits["share"]):
            found.append(choice)
    return found


def check_alone(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look for a choice that gives the download its rate, and pings half of it."""
    choices = list_choices(points)
    found = find_leaving(points, limits)
    left = [leave(points, choice, limits["mtu"]) for choice in choices]
    rates, shares = [mbps for mbps, _ in left], [share for _, share in left]
    text = (
        f"{min(rates):.2f} to {max(rates):.2f} Mb/s, of which {min(shares):.0%} to"
        f" {max(shares):.0%} are left"
    )
    return ClaimResult(text, decide(bool(found)), why=_name(found, len(choices)))


def check_together(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look for a choice that gives all three figures."""
    loaded = find_agreeing(points, limits["loaded"], find_loaded)
    knees = find_agreeing(points, limits["knees"], find_knee)
    leaving = find_leaving(points, limits)
    both = [choice for choice in knees if choice in leaving]
    found = [choice for choice in both if choice in loaded]
    text = (
        f"{len(loaded)} choices give Figure 4, {len(knees)} Figure 5, {len(leaving)} Figure 7,"
        f" {len(both)} Figures 5 and 7, {len(found)} all three"
    )
    why = f"Figures 5 and 7: {'; '.join(both)}" if both and not found else "; ".join(found)
    return ClaimResult(text, decide(bool(found)), why=why)


def check_rts(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look at what pings leave where every frame is announced."""
    if limits["choice"] not in list_choices(points):
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    _, share = leave(points, limits["choice"], limits["mtu"])
    return ClaimResult(f"{share:.0%}", decide(share < limits["share"]))


def draw_choices(points: pl.DataFrame) -> list[Panel]:
    """Draw what each choice gives, a panel for each figure of the document."""
    choices = list_choices(points)
    sizes = points["mtu"].unique().sort().to_list()
    panels = []
    for name, title, find, published in (
        ("loaded", "round trip beside a download, ms", find_loaded, LOADED),
        ("knee", "rate at which round trips increase, Mbit/s", find_knee, KNEES),
    ):
        rows = [
            {"choice": choice, "size": f"{mtu} B", "value": find(points, choice, mtu)}
            for choice in choices
            for mtu in sizes
        ]
        marks = [{"size": f"{mtu} B", "value": published[mtu]} for mtu in sizes]
        panels.append(Panel("", _draw(rows, marks, title, "size"), f"choices-{name}"))
    left = [leave(points, choice, sizes[-1])[1] for choice in choices]
    rows = [
        {"choice": choice, "what": "beside a ping every 3 ms", "value": 100 * share}
        for choice, share in zip(choices, left, strict=True)
    ]
    marks = [{"what": "beside a ping every 3 ms", "value": 50.0}]
    title = "left beside a ping every 3 ms, per cent"
    panels.append(Panel("", _draw(rows, marks, title, "what"), "choices-left"))
    return panels


def _draw(
    rows: list[dict[str, Any]], marks: list[dict[str, Any]], title: str, column: str
) -> vl.Chart:
    """Draw a point for each choice, and rules at what was published."""
    names = list(dict.fromkeys(row[column] for row in rows))
    tone = vl.Color(
        f"{column}:N",
        title=None,
        scale=vl.Scale(domain=names, range=list(PALETTE[: len(names)])),
        legend=vl.Legend() if len(names) > 1 else None,
    )
    x = vl.X("value:Q", title=title, scale=vl.Scale(zero=True))
    order = list(dict.fromkeys(row["choice"] for row in rows))
    y = vl.Y("choice:N", sort=order, title=None, axis=vl.Axis(labelLimit=200, labelFontSize=9))
    dots = make_chart(pl.DataFrame(rows)).mark_point(filled=True, size=55)
    rules = make_chart(pl.DataFrame(marks)).mark_rule(strokeDash=[4, 3])
    layers = rules.encode(x=x, color=tone), dots.encode(x=x, y=y, color=tone)
    return vl.layer(*layers).properties(height=max(200, 15 * len(order)))
