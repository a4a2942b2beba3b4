"""What comes back of lines that were tested, written as tools' files, read and estimated."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import make_chart
from headend.fitting.estimates import Flag, QueueKind
from headend.scenario.fit_note import SURE
from headend.study import ClaimResult, ClaimVerdict, decide

from .trips import QUANTITIES, make_trips

Limits = dict[str, Any]

#: How each quantity is called, its unit, and by what it is divided for it.
NAMES = {"rate": ("rate", "Mbit/s", 1e6), "base": ("base delay", "ms", 1.0)} | {
    "buffer": ("buffer", "ms", 1.0)
}


#: Of cells with a number on them.
SHADES = vl.Scale(range=["#EEF3F9", "#8FB3D9"])


def take_rows(points: pl.DataFrame, limits: Limits) -> pl.DataFrame:
    """Give the round trips of a claim's format; of all where it names none.

    A study that only calculates is given no points: it makes them. A test gives its own.
    """
    rows = make_trips() if points.is_empty() else points
    return rows.filter(format=limits["format"]) if "format" in limits else rows


def take_estimates(rows: pl.DataFrame, quantity: str) -> pl.DataFrame:
    """Give the rows with an estimate of a quantity that has a truth; a line's once."""
    if quantity == "base":
        rows = rows.unique(["line", "format"], keep="first", maintain_order=True)
    return rows.filter(
        pl.col(quantity).is_not_null(), pl.col(f"{quantity}_truth").is_not_null()
    ).with_columns(error=pl.col(quantity) - pl.col(f"{quantity}_truth"))


def check_within(points: pl.DataFrame, limits: Limits) -> ClaimResult:
    """Hold the errors of a quantity against a tolerance: a share of the truth, or absolute."""
    quantity = limits["quantity"]
    rows = take_estimates(take_rows(points, limits), quantity)
    is_bound = pl.col(f"{quantity}_bound").is_not_null()
    is_limited = pl.col("flags").list.contains(Flag.SENDER_LIMITED.value)
    left_out = is_bound | (is_limited if quantity == "rate" else pl.lit(False))
    bounds = rows.filter(left_out).height
    rows = rows.filter(~left_out)
    if rows.is_empty():
        return ClaimResult(f"no values, {bounds} bounds only", ClaimVerdict.UNTESTABLE)
    truth = pl.col(f"{quantity}_truth")
    size = pl.col("error").abs() / (truth if "share" in limits else 1.0)
    rows = rows.with_columns(size=size).sort("size")
    within = limits.get("share", limits.get("within"))
    found = [float(own <= within) for own in rows["size"]]
    middle, worst = rows["size"].median(), rows.row(-1, named=True)
    text = f"{_mean(found):.1%} of {rows.height}; median {_write(middle, limits)}, most" + (
        f" {_write(worst['size'], limits)} (line {worst['line']}, {worst['direction']})"
    )
    if bounds:
        text += f"; {bounds} more are bounds only" + (
            " or of senders that were the limit" if quantity == "rate" else ""
        )
    return _hold(found, text, limits, low=limits["least"])


def check_bounds(points: pl.DataFrame, limits: Limits) -> ClaimResult:
    """Hold lower bounds of buffers against the buffers, which they must not exceed by much."""
    rows = take_estimates(take_rows(points, limits), "buffer")
    rows = rows.filter(pl.col("buffer_bound").is_not_null())
    if rows.is_empty():
        return ClaimResult("no bounds", ClaimVerdict.UNTESTABLE)
    most = 1 + limits["share"]
    kept = (rows["buffer"] <= most * rows["buffer_truth"]).cast(pl.Float64).to_list()
    return _hold(kept, f"{_mean(kept):.1%} of {rows.height}", limits, low=limits["least"])


def check_cover(points: pl.DataFrame, limits: Limits) -> ClaimResult:
    """Count how often the truth lies within the interval."""
    rows = take_rows(points, limits)
    hits: list[float] = []
    texts = []
    for quantity in QUANTITIES:
        own = take_estimates(rows, quantity).filter(pl.col(f"{quantity}_bound").is_null())
        truth = pl.col(f"{quantity}_truth")
        inside = (pl.col(f"{quantity}_low") <= truth) & (truth <= pl.col(f"{quantity}_high"))
        covered = own.select(inside.cast(pl.Float64)).to_series().to_list()
        if covered:
            texts.append(f"{NAMES[quantity][0]} {_mean(covered):.0%} of {len(covered)}")
        hits += covered
    if not hits:
        return ClaimResult("no intervals", ClaimVerdict.UNTESTABLE)
    text = f"{_mean(hits):.1%}: {', '.join(texts)}"
    return _hold(hits, text, limits, limits["least"], limits["most"])


def check_kind(points: pl.DataFrame, limits: Limits) -> ClaimResult:
    """Count how often the likeliest kind of queue is the right one."""
    rows = _take_identified(points, limits)
    if rows.is_empty():
        return ClaimResult("no queue was identified", ClaimVerdict.UNTESTABLE)
    found = _find_right(rows)
    parts = [
        f"{kind} {_mean(_find_right(own)):.0%} of {own.height}"
        for kind in (own.value for own in QueueKind)
        if (own := rows.filter(kind_truth=kind)).height
    ]
    text = f"{_mean(found):.1%}: {', '.join(parts)}"
    return _hold(found, text, limits, low=limits["least"])


def check_sure(points: pl.DataFrame, limits: Limits) -> ClaimResult:
    """Count how often a wrong kind is said to be sure."""
    rows = _take_identified(points, limits)
    if rows.is_empty():
        return ClaimResult("no queue was identified", ClaimVerdict.UNTESTABLE)
    wrong = [
        float(
            row["kind"] not in (row["kind_truth"], QueueKind.UNKNOWN) and row["likelihood"] >= SURE
        )
        for row in rows.iter_rows(named=True)
    ]
    pairs = [
        f"{row['kind_truth']} taken for {row['kind']} (line {row['line']} {row['direction']})"
        for row, is_wrong in zip(rows.iter_rows(named=True), wrong, strict=True)
        if is_wrong
    ]
    text = f"{_mean(wrong):.1%} of {rows.height}{': ' if pairs else ''}{_list_some(pairs)}"
    return _hold(wrong, text, limits, high=limits["most"])


def _take_identified(points: pl.DataFrame, limits: Limits) -> pl.DataFrame:
    return take_rows(points, limits).filter(pl.col("kind").is_not_null())


def _find_right(rows: pl.DataFrame) -> list[float]:
    return (rows["kind"] == rows["kind_truth"]).cast(pl.Float64).to_list()


def _hold(
    values: Sequence[float], text: str, limits: Limits, low: float = 0.0, high: float = 1.0
) -> ClaimResult:
    """Hold the share of the design's cases that are as they should be against bounds."""
    verdict = decide(low <= _mean(values) <= high)
    why = "" if verdict is ClaimVerdict.REPRODUCED else limits.get("why", "no cause was found")
    return ClaimResult(text, verdict, why=why)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _write(size: Any, limits: Limits) -> str:
    return f"{size:.1%}" if "share" in limits else f"{size:.2f} ms"


def _list_some(texts: Sequence[str], most: int = 4) -> str:
    more = [f"{len(texts) - most} more"] if len(texts) > most else []
    return "; ".join([*texts[:most], *more])


def draw_errors(points: pl.DataFrame) -> list[Panel]:
    """Draw the error of each rate and base delay by format."""
    rows = take_rows(points, {})
    panels = []
    for quantity, title, scale in (
        ("rate", "error of the rate, %", 100.0),
        ("base", "error of the base delay, ms", None),
    ):
        own = take_estimates(rows, quantity).filter(pl.col(f"{quantity}_bound").is_null())
        truth = pl.col(f"{quantity}_truth")
        own = own.with_columns(error=scale * pl.col("error") / truth if scale else pl.col("error"))
        chart = make_chart(own.select("format", "error", "line", "direction"))
        panels.append(
            Panel(
                NAMES[quantity][0],
                chart.mark_point(filled=True, size=18, opacity=0.5).encode(
                    x=vl.X("error:Q", title=title), y=vl.Y("format:N", title=None)
                ),
            )
        )
    return panels


def draw_buffers(points: pl.DataFrame) -> list[Panel]:
    """Draw estimated against true drop-tail buffers, a panel for each format with samples."""
    rows = take_estimates(take_rows(points, {}), "buffer")
    return [Panel(name, _draw_buffers(own)) for name, own in _split_by_format(rows)]


def _split_by_format(rows: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    for (name,), own in rows.group_by("format", maintain_order=True):
        if own["buffer_bound"].null_count():
            yield str(name), own


def _draw_buffers(rows: pl.DataFrame) -> Any:
    rows = rows.with_columns(
        told=pl.when(pl.col("buffer_bound").is_null())
        .then(pl.lit("value"))
        .otherwise(pl.lit("bound"))
    ).select("buffer_truth", "buffer", "told", "congestion")
    scale = vl.Scale(type="log", domain=[10, 1000])
    x = vl.X("buffer_truth:Q", title="true buffer, ms", scale=scale)
    y = vl.Y("buffer:Q", title="estimated buffer, ms", scale=scale)
    ends = pl.DataFrame({"buffer_truth": [10.0, 1000.0], "buffer": [10.0, 1000.0]})
    diagonal = make_chart(ends).mark_line(color="#8C8C8C", strokeDash=[4, 3]).encode(x=x, y=y)
    dots = (
        make_chart(rows.filter(pl.col("buffer") > 0))
        .mark_point(size=30)
        .encode(
            x=x,
            y=y,
            color=vl.Color("congestion:N", title=None),
            shape=vl.Shape("told:N", title=None),
        )
    )
    return vl.layer(diagonal, dots)


def draw_kinds(points: pl.DataFrame) -> list[Panel]:
    """Draw how many queues of each kind were taken for which, a panel for each format."""
    rows = take_rows(points, {}).filter(pl.col("kind").is_not_null())
    return [
        Panel(str(name), _draw_kinds(own))
        for (name,), own in rows.group_by("format", maintain_order=True)
    ]


def _draw_kinds(rows: pl.DataFrame) -> Any:
    counts = rows.group_by("kind_truth", "kind", maintain_order=True).len("count")
    kinds = [kind.value for kind in QueueKind]
    x = vl.X("kind:N", title="taken for", scale=vl.Scale(domain=kinds))
    y = vl.Y("kind_truth:N", title="is", scale=vl.Scale(domain=kinds[:-1]))
    cells = (
        make_chart(counts)
        .mark_rect()
        .encode(x=x, y=y, color=vl.Color("count:Q", title="directions", scale=SHADES))
    )
    return vl.layer(cells, make_chart(counts).mark_text().encode(x=x, y=y, text=vl.Text("count:Q")))
