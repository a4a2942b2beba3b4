"""Fewer points for the same curve, so that a page stays small whatever was simulated."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

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


def thin_distribution(rows: pl.DataFrame) -> pl.DataFrame:
    """Give a distribution as the share of packets above each of some delays.

    Parameters
    ----------
    rows
        ``lower_ns``, ``upper_ns`` and ``count`` of non-empty buckets.

    Returns
    -------
    polars.DataFrame
        ``delay_ms`` and ``share``, falling from 1.
    """
    import polars as pl

    total = float(rows["count"].sum())
    if not total:
        return pl.DataFrame(schema={"delay_ms": pl.Float64, "share": pl.Float64})
    ordered = rows.sort("lower_ns")
    below = ordered["count"].cum_sum() / total
    uppers = ordered["upper_ns"].cast(pl.Float64)
    first = float(ordered["lower_ns"][0])
    delays, shares = [max(first, 1e3)], [1.0]
    for share in TAIL_SHARES[1:]:
        if share * total < 1:  # nothing was that rare
            break
        index = min(int(below.search_sorted(1 - share)), len(uppers) - 1)
        delays.append(max(float(uppers[index]), 1e3))
        shares.append(share)
    frame = pl.DataFrame({"delay_ms": delays, "share": shares}).with_columns(
        pl.col("delay_ms") / 1e6
    )
    return frame.select(pl.all().round_sig_figs(4))
