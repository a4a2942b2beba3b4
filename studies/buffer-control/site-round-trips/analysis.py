"""Table 2 and Appendix I of the Buffer Control guideline: buffers and their round trips."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import colour, make_chart, mark_along
from headend.study import ClaimResult, decide

from ..buffers import KIB

SITES = Path(__file__).with_name("sites.csv")

#: Payload among the bytes that the upstream rate counts of a full packet.
PAYLOAD = 1448 / 1518

SENDERS = ("one Reno", "one CUBIC", "ten CUBIC")

#: Table 2's limits by rate in Mb/s, and the round trips of the guideline's tests, ms.
LIMITS = {1: 65, 2: 65, 5: 52, 10: 40}
TESTED = (57, 117)


def tabulate(points: pl.DataFrame) -> pl.DataFrame:
    """Average the seeds: goodput as a share of the payload that the rate carries."""
    return (
        points.group_by("rate_mbps", "sender", "rtt_ms", maintain_order=True)
        .agg(pl.col("goodput").mean())
        .with_columns(share=pl.col("goodput") / (pl.col("rate_mbps") * 1e6 * PAYLOAD))
        .sort("rate_mbps", "sender", "rtt_ms")
    )


def read_sites() -> pl.DataFrame:
    """Read Tables 3 to 5: pings from three cities to fifteen sites, ms."""
    return pl.read_csv(SITES)


def check_limits(_points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Reckon the round trips for which each target is one bandwidth-delay product."""
    found, agrees = [], True
    for rate, target in limits["targets"].items():
        trip = target * KIB * 8 / (float(rate) * 1e3)
        found.append(f"{trip:.2f}")
        agrees &= int(trip) == limits["published_ms"][rate]
    return ClaimResult(", ".join(found) + " ms", decide(agrees))


def check_single(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Find the least share of one upload below the limits."""
    rows = tabulate(points).filter(pl.col("sender") != "ten CUBIC", _below(limits["below_ms"]))
    return _judge_least(rows, limits["full"])


def check_several(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Find the least share of ten uploads."""
    rows = tabulate(points).filter(
        pl.col("sender") == "ten CUBIC", pl.col("rtt_ms") <= limits["most_ms"]
    )
    return _judge_least(rows, limits["full"])


def check_distant(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look at what one Reno upload gets from afar."""
    rows = tabulate(points).filter(pl.col("rtt_ms") == limits["rtt_ms"])
    reno = rows.filter(pl.col("sender") == "one Reno")
    cubic = rows.filter(pl.col("sender") == "one CUBIC")
    return ClaimResult(
        _list_shares(reno),
        decide(bool((reno["share"] < limits["full"]).all())),
        why=f"CUBIC: {_list_shares(cubic)}",
    )


def check_means(_points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Reckon each city's mean and range anew."""
    found, agrees = [], True
    for city, published in limits.items():
        rows = read_sites().filter(pl.col("city") == city)
        own = [rows["min_ms"].min(), rows["mean_ms"].mean(), rows["max_ms"].max()]
        rounded = [round(float(value), 3) for value in own]  # type: ignore[arg-type]
        found.append(f"{city} {rounded[1]} ({rounded[0]} to {rounded[2]}) ms")
        agrees &= rounded == published
    return ClaimResult(", ".join(found), decide(agrees))


def check_representative(_points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Place the guideline's two round trips among the cities' and the sites' means."""
    sites = read_sites()
    cities: list[float] = sites.group_by("city").agg(pl.col("mean_ms").mean())["mean_ms"].to_list()
    farthest, longest = (float(sites[name].max()) for name in ("mean_ms", "max_ms"))  # type: ignore[arg-type]
    agrees = min(cities) <= limits["typical_ms"] <= max(cities)
    agrees = agrees and farthest < limits["upper_ms"] < longest
    text = (
        f"cities' means from {min(cities):.0f} to {max(cities):.0f} ms; the farthest site's mean"
        f" {farthest:.0f} ms, the longest ping {longest:.0f} ms"
    )
    return ClaimResult(text, decide(bool(agrees)))


def check_share(_points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Count the sites within each limit."""
    means = read_sites()["mean_ms"]
    counts = {rate: int((means < most).sum()) for rate, most in limits["most_ms"].items()}
    text = ", ".join(
        f"{count} of {len(means)} below {limits['most_ms'][rate]} ms ({rate} Mb/s)"
        for rate, count in counts.items()
    )
    agrees = all(counts[str(rate)] > len(means) / 2 for rate in limits["asked"])
    return ClaimResult(text, decide(agrees))


def draw_rates(points: pl.DataFrame) -> list[Panel]:
    """Draw the shares over the round trip, a panel for each rate."""
    panels = []
    for (rate,), rows in tabulate(points).group_by("rate_mbps", maintain_order=True):
        own = rows.with_columns(
            series=pl.col("sender"),
            slot=pl.col("sender").replace_strict(
                {name: place for place, name in enumerate(SENDERS)}, return_dtype=pl.Int64
            ),
            percent=pl.col("share") * 100,
        )
        lines = (
            make_chart(own)
            .mark_line(point={"filled": True, "size": 40}, strokeWidth=2)
            .encode(
                x=vl.X("rtt_ms:Q", title="round trip (ms)", scale=vl.Scale(domain=[0, 200])),
                y=vl.Y(
                    "percent:Q",
                    title="goodput (% of the rate's payload)",
                    scale=vl.Scale(domain=[60, 105], nice=False, clamp=True),
                ),
                color=colour(own),
                tooltip=["series:N", "rtt_ms:Q", vl.Tooltip("percent:Q", format=".3~g")],
            )
        )
        limit = LIMITS[int(str(rate))]
        mark = mark_along(limit, f"Table 2: {limit} ms", "rtt_ms")
        panels.append(
            Panel(f"{rate} Mb/s upstream", vl.layer(lines, mark), name=f"rate-{rate}-mbps")
        )
    return panels


def draw_sites(_points: pl.DataFrame) -> list[Panel]:
    """Draw the share of sites that are nearer, for each city."""
    sites = read_sites().with_columns(
        series=pl.col("city"),
        slot=pl.col("city").rank("dense").cast(pl.Int64) - 1,
        share=pl.col("mean_ms").rank("ordinal").over("city") / pl.len().over("city") * 100,
    )
    steps = (
        make_chart(sites.sort("city", "mean_ms"))
        .mark_line(interpolate="step-after", strokeWidth=2, point={"filled": True, "size": 30})
        .encode(
            x=vl.X("mean_ms:Q", title="mean ping (ms)", scale=vl.Scale(domain=[0, 130])),
            y=vl.Y("share:Q", title="sites that are nearer (%)", scale=vl.Scale(domain=[0, 110])),
            color=colour(sites),
            tooltip=["site:N", "city:N", "mean_ms:Q"],
        )
    )
    marks: list[vl.Chart] = [
        mark_along(place, words, "mean_ms", to_left=left)
        for place, words, left in (
            (40, "10 Mb/s", True),
            (52, "5 Mb/s", True),
            (65, "1 and 2 Mb/s", False),
            (117, "117 ms", True),
        )
    ]
    return [Panel("", vl.layer(steps, *marks))]


def _below(most: dict[str, float]) -> pl.Expr:
    limit = pl.col("rate_mbps").replace_strict(
        {int(rate): value for rate, value in most.items()}, return_dtype=pl.Float64
    )
    return pl.col("rtt_ms") < limit


def _judge_least(rows: pl.DataFrame, full: float) -> ClaimResult:
    least = rows.sort("share").row(0, named=True)
    text = (
        f"{least['share']:.1%} at the least of {rows.height} cases"
        f" ({least['sender']}, {least['rate_mbps']} Mb/s, {least['rtt_ms']} ms)"
    )
    below = rows.filter(pl.col("share") < full)
    why = f"not reached: {_list_shares(below)}" if below.height else ""
    return ClaimResult(text, decide(below.is_empty()), why=why)


def _list_shares(rows: pl.DataFrame) -> str:
    return ", ".join(
        f"{row['share']:.2%} at {row['rate_mbps']} Mb/s over {row['rtt_ms']} ms ({row['sender']})"
        for row in rows.iter_rows(named=True)
    )
