"""Curves over buffer sizes: what a full buffer predicts, where one is best, and drawing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.theme import colour, log_axis, make_chart

Row = dict[str, Any]

#: Bytes of a KiB, in which the guideline gives buffers; its Mb/s are 10⁶ bit/s.
KIB = 1024


def predict_delay(buffer: str = "buffer_kib", rate: str = "rate_mbps") -> pl.Expr:
    """Give how long a full buffer takes to drain, in ms, from columns in KiB and Mb/s.

    Examples
    --------
    >>> rows = pl.DataFrame({"buffer_kib": [256], "rate_mbps": [2]})
    >>> round(rows.select(predict_delay()).item(), 1)
    1048.6
    """
    return pl.col(buffer) * (KIB * 8) / (pl.col(rate) * 1e3)


def measure_leads(by_seed: pl.DataFrame) -> pl.DataFrame:
    """Say how far each buffer's score is below that of the best one with the same seed.

    Parameters
    ----------
    by_seed
        A row for each ``buffer_kib`` and ``seed`` with its ``mos``.

    Returns
    -------
    polars.DataFrame
        The same with ``lead``. The best is the one with the highest mean; of equals, the smaller.

    Examples
    --------
    >>> rows = pl.DataFrame({"buffer_kib": [8, 16], "seed": [1, 1], "mos": [3.0, 3.5]})
    >>> measure_leads(rows)["lead"].to_list()
    [0.5, 0.0]
    """
    means = by_seed.group_by("buffer_kib").agg(pl.col("mos").mean())
    best = means.sort("mos", "buffer_kib", descending=[True, False])["buffer_kib"][0]
    top = by_seed.filter(pl.col("buffer_kib") == best).select("seed", top="mos")
    joined = by_seed.join(top, on="seed")
    return joined.with_columns(lead=pl.col("top") - pl.col("mos")).drop("top")


def find_slower(rows: pl.DataFrame, by: Sequence[str]) -> Iterator[tuple[Any, Row, Row | None]]:
    """Hold the smallest buffer of each case against the one with which a page loads soonest.

    Parameters
    ----------
    rows
        A row for each case and ``buffer_kib``, the smallest first, with ``load_s`` and its standard
        error ``error_s``.
    by
        The columns that make a case.

    Yields
    ------
    tuple
        The case, its row with the smallest buffer, and its best one; None where the two are as good
        within the standard error of their difference.
    """
    for case, part in rows.group_by(by, maintain_order=True):
        least = part.row(0, named=True)
        best = part.sort("load_s").row(0, named=True)
        error = (least["error_s"] ** 2 + best["error_s"] ** 2) ** 0.5
        yield case, least, best if least["load_s"] - best["load_s"] > error else None


def find_best(
    rows: pl.DataFrame, by: Sequence[str], value: str, *, highest: bool = True
) -> pl.DataFrame:
    """Find the buffer at which each curve is best; of equals, the smaller.

    Parameters
    ----------
    rows
        A row for each place of a curve, with ``buffer_kib``.
    by
        Columns that tell curves apart.
    value
        The column to compare.
    highest
        Whether more is better.

    Returns
    -------
    polars.DataFrame
        A row for each curve: its columns of ``by``, ``best`` (KiB), and its ``value`` there.

    Examples
    --------
    >>> rows = pl.DataFrame({"rate": [1, 1, 2], "buffer_kib": [8, 16, 8], "mos": [3.0, 4.0, 2.0]})
    >>> find_best(rows, ["rate"], "mos")["best"].to_list()
    [16, 8]
    """
    ordered = rows.sort(value, "buffer_kib", descending=[highest, False])
    best = ordered.unique(list(by), keep="first", maintain_order=True).sort(by)
    return best.select(*by, best="buffer_kib", **{value: pl.col(value)})


def make_buffer_axis(sizes: Sequence[float], title: str = "buffer (KiB)") -> vl.X:
    """Put buffer sizes along the bottom, each doubling a step."""
    return vl.X(
        "buffer_kib:Q",
        title=title,
        scale=vl.Scale(type="log", base=2, domain=[min(sizes), max(sizes)], nice=False),
        axis=vl.Axis(values=list(sizes)),
    )


def draw_over_buffers(
    rows: pl.DataFrame,
    value: str,
    title: str,
    *,
    domain: tuple[float, float] | None = None,
    log: bool = False,
    x_title: str = "buffer (KiB)",
) -> vl.Chart:
    """Draw a line with points for each ``series``, coloured by ``slot``, over ``buffer_kib``.

    Parameters
    ----------
    rows
        What to draw.
    value, title
        The column on the vertical axis, and its title with the unit.
    domain
        Ends of the vertical axis; what lies beyond is cut off. Without it, what the values need.
    log
        Whether that axis is logarithmic; it needs a domain then.
    x_title
        Title of the horizontal axis.
    """
    sizes = rows["buffer_kib"].unique().sort().to_list()
    y: dict[str, Any] = {"title": title}
    if domain:
        kind = "log" if log else "linear"
        y["scale"] = vl.Scale(type=kind, domain=list(domain), nice=False)
    if domain and log:
        ticks = log_axis(domain)["values"]
        y["axis"] = vl.Axis(values=[tick for tick in ticks if domain[0] <= tick <= domain[1]])
    return (
        make_chart(rows)
        .mark_line(point={"filled": True, "size": 40}, strokeWidth=2, clip=True)
        .encode(
            x=make_buffer_axis(sizes, x_title),
            y=vl.Y(f"{value}:Q", **y),
            color=colour(rows),
            tooltip=["series:N", "buffer_kib:Q", vl.Tooltip(f"{value}:Q", format=".4~g")],
        )
    )
