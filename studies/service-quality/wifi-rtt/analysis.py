"""Round-trip times beside a download in an 802.11b cell, by packet size and by the server's rate."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, make_chart
from headend.study.claims import Finding, Verdict, decide

#: Bits of the receive window.
WINDOW_BITS = 32 * 1024 * 8

#: What the text reads off Figure 4: packet size, idle and loaded round trip in ms.
PUBLISHED = {512: (2.6, 120), 1000: (2.6, 70), 1200: (2.6, 67), 1500: (2.6, 55)}


def average(points: pl.DataFrame) -> pl.DataFrame:
    """Give a row for each packet size and limit: means over the seeds, round trips in ms and limits in Mb/s."""
    groups = points.group_by("mtu", "limit", maintain_order=True)
    rows = groups.agg(pl.col("rtt").mean() / 1e6, pl.col("goodput").mean())
    return rows.with_columns(mbps=pl.col("limit").cast(pl.Float64, strict=False))


def read(rows: pl.DataFrame, mtu: int, limit: str) -> float | None:
    """Give the round trip of one cell in ms, if it was run."""
    chosen = rows.filter(mtu=mtu, limit=limit)
    return float(chosen["rtt"][0]) if chosen.height else None


def check_rtt(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Hold round trips at one limit against what was read off."""
    rows = average(points)
    texts, agrees = [], True
    for mtu, expected in limits["expected_ms"].items():
        rtt = read(rows, int(mtu), limits["limit"])
        if rtt is None:
            continue
        texts.append(f"{rtt:.1f} ms ({mtu} B)")
        agrees &= abs(rtt / expected - 1) <= limits["within"]
    return _judge(texts, agrees=agrees, limits=limits)


def check_setting(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """See that a setting gives what it was made for; that it does so reproduces nothing."""
    finding = check_rtt(points, limits)
    if finding.verdict is not Verdict.REPRODUCED:
        return finding
    return Finding(finding.measured, Verdict.UNTESTABLE, why=limits["why"])


def _judge(texts: list[str], *, agrees: bool, limits: dict[str, Any]) -> Finding:
    """Give the verdict on several values, with the study's reason where they differ."""
    if not texts:
        return Finding("no such run", Verdict.UNTESTABLE)
    why = "" if agrees else limits.get("why", "")
    return Finding(", ".join(texts), decide(agrees), why=why)


def check_order(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """See whether larger packets make shorter round trips."""
    times = average(points).filter(limit=limits["limit"]).sort("mtu")["rtt"].to_list()
    text = ", ".join(f"{rtt:.1f}" for rtt in times) + " ms"
    return Finding(text, decide(times == sorted(times, reverse=True) and len(times) > 1))


def find_knee(rows: pl.DataFrame, mtu: int) -> float | None:
    """Give the limit in Mb/s at which half of the way from the smallest to the largest round trip is passed."""
    curve = rows.filter(pl.col("mtu") == mtu, pl.col("mbps").is_not_null()).sort("mbps")
    if curve.height < 3:
        return None
    times: list[float] = curve["rtt"].to_list()
    middle = (min(times) + max(times)) / 2
    before = None
    for row in curve.iter_rows(named=True):
        if row["rtt"] >= middle:
            if before is None:
                return float(row["mbps"])
            part = (middle - before["rtt"]) / (row["rtt"] - before["rtt"])
            return float(before["mbps"] + part * (row["mbps"] - before["mbps"]))
        before = row
    return None


def check_knee(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Hold the knees against what was read off."""
    rows = average(points)
    texts, agrees = [], True
    for mtu, expected in limits["expected_mbps"].items():
        knee = find_knee(rows, int(mtu))
        if knee is None:
            continue
        texts.append(f"{knee:.1f} Mb/s ({mtu} B)")
        agrees &= abs(knee - expected) <= limits["within_mbps"]
    return _judge(texts, agrees=agrees, limits=limits)


def check_flat(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Look at the round trips before and after the knee."""
    rows = average(points)
    slow: list[float] = rows.filter(pl.col("mbps") <= 1)["rtt"].to_list()
    if not slow:
        return Finding("no such run", Verdict.UNTESTABLE)
    spreads = []
    for part in rows.filter(pl.col("mbps") >= 10).partition_by("mtu"):
        times: list[float] = part["rtt"].to_list()
        spreads.append(max(times) / min(times) - 1)
    longest = max(slow)
    text = f"at most {longest:.1f} ms before, within {max(spreads):.1%} after"
    return Finding(text, decide(longest <= limits["below_ms"] and max(spreads) <= limits["within"]))


def check_window(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Hold loaded round trips against the window over the goodput."""
    rows = average(points).filter(limit=limits["limit"])
    rows = rows.with_columns(ratio=pl.col("rtt") * 1e-3 * pl.col("goodput") / WINDOW_BITS)
    text = ", ".join(f"{row['ratio']:.2f} ({row['mtu']} B)" for row in rows.iter_rows(named=True))
    agrees = bool(((rows["ratio"] - 1).abs() <= limits["within"]).all())
    return Finding(f"round trip over window / goodput: {text}", decide(agrees))


def draw_loaded(points: pl.DataFrame) -> list[Panel]:
    """Draw idle and loaded round trips by packet size, with what was published."""
    rows = average(points).filter(pl.col("limit").is_in(["idle", "100"]))
    rows = rows.with_columns(
        state=pl.when(pl.col("limit") == "idle").then(pl.lit("idle")).otherwise(pl.lit("loaded")),
        size=pl.format("{} B", "mtu"),
    )
    published = pl.DataFrame(
        [
            {"size": f"{mtu} B", "state": state, "rtt": value}
            for mtu, values in PUBLISHED.items()
            for state, value in zip(("idle", "loaded"), values, strict=True)
        ]
    )
    sizes = [f"{mtu} B" for mtu in PUBLISHED]
    x = alt.X("size:N", title="packet size (MTU)", sort=sizes, axis=alt.Axis(labelAngle=0))
    y = alt.Y("rtt:Q", title="round-trip time, ms")
    offset = alt.XOffset("state:N", sort=["idle", "loaded"])
    tone = alt.Color(
        "state:N",
        title=None,
        scale=alt.Scale(domain=["idle", "loaded"], range=list(PALETTE[:2])),
    )
    bars = make_chart(rows).mark_bar().encode(x=x, y=y, xOffset=offset, color=tone)
    dots = (
        make_chart(published)
        .mark_point(filled=True, size=60, color="#24292f", shape="diamond")
        .encode(x=x, y=y, xOffset=offset)
    )
    return [Panel("", alt.layer(bars, dots))]


def draw_limits(points: pl.DataFrame) -> list[Panel]:
    """Draw round trips against the server's rate limit."""
    rows = average(points).filter(pl.col("mbps").is_not_null())
    rows = rows.with_columns(size=pl.format("{} B", "mtu"))
    sizes = [f"{mtu} B" for mtu in PUBLISHED]
    chart = (
        make_chart(rows)
        .mark_line(point=True)
        .encode(
            x=alt.X("mbps:Q", title="the server's rate limit, Mbit/s", scale=alt.Scale(type="log")),
            y=alt.Y("rtt:Q", title="round-trip time, ms"),
            color=alt.Color(
                "size:N", title=None, scale=alt.Scale(domain=sizes, range=list(PALETTE[:4]))
            ),
        )
    )
    return [Panel("", chart)]
