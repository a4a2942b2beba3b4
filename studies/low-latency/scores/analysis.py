"""Two rows of a table of networks: what a call and a responsiveness test meet on each line."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.study import ClaimResult, ClaimVerdict

from ..dots import draw_dots
from ..seeds import average, compare, hold, take

#: The repository's budget for a round trip, ms.
BUDGET = 386.0

#: What findings and figures call the lines.
LINES = {"none": "no AQM", "aqm": "AQM", "ll": "low latency"}

#: What the figure calls the dots, with their column and load.
DOTS = {
    "idle, median": ("p50", "idle"),
    "idle, 99th percentile": ("p99", "idle"),
    "busy, median": ("p50", "busy"),
    "busy, 99th percentile": ("p99", "busy"),
}


def read_ms(points: pl.DataFrame, column: str, line: str, load: str) -> list[float]:
    """Give a time in ms, a value for each seed."""
    return [value / 1e6 for value in take(points, column, line=line, load=load)]


def check_working(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the 99th percentile of the round trip on a busy line."""
    found = {LINES[limits["line"]]: read_ms(points, "p99", limits["line"], "busy")}
    bounds = {name: limits[name] for name in ("low", "high") if name in limits}
    return hold(found, **bounds, digits=1, unit=" ms")


def check_half(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the 99th percentile with low latency over that with AQM."""
    ratios = compare(*(read_ms(points, "p99", line, "busy") for line in ("ll", "aqm")))
    why = "the transfers here never end; how full Comcast's lines were is not said"
    return hold({"low latency over AQM": ratios}, limits["low"], limits["high"], why=why)


def check_idle(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold how much longer the 99th percentile is on the busy line than on the idle one."""
    busy, idle = (read_ms(points, "p99", limits["line"], load) for load in ("busy", "idle"))
    more = [mine - its for mine, its in zip(busy, idle, strict=True)]
    return hold({LINES[limits["line"]]: more}, high=limits["high"], unit=" ms")


def check_rpm(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the test's result with low latency over that with AQM, in both directions."""
    found = {
        way: compare(
            *(take(points, f"rpm_{way}", line=line, load="test") for line in ("ll", "aqm"))
        )
        for way in ("up", "down")
    }
    return hold(found, low=limits["low"])


def check_row(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold budget and quality of a line, and tell all that its row of the table has."""
    line = limits["line"]
    working = read_ms(points, "p99", line, "busy")
    games = take(points, "games", line=line, load="busy")
    budget = hold({"budget": [value / BUDGET for value in working]}, high=limits["share"])
    quality = hold({"games": games}, low=limits["games"])
    worse = max(budget, quality, key=lambda one: one.verdict is not ClaimVerdict.REPRODUCED)
    if not working or not games:
        return worse
    return replace(worse, measured=tell_row(points, line))


def tell_row(points: pl.DataFrame, line: str) -> str:
    """Tell the cells of a line's row, each the mean of the seeds."""
    idle, working, jitter = (
        average(read_ms(points, column, line, load))
        for column, load in (("p50", "idle"), ("p99", "busy"), ("ipdv", "busy"))
    )
    call, games = (
        average(take(points, name, line=line, load="busy")) for name in ("call", "games")
    )
    rpm = [take(points, f"rpm_{way}", line=line, load="test") for way in ("up", "down")]
    tests = " and ".join(f"{average(own):.0f}" for own in rpm if own)
    return (
        f"idle latency {idle:.1f} ms; p99 working latency {working:.1f} ms; RPM {tests} (up, down);"
        f" jitter {jitter:.1f} ms; budget consumed {100 * working / BUDGET:.1f} %;"
        f" QoO {call:.0f} for calls, {games:.0f} for games"
    )


def draw_working(points: pl.DataFrame) -> list[Panel]:
    """Draw median and 99th percentile of each line, idle and busy."""
    rows = [
        {"case": name, "of": dot, "ms": average(values)}
        for line, name in LINES.items()
        for dot, (column, load) in DOTS.items()
        if (values := read_ms(points, column, line, load))
    ]
    x = vl.X("ms:Q", title="round trip (ms)", scale=vl.Scale(type="log"))
    return [Panel("", draw_dots(pl.DataFrame(rows), x, "of", list(DOTS), list(LINES.values())))]
