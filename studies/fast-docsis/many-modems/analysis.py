"""FAST through several modems: which α fills their lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from headend.figures.figure import Panel
from headend.figures.theme import colour, make_chart, mark_along
from headend.study.alpha import (
    FRAME,
    MAC_HEADER,
    PACKET,
    alpha_axis,
    average_seeds,
    correlate_ranks,
    find_needed,
    tell_alpha,
)
from headend.study.claims import Finding, Verdict, decide

if TYPE_CHECKING:
    from headend.figures.theme import AnyChart

#: Of the scenario, bit/s: what a modem has, or all share.
RATE = 3e6

#: The document's tables: what one modem's flows need each, by modems and flows.
PUBLISHED = {
    2: {1: 12, 2: 8, 3: 10, 4: 8, 5: 6, 10: 6},
    3: {1: 18, 2: 16, 3: 12, 4: 12, 5: 9},
}

SLOTS = {"each modem's": 0, "shared": 1}

WHY_LESS = (
    "the requests of several modems collide, so that acknowledgements wait the longer the more modems there are, and the needed α grows with their number and with"
    " the flows' as in the document; but by less. How many request opportunities its CMTS gave, and with which backoff, is not said (two in a MAP of 2 ms, and a first window of"
    " one); shared, 3 Mbit/s leave the upstream so little to do that there is no such effect"
)


def tabulate(points: pl.DataFrame) -> pl.DataFrame:
    """Give the share of what the lines carry of each run."""
    is_shared = pl.col("rate_is") == "shared"
    # A modem's rate counts Ethernet frames, a channel's MAC headers too.
    each = pl.col("modems") * RATE * PACKET / FRAME
    carried = pl.when(is_shared).then(RATE * PACKET / (FRAME + MAC_HEADER)).otherwise(each)
    return points.with_columns(share=pl.col("throughput") / carried)


def needed(points: pl.DataFrame, full: float, modems: int, rate_is: str) -> dict[int, float | None]:
    """Give the individual α that fills the lines, by flows behind a modem."""
    rows = tabulate(points).filter(pl.col("modems") == modems, pl.col("rate_is") == rate_is)
    found = average_seeds(find_needed(rows, ["flows"], full), ["flows"]).sort("flows")
    return dict(found.select("flows", "alpha").iter_rows())


def check_needed(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare the α that fills the lines with the published ones."""
    texts, agrees = [], True
    published = {int(n): alpha for n, alpha in limits["published"].items()}
    for rate_is in SLOTS:
        found = needed(points, limits["full"], limits["modems"], rate_is)
        own = {n: alpha for n, alpha in found.items() if n in published}
        if not own:
            continue
        texts.append(f"{rate_is} " + ", ".join(f"{tell_alpha(a)} ({n})" for n, a in own.items()))
        if rate_is == "each modem's":
            agrees = all(
                alpha is not None and abs(alpha - published[n]) <= limits["within"]
                for n, alpha in own.items()
            )
    return Finding("; ".join(texts), decide(agrees), why="" if agrees else WHY_LESS)


def check_enough(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Look at the throughput with the published α."""
    rows = tabulate(points).filter(
        pl.col("modems") == limits["modems"], pl.col("rate_is") == limits["rate_is"]
    )
    shares = [
        float(share)
        for flows, alpha in limits["published"].items()
        for share in rows.filter(pl.col("flows") == int(flows), pl.col("alpha") == alpha)["share"]
    ]
    if not shares:
        return Finding("no such run", Verdict.UNTESTABLE)
    text = f"{min(shares):.2%} or more in {len(shares)} runs"
    return Finding(text, decide(min(shares) >= limits["full"]))


def check_trend(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Correlate the number of flows with the total α that fills the lines."""
    found = needed(points, limits["full"], limits["modems"], limits["rate_is"])
    totals = {n: n * alpha for n, alpha in found.items() if alpha is not None}
    if len(totals) < 3:
        return Finding("too few numbers of flows", Verdict.UNTESTABLE)
    printed = {int(n): int(n) * float(alpha) for n, alpha in limits["published"].items()}
    text = f"{correlate_ranks(totals):.2f}: " + ", ".join(f"{a:g} ({n})" for n, a in totals.items())
    why = (
        f"the document's own table: {correlate_ranks(printed):.2f}. Where 1 each is enough, the smallest whole α, the total rises because each flow has"
        " at least one"
    )
    return Finding(text, decide(correlate_ranks(totals) > limits["least"]), why=why)


def check_more_modems(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare what three modems need with what two need."""
    two, three = (needed(points, limits["full"], n, limits["rate_is"]) for n in (2, 3))
    pairs = [(n, two[n], three[n]) for n in two if n in PUBLISHED[3]]
    text = ", ".join(f"{tell_alpha(a)} and {tell_alpha(b)} ({n})" for n, a, b in pairs)
    known = [(a, b) for _, a, b in pairs if a is not None and b is not None]
    agrees = len(known) == len(pairs) > 0 and all(b >= a for a, b in known)
    agrees &= any(b > a for a, b in known)
    return Finding(f"two and three: {text}", decide(agrees), why="" if agrees else WHY_LESS)


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
            {"series": f"3 Mb/s {rate_is}", "slot": slot, "flows": n, "total": n * alpha}
            for rate_is, slot in SLOTS.items()
            for n, alpha in needed(points, 0.9833, modems, rate_is).items()
            if alpha is not None
        ]
        rows += [
            {"series": "published", "slot": 6, "flows": n, "total": float(n * alpha)}
            for n, alpha in published.items()
        ]
        frame = pl.DataFrame(rows)
        chart: AnyChart = (
            make_chart(frame)
            .mark_line(point={"filled": True, "size": 50}, strokeWidth=1.5)
            .encode(
                x=alt.X("flows:Q", title="flows per CM", axis=alt.Axis(values=[1, 2, 3, 4, 5, 10])),
                y=alt.Y("total:Q", title="α required (packets of 4 ms)"),
                color=colour(frame),
                tooltip=["series:N", "flows:Q", "total:Q"],
            )
        )
        panels.append(Panel(f"{modems} CMs", chart))
    return panels


def _draw_throughput(points: pl.DataFrame, flows: int) -> list[Panel]:
    panels = []
    rows = tabulate(points).filter(pl.col("flows") == flows).sort("alpha")
    for modems in rows["modems"].unique().sort():
        frame = rows.filter(pl.col("modems") == modems).with_columns(
            series=pl.format("3 Mb/s {}", "rate_is"),
            slot=pl.col("rate_is").replace_strict(SLOTS),
            mbps=pl.col("throughput") / 1e6,
        )
        lines = (
            make_chart(frame)
            .mark_line(point={"filled": True, "size": 35}, strokeWidth=2)
            .encode(
                x=alpha_axis(1, 18),
                y=alt.Y(
                    "mbps:Q",
                    title="aggregate throughput (Mb/s)",
                    scale=alt.Scale(domain=[0, 3.4 * modems], nice=False),
                ),
                color=colour(frame),
                tooltip=["series:N", "alpha:Q", alt.Tooltip("mbps:Q", format=".3f")],
            )
        )
        published = PUBLISHED[int(modems)][flows]
        mark = mark_along(published, f"published: {published}", "alpha", to_left=True)
        panels.append(Panel(f"{modems} CMs", alt.layer(mark, lines)))
    return panels
