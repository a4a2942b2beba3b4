"""Means over seeds with their intervals, and differences that are paired by seed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headend.analysis.summary import FIGURE, estimate_column, summarise_means
from headend.sweeps.definition import Sweep

if TYPE_CHECKING:
    import polars as pl


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
    differences = estimate_column(paired, keys, "change", lambda _: None, "difference").select(
        "setting", *FIGURE, "difference", "difference_low", "difference_high"
    )
    return means.join(
        differences, on=["setting", *FIGURE], nulls_equal=True, how="left", maintain_order="left"
    )


def _find_companions(sweep: Sweep, name: str) -> Sequence[str]:
    """Give the axes that change together with one."""
    for dimension in sweep.design.dimensions:
        names = [axis.name for axis in dimension]
        if name in names:
            return names
    return [name]
