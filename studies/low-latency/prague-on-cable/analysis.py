"""The rates of Prague and CUBIC through an aggregate and DualPI2, and a probe's wait."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, make_chart
from headend.study import ClaimResult, ClaimVerdict, decide_over_seeds, join_decisions

from ..seeds import average, compare, hold, take

#: Rate of the aggregate, bit/s, and the one-way delay of the path, ms.
RATE, PATH = 50e6, 10.0

#: What a figure calls the cases.
CASES = {
    "plain": "plain link, DualPI2",
    "plain-ramp": "plain link, ramp",
    "map-1": "MAP 1 ms",
    "map-2": "MAP 2 ms",
    "map-4": "MAP 4 ms",
    "pgs-1": "MAP 1 ms, PGS",
    "pgs-2": "MAP 2 ms, PGS",
    "pgs-4": "MAP 4 ms, PGS",
    "virtual-1": "MAP 1 ms, virtual queue",
    "virtual-2": "MAP 2 ms, virtual queue",
    "virtual-4": "MAP 4 ms, virtual queue",
    "both-1": "MAP 1 ms, PGS and virtual queue",
    "both-2": "MAP 2 ms, PGS and virtual queue",
    "both-4": "MAP 4 ms, PGS and virtual queue",
    "ramp": "MAP 2 ms, ramp at 10 ms",
    "uncoupled": "MAP 2 ms, no coupling",
    "unprotected": "MAP 2 ms, no queue protection",
    "request": "MAP 2 ms, dequeued with the request",
    "burst": "MAP 2 ms, dequeued with the burst",
    "pgs-25": "MAP 2 ms, PGS of 25 Mbit/s",
    "pgs-25-often": "MAP 2 ms, PGS of 25 Mbit/s each 500 us",
    "pgs-25-burst": "the same, filled with the burst",
    "virtual-4-ramp": "MAP 4 ms, virtual queue, ramp at 5 ms",
    "virtual-1-timestamps": "MAP 1 ms, virtual queue, PIE with timestamps",
    "down": "downstream",
    "down-bursts": "downstream, tokens once in 4 ms",
}

#: What a figure calls the settings that are varied with the MAP interval.
SETTINGS = {
    "map": "backlog",
    "pgs": "backlog, PGS",
    "virtual": "virtual queue",
    "both": "virtual queue, PGS",
}


def measure(points: pl.DataFrame) -> pl.DataFrame:
    """Give a row for each run: shares of the line's rate, of packets, and waits in ms."""
    sent = pl.col("prague_sent")
    return points.select(
        "flows",
        "case",
        "seed",
        prague=pl.col("prague") / RATE,
        cubic=pl.col("cubic") / RATE,
        ratio=pl.col("prague") / pl.col("cubic"),
        marked=pl.col("prague_marked") / sent,
        sanctioned=pl.col("prague_sanctioned") / sent,
        wait=pl.col("probe_mean") / 1e6 - PATH,
        wait_p99=pl.col("probe_p99") / 1e6 - PATH,
    )


def hold_alone(points: pl.DataFrame, limits: dict[str, Any], why: str) -> ClaimResult:
    """Hold Prague's rate alone in some cases over that on the plain link."""
    rows = measure(points)
    base = take(rows, "prague", flows="alone", case="plain")
    found = {
        CASES[case]: compare(take(rows, "prague", flows="alone", case=case), base)
        for case in limits["cases"]
    }
    return hold(found, limits.get("low", 0.0), limits.get("high", math.inf), why=why)


def tell(points: pl.DataFrame, column: str, flows: str, case: str, digits: int = 0) -> str:
    """Give a share of one case in per cent, or what it is called where it was not run."""
    shares = take(measure(points), column, flows=flows, case=case)
    return f"{100 * average(shares):.{digits}f} %" if shares else "not run"


def check_alone(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold Prague's rate alone in some cases over that on the plain link."""
    return hold_alone(points, limits, "")


def check_half(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold it against half, and say what the wait for grants does besides bursts."""
    why = (
        "a packet waits for request and grant besides the burst, and at this rate the ramp ends at"
        " 1.164 ms of bytes, however long that wait is: with the ramp at 10 ms at a MAP interval of"
        f" 2 ms, Prague has {tell(points, 'prague', 'alone', 'ramp')} of the rate, and"
        f" {tell(points, 'prague', 'alone', 'map-2')} without"
    )
    return hold_alone(points, limits, why)


def check_virtual(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold it with the virtual queue, and say what a longer ramp gives at 4 ms."""
    why = (
        "acknowledgements of a MAP's packets come together, and what they release is a burst, which"
        f" the virtual queue counts: {tell(points, 'prague', 'alone', 'virtual-4')} of the rate at"
        f" 4 ms, and {tell(points, 'prague', 'alone', 'virtual-4-ramp')} with the ramp's end at 5"
        " ms"
    )
    return hold_alone(points, limits, why)


def check_grants(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold it with proactive grants, and say what a packet still waits for."""
    why = (
        "a proactive grant carries what waits when its MAP arrives, where packets are dequeued"
        " then. What comes later waits for the next MAP, half an interval on average, however often"
        " grants come; that wait counts as a queue, and grants in between stay empty. Filled with"
        " the burst, a grant each 500 us gives Prague "
        f"{tell(points, 'prague', 'alone', 'pgs-25-burst')} of the rate, and"
        f" {tell(points, 'prague', 'alone', 'pgs-25-often')} with the MAP"
    )
    return hold_alone(points, limits, why)


def check_bursts(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold it with tokens once in 4 ms, and say what becomes of it where CUBIC takes the tokens."""
    why = (
        "Prague alone leaves tokens over, and then nothing waits for the next ones. Where CUBIC"
        " takes them all, the bursts do what the public test has: Prague has"
        f" {tell(points, 'prague', 'beside', 'down-bursts')} of the rate beside it, and"
        f" {tell(points, 'prague', 'beside', 'down')} where tokens are added all the time"
    )
    return hold_alone(points, {**limits, "cases": ["down-bursts"]}, why)


def check_falls(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold Prague's rate alone in each case over that in the case before it."""
    rows = measure(points)
    rates = {case: take(rows, "prague", flows="alone", case=case) for case in limits["cases"]}
    found = {
        f"{CASES[second]} over {CASES[first]}": compare(rates[second], rates[first])
        for first, second in pairwise(limits["cases"])
    }
    return hold(found, high=1.0)


def check_estimate(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold Prague's share of the rate times the wait, the delay of waiting bytes, in ms."""
    rows = measure(points).with_columns(estimate=pl.col("prague") * pl.col("wait"))
    found = {
        CASES[case]: take(rows, "estimate", flows="alone", case=case) for case in limits["cases"]
    }
    return hold(found, limits["low_ms"], limits["high_ms"], unit=" ms")


def check_gain(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold Prague's rate alone in one case of each pair over that in the other."""
    rows = measure(points)
    found = {
        f"{CASES[one]} over {CASES[other]}": compare(
            take(rows, "prague", flows="alone", case=one),
            take(rows, "prague", flows="alone", case=other),
        )
        for one, other in limits["pairs"]
    }
    return hold(found, 1.0)


def check_under(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold Prague's rate over CUBIC's: above one in some cases, below in others."""
    rows = measure(points)
    bounds = dict.fromkeys(limits["above"], (1.0, math.inf))
    bounds |= dict.fromkeys(limits["below"], (0.0, 1.0))
    found = {case: take(rows, "ratio", flows="beside", case=case) for case in bounds}
    if not any(found.values()):
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    decisions = [
        decide_over_seeds(values, *bounds[case]) for case, values in found.items() if values
    ]
    told = ", ".join(
        f"{average(values):.2f} ({CASES[case]})" for case, values in found.items() if values
    )
    return join_decisions(decisions, told)


def check_ratio(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the ratio of Prague's rate to CUBIC's in some cases over that on the plain link."""
    rows = measure(points)
    base = take(rows, "ratio", flows="beside", case="plain")
    found = {
        CASES[case]: compare(take(rows, "ratio", flows="beside", case=case), base)
        for case in limits["cases"]
    }
    return hold(found, limits["low"], limits["high"])


def check_timestamps(points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Hold the ratio with timestamps over that without."""
    rows = measure(points)
    cases = ("virtual-1-timestamps", "virtual-1")
    ratios = [take(rows, "ratio", flows="beside", case=case) for case in cases]
    return hold({CASES[cases[0]]: compare(*ratios)}, high=1.0)


def check_delay(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold by how many MAP intervals the probe waits longer in one case of each pair."""
    rows = measure(points)
    found = {}
    for interval, (one, other) in limits["pairs"].items():
        waits = [take(rows, "wait_p99", flows="alone", case=case) for case in (one, other)]
        found[f"MAP {interval} ms"] = [
            (mine - its) / int(interval) for mine, its in zip(*waits, strict=False)
        ]
    return hold(found, high=1.0, unit=" MAP intervals")


def check_sanctions(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the share of Prague's packets that were sanctioned, in per cent."""
    rows = measure(points)
    found = {
        f"{CASES[case]}, {flows}": [
            100 * share for share in take(rows, "sanctioned", flows=flows, case=case)
        ]
        for case in limits["cases"]
        for flows in ("alone", "beside")
    }
    return hold(found, high=100 * limits["high"], unit=" %")


def draw_rates(points: pl.DataFrame) -> list[Panel]:
    """Draw the rates of both flows in each case, a panel alone and one beside CUBIC."""
    names = {"prague": "Prague", "cubic": "CUBIC"}
    rows = measure(points).group_by("flows", "case", maintain_order=True).agg(pl.col(*names).mean())
    long = rows.unpivot(list(names), index=["flows", "case"], variable_name="flow").filter(
        (pl.col("flow") == "prague") | (pl.col("flows") == "beside")
    )
    table = long.with_columns(
        case=pl.col("case").replace_strict(CASES),
        flow=pl.col("flow").replace_strict(names),
        rate=pl.col("value") * RATE / 1e6,
    )
    panels = []
    for flows, title in (("alone", "Prague alone"), ("beside", "Prague beside CUBIC")):
        own = list(names.values()) if flows == "beside" else ["Prague"]
        chart = (
            make_chart(table.filter(flows=flows))
            .mark_point(filled=True, size=80)
            .encode(
                x=vl.X("rate:Q", title="rate (Mbit/s)", scale=vl.Scale(domain=[0, 50])),
                y=vl.Y(
                    "case:N", title=None, sort=list(CASES.values()), axis=vl.Axis(labelLimit=280)
                ),
                color=vl.Color(
                    "flow:N",
                    title=None,
                    scale=vl.Scale(domain=own, range=list(PALETTE[: len(own)])),
                ),
                shape=vl.Shape("flow:N", title=None, scale=vl.Scale(domain=own)),
            )
        )
        panels.append(Panel(title, chart))
    return panels


def draw_intervals(points: pl.DataFrame) -> list[Panel]:
    """Draw rate, marked share and the probe's wait against the MAP interval, for Prague alone."""
    parts = pl.col("case").str.split_exact("-", 1)
    rows = measure(points).filter(flows="alone").with_columns(parts.alias("parts")).unnest("parts")
    rows = rows.filter(
        pl.col("field_0").is_in(list(SETTINGS)) & pl.col("field_1").is_in(["1", "2", "4"])
    )
    table = rows.group_by("field_0", "field_1", maintain_order=True).agg(
        pl.col("prague", "marked", "wait_p99").mean()
    )
    table = table.with_columns(
        setting=pl.col("field_0").replace_strict(SETTINGS),
        interval=pl.col("field_1").cast(pl.Int64),
        rate=pl.col("prague") * RATE / 1e6,
    )
    names = list(SETTINGS.values())
    x = vl.X("interval:Q", title="MAP interval (ms)", scale=vl.Scale(domain=[0, 4]))
    color = vl.Color(
        "setting:N", title=None, scale=vl.Scale(domain=names, range=list(PALETTE[: len(names)]))
    )
    shape = vl.Shape("setting:N", title=None, scale=vl.Scale(domain=names))
    shown = {
        "rate": ("rate", "Prague's rate (Mbit/s)"),
        "marked": ("marks", "share of packets marked"),
        "wait_p99": ("wait of the probe", "99th percentile (ms)"),
    }
    return [
        Panel(
            title,
            vl.layer(
                make_chart(table)
                .mark_line()
                .encode(x=x, y=vl.Y(f"{column}:Q", title=axis), color=color),
                make_chart(table)
                .mark_point(filled=True, size=80)
                .encode(x=x, y=vl.Y(f"{column}:Q", title=axis), color=color, shape=shape),
            ),
        )
        for column, (title, axis) in shown.items()
    ]
