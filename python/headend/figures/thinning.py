"""Fewer points for the same curve, so that a page stays small whatever was simulated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

#: What is drawn of many reaches from the best to the worst tenth of them.
LOW, HIGH = 0.1, 0.9

#: Points on a line over time; a chart is rarely wider than twice as many pixels.
POINTS_OVER_TIME = 300

#: Shares at which a distribution is drawn: dense in the body, and the tail to one in 10 000.
TAIL_SHARES = (
    *(1 - number / 50 for number in range(50)),
    *(number / 1000 for number in range(19, 1, -1)),
    *(number / 10_000 for number in range(19, 0, -1)),
)


def thin_series(
    rows: pl.DataFrame, by: Sequence[str], means: Sequence[str] = (), maxima: Sequence[str] = ()
) -> pl.DataFrame:
    """Merge neighbouring intervals until each line has few enough points.

    Parameters
    ----------
    rows
        With ``time_ns``, in order of time.
    by
        Columns that tell lines apart.
    means
        Columns of which a merged interval keeps the mean of what was measured.
    maxima
        Columns of which it keeps the largest.

    Returns
    -------
    polars.DataFrame
        With ``time_s`` in place of ``time_ns``; missing values are null.
    """
    import polars as pl

    times = rows["time_ns"].n_unique()
    step = -(-times // POINTS_OVER_TIME)
    columns = [*means, *maxima]
    rows = rows.select(*by, "time_ns", *columns).with_columns(
        pl.col(columns).cast(pl.Float64).fill_nan(None)
    )
    if step > 1:
        number = pl.col("time_ns").rank("dense") - 1
        rows = (
            rows.with_columns(bin=number // step)
            .group_by(*by, "bin", maintain_order=True)
            .agg(
                pl.col("time_ns").max(),
                pl.col(*means).mean() if means else [],
                pl.col(*maxima).max() if maxima else [],
            )
            .drop("bin")
        )
    rounded = [pl.col(name).round_sig_figs(4) for name in columns]
    time = (pl.col("time_ns") / 1e9).round_sig_figs(6).alias("time_s")
    return rows.select(*by, time, *rounded)


@dataclass(frozen=True)
class Tail:
    """A distribution as the delay, in ms, that each of some shares of packets exceeds; shares fall from 1."""

    delays: npt.NDArray[np.float64]
    shares: npt.NDArray[np.float64]


def thin_distributions(rows: pl.DataFrame) -> dict[tuple[str, str], Tail]:
    """Give the distribution of each name and direction.

    Parameters
    ----------
    rows
        ``name``, ``direction``, ``lower_ns``, ``upper_ns`` and ``count`` of non-empty buckets.
    """
    ordered = rows.sort("name", "direction", "lower_ns", maintain_order=True)
    sizes = ordered.group_by("name", "direction", maintain_order=True).len()
    lowers, uppers, counts = (
        ordered[name].to_numpy() for name in ("lower_ns", "upper_ns", "count")
    )
    tails, begin = {}, 0
    for name, direction, size in sizes.iter_rows():
        own = slice(begin, begin + size)
        tails[name, direction] = _thin(lowers[own], uppers[own], counts[own])
        begin += size
    return tails


def _thin(
    lowers: npt.NDArray[np.int64], uppers: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]
) -> Tail:
    total = float(counts.sum())
    if not total:
        return Tail(np.empty(0), np.empty(0))
    shares = np.array(TAIL_SHARES)
    shares = shares[(shares * total >= 1) | (shares == 1)]  # nothing else was that rare
    places = np.searchsorted(np.cumsum(counts) / total, 1 - shares)
    delays = np.where(shares == 1, lowers[0], uppers[np.minimum(places, len(uppers) - 1)])
    return Tail(np.maximum(delays, 1e3) / 1e6, shares)


def merge_tails(tails: Sequence[Tail]) -> dict[str, npt.NDArray[np.float64]]:
    """Give the distributions of many as one: at each share the median delay over them, and where most of them are.

    A member counts at every share: at one that is rarer than a single packet of its own, by its longest delay. Would it count
    where it has packets alone, others would be drawn further down the curve, and it could rise or turn back.

    Returns
    -------
    dict
        ``delay_ms``, ``low_ms``, ``high_ms`` and ``share``, as far down as half of the members reach; no delay falls along it.
    """
    longest = max(tails, key=lambda tail: len(tail.shares)).shares
    table = np.empty((len(tails), len(longest)))
    reached = np.zeros(len(longest), dtype=np.int64)
    for row, tail in zip(table, tails, strict=True):
        own = len(tail.delays)
        row[:own], row[own:] = tail.delays, tail.delays[-1]
        reached[:own] += 1
    shown = reached * 2 >= len(tails)
    low, middle, high = np.quantile(table[:, shown], (LOW, 0.5, HIGH), axis=0)
    return {"delay_ms": middle, "share": longest[shown], "low_ms": low, "high_ms": high}
