"""Fewer points for the same curve, so that a page stays small whatever was simulated."""

from __future__ import annotations

from typing import TYPE_CHECKING

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

    A line has a point for each interval between its first and its last, also for those of which the
    table has no row.

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

    columns = [*means, *maxima]
    rows = rows.select(*by, "time_ns", *columns).with_columns(
        pl.col(columns).cast(pl.Float64).fill_nan(None)
    )
    rows = _fill_gaps(rows, by)
    times = rows["time_ns"].n_unique()
    step = -(-times // POINTS_OVER_TIME)
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


def _fill_gaps(rows: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Give each line a row for every interval: one without a row is as the one before it."""
    import polars as pl

    steps = rows["time_ns"].unique().sort().diff().drop_nulls()
    if steps.is_empty():
        return rows
    interval = int(steps.quantile(0.5, "nearest") or 0)
    time = pl.col("time_ns")
    following = time.shift(-1).over(by)
    gaps = rows.with_columns(following=following).filter(
        2 * (pl.col("following") - time) > 3 * interval
    )
    if gaps.is_empty():
        return rows
    begin, end = (pl.col(name).cast(pl.Int64) for name in ("time_ns", "following"))
    missing = gaps.with_columns(
        time_ns=pl.int_ranges(begin + interval, end - interval // 2, interval)
    ).explode("time_ns")
    filled = missing.select(rows.columns).cast({"time_ns": rows.schema["time_ns"]})
    return pl.concat([rows, filled]).sort("time_ns", maintain_order=True)


def thin_distributions(rows: pl.DataFrame) -> pl.DataFrame:
    """Give each distribution as the delay that each of some shares of its packets exceeds.

    Parameters
    ----------
    rows
        ``name``, ``direction``, ``lower_ns``, ``upper_ns`` and ``count`` of non-empty buckets.

    Returns
    -------
    polars.DataFrame
        ``name``, ``direction``, ``share``, which falls from 1, ``delay_ms``, and ``is_reached``:
        whether there are enough packets for so rare a delay. Where there are not, the delay is that
        of the rarest share that is reached.
    """
    import polars as pl

    buckets = rows.sort("name", "direction", "lower_ns", maintain_order=True).with_columns(
        member=pl.struct("name", "direction").rle_id()
    )
    buckets = buckets.with_columns(count=pl.col("count").cum_sum().over("member"))
    members = (
        buckets.group_by("member", maintain_order=True)
        .agg(pl.col("name", "direction", "lower_ns").first(), total=pl.col("count").last())
        .filter(pl.col("total") > 0)
    )
    share = pl.col("share")
    shares = pl.DataFrame({"share": TAIL_SHARES})
    wanted = members.join(shares, how="cross", maintain_order="left_right").with_columns(
        is_reached=(share == 1) | (share * pl.col("total") >= 1)
    )
    # The first share of each member is reached: nothing is filled in from another member.
    rarest = pl.when("is_reached").then(share).forward_fill()
    ends = buckets.join(members.select("member", "total"), on="member", maintain_order="left")
    # A share's delay is the end of the first bucket that reaches as far into the packets.
    both = pl.concat(
        [
            wanted.with_columns(place=1 - rarest),
            ends.select("member", "upper_ns", place=pl.col("count") / pl.col("total")),
        ],
        how="diagonal",
    )
    found = (
        both.sort("member", "place", maintain_order=True)
        .with_columns(pl.col("upper_ns").backward_fill())
        .drop_nulls("share")
    )
    delay = pl.when(pl.col("place") == 0).then("lower_ns").otherwise("upper_ns")
    return found.select(
        "name", "direction", "share", "is_reached", delay_ms=pl.max_horizontal(delay, 1e3) / 1e6
    )


def merge_distributions(rows: pl.DataFrame) -> pl.DataFrame:
    """Give the distributions of each key as one: median delay at each share, and most of them.

    A member counts at every share: at one that is rarer than a single packet of its own, by its
    longest delay. Would it count where it has packets alone, others would be drawn further down the
    curve, and it could rise or turn back.

    Parameters
    ----------
    rows
        What ``thin_distributions`` gives, with a ``key``, in the order in which keys are to be.

    Returns
    -------
    polars.DataFrame
        ``key``, ``share``, ``delay_ms``, ``low_ms`` and ``high_ms``, as far down as half of the
        members reach; no delay falls along it.
    """
    import polars as pl

    delay = pl.col("delay_ms")
    return (
        rows.group_by("key", "share", maintain_order=True)
        .agg(
            pl.col("is_reached").mean(),
            delay.quantile(0.5, "linear"),
            low_ms=delay.quantile(LOW, "linear"),
            high_ms=delay.quantile(HIGH, "linear"),
        )
        .filter(pl.col("is_reached") >= 0.5)
        .drop("is_reached")
    )
