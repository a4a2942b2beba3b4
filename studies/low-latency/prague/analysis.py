"""The rates of Prague and a classic flow behind DualPI2, and their ratio's four factors."""

from __future__ import annotations

import math
from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, make_chart
from headend.study import ClaimResult, ClaimVerdict, Decision, decide_over_seeds, join_decisions

#: Time measured, seconds.
MEASURED = 40.0

#: Time before that, time that the figure of the sawtooth shows, seconds, and a segment in bytes.
WARMUP, SHOWN, SEGMENT = 20.0, 10.0, 1448

#: RFC 9332, appendix C.2: Prague's window times its marked share (equation 6), and NewReno's window
#: times the root of its lost share.
PRAGUE, CLASSIC = 2.0, 1.22

#: The draft's §2.4.4: a shorter path counts as this long, in seconds.
VIRTUAL = 0.025

#: RFC 9332's target delay of the C queue, in seconds.
TARGET = 0.015

#: Cases in which Prague has no virtual round trip, the flows of each kind, and the coupling factors
#: that are not 2.
OWN_RTT = ["own-rtt", "beside-prague-own-rtt"]
PAIRS = {"five-pairs": 5}
COUPLING = {"k-1": 1.0, "k-4": 4.0}

#: The four numbers, and how a figure calls them.
FACTORS = {
    "prague": "Prague's window × marked share, over 2",
    "classic": "1.22 over the classic window × √lost share",
    "coupled": "k × √lost share over marked share",
    "round_trips": "round trips, classic over Prague's",
}

#: What the figure of the sawtooth calls its probabilities.
PROBABILITIES = {"reno": "one pair", "five-pairs": "five pairs"}

#: What a figure calls the cases of its rows.
CASES = {
    "reno": "beside NewReno",
    "cubic": "beside CUBIC",
    "own-rtt": "no virtual round trip",
    "ramp": "ramp, not step",
    "coupled-only": "only coupled marks",
    "time-shifted": "time-shifted FIFO",
    "15-ms-more": "Prague 15 ms farther",
    "gain-1": "α follows at once",
    "five-pairs": "five pairs",
    "slow-controller": "controller ten times slower",
    "fixed": "fixed probabilities",
}


def measure(points: pl.DataFrame) -> pl.DataFrame:
    """Give a row for each run: the ratio of rates, and its four factors over the RFC's.

    The product of the factors and of ``2 / (1.22 k)`` is the ratio of the packets sent.
    """
    case = pl.col("case")
    pairs = case.replace_strict(PAIRS, default=1, return_dtype=pl.Float64)
    coupling = case.replace_strict(COUPLING, default=2.0, return_dtype=pl.Float64)
    marked = pl.col("prague_marked") / pl.col("prague_sent")
    root = (pl.col("classic_lost") / pl.col("classic_sent")).sqrt()
    rtt = {
        name: (pl.col(f"{name}_up") + pl.col(f"{name}_down")) / 1e9
        for name in ("prague", "classic")
    }
    own = pl.when(case.is_in(OWN_RTT)).then(0.0).otherwise(VIRTUAL)
    counted = pl.max_horizontal(rtt["prague"], own)
    rate = {name: pl.col(f"{name}_sent") / MEASURED / pairs for name in rtt}
    return points.select(
        "rtt",
        "case",
        "seed",
        coupling=coupling,
        ratio=pl.col("prague_goodput") / pl.col("classic_goodput"),
        prague=rate["prague"] * counted * marked / PRAGUE,
        classic=CLASSIC / (rate["classic"] * rtt["classic"] * root),
        coupled=coupling * root / marked,
        round_trips=rtt["classic"] / counted,
        marked=marked,
        queue=rtt["classic"] * 1e3 - pl.col("rtt"),
    )


def take(rows: pl.DataFrame, rtt: int, case: str, column: str = "ratio") -> list[float]:
    """Give a column of one case on one path, a value for each seed."""
    return rows.filter(rtt=rtt, case=case).sort("seed")[column].to_list()


def compare(
    rows: pl.DataFrame, rtt: int, case: str, base: str, column: str = "ratio"
) -> list[float]:
    """Give a column of one case over another's on the same path per seed; or nothing."""
    one, other = take(rows, rtt, case, column), take(rows, rtt, base, column)
    return [mine / its for mine, its in zip(one, other, strict=True)] if one and other else []


def average(values: list[float]) -> float:
    """Give the mean of the seeds."""
    return sum(values) / len(values)


def join(found: dict[str, Decision], why: str = "", digits: int = 2) -> ClaimResult:
    """Put the decisions of several paths or cases into one finding."""
    if not found:
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    told = [f"{decision.mean:.{digits}f} ({name})" for name, decision in found.items()]
    return join_decisions(found.values(), ", ".join(told), why)


def check_rfc(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the ratio to NewReno against the RFC's formula, and say what makes it another."""
    rows = measure(points)
    found = {}
    for rtt in limits["rtts"]:
        if values := take(rows, rtt, "reno"):
            base = rtt / 1e3
            form = (base + TARGET) / (limits["divisor"] * max(base, VIRTUAL))
            found[f"{rtt} ms: {average(values):.2f} for {form:.2f}"] = decide_over_seeds(
                [value / form for value in values], 1 - limits["within"], 1 + limits["within"]
            )
    return join(found, explain(rows, limits["rtts"]))


def explain(rows: pl.DataFrame, rtts: list[int]) -> str:
    """Say what each factor is with NewReno on each path."""
    told = []
    for rtt in rtts:
        own = {name: take(rows, rtt, "reno", name) for name in FACTORS}
        if all(own.values()):
            told.append(
                f"{rtt} ms: {' · '.join(f'{average(values):.2f}' for values in own.values())}"
            )
    return (
        "the ratio is 0.82 times Prague's window, NewReno's window, the coupling and the round"
        f" trips, each over the derivation's: {'; '.join(told)}"
    )


def check_same(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the ratio of cases against that of the base case, seed by seed."""
    rows = measure(points)
    found = {
        f"{case}, {rtt} ms": decide_over_seeds(changes, 1 - limits["within"], 1 + limits["within"])
        for case in limits["cases"]
        for rtt in limits["rtts"]
        if (changes := compare(rows, rtt, case, "reno"))
    }
    return join(found, digits=3)


def check_coupling(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold how many times larger the ratio is with k = 1 than with k = 4."""
    rows = measure(points)
    found = {
        f"{rtt} ms": decide_over_seeds(
            changes, 4 * (1 - limits["within"]), 4 * (1 + limits["within"])
        )
        for rtt in limits["rtts"]
        if (changes := compare(rows, rtt, "k-1", "k-4"))
    }
    return join(found)


def give_window(marked: float) -> float:
    """Give window times marked share of a control reducing by α/2 each round trip of random marks.

    It grows by a segment per round trip for the unmarked share, c = 1 - p. The next mark comes
    1/(pW) round trips after the round trip: pW/2 = c (1 + 1/(pW)).
    """
    grown = 1 - marked
    return grown + math.sqrt(grown**2 + 2 * grown)


def check_fixed(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold Prague's window at fixed probabilities, by marked share, against its closed form."""
    rows = measure(points)
    found = {}
    for rtt in limits["rtts"]:
        own = rows.filter(rtt=rtt, case="fixed").sort("seed")
        if not own.is_empty():
            found[f"{rtt} ms"] = decide_over_seeds(
                [
                    PRAGUE * window / give_window(marked)
                    for window, marked in own.select("prague", "marked").iter_rows()
                ],
                1 - limits["within"],
                1 + limits["within"],
            )
    return join(found)


def check_swing(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold how far the shares are from the coupling, over the same with smoothing."""
    rows = measure(points)
    found = {
        f"{case}, {rtt} ms": decide_over_seeds(changes, 1.0)
        for case in limits["cases"]
        for rtt in limits["rtts"]
        if (changes := compare(rows, rtt, "reno", case, "coupled"))
    }
    alone = [
        f"{average(values):.2f} at {rtt} ms"
        for rtt in limits["rtts"]
        if (values := take(rows, rtt, "reno", "coupled"))
    ]
    return join(found, f"with one pair, k √p over the marked share is {', '.join(alone)}")


def check_beside_prague(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the ratio of two Prague flows of different paths."""
    rows = measure(points)
    found = {}
    for rtt in limits["rtts"]:
        if values := take(rows, rtt, limits["case"]):
            found[f"{rtt} and {rtt + 15} ms"] = decide_over_seeds(
                values, limits.get("low", -math.inf), limits.get("high", math.inf)
            )
    return join(found)


def draw_ratios(points: pl.DataFrame) -> list[Panel]:
    """Draw the ratio of each case on each path."""
    rows = measure(points).filter(pl.col("case").is_in(list(CASES)))
    table = rows.group_by("case", "rtt", maintain_order=True).agg(pl.col("ratio").mean())
    table = table.with_columns(
        case=pl.col("case").replace_strict(CASES), path=pl.format("{} ms", "rtt")
    )
    paths = table["path"].unique(maintain_order=True).to_list()
    x = vl.X("ratio:Q", title="Prague's rate / the classic flow's", scale=vl.Scale(type="log"))
    dots = (
        make_chart(table)
        .mark_point(filled=True, size=80)
        .encode(
            x=x,
            y=vl.Y("case:N", title=None, sort=list(CASES.values()), axis=vl.Axis(labelLimit=280)),
            color=vl.Color(
                "path:N",
                title="path",
                scale=vl.Scale(domain=paths, range=list(PALETTE[: len(paths)])),
            ),
            shape=vl.Shape("path:N", title="path", scale=vl.Scale(domain=paths)),
        )
    )
    rule = make_chart(pl.DataFrame({"ratio": [1.0]})).mark_rule().encode(x=x)
    return [Panel("", vl.layer(rule, dots))]


def draw_factors(points: pl.DataFrame) -> list[Panel]:
    """Draw the four factors of one pair and its smoothing, on paths beyond the virtual one."""
    shown = ["reno", "gain-1", "five-pairs", "slow-controller"]
    rows = measure(points).filter(pl.col("case").is_in(shown) & (pl.col("rtt") > VIRTUAL * 1e3))
    means = rows.group_by("rtt", "case", maintain_order=True).agg(pl.col(*FACTORS).mean())
    table = means.unpivot(list(FACTORS), index=["rtt", "case"], variable_name="factor")
    table = table.with_columns(
        factor=pl.col("factor").replace_strict(FACTORS),
        case=pl.col("case").replace_strict(CASES),
        path=pl.format("{} ms", "rtt"),
    )
    names = [CASES[case] for case in shown]
    x = vl.X("value:Q", title="measured / RFC 9332 (no unit)", scale=vl.Scale(zero=False))
    rule = make_chart(pl.DataFrame({"value": [1.0]})).mark_rule().encode(x=x)
    panels = []
    for (path,), own in table.group_by("path", maintain_order=True):
        dots = (
            make_chart(own)
            .mark_point(filled=True, size=80)
            .encode(
                x=x,
                y=vl.Y(
                    "factor:N",
                    title=None,
                    sort=list(FACTORS.values()),
                    axis=vl.Axis(labelLimit=280),
                ),
                color=vl.Color(
                    "case:N",
                    title=None,
                    scale=vl.Scale(domain=names, range=list(PALETTE[: len(names)])),
                ),
                shape=vl.Shape("case:N", title=None, scale=vl.Scale(domain=names)),
            )
        )
        panels.append(Panel(f"{path}", vl.layer(rule, dots)))
    return panels


def draw_swing(points: pl.DataFrame) -> list[Panel]:
    """Draw one pair's windows on the longest path, and the coupled probability of two cases."""
    first = points.filter(
        (pl.col("rtt") == points["rtt"].max()) & (pl.col("seed") == points["seed"].min())
    )
    windows = {"Prague": "prague_window", "NewReno": "classic_window"}
    one = first.filter(case="reno")
    lines = [follow(one[column], name, 1 / SEGMENT) for name, column in windows.items()]
    panels = [draw_lines(pl.concat(lines), "window, segments")]
    lines = []
    for case in ("reno", "five-pairs"):
        probability = first.filter(case=case)["probability"].list.eval(pl.element().sqrt() * 2)
        lines.append(follow(probability, PROBABILITIES[case], 100.0))
    panels.append(draw_lines(pl.concat(lines), "coupled probability, %"))
    return panels


def follow(values: pl.Series, name: str, scale: float) -> pl.DataFrame:
    """Give the last seconds of a series as rows of time, value and name."""
    rows = pl.DataFrame({"value": values}).explode("value").with_row_index("number")
    step = (WARMUP + MEASURED) / max(rows.height, 1)
    return rows.select(
        time=(pl.col("number") + 1) * step, value=pl.col("value") * scale, name=pl.lit(name)
    ).filter(pl.col("time") > WARMUP + MEASURED - SHOWN)


def draw_lines(rows: pl.DataFrame, title: str) -> Panel:
    """Draw rows of time, value and name as lines."""
    names = rows["name"].unique(maintain_order=True).to_list()
    tone = vl.Color("name:N", title=None, scale=vl.Scale(domain=names, range=list(PALETTE)))
    chart = (
        make_chart(rows)
        .mark_line(strokeWidth=1.5)
        .encode(
            x=vl.X("time:Q", title="time, s", scale=vl.Scale(zero=False)),
            y=vl.Y("value:Q", title=title),
            color=tone,
        )
    )
    return Panel("", chart)
