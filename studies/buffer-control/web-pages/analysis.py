"""Figures 12 to 16 of the Buffer Control guideline: a page in three browsers beside uploads."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import make_chart, mark_across
from headend.study import ClaimResult, decide

from ..buffers import draw_over_buffers, find_slower

BROWSERS = ("Internet Explorer 7", "Chrome 13", "Firefox 6")

#: What the guideline saw without uploads, in s.
PUBLISHED_IDLE = (3.0, 5.0)

#: The standard error of a median of ten over the distance of the quartiles: 1.253 standard
#: deviations over √10, of which that distance is 1.349 (normal distribution).
MEDIAN_ERROR = 1.253 / 1.349 / 10**0.5


def tabulate(points: pl.DataFrame) -> pl.DataFrame:
    """Average the seeds, with browser and buffer apart; times in s."""
    return (
        points.with_columns(
            browser=pl.col("test").str.extract(r"^(.*),"),
            buffer_kib=pl.col("test").str.extract(r"(\d+) KiB$").cast(pl.Int64),
        )
        .group_by("browser", "rate_mbps", "uploads", "buffer_kib", maintain_order=True)
        .agg(
            load_s=pl.col("load").mean() / 1e9,
            error_s=((pl.col("slow") - pl.col("quick")) * MEDIAN_ERROR).mean() / 1e9,
            lost=pl.col("lost").mean(),
        )
        .sort("browser", "rate_mbps", "uploads", "buffer_kib")
    )


def find_idle(points: pl.DataFrame) -> dict[str, float]:
    """Give each browser's time without uploads, in s: the median over rates and buffers."""
    rows = tabulate(points).filter(pl.col("uploads") == 0).group_by("browser", maintain_order=True)
    return dict(rows.agg(pl.col("load_s").median()).iter_rows())


#: Why the page is faster here without uploads.
OWN_TIME = (
    "these are the network's times. With 150 ms for each resource at the server all three are"
    " within the range: --set flow.page.application.web.think=150ms gives 2.7, 5.4 and 4.2 s"
)


#: Why a page is faster beside one upload than beside ten by more than a little.
LESS_FULL = (
    "one upload keeps the buffer less full than ten do. In buffer-control/ping-latency, over the"
    " same 117 ms, a ping waits 6 to 66 % less beside one, 20 % at the median of 24 cases: most in"
    " small buffers, which §7.2.2.3 finds significantly less full too. At 5 Mb/s Reno (17 %) and"
    " blocks of 256 B (19 %) do not change it (15 % there in bytes)"
)


def check_no_load(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold times without uploads against the published range."""
    idle = find_idle(points)
    agrees = all(limits["low_s"] <= idle[name] <= limits["high_s"] for name in BROWSERS)
    why = "" if agrees else OWN_TIME
    text = ", ".join(f"{idle[name]:.1f} s ({name})" for name in BROWSERS)
    return ClaimResult(text, decide(agrees), why=why)


def check_worst(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare the longest times with those without uploads."""
    idle = find_idle(points)
    rows = tabulate(points).filter(pl.col("buffer_kib") == limits["buffer_kib"])
    found, most = [], 0.0
    for name in BROWSERS:
        longest = float(rows.filter(pl.col("browser") == name)["load_s"].max())  # type: ignore[arg-type]
        found.append(f"{longest / idle[name]:.0f} times, {longest:.0f} s ({name})")
        most = max(most, longest / idle[name])
    seconds = float(rows["load_s"].max())  # type: ignore[arg-type]
    why = (
        f"against the published 3 to 5 s without uploads, {seconds:.0f} s are {seconds / 5:.0f} to"
        f" {seconds / 3:.0f} times"
    )
    return ClaimResult(", ".join(found), decide(most > limits["times"]), why=why)


def check_levels(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare 256 with 64 KiB beside one upload, which should not matter."""
    found, agrees = [], True
    for browser in limits["browsers"]:
        times = _take_one(points, browser)
        told = ", ".join(
            f"{row['64']:.1f} and {row['256']:.1f} s at {row['rate_mbps']} Mb/s"
            for row in times.iter_rows(named=True)
        )
        found.append(f"{browser}: {told}")
        agrees &= bool((times["256"] - times["64"] < limits["within_s"]).all())
    return ClaimResult("; ".join(found), decide(agrees))


def check_tracks(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare one upload with ten, and follow one upload from a middle buffer to a large one."""
    rows = tabulate(points).filter(pl.col("browser") == limits["browser"])
    pairs = rows.pivot("uploads", index=["rate_mbps", "buffer_kib"], values="load_s")
    pairs = pairs.with_columns(short=1 - pl.col("1") / pl.col("10"))
    above = pairs.filter(pl.col("short") <= 0)
    times = _take_one(points, limits["browser"])
    growth: list[float] = (times[str(limits["to_kib"])] / times[str(limits["from_kib"])]).to_list()
    short = float(median(pairs["short"]))
    text = (
        f"below in {pairs.height - above.height} of {pairs.height} cases, by {short:.0%} at the"
        f" median; {min(growth):.1f} times as long with {limits['to_kib']} KiB as with"
        f" {limits['from_kib']} KiB at the least"
    )
    agrees = above.is_empty() and short <= limits["slightly"] and min(growth) > 1
    why = "" if agrees else LESS_FULL
    if above.height:
        why = f"not below: {_list_places(above)}. {why}"
    return ClaimResult(text, decide(agrees), why=why)


#: Why the smallest buffer is not best for Firefox at 10 Mb/s.
DROPPED = (
    "The smallest buffer drops the page's own packets, which wait for the retransmission timer."
    " For Firefox 6 at 10 Mb/s 8 KiB take 0.18 s longer than 16 KiB, and 0.07 s with"
    " acknowledgements queued apart, where 0.7% are dropped, or with a timer of at least 50 ms"
    " (flow.page.tcp.min_rto)"
)


def check_smallest(points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Compare each browser's smallest buffer at each rate with the best, beside ten uploads."""
    rows = tabulate(points).filter(pl.col("uploads") == 10).sort("buffer_kib")
    cases, others = 0, []
    for (browser, rate), least, best in find_slower(rows, ("browser", "rate_mbps")):
        cases += 1
        if best:
            others.append(
                f"{browser} at {rate} Mb/s: {least['load_s']:.1f} ± {least['error_s']:.1f} s with"
                f" {least['buffer_kib']} KiB, which drops {least['lost']:.1%} of the page's own"
                f" upstream packets, {best['load_s']:.1f} ± {best['error_s']:.1f} s with"
                f" {best['buffer_kib']} KiB, which drops {best['lost']:.1%}"
            )
    why = f"{'; '.join(others)}. {DROPPED}" if others else ""
    return ClaimResult(f"{cases - len(others)} of {cases} cases", decide(not others), why=why)


def check_browsers(points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Rank the browsers, without uploads and beside ten."""
    idle = find_idle(points)
    rows = tabulate(points).filter(pl.col("uploads") == 10)
    pairs = rows.pivot("browser", index=["rate_mbps", "buffer_kib"], values="load_s").drop_nulls()
    slowest = pairs.filter(pl.col("Chrome 13") == pl.max_horizontal(*BROWSERS)).height
    agrees = max(BROWSERS, key=lambda name: idle[name]) == BROWSERS[1]
    idle_text = " < ".join(sorted(BROWSERS, key=lambda name: idle[name]))
    text = (
        f"without uploads {idle_text}; Chrome slowest in {slowest} of {pairs.height} cases with ten"
    )
    return ClaimResult(text, decide(agrees and slowest == pairs.height))


def check_rates(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Follow the times over the rates beside ten uploads."""
    rows = tabulate(points).filter(
        pl.col("uploads") == 10, pl.col("buffer_kib") == limits["buffer_kib"]
    )
    found, agrees = [], True
    for name in BROWSERS:
        own = rows.filter(pl.col("browser") == name).sort("rate_mbps")
        found.append(", ".join(f"{load:.1f}" for load in own["load_s"]) + f" s ({name})")
        agrees &= bool((own["load_s"].diff().drop_nulls() < 0).all())
    rates = ", ".join(str(rate) for rate in rows["rate_mbps"].unique().sort())
    return ClaimResult(f"at {rates} Mb/s: " + "; ".join(found), decide(agrees))


def draw_internet_explorer(points: pl.DataFrame) -> list[Panel]:
    """Draw Figure 12."""
    return _draw_browser(points, BROWSERS[0])


def draw_chrome(points: pl.DataFrame) -> list[Panel]:
    """Draw Figure 13."""
    return _draw_browser(points, BROWSERS[1])


def draw_firefox(points: pl.DataFrame) -> list[Panel]:
    """Draw Figure 14."""
    return _draw_browser(points, BROWSERS[2])


def draw_comparison(points: pl.DataFrame) -> list[Panel]:
    """Draw Figure 15: a panel for each rate, a line for each browser."""
    rows = (
        tabulate(points)
        .filter(pl.col("uploads") == 10)
        .with_columns(
            series=pl.col("browser"),
            slot=pl.col("browser").replace_strict(
                {name: place for place, name in enumerate(BROWSERS)}, return_dtype=pl.Int64
            ),
        )
    )
    return [
        Panel(f"{rate} Mb/s upstream", _draw(part), name=f"browsers-{rate}-mbps")
        for rate, part in _split(rows, "rate_mbps")
    ]


def draw_rates(points: pl.DataFrame) -> list[Panel]:
    """Draw Figure 16: a panel for each browser, a line for each rate."""
    idle = find_idle(points)
    rows = (
        tabulate(points)
        .filter(pl.col("uploads") == 10)
        .with_columns(
            series=pl.format("{} Mb/s", "rate_mbps"),
            slot=pl.col("rate_mbps").rank("dense").cast(pl.Int64) - 1,
        )
    )
    band = make_chart(pl.DataFrame({"low": [PUBLISHED_IDLE[0]], "high": [PUBLISHED_IDLE[1]]}))
    shade = band.mark_rect(color="#8c8c8c", opacity=0.15).encode(y="low:Q", y2="high:Q")
    panels = []
    for name in BROWSERS:
        lines = _draw(rows.filter(pl.col("browser") == name))
        mark = mark_across(idle[name], "without uploads, here")
        slug = name.split()[0].lower()
        panels.append(Panel(name, vl.layer(shade, lines, mark), name=f"rates-{slug}"))
    return panels


def _draw_browser(points: pl.DataFrame, browser: str) -> list[Panel]:
    """Draw a panel for each rate, a line for each number of uploads."""
    rows = (
        tabulate(points)
        .filter(pl.col("browser") == browser)
        .with_columns(
            series=pl.format("{}TCP", "uploads"),
            slot=pl.col("uploads").rank("dense").cast(pl.Int64) - 1,
        )
    )
    slug = browser.split()[0].lower()
    return [
        Panel(f"{browser} at {rate} Mb/s", _draw(part), name=f"load-{slug}-{rate}-mbps")
        for rate, part in _split(rows, "rate_mbps")
    ]


def _draw(rows: pl.DataFrame) -> vl.Chart:
    title = "page load time, median of ten (s)"
    return draw_over_buffers(rows, "load_s", title, domain=(1, 150), log=True)


def _take_one(points: pl.DataFrame, browser: str) -> pl.DataFrame:
    """Give a browser's times beside one upload, s: rates by rows, buffers by columns."""
    rows = tabulate(points).filter(pl.col("browser") == browser, pl.col("uploads") == 1)
    return rows.pivot("buffer_kib", index="rate_mbps", values="load_s")


def _list_places(rows: pl.DataFrame) -> str:
    return ", ".join(
        f"{row['rate_mbps']} Mb/s {row['buffer_kib']} KiB ({row['1']:.1f} and {row['10']:.1f} s)"
        for row in rows.iter_rows(named=True)
    )


def _split(rows: pl.DataFrame, column: str) -> Iterator[tuple[object, pl.DataFrame]]:
    for (value,), part in rows.group_by(column, maintain_order=True):
        yield value, part
