"""FAST through one modem: which α fills the line, and which loses packets."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import colour, make_chart, mark_along
from headend.study import ClaimResult, ClaimVerdict, decide

from ..alpha import (
    FRAME,
    PACKET,
    PACKET_MS,
    alpha_axis,
    average_seeds,
    describe_alpha,
    draw_totals,
    find_lossy,
    find_needed,
    judge_trend,
)

#: Of the scenario: bit/s of the lines, and what they carry of IP packets at most.
RATE = 3e6
CABLE = RATE * PACKET / FRAME
CARRIED = {"docsis": CABLE, "simple": RATE, "slow requests": CABLE}

NAMES = {"docsis": "DOCSIS", "simple": "simple link", "slow requests": "DOCSIS, slow requests"}

#: The document's table: individual α by number of flows.
PUBLISHED = {1: 13, 2: 22, 4: 12, 6: 9, 8: 9, 10: 8}

#: From which share of what it carries a line counts as full, and others that might be taken.
FULL, OTHER_LEVELS = 0.9833, (0.95, 0.995)


def tabulate(points: pl.DataFrame) -> pl.DataFrame:
    """Give the share of what the line carries, and the queue in packets, of each run."""
    is_simple = pl.col("line") == "simple"
    return points.with_columns(
        share=pl.col("throughput") / pl.col("line").replace_strict(CARRIED),
        loss=pl.col("lost") / pl.col("sent"),
        queue=pl.when(is_simple)
        .then(pl.col("line_backlog") / PACKET)
        .otherwise(pl.col("cable_backlog") / FRAME),
    )


def needed(points: pl.DataFrame, full: float, line: str = "docsis") -> dict[int, float | None]:
    """Give the smallest whole individual α that fills a line, by flows: the seeds' median."""
    is_whole = pl.col("alpha") == pl.col("alpha").round()
    rows = tabulate(points).filter(pl.col("line") == line, is_whole)
    found = average_seeds(find_needed(rows, ["flows"], full), ["flows"]).sort("flows")
    return dict(found.select("flows", "alpha").iter_rows())


def check_needed(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare the α that fills the cable line with the published ones."""
    found = needed(points, limits["full"])
    published = {int(n): alpha for n, alpha in limits["published"].items() if int(n) in found}
    if not published:
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    agrees = all(found[n] == alpha for n, alpha in published.items())
    parts = [_list_alphas("each", found, published)]
    parts += [
        _list_alphas(f"at {level:.1%}", needed(points, level), published) for level in OTHER_LEVELS
    ]
    parts.append(_list_alphas("simple link", needed(points, limits["full"], "simple"), published))
    slow = needed(points, limits["full"], "slow requests")
    each = _list_alphas("need", slow, published)
    totals = ", ".join(describe_alpha(a if a is None else n * a) for n, a in slow.items())
    why = (
        "a modem that is alone on its channel and contends with a window of one opportunity sends"
        " acknowledgements as fast as they are due, and FAST sees little queueing. With one request"
        " for each acknowledgement, a first backoff window of 16 opportunities and a queue of 16"
        f" packets in the modem they queue: the flows {each}, together {totals}. The document's"
        " totals are 44 to 80 from two flows on; this explains neither why they rise nor the 13 of"
        " one flow. In fast-docsis/delay-causes coarse shaping at the CMTS and clock ticks of 10 ms"
        " together make one flow need 4, as ticks alone do, and neighbours who take 30 % of the"
        " upstream 9"
    )
    return ClaimResult("; ".join(parts), decide(agrees), why="" if agrees else why)


def check_trend(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Correlate the number of flows with the total α that fills the line, seed by seed."""
    rows = tabulate(points).filter(pl.col("line") == "docsis")
    return judge_trend(find_needed(rows, ["flows"], limits["full"]))


def check_window(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare the queues that the same α leave behind both lines."""
    rows = tabulate(points).filter(pl.col("flows") == limits["flows"])
    means = rows.group_by("line", "alpha", maintain_order=True).agg(
        pl.col("queue").mean(), pl.col("share").min(), pl.col("lost").max()
    )
    fit = means.filter(pl.col("share") >= limits["full"], pl.col("lost") == 0)
    docsis, simple = (fit.filter(pl.col("line") == line) for line in ("docsis", "simple"))
    both = docsis.join(simple, on="alpha", suffix="_simple").sort("alpha")
    if both.is_empty():
        return ClaimResult("no α fills both lines", ClaimVerdict.UNTESTABLE)
    apart = (both["queue"] - both["queue_simple"]).to_numpy() / limits["flows"]
    off = both["queue"].to_numpy() / limits["flows"] - both["alpha"].to_numpy()
    text = (
        f"{np.min(apart):+.2f} to {np.max(apart):+.2f} packets a flow apart over {both.height}"
        f" values of α; the cable line's queue holds {np.min(off):+.2f} to {np.max(off):+.2f}"
        " packets a flow more than α"
    )
    return ClaimResult(text, decide(bool(np.max(np.abs(apart)) <= limits["packets"])))


def check_loss_order(points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Look at the first α with losses."""
    first = _first_lossy(points)
    agrees = None not in first.values() and len(set(first.values())) == len(first) > 1
    text = ", ".join(f"{describe_alpha(alpha)} ({n})" for n, alpha in first.items())
    return ClaimResult(f"first α with losses, by flows: {text}", decide(agrees))


def check_loss_buffer(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare the first α with losses with the buffer's share of a flow."""
    tried = np.array(sorted(points["alpha"].unique()))
    places = limits["buffer"] / FRAME
    texts, agrees = [], True
    for flows, alpha in _first_lossy(points).items():
        at = int(np.searchsorted(tried, places / flows))
        around = tried[max(0, at - 2) : at + 2]
        agrees &= alpha is not None and bool(around[0] <= alpha <= around[-1])
        texts.append(f"{describe_alpha(alpha)} ({flows}: {places / flows:.0f})")
    return ClaimResult("first α with losses (flows: derived): " + ", ".join(texts), decide(agrees))


def draw_four(points: pl.DataFrame) -> list[Panel]:
    """Draw throughput over α for 4 flows."""
    return _draw_throughput(points, 4)


def draw_six(points: pl.DataFrame) -> list[Panel]:
    """Draw throughput over α for 6 flows."""
    return _draw_throughput(points, 6)


def draw_needed(points: pl.DataFrame) -> list[Panel]:
    """Draw the total α that fills the line over the number of flows, and the document's."""
    rows = [
        {"series": NAMES[line], "slot": slot, "flows": n, "total": n * alpha}
        for slot, line in enumerate(NAMES)
        for n, alpha in needed(points, FULL, line).items()
        if alpha is not None
    ]
    chart = draw_totals(
        rows,
        PUBLISHED,
        flows="number of flows",
        total=f"total α required (packets of {PACKET_MS:g} ms)",
    )
    return [Panel("", chart)]


def draw_loss(points: pl.DataFrame) -> list[Panel]:
    """Draw loss over α on the cable line."""
    rows = tabulate(points).filter(pl.col("line") == "docsis")
    means = (
        rows.group_by("flows", "alpha", maintain_order=True)
        .agg(pl.col("loss").mean() * 100)
        .sort("flows", "alpha")
    )
    frame = means.with_columns(
        series=pl.format(
            "{} flow{}",
            "flows",
            pl.when(pl.col("flows") == 1).then(pl.lit("")).otherwise(pl.lit("s")),
        ),
        slot=pl.col("flows").rank("dense").cast(pl.Int64) - 1,
    )
    lines = (
        make_chart(frame)
        .mark_line(point={"filled": True, "size": 25}, strokeWidth=1.5)
        .encode(
            x=alpha_axis(0.05, 272),
            y=vl.Y("loss:Q", title="packets lost (%)"),
            color=colour(frame),
            tooltip=["series:N", "alpha:Q", vl.Tooltip("loss:Q", format=".3f")],
        )
    )
    return [Panel("", lines)]


def _draw_throughput(points: pl.DataFrame, flows: int) -> list[Panel]:
    rows = tabulate(points).filter(pl.col("flows") == flows)
    if rows.is_empty():
        return []
    means = (
        rows.group_by("line", "alpha", maintain_order=True)
        .agg(pl.col("throughput").mean() / 1e6)
        .sort("alpha")
    )
    frame = means.with_columns(
        series=pl.col("line").replace_strict(NAMES),
        slot=pl.col("line").replace_strict({name: at for at, name in enumerate(NAMES)}),
    )
    lines = (
        make_chart(frame)
        .mark_line(point={"filled": True, "size": 35}, strokeWidth=2, clip=True)
        .encode(
            x=alpha_axis(0.05, 64),
            y=vl.Y(
                "throughput:Q",
                title="aggregate throughput (Mb/s)",
                scale=vl.Scale(domain=[0, 3.2], nice=False),
            ),
            color=colour(frame),
            tooltip=["series:N", "alpha:Q", vl.Tooltip("throughput:Q", format=".3f")],
        )
    )
    mark = mark_along(PUBLISHED[flows], f"published: {PUBLISHED[flows]}", "alpha")
    return [Panel("", vl.layer(mark, lines))]


def _first_lossy(points: pl.DataFrame) -> dict[int, float | None]:
    rows = points.filter(pl.col("line") == "docsis")
    found = average_seeds(find_lossy(rows, ["flows"]), ["flows"]).sort("flows")
    return dict(found.select("flows", "alpha").iter_rows())


def _list_alphas(name: str, found: dict[int, float | None], published: dict[int, float]) -> str:
    return f"{name} " + ", ".join(f"{describe_alpha(found.get(n))} ({n})" for n in published)
