"""What ten homes' games and calls gain from low latency, and what their pages and uploads pay."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import make_chart
from headend.study import ClaimResult, ClaimVerdict, decide

from ..dots import draw_dots
from ..seeds import average, compare, hold, take

#: The game's path, one way, in ms.
PATH = 10.0

#: Rate of a home's aggregate upstream in bit/s, and homes with both uploads.
RATE, MIXED = 20e6, 2

#: What findings and figures call the kinds of homes.
KINDS = {"classic": "CUBIC", "mixed": "CUBIC and Prague", "modern": "Prague"}

#: What a figure calls the cases.
CASES = {
    "idle": "idle line",
    "off": "off",
    "on": "on",
    "2019": "on, values of 2019",
    "pgs": "on, PGS",
    "backlog": "on, backlog upstream",
    "2019-backlog": "on, values of 2019, backlog upstream",
    "timestamps": "on, PIE with timestamps",
}

#: What a figure calls what pays, with its column.
PRICES = {
    "pages beside CUBIC": "page_classic",
    "pages beside both": "page_mixed",
    "pages beside Prague": "page_modern",
    "CUBIC": "cubic_classic",
    "CUBIC beside Prague": "cubic_mixed",
    "Prague beside CUBIC": "prague_mixed",
    "Prague": "prague_modern",
}


def contrast(
    points: pl.DataFrame, column: str, one: str, other: str, path: float = 0.0
) -> dict[str, list[float]]:
    """Give a delay beyond a path, in ms, of one case over another, per home and seed."""
    return {
        name: compare(
            wait(points, f"{column}_{kind}", one, path),
            wait(points, f"{column}_{kind}", other, path),
        )
        for kind, name in KINDS.items()
    }


def wait(points: pl.DataFrame, column: str, case: str, path: float = PATH) -> list[float]:
    """Give what a delay is beyond a path in a case, in ms, a value for each seed."""
    return [value / 1e6 - path for value in take(points, column, case=case)]


def check_game(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the game's wait upstream in one case over that in another."""
    found = contrast(points, "game_up", limits["one"], limits["other"], PATH)
    return hold(found, limits.get("low", 0.0), limits["high"])


def check_idle(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold by how much the game waits longer upstream in a case than on the idle line, in ms."""
    found = {}
    for kind in limits.get("kinds", KINDS):
        waits = [wait(points, f"game_up_{kind}", case) for case in (limits["case"], "idle")]
        found[KINDS[kind]] = [mine - its for mine, its in zip(*waits, strict=False)]
    return hold(found, high=limits["high_ms"], unit=" ms")


def check_same(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold how much longer or shorter the game waits up in one case than another, in ms."""
    found = {}
    for kind, name in KINDS.items():
        waits = [wait(points, f"game_up_{kind}", limits[case]) for case in ("one", "other")]
        found[name] = [mine - its for mine, its in zip(*waits, strict=False)]
    within = limits["within_ms"]
    return hold(found, -within, within, unit=" ms")


def check_down(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the game's wait downstream in one case over that in another."""
    return hold(contrast(points, "game_down", limits["one"], limits["other"], PATH), high=1.0)


def check_call(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the delay of the call's frames upstream in one case over that in another."""
    return hold(contrast(points, "call_up", limits["one"], limits["other"]), high=1.0)


def check_call_rate(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the call's rate upstream in one case over that in another, and tell both."""
    found, told = {}, []
    for kind, name in KINDS.items():
        rates = [take(points, f"call_rate_{kind}", case=limits[case]) for case in ("one", "other")]
        found[name] = compare(*rates)
        if all(rates):
            told.append(f"{average(rates[1]) / 1e6:.2f} to {average(rates[0]) / 1e6:.2f} Mbit/s")
    finding = hold(found, 1.0)
    return replace(finding, measured=f"{finding.measured}: {', '.join(told)}")


def check_pages(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the load time of pages in one case over that in another."""
    found = contrast(points, "page", limits["one"], limits["other"])
    why = (
        "requests and acknowledgements wait in the classic queue, longer where Prague leaves less"
        " of the rate to it; what DOCSIS-PIE has to do with it is HOMES.pages-cause"
    )
    return hold(found, high=limits["high"], why=why)


def check_cause(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the load time of pages beside both uploads with timestamps over that without."""
    found = contrast(points, "page", "timestamps", "on")
    return hold({KINDS["mixed"]: found[KINDS["mixed"]]}, high=limits["high"])


def take_sanctions(points: pl.DataFrame, case: str) -> dict[str, list[float]]:
    """Give the share of the call's packets sanctioned, in per cent, per home and seed."""
    return {
        name: [
            100 * share
            for share in compare(
                take(points, f"call_sanctioned_{kind}", case=case),
                take(points, f"call_sent_{kind}", case=case),
            )
        ]
        for kind, name in KINDS.items()
    }


def check_sanctions(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the share of the call's packets that were sanctioned, and look for any of the game's."""
    case = limits["case"]
    game = sum(sum(take(points, f"game_sanctioned_{kind}", case=case)) for kind in KINDS)
    finding = hold(take_sanctions(points, case), high=100 * limits["high"], unit=" %")
    verdict = ClaimVerdict.DIFFERS if game else finding.verdict
    return replace(
        finding, measured=f"{finding.measured}; {game:.0f} of the games", verdict=verdict
    )


def check_2019(points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Hold the call's sanctioned share with 2019's values less that of today's, in per cent."""
    found = contrast_sanctions(points, "2019", "on")
    finding = hold(found, unit=" % more")
    if finding.verdict is ClaimVerdict.UNTESTABLE:
        return finding
    by_backlog = contrast_sanctions(points, "2019-backlog", "backlog")
    told = ", ".join(
        f"{average(values):.2f} % more ({name})" for name, values in by_backlog.items() if values
    )
    why = (
        "with the delay estimated from the backlog, to which the wait for a grant belongs, it is"
        f" {told}"
    )
    agrees = all(average(values) > 0 for values in found.values() if values)
    return replace(finding, verdict=decide(agrees), why="" if agrees or not told else why)


def contrast_sanctions(points: pl.DataFrame, one: str, other: str) -> dict[str, list[float]]:
    """Give the call's sanctioned share in one case less that in another, in per cent."""
    first, second = take_sanctions(points, one), take_sanctions(points, other)
    return {
        name: [mine - its for mine, its in zip(first[name], second[name], strict=False)]
        for name in first
    }


def check_upload(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the rate of an upload in one case over that in another."""
    flow = limits["flow"]
    values = compare(
        take(points, flow, case=limits["one"]), take(points, flow, case=limits["other"])
    )
    return hold(
        {CASES[limits["one"]]: values},
        limits.get("low", 0.0),
        limits.get("high", math.inf),
    )


def check_mixed(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the share of the rate that CUBIC has in a home with Prague, in per cent."""
    rates = take(points, "cubic_mixed", case=limits["case"])
    found = {CASES[limits["case"]]: [100 * rate / MIXED / RATE for rate in rates]}
    return hold(found, 100 * limits["low"], digits=1, unit=" %")


def draw_game(points: pl.DataFrame) -> list[Panel]:
    """Draw the game's wait in each case and kind of home, a panel for each direction."""
    names = list(KINDS.values())
    panels = []
    for way, title in (("up", "upstream"), ("down", "downstream")):
        columns = [f"game_{way}_{kind}" for kind in KINDS]
        means = points.group_by("case", maintain_order=True).agg(pl.col(*columns).mean())
        long = means.unpivot(columns, index="case", variable_name="kind").with_columns(
            case=pl.col("case").replace_strict(CASES),
            kind=pl.col("kind").str.strip_prefix(f"game_{way}_").replace_strict(KINDS),
            wait=pl.col("value") / 1e6 - PATH,
        )
        chart = draw_dots(
            long, vl.X("wait:Q", title="99th percentile (ms)"), "kind", names, list(CASES.values())
        )
        panels.append(Panel(title, chart))
    return panels


def draw_price(points: pl.DataFrame) -> list[Panel]:
    """Draw load times and rates over those without low latency."""
    columns = list(PRICES.values())
    means = points.group_by("case", maintain_order=True).agg(pl.col(*columns).mean())
    base = means.filter(case="off")
    rows = [
        {"case": CASES[row["case"]], "what": what, "ratio": row[column] / base[column][0]}
        for row in means.iter_rows(named=True)
        if row["case"] not in ("idle", "off")
        for what, column in PRICES.items()
    ]
    x = vl.X("ratio:Q", title="over low latency off")
    panels = []
    for kind, title in (("page", "load time of pages"), ("", "rate of uploads")):
        own = [name for name, column in PRICES.items() if column.startswith("page") == bool(kind)]
        table = pl.DataFrame([row for row in rows if row["what"] in own])
        rule = make_chart(pl.DataFrame({"ratio": [1.0]})).mark_rule().encode(x=x)
        panels.append(
            Panel(title, vl.layer(rule, draw_dots(table, x, "what", own, list(CASES.values()))))
        )
    return panels
