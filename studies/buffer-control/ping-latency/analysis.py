"""Figures 3 and 4 of the Buffer Control guideline: how a ping grows with the buffer, and how full one TCP keeps it."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from headend.figures.figure import Panel
from headend.figures.theme import colour, log_axis, make_chart, mark_across_in_corner
from headend.quantity import format_quantity
from headend.study.claims import Finding, decide
from headend.study.fitting import Slope, fit_slope

#: The bench's own round trip, which the guideline holds as the intercept, in ms.
INTERCEPT_MS = 17.0

#: Why the controls differ: the mean of a saw tooth, where what is in flight outside the buffer is small against it.
SAW_TEETH = {
    "cubic": "CUBIC keeps 70 % of its window at a loss: the saw tooth averages 85 % of buffer and path together,"
    " less the path",
    "reno": "Reno keeps half of its window at a loss: the saw tooth averages 75 % of buffer and path together,"
    " less the path",
}

#: Why ten uploads do not fill the smallest buffers; the sizes are those of the points it is said of.
FEW_PACKETS = (
    "a buffer of a few packets cannot stay full: {kib} KiB hold {count} of them, {share:.0%} of it, whichever leaves is missed until"
    " the next comes from afar, and ten uploads that share them often wait for a timer. Not above the line: "
)

#: A full segment as a modem counts it: 1500 B of IP packet and 18 B of Ethernet.
PACKET_BYTES = 1518

#: Ten uploads at once, which need no long buffer to fill it.
TEN = "ten cubic"

#: The guideline's slope.
PUBLISHED_SLOPE = 0.8462


def tabulate(points: pl.DataFrame) -> pl.DataFrame:
    """Average the seeds; the predicted buffer latency and the mean ping in ms (KiB of 1024 bytes, Mb/s of 10⁶ bit/s)."""
    return (
        points.group_by("congestion", "rate_mbps", "buffer_kib", "rtt_ms", maintain_order=True)
        .agg(ping_ms=pl.col("ping").mean() / 1e6)
        .with_columns(predicted_ms=pl.col("buffer_kib") * 1024 * 8 / (pl.col("rate_mbps") * 1e3))
    )


def fit(points: pl.DataFrame, congestion: str) -> tuple[Slope, int]:
    """Fit the slope as its claim does, and count the points: of one upload those whose buffer latency exceeds their RTT, of ten all."""
    rows = tabulate(points).filter(pl.col("congestion") == congestion)
    if congestion != TEN:
        rows = rows.filter(pl.col("predicted_ms") > pl.col("rtt_ms"))
    return fit_slope(rows["predicted_ms"], rows["ping_ms"], intercept=INTERCEPT_MS), rows.height


def check_slope(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Hold the fitted slope against its limits."""
    slope, count = fit(points, limits["congestion"])
    verdict = decide(limits["low"] <= slope.value <= limits["high"])
    why = SAW_TEETH[limits["congestion"]]
    if slope.value > limits["high"]:
        why += ". Here the sender backs off less, or less often"
    elif slope.value < limits["low"]:
        why += ". Here it backs off further, or recovers more slowly"
    return Finding(f"{slope.value:.4f} over {count} points", verdict, (slope.low, slope.high), why)


def check_ten(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Fit the slope over all points of ten uploads, and count those above the guideline's line."""
    rows = tabulate(points).filter(pl.col("congestion") == TEN)
    slope, _ = fit(points, TEN)
    line = INTERCEPT_MS + PUBLISHED_SLOPE * pl.col("predicted_ms")
    below = rows.filter(pl.col("ping_ms") <= line)
    above = rows.height - below.height
    agrees = (
        limits["low"] < slope.value <= limits["high"] and above >= limits["share"] * rows.height
    )
    text = f"{slope.value:.4f}, {above} of {rows.height} points above the line"
    why = _explain_few_packets(below) + _list_points(below) if below.height else ""
    return Finding(text, decide(agrees), (slope.low, slope.high), why)


def _explain_few_packets(below: pl.DataFrame) -> str:
    kib = int(below["buffer_kib"].min())  # type: ignore[arg-type]
    count = kib * 1024 // PACKET_BYTES
    return FEW_PACKETS.format(kib=kib, count=count, share=count * PACKET_BYTES / (kib * 1024))


def check_small_buffers(points: pl.DataFrame, _limits: dict[str, Any]) -> Finding:
    """Look for points of small buffers that lie above the guideline's line."""
    rows = tabulate(points).filter(
        (pl.col("congestion") == "cubic") & (pl.col("predicted_ms") < pl.col("rtt_ms"))
    )
    above = rows.filter(pl.col("ping_ms") > INTERCEPT_MS + PUBLISHED_SLOPE * pl.col("predicted_ms"))
    text = f"{rows.height - above.height} of {rows.height} points below the line"
    why = "above it: " + _list_points(above) if above.height else ""
    return Finding(text, decide(above.is_empty()), why=why)


def check_rtt_difference(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Compare the two RTTs at equal rate and buffer."""
    rows = tabulate(points).filter(pl.col("congestion") == "cubic")
    pairs = rows.pivot("rtt_ms", index=["rate_mbps", "buffer_kib"], values="ping_ms")
    short, long = (pl.col(name) for name in ("57", "117"))
    pairs = pairs.with_columns(difference=(short - long).abs() / ((short + long) / 2))
    middle = float(pairs["difference"].median())  # type: ignore[arg-type]
    worst = pairs.sort("difference").row(-1, named=True)
    text = f"{format_quantity(middle, 'ratio')} at the median"
    why = (
        f"largest, {worst['difference']:.0%}, at {worst['rate_mbps']} Mb/s with {worst['buffer_kib']} KiB"
        f" ({worst['57']:.0f} against {worst['117']:.0f} ms)"
    )
    return Finding(text, decide(middle <= limits["most"]), why=why)


def check_rises_with_buffer(points: pl.DataFrame, _limits: dict[str, Any]) -> Finding:
    """Look for a larger buffer with a shorter ping."""
    return _check_order(points, along="buffer_kib", at="rate_mbps", rising=True)


def check_falls_with_rate(points: pl.DataFrame, _limits: dict[str, Any]) -> Finding:
    """Look for a higher rate with a longer ping."""
    return _check_order(points, along="rate_mbps", at="buffer_kib", rising=False)


def draw_by_buffer(points: pl.DataFrame) -> list[Panel]:
    """Draw Figure 3, a panel for each congestion control."""
    rows = average_rtts(points).with_columns(
        series=pl.format("{} Mb/s", "rate_mbps"),
        slot=pl.col("rate_mbps").rank("dense").cast(pl.Int64) - 1,
    )
    panels = []
    for name in rows["congestion"].unique(maintain_order=True):
        own = rows.filter(pl.col("congestion") == name)
        sizes = own["buffer_kib"].unique().sort().to_list()
        lines = (
            make_chart(own)
            .mark_line(point={"filled": True, "size": 40}, strokeWidth=2)
            .encode(
                x=alt.X(
                    "buffer_kib:Q",
                    title="buffer (KiB)",
                    scale=alt.Scale(type="log", base=2, domain=[sizes[0], sizes[-1]], nice=False),
                    axis=alt.Axis(values=sizes),
                ),
                y=alt.Y(
                    "ping_ms:Q",
                    title="mean ping (ms)",
                    scale=alt.Scale(type="log", domain=[10, 2500], nice=False),
                    axis=log_axis((10, 2500)),
                ),
                color=colour(own),
                tooltip=["series:N", "buffer_kib:Q", alt.Tooltip("ping_ms:Q", format=".4~g")],
            )
        )
        panels.append(
            Panel(
                _call(name),
                alt.layer(lines, mark_across_in_corner(130, "130 ms: games", to_left=True)),
            )
        )
    return panels


def draw_by_prediction(points: pl.DataFrame) -> list[Panel]:
    """Draw Figure 4, a panel for each congestion control."""
    rows = tabulate(points).with_columns(
        series=pl.format("RTT {} ms", "rtt_ms"),
        slot=pl.col("rtt_ms").rank("dense").cast(pl.Int64) - 1,
    )
    panels = []
    for name in rows["congestion"].unique(maintain_order=True):
        own = rows.filter(pl.col("congestion") == name)
        dots = (
            make_chart(own)
            .mark_point(filled=True, size=45, opacity=0.85)
            .encode(
                x=_log("predicted_ms", "predicted buffer latency: buffer / rate (ms)", (5, 2500)),
                y=_log("ping_ms", "mean ping (ms)", (10, 2500)),
                color=colour(own, "circle"),
                tooltip=[
                    "series:N",
                    "rate_mbps:Q",
                    "buffer_kib:Q",
                    alt.Tooltip("predicted_ms:Q", format=".4~g"),
                    alt.Tooltip("ping_ms:Q", format=".4~g"),
                ],
            )
        )
        lines = _draw_fits(fit(points, str(name))[0].value, is_of_all=name == TEN)
        panel = alt.layer(lines, dots).resolve_scale(strokeDash="independent")
        panels.append(Panel(_call(name), panel, f"{_call(name)} ping-by-prediction"))
    return panels


def average_rtts(points: pl.DataFrame) -> pl.DataFrame:
    """Average the tests of both RTTs, as the guideline does."""
    return (
        tabulate(points)
        .group_by("congestion", "rate_mbps", "buffer_kib", maintain_order=True)
        .agg(pl.col("ping_ms").mean())
        .sort("rate_mbps", "buffer_kib", maintain_order=True)
    )


def _check_order(points: pl.DataFrame, *, along: str, at: str, rising: bool) -> Finding:
    rows = average_rtts(points).filter(pl.col("congestion") == "cubic").sort(at, along)
    steps = rows.with_columns(step=pl.col("ping_ms").diff().over(at)).drop_nulls("step")
    wrong = steps.filter(pl.col("step") <= 0 if rising else pl.col("step") >= 0)
    text = f"{steps.height - wrong.height} of {steps.height} steps {'rise' if rising else 'fall'}"
    why = "not so at: " + _list_points(wrong) if wrong.height else ""
    return Finding(text, decide(wrong.is_empty()), why=why)


def _list_points(rows: pl.DataFrame) -> str:
    return ", ".join(
        f"{row['rate_mbps']} Mb/s {row['buffer_kib']} KiB ({row['ping_ms']:.1f} ms)"
        for row in rows.head(6).iter_rows(named=True)
    ) + (" …" if rows.height > 6 else "")


def _log(field: str, title: str, domain: tuple[float, float]) -> dict[str, Any]:
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": {"type": "log", "domain": list(domain), "nice": False},
        "axis": log_axis(domain).to_dict(),
    }


def _draw_fits(slope: float, *, is_of_all: bool) -> alt.Chart:
    """Draw the guideline's line and the fit to these runs, told apart by dashes, with a key."""
    over = "all points" if is_of_all else "points with buffer latency over RTT"
    slopes = {
        f"guideline: slope {PUBLISHED_SLOPE}": PUBLISHED_SLOPE,
        f"fit to {over}: slope {slope:.4f}": slope,
    }
    xs = [x for step in range(35) if (x := 5.0 * 1.2**step) <= 2500]
    rows = pl.DataFrame(
        [
            {"line": name, "predicted_ms": x, "ping_ms": INTERCEPT_MS + value * x}
            for name, value in slopes.items()
            for x in xs
        ]
    )
    names = list(slopes)
    line: alt.Chart = (
        make_chart(rows)
        .mark_line(color="#8c8c8c", strokeWidth=1.5, clip=True)
        .encode(
            x="predicted_ms:Q",
            y="ping_ms:Q",
            strokeDash=alt.StrokeDash(
                "line:N",
                scale=alt.Scale(domain=names, range=[[1, 0], [6, 4]]),
                sort=names,
                legend=alt.Legend(title=None, columns=1, symbolType="stroke", symbolSize=400),
            ),
        )
    )
    return line


def _call(congestion: object) -> str:
    return {"cubic": "CUBIC", "reno": "Reno", "ten cubic": "Ten CUBIC"}.get(
        str(congestion), str(congestion)
    )
