"""Shares of the line's rate: which hold, by access and by what the router counts."""

from __future__ import annotations

from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import colour, make_chart
from headend.study import ClaimResult, ClaimVerdict, decide

#: A call is well from this MOS on.
MOS = 4.0

#: The share whose ping is without a queue, in percent, and how much longer a ping may take, ns.
FREE, LONGER = 70, 10e6


def judge(points: pl.DataFrame) -> pl.DataFrame:
    """Say of each access, count and share whether it holds with every seed."""
    keys = ["access", "counts"]
    free = points.filter(pl.col("share") == FREE).group_by(keys).agg(free=pl.col("ping").mean())
    rows = points.join(free, on=keys)
    holds = (pl.col("call") >= MOS) & (pl.col("ping") <= pl.col("free") + LONGER)
    return rows.group_by([*keys, "share"], maintain_order=True).agg(
        holds=holds.all(),
        fails=(~holds).all(),
        ping=pl.col("ping").mean(),
        call=pl.col("call").min(),
    )


def find_edges(points: pl.DataFrame, counts: str) -> dict[str, int]:
    """Give the largest share of each access up to which every share holds; 0 for none."""
    rows = judge(points).filter(pl.col("counts") == counts).sort("share")
    edges: dict[str, int] = {}
    for (access,), own in rows.group_by("access", maintain_order=True):
        held = 0
        for share, holds in own.select("share", "holds").iter_rows():
            if not holds:
                break
            held = share
        edges[str(access)] = held
    return edges


def _write_edges(edges: dict[str, int]) -> str:
    return ", ".join(f"{access}: up to {share} %" for access, share in edges.items())


def _find_missing(rows: pl.DataFrame, accesses: list[str], shares: list[int]) -> bool:
    """Say whether a point that a claim is about was not run."""
    run = set(rows.select("access", "share").iter_rows())
    return any((access, share) not in run for access in accesses for share in shares)


def check_rule(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look for accesses where a share of the rule does not hold."""
    rows = judge(points).filter(
        pl.col("share").is_in(limits["shares"]), pl.col("counts") == limits["counts"]
    )
    if _find_missing(rows, limits["accesses"], limits["shares"]):
        return ClaimResult("not all of it was run", ClaimVerdict.UNTESTABLE)
    bad = rows.filter(~pl.col("holds"))
    text = _write_edges(find_edges(points, limits["counts"]))
    why = "; ".join(
        f"{access} at {share} %: ping {ping / 1e6:.0f} ms, MOS {mos:.1f}"
        for access, share, ping, mos in bad.select("access", "share", "ping", "call").iter_rows()
    )
    return ClaimResult(text, decide(bad.is_empty()), why=why)


def check_edge(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look where the edge lies: a share that holds, and one that fails."""
    rows = judge(points).filter(
        pl.col("access").is_in(limits["accesses"]), pl.col("counts") == limits["counts"]
    )
    if _find_missing(rows, limits["accesses"], [limits["holds"], limits["fails"]]):
        return ClaimResult("not all of it was run", ClaimVerdict.UNTESTABLE)
    held = rows.filter(pl.col("share") == limits["holds"])["holds"].all()
    failed = rows.filter(pl.col("share") == limits["fails"])["fails"].all()
    edges = find_edges(points, limits["counts"])
    return ClaimResult(
        _write_edges({own: edges[own] for own in limits["accesses"]}), decide(held and failed)
    )


def _average(points: pl.DataFrame, column: str, factor: float) -> pl.DataFrame:
    """Give the mean over the seeds of each access, count and share."""
    names = points["access"].unique(maintain_order=True).to_list()
    rows = points.group_by(["access", "counts", "share"], maintain_order=True).agg(
        value=(pl.col(column) * factor).mean()
    )
    slots = pl.col("access").replace_strict({name: place for place, name in enumerate(names)})
    return rows.with_columns(series=pl.col("access"), slot=slots)


def _draw(rows: pl.DataFrame, title: str, scale: vl.Scale) -> vl.Chart:
    base = make_chart(rows).encode(
        x=vl.X("share:Q", title="share of the line's rate (%)", scale=vl.Scale(zero=False)),
        y=vl.Y("value:Q", title=title, scale=scale),
        color=colour(rows, "circle"),
        tooltip=["series:N", "share:Q", vl.Tooltip("value:Q", format=".3~g")],
    )
    return base.mark_line(point=True)


def draw_edge(points: pl.DataFrame) -> list[Panel]:
    """Draw the ping over the share, by what the router counts."""
    rows = _average(points, "ping", 1e-6)
    return [
        Panel(
            f"the router counts {counts}",
            _draw(
                rows.filter(pl.col("counts") == counts),
                "round trip, 95th percentile (ms)",
                vl.Scale(type="log"),
            ),
        )
        for counts in rows["counts"].unique(maintain_order=True)
    ]


def draw_rates(points: pl.DataFrame) -> list[Panel]:
    """Draw the upload's rate over the share."""
    nominal = pl.col("access").str.extract(r" (\d+)/").cast(pl.Float64) * 1e6
    own = points.filter(pl.col("counts") == "as the line")
    rows = _average(own.with_columns(used=pl.col("up") / nominal), "used", 100)
    return [Panel("", _draw(rows, "upload, of the line's rate (%)", vl.Scale(zero=False)))]
