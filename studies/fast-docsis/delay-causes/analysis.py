"""What the document leaves open, and the α that it makes FAST need."""

from __future__ import annotations

from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, make_chart, mark_along
from headend.study import ClaimResult, decide

from ..alpha import (
    FRAME,
    PACKET,
    average_seeds,
    describe_alpha,
    draw_totals,
    find_needed,
)

#: Of the scenario, bit/s.
RATE = 3e6

#: Bytes of an acknowledgement in the modem's queue: of IP, and Ethernet's header and check sum.
ACKNOWLEDGEMENT = 52 + 18

#: From which share of what it carries a line counts as full: 2.95 of 3 Mbit/s.
FULL = 0.9833

#: The document's table: individual α by number of flows, of those that are tried.
PUBLISHED = {1: 13, 2: 22, 4: 12, 10: 8}

#: Lines on which acknowledgements are due faster than they are sent, and the same where requests
#: may ride in bursts.
SLOW = ("MAPs every 10 ms", "backoff from 16")
RIDING = ("MAPs every 10 ms, DOCSIS 1.1", "backoff from 16, DOCSIS 1.1")

#: Lines with other causes.
OTHERS = (
    "burst of two packets",
    "each segment acknowledged",
    "gamma of 0.1",
    "update every 20 ms",
    "DOCSIS 1.1",
    "MAPs every 4 ms",
    "tokens every 10 ms",
    "ticks of 10 ms",
    "tokens and ticks of 10 ms",
)

#: Lines of the first figure, with their colours.
DRAWN = {
    "docsis": 0,
    "backoff from 16": 1,
    "backoff from 16, queue of 16": 2,
    "backoff from 16, queue of 8": 3,
}


def needed(points: pl.DataFrame, full: float) -> dict[tuple[str, int], float | None]:
    """Give the individual α that fills a line, by line and flows; or None."""
    carried = pl.when(pl.col("line") == "simple").then(RATE).otherwise(RATE * PACKET / FRAME)
    rows = points.with_columns(share=pl.col("throughput") / carried)
    found = average_seeds(find_needed(rows, ["line", "flows"], full), ["line", "flows"])
    return {
        (line, flows): alpha
        for line, flows, alpha in found.select("line", "flows", "alpha").iter_rows()
    }


def check_requests(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look at the lines with slow requests, with and without requests that ride in bursts."""
    found = needed(points, limits["full"])
    least, flows = limits["published"], limits["flows"]
    slow, riding = ([found[line, flows] for line in lines] for lines in (SLOW, RIDING))
    agrees = all(alpha is None or alpha >= least for alpha in slow)
    agrees &= all(alpha is not None and alpha < least for alpha in riding)
    return ClaimResult(
        _tell(points, found, flows), decide(agrees), why=_tell_queues(points, flows, least)
    )


def check_others(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look at the lines with other causes."""
    found, flows = needed(points, limits["full"]), limits["flows"]
    own = [found[line, flows] for line in OTHERS]
    agrees = all(alpha is not None and alpha < limits["published"] for alpha in own)
    return ClaimResult(_tell(points, found, flows), decide(agrees))


def draw_needed(points: pl.DataFrame) -> list[Panel]:
    """Draw the total α over the number of flows."""
    found = needed(points, FULL)
    rows = [
        {"series": line, "slot": slot, "flows": flows, "total": flows * alpha}
        for line, slot in DRAWN.items()
        for flows in PUBLISHED
        if (alpha := found.get((line, flows))) is not None
    ]
    chart = draw_totals(
        rows, PUBLISHED, flows="number of flows", total="total α required (packets of 4 ms)"
    )
    return [Panel("", chart)]


def draw_causes(points: pl.DataFrame) -> list[Panel]:
    """Draw what four flows need each on every line."""
    found = needed(points, FULL)
    order = points["line"].unique(maintain_order=True).to_list()
    rows = pl.DataFrame([{"line": line, "alpha": found[line, 4]} for line in order])
    bars = (
        make_chart(rows)
        .mark_bar(color=PALETTE[0])
        .encode(
            x=vl.X("alpha:Q", title="α required of each flow (packets)"),
            y=vl.Y("line:N", title=None, sort=order, axis=vl.Axis(labelLimit=240)),
            tooltip=["line:N", "alpha:Q"],
        )
    )
    mark = mark_along(PUBLISHED[4], "published: 12", "alpha")
    return [Panel("", vl.layer(bars, mark))]


def _tell_queues(points: pl.DataFrame, flows: int, alpha: float) -> str:
    """Say how many acknowledgements wait in the modem with so many flows and such an α."""
    rows = points.filter(pl.col("flows") == flows, pl.col("alpha") == alpha)
    means = dict(rows.group_by("line").agg(pl.col("waiting").mean()).iter_rows())
    parts = [f"{means[line] / ACKNOWLEDGEMENT:.1f} ({line})" for line in DRAWN if line in means]
    return (
        f"with an α of {alpha:g} there wait in the modem on average, acknowledgements:"
        f" {', '.join(parts)}"
    )


def _tell(points: pl.DataFrame, found: dict[tuple[str, int], float | None], flows: int) -> str:
    most = points["alpha"].to_numpy().max()
    lines = points["line"].unique(maintain_order=True)
    parts = [f"{line}: {describe_alpha(found[line, flows])}" for line in lines]
    return (
        f"{flows} flow{'s' if flows > 1 else ''} (a dash: more than {most:g}): {'; '.join(parts)}"
    )
