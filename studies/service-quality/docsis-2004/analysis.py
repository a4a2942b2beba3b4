"""§III.C of Nguyen and Armitage: what one request for each packet leaves of a line of 2004."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from headend.figures.figure import Panel
from headend.figures.theme import colour, log_axis, make_chart, mark_across
from headend.study.claims import Finding, Verdict, decide

#: Simulated seconds that are measured.
SECONDS = 20.0

#: IP bytes of a packet, and what the downstream carries for it: Ethernet's 18 B and 6 B of MAC header more.
PACKET, FRAME = 1500, 1524

#: ITU-T J.83 Annex B with 64-QAM: symbols, bits in each, trellis code, frame trailer, Reed-Solomon code, MPEG headers.
CHANNEL_BPS = (
    5.056941e6 * 6 * (14 / 15) * (60 * 128 * 7 / (60 * 128 * 7 + 42)) * (122 / 128) * (184 / 188)
)

#: Why a packet takes two MAPs of 2 ms with two opportunities, and not otherwise.
NO_RULE = (
    "two MAPs are no rule: from the MAP with a grant, the modem waits for the next opportunity to ask, and the answer's MAP is"
    " there about 1.6 ms after that. With MAPs of 2 ms and two opportunities in each that is just over one MAP, so it takes"
    " two; with more opportunities the wait is shorter, and with longer MAPs there is more room: then each MAP has a packet"
)

NAMES = {"upload": "upload", "download": "download, TCP", "flood": "download, datagrams"}


def tabulate(points: pl.DataFrame, map_ms: int, opportunities: int = 2) -> pl.DataFrame:
    """Give packets a second in the direction of interest, of the runs with one kind of MAP."""
    carried = (
        pl.when(pl.col("traffic") == "download")
        .then(pl.col("segments"))
        .otherwise(pl.col("datagrams"))
    )
    chosen = points.filter(map_ms=map_ms, opportunities=opportunities)
    return chosen.with_columns(rate=carried / SECONDS)


def check_upstream(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Look at the uploads whose rate limits lie above what the MAPs allow."""
    rates = _upload_mbps(tabulate(points, limits["map_ms"]), limits["expected_mbps"])
    agrees = all(_is_near(rate, limits["expected_mbps"], limits) for rate in rates.values())
    return Finding(_list_rates(rates), decide(agrees and bool(rates)))


def check_download(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Look at the segments a download gets."""
    rates = _rates(tabulate(points, limits["map_ms"]), "download")
    agrees = all(_is_near(rate, limits["expected"], limits) for rate in rates)
    return Finding(f"{_span(rates)} a second", decide(agrees))


def check_flood(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Look at the datagrams a flood gets through."""
    rates = _rates(tabulate(points, limits["map_ms"]), "flood")
    agrees = min(rates) > limits["least"]
    return Finding(f"{_span(rates)} a second", decide(agrees))


def check_both(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Look at both directions with MAPs that come at other times, or hold more opportunities."""
    rows = tabulate(points, limits["map_ms"], limits.get("opportunities", 2))
    if rows.is_empty():
        return Finding("no run with such MAPs", Verdict.UNTESTABLE)
    up, down = _upload_mbps(rows, limits["expected_mbps"]), _rates(rows, "download")
    agrees = all(_is_near(rate, limits["expected_mbps"], limits) for rate in up.values())
    agrees &= all(_is_near(rate, limits["expected"], limits) for rate in down)
    text = f"{_list_rates(up)}; {_span(down)} segments a second"
    return Finding(text, decide(agrees), why="" if agrees else NO_RULE)


def check_maps(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Find what a flood does not get of the channel."""
    rate = min(_rates(tabulate(points, limits["map_ms"]), "flood"))
    taken = (CHANNEL_BPS - rate * FRAME * 8) / 1e3
    why = "a MAP of 62 B here, 46 B and four elements, is 64 B in the document"
    return Finding(
        f"{taken:.0f} kb/s", decide(_is_near(taken, limits["expected_kbps"], limits)), why=why
    )


def check_rtt(points: pl.DataFrame, limits: dict[str, Any]) -> Finding:
    """Say which part of an idle ping the plant gives, and that the rest was set to make up the sum."""
    rows = tabulate(points, limits["map_ms"], limits["opportunities"])
    times = [value / 1e6 for value in rows.filter(pl.col("traffic") == "ping")["rtt"]]
    if not times:
        return Finding("no such run", Verdict.UNTESTABLE)
    agrees = all(_is_near(value, limits["expected_ms"], limits) for value in times)
    plant = [value - limits["hosts_ms"] - limits["cmts_ms"] for value in times]
    why = (
        f"a setting, not a result: the plant gives {_span(plant, 1)} ms. {limits['hosts_ms']} are what the document's"
        f" hosts take by its idle ping of a Wi-Fi cell, and {limits['cmts_ms']} are set as the forwarding of its CMTS,"
        " of which it says nothing, so that the sum is what it measured"
    )
    verdict = Verdict.UNTESTABLE if agrees else Verdict.DIFFERS
    return Finding(f"{_span(times, 1)} ms", verdict, why=why)


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
                x=alt.X(
                    "rate_mbps:Q",
                    title="upstream rate limit (Mbit/s)",
                    scale=alt.Scale(type="log", base=2, domain=[2, 8], nice=False),
                    axis=alt.Axis(values=[2, 4, 8]),
                ),
                y=alt.Y(
                    "rate:Q",
                    title="packets a second",
                    scale=alt.Scale(type="log", domain=[100, 3000], nice=False),
                    axis=log_axis((100, 3000)),
                ),
                color=colour(rows),
                tooltip=["series:N", "rate_mbps:Q", alt.Tooltip("rate:Q", format=".4~g")],
            )
        )
        words = {2: "one packet in two MAPs", 4: "one packet in each MAP"}
        mark = mark_across(250, words[int(map_ms)])
        panels.append(Panel(f"MAPs every {map_ms} ms", alt.layer(mark, lines)))
    return panels


def _upload_mbps(rows: pl.DataFrame, above: float) -> dict[int, float]:
    """Give the IP rates of the uploads whose limit is above a rate, by limit."""
    chosen = rows.filter((pl.col("traffic") == "upload") & (pl.col("rate_mbps") > above))
    return {row["rate_mbps"]: row["rate"] * PACKET * 8 / 1e6 for row in chosen.to_dicts()}


def _rates(rows: pl.DataFrame, traffic: str) -> list[float]:
    return list(rows.filter(pl.col("traffic") == traffic)["rate"])


def _span(values: list[float], digits: int = 0) -> str:
    low, high = (f"{value:.{digits}f}" for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def _list_rates(rates: dict[int, float]) -> str:
    return ", ".join(f"{rate:.2f} Mb/s at a limit of {limit}" for limit, rate in rates.items())


def _is_near(value: float, expected: float, limits: dict[str, Any]) -> bool:
    return bool(abs(value / expected - 1) <= limits["within"])
