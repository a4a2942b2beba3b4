"""Figures 3 and 4 of the Buffer Control guideline: pings and one TCP, by buffer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import colour, log_axis, make_chart, mark_across_in_corner
from headend.study import ClaimResult, ClaimVerdict, decide
from headend.text.quantity import format_quantity

from ..fitting import Slope, fit_slope

#: The bench's own round trip, which the guideline holds as the intercept, in ms.
INTERCEPT_MS = 17.0

#: Why ten uploads do not fill the smallest buffers.
FEW_PACKETS = (
    "The fewer packets a buffer holds, the less full uploads keep it. More uploads help the"
    " middle ones and not the smallest: with forty (flow.upload.count = 40, over 57 ms at 5 Mb/s)"
    " a ping takes 23.8 ms with 8 KiB and 62.4 ms with 32 KiB"
)

#: What the slope is with other units.
OTHER_UNITS = (
    "The unit decides: over the same 48 points it is 0.8522 in blocks of 256 B and 0.8474 in"
    " packets. Three larger buffers give 0.6320 in blocks of 1024 B, and 0.74 to 0.75 with Reno in"
    " the other units (buffer-control/ping-choices)"
)

#: Why pings over both round trips are apart.
UNFILLED = (
    "All are buffers that drain sooner than 117 ms pass: one upload does not fill them over the"
    " longer round trip. With 64 KiB at 10 Mb/s and 32 KiB at 5 Mb/s, which drain in 52 ms, it is"
    " 5 to 6 % between 27 and 47 ms (flow.upload.rtt), and 22 and 19 % between 57 and 117 ms."
    " Packets give 19 of 24, blocks of 256 B 18; with Reno all six stay apart"
)

#: The rate in Mb/s and the round trip in ms of forty uploads, and the buffers in KiB.
FORTY_AT, FORTY_KIB = (5, 57), (8, 32)

#: One upload, and ten at once.
ONE, TEN = "cubic", "ten cubic"

#: The guideline's slope.
PUBLISHED_SLOPE = 0.8462


def tabulate(points: pl.DataFrame) -> pl.DataFrame:
    """Average the seeds; predicted latency and mean ping in ms (KiB = 1024 B, Mb/s = 10⁶ bit/s)."""
    return (
        points.group_by("congestion", "rate_mbps", "buffer_kib", "rtt_ms", maintain_order=True)
        .agg(ping_ms=pl.col("ping").mean() / 1e6)
        .with_columns(predicted_ms=pl.col("buffer_kib") * 1024 * 8 / (pl.col("rate_mbps") * 1e3))
    )


def fit(points: pl.DataFrame, congestion: str) -> tuple[Slope, int]:
    """Fit the slope of a line through the bench's own round trip to all points, and count them."""
    rows = tabulate(points).filter(pl.col("congestion") == congestion)
    return fit_slope(rows["predicted_ms"], rows["ping_ms"], intercept=INTERCEPT_MS), rows.height


def check_slope(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the fitted slope against its limits."""
    slope, count = fit(points, ONE)
    ten, _ = fit(points, TEN)
    verdict = decide(limits["low"] <= slope.value <= limits["high"])
    by_rate = ", ".join(
        f"{part_slope.value:.4f} at {rate} Mb/s" for rate, part_slope in _fit_rates(points)
    )
    why = f"by rate {by_rate}; ten uploads: {ten.value:.4f}. {OTHER_UNITS}"
    # The interval is over points, which are all that the figure has, and not over seeds: it decides
    # nothing.
    drawn = f"{slope.low:.3f} to {slope.high:.3f} where points are drawn from these at random"
    return ClaimResult(f"{slope.value:.4f} over {count} points ({drawn})", verdict, why=why)


def check_small_buffers(points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Look for points of small buffers that lie above the regression line."""
    rows = tabulate(points).filter(
        pl.col("congestion") == ONE, pl.col("predicted_ms") < pl.col("rtt_ms")
    )
    above = rows.filter(pl.col("ping_ms") > _predict(points))
    text = f"{rows.height - above.height} of {rows.height} points below the line"
    why = "above it: " + _list_points(above) if above.height else ""
    return ClaimResult(text, decide(above.is_empty()), why=why)


def check_ten(points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Count the points of ten uploads above the regression line of one."""
    rows = tabulate(points).filter(pl.col("congestion") == TEN)
    below = rows.filter(pl.col("ping_ms") <= _predict(points))
    sizes = rows.group_by("buffer_kib").len().sort("buffer_kib")
    above = sizes.join(below.group_by("buffer_kib").len(name="below"), on="buffer_kib", how="left")
    by_size = ", ".join(
        f"{row['len'] - (row['below'] or 0)} of {row['len']} with {row['buffer_kib']} KiB"
        for row in above.sort("buffer_kib").iter_rows(named=True)
    )
    text = f"{rows.height - below.height} of {rows.height} points above the line"
    why = f"above it {by_size}. {FEW_PACKETS}{_describe_ten(points)}" if below.height else ""
    return ClaimResult(text, decide(below.is_empty()), why=why)


def check_rtt_difference(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare the pings of both RTTs."""
    rows = tabulate(points).filter(pl.col("congestion") == ONE)
    pairs = rows.pivot("rtt_ms", index=["rate_mbps", "buffer_kib"], values="ping_ms")
    pairs = pairs.sort("rate_mbps", "buffer_kib").with_columns(
        apart=pl.max_horizontal("57", "117") / pl.min_horizontal("57", "117") - 1
    )
    odd = pairs.filter(pl.col("apart") > limits["within"])
    middle = float(pairs["apart"].median())  # type: ignore[arg-type]
    text = (
        f"{pairs.height - odd.height} of {pairs.height} cases; {format_quantity(middle, 'ratio')}"
        " apart at the median"
    )
    why = "; ".join(
        (
            f"{row['57']:.0f} and {row['117']:.0f} ms at {row['rate_mbps']} Mb/s with"
            f" {row['buffer_kib']} KiB"
        )
        for row in odd.sort("apart", descending=True).head(6).iter_rows(named=True)
    )
    return ClaimResult(
        text, decide(odd.is_empty()), why=f"furthest apart: {why}. {UNFILLED}" if why else ""
    )


def check_rises_with_buffer(points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Look for a larger buffer with a shorter ping."""
    return _check_order(points, along="buffer_kib", at="rate_mbps", rising=True)


def check_falls_with_rate(points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Look for a higher rate with a longer ping."""
    return _check_order(points, along="rate_mbps", at="buffer_kib", rising=False)


def check_games(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold game round trips through the recommended buffers against the most allowed."""
    farther = limits["server_ms"] - INTERCEPT_MS
    rows = average_rtts(points).with_columns(trip_ms=pl.col("ping_ms") + farther)
    rows = rows.filter(pl.col("congestion") == ONE)
    found, agrees = [], True
    for (rate,), part in rows.group_by("rate_mbps", maintain_order=True):
        there = part.filter(pl.col("buffer_kib") <= limits["targets_kib"][str(rate)])
        if there.is_empty():
            return ClaimResult(f"no buffer of Table 2 at {rate} Mb/s", ClaimVerdict.UNTESTABLE)
        row = there.row(-1, named=True)
        largest = _find_largest(part.filter(pl.col("trip_ms") < limits["most_ms"]))
        agrees &= row["trip_ms"] < limits["most_ms"]
        found.append(
            f"{row['trip_ms']:.0f} ms with {row['buffer_kib']} KiB at {rate} Mb/s (up to"
            f" {largest or 'no'} KiB)"
        )
    return ClaimResult("; ".join(found), decide(agrees))


def check_cloud_games(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare the largest buffer whose ping cloud games allow with the recommended one."""
    pings = average_rtts(points)
    rows = pings.filter(pl.col("congestion") == ONE)
    found, unfilled, smaller, any_fits = [], [], True, False
    for (rate,), part in rows.group_by("rate_mbps", maintain_order=True):
        target = limits["targets_kib"][str(rate)]
        fits, strict = (
            _find_largest(part.filter(pl.col("ping_ms") <= limits[name]))
            for name in ("most_ms", "strict_ms")
        )
        if fits is not None and fits >= target:
            smaller = False
            ten = pings.filter(
                pl.col("congestion") == TEN,
                pl.col("rate_mbps") == rate,
                pl.col("buffer_kib") == fits,
            )
            unfilled += [f"{ping:.0f} ms with {fits} KiB at {rate} Mb/s" for ping in ten["ping_ms"]]
        any_fits |= fits is not None
        found.append(
            f"at {rate} Mb/s up to {fits or 'no'} KiB for {limits['most_ms']} ms, {strict or 'no'}"
            f" KiB for {limits['strict_ms']} ms (Table 2: {target} KiB)"
        )
    why = f"one upload does not fill these buffers; ten do more: {', '.join(unfilled)}"
    return ClaimResult("; ".join(found), decide(smaller and any_fits), why=why if unfilled else "")


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
                x=vl.X(
                    "buffer_kib:Q",
                    title="buffer (KiB)",
                    scale=vl.Scale(type="log", base=2, domain=[sizes[0], sizes[-1]], nice=False),
                    axis=vl.Axis(values=sizes),
                ),
                y=vl.Y(
                    "ping_ms:Q",
                    title="mean ping (ms)",
                    scale=vl.Scale(type="log", domain=[10, 2500], nice=False),
                    axis=log_axis((10, 2500)),
                ),
                color=colour(own),
                tooltip=["series:N", "buffer_kib:Q", vl.Tooltip("ping_ms:Q", format=".4~g")],
            )
        )
        panels.append(
            Panel(
                _call(name),
                vl.layer(lines, mark_across_in_corner(130, "130 ms: games", to_left=True)),
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
                    vl.Tooltip("predicted_ms:Q", format=".4~g"),
                    vl.Tooltip("ping_ms:Q", format=".4~g"),
                ],
            )
        )
        lines = _draw_fits(fit(points, str(name))[0].value)
        panel = vl.layer(lines, dots).resolve_scale(strokeDash="independent")
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


def _predict(points: pl.DataFrame) -> pl.Expr:
    """Give the ping on the regression line of one upload, ms."""
    return INTERCEPT_MS + fit(points, ONE)[0].value * pl.col("predicted_ms")


def _fit_rates(points: pl.DataFrame) -> Iterator[tuple[object, Slope]]:
    """Fit the slope of one upload at each rate alone."""
    for (rate,), part in points.group_by("rate_mbps", maintain_order=True):
        yield rate, fit(part, ONE)[0]


def _find_largest(rows: pl.DataFrame) -> int | None:
    """Give the largest buffer of these rows, KiB."""
    sizes: list[int] = rows["buffer_kib"].sort().to_list()
    return sizes[-1] if sizes else None


def _describe_ten(points: pl.DataFrame) -> str:
    """Say what ten uploads give where forty were tried, and where the line is there."""
    rows = tabulate(points).filter(
        pl.col("congestion") == TEN,
        pl.col("rate_mbps") == FORTY_AT[0],
        pl.col("rtt_ms") == FORTY_AT[1],
        pl.col("buffer_kib").is_in(FORTY_KIB),
    )
    told = " and ".join(
        (
            f"{row['ping_ms']:.1f} ms, where the line is at {row['line']:.1f} ms, with"
            f" {row['buffer_kib']} KiB"
        )
        for row in rows.with_columns(line=_predict(points)).sort("buffer_kib").iter_rows(named=True)
    )
    return f"; with ten it takes {told}" if told else ""


def _check_order(points: pl.DataFrame, *, along: str, at: str, rising: bool) -> ClaimResult:
    rows = average_rtts(points).filter(pl.col("congestion") == ONE).sort(at, along)
    steps = rows.with_columns(step=pl.col("ping_ms").diff().over(at)).drop_nulls("step")
    wrong = steps.filter(pl.col("step") <= 0 if rising else pl.col("step") >= 0)
    text = f"{steps.height - wrong.height} of {steps.height} steps {'rise' if rising else 'fall'}"
    why = "not so at: " + _list_points(wrong) if wrong.height else ""
    return ClaimResult(text, decide(wrong.is_empty()), why=why)


def _list_points(rows: pl.DataFrame) -> str:
    return ", ".join(
        f"{row['rate_mbps']} Mb/s {row['buffer_kib']} KiB ({row['ping_ms']:.1f} ms)"
        for row in rows.head(6).iter_rows(named=True)
    ) + (" …" if rows.height > 6 else "")


def _log(field: str, title: str, domain: tuple[float, float]) -> vl.Channel:
    scale = vl.Scale(type="log", domain=list(domain), nice=False)
    return vl.Channel(f"{field}:Q", title=title, scale=scale, axis=log_axis(domain))


def _draw_fits(slope: float) -> vl.Chart:
    """Draw the guideline's line and the fit to these runs, told apart by dashes, with a key."""
    slopes = {
        f"guideline: slope {PUBLISHED_SLOPE}": PUBLISHED_SLOPE,
        f"fit to these runs: slope {slope:.4f}": slope,
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
    return (
        make_chart(rows)
        .mark_line(color="#8c8c8c", strokeWidth=1.5, clip=True)
        .encode(
            x="predicted_ms:Q",
            y="ping_ms:Q",
            strokeDash=vl.StrokeDash(
                "line:N",
                scale=vl.Scale(domain=names, range=[[1, 0], [6, 4]]),
                sort=names,
                legend=vl.Legend(title=None, columns=1, symbolType="stroke", symbolSize=400),
            ),
        )
    )


def _call(congestion: object) -> str:
    return {ONE: "One CUBIC upload", TEN: "Ten CUBIC uploads"}[str(congestion)]
