"""Means over the seeds of an experiment with their intervals, as a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from headend.analysis.estimate import Bounds, Estimate, estimate_mean
from headend.engine.metrics import find_metric

if TYPE_CHECKING:
    import polars as pl

#: What tells a figure from the others of a point.
FIGURE = ("measure", "subject", "direction", "metric", "unit")


def summarise_means(table: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Give means over seeds with intervals for each combination of keys, without errors."""
    if table.is_empty():
        return table
    return estimate_column(table.filter(table["error"].is_null()), keys, "value", _find_bounds, "")


def _find_bounds(metric: str) -> Bounds:
    definition = find_metric(metric)
    return definition.limits if definition else (0.0, math.inf)


def estimate_column(
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
    estimates = [
        estimate_mean(values, bounds[metric]) if values else None
        for metric, values in grouped.select("metric", column).iter_rows()
    ]

    def take(read: Callable[[Estimate], float]) -> pl.Series:
        values = [
            None if estimate is None or math.isnan(read(estimate)) else read(estimate)
            for estimate in estimates
        ]
        return pl.Series(values, dtype=pl.Float64)

    return grouped.select(*keys, count=pl.col(column).list.len().cast(pl.Int64)).with_columns(
        take(lambda estimate: estimate.mean).alias(mean),
        take(lambda estimate: estimate.low).alias(low),
        take(lambda estimate: estimate.high).alias(high),
    )
