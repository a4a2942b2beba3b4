"""Jain's index of alike flows, beside that of random placements."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, make_chart
from headend.study import ClaimResult, decide

if TYPE_CHECKING:
    from numpy.typing import NDArray


#: Queues that flows are hashed into.
QUEUES = 32

#: Placements of which the prediction is made.
PLACEMENTS = 20_000


@functools.cache
def place_flows(flows: int) -> NDArray[np.float64]:
    """Give Jain's index of random placements, rising: K² / (n · Σ 1/m) over K busy queues."""
    generator = np.random.default_rng(1)
    queues = generator.integers(QUEUES, size=(PLACEMENTS, flows))
    counts = np.stack([np.bincount(row, minlength=QUEUES) for row in queues])
    busy = (counts > 0).sum(axis=1)
    inverse = np.where(counts > 0, 1 / np.maximum(counts, 1), 0.0).sum(axis=1)
    return np.sort(busy**2 / (flows * inverse))


def split(points: pl.DataFrame, isolation: str) -> pl.DataFrame:
    """Give the runs of one isolation."""
    parts = pl.col("queue").str.split(" ")
    rows = points.with_columns(scheduler=parts.list.first(), isolation=parts.list.last())
    return rows.filter(pl.col("isolation") == isolation)


def check_perfect(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look for the run with the least fair shares."""
    rows = split(points, "perfect").sort("jain")
    worst = rows.row(0, named=True)
    text = f"at least {worst['jain']:.4f} over {rows.height} runs"
    return ClaimResult(text, decide(worst["jain"] >= limits["least"]), why=_name(worst))


def check_hashed(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold every run against the spread of random placements."""
    rows = split(points, "hashed")
    outside = []
    for row in rows.iter_rows(named=True):
        low, high = _spread(row["flows"], limits["tail"])
        if not low - limits["slack"] <= row["jain"] <= high + 1e-6:
            outside.append(f"{_name(row)} {row['jain']:.3f}, not {low:.3f} to {high:.3f}")
    text = f"{rows.height - len(outside)} of {rows.height} runs inside"
    return ClaimResult(text, decide(not outside), why="; ".join(outside))


def check_mean(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the mean over the seeds against that of random placements."""
    groups = split(points, "hashed").group_by(
        "scheduler", "congestion", "flows", maintain_order=True
    )
    rows = groups.agg(pl.col("jain").mean(), pl.len()).sort("scheduler", "congestion", "flows")
    far, errors = [], []
    for row in rows.iter_rows(named=True):
        placed = place_flows(row["flows"])
        error = (row["jain"] - placed.mean()) / (placed.std() / np.sqrt(row["len"]))
        errors.append(abs(error))
        if abs(error) > limits["errors"]:
            far.append(f"{_name(row)} {row['jain']:.3f} for {placed.mean():.3f}")
    text = (
        f"{rows.height - len(far)} of {rows.height} means within, at most {max(errors):.1f}"
        " standard errors off"
    )
    return ClaimResult(text, decide(not far), why="; ".join(far))


def draw_indices(points: pl.DataFrame) -> list[Panel]:
    """Draw every run's index, a panel for each isolation."""
    panels = []
    for isolation, title in (("perfect", "A queue for each flow"), ("hashed", "32 hashed queues")):
        rows = split(points, isolation).with_columns(
            series=pl.format("{} flows", "flows"), low=1.0, high=1.0
        )
        if isolation == "hashed":
            bounds = {flows: _spread(flows, 0.001) for flows in rows["flows"].unique()}
            rows = rows.with_columns(
                pl.col("flows")
                .replace_strict({n: b[side] for n, b in bounds.items()}, return_dtype=pl.Float64)
                .alias(name)
                for side, name in enumerate(("low", "high"))
            )
        panels.append(Panel(title, _draw_runs(rows)))
    return panels


def _draw_runs(rows: pl.DataFrame) -> vl.Chart:
    names = rows["series"].unique().sort().to_list()
    place = vl.Y("scheduler:N", title=None)
    offset = vl.YOffset("series:N", sort=names)
    scale = vl.Scale(domain=[0.5, 1.0], zero=False)
    tone = vl.Color("series:N", title=None, scale=vl.Scale(domain=names, range=list(PALETTE[:2])))
    bars = (
        make_chart(rows.unique(["scheduler", "series"], maintain_order=True))
        .mark_bar(opacity=0.15, height=12)
        .encode(
            x=vl.X("low:Q", title="Jain's index of the goodputs", scale=scale),
            x2="high:Q",
            y=place,
            yOffset=offset,
            color=tone,
        )
    )
    dots = (
        make_chart(rows)
        .mark_point(filled=True, size=30, opacity=0.6)
        .encode(x=vl.X("jain:Q", scale=scale), y=place, yOffset=offset, color=tone)
    )
    return vl.layer(bars, dots)


def _spread(flows: int, tail: float) -> tuple[float, float]:
    low, high = np.quantile(place_flows(flows), [tail, 1 - tail])
    return float(low), float(high)


def _name(row: dict[str, Any]) -> str:
    return f"{row['flows']} flows of {row['congestion']} through {row['scheduler']}"
