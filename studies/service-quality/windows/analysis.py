"""§III.A of Nguyen and Armitage: what a TCP window is worth that was tuned to the idle line."""

from __future__ import annotations

from typing import Any, NamedTuple

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, make_chart
from headend.study import ClaimResult, decide

LINES = {"wifi": "802.11b cell", "cable": "cable line, 2 Mbit/s"}


class Tuned(NamedTuple):
    """What a window does that was tuned to the idle line.

    Parameters
    ----------
    product_bytes
        The idle round trip times what the line carries at most.
    window_bytes
        The smallest window of the study that is no smaller.
    share
        What it brings of the best window's goodput in the same company.
    next_share
        What the next larger window brings.
    best_bytes
        The best window.
    """

    idle_ns: float
    product_bytes: float
    window_bytes: int
    share: float
    next_share: float
    best_bytes: int


def tabulate(points: pl.DataFrame, line: str) -> pl.DataFrame:
    """Give goodput and round trip by window and company on one line, seeds' means; 0 is none."""
    return (
        points.group_by("window", "company", maintain_order=True)
        .agg(goodput=pl.col(f"{line}_goodput").mean(), rtt=pl.col(f"{line}_rtt").mean())
        .sort("company", "window")
    )


def tune(points: pl.DataFrame, line: str, company: str) -> Tuned:
    """Tune a window to the idle line, and compare it with the best in some company."""
    rows = tabulate(points, line)
    alone = rows.filter(company="alone")
    idle_ns = float(alone.filter(window=0)["rtt"][0])
    product = idle_ns * 1e-9 * float(alone["goodput"].max()) / 8  # type: ignore[arg-type]
    tried = rows.filter(pl.col("company") == company, pl.col("window") > 0).sort("window")
    best = tried.sort("goodput").row(-1, named=True)
    own, larger = tried.filter(pl.col("window") >= product).rows(named=True)[:2]
    return Tuned(
        idle_ns=idle_ns,
        product_bytes=product,
        window_bytes=own["window"],
        share=own["goodput"] / best["goodput"],
        next_share=larger["goodput"] / best["goodput"],
        best_bytes=best["window"],
    )


def check_tuned(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """See how far from the best an idle line's window is, beside another download."""
    beside, alone = (tune(points, limits["line"], company) for company in ("beside", "alone"))
    text = (
        f"idle {beside.idle_ns / 1e6:.1f} ms, so {beside.product_bytes / 1e3:.1f} kB: a window of"
        f" {beside.window_bytes / 1e3:.1f} kB has {beside.share:.0%} of what one of"
        f" {beside.best_bytes / 1e3:.0f} kB has, and the next larger {beside.next_share:.0%}; alone"
        f" {alone.share:.0%} and {alone.next_share:.0%}"
    )
    return ClaimResult(text, decide(beside.share <= limits["most"]))


def draw_windows(points: pl.DataFrame) -> list[Panel]:
    """Draw goodput over the window for each line, alone and beside another download."""
    return _draw(points, "goodput", "goodput, Mbit/s", 1e6)


def draw_round_trips(points: pl.DataFrame) -> list[Panel]:
    """Draw the round trip of a ping over the window for each line."""
    return _draw(points, "rtt", "round trip of a ping, ms", 1e6)


def _draw(points: pl.DataFrame, column: str, title: str, unit: float) -> list[Panel]:
    panels = []
    for line, name in LINES.items():
        rows = tabulate(points, line).filter(pl.col("window") > 0)
        rows = rows.with_columns(value=pl.col(column) / unit, kib=pl.col("window") / 1024)
        tuned = tune(points, line, "alone")
        mark = pl.DataFrame({"kib": [tuned.product_bytes / 1024], "words": ["idle product"]})
        x = vl.X(
            "kib:Q",
            title="receive window, KiB",
            scale=vl.Scale(type="log", domain=[0.5, 64], nice=False),
            axis=vl.Axis(values=[0.5, 1, 2, 4, 8, 16, 32, 64]),
        )
        lines = (
            make_chart(rows)
            .mark_line(point=True)
            .encode(
                x=x,
                y=vl.Y("value:Q", title=title, scale=vl.Scale(zero=True)),
                color=vl.Color(
                    "company:N",
                    scale=vl.Scale(domain=["alone", "beside"], range=list(PALETTE[:2])),
                    legend=vl.Legend(
                        title=None,
                        labelExpr="datum.label == 'alone' ? 'alone' : 'beside another download'",
                    ),
                ),
            )
        )
        rule = make_chart(mark).mark_rule(strokeDash=[4, 3]).encode(x=x)
        words = (
            make_chart(mark)
            .mark_text(align="right", dx=-4, baseline="top")
            .encode(x=x, y=vl.value(2), text="words:N")
        )
        panels.append(Panel(name, vl.layer(rule, words, lines), f"{column}-{line}"))
    return panels
