"""Many drawn as one: the median over a group or over seeds, and a band of most of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

import polars as pl

from headend.comparison.pooling import list_runs
from headend.figures import vegalite as vl
from headend.figures.theme import colour, make_chart, time_axis
from headend.figures.thinning import HIGH, LOW

if TYPE_CHECKING:
    from headend.results.record import Record

#: What to say where something is drawn so.
NOTE = (
    " Where a name stands for many (×), the line is the median over them, and the shade reaches"
    " from the 10th to the 90th percentile."
)

#: The same where results are over several seeds.
SEEDS_NOTE = (
    " Each line is the median over the seeds (of a name with ×, over its members in all of them),"
    " and the shade reaches from the 10th to the 90th percentile."
)

#: Parts of the time axis in which single measurements of several seeds are drawn as one.
PARTS = 60


def merge_runs(
    result: Record, shape: Callable[[Record], pl.DataFrame], groups: Collection[str] = ()
) -> pl.DataFrame:
    """Give the lines over time of a result: of its run, or over the runs of its seeds as one.

    Parameters
    ----------
    result
        Of one run, or pooled over seeds.
    shape
        Gives the rows of one run: ``time_s``, ``key`` and ``value``.
    groups
        The keys that stand for groups.

    Returns
    -------
    polars.DataFrame
        As ``merge_members`` gives them; as ``shape`` does for one run without groups.
    """
    runs = list_runs(result)
    parts = [part for part in map(shape, runs) if not part.is_empty()]
    rows = pl.concat(parts) if parts else pl.DataFrame()
    if rows.is_empty() or (len(runs) == 1 and not groups):
        return rows
    return merge_members(rows, set(rows["key"]) if len(runs) > 1 else groups)


def merge_samples(rows: pl.DataFrame, end_s: float) -> pl.DataFrame:
    """Merge single measurements of several seeds in equal parts of the time: median and band.

    Parameters
    ----------
    rows
        ``time_s``, ``key`` and ``value`` of all seeds.
    end_s
        When the run ends.

    Returns
    -------
    polars.DataFrame
        With ``low`` and ``high``; a part's time is the mean over its measurements.
    """
    width = max(end_s, 1e-9) / PARTS
    value = pl.col("value")
    return (
        rows.with_columns(part=(pl.col("time_s") / width).floor())
        .group_by("key", "part", maintain_order=True)
        .agg(
            pl.col("time_s").mean().round_sig_figs(5),
            value.median().round_sig_figs(4).alias("value"),
            value.quantile(LOW).round_sig_figs(4).alias("low"),
            value.quantile(HIGH).round_sig_figs(4).alias("high"),
        )
        .sort("part", maintain_order=True)
        .select("time_s", "value", "key", "low", "high")
    )


def note_bands(results: Sequence[Record], frames: Collection[pl.DataFrame]) -> str:
    """Say what lines and shades stand for, where they stand for many."""
    if any(len(list_runs(result)) > 1 for result in results):
        return SEEDS_NOTE
    return NOTE if any(has_band(rows) for rows in frames) else ""


def merge_members(rows: pl.DataFrame, groups: Collection[str]) -> pl.DataFrame:
    """Make one line of all that share the key of a group.

    Parameters
    ----------
    rows
        ``time_s``, ``key`` and ``value``; several rows of a time and key are the members of a
        group.
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
