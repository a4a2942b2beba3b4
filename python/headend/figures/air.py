"""The figure of a cell's air time: each station's frames, collisions, and idle time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Figure, Panel
from headend.figures.theme import make_chart

if TYPE_CHECKING:
    from headend.results.record import Record

#: The name of the figure.
NAME = "air-time"

#: The uses of the air in the words of the figure, and the colour of each.
USES = {
    "up": ("frames up", "#2F6DB5"),
    "down": ("frames down", "#7FB2E5"),
    "broken": ("broken frames", "#B8860B"),
    "collision": ("collisions", "#B5382F"),
    "idle": ("idle", "#BDBDBD"),
}

#: Stations that have a bar of their own; those that take least are drawn as one.
MOST_STATIONS = 12


def draw_air(results: Sequence[Record]) -> Figure | None:
    """Draw what the channel of each cell was used for; None where there is no cell."""
    panels = []
    for result in results:
        for link in result.air_time["link"].unique(maintain_order=True).to_list():
            rows = result.air_time.filter(pl.col("link") == link)
            named = result.label if len(results) > 1 else ""
            title = ", ".join(
                filter(None, (named, link if result.air_time["link"].n_unique() > 1 else ""))
            )
            panels.append(Panel(title, _draw(_shape(rows))))
    if not panels:
        return None
    return Figure(
        NAME,
        "What the channel's time went to",
        "The parts of the time measured, which sum to 100 %: each station's frames up and down with"
        " their answers, frames that arrived broken, collisions, and idle time, in which everybody"
        " waits or nobody has a frame. A frame costs its preamble, the gaps and its answer whatever"
        " its size: many small frames, or one slow station, fill a cell long before its bits do.",
        panels,
    )


def _shape(rows: pl.DataFrame) -> pl.DataFrame:
    """Give a row for each part of each bar."""
    of_stations = rows.filter(pl.col("station") != "")
    order = (
        of_stations.group_by("station", maintain_order=True)
        .agg(pl.col("air_ratio").sum())
        .sort("air_ratio", descending=True, maintain_order=True)["station"]
        .to_list()
    )
    kept = set(order[:MOST_STATIONS])
    others = f"{len(order) - MOST_STATIONS} others"
    station = pl.when(pl.col("station").is_in(kept)).then("station").otherwise(pl.lit(others))
    words = {use: word for use, (word, _) in USES.items()}
    used = rows.with_columns(use=pl.col("use").replace_strict(words))
    bar = pl.when(pl.col("station") == "").then("use").otherwise(station)
    return (
        used.with_columns(bar=bar)
        .group_by("bar", "use", maintain_order=True)
        .agg(percent=(pl.col("air_ratio").sum() * 100).round_sig_figs(4))
        .filter(pl.col("percent") > 0)
    )


def _draw(rows: pl.DataFrame) -> vl.Chart:
    bars = rows["bar"].unique(maintain_order=True).to_list()
    met = set(rows["use"])
    uses = [(word, colour) for word, colour in USES.values() if word in met]
    return (
        make_chart(rows)
        .mark_bar()
        .encode(
            x=vl.X("percent:Q", title="share of the time (%)", stack="zero"),
            y=vl.Y("bar:N", title=None, sort=bars),
            color=vl.Color(
                "use:N",
                scale=vl.Scale(domain=[word for word, _ in uses], range=[own for _, own in uses]),
                legend=vl.Legend(title=None, orient="top", symbolType="square"),
                sort=[word for word, _ in uses],
            ),
            tooltip=[
                vl.Tooltip("bar:N", title=" "),
                vl.Tooltip("use:N", title="of it"),
                vl.Tooltip("percent:Q", title="%", format=".4~g"),
            ],
        )
        .properties(height=max(60, 22 * len(bars)))
    )
