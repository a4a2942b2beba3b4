"""Means over seeds with their intervals, and differences that are paired by seed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from headend.analysis.estimate import Bounds, Estimate, estimate_mean
from headend.engine.metrics import find_metric
from headend.sweeps.definition import Sweep

if TYPE_CHECKING:
    import polars as pl

#: What tells a figure from the others of a point.
FIGURE = ("measure", "subject", "direction", "metric", "unit")


def summarise(sweep: Sweep, table: pl.DataFrame) -> pl.DataFrame:
    """Summarise a sweep's table over its seeds.

    Parameters
    ----------
    sweep
        Whose table it is.
    table
        As `SweepResult.table` has it.

    Returns
    -------
    polars.DataFrame
        A row for each setting and figure: ``count`` of seeds that have a value, ``mean`` (null
        where none has), ``low`` and ``high`` (95 % interval by `bound_interval`; null with one
        seed), and ``difference``, ``difference_low``, ``difference_high`` to the point at the first
        value of the compared axis whose other axes are the same, over the seeds they share.
    """
    import polars as pl

    if table.is_empty():
        return table
    axes = sweep.design.names
    rows = table.filter(pl.col("error").is_null())
    keys = ["setting", *axes, *FIGURE]
    means = summarise_means(rows, keys)
    compared = sweep.compared
    if compared is None:
        return means
    first = compared.labels[0]
    others = [name for name in axes if name not in _find_companions(sweep, compared.name)]
    pairing = [*others, "seed", *FIGURE]
    base = rows.filter(pl.col(compared.name) == first).select(
        *pairing, pl.col("value").alias("base")
    )
    paired = rows.filter(pl.col(compared.name) != first).join(
        base, on=pairing, nulls_equal=True, how="inner", maintain_order="left"
    )
    paired = paired.with_columns(change=pl.col("value") - pl.col("base"))
    differences = _estimate(paired, keys, "change", lambda _: None, "difference").select(
        "setting", *FIGURE, "difference", "difference_low", "difference_high"
    )
    return means.join(
        differences, on=["setting", *FIGURE], nulls_equal=True, how="left", maintain_order="left"
    )


def summarise_means(table: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Give means over seeds with intervals for each combination of keys, without errors."""
    if table.is_empty():
        return table
    return _estimate(table.filter(table["error"].is_null()), keys, "value", _find_bounds, "")


def _find_companions(sweep: Sweep, name: str) -> Sequence[str]:
    """Give the axes that change together with one."""
    for dimension in sweep.design.dimensions:
        names = [axis.name for axis in dimension]
        if name in names:
            return names
    return [name]


def _find_bounds(metric: str) -> Bounds:
    known = find_metric(metric)
    return known.limits if known else (0.0, math.inf)


def _estimate(
    rows: pl.DataFrame,
    keys: Sequence[str],
    column: str,
    find_bounds: Callable[[str], Bounds | None],
    prefix: str,
) -> pl.DataFrame:
    """Estimate the mean of a column for each combination of keys, with its interval."""
    import polars as pl

    mean, low, high = (
        (prefix, f"{prefix}_low", f"{prefix}_high") if prefix else ("mean", "low", "high")
    )
    grouped = rows.group_by(keys, maintain_order=True).agg(pl.col(column).drop_nulls())
    bounds = {metric: find_bounds(metric) for metric in grouped["metric"].unique()}
    found = [
        estimate_mean(values, bounds[metric]) if values else None
        for metric, values in grouped.select("metric", column).iter_rows()
    ]

    def take(read: Callable[[Estimate], float]) -> pl.Series:
        values = [None if own is None or math.isnan(read(own)) else read(own) for own in found]
        return pl.Series(values, dtype=pl.Float64)

    return grouped.select(*keys, count=pl.col(column).list.len().cast(pl.Int64)).with_columns(
        take(lambda own: own.mean).alias(mean),
        take(lambda own: own.low).alias(low),
        take(lambda own: own.high).alias(high),
    )
