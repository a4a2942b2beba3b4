"""Many of one kind drawn as one: the median over the members, and a band that holds most of them."""

from __future__ import annotations

from collections.abc import Collection

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.theme import colour, make_chart, time_axis
from headend.figures.thinning import HIGH, LOW

#: What to say where something is drawn so.
NOTE = " Where a name stands for many (×), the line is the median over them, and the shade reaches from the 10th to the 90th percentile."


def merge_members(rows: pl.DataFrame, groups: Collection[str]) -> pl.DataFrame:
    """Make one line of all that share the key of a group.

    Parameters
    ----------
    rows
        ``time_s``, ``key`` and ``value``; several rows of a time and key are the members of a group.
    groups
        The keys that stand for groups.

    Returns
    -------
    polars.DataFrame
        In the same order of keys, with ``low`` and ``high``, which are null for what is no group.
    """
    order = rows["key"].unique(maintain_order=True).to_list()
    is_group = pl.col("key").is_in(list(groups))
    alone = rows.filter(~is_group).with_columns(
        low=pl.lit(None, pl.Float64), high=pl.lit(None, pl.Float64)
    )
    value = pl.col("value").fill_nan(None)
    merged = (
        rows.filter(is_group)
        .group_by("time_s", "key")
        .agg(
            value.median().round_sig_figs(4).alias("value"),
            value.quantile(LOW).round_sig_figs(4).alias("low"),
            value.quantile(HIGH).round_sig_figs(4).alias("high"),
        )
        .sort("time_s")
    )
    columns = ["time_s", "key", "value", "low", "high"]
    places = {key: place for place, key in enumerate(order)}
    return pl.concat([alone.select(columns), merged.select(columns)]).sort(
        pl.col("key").replace_strict(places, return_dtype=pl.Int64), maintain_order=True
    )


def has_band(rows: pl.DataFrame) -> bool:
    """Say whether some of the rows stand for many."""
    return "low" in rows.columns and bool(rows["low"].is_not_null().any())


def draw_band(rows: pl.DataFrame, title: str) -> vl.Chart:
    """Draw the bands of what stands for many, over time."""
    shown = rows.filter(pl.col("low").is_not_null())
    return (
        make_chart(shown.select("time_s", "low", "high", "series", "slot"))
        .mark_area(opacity=0.18, clip=True)
        .encode(
            x=time_axis(),
            y=vl.Y("low:Q", title=title),
            y2="high:Q",
            color=colour(rows),
            tooltip=[
                vl.Tooltip("series:N", title=" "),
                vl.Tooltip("low:Q", title="10th percentile", format=".4~g"),
                vl.Tooltip("high:Q", title="90th percentile", format=".4~g"),
            ],
        )
    )
