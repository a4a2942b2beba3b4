"""Phantom queueing delay, and the α that it takes to fill a slow line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, colour, dash, make_chart, mark_along
from headend.study.alpha import (
    FRAME,
    PACKET,
    PACKET_MS,
    alpha_axis,
    average_seeds,
    find_needed,
    tell_alpha,
)
from headend.study.claims import Finding, Verdict, decide

if TYPE_CHECKING:
    from headend.figures.theme import AnyChart

#: The document's first row: packets that one flow needs at 3 Mbit/s.
PUBLISHED = 13

WHY = (
    "here the acknowledgement of a segment waits for the next one, 4 ms, as on any line, and through a modem that is alone on its channel for request and"
    " grant, 0 to 4 ms and 2 ms on average: half a packet. The slides, and the abstract of the paper they build on, leave the origin of their delay open"
    ' ("unexplained")'
)


def tabulate(points: pl.DataFrame) -> pl.DataFrame:
    """Give the share of what the line carries, and what FAST takes for queueing (ms), of each run."""
    is_simple = pl.col("line").str.starts_with("simple")
    carried = pl.col("rate_mbps") * 1e6 * pl.when(is_simple).then(1.0).otherwise(PACKET / FRAME)
    packets = pl.col("throughput") / (8 * PACKET)
    excess = pl.col("alpha") * pl.col("flows") / packets
    return points.with_columns(share=pl.col("throughput") / carried, excess=excess * 1e3)


def needed(points: pl.DataFrame, full: float) -> dict[tuple[str, float, int], float | None]:
    """Give the α of a flow that fills a line, by line, rate in Mbit/s and number of flows."""
    by = ["line", "rate_mbps", "flows"]
    found = average_seeds(find_needed(tabulate(points), by, full), by)
    return {
        (line, rate, flows): alpha
        for line, rate, flows, alpha in found.select(*by, "alpha").iter_rows()
    }


def find_phantoms(points: pl.DataFrame, full: float) -> pl.DataFrame:
    """Give the run of each line and rate with one flow and the largest α that leaves the line idle in part."""
    idle = tabulate(points).filter(pl.col("flows") == 1, pl.col("share") < full)
    last = idle.sort("alpha").group_by("line", "rate_mbps", "seed", maintain_order=True).last()
    return last.sort("rate_mbps", "line")


def check_phantom(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare what FAST takes for queueing on both lines at the same α, of which neither is full."""
    agrees, text = _compare(points, ("docsis", "simple"), limits["full"])
    if agrees is None:
        return Finding(text, Verdict.UNTESTABLE)
    return Finding(text, decide(agrees), why="" if agrees else WHY)


def _compare(points: pl.DataFrame, lines: tuple[str, str], full: float) -> tuple[bool | None, str]:
    """Say whether FAST sees more queueing on the first of two lines, at every rate."""
    rows = tabulate(points).filter(pl.col("flows") == 1, pl.col("share") < full)
    one, other = (rows.filter(pl.col("line") == line) for line in lines)
    pairs = one.join(other, on=["rate_mbps", "alpha", "seed"], suffix="_other").sort("alpha")
    last = pairs.group_by("rate_mbps", maintain_order=True).last().sort("rate_mbps")
    if last.is_empty():
        return None, "no α leaves both lines idle in part"
    text = "; ".join(
        f"{row['rate_mbps']:g} Mb/s, α {row['alpha']:g}: {row['excess']:.1f} and {row['excess_other']:.1f} ms at"
        f" {row['share']:.0%} and {row['share_other']:.0%} of the line"
        for row in last.iter_rows(named=True)
    )
    return bool((last["excess"] > last["excess_other"]).all()), text


def tell_variants(points: pl.DataFrame, full: float) -> str:
    """List what one flow needs at 3 Mbit/s on each line that was tried."""
    found = needed(points, full)
    parts = [
        f"{line}: {tell_alpha(alpha)}"
        for (line, rate, flows), alpha in found.items()
        if rate == 3 and flows == 1
    ]
    most = points["alpha"].cast(pl.Float64).to_numpy().max()
    return f". Of one flow at 3 Mbit/s (a dash: more than {most:g}): {'; '.join(parts)}"


def check_window(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare the window that fills the line with the bandwidth-delay product."""
    alpha = needed(points, limits["full"]).get(("docsis", limits["rate_mbps"], 1))
    if alpha is None:
        return Finding("no α tried fills the line", Verdict.UNTESTABLE)
    ratio = (limits["product"] + alpha) / limits["product"]
    agrees = ratio >= limits["least"]
    text = f"{ratio:.2f}: {limits['product']} + {tell_alpha(alpha)} packets"
    return Finding(text, decide(agrees), why="" if agrees else WHY)


def check_alpha(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare the α that both lines need."""
    found = needed(points, limits["full"])
    texts, agrees = [], True
    for (line, rate, flows), alpha in found.items():
        if line != "docsis":
            continue
        simple = found["simple", rate, flows]
        agrees &= alpha is not None and simple is not None and alpha > simple
        texts.append(f"{rate:g} Mb/s, {flows}: {tell_alpha(alpha)} and {tell_alpha(simple)}")
    own = found.get(("docsis", limits["rate_mbps"], limits["flows"]))
    agrees &= own is not None and abs(own - limits["alpha"]) <= limits["within"]
    text = "of each flow on the cable line and the plain link, by rate and flows: " + "; ".join(
        texts
    )
    why = "" if agrees else WHY + tell_variants(points, limits["full"])
    return Finding(text, decide(agrees), why=why)


def check_rule(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Look at the throughput with the rule's α."""
    row = tabulate(points).filter(
        pl.col("line") == "docsis",
        pl.col("rate_mbps") == limits["rate_mbps"],
        pl.col("flows") == limits["flows"],
        pl.col("alpha") == limits["alpha"],
    )
    if row.is_empty():
        return Finding("no such run", Verdict.UNTESTABLE)
    share = float(row["share"].to_numpy().mean())
    agrees = share < limits["full"]
    return Finding(
        f"{share:.1%} of what the line carries", decide(agrees), why="" if agrees else WHY
    )


def check_scale(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare what each of two flows needs with what one needs alone."""
    found = needed(points, limits["full"])
    one, two = (found.get(("docsis", limits["rate_mbps"], flows)) for flows in (1, 2))
    if one is None or two is None:
        return Finding("no α tried fills the line", Verdict.UNTESTABLE)
    agrees = two / one > limits["least"]
    ratios = [
        f"{line}: {tell_alpha(alpha)} to {tell_alpha(found[line, rate, 1])}"
        for (line, rate, flows), alpha in found.items()
        if rate == limits["rate_mbps"] and flows == 2
    ]
    why = (
        "where the phantom delay q does not depend on what the flows do, each holds rate·q packets for its share of the rate: what they need"
        f" together is rate·q whatever their number. Two flows to one, on each line: {'; '.join(ratios)}"
    )
    return Finding(
        f"{tell_alpha(two)} to {tell_alpha(one)}: {two / one:.2f}",
        decide(agrees),
        why="" if agrees else why,
    )


def draw_throughput(points: pl.DataFrame) -> list[Panel]:
    """Draw throughput over α at 3 Mbit/s, a panel for each number of flows."""
    rows = points.filter(pl.col("rate_mbps") == 3)
    panels = []
    slots = {name: at for at, name in enumerate(points["line"].unique(maintain_order=True))}
    for flows in rows["flows"].unique().sort():
        frame = rows.filter(pl.col("flows") == flows).with_columns(
            series=pl.col("line"),
            slot=pl.col("line").replace_strict(slots),
            mbps=pl.col("throughput") / 1e6,
        )
        lines = (
            make_chart(frame)
            .mark_line(point={"filled": True, "size": 25}, strokeWidth=1.5)
            .encode(
                x=alpha_axis(0.25, 25),
                y=alt.Y(
                    "mbps:Q",
                    title="throughput (Mb/s)",
                    scale=alt.Scale(domain=[0, 3.2], nice=False),
                ),
                color=colour(frame),
                strokeDash=dash(frame),
                tooltip=["series:N", "alpha:Q", alt.Tooltip("mbps:Q", format=".3f")],
            )
        )
        published = {1: 13, 2: 22}[int(flows)]
        mark = mark_along(published, f"published: {published}", "alpha", to_left=True)
        panels.append(Panel(f"{flows} flow{'s' if flows > 1 else ''}", alt.layer(mark, lines)))
    return panels


def draw_phantom(points: pl.DataFrame) -> list[Panel]:
    """Draw what FAST takes for queueing on lines that are not full."""
    rows = find_phantoms(points, 0.9833).filter(pl.col("rate_mbps") == 3)
    order = points["line"].unique(maintain_order=True).to_list()
    bars = (
        make_chart(rows)
        .mark_bar(color=PALETTE[0])
        .encode(
            x=alt.X("excess:Q", title="taken for queueing (ms)"),
            y=alt.Y("line:N", title=None, sort=order, axis=alt.Axis(labelLimit=220)),
            tooltip=["line:N", alt.Tooltip("excess:Q", format=".1f"), "alpha:Q"],
        )
    )
    mark: AnyChart = mark_along(PUBLISHED * PACKET_MS, "13 packets of 4 ms", "excess", to_left=True)
    return [Panel("", alt.layer(bars, mark))]
