"""Section 5.2.1 of the Buffer Control guideline: a call's cost by the E-model."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import colour, make_chart, mark_across, mark_along
from headend.study import ClaimResult, decide


def invert_score(score: float) -> float:
    """Give the rating R whose mean opinion score this is (G.107 Annex B, on its rising branch)."""
    low, high = 6.52, 100.0
    for _ in range(60):
        middle = (low + high) / 2
        above = 1 + 0.035 * middle + middle * (middle - 60) * (100 - middle) * 7e-6 > score
        low, high = (low, middle) if above else (middle, high)
    return (low + high) / 2


def predict_cole(delay_ms: float) -> float:
    """Give Cole and Rosenbluth's R without loss at a mouth-to-ear delay."""
    return 94.2 - 0.024 * delay_ms - 0.11 * max(delay_ms - 177.3, 0.0)


def tabulate(points: pl.DataFrame) -> pl.DataFrame:
    """Average the seeds, with the rating."""
    return (
        points.group_by("delay_ms", "loss_percent", maintain_order=True)
        .agg(pl.col("mos", "loss").mean())
        .with_columns(rating=pl.col("mos").map_elements(invert_score, return_dtype=pl.Float64))
        .sort("loss_percent", "delay_ms")
    )


def find_knee(delays: npt.NDArray[np.float64], ratings: npt.NDArray[np.float64]) -> float:
    """Give where two straight lines that meet fit best (least squares, knee to 0.5 ms)."""
    places = np.arange(delays.min() + 20, delays.max() - 20, 0.5)
    errors = []
    for place in places:
        terms = np.column_stack([np.ones_like(delays), delays, np.clip(delays - place, 0.0, None)])
        fit = np.linalg.lstsq(terms, ratings, rcond=None)[0]
        errors.append(float(((terms @ fit - ratings) ** 2).sum()))
    return float(places[int(np.argmin(errors))])


def check_knee(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Fit the knee of the rating without loss, and that of Cole and Rosenbluth's formula."""
    rows = tabulate(points).filter(pl.col("loss_percent") == 0)
    delays = rows["delay_ms"].cast(pl.Float64).to_numpy()
    knee = find_knee(delays, rows["rating"].to_numpy())
    simpler = find_knee(delays, np.array([predict_cole(delay) for delay in delays]))
    agrees = limits["low_ms"] <= knee <= limits["high_ms"]
    why = f"the same fit to Cole and Rosenbluth's formula gives {simpler:.1f} ms. {_list(rows)}"
    return ClaimResult(f"{knee:.0f} ms", decide(agrees), why=why)


def check_loss(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the rating at the named loss against the class, and find where the class ends."""
    rows = tabulate(points)
    there = rows.filter(pl.col("loss_percent") == limits["loss_percent"])
    highest = float(there["rating"].max())  # type: ignore[arg-type]
    short = rows.filter(pl.col("delay_ms") == rows["delay_ms"].min()).sort("loss")
    # Ratings fall with the loss; np.interp wants rising places.
    end = float(
        np.interp(-limits["best"], -short["rating"].to_numpy(), short["loss"].to_numpy() * 100)
    )
    text = f"R = {highest:.1f} at the most with {limits['loss_percent']} %"
    why = (
        f"necessary, and by far not sufficient: at {short['delay_ms'][0]} ms R falls below"
        f" {limits['best']} from a loss of {end:.1f} % on (G.711 with concealment)"
    )
    return ClaimResult(text, decide(highest < limits["best"]), why=why)


def draw_rating(points: pl.DataFrame) -> list[Panel]:
    """Draw the rating over the delay, a line for each loss."""
    rows = tabulate(points).with_columns(
        series=pl.format("{} % lost", "loss_percent"),
        slot=pl.col("loss_percent").rank("dense").cast(pl.Int64) - 1,
    )
    x = vl.X(
        "delay_ms:Q", title="mouth-to-ear delay (ms)", scale=vl.Scale(domain=[50, 400], nice=False)
    )
    y = vl.Y("rating:Q", title="rating R", scale=vl.Scale(domain=[30, 100], nice=False))
    lines = (
        make_chart(rows)
        .mark_line(point={"filled": True, "size": 30}, strokeWidth=2, clip=True)
        .encode(x=x, y=y, color=colour(rows))
    )
    cole = pl.DataFrame({"delay_ms": [50.0, 177.3, 400.0]}).with_columns(
        rating=pl.col("delay_ms").map_elements(predict_cole, return_dtype=pl.Float64)
    )
    dashed = make_chart(cole).mark_line(color="#8c8c8c", strokeDash=[5, 4]).encode(x=x, y=y)
    marks = [
        mark_along(177.3, "177 ms", "delay_ms"),
        mark_across(90, "best"),
        mark_across(70, "many dissatisfied below"),
    ]
    return [Panel("", vl.layer(dashed, *marks, lines))]


def _list(rows: pl.DataFrame) -> str:
    return "R at " + ", ".join(
        f"{row['delay_ms']} ms {row['rating']:.1f}" for row in rows.iter_rows(named=True)
    )
