"""FAST's α in studies: the least that fills a link, and the one from which packets are lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.theme import colour, log_axis, make_chart
from headend.study import ClaimResult, ClaimVerdict, decide_over_seeds

#: IP bytes of a full packet, and what a cable line's rates count for it: Ethernet's header and
#: check sum besides.
PACKET, FRAME = 1500, 1518

#: Bytes that a cable channel carries before that of each packet: the MAC header of DOCSIS 1.0.
MAC_HEADER = 6

#: Time that one packet takes at 3 Mbit/s, as the document reckons it, ms.
PACKET_MS = 4.0


def find_needed(points: pl.DataFrame, by: Sequence[str], full: float) -> pl.DataFrame:
    """Find the smallest α tried that fills the link, with the next larger one tried.

    Parameters
    ----------
    points
        A row for each run: the columns ``by``, ``seed``, ``alpha`` (of one flow, packets) and
        ``share`` (throughput over what the link carries at most).
    by
        The columns that make a case.
    full
        The share from which a link counts as full.

    Returns
    -------
    polars.DataFrame
        A row for each case and seed with ``alpha``, null where none of those tried fills the link.

    Examples
    --------
    >>> shares = {"alpha": [1.0, 2.0, 3.0], "share": [0.9, 0.99, 1.0]}
    >>> runs = pl.DataFrame({"n": 1, "seed": 1} | shares)
    >>> find_needed(runs, ["n"], 0.98)["alpha"].to_list()
    [2.0]
    """
    case = [*by, "seed"]
    is_full = (pl.col("share") >= full) & (
        pl.col("share").shift(-1, fill_value=1.0).over(case) >= full
    )
    return _find_first(points, case, is_full)


def find_lossy(points: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Find the smallest α tried with which packets are lost, as ``find_needed`` does."""
    return _find_first(points, [*by, "seed"], pl.col("lost") > 0)


def average_seeds(found: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Give the median over seeds of what was found, with extremes. Null if a seed found none."""
    of_seeds = pl.col("alpha")
    middle = pl.when(of_seeds.is_not_null().all()).then(of_seeds.median())
    return found.group_by(by, maintain_order=True).agg(
        low=of_seeds.min(), high=of_seeds.max(), alpha=middle
    )


def correlate_ranks(values: Mapping[int, float]) -> float:
    """Give Spearman's rank correlation of keys and values.

    Examples
    --------
    >>> round(correlate_ranks({1: 13.0, 2: 44.0, 4: 48.0}), 6)
    1.0
    """
    frame = pl.DataFrame({"x": list(values), "y": list(values.values())})
    return float(frame.select(pl.corr("x", "y", method="spearman")).item())


def judge_trend(found: pl.DataFrame) -> ClaimResult:
    """Correlate the number of flows with their total α, seed by seed: it is to rise.

    Parameters
    ----------
    found
        What ``find_needed`` gives by ``flows``. Cases that no α fills do not count.
    """
    found = found.filter(pl.col("alpha").is_not_null())
    if found["flows"].n_unique() < 3:
        return ClaimResult("too few numbers of flows", ClaimVerdict.UNTESTABLE)
    ranks = [
        correlate_ranks({n: n * alpha for n, alpha in own.select("flows", "alpha").iter_rows()})
        for _, own in found.group_by("seed", maintain_order=True)
    ]
    middle = average_seeds(found, ["flows"]).sort("flows")
    totals = ", ".join(
        f"{n * alpha:g} ({n})" for n, alpha in middle.select("flows", "alpha").iter_rows()
    )
    decision = decide_over_seeds(ranks, low=0)
    return decision.tell(f"{decision.mean:+.2f} on average; total α by flows: {totals}")


def draw_totals(
    rows: Sequence[Mapping[str, object]],
    published: Mapping[int, int],
    *,
    flows: str,
    total: str,
    marked: Sequence[int] = (),
) -> vl.Chart:
    """Draw the total α of all flows over their number, with the document's.

    Parameters
    ----------
    rows
        A mapping for each point: ``series``, ``slot`` of its colour, ``flows`` and ``total``.
    published
        The document's α of one flow, by the number of flows.
    flows, total
        Titles of the axes.
    marked
        Numbers of flows that the axis marks; by default those that are published.
    """
    ours = [
        {"series": "published", "slot": 6, "flows": n, "total": float(n * alpha)}
        for n, alpha in published.items()
    ]
    frame = pl.DataFrame([*rows, *ours])
    return (
        make_chart(frame)
        .mark_line(point={"filled": True, "size": 55}, strokeWidth=1.5)
        .encode(
            x=vl.X("flows:Q", title=flows, axis=vl.Axis(values=list(marked or published))),
            y=vl.Y("total:Q", title=total),
            color=colour(frame),
            tooltip=["series:N", "flows:Q", "total:Q"],
        )
    )


def describe_alpha(alpha: float | None) -> str:
    """Write an α; one that was not found among those tried is a dash."""
    return "–" if alpha is None else f"{alpha:g}"


def alpha_axis(least: float, most: float) -> vl.X:
    """Put one flow's α along the bottom, on a logarithm."""
    return vl.X(
        "alpha:Q",
        title="individual α (packets)",
        scale=vl.Scale(type="log", domain=[least, most], nice=False),
        axis=log_axis((least, most)),
    )


def _find_first(points: pl.DataFrame, case: Sequence[str], is_so: pl.Expr) -> pl.DataFrame:
    rows = points.sort("alpha", maintain_order=True)
    first = pl.col("alpha").filter(pl.col("is_so")).min()
    return rows.with_columns(is_so=is_so).group_by(case, maintain_order=True).agg(alpha=first)
