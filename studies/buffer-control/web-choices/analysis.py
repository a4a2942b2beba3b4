"""What the Buffer Control guideline's web test leaves open: how buffers are counted, and acknowledgements apart."""

from __future__ import annotations

from typing import Any

import polars as pl

from headend.figures.figure import Panel
from headend.study.buffers import draw_over_buffers, find_best
from headend.study.claims import Finding, decide

BROWSERS = {
    "internet_explorer_7": "Internet Explorer 7",
    "chrome_13": "Chrome 13",
    "firefox_6": "Firefox 6",
}

#: Whether acknowledgements wait in the queue.
ACKNOWLEDGEMENTS = {"off": "in the queue", "apart": "apart"}


def tabulate(points: pl.DataFrame) -> pl.DataFrame:
    """Average the seeds, with size and way of counting apart; times in s."""
    return (
        points.with_columns(
            buffer_kib=pl.col("buffer").str.extract(r"^(\d+)").cast(pl.Int64),
            counted=pl.col("buffer").str.extract(r"(\w+)$"),
        )
        .group_by("counted", "acknowledgements", "browser", "buffer_kib", maintain_order=True)
        .agg(load_s=pl.col("load").mean() / 1e9, lost=pl.col("lost").mean())
        .sort("counted", "acknowledgements", "browser", "buffer_kib")
    )


def check_smallest(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Find the best buffer of each browser, with acknowledgements in the queue and apart."""
    rows = tabulate(points).filter(pl.col("counted") == limits["counted"])
    best = find_best(rows, ["acknowledgements", "browser"], "load_s", highest=False)
    others = best.filter(pl.col("best") != rows["buffer_kib"].min())
    smallest = rows.filter(pl.col("buffer_kib") == rows["buffer_kib"].min())
    lost = float(smallest["lost"].max())  # type: ignore[arg-type]
    why = "; ".join(
        f"{row['best']} KiB in {BROWSERS[row['browser']]}, acknowledgements {ACKNOWLEDGEMENTS[row['acknowledgements']]}"
        for row in others.iter_rows(named=True)
    )
    if why:
        why += f". The smallest buffer loses up to {lost:.0%} of the page's own upstream packets, and a lost SYN costs 3 s"
    text = f"{best.height - others.height} of {best.height} cases"
    return Finding(text, decide(others.is_empty()), why=why)


def check_acceleration(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare pages with acknowledgements apart with those whose acknowledgements wait."""
    rows = tabulate(points).filter(pl.col("counted") == "bytes", pl.col("buffer_kib") == 256)
    pairs = rows.pivot("acknowledgements", index="browser", values="load_s").sort("browser")
    text = ", ".join(
        f"{row['apart']:.1f} instead of {row['off']:.1f} s ({BROWSERS[row['browser']]})"
        for row in pairs.iter_rows(named=True)
    )
    agrees = bool((pairs["apart"] >= limits["least"] * pairs["off"]).all())
    return Finding(text, decide(agrees))


def draw_choices(points: pl.DataFrame) -> list[Panel]:
    """Draw the load times over the buffer, a panel for each choice."""
    rows = tabulate(points).with_columns(
        series=pl.col("browser").replace_strict(BROWSERS),
        slot=pl.col("browser").replace_strict(
            {name: place for place, name in enumerate(BROWSERS)}, return_dtype=pl.Int64
        ),
    )
    panels = []
    for (counted, mode), part in rows.group_by("counted", "acknowledgements", maintain_order=True):
        title = f"Counted in {counted}, acknowledgements {ACKNOWLEDGEMENTS[str(mode)]}"
        chart = draw_over_buffers(
            part, "load_s", "page load time, median of five (s)", domain=(1, 150), log=True
        )
        panels.append(Panel(title, chart, name=f"load-{counted}-{mode}"))
    return panels
