"""The runs of one setting over several seeds as one result.

Tables hold means over the seeds, distributions and samples hold those of all seeds. Values over
time are not averaged: who draws them takes the runs one by one from :func:`list_runs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from headend.analysis.lateness import find_emulation, is_trustworthy
from headend.results.record import Record

if TYPE_CHECKING:
    import polars as pl

#: Tables of which a pooled result holds the rows of all seeds.
_JOINED = (
    *("samples", "flow_series", "queue_series", "connection_series", "real_flows", "lateness"),
    # What identifies its rows are numbers: the modes.
    "rate_control",
)

#: The table of one packet's life, which is never pooled: the first run's is kept.
_OF_ONE_RUN = "steps"

#: Columns that count the samples behind a statistic; they are added over the seeds.
_ADDED = ("count",)


@dataclass(repr=False)
class Pooled(Record):
    """A result over several seeds; the first run is of a seed that all settings have."""

    runs: tuple[Record, ...] = ()


def pool_runs(runs: Sequence[Record]) -> Record:
    """Make one result of the runs of one setting; a single run stays as it is."""
    first = runs[0]
    if len(runs) == 1:
        return first
    # Pages use a pooled result several times. The key has the identity of each run: to hash its
    # tables would be slow.
    key = (pool_runs, *map(id, runs))
    if key not in first.cache:
        first.cache[key] = _pool(runs)
    pooled: Record = first.cache[key]
    return pooled


def _pool(runs: Sequence[Record]) -> Pooled:
    first = runs[0]
    tables = {
        name: _pool_table(name, [run.tables[name] for run in runs])
        for name in first.tables
        if all(name in run.tables for run in runs)
    }
    warnings = dict.fromkeys(text for run in runs for text in run.warnings)
    manifest = {
        # What was tried of one seed is not what a setting does over all.
        **{key: value for key, value in first.manifest.items() if key != "advice"},
        "partial": any(run.is_partial for run in runs),
        "warnings": list(warnings),
        **_pool_emulation(runs),
    }
    own = {item.name: getattr(first, item.name) for item in fields(Record) if item.init}
    values = {**own, "tables": tables, "manifest": manifest, "capture": None}
    return Pooled(**values, runs=tuple(runs))


def _pool_emulation(runs: Sequence[Record]) -> dict[str, Any]:
    """Give what is known of real programs of runs: the first untrustworthy, else the first."""
    found = [run for run in runs if find_emulation(run)]
    if not found:
        return {}
    worst = next((run for run in found if not is_trustworthy(run)), found[0])
    return {"emulation": find_emulation(worst)}


def list_runs(result: Record) -> Sequence[Record]:
    """Give the runs that a result stands for: those of its seeds, or itself."""
    return result.runs if isinstance(result, Pooled) else (result,)


def _pool_table(name: str, frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    import polars as pl

    if name == _OF_ONE_RUN:
        return frames[0]
    if name == "histograms":
        return pool_histograms(frames)
    if name in _JOINED:
        return pl.concat(frames)
    return average_tables(frames)


def pool_histograms(histograms: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Give the distributions of several runs as one."""
    import polars as pl

    keys = ["kind", "name", "direction", "lower_ns", "upper_ns"]
    pooled = pl.concat(histograms).group_by(keys, maintain_order=True).agg(pl.col("count").sum())
    return pooled.sort("kind", "name", "direction", "lower_ns")


def average_tables(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Give the mean of each number over tables whose rows are identified by their text columns.

    NaN does not count. Whole numbers stay whole; counts are added.

    Examples
    --------
    >>> import polars as pl
    >>> own = [pl.DataFrame({"flow": ["call"], "mean": [value]}) for value in (1.0, 4.0)]
    >>> average_tables(own).rows()
    [('call', 2.5)]
    """
    import polars as pl
    import polars.selectors as cs

    joined = pl.concat(frames)
    keys = [column for column, kind in joined.schema.items() if kind == pl.String]
    reals, wholes = cs.float(), cs.integer() - cs.by_name(*_ADDED, require_all=False)
    means = [
        reals.fill_nan(None).mean().fill_null(float("nan")),
        wholes.mean().round().cast(pl.Int64),
        cs.by_name(*_ADDED, require_all=False).sum(),
    ]
    if not keys:
        return joined.select(*means).select(joined.columns)
    return joined.group_by(keys, maintain_order=True).agg(*means).select(joined.columns)
