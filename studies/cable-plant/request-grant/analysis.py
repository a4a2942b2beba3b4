"""The distribution of what request and grant cost an idle modem's packets, beside the 4 to 8 ms of RFC 8034."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from headend.figures.figure import Panel
from headend.figures.theme import AnyChart, colour, dash, make_chart, share_axis
from headend.study.claims import Finding, decide

#: What is drawn: modems, milliseconds from MAP to MAP.
CURVES = ((1, 2), (20, 2), (100, 2), (1, 4))

#: Where the drawing ends, in ms.
LONGEST = 16

#: Why MAPs that come seldom cost DOCSIS 3.0 more.
FEWER = (
    "A MAP of an SC-QAM channel holds the same number of request opportunities however long its interval is, so with MAPs"
    " every 4 ms backoff takes twice as long; OFDMA has its opportunities every so many frames"
)

NAMES = {"docsis30": "DOCSIS 3.0", "docsis31": "DOCSIS 3.1"}


def check_median(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Hold the medians against the range."""
    rows = points.filter(pl.col("map_ms") == limits["map_ms"]).with_columns(
        median=pl.col("delays").list.get(50) / 1e6
    )
    outside = rows.filter(~pl.col("median").is_between(limits["low"], limits["high"]))
    medians = sorted(rows["median"].to_list())
    text = f"{medians[0]:.1f} to {medians[-1]:.1f} ms over {rows.height} runs"
    why = ""
    if outside.height:
        why = f"outside: {_list_runs(outside)}. {FEWER if limits['map_ms'] > 2 else ''}".strip()
    return Finding(text, decide(outside.is_empty()), why=why)


def check_range(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Look at how a lone modem's packets spread over the range."""
    found, agrees = [], True
    rows = points.filter((pl.col("map_ms") == limits["map_ms"]) & (pl.col("modems") == 1))
    for row in rows.to_dicts():
        delays = [delay / 1e6 for delay in row["delays"]]
        inside = sum(limits["low"] <= delay <= limits["high"] for delay in delays) / len(delays)
        found.append(
            f"{NAMES[row['generation']]}: {inside:.0%} within, quartiles {delays[25]:.1f} and"
            f" {delays[75]:.1f} ms, {delays[1]:.1f} to {delays[99]:.1f} ms but for one in fifty"
        )
        agrees &= inside >= limits["share"]
        agrees &= delays[75] - delays[25] >= limits["quartiles_ms"]
    return Finding("; ".join(found), decide(agrees))


def draw_distribution(points: pl.DataFrame) -> list[Panel]:
    """Draw the distribution of the delay, a panel for each generation."""
    panels = []
    for generation in points["generation"].unique(maintain_order=True):
        rows = _spread(points.filter(pl.col("generation") == generation))
        curves = (
            make_chart(rows)
            .mark_line(strokeWidth=2.2, clip=True)
            .encode(
                x=alt.X(
                    "delay_ms:Q",
                    title="one-way delay upstream (ms)",
                    scale=alt.Scale(domain=[0, LONGEST], nice=False),
                ),
                y=share_axis("packets"),
                order="share:Q",
                color=colour(rows),
                strokeDash=dash(rows, smooth=True),
                tooltip=[
                    "series:N",
                    alt.Tooltip("delay_ms:Q", format=".3~g"),
                    alt.Tooltip("share:Q", format="~%"),
                ],
            )
        )
        panels.append(Panel(NAMES[str(generation)], alt.layer(_shade_range(), curves)))
    return panels


def _shade_range() -> AnyChart:
    """Shade the 4 to 8 ms of RFC 8034."""
    rows = pl.DataFrame({"delay_ms": [4.0], "end_ms": [8.0], "meaning": ["RFC 8034: 4 to 8 ms"]})
    base = make_chart(rows).encode(x="delay_ms:Q")
    band = base.mark_rect(color="#8c8c8c", opacity=0.18).encode(x2="end_ms:Q")
    words = base.mark_text(align="right", dx=-6).encode(y=alt.value(14), text="meaning:N")
    return alt.layer(band, words)


def _spread(points: pl.DataFrame) -> pl.DataFrame:
    """Give a row for each percentile of each curve."""
    rows = []
    for slot, (modems, map_ms) in enumerate(CURVES):
        chosen = points.filter((pl.col("modems") == modems) & (pl.col("map_ms") == map_ms))
        for row in chosen.to_dicts():
            noun = "modem" if modems == 1 else "modems"
            series = f"{modems} {noun}, {map_ms} ms MAPs"
            rows += [
                {"series": series, "slot": slot, "share": percent / 100, "delay_ms": delay / 1e6}
                for percent, delay in enumerate(row["delays"])
            ]
    return pl.DataFrame(rows)


def _list_runs(rows: pl.DataFrame) -> str:
    return ", ".join(
        f"{NAMES[row['generation']]} with {row['modems']} ({row['median']:.1f} ms)"
        for row in rows.iter_rows(named=True)
    )
