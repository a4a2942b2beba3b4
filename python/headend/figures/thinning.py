"""Rows for charts: fewer points for the same curve, and many curves drawn as one with a band.

A page thus stays small whatever was simulated.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import polars as pl

from headend.comparison.pooling import list_runs
from headend.results.record import Record

#: What to say where a line stands for a group, or for several seeds.
NOTE = (
    " Where a name stands for many (×), the line is the median over them, and the shade reaches"
    " from the 10th to the 90th percentile."
)
SEEDS_NOTE = (
    " Each line is the median over the seeds (of a name with ×, over its members in all of them),"
    " and the shade reaches from the 10th to the 90th percentile."
)

#: Parts of the time axis in which single measurements of several seeds are drawn as one.
PARTS = 60

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
    """Merge neighbouring intervals until each line has few enough points, by ``time_s``.

    The rows are in order of ``time_ns``. A line, told apart ``by`` some columns, has a point for
    each interval between its first and its last, also for those of which the table has no row.
    Missing values become null. A merged interval keeps means of some columns, the largest of
    others.
    """
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

    The rows have ``name``, ``direction``, ``lower_ns``, ``upper_ns`` and ``count`` of non-empty
    buckets. The result has ``name``, ``direction``, ``share``, which falls from 1, ``delay_ms``,
    and ``is_reached``: whether there are enough packets for so rare a delay. Where there are not,
    the delay is that of the rarest share that is reached.
    """
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
            wanted.with_columns(at=1 - rarest),
            ends.select("member", "upper_ns", at=pl.col("count") / pl.col("total")),
        ],
        how="diagonal",
    )
    delays = (
        both.sort("member", "at", maintain_order=True)
        .with_columns(pl.col("upper_ns").backward_fill())
        .drop_nulls("share")
    )
    delay = pl.when(pl.col("at") == 0).then("lower_ns").otherwise("upper_ns")
    return delays.select(
        "name", "direction", "share", "is_reached", delay_ms=pl.max_horizontal(delay, 1e3) / 1e6
    )


def merge_distributions(rows: pl.DataFrame) -> pl.DataFrame:
    """Give the distributions of each ``key`` as one: median delay at each share, and most of them.

    A member counts at every share: at one that is rarer than a single packet of its own, by its
    longest delay. Would it count where it has packets alone, others would be drawn further down the
    curve, and it could rise or turn back. The result has ``low_ms`` and ``high_ms`` too, and goes
    as far down as half of the members reach; no delay falls along it.
    """
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


def merge_runs(
    results: Sequence[Record],
    shape: Callable[[Record], pl.DataFrame],
    groups: Collection[str] = (),
) -> dict[str, pl.DataFrame]:
    """Give the lines over time of each result, by its label: of its run, or over its seeds as one.

    ``shape`` gives ``time_s``, ``key`` and ``value`` of one run. ``groups`` are the keys that stand
    for several. Where a line stands for several, the rows have ``low`` and ``high`` too.
    """
    frames = {}
    for result in results:
        runs = list_runs(result)
        parts = [part for part in map(shape, runs) if not part.is_empty()]
        rows = pl.concat(parts) if parts else pl.DataFrame()
        if parts and (len(runs) > 1 or groups):
            rows = merge_members(rows, set(rows["key"]) if len(runs) > 1 else groups)
        frames[result.label] = rows
    return frames


def merge_samples(rows: pl.DataFrame, end_s: float) -> pl.DataFrame:
    """Merge single measurements of several seeds in equal parts of the time: median and band.

    The run ends at ``end_s``. A part's time is the mean over its measurements.
    """
    part = (pl.col("time_s") / (max(end_s, 1e-9) / PARTS)).floor()
    return (
        rows.with_columns(part=part)
        .group_by("key", "part", maintain_order=True)
        .agg(pl.col("time_s").mean().round_sig_figs(5), **_spread(pl.col("value")))
        .sort("part", maintain_order=True)
        .select("time_s", "value", "key", "low", "high")
    )


def merge_members(rows: pl.DataFrame, groups: Collection[str]) -> pl.DataFrame:
    """Make one line of all that share the key of a group, in the same order of keys.

    The rows have ``time_s``, ``key`` and ``value``; several rows of a time and key are the members
    of a group. ``low`` and ``high`` are null for what is no group.
    """
    order = rows["key"].unique(maintain_order=True).to_list()
    is_group = pl.col("key").is_in(list(groups))
    empty = pl.lit(None, pl.Float64)
    alone = rows.filter(~is_group).with_columns(low=empty, high=empty)
    merged = (
        rows.filter(is_group)
        .group_by("time_s", "key")
        .agg(**_spread(pl.col("value").fill_nan(None)))
        .sort("time_s")
    )
    columns = ["time_s", "key", "value", "low", "high"]
    numbers = {key: number for number, key in enumerate(order)}
    return pl.concat([alone.select(columns), merged.select(columns)]).sort(
        pl.col("key").replace_strict(numbers, return_dtype=pl.Int64), maintain_order=True
    )


def _spread(value: pl.Expr) -> Mapping[str, pl.Expr]:
    """Give the median of values, and where most of them are."""
    spread = {"value": value.median(), "low": value.quantile(LOW), "high": value.quantile(HIGH)}
    return {name: number.round_sig_figs(4) for name, number in spread.items()}


def has_band(rows: pl.DataFrame) -> bool:
    """Say whether some of the rows stand for many."""
    return "low" in rows.columns and bool(rows["low"].is_not_null().any())


def note_seeds(results: Sequence[Record]) -> str:
    """Say what lines and shades stand for where results are over several seeds."""
    return SEEDS_NOTE if any(len(list_runs(result)) > 1 for result in results) else ""


def note_bands(results: Sequence[Record], frames: Mapping[str, pl.DataFrame]) -> str:
    """Say what lines and shades stand for, where they stand for many."""
    return note_seeds(results) or (NOTE if any(map(has_band, frames.values())) else "")
