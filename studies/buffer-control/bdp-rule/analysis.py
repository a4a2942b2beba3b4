"""The rule of thumb of §5.1: how much of a line uploads use, by the share of the product."""

from __future__ import annotations

import itertools
import math
from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import colour, make_chart, mark_across, mark_along
from headend.study import ClaimResult, decide


def average(points: pl.DataFrame) -> pl.DataFrame:
    """Average the seeds."""
    rows = points.group_by("flows", "buffer_percent", maintain_order=True)
    return rows.agg(pl.col("utilisation").mean()).sort("flows", "buffer_percent")


def find_needs(points: pl.DataFrame, full: float) -> dict[int, float]:
    """Give the least buffer that keeps the line full by flows, % of the product; or inf."""
    needs = {}
    for (flows,), rows in average(points).group_by("flows", maintain_order=True):
        need = math.inf
        for row in rows.sort("buffer_percent", descending=True).iter_rows(named=True):
            if row["utilisation"] < full:
                break
            need = row["buffer_percent"]
        needs[int(str(flows))] = need
    return needs


def predict_one(buffer: float) -> float:
    """Give the share of the line that one Reno flow uses through so many products of buffer.

    Without a standing queue the window climbs from half of ``1 + buffer`` products. Below one
    product the line sends as much as the window says, at the base round trip; from there on it is
    full, and a round takes as long as the window takes to send.
    """
    if buffer >= 1:
        return 1.0
    top = 1 + buffer
    sent = (top**2 - (top / 2) ** 2) / 2
    time = (1 - top / 2) + (top**2 - 1) / 2
    return sent / time


def check_one(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Find the least buffer that a single flow needs."""
    need = find_needs(points, limits["full"])[1]
    rows = average(points).filter(pl.col("flows") == 1, pl.col("buffer_percent") >= 50)
    used = ", ".join(
        f"{row['utilisation']:.1%} at {row['buffer_percent']} %"
        for row in rows.iter_rows(named=True)
    )
    return ClaimResult(f"{_tell(need)} of it", decide(need == limits["percent"]), why=used)


def check_eight(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold a few flows against the line at one product."""
    rows = average(points).filter(
        pl.col("buffer_percent") == 100, pl.col("flows") <= limits["flows"]
    )
    text = ", ".join(
        f"{row['utilisation']:.1%} ({row['flows']})" for row in rows.iter_rows(named=True)
    )
    agrees = bool((rows["utilisation"] >= limits["full"]).all())
    return ClaimResult(f"with so many flows: {text}", decide(agrees))


def check_many(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare what many flows need with the product, and with each other."""
    needs = find_needs(points, limits["full"])
    many = [need for flows, need in needs.items() if flows >= limits["flows"]]
    falls = all(later <= earlier for earlier, later in itertools.pairwise(many))
    text = ", ".join(f"{_tell(need)} ({flows})" for flows, need in needs.items())
    return ClaimResult(f"with so many flows: {text}", decide(falls and max(many) < 100))


def draw_utilisation(points: pl.DataFrame) -> list[Panel]:
    """Draw the use of the line over the buffer, a line for each number of flows."""
    rows = average(points).with_columns(
        series=pl.format("{} uploads", "flows").replace("1 uploads", "1 upload"),
        slot=pl.col("flows").rank("dense").cast(pl.Int64) - 1,
        products=pl.col("buffer_percent") / 100,
        used=pl.col("utilisation") * 100,
    )
    x = vl.X(
        "products:Q",
        title="buffer (bandwidth-delay products)",
        scale=vl.Scale(type="log", domain=[0.05, 2], nice=False),
        axis=vl.Axis(values=[0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1, 1.4, 2]),
    )
    y = vl.Y(
        "used:Q",
        title="use of the line (%)",
        scale=vl.Scale(domain=[40, 105], clamp=True, nice=False),
    )
    lines = (
        make_chart(rows)
        .mark_line(point={"filled": True, "size": 40}, strokeWidth=2)
        .encode(x=x, y=y, color=colour(rows), tooltip=["series:N", "products:Q", "used:Q"])
    )
    places = [0.05 * 1.05**step for step in range(76)]
    theory = pl.DataFrame({"products": [place for place in places if place <= 2]}).with_columns(
        used=pl.col("products").map_elements(
            lambda buffer: 100 * predict_one(buffer), return_dtype=pl.Float64
        )
    )
    dashed = (
        make_chart(theory).mark_line(color="#8c8c8c", strokeDash=[6, 4], clip=True).encode(x=x, y=y)
    )
    marks = [mark_along(1, "the rule", "products", to_left=True), mark_across(100, "saturated")]
    return [Panel("", vl.layer(dashed, *marks, lines))]


def _tell(need: float) -> str:
    return "none" if math.isinf(need) else f"{need:g} %"
