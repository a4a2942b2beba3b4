"""The games, rates and pages of ten scenarios, beside what docsis-ns3 printed for them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, make_chart
from headend.study import decide_over_seeds, join_decisions
from headend.study.claims import Finding, Verdict, decide

if TYPE_CHECKING:
    from headend.study import Decision

Limits = dict[str, Any]

#: Rates of the line, bit/s.
RATES = {"up": 50e6, "down": 200e6}

#: Who plays, and how it is shown.
GAMES = {"ef": "EF", "be": "best effort"}

MODELS = ("headend", "docsis-ns3")

#: The statistics of a delay that docsis-ns3.toml has, in its order.
STATISTICS = ("mean", "p50", "p99")

#: Height of a row in a figure, pixels.
STEP = 22


def read_reference(variant: str = "as shipped") -> dict[int, dict[str, Any]]:
    """Give what docsis-ns3 printed, by scenario; delays in ms, rates in Mbit/s of PDU bytes, pages in s."""
    content = tomllib.loads(Path(__file__).with_name("docsis-ns3.toml").read_text(encoding="utf-8"))
    return {own["scenario"]: own for own in content["run"] if own["variant"] == variant}


def take(points: pl.DataFrame, scenario: int, column: str) -> list[float]:
    """Give a column of a scenario, one value for each seed; delays in ms."""
    rows = points.filter(pl.col("scenario") == scenario)
    return [value / 1e6 for value in rows[column].drop_nulls().to_list()]


def compare(
    points: pl.DataFrame, game: str, way: str, scenarios: list[int], within: float
) -> dict[str, Decision]:
    """Hold median and 99th percentile of a game against docsis-ns3's, in every scenario that was run.

    Parameters
    ----------
    within
        How far apart they may be, ms.
    """
    reference = read_reference()
    found = {}
    for scenario in scenarios:
        for statistic in ("p50", "p99"):
            theirs = reference[scenario][f"{game}_{way}"][STATISTICS.index(statistic)]
            ours = take(points, scenario, f"{game}_{way}_{statistic}")
            if ours:
                name = f"scenario {scenario} {statistic}"
                apart = [value - theirs for value in ours]
                found[name] = decide_over_seeds(apart, -within, within)
    return found


def tell(found: dict[str, Decision], within_us: float, why: str = "") -> Finding:
    """Give one finding for several differences, with the largest of them."""
    if not found:
        return Finding("no such run", Verdict.UNTESTABLE)
    name, worst = max(found.items(), key=lambda item: abs(item[1].mean))
    agreeing = [own for own in found.values() if own.verdict is Verdict.REPRODUCED]
    text = (
        f"{len(agreeing)} of {len(found)} within {within_us:.0f} us,"
        f" the farthest {1000 * worst.mean:+.0f} us ({name})"
    )
    return join_decisions(found.values(), text, why)


def check_ef(points: pl.DataFrame, limits: Limits) -> Finding:
    """Hold the delay of the game marked EF against docsis-ns3's."""
    found = compare(points, "ef", limits["way"], list(read_reference()), limits["within_us"] / 1000)
    return tell(found, limits["within_us"])


def check_idle(points: pl.DataFrame, limits: Limits) -> Finding:
    """Hold the delay of the best-effort game on an idle line against docsis-ns3's."""
    found = compare(points, "be", "up", limits["scenarios"], limits["within_us"] / 1000)
    return tell(found, limits["within_us"])


def check_lost(points: pl.DataFrame, _limits: Limits) -> Finding:
    """Count lost packets of the game marked EF, here and in docsis-ns3."""
    ours = int(points["ef_lost"].sum())
    theirs = sum(own["ef_lost"] for own in read_reference().values())
    return Finding(f"{ours} here, {theirs} in docsis-ns3", decide(ours == theirs == 0))


def check_rate(points: pl.DataFrame, limits: Limits) -> Finding:
    """Hold the rate of the classic flow against docsis-ns3's."""
    scenario, way = limits["scenario"], limits["way"]
    theirs = read_reference()[scenario][f"classic_{way}"] * 1e6
    rows = points.filter(pl.col("scenario") == scenario)
    if rows.is_empty():
        return Finding("no such run", Verdict.UNTESTABLE)
    ratios = [share * RATES[way] / theirs for share in rows[f"{way}_used"]]
    bounds = [limits["ratio"] * (1 + sign * limits["within"]) for sign in (-1, 1)]
    found = decide_over_seeds(ratios, *bounds)
    text = (
        f"{found.mean * theirs / 1e6:.2f} Mbit/s to {theirs / 1e6:.2f}, a ratio of {found.mean:.4f}"
    )
    return found.tell(text)


def check_loaded(points: pl.DataFrame, limits: Limits) -> Finding:
    """Hold the mean delay of the best-effort game beside a speed test against docsis-ns3's."""
    found, texts = [], []
    for way, scenario in limits["scenarios"].items():
        theirs = read_reference()[scenario][f"be_{way}"][STATISTICS.index("mean")]
        ours = take(points, scenario, f"be_{way}_mean")
        if not ours:
            continue
        apart = [value / theirs - 1 for value in ours]
        found.append(decide_over_seeds(apart, -limits["within"], limits["within"]))
        texts.append(f"{way} {fmean(ours):.1f} ms to {theirs:.1f}")
    if not found:
        return Finding("no such run", Verdict.UNTESTABLE)
    return join_decisions(found, ", ".join(texts))


def tabulate_delays(points: pl.DataFrame, game: str, way: str) -> pl.DataFrame:
    """Give the median and the 99th percentile of a game in each scenario, of both models, ms."""
    rows = []
    for scenario, own in read_reference().items():
        ours = [take(points, scenario, f"{game}_{way}_{name}") for name in ("p50", "p99")]
        if not ours[0]:
            continue
        for model, values in (
            ("headend", [fmean(ours[0]), fmean(ours[1])]),
            ("docsis-ns3", own[f"{game}_{way}"][1:]),
        ):
            rows.append({"scenario": scenario, "model": model, "p50": values[0], "p99": values[1]})
    return pl.DataFrame(rows)


def draw_delays(points: pl.DataFrame) -> list[Panel]:
    """Draw median to 99th percentile of both games, both ways, in each scenario and model."""
    panels = []
    for game, shown in GAMES.items():
        for way, direction in (("up", "upstream"), ("down", "downstream")):
            table = tabulate_delays(points, game, way)
            y = vl.Y("scenario:O", title="scenario", axis=vl.Axis(grid=False))
            base = make_chart(table).encode(
                y=y,
                yOffset=vl.YOffset("model:N", sort=list(MODELS)),
                color=vl.Color(
                    "model:N",
                    title=None,
                    sort=list(MODELS),
                    scale=vl.Scale(domain=list(MODELS), range=list(PALETTE[:2])),
                ),
            )
            title = "delay over the cable (ms), median to 99th percentile"
            bars = base.mark_rule(strokeWidth=2.5).encode(
                x=vl.X("p50:Q", title=title, scale=vl.Scale(zero=True)), x2="p99:Q"
            )
            dots = base.mark_point(filled=True, size=45, opacity=1).encode(x="p50:Q")
            chart = vl.layer(bars, dots).properties(height=STEP * table["scenario"].n_unique())
            panels.append(Panel(f"{shown}, {direction}", chart))
    return panels


def draw_rates(points: pl.DataFrame) -> list[Panel]:
    """Draw the classic flow's rate in each scenario and model."""
    panels = []
    for way, direction in (("up", "Upstream"), ("down", "Downstream")):
        rows = []
        for scenario, own in read_reference().items():
            shares = points.filter(pl.col("scenario") == scenario)[f"{way}_used"].to_list()
            if shares:
                ours = fmean(shares) * RATES[way] / 1e6
                rows.append({"scenario": scenario, "model": "headend", "rate": ours})
                theirs = own[f"classic_{way}"]
                rows.append({"scenario": scenario, "model": "docsis-ns3", "rate": theirs})
        panels.append(_draw_pairs(direction, rows, "rate", "rate of the classic flow (Mbit/s)"))
    return panels


def draw_pages(points: pl.DataFrame) -> list[Panel]:
    """Draw the mean load time of a page in each scenario that has a reader, of both models."""
    rows = []
    for scenario, own in read_reference().items():
        ours = take(points, scenario, "page_mean")
        if ours and "page" in own:
            rows.append({"scenario": scenario, "model": "headend", "time": fmean(ours) / 1000})
            rows.append({"scenario": scenario, "model": "docsis-ns3", "time": own["page"][0]})
    return [_draw_pairs("", rows, "time", "mean load time of a page (s)")]


def _draw_pairs(title: str, rows: list[dict[str, Any]], column: str, axis: str) -> Panel:
    """Draw a point for each model in each scenario."""
    table = pl.DataFrame(rows)
    chart = (
        make_chart(table)
        .mark_point(filled=True, size=55, opacity=1)
        .encode(
            y=vl.Y("scenario:O", title="scenario"),
            x=vl.X(f"{column}:Q", title=axis, scale=vl.Scale(zero=True)),
            color=vl.Color(
                "model:N",
                title=None,
                scale=vl.Scale(domain=list(MODELS), range=list(PALETTE[:2])),
            ),
            shape=vl.Shape(
                "model:N",
                title=None,
                scale=vl.Scale(domain=list(MODELS), range=["circle", "diamond"]),
            ),
        )
    )
    return Panel(title, chart.properties(height=STEP * table["scenario"].n_unique()))
