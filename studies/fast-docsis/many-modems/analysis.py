"""FAST through several modems: which α fills their lines."""

from __future__ import annotations

from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import colour, make_chart, mark_along
from headend.study import ClaimResult, ClaimVerdict, decide, decide_over_seeds, join_decisions

from ..alpha import (
    FRAME,
    MAC_HEADER,
    PACKET,
    alpha_axis,
    average_seeds,
    describe_alpha,
    draw_totals,
    find_needed,
    judge_trend,
)

#: Of the scenario, bit/s: what a modem has, or all share.
RATE = 3e6

#: The document's tables: what one modem's flows need each, by modems and flows.
PUBLISHED = {
    2: {1: 12, 2: 8, 3: 10, 4: 8, 5: 6, 10: 6},
    3: {1: 18, 2: 16, 3: 12, 4: 12, 5: 9},
}

#: Lines by what has 3 Mbit/s, with their colours.
SLOTS = {"each": 0, "shared": 1, "each, slow requests": 2}

#: From which share of what they carry lines count as full.
FULL = 0.9833


def tabulate(points: pl.DataFrame) -> pl.DataFrame:
    """Give the share of what the lines carry of each run."""
    # A modem's rate counts Ethernet frames, a channel's MAC headers too.
    each = pl.col("modems") * RATE * PACKET / FRAME
    shared = RATE * PACKET / (FRAME + MAC_HEADER)
    carried = pl.when(pl.col("line") == "shared").then(shared).otherwise(each)
    return points.with_columns(share=pl.col("throughput") / carried)


def find_by_seed(points: pl.DataFrame, full: float, modems: int, line: str) -> pl.DataFrame:
    """Give the individual α that fills the lines, in the finest steps, by flows and seed."""
    rows = tabulate(points).filter(pl.col("modems") == modems, pl.col("line") == line)
    return find_needed(rows, ["flows"], full)


def needed(points: pl.DataFrame, full: float, modems: int, line: str) -> dict[int, float | None]:
    """Give the smallest whole individual α that fills the lines, by flows: seeds' median."""
    whole = points.filter(pl.col("alpha") == pl.col("alpha").round())
    found = average_seeds(find_by_seed(whole, full, modems, line), ["flows"]).sort("flows")
    return dict(found.select("flows", "alpha").iter_rows())


def check_needed(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare the α that fills the lines with the published ones."""
    published = {int(n): alpha for n, alpha in limits["published"].items()}
    by_line = {
        line: {
            n: alpha
            for n, alpha in needed(points, limits["full"], limits["modems"], line).items()
            if n in published
        }
        for line in SLOTS
    }
    own = by_line["each"]
    if not own:
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    agrees = all(alpha == published[n] for n, alpha in own.items())
    most = points["alpha"].to_numpy().max()
    why = (
        "modems that contend with a first window of one opportunity wait little for request and"
        " grant, even where their requests collide. After a first backoff window of 16"
        " opportunities, with 16 packets of queue in each modem, acknowledgements are sent more"
        " slowly than they are due, and the flows need"
        f" {_list_alphas(by_line['each, slow requests'])} (a dash: more than {most:g}): the"
        " document's values lie between. Where 3 Mbit/s are shared they need"
        f" {_list_alphas(by_line['shared'])}"
    )
    return ClaimResult(f"each {_list_alphas(own)}", decide(agrees), why="" if agrees else why)


def check_trend(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Correlate the number of flows with the total α that fills the lines, seed by seed."""
    found = find_by_seed(points, limits["full"], limits["modems"], "each")
    is_published = pl.col("flows").is_in(list(PUBLISHED[limits["modems"]]))
    return judge_trend(found.filter(is_published))


def check_more_modems(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare what three modems need with what two need, for each number of flows."""
    two, three = (find_by_seed(points, limits["full"], n, "each") for n in (2, 3))
    pairs = two.join(three, on=["flows", "seed"], suffix="_three").sort("flows", "seed")
    pairs = pairs.filter(pl.col("flows").is_in(list(PUBLISHED[3])))
    if pairs.is_empty() or pairs["alpha"].null_count() or pairs["alpha_three"].null_count():
        return ClaimResult("on some lines no α tried is enough", ClaimVerdict.UNTESTABLE)
    texts, decisions = [], []
    for (flows,), own in pairs.group_by("flows", maintain_order=True):
        decisions.append(decide_over_seeds((own["alpha_three"] - own["alpha"]).to_list(), low=0))
        means = own.mean()
        texts.append(f"{means['alpha'].item():.2g} and {means['alpha_three'].item():.2g} ({flows})")
    return join_decisions(decisions, f"two and three modems, by flows: {', '.join(texts)}")


def draw_one(points: pl.DataFrame) -> list[Panel]:
    """Draw throughput over α with one flow behind each modem."""
    return _draw_throughput(points, 1)


def draw_three(points: pl.DataFrame) -> list[Panel]:
    """Draw throughput over α with three flows behind each modem."""
    return _draw_throughput(points, 3)


def draw_needed(points: pl.DataFrame) -> list[Panel]:
    """Draw what fills the lines over the flows per modem, and the document's tables."""
    panels = []
    for modems, published in PUBLISHED.items():
        rows = [
            {"series": f"3 Mb/s {line}", "slot": slot, "flows": n, "total": n * alpha}
            for line, slot in SLOTS.items()
            for n, alpha in needed(points, FULL, modems, line).items()
            if alpha is not None
        ]
        chart = draw_totals(
            rows,
            published,
            flows="flows per CM",
            total="α required (packets of 4 ms)",
            marked=(1, 2, 3, 4, 5, 10),
        )
        panels.append(Panel(f"{modems} CMs", chart))
    return panels


def _draw_throughput(points: pl.DataFrame, flows: int) -> list[Panel]:
    panels = []
    rows = points.filter(pl.col("flows") == flows)
    rows = rows.group_by("modems", "line", "alpha", maintain_order=True).mean().sort("alpha")
    for modems in rows["modems"].unique().sort():
        frame = rows.filter(pl.col("modems") == modems).with_columns(
            series=pl.format("3 Mb/s {}", "line"),
            slot=pl.col("line").replace_strict(SLOTS),
            mbps=pl.col("throughput") / 1e6,
        )
        lines = (
            make_chart(frame)
            .mark_line(point={"filled": True, "size": 35}, strokeWidth=2)
            .encode(
                x=alpha_axis(0.2, 40),
                y=vl.Y(
                    "mbps:Q",
                    title="aggregate throughput (Mb/s)",
                    scale=vl.Scale(domain=[0, 3.4 * modems], nice=False),
                ),
                color=colour(frame),
                tooltip=["series:N", "alpha:Q", vl.Tooltip("mbps:Q", format=".3f")],
            )
        )
        published = PUBLISHED[int(modems)][flows]
        mark = mark_along(published, f"published: {published}", "alpha", to_left=True)
        panels.append(Panel(f"{modems} CMs", vl.layer(mark, lines)))
    return panels


def _list_alphas(found: dict[int, float | None]) -> str:
    return ", ".join(f"{describe_alpha(alpha)} ({n})" for n, alpha in found.items())
