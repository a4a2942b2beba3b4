"""Figures 12 to 16 of the Buffer Control guideline: a page in three browsers beside uploads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import altair as alt
import polars as pl

from headend.figures.figure import Panel
from headend.figures.theme import AnyChart, make_chart, mark_across
from headend.study.buffers import draw_over_buffers, find_best
from headend.study.claims import Finding, Verdict, decide

BROWSERS = ("Internet Explorer 7", "Chrome 13", "Firefox 6")

#: What the guideline saw without uploads, in s.
PUBLISHED_IDLE = (3.0, 5.0)


def tabulate(points: pl.DataFrame) -> pl.DataFrame:
    """Average the seeds, with browser and buffer apart; times in s, waits in ms."""
    return (
        points.with_columns(
            browser=pl.col("test").str.extract(r"^(.*),"),
            buffer_kib=pl.col("test").str.extract(r"(\d+) KiB$").cast(pl.Int64),
        )
        .group_by("browser", "rate_mbps", "uploads", "buffer_kib", maintain_order=True)
        .agg(
            load_s=pl.col("load").mean() / 1e9,
            lost=pl.col("lost").mean(),
            wait_ms=pl.col("queue").mean() / 1e6,
        )
        .sort("browser", "rate_mbps", "uploads", "buffer_kib")
    )


def find_idle(points: pl.DataFrame) -> dict[str, float]:
    """Give each browser's time without uploads, in s: the median over rates and buffers."""
    rows = tabulate(points).filter(pl.col("uploads") == 0).group_by("browser", maintain_order=True)
    return dict(rows.agg(pl.col("load_s").median()).iter_rows())


def check_no_load(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Hold times without uploads against the published range."""
    idle = find_idle(points)
    agrees = all(limits["low_s"] <= idle[name] <= limits["high_s"] for name in BROWSERS)
    spare = (
        (limits["low_s"] - max(idle.values())) / 100,
        (limits["high_s"] - min(idle.values())) / 100,
    )
    why = (
        ""
        if agrees
        else (
            "these are the network's times. The rest is the browser's own, which is not modelled: the published range leaves it"
            f" {1e3 * max(spare[0], 0):.0f} to {1e3 * spare[1]:.0f} ms for each of a hundred images, which is what browsers and"
            " computers of those years took to decode and lay them out, or a server to answer"
        )
    )
    text = ", ".join(f"{idle[name]:.1f} s ({name})" for name in BROWSERS)
    return Finding(text, decide(agrees), why=why)


def check_round_trips(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Count times without uploads in round trips."""
    trips = {name: 1e3 * load / limits["rtt_ms"] for name, load in find_idle(points).items()}
    text = ", ".join(f"{trips[name]:.0f} ({name})" for name in BROWSERS)
    return Finding(text, decide(min(trips.values()) >= limits["least"]))


def check_worst(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare the longest times with those without uploads."""
    idle = find_idle(points)
    rows = tabulate(points).filter(pl.col("buffer_kib") == limits["buffer_kib"])
    found, most = [], 0.0
    for name in BROWSERS:
        longest = float(rows.filter(pl.col("browser") == name)["load_s"].max())  # type: ignore[arg-type]
        found.append(f"{longest / idle[name]:.0f} times, {longest:.0f} s ({name})")
        most = max(most, longest / idle[name])
    seconds = float(rows["load_s"].max())  # type: ignore[arg-type]
    why = f"against the published 3 to 5 s without uploads, {seconds:.0f} s are {seconds / 5:.0f} to {seconds / 3:.0f} times"
    return Finding(", ".join(found), decide(most > limits["times"]), why=why)


def check_slow(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Look for fast pages among those that met long waits."""
    idle = find_idle(points)
    rows = tabulate(points).filter(pl.col("wait_ms") >= limits["wait_ms"])
    if rows.is_empty():
        return Finding("no such wait", Verdict.UNTESTABLE)
    times = rows.select(
        pl.col("load_s") / pl.col("browser").replace_strict(idle, return_dtype=pl.Float64)
    ).to_series()
    least = float(times.min())  # type: ignore[arg-type]
    text = f"{least:.1f} times as long at the least of {rows.height} cases"
    return Finding(text, decide(least >= limits["times"]))


def check_levels(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare 256 with 64 KiB beside one upload, which should not matter."""
    ratios = _compare_large(points, limits["browser"])
    worst = max(abs(ratio - 1) for ratio in ratios.values())
    return Finding(_tell(ratios), decide(worst <= limits["within"]))


def check_no_levels(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare 256 with 64 KiB beside one upload, which should matter."""
    ratios = _compare_large(points, limits["browser"])
    return Finding(_tell(ratios), decide(min(ratios.values()) >= limits["least"]))


def check_tracks(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare one upload with ten."""
    rows = tabulate(points).filter(pl.col("browser") == limits["browser"])
    pairs = rows.pivot("uploads", index=["rate_mbps", "buffer_kib"], values="load_s")
    pairs = pairs.with_columns(short=1 - pl.col("1") / pl.col("10"))
    above = pairs.filter(pl.col("short") <= 0)
    middle = float(pairs["short"].median())  # type: ignore[arg-type]
    text = f"below in {pairs.height - above.height} of {pairs.height} cases, by {middle:.0%} at the median"
    why = "not below: " + _list_places(above) if above.height else ""
    agrees = above.is_empty() and middle < limits["median"]
    return Finding(text, decide(agrees), why=why)


def check_smallest(points: pl.DataFrame, _limits: dict[str, Any]) -> Finding:
    """Find the best buffer of each browser at each rate beside ten uploads."""
    rows = tabulate(points).filter(pl.col("uploads") == 10)
    best = find_best(rows, ["browser", "rate_mbps"], "load_s", highest=False).join(
        rows.select("browser", "rate_mbps", "lost", best="buffer_kib"),
        on=["browser", "rate_mbps", "best"],
        maintain_order="left",
    )
    smallest = rows.group_by("browser", maintain_order=True).agg(least=pl.col("buffer_kib").min())
    cases = best.join(smallest, on="browser", maintain_order="left")
    others = cases.filter(pl.col("best") != pl.col("least"))
    others = others.join(
        rows.rename({"load_s": "least_s", "lost": "least_lost"}).select(
            "browser", "rate_mbps", "buffer_kib", "least_s", "least_lost"
        ),
        left_on=["browser", "rate_mbps", "least"],
        right_on=["browser", "rate_mbps", "buffer_kib"],
    )
    why = "; ".join(
        f"{row['best']} KiB in {row['browser']} at {row['rate_mbps']} Mb/s: {row['load_s']:.2f} s, and {row['least_s']:.2f} s"
        f" with {row['least']} KiB, which loses {row['least_lost']:.1%} of the page's own upstream packets ({row['lost']:.1%} here)"
        for row in others.iter_rows(named=True)
    )
    text = f"{cases.height - others.height} of {cases.height} cases"
    return Finding(text, decide(others.is_empty()), why=why)


def check_browsers(points: pl.DataFrame, _limits: dict[str, Any]) -> Finding:
    """Rank the browsers, without uploads and beside ten."""
    idle = find_idle(points)
    rows = tabulate(points).filter(pl.col("uploads") == 10)
    pairs = rows.pivot("browser", index=["rate_mbps", "buffer_kib"], values="load_s").drop_nulls()
    slowest = pairs.filter(pl.col("Chrome 13") == pl.max_horizontal(*BROWSERS)).height
    agrees = sorted(BROWSERS, key=lambda name: idle[name])[0] == BROWSERS[0]
    agrees &= max(BROWSERS, key=lambda name: idle[name]) == BROWSERS[1]
    idle_text = " < ".join(sorted(BROWSERS, key=lambda name: idle[name]))
    text = (
        f"without uploads {idle_text}; Chrome slowest in {slowest} of {pairs.height} cases with ten"
    )
    return Finding(text, decide(agrees and slowest == pairs.height))


def check_rates(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
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
    return Finding(f"at {rates} Mb/s: " + "; ".join(found), decide(agrees))


def draw_browsers(points: pl.DataFrame) -> list[Panel]:
    """Draw Figures 12 to 14: a panel for each browser and rate, a line for each number of uploads."""
    rows = tabulate(points).with_columns(
        series=pl.format("{}TCP", "uploads"),
        slot=pl.col("uploads").rank("dense").cast(pl.Int64) - 1,
    )
    panels = []
    for name in BROWSERS:
        for rate, part in _split(rows.filter(pl.col("browser") == name), "rate_mbps"):
            chart = _draw(part)
            slug = name.split()[0].lower()
            panels.append(Panel(f"{name} at {rate} Mb/s", chart, name=f"load-{slug}-{rate}-mbps"))
    return panels


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
        panels.append(Panel(name, alt.layer(shade, lines, mark), name=f"rates-{slug}"))
    return panels


def _draw(rows: pl.DataFrame) -> AnyChart:
    title = "page load time, median of ten (s)"
    return draw_over_buffers(rows, "load_s", title, domain=(1, 150), log=True)


def _compare_large(points: pl.DataFrame, browser: str) -> dict[int, float]:
    """Give the time with 256 KiB over that with 64 KiB beside one upload, by rate."""
    rows = tabulate(points).filter(pl.col("browser") == browser, pl.col("uploads") == 1)
    pairs = rows.pivot("buffer_kib", index="rate_mbps", values="load_s")
    return dict(pairs.select("rate_mbps", pl.col("256") / pl.col("64")).iter_rows())


def _tell(ratios: dict[int, float]) -> str:
    return ", ".join(f"{ratio:.2f} times at {rate} Mb/s" for rate, ratio in ratios.items())


def _list_places(rows: pl.DataFrame) -> str:
    return ", ".join(
        f"{row['rate_mbps']} Mb/s {row['buffer_kib']} KiB ({row['1']:.1f} and {row['10']:.1f} s)"
        for row in rows.iter_rows(named=True)
    )


def _split(rows: pl.DataFrame, column: str) -> Iterator[tuple[object, pl.DataFrame]]:
    for (value,), part in rows.group_by(column, maintain_order=True):
        yield value, part
