"""Table 2 of the Buffer Control guideline, derived from calls and uploads rather than copied."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import colour, make_chart, mark_across
from headend.study import ClaimResult, decide

from ..buffers import draw_over_buffers, measure_leads
from ..buffers import find_best as find_top

#: Table 2.
PUBLISHED_KIB = {1: 8, 2: 16, 5: 32, 10: 50}

#: The smallest buffer of the guideline's tests.
LEAST_TESTED_KIB = 8

#: What share of the rate is all of it, in whole percent.
FULL = 0.995


def tabulate(points: pl.DataFrame) -> pl.DataFrame:
    """Average the seeds: score, shares of the rate, and best calls for each rate and buffer."""
    places = ["rate_mbps", "buffer_kib"]
    rows = points.group_by(*places, "uploads", maintain_order=True).agg(
        pl.col("used", "mos").mean()
    )
    used = rows.pivot("uploads", index=places, values="used")
    one = rows.filter(pl.col("uploads") == "one").select(*places, "mos")
    best = pl.concat([find_best(part) for _, part in _split(points)])
    return used.join(one, on=places).join(best, on=places).sort(places)


def find_best(points: pl.DataFrame) -> pl.DataFrame:
    """Say of each buffer whether calls are within a standard error of the best."""
    calls = points.filter(pl.col("uploads") == "one").select("buffer_kib", "seed", "mos")
    return (
        measure_leads(calls)
        .group_by("buffer_kib")
        .agg(
            rate_mbps=pl.lit(points["rate_mbps"][0]),
            is_best=pl.col("lead").mean() <= pl.col("lead").std().fill_null(0),
        )
        .select("rate_mbps", "buffer_kib", "is_best")
    )


def list_criteria(full: float) -> dict[str, pl.Expr]:
    """Give the conditions that a target meets."""
    return {"calls": pl.col("is_best"), "ten uploads": pl.col("ten") >= full}


def derive(points: pl.DataFrame, full: float) -> dict[int, int | None]:
    """Give the smallest buffer, KiB, that meets all conditions at each rate; or None."""
    targets: dict[int, int | None] = {}
    for rate, rows in _split(tabulate(points)):
        good = rows.filter(*list_criteria(full).values())
        targets[rate] = None if good.is_empty() else int(good.row(0, named=True)["buffer_kib"])
    return targets


def find_tops(points: pl.DataFrame) -> dict[int, int | None]:
    """Give the buffer, KiB, with which calls score best at each rate, whatever uploads get."""
    calls = points.filter(pl.col("uploads") == "one")
    means = calls.group_by("rate_mbps", "buffer_kib").agg(pl.col("mos").mean())
    tops = find_top(means, ["rate_mbps"], "mos")
    return {int(row["rate_mbps"]): int(row["best"]) for row in tops.iter_rows(named=True)}


def check_targets(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare derived targets with the recommended ones."""
    derived = derive(points, limits["full"])
    agrees = all(target == limits["published_kib"][str(rate)] for rate, target in derived.items())
    text = ", ".join(
        f"{target or 'no'} KiB for {limits['published_kib'][str(rate)]} at {rate} Mb/s"
        for rate, target in derived.items()
    )
    why = _describe_ranges(points, limits["full"])
    tested = points.filter(pl.col("buffer_kib") >= LEAST_TESTED_KIB)
    if tested.height < points.height:
        targets, tops = derive(tested, limits["full"]), find_tops(tested)
        why += (
            f". Without buffers below {LEAST_TESTED_KIB} KiB, which the guideline did not try:"
            f" {_list(targets)};"
            f" with the best score alone in place of those near it: {_list(tops)}"
        )
    return ClaimResult(text, decide(agrees), why=why)


def draw_targets(points: pl.DataFrame) -> list[Panel]:
    """Draw the ranges that each condition leaves, the derived targets and the published ones."""
    rows = []
    for rate, part in _split(tabulate(points)):
        for slot, (name, condition) in enumerate(list_criteria(FULL).items()):
            sizes = part.filter(condition)["buffer_kib"]
            if not sizes.is_empty():
                # Each size of the grid stands for an eighth of a doubling to either side, so that a
                # single one is seen.
                low, high = (float(size) for size in sizes.sort()[[0, -1]])
                rows.append((f"{rate} Mb/s", name, slot, low / 2**0.125, high * 2**0.125))
    ranges = pl.DataFrame(rows, schema=["rate", "series", "slot", "low", "high"], orient="row")
    order = [f"{rate} Mb/s" for rate in PUBLISHED_KIB]
    y = vl.Y("rate:N", title="upstream rate", sort=order)
    x = vl.X(
        "low:Q",
        title="buffer (KiB)",
        scale=vl.Scale(type="log", base=2, domain=[3.5, 140], nice=False),
        axis=vl.Axis(values=[4, 8, 16, 32, 64, 128]),
    )
    names = ranges["series"].unique(maintain_order=True).to_list()
    bars = (
        make_chart(ranges)
        .mark_bar(size=8, opacity=0.75)
        .encode(
            x=x,
            x2="high:Q",
            y=y,
            yOffset=vl.YOffset("series:N", sort=names),
            color=colour(ranges, "circle"),
        )
    )
    found = {f"{rate} Mb/s": size for rate, size in derive(points, FULL).items() if size}
    derived = make_chart(pl.DataFrame({"rate": list(found), "low": list(found.values())}))
    table = {
        f"{rate} Mb/s": size for rate, size in PUBLISHED_KIB.items() if f"{rate} Mb/s" in found
    }
    published = make_chart(pl.DataFrame({"rate": list(table), "low": list(table.values())}))
    ticks = derived.mark_tick(thickness=4, size=44, color="#8c8c8c").encode(x=x, y=y)
    diamonds = published.mark_point(
        shape="diamond", size=160, filled=True, color="#E69F00", stroke="#8c8c8c"
    ).encode(x=x, y=y)
    return [Panel("", vl.layer(bars, ticks, diamonds))]


def draw_curves(points: pl.DataFrame) -> list[Panel]:
    """Draw score and use of the line over the buffer."""
    rows = tabulate(points).with_columns(
        pl.col("one", "ten") * 100,
        series=pl.format("{} Mb/s", "rate_mbps"),
        slot=pl.col("rate_mbps").rank("dense").cast(pl.Int64) - 1,
    )
    used = "use of the line (%)"
    mos = draw_over_buffers(rows, "mos", "mean opinion score", domain=(1, 5))
    one = draw_over_buffers(rows, "one", used, domain=(0, 105))
    ten = draw_over_buffers(rows, "ten", used, domain=(0, 105))
    full = mark_across(100, "the provisioned rate")
    return [
        Panel("Calls beside one upload", vl.layer(mos, mark_across(4, "toll quality")), name="mos"),
        Panel("One upload", vl.layer(one, full), name="one-upload"),
        Panel("Ten uploads", vl.layer(ten, full), name="ten-uploads"),
    ]


def _list(targets: dict[int, int | None]) -> str:
    return ", ".join(
        f"{target or 'no'} KiB at {rate} Mb/s" for rate, target in sorted(targets.items())
    )


def _describe_ranges(points: pl.DataFrame, full: float) -> str:
    """Say which buffers meet each condition at each rate."""
    told = []
    for rate, rows in _split(tabulate(points)):
        parts = []
        for name, condition in list_criteria(full).items():
            sizes = [str(size) for size in rows.filter(condition)["buffer_kib"]]
            parts.append(f"{name} {', '.join(sizes) or 'none'}")
        told.append(f"{rate} Mb/s: {'; '.join(parts)} KiB")
    return " · ".join(told)


def _split(rows: pl.DataFrame) -> Iterator[tuple[int, pl.DataFrame]]:
    for (rate,), part in rows.group_by("rate_mbps", maintain_order=True):
        yield int(str(rate)), part
