"""Phantom queueing delay, and the α that it takes to fill a slow line."""

from __future__ import annotations

from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, colour, make_chart, mark_along
from headend.study import ClaimResult, ClaimVerdict, decide_over_seeds, join_decisions

from ..alpha import (
    FRAME,
    PACKET,
    PACKET_MS,
    alpha_axis,
    find_needed,
)

#: The document's first row: packets that one flow needs at 3 Mbit/s.
PUBLISHED = 13

NAMES = {"docsis": "DOCSIS", "simple": "simple link"}

#: From which share of what it carries a line counts as full.
FULL = 0.9833

#: What parts the lines, and what does not: seeds 1 to 4 of this study with one thing changed.
WHY_PHANTOM = (
    "at 0.5 Mb/s the plain link's delayed acknowledgements look like a queue too: with each segment"
    " acknowledged (`--set flow.fast.tcp.delayed_ack='0 s'`, four seeds) the modem shows more at"
    " each of the four rates, 12.7 and 12.3 ms at 0.5 Mb/s. With MAPs every 4 ms (`--set"
    " link.cable.docsis.plant.map_interval='4 ms'`) it shows less at 0.5 Mb/s as well, 6.7 and 7.4"
)
WHY_ALPHA = (
    "the six cases with one flow or at 2 and 3 Mb/s are as published. With two flows at 0.5 and"
    " 1 Mb/s the lines are within a tenth of a packet, the step of α; neither MAPs every 4 ms nor"
    " an acknowledgement for each segment parts them (four seeds)"
)


def tabulate(points: pl.DataFrame) -> pl.DataFrame:
    """Give the share of what the line carries, and FAST's queueing (ms), of each run."""
    is_simple = pl.col("line").str.starts_with("simple")
    carried = pl.col("rate_mbps") * 1e6 * pl.when(is_simple).then(1.0).otherwise(PACKET / FRAME)
    packets = pl.col("throughput") / (8 * PACKET)
    excess = pl.col("alpha") * pl.col("flows") / packets
    return points.with_columns(share=pl.col("throughput") / carried, excess=excess * 1e3)


def compare_needed(points: pl.DataFrame, full: float) -> pl.DataFrame:
    """Give the α that fills each line and how much larger the cable's is, by rate, flows, seed."""
    case = ["rate_mbps", "flows"]
    found = find_needed(tabulate(points), ["line", *case], full)
    lines = (
        found.filter(pl.col("line") == line).rename({"alpha": line}).drop("line")
        for line in ("docsis", "simple")
    )
    docsis, simple = lines
    both = docsis.join(simple, on=[*case, "seed"]).sort(*case, "seed")
    return both.with_columns(apart=pl.col("docsis") - pl.col("simple"))


def find_phantoms(points: pl.DataFrame, full: float) -> pl.DataFrame:
    """Give each line's and rate's run of one flow with the largest α that is too small."""
    idle = tabulate(points).filter(pl.col("flows") == 1, pl.col("share") < full)
    last = idle.sort("alpha").group_by("line", "rate_mbps", "seed", maintain_order=True).last()
    return last.sort("rate_mbps", "line")


def check_phantom(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare what FAST takes for queueing on both lines at the same α, neither full."""
    idle = tabulate(points).filter(pl.col("flows") == 1, pl.col("share") < limits["full"])
    docsis, simple = (idle.filter(pl.col("line") == line) for line in ("docsis", "simple"))
    pairs = docsis.join(simple, on=["rate_mbps", "alpha", "seed"], suffix="_simple").sort("alpha")
    last = pairs.group_by("rate_mbps", "seed", maintain_order=True).last()
    if last.is_empty():
        return ClaimResult("no α leaves both lines idle in part", ClaimVerdict.UNTESTABLE)
    apart = last.with_columns(apart=pl.col("excess") - pl.col("excess_simple"))
    decisions, texts = [], []
    for (rate,), own in apart.sort("rate_mbps", "seed").group_by("rate_mbps", maintain_order=True):
        decisions.append(decide_over_seeds(own["apart"].to_list(), low=0))
        means = own.mean()
        delays = f"{means['excess'].item():.1f} and {means['excess_simple'].item():.1f} ms"
        texts.append(f"{delays} ({rate:g} Mb/s: {decisions[-1].verdict})")
    return join_decisions(decisions, f"modem and plain link: {', '.join(texts)}", WHY_PHANTOM)


def check_alpha(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare the α that both lines need."""
    both = compare_needed(points, limits["full"])
    if both.is_empty() or both["apart"].null_count():
        return ClaimResult("on some lines no α tried is enough", ClaimVerdict.UNTESTABLE)
    decisions, texts = [], []
    for (rate, flows), own in both.group_by("rate_mbps", "flows", maintain_order=True):
        decisions.append(decide_over_seeds(own["apart"].to_list(), low=0))
        means = own.mean()
        alphas = f"{means['docsis'].item():.2g} and {means['simple'].item():.2g}"
        texts.append(f"{alphas} ({rate:g} Mb/s, {flows}: {decisions[-1].verdict})")
    return join_decisions(
        decisions, f"modem and plain link, by rate and flows: {', '.join(texts)}", WHY_ALPHA
    )


def check_rule(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look at the throughput with an α that FAST's prototype takes."""
    row = tabulate(points).filter(
        pl.col("line") == "docsis",
        pl.col("rate_mbps") == limits["rate_mbps"],
        pl.col("flows") == limits["flows"],
        pl.col("alpha") == limits["alpha"],
    )
    if row.is_empty():
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    share = float(row["share"].to_numpy().mean())
    why = "which rule is meant is not on the slides"
    return ClaimResult(f"{share:.1%} of what the line carries", ClaimVerdict.UNTESTABLE, why=why)


def draw_throughput(points: pl.DataFrame) -> list[Panel]:
    """Draw throughput over α at 3 Mbit/s, a panel for each number of flows."""
    rows = points.filter(pl.col("rate_mbps") == 3)
    panels = []
    slots = {name: at for at, name in enumerate(points["line"].unique(maintain_order=True))}
    for flows in rows["flows"].unique().sort():
        means = (
            rows.filter(pl.col("flows") == flows)
            .group_by("line", "alpha", maintain_order=True)
            .mean()
        )
        frame = means.sort("alpha").with_columns(
            series=pl.col("line").replace_strict(NAMES),
            slot=pl.col("line").replace_strict(slots),
            mbps=pl.col("throughput") / 1e6,
        )
        lines = (
            make_chart(frame)
            .mark_line(point={"filled": True, "size": 25}, strokeWidth=1.5)
            .encode(
                x=alpha_axis(0.1, 26),
                y=vl.Y(
                    "mbps:Q",
                    title="throughput (Mb/s)",
                    scale=vl.Scale(domain=[0, 3.2], nice=False),
                ),
                color=colour(frame),
                tooltip=["series:N", "alpha:Q", vl.Tooltip("mbps:Q", format=".3f")],
            )
        )
        published = {1: 13, 2: 22}[int(flows)]
        mark = mark_along(published, f"published: {published}", "alpha", to_left=True)
        panels.append(Panel(f"{flows} flow{'s' if flows > 1 else ''}", vl.layer(mark, lines)))
    return panels


def draw_phantom(points: pl.DataFrame) -> list[Panel]:
    """Draw what FAST takes for queueing on lines that are not full."""
    found = find_phantoms(points, FULL).filter(pl.col("rate_mbps") == 3)
    means = found.group_by("line", maintain_order=True).agg(pl.col("excess", "alpha").mean())
    rows = means.with_columns(pl.col("line").replace(NAMES))
    order = list(NAMES.values())
    bars = (
        make_chart(rows)
        .mark_bar(color=PALETTE[0])
        .encode(
            x=vl.X("excess:Q", title="taken for queueing (ms)"),
            y=vl.Y("line:N", title=None, sort=order, axis=vl.Axis(labelLimit=220)),
            tooltip=["line:N", vl.Tooltip("excess:Q", format=".1f")],
        )
    )
    mark = mark_along(PUBLISHED * PACKET_MS, "13 packets of 4 ms", "excess", to_left=True)
    return [Panel("", vl.layer(bars, mark))]
