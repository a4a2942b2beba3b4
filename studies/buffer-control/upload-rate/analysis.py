"""Figure 2 of the Buffer Control guideline: the upload rate by buffer, for ten and one."""

from __future__ import annotations

from statistics import fmean
from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import colour, make_chart, mark_across
from headend.study import ClaimResult, decide, decide_over_seeds, join_decisions

#: Windows XP's receive window, in bytes.
WINDOW = 64 * 1024

CHANNEL_MBPS = 25.0

#: Why ten uploads through a small buffer are slower over the longer round trip.
TOO_FEW = (
    "Ten uploads are too few to keep the channel busy through 16 KiB: 20 are 5.1 Mb/s apart"
    " there, 40 are 2.0, 80 are 0.7 and 160 are 0.2; with 8 KiB 160 still are 0.8. Packets, blocks"
    " of 256 B, Reno, Windows XP's senders, windows of 64 KiB and retransmission timers of 50 ms"
    " and 1 s leave 3.7 to 5.5 Mb/s, blocks of 1024 B 2.3 (two seeds each)"
)


def tabulate(points: pl.DataFrame) -> pl.DataFrame:
    """Average the seeds, and add the rate in Mb/s and what buffer over round-trip time predicts."""
    return (
        points.group_by("flows", "buffer_kib", "rtt_ms", maintain_order=True)
        .agg(rate_mbps=pl.col("goodput").mean() / 1e6)
        .with_columns(predicted_mbps=pl.col("buffer_kib") * 1024 * 8 / (pl.col("rtt_ms") * 1e3))
    )


def check_several(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Count where ten uploads surpass the prediction and the channel does not limit them."""
    rows = _take(points, 10).filter(pl.col("predicted_mbps") < limits["channel_mbps"])
    below = rows.filter(pl.col("rate_mbps") <= pl.col("predicted_mbps"))
    why = "not above: " + _list_points(below) if below.height else ""
    agrees = below.height <= limits["missed"]
    return ClaimResult(
        f"{rows.height - below.height} of {rows.height} cases", decide(agrees), why=why
    )


def check_rtt_difference(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare the rates over both round trips."""
    pairs = points.filter(pl.col("flows") == 10).pivot(
        "rtt_ms", index=["buffer_kib", "seed"], values="goodput"
    )
    most, found, decisions = 1 + limits["within"], [], []
    for (size,), rows in pairs.sort("buffer_kib").group_by("buffer_kib", maintain_order=True):
        ratios = (rows["57"] / rows["117"]).to_list()
        decision = decide_over_seeds(ratios, low=1 / most, high=most)
        decisions.append(decision)
        apart = fmean(rows["57"] - rows["117"]) / 1e6
        found.append(f"{decision.mean - 1:.0%} with {size} KiB ({apart:.1f} Mb/s)")
    text = f"faster over 57 ms by {', '.join(found)}"
    return join_decisions(
        decisions, text, f"by the rule of thumb it is {117 / 57 - 1:.0%}. {TOO_FEW}"
    )


def check_channel(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look at the rates of ten uploads with the largest buffers."""
    low, high = _range(_take(points, 10).filter(pl.col("buffer_kib") >= 128))
    agrees = round(low) == round(high) and high <= limits["most"]
    return ClaimResult(f"{low:.1f} to {high:.1f} Mb/s", decide(agrees))


def check_single(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare the fastest single upload at each round-trip time with the published most."""
    found, longer, agrees = [], [], True
    for rtt_ms, (low, high) in limits.items():
        fastest = _range(_take(points, 1).filter(pl.col("rtt_ms") == int(rtt_ms)))[1]
        found.append(f"{fastest:.2f} Mb/s over {rtt_ms} ms")
        longer.append(f"{WINDOW * 8 / fastest / 1e3:.1f}")
        agrees &= low <= fastest <= high
    why = (
        f"a window of 64 KiB takes {' and '.join(longer)} ms at these rates, which is the round"
        " trip that full packets meet here. With flow.upload.rtt shorter by 2.9 ms (108 ms) and by"
        " 1.7 ms (49.2 ms) it is 4.48 and 9.21 Mb/s"
    )
    return ClaimResult("; ".join(found), decide(agrees), why=why)


def draw_rates(points: pl.DataFrame) -> list[Panel]:
    """Draw Figure 2: a panel for ten uploads and one for a single one."""
    panels = []
    for flows, title in ((10, "Ten uploads"), (1, "One upload with a 64 KiB window")):
        rows = _take(points, flows).with_columns(
            series=pl.format("RTT {} ms", "rtt_ms"),
            slot=pl.col("rtt_ms").rank("dense").cast(pl.Int64) - 1,
        )
        sizes = rows["buffer_kib"].unique().sort().to_list()
        x = vl.X(
            "buffer_kib:Q",
            title="buffer (KiB)",
            scale=vl.Scale(type="log", base=2, domain=[sizes[0], sizes[-1]], nice=False),
            axis=vl.Axis(values=sizes),
        )
        base = make_chart(rows).encode(x=x, color=colour(rows))
        measured = base.mark_line(point={"filled": True, "size": 40}, strokeWidth=2).encode(
            y=vl.Y(
                "rate_mbps:Q",
                title="goodput (Mbit/s)",
                scale=vl.Scale(domain=[0, 28 if flows == 10 else 12], nice=False),
            ),
            tooltip=["series:N", "buffer_kib:Q", vl.Tooltip("rate_mbps:Q", format=".3~g")],
        )
        predicted = base.mark_line(strokeDash=[5, 4], strokeWidth=1.3, clip=True).encode(
            y="predicted_mbps:Q"
        )
        layers = [predicted, measured]
        if flows == 10:
            layers.append(mark_across(CHANNEL_MBPS, "channel", near_left=True))
        panels.append(Panel(title, vl.layer(*layers)))
    return panels


def _take(points: pl.DataFrame, flows: int) -> pl.DataFrame:
    return tabulate(points).filter(pl.col("flows") == flows).sort("rtt_ms", "buffer_kib")


def _range(rows: pl.DataFrame) -> tuple[float, float]:
    return float(rows["rate_mbps"].min()), float(rows["rate_mbps"].max())  # type: ignore[arg-type]


def _list_points(rows: pl.DataFrame) -> str:
    return ", ".join(
        f"{row['buffer_kib']} KiB over {row['rtt_ms']} ms ({row['rate_mbps']:.1f} Mb/s)"
        for row in rows.iter_rows(named=True)
    )
