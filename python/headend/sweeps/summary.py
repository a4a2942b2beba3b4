"""Means over seeds with their intervals, and differences that are paired by seed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from headend.analysis.estimate import bound_interval, find_quantile
from headend.engine.metrics import Metric, find_metric
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
    differences = _estimate(paired, keys, pl.col("value") - pl.col("base"), "difference").select(
        "setting", *FIGURE, "difference", "difference_low", "difference_high"
    )
    return means.join(
        differences, on=["setting", *FIGURE], nulls_equal=True, how="left", maintain_order="left"
    )


def summarise_means(table: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Give means over seeds with intervals for each combination of keys, without errors."""
    import polars as pl

    if table.is_empty():
        return table
    rows = table.filter(pl.col("error").is_null())
    return _bound_means(_estimate(rows, keys, pl.col("value"), ""), rows, keys)


def _bound_means(means: pl.DataFrame, rows: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Make intervals respect what figures can be, such as shares; see `bound_interval`."""
    import polars as pl

    metrics = {text: find_metric(text) for text in means["metric"].unique()}
    value = pl.col("value")
    ends = rows.group_by(keys, maintain_order=True).agg(least=value.min(), largest=value.max())
    columns = ("metric", "mean", "low", "least", "largest")
    joined = means.select(*columns[:3]).with_columns(ends.select(*columns[3:]))
    bounded = [
        _bound(metrics[text], mean, low, least, largest)
        for text, mean, low, least, largest in joined.select(columns).iter_rows()
    ]
    low, high = zip(*bounded, strict=True) if bounded else ((), ())
    return means.with_columns(
        low=pl.Series(low, dtype=pl.Float64), high=pl.Series(high, dtype=pl.Float64)
    )


def _bound(
    metric: Metric | None, mean: float | None, low: float | None, least: float, largest: float
) -> tuple[float, float] | tuple[None, None]:
    if mean is None or low is None:
        return None, None
    limits = metric.limits if metric else (0.0, math.inf)
    within = limits[0] <= least <= largest <= limits[1]
    return bound_interval(mean, mean - low, limits if within else None)


def _find_companions(sweep: Sweep, name: str) -> Sequence[str]:
    """Give the axes that change together with one."""
    for dimension in sweep.design.dimensions:
        names = [axis.name for axis in dimension]
        if name in names:
            return names
    return [name]


def _estimate(rows: pl.DataFrame, keys: Sequence[str], value: pl.Expr, prefix: str) -> pl.DataFrame:
    import polars as pl

    mean, low, high = (
        (prefix, f"{prefix}_low", f"{prefix}_high") if prefix else ("mean", "low", "high")
    )
    grouped = rows.group_by(keys, maintain_order=True).agg(
        value.count().cast(pl.Int64).alias("count"),
        value.mean().alias(mean),
        (value.std() / value.count().sqrt()).alias("_error"),
    )
    half = pl.col("_error") * _find_quantiles(grouped["count"])
    return grouped.with_columns(
        (pl.col(mean) - half).alias(low), (pl.col(mean) + half).alias(high)
    ).drop("_error")


def _find_quantiles(counts: pl.Series) -> pl.Series:
    """Give Student's quantile for each number of seeds; null where there is one only."""
    import polars as pl

    of_count = {
        int(count): find_quantile(int(count)) if count > 1 else None for count in counts.unique()
    }
    return counts.replace_strict(of_count, return_dtype=pl.Float64)
