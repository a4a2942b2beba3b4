"""What request and grant cost an idle modem's packets, beside RFC 8034's 4 to 8 ms."""

from __future__ import annotations

from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import colour, make_chart, share_axis
from headend.study import ClaimResult, decide

#: What is drawn: modems, milliseconds from MAP to MAP.
CURVES = ((1, 2), (20, 2), (100, 2), (1, 4))

#: Where the drawing ends, in ms.
LONGEST = 16

NAMES = {"docsis30": "DOCSIS 3.0", "docsis31": "DOCSIS 3.1"}

#: DOCSIS 3.0 with twice the request opportunities in a MAP.
DOUBLED = "docsis30, ten opportunities"


def check_range(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the share of packets within the range against a half."""
    inside = pl.col("delays").list.eval(
        (pl.element() / 1e6).is_between(limits["low"], limits["high"])
    )
    rows = points.with_columns(share=inside.list.mean())
    own = rows.filter(pl.col("generation").is_in(limits["generations"])).sort("share")
    outside = own.filter(pl.col("share") <= limits["most"])
    shares = own["share"].to_list()
    text = f"{shares[0]:.0%} to {shares[-1]:.0%} of the packets, over {own.height} runs"
    if outside.is_empty():
        return ClaimResult(text, decide(True))
    why = f"outside: {_list_runs(outside)}"
    doubled = rows.filter(pl.col("generation") == DOUBLED)
    same = doubled.join(outside, on=["map_ms", "modems", "seed"], how="semi")
    doubled_shares = same["share"].to_list()
    if doubled_shares:
        why += (
            ". A MAP of an SC-QAM channel holds the same number of request opportunities however"
            " long its interval is, so that with MAPs every 4 ms modems wait and collide more. With"
            f" ten in each in place of five: {min(doubled_shares):.0%}"
        )
    return ClaimResult(text, decide(False), why=why)


def draw_distribution(points: pl.DataFrame) -> list[Panel]:
    """Draw the distribution of the delay, a panel for each generation."""
    panels = []
    for generation in points["generation"].unique(maintain_order=True):
        if generation not in NAMES:
            continue
        rows = _spread(points.filter(pl.col("generation") == generation))
        curves = (
            make_chart(rows)
            .mark_line(strokeWidth=2.2, clip=True)
            .encode(
                x=vl.X(
                    "delay_ms:Q",
                    title="one-way delay upstream (ms)",
                    scale=vl.Scale(domain=[0, LONGEST], nice=False),
                ),
                y=share_axis("packets"),
                order="share:Q",
                color=colour(rows),
                tooltip=[
                    "series:N",
                    vl.Tooltip("delay_ms:Q", format=".3~g"),
                    vl.Tooltip("share:Q", format="~%"),
                ],
            )
        )
        panels.append(Panel(NAMES[str(generation)], vl.layer(_shade_range(), curves)))
    return panels


def _shade_range() -> vl.Chart:
    """Shade the 4 to 8 ms of RFC 8034."""
    rows = pl.DataFrame({"delay_ms": [4.0], "end_ms": [8.0], "meaning": ["RFC 8034: 4 to 8 ms"]})
    base = make_chart(rows).encode(x="delay_ms:Q")
    band = base.mark_rect(color="#8c8c8c", opacity=0.18).encode(x2="end_ms:Q")
    words = base.mark_text(align="right", dx=-6).encode(y=vl.value(14), text="meaning:N")
    return vl.layer(band, words)


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
        (
            f"{NAMES[row['generation']]} with {row['modems']} modems and MAPs every {row['map_ms']}"
            f" ms ({row['share']:.0%})"
        )
        for row in rows.iter_rows(named=True)
    )
