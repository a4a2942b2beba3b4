"""§III.C of Nguyen and Armitage: what one request for each packet leaves of a line of 2004."""

from __future__ import annotations

from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import colour, log_axis, make_chart, mark_across
from headend.study import ClaimResult, ClaimVerdict, decide

#: Simulated seconds that are measured.
SECONDS = 20.0

#: IP bytes of a packet, and what the downstream carries for it: Ethernet's 18 B and 6 B of MAC
#: header more.
PACKET, FRAME = 1500, 1524

#: ITU-T J.83 Annex B with 64-QAM: symbols, bits in each, trellis code, frame trailer, Reed-Solomon
#: code, MPEG headers.
CHANNEL_BPS = (
    5.056941e6 * 6 * (14 / 15) * (60 * 128 * 7 / (60 * 128 * 7 + 42)) * (122 / 128) * (184 / 188)
)

NAMES = {
    "upload": "upload",
    "download": "download, TCP",
    "each": "download, each segment acknowledged",
    "flood": "download, datagrams",
}


def tabulate(points: pl.DataFrame, map_ms: int, opportunities: int = 2) -> pl.DataFrame:
    """Give packets a second in the direction of interest, of the runs with one kind of MAP."""
    carried = (
        pl.when(pl.col("traffic").is_in(["download", "each"]))
        .then(pl.col("segments"))
        .otherwise(pl.col("datagrams"))
    )
    chosen = points.filter(map_ms=map_ms, opportunities=opportunities)
    return chosen.with_columns(rate=carried / SECONDS)


def check_upstream(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look at uploads whose rate limits lie above what MAPs allow, and what moves them."""
    rates = list_uploads(tabulate(points, limits["map_ms"], limits["opportunities"]), limits)
    if not rates:
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    text = f"{_list_rates(rates)} Mb/s"
    for words, rows in (
        ("with four opportunities", tabulate(points, limits["map_ms"], 4)),
        ("with MAPs of 4 ms", tabulate(points, 4, limits["opportunities"])),
    ):
        others = list_uploads(rows, limits)
        text += f"; {words} {_list_rates(others)}" if others else ""
    agrees = all(limits["least"] <= rate <= limits["most"] for rate in rates)
    return ClaimResult(text, decide(agrees))


def check_download(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Look at the segments a download gets, and at the datagrams a flood gets through."""
    rows = tabulate(points, limits["map_ms"], limits["opportunities"])
    rates, flood = _rates(rows, "download"), _rates(rows, "flood")
    text = f"{_span(rates)} a second; datagrams {_span(flood)}"
    more = _rates(tabulate(points, limits["map_ms"], 4), "download")
    text += f"; with four opportunities {_span(more)} segments" if more else ""
    if each := _rates(rows, "each"):
        text += f"; with each segment acknowledged {_span(each)}"
    return ClaimResult(text, decide(all(round(rate) == limits["per_second"] for rate in rates)))


def check_maps(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Find what a flood does not get of the channel."""
    rate = min(_rates(tabulate(points, limits["map_ms"], limits["opportunities"]), "flood"))
    taken = (CHANNEL_BPS - rate * FRAME * 8) / 1e3
    agrees = round(taken) == limits["kbps"]
    why = (
        "a MAP has 46 B and 4 B for each element: the four elements that are set make 62 B, and"
        " five (`--set link.cable.docsis.plant.elements_per_map=5`) 66 B and 264 kb/s; no whole"
        " number makes 64 B"
    )
    return ClaimResult(f"{taken:.0f} kb/s", decide(agrees), why="" if agrees else why)


def check_rtt(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Say which part of an idle ping the plant gives; the rest was set to make the sum."""
    rows = tabulate(points, limits["map_ms"], limits["opportunities"])
    times = [value / 1e6 for value in rows.filter(pl.col("traffic") == "ping")["rtt"]]
    if not times:
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    agrees = all(limits["least"] <= value <= limits["most"] for value in times)
    plant = [value - limits["hosts_ms"] - limits["cmts_ms"] for value in times]
    text = f"{_span(times, 1)} ms, of which the plant gives {_span(plant, 1)}"
    return ClaimResult(text, decide(agrees))


def draw_packets(points: pl.DataFrame) -> list[Panel]:
    """Draw packets a second over the upstream's rate limit, a panel for each MAP interval."""
    panels = []
    for map_ms in points["map_ms"].unique().sort():
        rows = tabulate(points, int(map_ms)).filter(pl.col("traffic") != "ping")
        rows = rows.with_columns(
            series=pl.col("traffic").replace_strict(NAMES),
            slot=pl.col("traffic").replace_strict({name: n for n, name in enumerate(NAMES)}),
        )
        lines = (
            make_chart(rows)
            .mark_line(point={"filled": True, "size": 45}, strokeWidth=2)
            .encode(
                x=vl.X(
                    "rate_mbps:Q",
                    title="upstream rate limit (Mbit/s)",
                    scale=vl.Scale(type="log", base=2, domain=[2, 8], nice=False),
                    axis=vl.Axis(values=[2, 4, 8]),
                ),
                y=vl.Y(
                    "rate:Q",
                    title="packets a second",
                    scale=vl.Scale(type="log", domain=[100, 3000], nice=False),
                    axis=log_axis((100, 3000)),
                ),
                color=colour(rows),
                tooltip=["series:N", "rate_mbps:Q", vl.Tooltip("rate:Q", format=".4~g")],
            )
        )
        words = {2: "one packet in two MAPs", 4: "one packet in each MAP"}
        mark = mark_across(250, words[int(map_ms)])
        panels.append(Panel(f"MAPs every {map_ms} ms", vl.layer(mark, lines)))
    return panels


def list_uploads(rows: pl.DataFrame, limits: dict[str, Any]) -> list[float]:
    """Give the IP rates in Mb/s of the uploads at the rate limits in question."""
    chosen = rows.filter(
        (pl.col("traffic") == "upload") & pl.col("rate_mbps").is_in(limits["limits_mbps"])
    )
    return (chosen.sort("rate_mbps")["rate"] * PACKET * 8 / 1e6).to_list()


def _rates(rows: pl.DataFrame, traffic: str) -> list[float]:
    return list(rows.filter(pl.col("traffic") == traffic)["rate"])


def _span(values: list[float], digits: int = 0) -> str:
    low, high = (f"{value:.{digits}f}" for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def _list_rates(rates: list[float]) -> str:
    return " and ".join(f"{rate:.2f}" for rate in rates)
