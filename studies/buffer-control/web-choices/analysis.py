"""What the Buffer Control guideline's web test leaves open: counting, acknowledgements."""

from __future__ import annotations

from typing import Any

import polars as pl

from headend.figures.figure import Panel
from headend.study import ClaimResult, decide

from ..buffers import draw_over_buffers, find_slower

BROWSERS = {
    "internet_explorer_7": "Internet Explorer 7",
    "chrome_13": "Chrome 13",
    "firefox_6": "Firefox 6",
}

#: The standard error of a median of five over the distance of the quartiles, as in
#: buffer-control/web-pages.
MEDIAN_ERROR = 1.253 / 1.349 / 5**0.5


def tabulate(points: pl.DataFrame) -> pl.DataFrame:
    """Average the seeds; times in s."""
    return (
        points.group_by("counts", "beside", "browser", "buffer_kib", maintain_order=True)
        .agg(
            pl.col("lost", "upload_lost").mean(),
            load_s=pl.col("load").mean() / 1e9,
            error_s=((pl.col("slow") - pl.col("quick")) * MEDIAN_ERROR).mean() / 1e9,
        )
        .sort("counts", "beside", "browser", "buffer_kib")
    )


def check_smallest(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare each browser's smallest buffer with the best, with acknowledgements and without."""
    rows = tabulate(points).filter(
        pl.col("counts") == limits["counts"], pl.col("beside") != "one upload"
    )
    cases, others = 0, []
    for (beside, browser), least, best in find_slower(rows, ("beside", "browser")):
        cases += 1
        if best:
            others.append(
                f"{BROWSERS[str(browser)]} beside {beside}: {least['load_s']:.1f} s with"
                f" {least['buffer_kib']} KiB, which drops {least['lost']:.0%} of the page's own"
                f" upstream packets, {best['load_s']:.1f} s with {best['buffer_kib']} KiB, which"
                f" drops {best['lost']:.0%}"
            )
    text = f"{cases - len(others)} of {cases} cases"
    return ClaimResult(text, decide(not others), why="; ".join(others))


def check_levels(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare 256 with 64 KiB beside one upload."""
    rows = tabulate(points).filter(
        pl.col("counts") == limits["counts"], pl.col("beside") == "one upload"
    )
    times = rows.pivot("buffer_kib", index="browser", values="load_s")
    text = ", ".join(
        f"{row['64']:.1f} and {row['256']:.1f} s ({BROWSERS[row['browser']]})"
        for row in times.iter_rows(named=True)
    )
    agrees = bool((times["256"] - times["64"] < limits["within_s"]).all())
    losses = rows.group_by("buffer_kib").agg(pl.col("upload_lost").mean()).sort("buffer_kib")
    told = ", ".join(
        f"{row['upload_lost']:.2%} with {row['buffer_kib']} KiB"
        for row in losses.iter_rows(named=True)
    )
    why = f"the upload, whose window is 46 packets of 1518 B, loses {told}"
    return ClaimResult(f"with 64 and 256 KiB: {text}", decide(agrees), why=why)


def draw_choices(points: pl.DataFrame) -> list[Panel]:
    """Draw the load times over the buffer, a panel for each choice."""
    rows = tabulate(points).with_columns(
        series=pl.col("browser").replace_strict(BROWSERS),
        slot=pl.col("browser").replace_strict(
            {name: place for place, name in enumerate(BROWSERS)}, return_dtype=pl.Int64
        ),
    )
    panels = []
    for (counts, beside), part in rows.group_by("counts", "beside", maintain_order=True):
        chart = draw_over_buffers(
            part, "load_s", "page load time, median of five (s)", domain=(1, 150), log=True
        )
        slug = f"{counts}-{beside}".replace(",", "").replace(" ", "-").lower()
        panels.append(Panel(f"Counted in {counts}, beside {beside}", chart, name=f"load-{slug}"))
    return panels
